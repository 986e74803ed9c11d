package replica

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
)

// The versions at which the fields of OffsetForLeaderEpoch change.
const (
	epochsCurrentVersion = 2 // current leader epoch
	epochsReplicaVersion = 3 // replica id
)

// truncateToInitial cuts the truncating partitions that ask nobody, by their rule
// or for lack of epochs, at their high watermark.
func (f *Fetcher) truncateToInitial(in *step.Input, out *step.Effects) error {
	for i := 0; i < len(f.parts); i++ {
		s := &f.parts[i]
		if !s.ready(truncating, in.Now) || f.rule.asks() && s.p.log.LatestEpoch() != kafka.NoLeaderEpoch {
			continue
		}
		p := s.p
		to, _ := truncateToHW{}.cut(p.log, s.offset, epochEnd{})
		if err := f.cutTo(in, out, s, to, true); err != nil {
			return err
		}
		if i < len(f.parts) && f.parts[i].p != p {
			i-- // p failed and left
		}
	}
	return nil
}

// askEpochs asks the leader for the ends of the truncating partitions' latest
// epochs and reports whether it did, or waits to connect.
func (f *Fetcher) askEpochs(in *step.Input, out *step.Effects) bool {
	count := 0
	for i := range f.parts {
		if f.parts[i].ready(truncating, in.Now) {
			count++
		}
	}
	if count == 0 {
		return false
	}
	if f.connect(in, out) {
		f.send(in, out, f.buildEpochs(in), askingEpochs)
	}
	return true
}

func (f *Fetcher) buildEpochs(in *step.Input) *kmsg.OffsetForLeaderEpochRequest {
	req := kmsg.NewPtrOffsetForLeaderEpochRequest()
	req.Version = f.env.Config.Profile.Versions.OffsetForLeaderEpoch
	if req.Version >= epochsReplicaVersion {
		req.ReplicaID = int32(f.env.Node)
	}
	f.asked = f.asked[:0]
	for i := range f.parts {
		s := &f.parts[i]
		if !s.ready(truncating, in.Now) {
			continue
		}
		if n := len(req.Topics); n == 0 || req.Topics[n-1].Topic != s.p.TP.Topic {
			t := kmsg.NewOffsetForLeaderEpochRequestTopic()
			t.Topic = s.p.TP.Topic
			req.Topics = append(req.Topics, t)
		}
		part := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
		part.Partition = s.p.TP.Partition
		part.LeaderEpoch = int32(s.p.log.LatestEpoch())
		if req.Version >= epochsCurrentVersion && f.env.Config.Profile.Fencing320 {
			part.CurrentLeaderEpoch = int32(s.epoch)
		}
		t := &req.Topics[len(req.Topics)-1]
		t.Partitions = append(t.Partitions, part)
		f.asked = append(f.asked, askedFor{p: s.p, epoch: s.epoch, at: int32(i)})
	}
	return req
}

func (f *Fetcher) onEpochs(in *step.Input, out *step.Effects, resp *kmsg.OffsetForLeaderEpochResponse) error {
	for i := range resp.Topics {
		t := &resp.Topics[i]
		for j := range t.Partitions {
			if err := f.onEpoch(in, out, t.Topic, &t.Partitions[j]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *Fetcher) onEpoch(in *step.Input, out *step.Effects, topic string, got *kmsg.OffsetForLeaderEpochResponseTopicPartition) error {
	a := f.askedFor(topic, got.Partition)
	if a == nil {
		return nil
	}
	s := f.asker(a)
	if s == nil || s.state != truncating {
		return nil
	}
	if code := kafka.ErrorCode(got.ErrorCode); code != kafka.None {
		f.onError(in, out, s, a.epoch, code)
		return nil
	}
	return f.cut(in, out, s, epochEnd{kafka.LeaderEpoch(got.LeaderEpoch), kafka.Offset(got.EndOffset)})
}

func (f *Fetcher) askedFor(topic string, partition int32) *askedFor {
	for i := range f.asked {
		if tp := &f.asked[i].p.TP; tp.Partition == partition && tp.Topic == topic {
			return &f.asked[i]
		}
	}
	return nil
}

// cut applies the rule to the leader's answer.
func (f *Fetcher) cut(in *step.Input, out *step.Effects, s *fetchState, answer epochEnd) error {
	to, done := f.rule.cut(s.p.log, s.offset, answer)
	return f.cutTo(in, out, s, to, done || f.rule.onFetch())
}

// cutTo truncates to to and goes on fetching from there, or asks again.
func (f *Fetcher) cutTo(in *step.Input, out *step.Effects, s *fetchState, to kafka.Offset, done bool) error {
	if err := s.p.truncateTo(in, out, to, f.rule.name()); err != nil {
		return f.onLogError(in, out, s.p, err)
	}
	s.offset, s.lastFetched = to, s.p.log.LatestEpoch()
	if done {
		s.state = fetching
	}
	return nil
}
