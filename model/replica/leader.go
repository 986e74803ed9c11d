package replica

import (
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/log"
	"github.com/simkafka/simkafka/model/quirk"
	"github.com/simkafka/simkafka/model/record"
	"github.com/simkafka/simkafka/model/step"
)

// appendMark is an append by number; end is exclusive.
type appendMark struct {
	number uint32
	done   bool
	end    kafka.Offset
}

// AppendResult is a batch's place in the log.
type AppendResult struct {
	Base, Last kafka.Offset // inclusive; -1 when refused
	// Duplicate: the producer's batch was in the log before, at Base (cluster P-15);
	// Timestamp is its newest, which Kafka then answers as the time of the append.
	Duplicate bool
	Timestamp kafka.TimestampMs
	// Number is what Publish takes in the Done continuation.
	Number uint32
	// Resigned is how often the partition had resigned when it appended.
	Resigned uint32
	// Verdict says why the batch was refused; its code is the one returned.
	Verdict record.Verdict
}

// AllISR is acks=all.
const AllISR int8 = -1

// Append is AppendFrom for a producer.
func (p *Partition) Append(in *step.Input, out *step.Effects, b record.Batch, acks int8) (AppendResult, kafka.ErrorCode, error) {
	return p.AppendFrom(in, out, b, acks, log.Client, log.NoGuard)
}

// AppendFrom is L-13 rows 4 to 7 for one batch of one partition: a producer's, or a
// coordinator's offsets and markers. A code other than None means that nothing was
// appended. On None the caller arranges Publish, also for a duplicate. An error is
// the log's, with code KAFKA_STORAGE_ERROR.
func (p *Partition) AppendFrom(in *step.Input, out *step.Effects, b record.Batch, acks int8, origin log.Origin, guard log.VerificationGuard) (AppendResult, kafka.ErrorCode, error) {
	res := AppendResult{Base: kafka.NoOffset, Last: kafka.NoOffset, Resigned: p.resigned}
	switch {
	case p.offline:
		return res, kafka.KafkaStorageError, nil
	case p.role != Leader:
		return res, kafka.NotLeaderOrFollower, nil
	case acks == AllISR && len(p.isr) < p.effectiveMinISR() && !p.env.Config.Profile.Quirks.Has(quirk.NoMinISRBeforeAppend):
		return res, kafka.NotEnoughReplicas, nil
	}
	info, verdict, err := p.log.Append(b, &log.LeaderAppend{Epoch: p.leaderEpoch, Now: in.Wall, Origin: origin, Guard: guard})
	if err != nil {
		return res, kafka.KafkaStorageError, err
	}
	p.noteRoll(in, out, &info)
	if verdict.Code != kafka.None {
		res.Verdict = verdict
		return res, verdict.Code, nil
	}
	if !info.Duplicate {
		p.noteAppend(out, info.Batch)
	}
	// What a duplicate repeats may be unpublished too: it is published with the end
	// that the log has.
	p.appends++
	p.unpublished = append(p.unpublished, appendMark{number: p.appends, end: p.log.LogEndOffset()})
	res.Base, res.Last, res.Number = info.Base, info.Last, p.appends
	res.Duplicate, res.Timestamp = info.Duplicate, info.MaxTimestamp
	return res, kafka.None, nil
}

// noteRoll notes a segment that an append began, and tells the broker.
func (p *Partition) noteRoll(in *step.Input, out *step.Effects, info *log.AppendInfo) {
	if !info.Rolled {
		return
	}
	e := p.fact(event.SegmentRolled)
	e.Base = info.RollBase
	out.Note(e)
	p.env.Watcher.Rolled(in, out, p)
}

// noteAppend notes a batch that is now in the log.
func (p *Partition) noteAppend(out *step.Effects, b record.Batch) {
	e := p.noted(out, event.BatchAppended)
	e.Base, e.Last, e.LeaderEpoch = b.BaseOffset(), b.LastOffset(), b.PartitionLeaderEpoch()
	e.CRC, e.Count, e.Size = b.CRC(), b.Count(), int32(len(b))
	e.LEO, e.Flag, e.Batch = e.Last+1, p.role == Leader, b
}

// Publish makes an append visible, and with it those before it that are done; the
// caller calls it when the append's time is spent. Then L-8 runs. A number of
// before a role change is ignored: the change published everything.
func (p *Partition) Publish(in *step.Input, out *step.Effects, number uint32) {
	end, ready := p.markDone(number)
	if !ready {
		return
	}
	p.publishUpTo(out, end)
	moved := MovedLEO
	if p.role == Leader && p.maybeIncrementHW(in, out) {
		moved |= MovedHW
	}
	p.env.Watcher.Moved(in, out, p, moved)
}

// markDone marks an append and takes the finished ones off the front; end is that
// of the last taken.
func (p *Partition) markDone(number uint32) (end kafka.Offset, ready bool) {
	for i := range p.unpublished {
		if p.unpublished[i].number == number {
			p.unpublished[i].done = true
			break
		}
	}
	n := 0
	for n < len(p.unpublished) && p.unpublished[n].done {
		end = p.unpublished[n].end
		n++
	}
	p.unpublished = append(p.unpublished[:0], p.unpublished[n:]...)
	return end, n > 0
}

// publishUpTo moves the published end forwards.
func (p *Partition) publishUpTo(out *step.Effects, end kafka.Offset) {
	if end <= p.published {
		return
	}
	p.published = end
	p.noted(out, event.LEOPublished).LEO = end
}

// HasResigned reports whether the partition has stopped to lead since it appended res. A role
// change waits for the append, and the request would have found that before it could lead again
// (DelayedProduce.tryComplete), when other records may be at the same offsets.
func (p *Partition) HasResigned(res *AppendResult) bool { return p.resigned != res.Resigned }

// CheckDelayedProduce is L-14 for one partition of a parked produce request:
// required is the last appended offset + 1. done says that the partition's answer
// is code.
func (p *Partition) CheckDelayedProduce(required kafka.Offset) (code kafka.ErrorCode, done bool) {
	switch {
	case p.offline:
		return kafka.KafkaStorageError, true
	case p.role != Leader:
		return kafka.NotLeaderOrFollower, true
	}
	minISR := p.effectiveMinISR()
	if p.env.Config.Profile.Quirks.Has(quirk.NoMinISRBeforeAck) {
		minISR = 0
	}
	return produceOutcome(p.log.HighWatermark(), required, len(p.maximal), minISR)
}

// produceOutcome is the offset part of L-14. A member whose removal is pending
// still counts, so the maximal ISR decides.
func produceOutcome(hw, required kafka.Offset, maximalISR, minISR int) (code kafka.ErrorCode, done bool) {
	switch {
	case hw < required:
		return kafka.None, false
	case minISR > maximalISR:
		return kafka.NotEnoughReplicasAfterAppend, true
	}
	return kafka.None, true
}
