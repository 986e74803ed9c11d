package replica

import (
	"errors"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/log"
	"github.com/simkafka/simkafka/model/record"
	"github.com/simkafka/simkafka/model/step"
)

// appendAsFollower appends what the leader sent, with its offsets and epochs
// (F-5). It is not visible until publishAsFollower.
func (p *Partition) appendAsFollower(in *step.Input, out *step.Effects, buf []byte) (log.AppendInfo, error) {
	info, err := p.log.AppendAsFollower(buf, in.Wall)
	if at, ok := insideBatch(err); ok {
		if err := p.truncateFully(in, out, at); err != nil {
			return info, err
		}
		info, err = p.log.AppendAsFollower(buf, in.Wall)
	}
	if p.log.Failure() == nil {
		p.noteRoll(in, out, &info)
	}
	if err != nil {
		return info, err
	}
	p.noteBatches(out, info.Batch)
	return info, nil
}

// insideBatch recognises the append to an empty log that begins inside the
// leader's first batch, as after DeleteRecords at the leader: the follower gets the
// whole batch and restarts at its base.
func insideBatch(err error) (base kafka.Offset, ok bool) {
	if err == nil {
		return 0, false
	}
	var e *log.UnexpectedAppendOffsetError // on the heap, therefore after the usual case
	if !errors.As(err, &e) {
		return 0, false
	}
	return e.First, e.LogEnd == e.LogStart && e.First < e.LogEnd && e.Last >= e.LogEnd
}

func (p *Partition) noteBatches(out *step.Effects, buf []byte) {
	for len(buf) > 0 {
		b, rest, err := record.Next(buf)
		if err != nil {
			panic("replica: the log appended half a batch: " + err.Error())
		}
		p.noteAppend(out, b)
		buf = rest
	}
}

// publishAsFollower makes a fetch response's effect visible (F-6): the log up to
// end, then the leader's high watermark, clamped, then its log start. A partition
// that is no follower any more has published everything with its new role. An
// error is the log's, or *log.OffsetOutOfRangeError for a log start above the
// high watermark (L-11).
func (p *Partition) publishAsFollower(in *step.Input, out *step.Effects, end, leaderHW, leaderStart kafka.Offset) error {
	if p.role != Follower {
		return nil
	}
	var moved Moved
	if end > p.published {
		p.publishUpTo(out, end)
		moved |= MovedLEO
	}
	before := p.log.HighWatermark()
	if hw := p.log.SetHighWatermark(leaderHW); hw != before {
		p.noteHW(out, hw)
		moved |= MovedHW
	}
	raised, err := p.raiseLogStart(out, leaderStart)
	if raised {
		moved |= MovedHW // a parked fetch may lie below the log start now
	}
	if moved != 0 {
		p.env.Watcher.Moved(in, out, p, moved)
	}
	return err
}

func (p *Partition) raiseLogStart(out *step.Effects, to kafka.Offset) (bool, error) {
	if to <= p.log.LogStartOffset() {
		return false, nil
	}
	raised, err := p.log.MaybeIncrementLogStartOffset(to)
	if raised {
		p.noteLogStart(out, event.StartByLeader)
	}
	return raised, err
}

func (p *Partition) noteLogStart(out *step.Effects, cause string) {
	e := p.fact(event.LogStartRaised)
	e.LogStart, e.Text = p.log.LogStartOffset(), cause
	out.Note(e)
}

// truncateTo cuts the log at to (T-5); rule names the reason.
func (p *Partition) truncateTo(in *step.Input, out *step.Effects, to kafka.Offset, rule string) error {
	before := p.log.LogEndOffset()
	cut, err := p.log.TruncateTo(to, in.Wall)
	if err != nil || !cut {
		return err
	}
	return p.truncated(in, out, before, rule)
}

// truncateFully empties the log, which then begins and ends at start (F-8).
func (p *Partition) truncateFully(in *step.Input, out *step.Effects, start kafka.Offset) error {
	before := p.log.LogEndOffset()
	if err := p.log.TruncateFullyAndStartAt(start, in.Wall); err != nil {
		return err
	}
	p.noteLogStart(out, event.StartByTruncation)
	return p.truncated(in, out, before, "full")
}

func (p *Partition) truncated(in *step.Input, out *step.Effects, before kafka.Offset, rule string) error {
	p.published = p.log.LogEndOffset()
	e := p.fact(event.Truncated)
	e.Offset, e.LEO, e.HW, e.Text = p.published, before, p.log.HighWatermark(), rule
	out.Note(e)
	p.env.Watcher.Moved(in, out, p, MovedRole)
	return p.env.Watcher.Truncated(in, out, p)
}
