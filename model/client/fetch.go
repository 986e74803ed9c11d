package client

import (
	"math"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/netclient"
	"github.com/simkafka/simkafka/model/record"
	"github.com/simkafka/simkafka/model/step"
)

// Fetch versions that add fields of a consumer's request.
const (
	fetchMaxBytesFrom = 3
	fetchEpochFrom    = 9
)

// fetch is a Fetch request on its way, with room for the usual small one in the
// same allocation.
type fetch struct {
	req    kmsg.FetchRequest
	node   kafka.NodeID
	parts  []fetchPart // as added; the request groups them by topic
	cursor int         // where the answer's next partition probably is
	topics [1]kmsg.FetchRequestTopic
	few    [2]kmsg.FetchRequestTopicPartition
	fewOf  [2]fetchPart
}

// fetchPart is a partition and the offset asked for.
type fetchPart struct {
	part *assigned
	from kafka.Offset
}

// fetch sends a request to every broker that leads a partition in want of records
// and has none in flight; it returns when a partition's backoff ends.
func (r *reader) fetch(in *step.Input, out *step.Effects) kafka.Nanos {
	next, collected := kafka.Forever, false
	if r.turn >= len(r.parts) {
		r.turn = 0
	}
	at := r.turn
	for range r.parts {
		a := r.parts[at]
		if at++; at == len(r.parts) {
			at = 0
		}
		if a.state != fetching || a.paused || a.buffered || r.bounded && a.pos.offset >= a.end {
			continue
		}
		if a.retryAt > in.Now {
			next = min(next, a.retryAt)
			continue
		}
		n := r.node(a.pos.leader.leader)
		if n.busy {
			continue
		}
		if n.pending == nil {
			if !r.readyNode(in, out, a, &next) {
				continue
			}
			n.pending = r.newFetch(n)
			collected = true
		}
		r.add(n.pending, a)
	}
	if collected {
		r.sendFetches(in, out)
	}
	return next
}

func (r *reader) sendFetches(in *step.Input, out *step.Effects) {
	for i := range r.nodes {
		n := &r.nodes[i]
		if n.pending == nil {
			continue
		}
		addr, _ := r.network.meta.addr(n.id)
		r.network.net.Send(in, out, addr, &n.pending.req, 0, n.pending)
		n.busy, n.pending = true, nil
	}
}

func (r *reader) newFetch(n *fetchNode) *fetch {
	f := n.spare
	n.spare = nil
	if f == nil {
		f = &fetch{req: kmsg.NewFetchRequest(), node: n.id}
		f.req.Topics, f.parts = f.topics[:0], f.fewOf[:0]
	}
	f.req.Topics, f.parts, f.cursor = f.req.Topics[:0], f.parts[:0], 0
	f.req.Version = r.fetchVersion()
	f.req.MaxWaitMillis = int32(r.cfg.FetchMaxWait / kafka.Millisecond)
	f.req.MinBytes = r.cfg.FetchMinBytes
	if f.req.Version >= fetchMaxBytesFrom {
		f.req.MaxBytes = r.cfg.FetchMaxBytes
	}
	return f
}

// fetchVersion is that of the profile, but a version with topic ids needs the ids of
// all topics (FetchRequest.Builder's canUseTopicIds).
func (r *reader) fetchVersion() int16 {
	v := r.cfg.Profile.Versions.Fetch
	for i := range r.topics {
		if t := r.topics[i].info; v >= topicIDsFrom && t.id.IsZero() && t.count > 0 {
			return topicIDsFrom - 1
		}
	}
	return v
}

func (r *reader) add(f *fetch, a *assigned) {
	t := f.topic(a.info)
	n := len(t.Partitions)
	if n == cap(t.Partitions) {
		t.Partitions = append(t.Partitions, kmsg.FetchRequestTopicPartition{})
	}
	t.Partitions = t.Partitions[:n+1]
	p := &t.Partitions[n] // set whole but for what is always zero
	p.Partition, p.FetchOffset, p.PartitionMaxBytes = a.tp.Partition, int64(a.pos.offset), r.cfg.MaxPartitionBytes
	p.CurrentLeaderEpoch, p.LastFetchedEpoch, p.LogStartOffset, p.HighWatermark = -1, -1, -1, math.MaxInt64
	if r.cfg.Profile.Fencing320 && f.req.Version >= fetchEpochFrom {
		p.CurrentLeaderEpoch = int32(a.pos.leader.epoch)
	}
	f.parts = append(f.parts, fetchPart{a, a.pos.offset})
}

