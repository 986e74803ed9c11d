package replica

import (
	"math"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/quirk"
	"github.com/simkafka/simkafka/model/step"
)

// The Fetch versions at which the fields of a follower's request change.
const (
	fetchMaxBytesVersion     = 3
	fetchLogStartVersion     = 5
	fetchLeaderEpochVersion  = 9
	fetchLastEpochVersion    = 12
	fetchTopicIDVersion      = 13
	fetchReplicaStateVersion = 15
)

// noHighWatermark is the default of a field that this package does not use.
const noHighWatermark = math.MaxInt64

// askFetch sends a fetch of everything that is ready (F-3) and reports whether it
// did, or waits to connect.
func (f *Fetcher) askFetch(in *step.Input, out *step.Effects) bool {
	count := 0
	for i := range f.parts {
		if f.parts[i].ready(fetching, in.Now) {
			count++
		}
	}
	if count == 0 {
		return false
	}
	if f.connect(in, out) {
		f.send(in, out, f.buildFetch(in, count), askingFetch)
	}
	return true
}

// fetchRequest is a request with its memory, which is used again when the answer
// was taken.
type fetchRequest struct {
	kmsg.FetchRequest
	parts []kmsg.FetchRequestTopicPartition
}

// takeRequest is the request answered last, or a new one.
func (f *Fetcher) takeRequest(count int) *fetchRequest {
	r := f.spare
	f.spare = nil
	if r == nil || cap(r.parts) < count {
		r = &fetchRequest{FetchRequest: kmsg.NewFetchRequest(), parts: make([]kmsg.FetchRequestTopicPartition, 0, count)}
	}
	return r
}

func (f *Fetcher) buildFetch(in *step.Input, count int) *kmsg.FetchRequest {
	cfg := f.env.Config
	r := f.takeRequest(count)
	f.sent = r
	req := &r.FetchRequest
	req.Version = cfg.Profile.Versions.Fetch
	if req.Version >= fetchReplicaStateVersion {
		req.ReplicaState.ID = int32(f.env.Node)
		req.ReplicaState.Epoch = int64(f.env.Cluster.BrokerEpoch())
	} else {
		req.ReplicaID = int32(f.env.Node)
	}
	req.MaxWaitMillis = int32(cfg.ReplicaFetchWaitMax / kafka.Millisecond)
	req.MinBytes = cfg.ReplicaFetchMinBytes
	if req.Version >= fetchMaxBytesVersion {
		req.MaxBytes = cfg.ReplicaFetchResponseMax
	}
	f.addFetches(req, in.Now, r.parts)
	return req
}

// addFetches lists the ready partitions from f.next on, around the end, in topics
// of neighbours. all is empty, with room for them, and becomes the topics' shared
// storage.
func (f *Fetcher) addFetches(req *kmsg.FetchRequest, now kafka.Nanos, all []kmsg.FetchRequestTopicPartition) {
	f.asked = f.asked[:0]
	if req.Topics == nil {
		req.Topics = make([]kmsg.FetchRequestTopic, 0, f.topics())
	}
	req.Topics = req.Topics[:0]
	first := 0 // of the last topic's partitions
	i := f.next
	for range f.parts {
		s := &f.parts[i]
		if s.ready(fetching, now) {
			k := len(all)
			if k == 0 || f.asked[k-1].p.TP.Topic != s.p.TP.Topic {
				closeTopic(req, all[first:k:k])
				first = k
				req.Topics = append(req.Topics, fetchTopic(s.p, req.Version))
			}
			all = all[:k+1]
			f.fillFetch(&all[k], s, req.Version)
			f.asked = append(f.asked, askedFor{p: s.p, offset: s.offset, epoch: s.epoch, at: int32(i)})
		}
		if i++; i == len(f.parts) {
			i = 0
		}
	}
	closeTopic(req, all[first:])
}

// closeTopic gives the last topic of the request its partitions.
func closeTopic(req *kmsg.FetchRequest, parts []kmsg.FetchRequestTopicPartition) {
	if n := len(req.Topics); n > 0 {
		req.Topics[n-1].Partitions = parts
	}
}

// topics counts the runs of neighbours with one topic, and one more for the run
// that the rotation may cut in two.
func (f *Fetcher) topics() int {
	n := 2
	for i := 1; i < len(f.parts); i++ {
		if f.parts[i].p.TP.Topic != f.parts[i-1].p.TP.Topic {
			n++
		}
	}
	return n
}

func fetchTopic(p *Partition, version int16) kmsg.FetchRequestTopic {
	if version >= fetchTopicIDVersion {
		return kmsg.FetchRequestTopic{TopicID: p.TopicID}
	}
	return kmsg.FetchRequestTopic{Topic: p.TP.Topic}
}

