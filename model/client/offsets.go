package client

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/config"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/netclient"
	"github.com/simkafka/simkafka/model/step"
)

// Timestamps of ListOffsets that name an end (C-9).
const (
	latest   = -1
	earliest = -2
)

// Versions from which the questions about offsets carry the current leader epoch.
const (
	listOffsetsEpochFrom    = 4
	leaderEpochCurrentFrom  = 2
	leaderEpochReplicaFrom  = 3
	undefinedEpoch          = -1
	undefinedEpochEndOffset = -1
)

// questionKind is what is asked about partitions.
type questionKind uint8

const (
	askReset questionKind = iota // ListOffsets for a position (C-4)
	askEnd                       // ListOffsets for the high watermark to read up to
	askEpoch                     // OffsetForLeaderEpoch for a position's validity (C-5)
	askNothing
)

// question is such a request on its way, to one leader.
type question struct {
	kind  questionKind
	node  kafka.NodeID
	parts []questioned
}

// questioned is a partition and the position for which it was asked.
type questioned struct {
	part *assigned
	pos  position
}

// wants is what has to be asked about a partition before it can be fetched.
func (r *reader) wants(a *assigned) questionKind {
	switch {
	case a.state == awaitReset:
		return askReset
	case a.state == awaitValidation:
		return askEpoch
	case r.bounded && a.state == fetching && a.end == kafka.NoOffset, a.endDue && a.state == fetching:
		return askEnd
	}
	return askNothing
}

// ask sends the open questions, one request for each kind and leader, and returns
// when a partition's backoff ends.
func (r *reader) ask(in *step.Input, out *step.Effects) kafka.Nanos {
	next := kafka.Forever
	var open []*question
	for _, a := range r.parts {
		r.monitor.due(in, a, &next)
		kind := r.wants(a)
		if kind == askNothing || a.asking != nil {
			continue
		}
		if a.retryAt > in.Now {
			next = min(next, a.retryAt)
			continue
		}
		if !r.readyNode(in, out, a, &next) {
			continue
		}
		open = addQuestion(open, kind, a)
	}
	for _, q := range open {
		addr, _ := r.network.meta.addr(q.node)
		r.network.net.Send(in, out, addr, r.questionRequest(q), 0, q)
	}
	return next
}

func addQuestion(open []*question, kind questionKind, a *assigned) []*question {
	node := a.pos.leader.leader
	for _, q := range open {
		if q.kind == kind && q.node == node {
			q.parts = append(q.parts, questioned{a, a.pos})
			a.asking = q
			return open
		}
	}
	a.asking = &question{kind: kind, node: node, parts: []questioned{{a, a.pos}}}
	return append(open, a.asking)
}

func (r *reader) questionRequest(q *question) kmsg.Request {
	switch q.kind {
	case askEpoch:
		return r.leaderEpochRequest(q)
	case askReset:
		if r.policy == config.ResetEarliest {
			return r.listOffsetsRequest(q, earliest)
		}
	}
	return r.listOffsetsRequest(q, latest)
}

func (r *reader) listOffsetsRequest(q *question, timestamp int64) kmsg.Request {
	req := kmsg.NewPtrListOffsetsRequest()
	req.Version = r.cfg.Profile.Versions.ListOffsets
	for _, x := range q.parts {
		p := kmsg.NewListOffsetsRequestTopicPartition()
		p.Partition, p.Timestamp = x.part.tp.Partition, timestamp
		if r.cfg.Profile.Fencing320 && req.Version >= listOffsetsEpochFrom {
			p.CurrentLeaderEpoch = int32(x.pos.leader.epoch)
		}
		if n := len(req.Topics); n == 0 || req.Topics[n-1].Topic != x.part.tp.Topic {
			req.Topics = append(req.Topics, kmsg.ListOffsetsRequestTopic{Topic: x.part.tp.Topic})
		}
		t := &req.Topics[len(req.Topics)-1]
		t.Partitions = append(t.Partitions, p)
	}
	return req
}

func (r *reader) leaderEpochRequest(q *question) kmsg.Request {
	req := kmsg.NewPtrOffsetForLeaderEpochRequest()
	req.Version = r.cfg.Profile.Versions.OffsetForLeaderEpoch
	if req.Version >= leaderEpochReplicaFrom {
		req.ReplicaID = -1
	}
	for _, x := range q.parts {
		p := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
		p.Partition, p.LeaderEpoch = x.part.tp.Partition, int32(x.pos.epoch)
		if req.Version >= leaderEpochCurrentFrom {
			p.CurrentLeaderEpoch = int32(x.pos.leader.epoch)
		}
		if n := len(req.Topics); n == 0 || req.Topics[n-1].Topic != x.part.tp.Topic {
			req.Topics = append(req.Topics, kmsg.OffsetForLeaderEpochRequestTopic{Topic: x.part.tp.Topic})
		}
		t := &req.Topics[len(req.Topics)-1]
		t.Partitions = append(t.Partitions, p)
	}
	return req
}

