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
// second read of a parked fetch, which updates no follower again. Left out: fetch
// sessions (F-11: every fetch is a full one, session id 0), quotas, the preferred
// read replica (F-9), aborted transactions. The leader hint of KIP-951 is given.

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

// fetchOp is a fetch request from its handler to its answer.
type fetchOp struct {
	from     caller
	req      *kmsg.FetchRequest
	life     int64 // grows with each use of the record
	replica  kafka.NodeID
	minBytes int64
	maxBytes int64
	parts    []fetchPart
	timer    step.TimerRef
}

// fetchPart is one partition of it.
type fetchPart struct {
	h      *hosted // nil if not hosted
	args   replica.FetchArgs
	limit  int32 // the partition's own
	res    replica.FetchResult
	parked watch
}

func (b *Broker) takeFetch(req *kmsg.FetchRequest, from caller) *fetchOp {
	var op *fetchOp
	if n := len(b.waiting.fetches); n > 0 {
		op = b.waiting.fetches[n-1]
		b.waiting.fetches = b.waiting.fetches[:n-1]
	} else {
		op = &fetchOp{}
	}
	n := 0
	for i := range req.Topics {
		n += len(req.Topics[i].Partitions)
	}
	op.from, op.req = from, req
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

func (b *Broker) giveFetch(op *fetchOp) {
	op.life++
	op.req = nil
	clear(op.parts)
	b.waiting.fetches = append(b.waiting.fetches, op)
}

func (b *Broker) handleFetch(in *step.Input, out *step.Effects, from caller, req *kmsg.FetchRequest) error {
	op := b.takeFetch(req, from)
	out.Charge(b.cfg.RequestServiceTime + kafka.Nanos(len(op.parts))*b.cfg.FetchPartitionCost)
	b.fillFetch(op)
	bytes, now, err := b.read(in, out, op, true)
	if err != nil {
		return err
	}
	if now || req.MaxWaitMillis <= 0 || len(op.parts) == 0 || bytes >= op.minBytes || op.isDone() {
		b.answerFetch(out, op)
		return nil
	}
	b.waiting.parkedFetches++
	for i := range op.parts {
		if part := &op.parts[i]; part.h != nil {
			part.parked.fetch = op
			part.h.fetches.add(&part.parked)
		}
	}
	op.timer = out.SetTimer(laneExpiration, in.Now+kafka.Nanos(req.MaxWaitMillis)*kafka.Millisecond, timerFetch, op.life, op)
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
			part := &op.parts[n]
			n++
			part.fill(op, t, &t.Partitions[j])
			switch {
			case !known:
				part.res.Code = kafka.UnknownTopicID
			default:
				if part.h = b.topics.get(name, t.Partitions[j].Partition); part.h == nil {
					part.res.Code = b.cache.missing(name, t.Partitions[j].Partition)
				}
			}
		}
	}
}

func (b *Broker) topicName(id kafka.TopicID) (string, bool) {
	if t := b.cache.byID[id]; t != nil {
		return t.name, true
	}
	return "", false
}

func (part *fetchPart) fill(op *fetchOp, t *kmsg.FetchRequestTopic, asked *kmsg.FetchRequestTopicPartition) {
	*part = fetchPart{limit: asked.PartitionMaxBytes, res: noFetchResult, args: replica.FetchArgs{
		Replica: op.replica, TopicID: t.TopicID, Offset: kafka.Offset(asked.FetchOffset),
		CurrentLeaderEpoch: kafka.LeaderEpoch(asked.CurrentLeaderEpoch), LastFetchedEpoch: kafka.LeaderEpoch(asked.LastFetchedEpoch),
		LogStart:      kafka.Offset(asked.LogStartOffset),
		AllowFollower: op.replica < 0 && op.req.Version >= fetchFromFollowerVersion,
	}}
	if op.replica < 0 {
		part.args.Replica = kafka.NoNode
	}
}

