package broker

import (
	"errors"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/placement"
	"github.com/simkafka/simkafka/model/step"
	"github.com/simkafka/simkafka/model/zookeeper"
)

// CreatePartitions (ZkAdminManager.createPartitions, AdminZkClient; Z-32). Modelled:
// the checks of counts and assignments, placement after the first replica of partition
// 0, the write of the topic's znode, which the controller watches, the wait until this
// broker's metadata shows a leader for every new partition. Left out: policies, quotas.

func (b *Broker) handleCreatePartitions(in *step.Input, out *step.Effects, from caller, req *kmsg.CreatePartitionsRequest) {
	c := &topicCreation{from: from, grow: req, timeout: req.TimeoutMillis, answers: true}
	var reads []zookeeper.Request
	for i := range req.Topics {
		t := newTopic{name: req.Topics[i].Topic}
		switch {
		case !b.controller.IsActive():
			t.refuse(kafka.NotController, "")
		case slices.ContainsFunc(req.Topics[:i], func(o kmsg.CreatePartitionsRequestTopic) bool { return o.Topic == t.name }):
			t.refuse(kafka.InvalidRequest, "the topic is named twice")
		case b.controller.IsBeingDeleted(t.name):
			t.refuse(kafka.InvalidTopicException, "the topic is queued for deletion")
		}
		c.topics = append(c.topics, t)
		reads = append(reads, zookeeper.Request{{Type: zookeeper.OpGetData, Path: zookeeper.TopicPath(t.name)}})
	}
	if !b.controller.IsActive() {
		b.answerCreation(out, c)
		return
	}
	b.creations = append(b.creations, c)
	b.ask(in, out, reads, func(in *step.Input, out *step.Effects, results [][]zookeeper.Result) error {
		b.growTopics(in, out, c, results)
		return nil
	})
}

// growTopics writes the new assignments of the topics that may grow; results are what
// their znodes hold.
func (b *Broker) growTopics(in *step.Input, out *step.Effects, c *topicCreation, results [][]zookeeper.Result) {
	var writes []zookeeper.Request
	var of []*newTopic
	for i := range c.topics {
		t := &c.topics[i]
		if t.code != kafka.None {
			continue
		}
		now, ok := b.planGrowth(t, &c.grow.Topics[i], &results[i][0])
		if !ok || c.grow.ValidateOnly {
			continue
		}
		for n, replicas := range t.assignment {
			now.Partitions = append(now.Partitions, zookeeper.PartitionAssignment{Partition: t.first + int32(n), Replicas: replicas})
		}
		writes = append(writes, zookeeper.Request{{Type: zookeeper.OpSetData, Path: zookeeper.TopicPath(t.name),
			Data: zookeeper.EncodeTopic(b.formats.Topic, now), Version: zookeeper.AnyVersion}})
		of = append(of, t)
	}
	b.ask(in, out, writes, func(in *step.Input, out *step.Effects, results [][]zookeeper.Result) error {
		for i, t := range of {
			if code := results[i][0].Code; code != zookeeper.OK {
				t.refuse(kafka.UnknownServerError, "ZooKeeper: "+code.String())
			}
		}
		if c.grow.ValidateOnly {
			b.completeCreation(in, out, c)
		} else {
			b.awaitLeaders(in, out, c)
		}
		return nil
	})
}

// planGrowth checks one topic and places the new replicas; ok is false if it is refused.
func (b *Broker) planGrowth(t *newTopic, asked *kmsg.CreatePartitionsRequestTopic, found *zookeeper.Result) (now zookeeper.TopicAssignment, ok bool) {
	now, err := zookeeper.DecodeTopic(found.Data)
	if found.Code != zookeeper.OK || err != nil || len(now.Partitions) == 0 {
		t.refuse(kafka.UnknownTopicOrPartition, "the topic "+t.name+" does not exist")
		return now, false
	}
	for _, p := range now.Partitions {
		t.first = max(t.first, p.Partition+1)
		if len(p.Adding)+len(p.Removing) > 0 {
			t.refuse(kafka.ReassignmentInProgress, "a partition is being reassigned")
		}
	}
	t.partitions = asked.Count
	switch {
	case t.code != kafka.None:
	case t.partitions < t.first:
		t.refuse(kafka.InvalidPartitions, fmt.Sprintf("the topic has %d partitions, more than the %d asked for", t.first, t.partitions))
	case t.partitions == t.first:
		t.refuse(kafka.InvalidPartitions, fmt.Sprintf("the topic has %d partitions already", t.first))
	default:
		b.placeGrowth(t, asked.Assignment, now.Partitions[0].Replicas)
	}
	return now, t.code == kafka.None
}

// placeGrowth takes the assignment that was asked for, or places the replicas as many
// times as partition 0 has, after its first one (section 5).
func (b *Broker) placeGrowth(t *newTopic, asked []kmsg.CreatePartitionsRequestTopicAssignment, first []kafka.NodeID) {
	brokers := b.cache.placementBrokers()
	if asked == nil {
		start := placement.FixedStart(brokers, first[0])
		var err error
		t.assignment, err = placement.AssignToBrokers(brokers, t.partitions-t.first, len(first), start, start, t.first)
		switch {
		case errors.Is(err, placement.ErrReplicationFactor):
			t.refuse(kafka.InvalidReplicationFactor, err.Error())
		case err != nil:
			t.refuse(kafka.UnknownServerError, err.Error())
		}
		return
	}
	if len(asked) != int(t.partitions-t.first) {
		t.refuse(kafka.InvalidReplicaAssignment, fmt.Sprintf("%d assignments for %d new partitions", len(asked), t.partitions-t.first))
		return
	}
	for i := range asked {
		ids := nodeIDs(asked[i].Replicas)
		sorted := slices.Sorted(slices.Values(ids))
		switch {
		case len(ids) != len(first) || len(slices.Compact(sorted)) != len(ids):
			t.refuse(kafka.InvalidReplicaAssignment, "partitions differ in their number of replicas")
			return
		case slices.ContainsFunc(ids, func(id kafka.NodeID) bool { return b.cache.broker(id) == nil }):
			t.refuse(kafka.InvalidReplicaAssignment, "a broker is not alive")
			return
		}
		t.assignment = append(t.assignment, ids)
	}
}

func (c *topicCreation) answerGrowth(out *step.Effects) {
	resp := kmsg.NewPtrCreatePartitionsResponse()
	resp.Version = c.grow.Version
	for i := range c.topics {
		t := &c.topics[i]
		r := kmsg.NewCreatePartitionsResponseTopic()
		r.Topic, r.ErrorCode = t.name, int16(t.code)
		if t.message != "" {
			r.ErrorMessage = &t.message
		}
		resp.Topics = append(resp.Topics, r)
	}
	c.from.answer(out, resp)
}