func (f *Fetcher) fillFetch(part *kmsg.FetchRequestTopicPartition, s *fetchState, version int16) {
	part.Partition = s.p.TP.Partition
	part.FetchOffset = int64(s.offset)
	part.PartitionMaxBytes = f.env.Config.ReplicaFetchMaxBytes
	part.CurrentLeaderEpoch, part.LastFetchedEpoch, part.LogStartOffset = -1, -1, -1
	part.HighWatermark = noHighWatermark
	if version >= fetchLogStartVersion {
		part.LogStartOffset = int64(s.p.log.LogStartOffset())
	}
	if version >= fetchLeaderEpochVersion && f.env.Config.Profile.Fencing320 {
		part.CurrentLeaderEpoch = int32(s.epoch)
	}
	if version >= fetchLastEpochVersion && f.rule.onFetch() {
		part.LastFetchedEpoch = int32(s.lastFetched)
	}
}

// onFetch takes a response, which lists the partitions in the request's order.
func (f *Fetcher) onFetch(in *step.Input, out *step.Effects, resp *kmsg.FetchResponse) error {
	if resp.ErrorCode != 0 { // of fetch sessions only, which are not used
		f.delayAll(in)
		return nil
	}
	at := 0
	for i := range resp.Topics {
		t := &resp.Topics[i]
		for j := range t.Partitions {
			a := f.askedAt(&at, resp.Version, t, t.Partitions[j].Partition)
			if a == nil {
				continue
			}
			if err := f.onFetched(in, out, a, &t.Partitions[j]); err != nil {
				return err
			}
		}
	}
	return nil
}

// askedAt finds what was asked for a partition of the response; at is where the
// search begins, and moves on.
func (f *Fetcher) askedAt(at *int, version int16, t *kmsg.FetchResponseTopic, partition int32) *askedFor {
	for range f.asked {
		a := &f.asked[*at]
		if *at++; *at == len(f.asked) {
			*at = 0
		}
		if a.p.TP.Partition != partition {
			continue
		}
		if version >= fetchTopicIDVersion && a.p.TopicID == t.TopicID || version < fetchTopicIDVersion && a.p.TP.Topic == t.Topic {
			return a
		}
	}
	return nil
}

// onFetched takes one partition's part, if it still is what the follower waits
// for (F-4).
func (f *Fetcher) onFetched(in *step.Input, out *step.Effects, a *askedFor, got *kmsg.FetchResponseTopicPartition) error {
	s := f.stateOf(a)
	if s == nil || !s.ready(fetching, in.Now) || s.offset != a.offset || f.late(s, a) {
		return nil
	}
	switch code := kafka.ErrorCode(got.ErrorCode); {
	case code == kafka.OffsetOutOfRange:
		s.state = outOfRange
	case code != kafka.None:
		f.onError(in, out, s, a.epoch, code)
	case f.rule.onFetch() && got.DivergingEpoch.Epoch >= 0:
		return f.cut(in, out, s, epochEnd{kafka.LeaderEpoch(got.DivergingEpoch.Epoch), kafka.Offset(got.DivergingEpoch.EndOffset)})
	default:
		return f.accept(in, out, s, got)
	}
	return nil
}

// late tells whether a request was of another leader epoch than its partition has
// now. The offset alone does not tell: a log that was cut meanwhile may have grown
// to where it was, of other records (KAFKA-18991, which is newer than F-4). A request
// without an epoch is never late.
func (f *Fetcher) late(s *fetchState, a *askedFor) bool {
	profile := f.env.Config.Profile
	return s.epoch != a.epoch && profile.Fencing320 && !profile.Quirks.Has(quirk.LateFetchTaken)
}

// accept appends what came and remembers what to show when that is done (F-5).
func (f *Fetcher) accept(in *step.Input, out *step.Effects, s *fetchState, got *kmsg.FetchResponseTopicPartition) error {
	p := s.p
	if s.offset != p.log.LogEndOffset() {
		f.fail(out, p, "the fetch offset is not the log end offset")
		return nil
	}
	v := visible{p: p, end: kafka.NoOffset, hw: kafka.Offset(got.HighWatermark), leaderLogStart: kafka.Offset(got.LogStartOffset)}
	if len(got.RecordBatches) > 0 {
		info, err := p.appendAsFollower(in, out, got.RecordBatches)
		if err != nil {
			return f.onLogError(in, out, p, err)
		}
		if info.Batches > 0 {
			s.offset, s.lastFetched = info.Last+1, info.LastEpoch
			v.end = s.offset
			f.phase = busy
			f.rotateBehind(p)
		}
	}
	if v.end != kafka.NoOffset || v.hw != p.log.HighWatermark() || v.leaderLogStart > p.log.LogStartOffset() {
		f.visible = append(f.visible, v)
	}
	return nil
}

// rotateBehind makes the partition after p the first of the next request.
func (f *Fetcher) rotateBehind(p *Partition) {
	if i, found := f.find(p); found {
		f.next = (i + 1) % len(f.parts)
	}
}