// read reads every partition within the limits (L-19); the first records that are
// found come whole. update: a follower's state is taken from the request, which a
// second read must not do (L-20). now tells that the answer cannot wait.
func (b *Broker) read(in *step.Input, out *step.Effects, op *fetchOp, update bool) (bytes int64, now bool, err error) {
	whole := op.req.Version >= fetchMaxBytesVersion
	minOne, left := whole, op.maxBytes
	for i := range op.parts {
		part := &op.parts[i]
		if part.h == nil {
			now = true
			continue
		}
		part.args.MaxBytes, part.args.MinOne = int32(min(int64(part.limit), left)), minOne
		part.res, err = part.h.p.Fetch(&part.args)
		if err = part.readFailure(err); err != nil {
			return 0, false, err
		}
		if whole && !minOne {
			part.dropCut()
		}
		if update && op.replica >= 0 && part.res.Code == kafka.None && !part.res.Diverging {
			part.h.p.UpdateFollower(in, out, &part.args, part.res.LEO)
		}
		size := int64(len(part.res.Records))
		if size > 0 {
			minOne = false
		}
		bytes += size
		left = max(0, left-size)
		now = now || part.res.Code != kafka.None || part.res.Diverging
	}
	return bytes, now, nil
}

// readFailure passes on what is a failure of the directory; a batch that cannot be
// read is the reader's problem alone.
func (part *fetchPart) readFailure(err error) error {
	var corrupt *log.CorruptError
	if err != nil && errors.As(err, &corrupt) && part.h.p.Log().Failure() == nil {
		part.res.Code = kafka.CorruptMessage
		return nil
	}
	return err
}

// dropCut drops records of which not even the first batch came whole: readers
// since v3 need no cut batch to tell that one is there.
func (part *fetchPart) dropCut() {
	if r := part.res.Records; len(r) > 0 && (len(r) < record.HeaderSize || record.Batch(r).Size() > len(r)) {
		part.res.Records = nil
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
		part.args.MaxBytes = part.limit
		n, done := part.h.p.CheckDelayedFetch(&part.args)
		if done {
			return true
		}
		bytes += n
	}
	return bytes >= op.minBytes
}

// completeFetch answers a parked fetch with what it reads now.
func (b *Broker) completeFetch(in *step.Input, out *step.Effects, op *fetchOp) error {
	b.waiting.parkedFetches--
	out.CancelTimer(&op.timer)
	for i := range op.parts {
		op.parts[i].parked.remove()
	}
	if _, _, err := b.read(in, out, op, false); err != nil {
		return err
	}
	b.answerFetch(out, op)
	return nil
}

func (b *Broker) answerFetch(out *step.Effects, op *fetchOp) {
	op.from.answer(out, b.fetchResponse(op))
	b.giveFetch(op)
}

// noFetchResult is the answer for a partition of which nothing was read.
var noFetchResult = replica.FetchResult{DivergingEpoch: kafka.NoLeaderEpoch, DivergingEnd: kafka.NoOffset,
	HW: kafka.NoOffset, LastStable: kafka.NoOffset, LogStart: kafka.NoOffset, LEO: kafka.NoOffset}

// fetchAnswer is a response with room for the usual one partition.
type fetchAnswer struct {
	resp   kmsg.FetchResponse
	topics [1]kmsg.FetchResponseTopic
	parts  [1]kmsg.FetchResponseTopicPartition
}

func (b *Broker) fetchResponse(op *fetchOp) *kmsg.FetchResponse {
	a := &fetchAnswer{}
	resp, req := &a.resp, op.req
	resp.Version = req.Version
	resp.Topics = a.topics[:0]
	all := a.parts[:0]
	if len(req.Topics) > 1 {
		resp.Topics = make([]kmsg.FetchResponseTopic, 0, len(req.Topics))
	}
	if len(op.parts) > 1 {
		all = make([]kmsg.FetchResponseTopicPartition, 0, len(op.parts))
	}
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

// respond fills p, which is zero.
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
