package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/group"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/record"
	"github.com/simkafka/simkafka/model/replica"
	"github.com/simkafka/simkafka/model/step"
)

// Produce (L-13, L-14). Modelled: acks 0, 1 and all, the checks before and after
// the append, sequence numbers and duplicates (P-15), the parking of acks=all. Left
// out: authorization, quotas, the verification of transactions (KIP-890). The leader
// hint of KIP-951 is given.

// internalTopic: brokers alone write there; they reject what ordinary clients write.
func internalTopic(name string) bool {
	return name == group.OffsetsTopic || name == "__transaction_state"
}

// produceOp is a produce request from its handler to its answer.
type produceOp struct {
	from    caller
	req     *kmsg.ProduceRequest
	acks    int8
	pending int // parts without an outcome
	parts   []producePart
	limit   deadline
	// offsets is the group coordinator's append that this is instead of a request.
	offsets *group.Append
}

// producePart is one partition of it.
type producePart struct {
	h      *hosted // nil if not hosted
	res    replica.AppendResult
	code   kafka.ErrorCode
	wait   bool // appended and not yet replicated
	time   kafka.TimestampMs
	start  kafka.Offset // log start
	parked watch
}

func (b *Broker) takeProduce(req *kmsg.ProduceRequest, from caller) *produceOp {
	n := 0
	for i := range req.Topics {
		n += len(req.Topics[i].Partitions)
	}
	op := b.takeOp(n)
	op.from, op.req, op.acks, op.pending = from, req, int8(req.Acks), 0
	return op
}

// takeOp is an op for n partitions.
func (b *Broker) takeOp(n int) *produceOp {
	var op *produceOp
	if n := len(b.waiting.produces); n > 0 {
		op = b.waiting.produces[n-1]
		b.waiting.produces = b.waiting.produces[:n-1]
	} else {
		op = &produceOp{}
	}
	op.parts = resize(op.parts, n)
	return op
}

func (b *Broker) giveProduce(op *produceOp) {
	op.req, op.offsets = nil, nil
	clear(op.parts)
	b.waiting.produces = append(b.waiting.produces, op)
}

func (b *Broker) handleProduce(in *step.Input, out *step.Effects, from caller, req *kmsg.ProduceRequest) error {
	op := b.takeProduce(req, from)
	out.Charge(b.cfg.RequestServiceTime + kafka.Nanos(len(op.parts))*b.cfg.FetchPartitionCost)
	valid := req.Acks == -1 || req.Acks == 0 || req.Acks == 1
	appended, n := false, 0
	for i := range req.Topics {
		t := &req.Topics[i]
		for j := range t.Partitions {
			part := &op.parts[n]
			n++
			*part = producePart{code: kafka.InvalidRequiredAcks, time: kafka.NoTimestamp, start: kafka.NoOffset,
				res: replica.AppendResult{Base: kafka.NoOffset, Last: kafka.NoOffset}}
			if !valid {
				continue
			}
			if err := b.append(in, out, op, part, t.Topic, &t.Partitions[j]); err != nil {
				return err
			}
			appended = appended || part.code == kafka.None
		}
	}
	if !appended {
		b.completeProduce(in, out, op)
		return nil
	}
	out.Done(doneProduce, 0, op)
	return nil
}

// append is L-13 rows 2 to 6 for one partition.
func (b *Broker) append(in *step.Input, out *step.Effects, op *produceOp, part *producePart, topic string, data *kmsg.ProduceRequestTopicPartition) (err error) {
	h := b.topics.get(topic, data.Partition)
	switch {
	case internalTopic(topic):
		part.code = kafka.InvalidTopicException
		return nil
	case h == nil:
		part.code = b.cache.missing(topic, data.Partition)
		return nil
	}
	part.h = h
	part.res, part.code, err = h.p.Append(in, out, record.Batch(data.Records), op.acks)
	if err != nil || part.code != kafka.None {
		return b.absorb(err)
	}
	switch {
	case part.res.Duplicate:
		part.time = part.res.Timestamp
	case h.topic.settings.TimestampType == record.LogAppendTime:
		part.time = in.Wall
	}
	return nil
}

