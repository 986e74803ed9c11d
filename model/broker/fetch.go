package broker

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/log"
	"github.com/simkafka/simkafka/model/record"
	"github.com/simkafka/simkafka/model/replica"
	"github.com/simkafka/simkafka/model/step"
)

// Fetch of consumers and followers (L-17 to L-21). Modelled: limits, waiting, the
// second read of a parked fetch, which updates no follower again, both isolation
// levels. Left out: fetch sessions (F-11: every fetch is a full one, session id 0),
// quotas, the preferred read replica (F-9). The leader hint of KIP-951 is given.

// The Fetch versions at which fields and rules change.
const (
	fetchMaxBytesVersion     = 3 // and no batch is cut any more
	fetchStableVersion       = 4
	fetchLogStartVersion     = 5
	fetchFromFollowerVersion = 11
	fetchTopicIDVersion      = 13
	fetchReplicaStateVersion = 15
	fetchLeaderVersion       = 16
)

// fetchOp is a fetch request from its handler to its answer. A connection has one
// for its life, because its fetches mostly ask for the same partitions.
type fetchOp struct {
	from     caller
	req      *kmsg.FetchRequest // still the last one when it is answered
	replica  kafka.NodeID
	minBytes int64
	maxBytes int64
	parts    []fetchPart
	limit    deadline
	open     bool // not answered
	answer   *fetchAnswer
}

// fetchPart is one partition of it.
type fetchPart struct {
	h      *hosted // nil if not hosted
	args   replica.FetchArgs
	limit  int32 // the partition's own
	res    replica.FetchResult
	seen   uint32 // hosted.moves at the last read
	parked watch
}

func (b *Broker) takeFetch(req *kmsg.FetchRequest, from caller) *fetchOp {
	op := b.waiting.fetchOf(from.conn)
	if op.req != req {
		op.answer = nil
	}
	n := 0
	for i := range req.Topics {
		n += len(req.Topics[i].Partitions)
	}
	op.from, op.req, op.open = from, req, true
	op.replica = kafka.NodeID(req.ReplicaID)
	if req.Version >= fetchReplicaStateVersion {
		op.replica = kafka.NodeID(req.ReplicaState.ID)
	}
	op.maxBytes = int64(b.cfg.FetchMaxBytes)
	if req.Version >= fetchMaxBytesVersion {
		op.maxBytes = min(op.maxBytes, int64(req.MaxBytes))
	}
	op.minBytes = min(int64(req.MinBytes), op.maxBytes)
	op.parts = resize(op.parts, n)
	return op
}

func (b *Broker) handleFetch(in *step.Input, out *step.Effects, from caller, req *kmsg.FetchRequest) error {
	op := b.takeFetch(req, from)
	out.Charge(b.cfg.RequestServiceTime + kafka.Nanos(len(op.parts))*b.cfg.FetchPartitionCost)
	b.fillFetch(op)
	found, err := b.read(in, out, op, true)
	if err != nil {
		return err
	}
	if found.now || req.MaxWaitMillis <= 0 || len(op.parts) == 0 || found.bytes >= op.minBytes || !found.nothing && op.isDone() {
		b.answerFetch(out, op)
		return nil
	}
	b.waiting.parkedFetches++
	for i := range op.parts {
		if part := &op.parts[i]; part.h != nil {
			part.parked.fetch, part.parked.part = op, part
			part.h.fetches.add(&part.parked)
		}
	}
	op.limit.fetch = op
	b.waiting.fetchLimits.add(out, &op.limit, in.Now+kafka.Nanos(req.MaxWaitMillis)*kafka.Millisecond)
	return nil
}

// fillFetch resolves the partitions asked for.
func (b *Broker) fillFetch(op *fetchOp) {
	n := 0
	for i := range op.req.Topics {
		t := &op.req.Topics[i]
		name, known := t.Topic, true
		if op.req.Version >= fetchTopicIDVersion {
			name, known = b.topicName(t.TopicID)
		}
		for j := range t.Partitions {
			part, asked := &op.parts[n], &t.Partitions[j]
			n++
			part.fill(op, t, asked)
			switch {
			case !known:
				part.h = nil
				part.refuse(kafka.UnknownTopicID)
			case part.h != nil && part.h.is(name, asked.Partition): // as the last time
			default:
				if part.h = b.topics.get(name, asked.Partition); part.h == nil {
					part.refuse(b.cache.missing(name, asked.Partition))
				}
			}
		}
	}
}

// is reports whether h still stands for a partition.
func (h *hosted) is(topic string, partition int32) bool {
	return !h.dropped && h.p.TP.Partition == partition && h.topic.name == topic
}

// refuse is for a partition that will not be read.
func (part *fetchPart) refuse(code kafka.ErrorCode) {
	part.res.Clear()
	part.res.Code = code
}

