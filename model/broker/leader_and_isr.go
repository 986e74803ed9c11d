package broker

import (
	"errors"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/log"
	"github.com/simkafka/simkafka/model/replica"
	"github.com/simkafka/simkafka/model/step"
	"github.com/simkafka/simkafka/model/zookeeper"
)

// LeaderAndIsr (ReplicaManager.becomeLeaderOrFollower; L-28 to L-30). The request
// waits while the settings of a topic that is new to the broker are read.
// Left out: log directory moves, the live leaders of the request (the addresses
// come from UpdateMetadata, as in Kafka), full requests of KRaft migration.

const leaderAndISRTopicIDVersion = 5

// roleChange is one partition of a request.
type roleChange struct {
	topic     string
	partition int32
	topicID   kafka.TopicID
	isNew     bool // the broker never had the replica
	st        replica.State
	h         *hosted // nil where the request is refused
	code      kafka.ErrorCode
	// leads, follows: the broker did not do so before, or not in this epoch.
	leads, follows bool
}

func (b *Broker) handleLeaderAndISR(in *step.Input, out *step.Effects, from caller, req *kmsg.LeaderAndISRRequest) error {
	return b.changes.begin(func(in *step.Input, out *step.Effects) error {
		if code := b.checkControl(req.BrokerEpoch, req.ControllerEpoch); code != kafka.None {
			resp := kmsg.NewPtrLeaderAndISRResponse()
			resp.Version, resp.ErrorCode = req.Version, int16(code)
			from.answer(out, resp)
			b.changes.finish(in, out)
			return nil
		}
		changes := roleChanges(req)
		unknown := b.unknownTopics(changes)
		if len(unknown) == 0 {
			return b.changeRoles(in, out, from, req, changes)
		}
		b.ask(in, out, topicConfigReads(unknown), func(in *step.Input, out *step.Effects, results [][]zookeeper.Result) error {
			for i, name := range unknown {
				if !b.topics.known(name) {
					b.topics.configure(name, &results[i][0])
				}
			}
			post(in, out, laneRequests, func(in *step.Input, out *step.Effects) error {
				return b.changeRoles(in, out, from, req, changes)
			})
			return nil
		})
		return nil
	}, in, out)
}

func roleChanges(req *kmsg.LeaderAndISRRequest) []roleChange {
	var list []roleChange
	for i := range req.PartitionStates { // before v2
		list = append(list, newRoleChange(req.PartitionStates[i].Topic, kafka.TopicID{}, &req.PartitionStates[i]))
	}
	for i := range req.TopicStates {
		t := &req.TopicStates[i]
		for j := range t.PartitionStates {
			list = append(list, newRoleChange(t.Topic, t.TopicID, &t.PartitionStates[j]))
		}
	}
	return list
}

func newRoleChange(topic string, id kafka.TopicID, s *kmsg.LeaderAndISRRequestTopicPartition) roleChange {
	return roleChange{topic: topic, partition: s.Partition, topicID: id, isNew: s.IsNew, st: replica.State{
		Leader: kafka.NodeID(s.Leader), LeaderEpoch: kafka.LeaderEpoch(s.LeaderEpoch), ISR: nodeIDs(s.ISR),
		PartitionEpoch: kafka.PartitionEpoch(s.ZKVersion), ControllerEpoch: kafka.ControllerEpoch(s.ControllerEpoch),
		Replicas: nodeIDs(s.Replicas), Recovering: s.LeaderRecoveryState == 1,
	}}
}

