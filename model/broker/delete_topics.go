package broker

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
	"github.com/simkafka/simkafka/model/zookeeper"
)

// DeleteTopics (ZkAdminManager.deleteTopics; Z-33). Modelled: the checks, by name or by
// id, the znode that asks the controller, the wait until this broker's metadata do not
// have the topics any more (DelayedDeleteTopics), which is when the deletion has begun,
// not when it is done. Left out: quotas.

// The DeleteTopics versions at which the fields change.
const (
	deleteTopicsDisabledVersion = 3 // TOPIC_DELETION_DISABLED; before, INVALID_REQUEST
	deleteTopicsMessageVersion  = 5
	deleteTopicsIDVersion       = 6
)

// topicRemoval is a request that waits for ZooKeeper, then for the metadata.
type topicRemoval struct {
	from   caller
	req    *kmsg.DeleteTopicsRequest
	topics []goingTopic
	waits  bool // for the metadata
	timer  step.TimerRef
}

type goingTopic struct {
	name string
	id   kafka.TopicID
	code kafka.ErrorCode
}

func (b *Broker) handleDeleteTopics(in *step.Input, out *step.Effects, from caller, req *kmsg.DeleteTopicsRequest) {
	r := &topicRemoval{from: from, req: req}
	var asks []zookeeper.Request
	for _, t := range b.goingTopics(req) {
		if t.code == kafka.None {
			t.code = b.mayDelete(req, &t)
		}
		r.topics = append(r.topics, t)
		asks = append(asks, zookeeper.Request{
			{Type: zookeeper.OpCheck, Path: zookeeper.TopicPath(t.name), Version: zookeeper.AnyVersion},
			{Type: zookeeper.OpCreate, Path: zookeeper.DeleteTopicPath(t.name)},
		})
	}
	for i := len(asks) - 1; i >= 0; i-- {
		if r.topics[i].code != kafka.None {
			asks = slices.Delete(asks, i, i+1)
		}
	}
	b.removals = append(b.removals, r)
	b.ask(in, out, asks, func(in *step.Input, out *step.Effects, results [][]zookeeper.Result) error {
		r.asked(results)
		r.waits = true
		if req.TimeoutMillis <= 0 || b.allGone(r) {
			b.completeRemoval(in, out, r)
		} else {
			r.timer = out.SetTimer(laneExpiration, in.Now+kafka.Millis(int64(req.TimeoutMillis)), timerRemoval, 0, r)
		}
		return nil
	})
}

// goingTopics are the topics that a request names.
func (b *Broker) goingTopics(req *kmsg.DeleteTopicsRequest) (list []goingTopic) {
	for _, name := range req.TopicNames {
		list = append(list, goingTopic{name: name})
	}
	for i := range req.Topics {
		t := &req.Topics[i]
		switch known := b.cache.byID[t.TopicID]; {
		case t.Topic != nil:
			list = append(list, goingTopic{name: *t.Topic})
		case known != nil:
			list = append(list, goingTopic{name: known.name, id: t.TopicID})
		default:
			list = append(list, goingTopic{id: t.TopicID, code: kafka.UnknownTopicID})
		}
	}
	return list
}

func (b *Broker) mayDelete(req *kmsg.DeleteTopicsRequest, t *goingTopic) kafka.ErrorCode {
	switch {
	case !b.controller.IsActive():
		return kafka.NotController
	case !b.cfg.DeleteTopics && req.Version < deleteTopicsDisabledVersion:
		return kafka.InvalidRequest
	case !b.cfg.DeleteTopics:
		return kafka.TopicDeletionDisabled
	case b.cache.byName[t.name] == nil:
		return kafka.UnknownTopicOrPartition
	}
	return kafka.None
}

// asked takes ZooKeeper's answers; a topic whose deletion was asked for already counts as
// asked for.
func (r *topicRemoval) asked(results [][]zookeeper.Result) {
	at := 0
	for i := range r.topics {
		t := &r.topics[i]
		if t.code != kafka.None {
			continue
		}
		switch zookeeper.Outcome(results[at]) {
		case zookeeper.OK, zookeeper.NodeExists:
		case zookeeper.NoNode:
			t.code = kafka.UnknownTopicOrPartition
		default:
			t.code = kafka.UnknownServerError
		}
		at++
	}
}

func (b *Broker) allGone(r *topicRemoval) bool {
	return !slices.ContainsFunc(r.topics, func(t goingTopic) bool { return t.code == kafka.None && b.cache.byName[t.name] != nil })
}

// checkRemovals answers the removals whose topics are gone now.
func (b *Broker) checkRemovals(in *step.Input, out *step.Effects) {
	for _, r := range slices.Clone(b.removals) {
		if r.waits && b.allGone(r) {
			b.completeRemoval(in, out, r)
		}
	}
}

// completeRemoval answers; a topic that is still there has timed out, and will go.
func (b *Broker) completeRemoval(in *step.Input, out *step.Effects, r *topicRemoval) {
	out.CancelTimer(&r.timer)
	b.removals = slices.DeleteFunc(b.removals, func(o *topicRemoval) bool { return o == r })
	resp := kmsg.NewPtrDeleteTopicsResponse()
	resp.Version = r.req.Version
	for i := range r.topics {
		t := &r.topics[i]
		if t.code == kafka.None && b.cache.byName[t.name] != nil {
			t.code = kafka.RequestTimedOut
		}
		x := kmsg.NewDeleteTopicsResponseTopic()
		x.ErrorCode = int16(t.code)
		if t.name != "" || resp.Version < deleteTopicsIDVersion {
			x.Topic = &t.name
		}
		if resp.Version >= deleteTopicsIDVersion {
			x.TopicID = t.id
		}
		resp.Topics = append(resp.Topics, x)
	}
	r.from.answer(out, resp)
}
