package cluster

import (
	"slices"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/group"
	"github.com/simkafka/simkafka/model/kafka"
)

// authority is the committed state of the cluster as its events tell it: what
// selectors such as leader(orders/0) mean at this moment.
type authority struct {
	parts      map[kafka.TopicPartition]*partitionView
	order      []kafka.TopicPartition // sorted
	controller kafka.NodeID
	epoch      kafka.ControllerEpoch
	ends       map[string]string // why a process ended last, by actor
	leaders    map[string]string // the leaders' member ids, by group
	failing    []string          // the running brokers that lost a log directory
	// doomed are the topics whose deletion was asked for, gone those that are deleted.
	doomed, gone []string
}

type partitionView struct {
	leader   kafka.NodeID
	epoch    kafka.LeaderEpoch
	isr      []kafka.NodeID
	replicas []kafka.NodeID
}

func (a *authority) observe(e *event.Event) {
	switch e.Kind {
	case event.AssignmentChanged:
		p := a.put(e.TP)
		if p.replicas = e.Replicas; len(e.Replicas) == 0 && p.isr == nil { // the controller never knew it
			delete(a.parts, e.TP)
			a.order = slices.DeleteFunc(a.order, func(tp kafka.TopicPartition) bool { return tp == e.TP })
		}
	case event.PartitionChanged:
		p := a.put(e.TP)
		p.leader, p.epoch, p.isr = e.Leader, e.LeaderEpoch, e.ISR
	case event.GroupChanged:
		if a.leaders == nil {
			a.leaders = make(map[string]string)
		}
		a.leaders[e.Group] = e.Member
	case event.TopicCreated:
		a.gone = slices.DeleteFunc(a.gone, func(name string) bool { return name == e.TP.Topic })
	case event.TopicDeletionAsked:
		a.doomed = append(a.doomed, e.TP.Topic)
	case event.TopicDeleted:
		a.gone = append(a.gone, e.TP.Topic)
		for _, tp := range a.order {
			if tp.Topic == e.TP.Topic {
				delete(a.parts, tp)
			}
		}
		a.order = slices.DeleteFunc(a.order, func(tp kafka.TopicPartition) bool { return tp.Topic == e.TP.Topic })
		a.doomed = slices.DeleteFunc(a.doomed, func(name string) bool { return name == e.TP.Topic })
	case event.DirectoryOffline:
		a.failing = append(a.failing, e.Actor)
	case event.NodeCrashed, event.NodeStopped:
		a.failing = slices.DeleteFunc(a.failing, func(name string) bool { return name == e.Actor })
		a.ended(e.Actor, e.Text)
	case event.ControllerElected:
		if e.ControllerEpoch >= a.epoch {
			a.controller, a.epoch = e.Node, e.ControllerEpoch
		}
	}
}

// coordinator is who leads a group's partition of __consumer_offsets.
func (a *authority) coordinator(id string) kafka.NodeID {
	count := int32(0)
	for _, tp := range a.order {
		if tp.Topic == group.OffsetsTopic {
			count++
		}
	}
	if count == 0 {
		return kafka.NoNode
	}
	return a.at(kafka.TopicPartition{Topic: group.OffsetsTopic, Partition: group.PartitionFor(id, count)}).leader
}

// isGone: the topic is deleted, or is to be.
func (a *authority) isGone(topic string) bool {
	return slices.Contains(a.gone, topic) || slices.Contains(a.doomed, topic)
}

func (a *authority) ended(actor, why string) {
	if a.ends == nil {
		a.ends = make(map[string]string)
	}
	a.ends[actor] = why
}

// at looks a partition up; one that there is not has no leader. To be read only.
func (a *authority) at(tp kafka.TopicPartition) *partitionView {
	if p := a.parts[tp]; p != nil {
		return p
	}
	return &partitionView{leader: kafka.NoNode}
}

// put finds or begins a partition. What is told of a topic that is gone is not kept.
func (a *authority) put(tp kafka.TopicPartition) *partitionView {
	if slices.Contains(a.gone, tp.Topic) {
		return &partitionView{leader: kafka.NoNode}
	}
	if p := a.parts[tp]; p != nil {
		return p
	}
	if a.parts == nil {
		a.parts = make(map[kafka.TopicPartition]*partitionView)
	}
	p := &partitionView{leader: kafka.NoNode}
	a.parts[tp] = p
	i, _ := slices.BinarySearchFunc(a.order, tp, kafka.TopicPartition.Compare)
	a.order = slices.Insert(a.order, i, tp)
	return p
}