// appended goes on when the disk time of the appends is spent: they become
// visible, and the request is answered or parked.
func (b *Broker) appended(in *step.Input, out *step.Effects, op *produceOp) {
	for i := range op.parts {
		part := &op.parts[i]
		if part.h == nil || part.code != kafka.None {
			continue
		}
		part.h.p.Publish(in, out, part.res.Number)
		switch {
		case op.acks != replica.AllISR:
		case part.h.p.HasResigned(&part.res):
			part.code = kafka.NotLeaderOrFollower
		default:
			part.wait = true
			op.pending++
		}
	}
	if op.pending == 0 || op.isDone() {
		b.completeProduce(in, out, op)
		return
	}
	b.waiting.parkedProduces++
	for i := range op.parts {
		if part := &op.parts[i]; part.wait {
			part.parked.produce = op
			part.h.produces.add(&part.parked)
		}
	}
	wait := b.cfg.OffsetsCommitTimeout
	if op.req != nil {
		wait = kafka.Nanos(max(op.req.TimeoutMillis, 0)) * kafka.Millisecond
	}
	op.limit.produce = op
	b.waiting.produceLimits.add(out, &op.limit, in.Now+wait)
}

// isDone looks at every partition without an outcome and reports whether all have
// one now (L-14).
func (op *produceOp) isDone() bool {
	for i := range op.parts {
		part := &op.parts[i]
		if !part.wait {
			continue
		}
		if code, done := part.h.p.CheckDelayedProduce(part.res.Last + 1); done {
			part.code, part.wait = code, false
			op.pending--
		}
	}
	return op.pending == 0
}

// completeProduce answers; what has no outcome has timed out.
func (b *Broker) completeProduce(in *step.Input, out *step.Effects, op *produceOp) {
	parked := false
	for i := range op.parts {
		part := &op.parts[i]
		if part.parked.produce != nil {
			parked = true
			part.parked.remove()
		}
		if part.wait {
			part.code = kafka.RequestTimedOut
		}
		if part.h != nil && part.res.Base >= 0 && part.h.p.Log() != nil {
			part.start = part.h.p.Log().LogStartOffset()
		}
	}
	if parked {
		b.waiting.parkedProduces--
		op.limit.remove()
	}
	switch {
	case op.offsets != nil:
		b.completeOffsets(in, out, op)
	case op.acks == 0:
		op.answerNone(out)
	default:
		b.noteProduce(out, op)
		op.from.answer(out, b.produceResponse(op))
	}
	b.giveProduce(op)
}

// answerNone ends a request with acks=0: on an error the connection is closed, so
// that the client refreshes its metadata.
func (op *produceOp) answerNone(out *step.Effects) {
	for i := range op.parts {
		if op.parts[i].code != kafka.None {
			out.Close(op.from.conn)
			return
		}
	}
	out.NoReply(op.from.conn, op.from.correlation)
}

func (b *Broker) noteProduce(out *step.Effects, op *produceOp) {
	n := 0
	for i := range op.req.Topics {
		t := &op.req.Topics[i]
		for j := range t.Partitions {
			part := &op.parts[n]
			n++
			e := out.Fact()
			e.Kind, e.Node, e.Acks, e.Err = event.ProduceAnswered, b.cfg.NodeID, op.acks, part.code
			e.TP = kafka.TopicPartition{Topic: t.Topic, Partition: t.Partitions[j].Partition}
			e.Base, e.Last, e.LeaderEpoch, e.HW = part.res.Base, part.res.Last, kafka.NoLeaderEpoch, kafka.NoOffset
			if part.h != nil {
				p := part.h.p
				e.TP, e.LeaderEpoch, e.HW, e.MaximalISR = p.TP, p.LeaderEpoch(), p.HighWatermark(), p.MaximalISR()
			}
		}
	}
}

