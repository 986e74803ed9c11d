package client

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
)

// Versions of OffsetFetch and what they add.
const (
	committedEpochFrom  = 5
	committedStableFrom = 7
	committedGroupsFrom = 8
)

// fetchCommitted asks for the committed offsets of partitions without a position
// (groups 3.6); it returns when to come back.
func (g *GroupConsumer) fetchCommitted(in *step.Input, out *step.Effects) kafka.Nanos {
	if g.asking {
		return kafka.Forever
	}
	var parts []*assigned
	for _, a := range g.parts {
		if a.state == initializing {
			parts = append(parts, a)
		}
	}
	switch {
	case len(parts) == 0:
		return kafka.Forever
	case g.askAt > in.Now:
		return g.askAt
	case !g.coord.known:
		return g.seek(in, out)
	}
	g.asking = g.askCoordinator(in, out, g.committedRequest(parts), 0, &asked{kind: fetchCall, parts: parts})
	return kafka.Forever
}

func (g *GroupConsumer) committedRequest(parts []*assigned) *kmsg.OffsetFetchRequest {
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Version = g.cfg.Profile.Versions.OffsetFetch
	req.RequireStable = req.Version >= committedStableFrom
	if req.Version < committedGroupsFrom {
		req.Group = g.group.Group
		for _, a := range parts {
			if n := len(req.Topics); n == 0 || req.Topics[n-1].Topic != a.tp.Topic {
				req.Topics = append(req.Topics, kmsg.OffsetFetchRequestTopic{Topic: a.tp.Topic})
			}
			t := &req.Topics[len(req.Topics)-1]
			t.Partitions = append(t.Partitions, a.tp.Partition)
		}
		return req
	}
	x := kmsg.NewOffsetFetchRequestGroup()
	x.Group = g.group.Group
	for _, a := range parts {
		if n := len(x.Topics); n == 0 || x.Topics[n-1].Topic != a.tp.Topic {
			t := kmsg.NewOffsetFetchRequestGroupTopic()
			t.Topic = a.tp.Topic
			x.Topics = append(x.Topics, t)
		}
		t := &x.Topics[len(x.Topics)-1]
		t.Partitions = append(t.Partitions, a.tp.Partition)
	}
	req.Groups = append(req.Groups, x)
	return req
}

// committedAnswer is what the group says of one partition.
type committedAnswer struct {
	offset kafka.Offset
	epoch  kafka.LeaderEpoch
	err    kafka.ErrorCode
}

// committedFetched ends an OffsetFetch request.
func (g *GroupConsumer) committedFetched(in *step.Input, out *step.Effects, c *asked, resp kmsg.Response) {
	g.asking = false
	r, ok := resp.(*kmsg.OffsetFetchResponse)
	if !ok {
		g.askAt = in.Now + g.cfg.RetryBackoff
		return
	}
	err := kafka.ErrorCode(r.ErrorCode)
	if r.Version >= committedGroupsFrom && len(r.Groups) > 0 {
		err = kafka.ErrorCode(r.Groups[0].ErrorCode)
	}
	switch err {
	case kafka.None:
		for _, a := range c.parts {
			if x, found := committedOf(r, a.tp); found && a.state == initializing && g.owns(a) {
				g.committed(in, out, a, x)
			}
		}
		return
	case kafka.NotCoordinator, kafka.CoordinatorNotAvailable:
		g.coordinatorLost(in, out, err.String())
	case kafka.CoordinatorLoadInProgress:
	default:
		g.raise("committed offsets of group " + g.group.Group + ": " + err.String())
	}
	g.askAt = in.Now + g.cfg.RetryBackoff
}

func (g *GroupConsumer) owns(a *assigned) bool {
	return a.index < len(g.parts) && g.parts[a.index] == a
}

func committedOf(r *kmsg.OffsetFetchResponse, tp kafka.TopicPartition) (committedAnswer, bool) {
	for i := range r.Topics {
		t := &r.Topics[i]
		for j := range t.Partitions {
			if p := &t.Partitions[j]; t.Topic == tp.Topic && p.Partition == tp.Partition {
				return answerOf(r.Version, p.Offset, p.LeaderEpoch, p.ErrorCode), true
			}
		}
	}
	for i := range r.Groups {
		for j := range r.Groups[i].Topics {
			t := &r.Groups[i].Topics[j]
			for k := range t.Partitions {
				if p := &t.Partitions[k]; t.Topic == tp.Topic && p.Partition == tp.Partition {
					return answerOf(r.Version, p.Offset, p.LeaderEpoch, p.ErrorCode), true
				}
			}
		}
	}
	return committedAnswer{}, false
}

func answerOf(version int16, offset int64, epoch int32, err int16) committedAnswer {
	if version < committedEpochFrom {
		epoch = int32(kafka.NoLeaderEpoch)
	}
	return committedAnswer{kafka.Offset(offset), kafka.LeaderEpoch(epoch), kafka.ErrorCode(err)}
}

// committed gives a partition its first position: the committed one, or the reset
// policy's if there is none.
func (g *GroupConsumer) committed(in *step.Input, out *step.Effects, a *assigned, x committedAnswer) {
	e := g.note(out, event.CommittedFetched)
	e.TP, e.Offset, e.Err = a.tp, x.offset, x.err
	switch {
	case x.err == kafka.UnstableOffsetCommit || x.err.Retriable() && x.err != kafka.UnknownTopicOrPartition:
		g.askAt = in.Now + g.cfg.RetryBackoff
	case x.err != kafka.None:
		g.raise("committed offset of " + a.tp.String() + ": " + x.err.String())
	case x.offset < 0:
		g.reader.reset(a, "start")
	default:
		if g.network.meta.sight(out, a.tp, x.epoch) {
			g.network.requestUpdate()
		}
		a.seek(out, x.offset, x.epoch, event.ResetCommitted)
		a.pos.leader = leaderInfo{kafka.NoNode, kafka.NoLeaderEpoch} // to be validated against the present one
		g.maybeValidate(a)
	}
}
