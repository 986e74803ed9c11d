package zookeeper

import (
	"slices"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
)

// note turns committed changes of Kafka's znodes into facts. ses is the writer's
// session. ZooKeeper itself does not look at data; content that does not parse is
// a defect of the writer and is noted as a failed assertion.
func (s *Server) note(out *step.Effects, ses *session, changes []change) {
	for i := range changes {
		c := &changes[i]
		if id, ok := ParseBrokerPath(c.path); ok {
			noteBroker(out, ses, c, id)
		} else if tp, ok := ParseStatePath(c.path); ok {
			noteState(out, ses, c, tp)
		} else if topic, ok := ParseTopicPath(c.path); ok {
			noteTopic(out, c, topic)
		} else if topic, ok := ParseDeleteTopicPath(c.path); ok && c.kind == Created {
			out.Note(event.Event{Kind: event.TopicDeletionAsked, TP: kafka.TopicPartition{Topic: topic}})
		} else if c.path == ControllerEpochPath {
			s.noteControllerEpoch(out, c)
		}
	}
}

func noteBroker(out *step.Effects, ses *session, c *change, id kafka.NodeID) {
	switch c.kind {
	case Created:
		ses.node = id
		out.Note(event.Event{Kind: event.BrokerRegistered, Node: id, BrokerEpoch: kafka.BrokerEpoch(c.node.czxid)})
	case Deleted:
		out.Note(event.Event{Kind: event.BrokerUnregistered, Node: id, BrokerEpoch: kafka.BrokerEpoch(c.node.czxid)})
	}
}

func noteState(out *step.Effects, ses *session, c *change, tp kafka.TopicPartition) {
	if c.kind == Deleted {
		return
	}
	p, err := DecodePartitionState(c.node.data)
	if err != nil {
		noteDefect(out, c.path, err)
		return
	}
	out.Note(event.Event{Kind: event.PartitionChanged, TP: tp, Leader: p.Leader, LeaderEpoch: p.LeaderEpoch, ISR: p.ISR,
		PartitionEpoch: kafka.PartitionEpoch(c.node.version), ControllerEpoch: p.ControllerEpoch, Node: ses.node, Flag: p.Recovering})
}

func noteTopic(out *step.Effects, c *change, topic string) {
	if c.kind == Deleted {
		out.Note(event.Event{Kind: event.TopicDeleted, TP: kafka.TopicPartition{Topic: topic}})
		return
	}
	now, err := DecodeTopic(c.node.data)
	if err != nil {
		noteDefect(out, c.path, err)
		return
	}
	var before TopicAssignment
	if c.kind == Created {
		out.Note(event.Event{Kind: event.TopicCreated, TP: kafka.TopicPartition{Topic: topic},
			Count: int32(len(now.Partitions)), TopicID: now.TopicID})
	} else if before, err = DecodeTopic(c.oldData); err != nil {
		noteDefect(out, c.path, err)
	}
	for _, p := range now.Partitions {
		if old := replicasOf(before.Partitions, p.Partition); !slices.Equal(old, p.Replicas) {
			out.Note(event.Event{Kind: event.AssignmentChanged, Replicas: p.Replicas,
				TP: kafka.TopicPartition{Topic: topic, Partition: p.Partition}})
		}
	}
	for _, p := range before.Partitions { // nothing fences one writer of the topic from another
		if replicasOf(now.Partitions, p.Partition) == nil && len(p.Replicas) > 0 {
			out.Note(event.Event{Kind: event.AssignmentChanged, TP: kafka.TopicPartition{Topic: topic, Partition: p.Partition}})
		}
	}
}

// noteControllerEpoch keeps which epoch each version of the znode held.
func (s *Server) noteControllerEpoch(out *step.Effects, c *change) {
	if c.kind == Deleted {
		s.store.epochs = nil
		return
	}
	e, err := DecodeControllerEpoch(c.node.data)
	if err != nil {
		noteDefect(out, c.path, err)
		e = -1
	}
	s.store.epochs = append(s.store.epochs, e)
}

// noteControlWrite reports a write that was fenced by the controller epoch (Z-9).
func (s *Server) noteControlWrite(out *step.Effects, ses *session, req Request, results []Result) {
	for i := range req {
		if req[i].Type == OpCheck && req[i].Path == ControllerEpochPath {
			out.Note(event.Event{Kind: event.ControlWrite, Node: ses.node, TP: stateOf(req),
				ControllerEpoch: s.store.epochAt(req[i].Version), Flag: Outcome(results) == OK})
			return
		}
	}
}

// stateOf is the partition whose state a request writes: Kafka's have one write beside the check.
func stateOf(req Request) kafka.TopicPartition {
	for i := range req {
		if tp, ok := ParseStatePath(req[i].Path); ok {
			return tp
		}
	}
	return kafka.TopicPartition{}
}

func noteDefect(out *step.Effects, path string, err error) {
	out.Note(event.Event{Kind: event.Assertion, Text: "znode " + path + ": " + err.Error()})
}