func (b *Broker) topicName(id kafka.TopicID) (string, bool) {
	if t := b.cache.withID(id); t != nil {
		return t.name, true
	}
	return "", false
}

func (part *fetchPart) fill(op *fetchOp, t *kmsg.FetchRequestTopic, asked *kmsg.FetchRequestTopicPartition) {
	part.limit = asked.PartitionMaxBytes
	a := &part.args
	a.Replica, a.TopicID, a.Offset = max(op.replica, kafka.NoNode), t.TopicID, kafka.Offset(asked.FetchOffset)
	a.CurrentLeaderEpoch, a.LastFetchedEpoch = kafka.LeaderEpoch(asked.CurrentLeaderEpoch), kafka.LeaderEpoch(asked.LastFetchedEpoch)
	a.LogStart = kafka.Offset(asked.LogStartOffset)
	a.AllowFollower = op.replica < 0 && op.req.Version >= fetchFromFollowerVersion
	a.Committed = op.req.Version >= fetchStableVersion && op.req.IsolationLevel == readCommitted
}

// readCommitted is isolation.level=read_committed in a request.
const readCommitted = 1

// found is what a read of all partitions came to.
type found struct {
	bytes int64
	now   bool // the answer cannot wait
	// nothing: every reader is at the end of what it may see, so that isDone is false.
	nothing bool
}

// read reads every partition within the limits (L-19); the first records that are
// found come whole. update: a follower's state is taken from the request, which a
// second read must not do (L-20).
func (b *Broker) read(in *step.Input, out *step.Effects, op *fetchOp, update bool) (found, error) {
	whole := op.req.Version >= fetchMaxBytesVersion
	minOne, left := whole, op.maxBytes
	f := found{nothing: true}
	for i := range op.parts {
		part := &op.parts[i]
		if part.h == nil {
			f.now = true
			continue
		}
		if !update && part.seen == part.h.moves && part.h.p.AsBefore(&part.res) {
			continue
		}
		part.seen = part.h.moves
		part.args.MaxBytes, part.args.MinOne = int32(min(int64(part.limit), left)), minOne
		if err := part.h.p.FetchInto(&part.args, &part.res); err != nil {
			if err = b.absorb(part.readFailure(err)); err != nil {
				return f, err
			}
		}
		if update && op.replica >= 0 && part.res.Code == kafka.None && !part.res.Diverging {
			part.h.p.UpdateFollower(in, out, &part.args, part.res.LEO)
		}
		if part.res.AtEnd {
			continue
		}
		f.nothing = false
		if whole && !minOne {
			part.dropCut()
		}
		size := int64(len(part.res.Records))
		if size > 0 {
			minOne = false
		}
		f.bytes += size
		left = max(0, left-size)
		f.now = f.now || part.res.Code != kafka.None || part.res.Diverging
	}
	return f, nil
}

// readFailure passes on what is a failure of the directory; a batch that cannot be
// read is the reader's problem alone.
func (part *fetchPart) readFailure(err error) error {
	var corrupt *log.CorruptError
	if errors.As(err, &corrupt) && part.h.p.Log().Failure() == nil {
		part.res.Code = kafka.CorruptMessage
		return nil
	}
	return err
}

// dropCut drops records of which not even the first batch came whole: readers
// since v3 need no cut batch to tell that one is there.
func (part *fetchPart) dropCut() {
	if r := part.res.Records; len(r) > 0 && (len(r) < record.HeaderSize || record.Batch(r).Size() > len(r)) {
		part.res.Records, part.res.HasAborted = nil, false
	}
}

// waitsFor reports whether what has moved may matter to the request.
func (op *fetchOp) waitsFor(what replica.Moved) bool {
	if op.replica >= 0 {
		return what&(replica.MovedLEO|replica.MovedRole) != 0
	}
	return what&(replica.MovedHW|replica.MovedRole) != 0
}

// isDone is L-20 on what is visible now.
func (op *fetchOp) isDone() bool {
	var bytes int64
	for i := range op.parts {
		part := &op.parts[i]
		if part.h == nil {
			return true
		}
		n, done := part.check()
		if bytes += n; done || bytes >= op.minBytes {
			return true
		}
	}
	return bytes >= op.minBytes
}

func (part *fetchPart) check() (bytes int64, done bool) {
	part.args.MaxBytes = part.limit
	return part.h.p.CheckDelayedFetch(&part.args)
}

// isDoneBy is isDone after something moved in one partition, which mostly decides.
func (op *fetchOp) isDoneBy(part *fetchPart) bool {
	n, done := part.check()
	return done || n >= op.minBytes || op.isDone()
}

