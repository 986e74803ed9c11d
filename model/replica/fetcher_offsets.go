package replica

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
)

// listLeaderEpochVersion is the first ListOffsets version with the current leader
// epoch; version 0 has a list of offsets.
const listLeaderEpochVersion = 4

// askOffsets goes on with F-8 for the first partition that is out of the leader's
// range: it asks for the leader's end, then perhaps for its start. It reports
// whether it did, or waits to connect.
func (f *Fetcher) askOffsets(in *step.Input, out *step.Effects) bool {
	for i := range f.parts {
		s := &f.parts[i]
		at := LatestTimestamp
		switch s.state {
		case outOfRange:
		case beforeLog:
			at = EarliestTimestamp
		default:
			continue
		}
		if f.connect(in, out) {
			f.asked = append(f.asked[:0], askedFor{p: s.p, offset: s.offset, epoch: s.epoch, at: int32(i)})
			f.send(in, out, f.buildOffsets(s, at), askingOffsets)
		}
		return true
	}
	return false
}

func (f *Fetcher) buildOffsets(s *fetchState, at kafka.TimestampMs) *kmsg.ListOffsetsRequest {
	req := kmsg.NewPtrListOffsetsRequest()
	req.Version = f.env.Config.Profile.Versions.ListOffsets
	req.ReplicaID = int32(f.env.Node)
	part := kmsg.NewListOffsetsRequestTopicPartition()
	part.Partition = s.p.TP.Partition
	part.Timestamp = int64(at)
	if req.Version >= listLeaderEpochVersion && f.env.Config.Profile.Fencing320 {
		part.CurrentLeaderEpoch = int32(s.epoch)
	}
	t := kmsg.NewListOffsetsRequestTopic()
	t.Topic = s.p.TP.Topic
	t.Partitions = append(t.Partitions, part)
	req.Topics = append(req.Topics, t)
	return req
}

func (f *Fetcher) onOffsets(in *step.Input, out *step.Effects, resp *kmsg.ListOffsetsResponse) error {
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 || len(f.asked) != 1 {
		panic("replica: a ListOffsets answer for other than the one partition asked")
	}
	a, got := &f.asked[0], &resp.Topics[0].Partitions[0]
	s := f.asker(a)
	switch {
	case s == nil || s.state != outOfRange && s.state != beforeLog:
		return nil
	case kafka.ErrorCode(got.ErrorCode) != kafka.None:
		f.onError(in, out, s, a.epoch, kafka.ErrorCode(got.ErrorCode))
		return nil
	case s.state == outOfRange:
		return f.onLeaderEnd(in, out, s, listedOffset(resp.Version, got))
	}
	return f.onLeaderStart(in, out, s, listedOffset(resp.Version, got))
}

func listedOffset(version int16, got *kmsg.ListOffsetsResponseTopicPartition) kafka.Offset {
	if version == 0 && len(got.OldStyleOffsets) > 0 {
		return kafka.Offset(got.OldStyleOffsets[0])
	}
	return kafka.Offset(got.Offset)
}

// onLeaderEnd cuts a log that is longer than the leader's, which is legal only
// after an unclean election.
func (f *Fetcher) onLeaderEnd(in *step.Input, out *step.Effects, s *fetchState, end kafka.Offset) error {
	if end >= s.p.log.LogEndOffset() {
		s.state = beforeLog
		return nil
	}
	if err := s.p.truncateTo(in, out, end, "out-of-range"); err != nil {
		return f.onLogError(in, out, s.p, err)
	}
	f.resume(s)
	return nil
}

// onLeaderStart empties a log that ends before the leader's begins.
func (f *Fetcher) onLeaderStart(in *step.Input, out *step.Effects, s *fetchState, start kafka.Offset) error {
	if start > s.p.log.LogEndOffset() {
		if err := s.p.truncateFully(in, out, start); err != nil {
			return f.onLogError(in, out, s.p, err)
		}
	}
	f.resume(s)
	return nil
}

func (f *Fetcher) resume(s *fetchState) {
	s.state, s.offset, s.lastFetched = fetching, s.p.log.LogEndOffset(), s.p.log.LatestEpoch()
}
