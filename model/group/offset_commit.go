package group

import (
	"unicode/utf16"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
)

// The OffsetCommit versions at which something changes (groups 2.8).
const (
	commitTimestampVersion = 1 // it alone has a time of the commit
	commitRetentionFirst   = 2 // to 4: a retention time
	commitRetentionLast    = 4
	commitEpochVersion     = 6
)

// commit is an OffsetCommit request from its checks to its answer.
type commit struct {
	from     Caller
	req      *kmsg.OffsetCommitRequest
	group    *Group
	accepted kafka.Nanos
	codes    []kafka.ErrorCode // one for each partition of the request, in its order
	staged   []stagedOffset    // those that are appended
}

type stagedOffset struct {
	tp    kafka.TopicPartition
	value Offset
	part  int // index in codes
}

// OffsetCommit is groups 2.7. known reports whether a partition exists.
func (c *Coordinator) OffsetCommit(in *step.Input, out *step.Effects, from Caller, req *kmsg.OffsetCommitRequest, known func(topic string, partition int32) bool) {
	op := &commit{from: from, req: req, accepted: in.Now}
	asks := false
	for i := range req.Topics {
		t := &req.Topics[i]
		for j := range t.Partitions {
			code := kafka.UnknownTopicOrPartition
			if known(t.Topic, t.Partitions[j].Partition) {
				code, asks = kafka.None, true
			}
			op.codes = append(op.codes, code)
		}
	}
	if !asks {
		op.answer(out)
		return
	}
	if code := c.acceptCommit(in, op); code != kafka.None {
		op.settle(code)
		op.answer(out)
		return
	}
	c.stage(in, op)
	if len(op.staged) == 0 {
		op.answer(out)
		return
	}
	c.append(in, out, op)
}

// acceptCommit finds the group, or makes one that only commits offsets, and checks member
// and generation, no more than that (CO-1).
func (c *Coordinator) acceptCommit(in *step.Input, op *commit) kafka.ErrorCode {
	req := op.req
	if code := c.validate(req.Group, anyGroup); code != kafka.None {
		return code
	}
	g := c.byID[req.Group]
	if g == nil {
		if req.Generation >= 0 {
			return kafka.IllegalGeneration
		}
		g = c.make(in, req.Group)
	}
	op.group = g
	switch {
	case g.state == Dead:
		return kafka.CoordinatorNotAvailable
	case req.Generation < 0 && g.state == Empty:
		return kafka.None
	case req.Generation < 0 && req.MemberID == unknownMember && req.InstanceID == nil:
		return kafka.UnknownMemberID
	}
	if code := g.check(req.MemberID, req.InstanceID); code != kafka.None {
		return code
	}
	switch {
	case req.Generation != g.generation:
		return kafka.IllegalGeneration
	case g.state == CompletingRebalance:
		return kafka.RebalanceInProgress
	}
	// While a rebalance is prepared commits of the generation before are welcome.
	c.renewSession(in, g.byID[req.MemberID])
	return kafka.None
}

// stage takes the offsets that may be written; metadata above the limit keeps one out
// (CO-2).
func (c *Coordinator) stage(in *step.Input, op *commit) {
	expires := kafka.NoTimestamp
	switch v := op.req.Version; {
	case v >= commitRetentionFirst && v <= commitRetentionLast && op.req.RetentionTimeMillis != -1:
		expires = in.Wall + kafka.TimestampMs(op.req.RetentionTimeMillis)
	case !c.cfg.Profile.ExpireIdleGroups:
		expires = in.Wall + kafka.TimestampMs(c.cfg.OffsetsRetention/kafka.Millisecond)
	}
	n := 0
	for i := range op.req.Topics {
		t := &op.req.Topics[i]
		for j := range t.Partitions {
			p := &t.Partitions[j]
			part := n
			n++
			if op.codes[part] != kafka.None {
				continue
			}
			o := Offset{Offset: kafka.Offset(p.Offset), LeaderEpoch: kafka.NoLeaderEpoch, Committed: in.Wall, Expires: expires}
			if p.Metadata != nil {
				o.Metadata = *p.Metadata
			}
			if javaLength(o.Metadata) > c.cfg.OffsetMetadataMax {
				op.codes[part] = kafka.OffsetMetadataTooLarge
				continue
			}
			if op.req.Version >= commitEpochVersion {
				o.LeaderEpoch = kafka.LeaderEpoch(p.LeaderEpoch)
			}
			if op.req.Version == commitTimestampVersion && p.Timestamp != -1 {
				o.Committed = kafka.TimestampMs(p.Timestamp)
			}
			op.staged = append(op.staged, stagedOffset{kafka.TopicPartition{Topic: t.Topic, Partition: p.Partition}, o, part})
		}
	}
}