// produceAnswer is a response with room for the usual one partition.
type produceAnswer struct {
	resp   kmsg.ProduceResponse
	topics [1]kmsg.ProduceResponseTopic
	parts  [1]kmsg.ProduceResponseTopicPartition
}

// newAnswer is a zero answer. They are made several at a time, which costs less.
func (p *purgatory) newAnswer() *produceAnswer {
	if len(p.answers) == 0 {
		p.answers = make([]produceAnswer, 16)
	}
	a := &p.answers[0]
	p.answers = p.answers[1:]
	return a
}

func (b *Broker) produceResponse(op *produceOp) *kmsg.ProduceResponse {
	a := b.waiting.newAnswer()
	resp, req := &a.resp, op.req
	resp.Version = req.Version
	resp.Topics = a.topics[:0]
	all := a.parts[:0]
	if len(req.Topics) > 1 {
		resp.Topics = make([]kmsg.ProduceResponseTopic, 0, len(req.Topics))
	}
	if len(op.parts) > 1 {
		all = make([]kmsg.ProduceResponseTopicPartition, 0, len(op.parts))
	}
	for i := range req.Topics {
		t := &req.Topics[i]
		first := len(all)
		for j := range t.Partitions {
			part := &op.parts[len(all)]
			all = all[:len(all)+1]
			part.respond(&all[len(all)-1], req.Version, t.Partitions[j].Partition)
			if part.code == kafka.NotLeaderOrFollower && req.Version >= produceLeaderVersion {
				b.hintProduce(resp, &all[len(all)-1], part.h, t.Topic)
			}
		}
		resp.Topics = append(resp.Topics, kmsg.ProduceResponseTopic{Topic: t.Topic, TopicID: t.TopicID, Partitions: all[first:len(all):len(all)]})
	}
	return resp
}

// The Produce versions at which the fields of an answer change.
const (
	produceTimeVersion    = 2
	produceStartVersion   = 5
	produceMessageVersion = 8
	produceLeaderVersion  = 10
)

// respond fills p, which is zero.
func (part *producePart) respond(p *kmsg.ProduceResponseTopicPartition, version int16, partition int32) {
	p.Partition, p.ErrorCode, p.BaseOffset = partition, int16(part.code), int64(part.res.Base)
	p.LogAppendTime, p.LogStartOffset = -1, -1
	p.CurrentLeader.LeaderID, p.CurrentLeader.LeaderEpoch = -1, -1
	if version >= produceTimeVersion {
		p.LogAppendTime = int64(part.time)
	}
	if version >= produceStartVersion {
		p.LogStartOffset = int64(part.start)
	}
	if version >= produceMessageVersion && part.code != kafka.None {
		part.explain(p)
	}
}

// explain adds what the validation had to say (KIP-467).
func (part *producePart) explain(p *kmsg.ProduceResponseTopicPartition) {
	v := &part.res.Verdict
	if v.Message != "" {
		text := v.Message // the verdict's memory is used again
		p.ErrorMessage = &text
	}
	for i := range v.RecordErrors {
		text := v.RecordErrors[i].Message
		e := kmsg.NewProduceResponseTopicPartitionErrorRecord()
		e.RelativeOffset, e.ErrorMessage = v.RecordErrors[i].Index, &text
		p.ErrorRecords = append(p.ErrorRecords, e)
	}
}

// hintProduce tells who leads instead (KIP-951).
func (b *Broker) hintProduce(resp *kmsg.ProduceResponse, p *kmsg.ProduceResponseTopicPartition, h *hosted, topic string) {
	leader, epoch, node := b.currentLeader(h, topic, p.Partition)
	p.CurrentLeader.LeaderID, p.CurrentLeader.LeaderEpoch = int32(leader), int32(epoch)
	for i := range resp.Brokers {
		if resp.Brokers[i].NodeID == int32(leader) {
			return
		}
	}
	if node != nil {
		resp.Brokers = append(resp.Brokers, kmsg.ProduceResponseBroker{NodeID: int32(leader), Host: node.addr.Host, Port: node.addr.Port, Rack: node.rack})
	}
}
