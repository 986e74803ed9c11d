package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/quirk"
	"github.com/simkafka/simkafka/model/step"
)

// UpdateMetadata (L-33): the cache is overwritten; topic creations that waited for
// leaders, and deletions that waited for topics to vanish, are answered.

func (b *Broker) handleUpdateMetadata(in *step.Input, out *step.Effects, from caller, req *kmsg.UpdateMetadataRequest) error {
	return b.changes.begin(func(in *step.Input, out *step.Effects) error {
		resp := kmsg.NewPtrUpdateMetadataResponse()
		resp.Version = req.Version
		resp.ErrorCode = int16(b.checkControl(req.BrokerEpoch, req.ControllerEpoch))
		if resp.ErrorCode == 0 {
			b.cache.update(req)
			b.offsetsOfDeleted(in, out, req)
			b.noteControl(out, "UpdateMetadata", req.ControllerID, req.ControllerEpoch, req.BrokerEpoch)
		}
		from.answer(out, resp)
		b.checkCreations(in, out)
		b.checkRemovals(in, out)
		b.changes.finish(in, out)
		return nil
	}, in, out)
}

// offsetsOfDeleted tells the group coordinator which partitions are gone.
func (b *Broker) offsetsOfDeleted(in *step.Input, out *step.Effects, req *kmsg.UpdateMetadataRequest) {
	if b.groups.coordinator == nil {
		return
	}
	var gone []kafka.TopicPartition
	add := func(topic string, s *kmsg.UpdateMetadataRequestTopicPartition) {
		if kafka.NodeID(s.Leader) == kafka.LeaderDuringDelete {
			gone = append(gone, kafka.TopicPartition{Topic: topic, Partition: s.Partition})
		}
	}
	for i := range req.PartitionStates { // before v5
		add(req.PartitionStates[i].Topic, &req.PartitionStates[i])
	}
	for i := range req.TopicStates {
		for j := range req.TopicStates[i].PartitionStates {
			add(req.TopicStates[i].Topic, &req.TopicStates[i].PartitionStates[j])
		}
	}
	if len(gone) > 0 {
		b.groups.coordinator.PartitionsDeleted(in, out, gone)
	}
}

// checkControl is the check of a whole control request (L-28, corrected; Z-10,
// Z-11): the broker epoch first, then the controller epoch, which is remembered.
func (b *Broker) checkControl(brokerEpoch int64, controllerEpoch int32) kafka.ErrorCode {
	switch {
	case b.staleBrokerEpoch(brokerEpoch):
		return kafka.StaleBrokerEpoch
	case kafka.ControllerEpoch(controllerEpoch) < b.controllerEpoch && !b.cfg.Profile.Quirks.Has(quirk.OldControllerObeyed):
		return kafka.StaleControllerEpoch
	}
	b.controllerEpoch = kafka.ControllerEpoch(controllerEpoch)
	return kafka.None
}

func (b *Broker) noteControl(out *step.Effects, api string, controller, controllerEpoch int32, brokerEpoch int64) {
	out.Note(event.Event{Kind: event.ControlExecuted, Node: b.cfg.NodeID, Peer: kafka.NodeID(controller),
		ControllerEpoch: kafka.ControllerEpoch(controllerEpoch), BrokerEpoch: kafka.BrokerEpoch(brokerEpoch), Text: api})
}

// stateChanges lets one LeaderAndIsr, StopReplica or UpdateMetadata request work at
// a time (replicaStateChangeLock); the others wait in order.
type stateChanges struct {
	busy  bool
	queue []call
}

// begin runs c now or when those before it are through. c ends with finish, in
// this step or a later one.
func (s *stateChanges) begin(c call, in *step.Input, out *step.Effects) error {
	if s.busy {
		s.queue = append(s.queue, c)
		return nil
	}
	s.busy = true
	return c(in, out)
}

// finish lets the next one begin, on a handler.
func (s *stateChanges) finish(in *step.Input, out *step.Effects) {
	s.busy = false
	if len(s.queue) == 0 {
		return
	}
	next := s.queue[0]
	s.queue = s.queue[1:]
	s.busy = true
	post(in, out, laneRequests, next)
}