// completeFetch answers a parked fetch with what it reads now.
func (b *Broker) completeFetch(in *step.Input, out *step.Effects, op *fetchOp) error {
	b.waiting.parkedFetches--
	op.limit.remove()
	for i := range op.parts {
		op.parts[i].parked.remove()
	}
	if _, err := b.read(in, out, op, false); err != nil {
		return err
	}
	b.answerFetch(out, op)
	return nil
}

func (b *Broker) answerFetch(out *step.Effects, op *fetchOp) {
	op.from.answer(out, b.fetchResponse(op))
	op.open = false
}

// fetchAnswer is a response with its memory. It is used again when the connection's
// next fetch comes in the same request value: a client fills that anew only when it
// has taken the answer (step.Message).
type fetchAnswer struct {
	resp  kmsg.FetchResponse
	parts []kmsg.FetchResponseTopicPartition
}

// answerFor is a response without topics, and room for the partitions.
func (op *fetchOp) answerFor() (*kmsg.FetchResponse, []kmsg.FetchResponseTopicPartition) {
	a := op.answer
	if a == nil || cap(a.parts) < len(op.parts) || cap(a.resp.Topics) < len(op.req.Topics) {
		a = &fetchAnswer{parts: make([]kmsg.FetchResponseTopicPartition, 0, len(op.parts))}
		a.resp.Topics = make([]kmsg.FetchResponseTopic, 0, len(op.req.Topics))
		op.answer = a
	}
	a.resp.Version, a.resp.Topics, a.resp.Brokers = op.req.Version, a.resp.Topics[:0], nil
	return &a.resp, a.parts
}

func (b *Broker) fetchResponse(op *fetchOp) *kmsg.FetchResponse {
	req := op.req
	resp, all := op.answerFor()
	for i := range req.Topics {
		t := &req.Topics[i]
		first := len(all)
		for j := range t.Partitions {
			part := &op.parts[len(all)]
			all = all[:len(all)+1]
			part.respond(&all[len(all)-1], req.Version, t.Partitions[j].Partition)
			if req.Version >= fetchLeaderVersion && (part.res.Code == kafka.NotLeaderOrFollower || part.res.Code == kafka.FencedLeaderEpoch) {
				b.hintFetch(resp, &all[len(all)-1], part.h, t)
			}
		}
		resp.Topics = append(resp.Topics, kmsg.FetchResponseTopic{Topic: t.Topic, TopicID: t.TopicID, Partitions: all[first:len(all):len(all)]})
	}
	return resp
}

// respond fills p, of which the fields that are not named here are zero.
func (part *fetchPart) respond(p *kmsg.FetchResponseTopicPartition, version int16, partition int32) {
	r := &part.res
	p.Partition, p.ErrorCode, p.HighWatermark, p.RecordBatches = partition, int16(r.Code), int64(r.HW), r.Records
	p.LastStableOffset, p.LogStartOffset, p.PreferredReadReplica = -1, -1, -1
	p.DivergingEpoch.Epoch, p.DivergingEpoch.EndOffset = -1, -1
	p.CurrentLeader.LeaderID, p.CurrentLeader.LeaderEpoch = -1, -1
	p.SnapshotID.Epoch, p.SnapshotID.EndOffset = -1, -1
	if version >= fetchStableVersion {
		p.LastStableOffset = int64(r.LastStable)
	}
	if version >= fetchLogStartVersion {
		p.LogStartOffset = int64(r.LogStart)
	}
	p.AbortedTransactions = nil
	if r.HasAborted {
		p.AbortedTransactions = make([]kmsg.FetchResponseTopicPartitionAbortedTransaction, len(r.Aborted))
		for i := range r.Aborted {
			a := &p.AbortedTransactions[i]
			a.ProducerID, a.FirstOffset = r.Aborted[i].ProducerID, int64(r.Aborted[i].FirstOffset)
		}
	}
	if r.Diverging {
		p.DivergingEpoch.Epoch, p.DivergingEpoch.EndOffset = int32(r.DivergingEpoch), int64(r.DivergingEnd)
	}
}

// hintFetch tells who leads instead (KIP-951).
func (b *Broker) hintFetch(resp *kmsg.FetchResponse, p *kmsg.FetchResponseTopicPartition, h *hosted, t *kmsg.FetchRequestTopic) {
	name, _ := b.topicName(t.TopicID)
	leader, epoch, node := b.currentLeader(h, name, p.Partition)
	p.CurrentLeader.LeaderID, p.CurrentLeader.LeaderEpoch = int32(leader), int32(epoch)
	for i := range resp.Brokers {
		if resp.Brokers[i].NodeID == int32(leader) {
			return
		}
	}
	if node != nil {
		resp.Brokers = append(resp.Brokers, kmsg.FetchResponseBroker{NodeID: int32(leader), Host: node.addr.Host, Port: node.addr.Port, Rack: node.rack})
	}
}