// reply is an answer about one partition.
type reply struct {
	err    kafka.ErrorCode
	offset kafka.Offset
	epoch  kafka.LeaderEpoch
}

// answered ends a question. A partition that the answer leaves out, or that got no
// answer, is asked about again.
func (r *reader) answered(in *step.Input, out *step.Effects, c *netclient.Completion, q *question) {
	for i := range q.parts {
		x := &q.parts[i]
		if x.part.asking != q {
			x.part = nil // the answer comes too late
			continue
		}
		x.part.asking = nil
	}
	switch resp := c.Response.(type) {
	case *kmsg.ListOffsetsResponse:
		for i := range resp.Topics {
			t := &resp.Topics[i]
			for j := range t.Partitions {
				p := &t.Partitions[j]
				r.settle(in, out, q, t.Topic, p.Partition, reply{kafka.ErrorCode(p.ErrorCode), listedOffset(resp.Version, p), 0})
			}
		}
	case *kmsg.OffsetForLeaderEpochResponse:
		for i := range resp.Topics {
			t := &resp.Topics[i]
			for j := range t.Partitions {
				p := &t.Partitions[j]
				r.settle(in, out, q, t.Topic, p.Partition, reply{kafka.ErrorCode(p.ErrorCode), kafka.Offset(p.EndOffset), kafka.LeaderEpoch(p.LeaderEpoch)})
			}
		}
	}
	for i := range q.parts {
		if a := q.parts[i].part; a != nil {
			r.retry(in, a, q.kind)
		}
	}
}

func listedOffset(version int16, p *kmsg.ListOffsetsResponseTopicPartition) kafka.Offset {
	if version > 0 {
		return kafka.Offset(p.Offset)
	}
	if len(p.OldStyleOffsets) == 0 {
		return kafka.NoOffset
	}
	return kafka.Offset(p.OldStyleOffsets[0])
}

func (r *reader) retry(in *step.Input, a *assigned, kind questionKind) {
	r.network.requestUpdate()
	if kind == askEnd && !r.bounded {
		r.monitor.answered(in, a, r.cfg.RetryBackoff)
		return
	}
	a.retryAt = in.Now + r.cfg.RetryBackoff
}

// settle takes the answer about one partition.
func (r *reader) settle(in *step.Input, out *step.Effects, q *question, topic string, partition int32, got reply) {
	for i := range q.parts {
		x := &q.parts[i]
		a := x.part
		if a == nil || a.tp.Partition != partition || a.tp.Topic != topic {
			continue
		}
		x.part = nil
		switch {
		case r.wants(a) != q.kind:
		case got.err == kafka.None && q.kind == askEnd && !r.bounded:
			r.monitor.answered(in, a, r.monitor.every)
		case got.err == kafka.None && (q.kind == askEpoch || got.offset >= 0):
			r.apply(out, q.kind, a, got)
		case got.err == kafka.None || got.err.Retriable() || got.err == kafka.UnknownServerError || q.kind == askEnd && !r.bounded:
			r.retry(in, a, q.kind)
		default:
			r.raise("offset of " + a.tp.String() + ": " + got.err.String())
		}
		return
	}
}

// apply: the position is the one that was asked about, since a new leader takes the
// question back.
func (r *reader) apply(out *step.Effects, kind questionKind, a *assigned, got reply) {
	switch kind {
	case askEnd:
		a.end = got.offset
	case askReset:
		a.seek(out, got.offset, kafka.NoLeaderEpoch, a.reason)
	case askEpoch:
		r.validated(out, a, got)
	}
}

// validated is the outcome of truncation detection (C-5).
func (r *reader) validated(out *step.Effects, a *assigned, got reply) {
	switch {
	case got.offset == undefinedEpochEndOffset || got.epoch == undefinedEpoch:
		r.reset(a, "truncation: the leader does not know the position's epoch")
	case got.offset >= a.pos.offset:
		a.enter(fetching)
	case r.policy == config.ResetNone:
		r.raise("log truncation of " + a.tp.String() + " below the position")
	default:
		a.seek(out, got.offset, got.epoch, "truncation")
	}
}