// unknownTopics are the topics whose settings must be read first.
func (b *Broker) unknownTopics(changes []roleChange) []string {
	var names []string
	for i := range changes {
		if name := changes[i].topic; !b.topics.known(name) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// changeRoles carries the request out: first all new leaders, then all followers.
func (b *Broker) changeRoles(in *step.Input, out *step.Effects, from caller, req *kmsg.LeaderAndISRRequest, changes []roleChange) error {
	out.Charge(kafka.Nanos(len(changes)) * b.cfg.FetchPartitionCost)
	for i := range changes {
		if err := b.checkRole(&changes[i]); err != nil {
			return err
		}
	}
	if err := b.makeLeaders(in, out, changes); err != nil {
		return err
	}
	if err := b.makeFollowers(in, out, changes); err != nil {
		return err
	}
	b.startHWCheckpoints(in, out)
	b.fetchers.shutdownIdle(in, out)
	b.coordinatorsMove(in, out, changes)
	b.noteControl(out, "LeaderAndIsr", req.ControllerID, req.ControllerEpoch, req.BrokerEpoch)
	from.answer(out, leaderAndISRResponse(req, changes))
	b.changes.finish(in, out)
	return nil
}

// checkRole finds the partition, or makes it, and decides whether it takes the
// change.
func (b *Broker) checkRole(c *roleChange) error {
	h := b.topics.get(c.topic, c.partition)
	if h == nil {
		if !slices.Contains(c.st.Replicas, b.cfg.NodeID) {
			c.code = kafka.UnknownTopicOrPartition
			return nil
		}
		tp := kafka.TopicPartition{Topic: c.topic, Partition: c.partition}
		h = b.topics.host(&b.env, tp, b.storedTopicID(tp))
	}
	c.code = h.p.CheckLeaderAndISR(&c.st, c.topicID)
	adopts := c.code == kafka.None || c.code == kafka.StaleControllerEpoch && c.st.LeaderEpoch == h.p.LeaderEpoch()
	if adopts && h.p.TopicID.IsZero() && !c.topicID.IsZero() {
		h.p.TopicID = c.topicID
		if c.code != kafka.None { // the id is all that is new
			c.code = kafka.None
			if err := b.logs.SetTopicID(h.p.TP, c.topicID); err != nil {
				c.code = kafka.KafkaStorageError
				return b.absorb(err)
			}
			return nil
		}
	}
	if c.code == kafka.None {
		c.h = h
	}
	return nil
}

// makeLeaders stops the fetchers of all new leaders, whatever then comes of each
// (L-29, corrected).
func (b *Broker) makeLeaders(in *step.Input, out *step.Effects, changes []roleChange) error {
	for i := range changes {
		if c := &changes[i]; c.h != nil && c.st.Leader == b.cfg.NodeID {
			if err := b.absorb(b.unfollow(in, out, c.h)); err != nil {
				return err
			}
		}
	}
	for i := range changes {
		c := &changes[i]
		if c.h == nil || c.st.Leader != b.cfg.NodeID {
			continue
		}
		l, err := b.openLog(in, out, c.h, c.isNew)
		if err == nil {
			c.leads, err = c.h.p.MakeLeader(in, out, &c.st, l)
		}
		if err != nil {
			if err := b.noLog(in, out, c, err); err != nil {
				return err
			}
		}
	}
	return nil
}

// noLog answers for a partition whose log cannot be had: it is offline from now on
// (markPartitionOffline). The error that comes back ends the step.
func (b *Broker) noLog(in *step.Input, out *step.Effects, c *roleChange, err error) error {
	c.code = kafka.KafkaStorageError
	if errors.Is(err, log.ErrDirsOffline) {
		err = nil
	}
	if err := b.absorb(err); err != nil {
		return err
	}
	c.h.p.SetOffline(in, out)
	return nil
}

// makeFollowers is L-30: where the leader is not alive only the log is made.
func (b *Broker) makeFollowers(in *step.Input, out *step.Effects, changes []roleChange) error {
	var renewed []*roleChange
	for i := range changes {
		c := &changes[i]
		if c.h == nil || c.st.Leader == b.cfg.NodeID {
			continue
		}
		l, err := b.openLog(in, out, c.h, c.isNew)
		if err != nil {
			if err := b.noLog(in, out, c, err); err != nil {
				return err
			}
			continue
		}
		if b.cache.broker(c.st.Leader) != nil && c.h.p.MakeFollower(in, out, &c.st, l) {
			c.follows = true
			renewed = append(renewed, c)
		}
	}
	for _, c := range renewed {
		if err := b.absorb(b.unfollow(in, out, c.h)); err != nil {
			return err
		}
	}
	for _, c := range renewed {
		b.follow(in, out, c.h, b.cache.broker(c.st.Leader))
	}
	return nil
}

func leaderAndISRResponse(req *kmsg.LeaderAndISRRequest, changes []roleChange) *kmsg.LeaderAndISRResponse {
	resp := kmsg.NewPtrLeaderAndISRResponse()
	resp.Version = req.Version
	for i := range changes {
		c := &changes[i]
		p := kmsg.NewLeaderAndISRResponseTopicPartition()
		p.Partition, p.ErrorCode = c.partition, int16(c.code)
		if req.Version < leaderAndISRTopicIDVersion {
			p.Topic = c.topic
			resp.Partitions = append(resp.Partitions, p)
			continue
		}
		if i == 0 || changes[i-1].topic != c.topic {
			t := kmsg.NewLeaderAndISRResponseTopic()
			t.TopicID = c.topicID
			resp.Topics = append(resp.Topics, t)
		}
		t := &resp.Topics[len(resp.Topics)-1]
		t.Partitions = append(t.Partitions, p)
	}
	return resp
}

func nodeIDs(list []int32) []kafka.NodeID {
	ids := make([]kafka.NodeID, len(list))
	for i, n := range list {
		ids[i] = kafka.NodeID(n)
	}
	return ids
}
