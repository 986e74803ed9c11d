package broker

import (
	"errors"
	"math"
	"slices"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/log"
	"github.com/simkafka/simkafka/model/step"
)

// cleaner is the one cleaner thread (LogCleaner.CleanerThread and LogCleanerManager):
// it cleans the dirtiest log, then the next, and pauses for log.cleaner.backoff.ms when
// none is dirty enough. Retention of compacted logs is its task, too (storage 8).
type cleaner struct {
	tp  kafka.TopicPartition
	log *log.Log
	run *log.Cleaning // nil between cleanings
	// uncleanable are logs with a batch that could not be read; they are left alone
	// until the broker starts again.
	uncleanable []*log.Log
	started     kafka.Nanos // when the thread began to look for logs, if it may
	awake       bool        // its timer is armed
}

// startCleaner begins the thread, unless log.cleaner.enable is false.
func (b *Broker) startCleaner(in *step.Input, out *step.Effects) {
	b.cleaner.started = in.Now
	b.wakeCleaner(in, out)
}

// wakeCleaner arms the thread's timer when there is a compacted log: without one it
// has nothing to look at. Its looks stay log.cleaner.backoff.ms apart from its start
// on, as if it had looked all the time.
func (b *Broker) wakeCleaner(in *step.Input, out *step.Effects) {
	c := &b.cleaner
	compacted := func(r log.Replica) bool { return r.Log.Config().Compact }
	if c.awake || !b.cfg.CleanerEnable || !slices.ContainsFunc(b.logs.Replicas(), compacted) {
		return
	}
	c.awake = true
	at := in.Now
	if every := b.cfg.CleanerBackoff; every > 0 && every < kafka.Forever {
		at = c.started + (in.Now-c.started+every-1)/every*every
	}
	out.SetTimer(laneCleaner, at, timerClean, 0, nil)
}

// cleanerLane does one bounded piece of a cleaning, or looks for a log to clean.
func (b *Broker) cleanerLane(in *step.Input, out *step.Effects) error {
	if b.cleaner.run != nil {
		out.SetTimer(laneCleaner, in.Now, timerClean, 0, nil)
		return b.cleanOn(in, out)
	}
	found, err := b.beginCleaning(in, out)
	if err != nil {
		return err
	}
	if found {
		out.SetTimer(laneCleaner, in.Now, timerClean, 0, nil)
		return nil
	}
	out.SetTimer(laneCleaner, in.Now+b.cfg.CleanerBackoff, timerClean, 0, nil)
	return b.retainCompacted(in, out)
}

// beginCleaning takes the log with the largest dirty share of those that are due
// (grabFilthiestCompactedLog).
func (b *Broker) beginCleaning(in *step.Input, out *step.Effects) (found bool, err error) {
	var best *log.Replica
	var dirtiest log.CleanRange
	all := b.logs.Replicas()
	for i := range all {
		r := &all[i]
		if !b.mayClean(r) {
			continue
		}
		part, err := r.Log.CleanRange(in.Wall)
		if err != nil {
			if err := b.cleaningFailed(out, r.TP, r.Log, err); err != nil {
				return false, err
			}
			continue
		}
		if part.Due(r.Log.Config()) && (best == nil || part.Dirtier(&dirtiest)) {
			best, dirtiest = r, part
		}
	}
	if best == nil {
		return false, nil
	}
	c := &b.cleaner
	c.tp, c.log = best.TP, best.Log
	c.run = c.log.BeginCleaning(log.CleanParams{
		Range: dirtiest, Now: in.Wall,
		MapBytes: b.cfg.CleanerDedupeBuffer, ReadBytes: int(b.cfg.CleanerIOBuffer / 2),
		Seed: uint64(b.cfg.NodeID),
	})
	out.Note(event.Event{Kind: event.CleaningBegan, Node: b.cfg.NodeID, TP: c.tp, Base: dirtiest.FirstDirty, Offset: dirtiest.Uncleanable})
	return true, nil
}

func (b *Broker) mayClean(r *log.Replica) bool {
	return r.Log.Config().Compact && !slices.Contains(b.cleaner.uncleanable, r.Log)
}

// cleanOn goes on with the cleaning under way. After its end the checkpoint is
// written and retention looks at the compacted logs.
func (b *Broker) cleanOn(in *step.Input, out *step.Effects) error {
	c := &b.cleaner
	if b.logs.Get(c.tp) != c.log { // deleted meanwhile
		return b.abandonCleaning()
	}
	done, err := c.run.Step()
	b.deleteLater(in, out, c.log)
	if err != nil {
		c.run = nil
		return b.cleaningFailed(out, c.tp, c.log, err)
	}
	if !done {
		return nil
	}
	stats := c.run.Stats()
	end, _ := c.log.CleanedTo()
	c.run = nil
	out.Note(event.Event{Kind: event.LogCleaned, Node: b.cfg.NodeID, TP: c.tp, Offset: end, Size: int32(min(stats.BytesRead-stats.BytesWritten, math.MaxInt32))})
	if err := b.logs.WriteCleanerOffsets(); err != nil {
		return err
	}
	return b.retainCompacted(in, out)
}

// cleaningFailed leaves a log with a batch that cannot be read alone from now on; an
// aborted cleaning comes again. Any other error comes back.
func (b *Broker) cleaningFailed(out *step.Effects, tp kafka.TopicPartition, l *log.Log, err error) error {
	if l.Failure() != nil {
		return err
	}
	if !errors.Is(err, log.ErrCleaningAborted) {
		b.cleaner.uncleanable = append(b.cleaner.uncleanable, l)
	}
	out.Note(event.Event{Kind: event.CleaningFailed, Node: b.cfg.NodeID, TP: tp, Text: err.Error()})
	return nil
}

// abandonCleaning ends the cleaning under way, as a stop or a deletion does.
func (b *Broker) abandonCleaning() error {
	run := b.cleaner.run
	b.cleaner.run, b.cleaner.log = nil, nil
	if run == nil {
		return nil
	}
	return run.Abandon()
}

// retainCompacted deletes old segments of the compacted logs.
func (b *Broker) retainCompacted(in *step.Input, out *step.Effects) error {
	all := b.logs.Replicas()
	for i := range all {
		if !b.mayClean(&all[i]) {
			continue
		}
		if _, err := b.retainLog(in, out, &all[i]); err != nil {
			return err
		}
	}
	return nil
}