// topic finds or adds the topic's part of the request.
func (f *fetch) topic(info *topicInfo) *kmsg.FetchRequestTopic {
	byID := f.req.Version >= topicIDsFrom
	for i := range f.req.Topics {
		t := &f.req.Topics[i]
		if byID && info.id == t.TopicID || !byID && info.name == t.Topic {
			return t
		}
	}
	n := len(f.req.Topics)
	if n == cap(f.req.Topics) {
		f.req.Topics = append(f.req.Topics, kmsg.FetchRequestTopic{})
	}
	f.req.Topics = f.req.Topics[:n+1]
	t := &f.req.Topics[n]
	if t.Partitions = t.Partitions[:0]; n == 0 && cap(t.Partitions) == 0 {
		t.Partitions = f.few[:0]
	}
	t.Topic, t.TopicID = info.name, kafka.TopicID{}
	if byID {
		t.Topic, t.TopicID = "", info.id
	}
	return t
}

// requested finds a partition of the request and the offset asked for. Answers
// mostly keep the order of requests.
func (f *fetch) requested(info *topicInfo, partition int32) (*assigned, kafka.Offset) {
	for range f.parts {
		p := &f.parts[f.cursor]
		if f.cursor++; f.cursor == len(f.parts) {
			f.cursor = 0
		}
		if p.part.info == info && p.part.tp.Partition == partition {
			return p.part, p.from
		}
	}
	return nil, 0
}

// fetched ends a Fetch request.
func (r *reader) fetched(in *step.Input, out *step.Effects, c *netclient.Completion, f *fetch) {
	n := r.node(f.node)
	n.busy = false
	resp, ok := c.Response.(*kmsg.FetchResponse)
	if !ok {
		return // the lost connection has asked for metadata; the partitions are fetched again
	}
	n.spare = f
	for i := range resp.Brokers {
		b := &resp.Brokers[i]
		r.network.meta.learnNode(kafka.NodeID(b.NodeID), step.Addr{Host: b.Host, Port: b.Port})
	}
	for i := range resp.Topics {
		t := &resp.Topics[i]
		info := r.network.meta.find(t.Topic, t.TopicID)
		for j := range t.Partitions {
			rp := &t.Partitions[j]
			a, asked := f.requested(info, rp.Partition)
			if a == nil || a.state != fetching || a.pos.offset != asked {
				continue // the position has moved: the answer is stale (C-10)
			}
			if err := kafka.ErrorCode(rp.ErrorCode); err != kafka.None {
				r.network.meta.hint(out, info, rp.Partition, leaderInfo{kafka.NodeID(rp.CurrentLeader.LeaderID),
					kafka.LeaderEpoch(rp.CurrentLeader.LeaderEpoch)})
				r.fetchFailed(in, a, err)
				continue
			}
			if r.hold != nil {
				r.hold(a, rp.RecordBatches, f.node)
				continue
			}
			r.consume(in, out, a, rp.RecordBatches, f.node)
		}
	}
}

// fetchFailed is C-6 and C-7. A partition whose leader is unknown to us or to itself
// waits retry.backoff.ms or for a newer leader, whichever comes first; Kafka's
// consumer asks again as fast as the broker answers.
func (r *reader) fetchFailed(in *step.Input, a *assigned, err kafka.ErrorCode) {
	switch err {
	case kafka.OffsetOutOfRange:
		r.reset(a, "offset out of range")
	case kafka.UnknownLeaderEpoch, kafka.OffsetNotAvailable, kafka.NotLeaderOrFollower, kafka.ReplicaNotAvailable,
		kafka.KafkaStorageError, kafka.FencedLeaderEpoch, kafka.UnknownTopicOrPartition, kafka.UnknownTopicID,
		kafka.InconsistentTopicID, kafka.UnknownServerError:
		if err != kafka.UnknownLeaderEpoch && err != kafka.UnknownServerError {
			r.network.requestUpdate()
		}
		a.retryAt = in.Now + r.cfg.RetryBackoff
	default:
		r.raise("fetch of " + a.tp.String() + ": " + err.String())
	}
}

// consume hands the batches to the application and moves the position behind each
// (C-2). A batch cut short at the end of the answer is not yet there.
func (r *reader) consume(in *step.Input, out *step.Effects, a *assigned, data []byte, node kafka.NodeID) {
	for len(data) > 0 {
		b, rest, err := record.Next(data)
		if err == record.ErrIncomplete {
			return
		}
		if err == nil && r.cfg.CheckCRCs {
			err = r.checked.Check(b)
		}
		if err != nil {
			r.raise("fetch of " + a.tp.String() + ": " + err.Error())
			return
		}
		data = rest
		if b.LastOffset() < a.pos.offset {
			continue
		}
		if !b.IsControl() {
			r.sink.take(in, out, a, b, node)
		}
		a.pos.offset, a.pos.epoch = b.NextOffset(), b.PartitionLeaderEpoch()
		r.turn = a.index + 1 // the others go first in the next fetch
	}
}