// javaLength is String.length: UTF-16 units.
func javaLength(s string) (n int) {
	for _, r := range s {
		n += max(1, utf16.RuneLen(r))
	}
	return n
}

// append writes the offsets of a request as one batch (CO-3).
func (c *Coordinator) append(in *step.Input, out *step.Effects, op *commit) {
	g := op.group
	c.begin()
	for i := range op.staged {
		s := &op.staged[i]
		e := g.offsets.take(s.tp)
		e.staged, e.pending = s.value, true
		c.builder.Append(in.Wall, AppendOffsetKey(nil, g.id, s.tp), AppendOffset(nil, c.offsetVersion(&s.value), &s.value), nil)
	}
	c.store(g.partition, int8(c.cfg.OffsetsAcks), func(in *step.Input, out *step.Effects, code kafka.ErrorCode, base kafka.Offset) {
		if g.state != Dead {
			for i := range op.staged {
				c.publish(out, op, &op.staged[i], code, base)
			}
		}
		op.settle(c.commitError(code))
		op.answer(out)
	})
}

// publish makes a replicated offset visible, or gives up one that was not appended. The
// partition may have been removed meanwhile, and a later commit be under way.
func (c *Coordinator) publish(out *step.Effects, op *commit, s *stagedOffset, code kafka.ErrorCode, base kafka.Offset) {
	g := op.group
	e := g.offsets.get(s.tp)
	if e == nil {
		return
	}
	if code == kafka.None && e.pending {
		was := kafka.NoOffset
		if e.known {
			was = e.value.Offset
		}
		if e.put(s.value, base) {
			c.noteOffset(out, op, s, was, base)
		}
	}
	if e.pending && e.staged == s.value {
		e.pending = false
	}
	g.offsets.tidy(e)
}

func (c *Coordinator) noteOffset(out *step.Effects, op *commit, s *stagedOffset, was, base kafka.Offset) {
	e := c.fact(out, event.OffsetCommitted, op.group)
	e.TP, e.Index = s.tp, op.group.partition
	e.Offset, e.Base, e.First, e.Created = s.value.Offset, was, int64(base), op.accepted
	e.Member, e.Generation = op.req.MemberID, op.req.Generation
	if op.req.InstanceID != nil {
		e.Detail = *op.req.InstanceID
	}
}

// settle gives every partition without an error of its own that code.
func (op *commit) settle(code kafka.ErrorCode) {
	for i := range op.codes {
		if op.codes[i] == kafka.None {
			op.codes[i] = code
		}
	}
}

func (op *commit) answer(out *step.Effects) {
	resp := &kmsg.OffsetCommitResponse{Version: op.req.Version, Topics: make([]kmsg.OffsetCommitResponseTopic, 0, len(op.req.Topics))}
	n := 0
	for i := range op.req.Topics {
		t := &op.req.Topics[i]
		parts := make([]kmsg.OffsetCommitResponseTopicPartition, 0, len(t.Partitions))
		for j := range t.Partitions {
			parts = append(parts, kmsg.OffsetCommitResponseTopicPartition{Partition: t.Partitions[j].Partition, ErrorCode: int16(op.codes[n])})
			n++
		}
		resp.Topics = append(resp.Topics, kmsg.OffsetCommitResponseTopic{Topic: t.Topic, Partitions: parts})
	}
	out.Reply(op.from.Conn, op.from.Correlation, resp)
}
