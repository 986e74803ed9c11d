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

// cleaners are the cleaner threads (LogCleaner and LogCleanerManager): each cleans the
// dirtiest log that no other has, then the next, and pauses for log.cleaner.backoff.ms
// when none is dirty enough. Retention of compacted logs is their task, too (storage 8).
type cleaners struct {
	threads []cleaner
	// uncleanable are logs with a batch that could not be read; they are left alone
	// until the broker starts again.
	uncleanable []*log.Log
	throttle    throttler
	started     kafka.Nanos // when the threads began to look for logs, if they may
	awake       bool        // their timers are armed
}

// cleaner is one thread (CleanerThread).
type cleaner struct {
	tp  kafka.TopicPartition
	log *log.Log      // that is being cleaned
	run *log.Cleaning // nil between cleanings
}

// startCleaner begins the threads, unless log.cleaner.enable is false.
func (b *Broker) startCleaner(in *step.Input, out *step.Effects) {
	c := &b.cleaner
	c.threads = make([]cleaner, b.cfg.CleanerThreads)
	c.started, c.throttle.start = in.Now, in.Now
	b.wakeCleaner(in, out)
}

// wakeCleaner arms the threads' timers when there is a compacted log: without one they
// have nothing to look at. Their looks stay log.cleaner.backoff.ms apart from their start
// on, as if they had looked all the time.
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
	for i := range c.threads {
		out.SetTimer(laneCleaner+step.Lane(i), at, timerClean, 0, nil)
	}
}

// cleanerLane does one bounded piece of a cleaning, or looks for a log to clean.
func (b *Broker) cleanerLane(in *step.Input, out *step.Effects, c *cleaner) error {
	if c.run != nil {
		if wait := b.cleaner.throttle.wait(in.Now, b.cfg.CleanerIORate); wait > 0 {
			out.SetTimer(in.Lane, in.Now+wait, timerClean, 0, nil)
			return nil
		}
		out.SetTimer(in.Lane, in.Now, timerClean, 0, nil)
		return b.cleanOn(in, out, c)
	}
	found, err := b.beginCleaning(in, out, c)
	if err != nil {
		return err
	}
	if found {
		out.SetTimer(in.Lane, in.Now, timerClean, 0, nil)
		return nil
	}
	out.SetTimer(in.Lane, in.Now+b.cfg.CleanerBackoff, timerClean, 0, nil)
	return b.retainCompacted(in, out)
}

// beginCleaning takes the log with the largest dirty share of those that are due
// (grabFilthiestCompactedLog).
func (b *Broker) beginCleaning(in *step.Input, out *step.Effects, c *cleaner) (found bool, err error) {
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
		if r.Log.ResetCleanedTo(&part) {
			if err := b.logs.WriteCleanerOffsets(r.Log); err != nil {
				return false, err
			}
		}
		if part.Due(r.Log.Config()) && (best == nil || part.Dirtier(&dirtiest)) {
			best, dirtiest = r, part
		}
	}
	if best == nil {
		return false, nil
	}
	threads := max(1, b.cfg.CleanerThreads)
	c.tp, c.log = best.TP, best.Log
	c.run = c.log.BeginCleaning(log.CleanParams{
		Range: dirtiest, Now: in.Wall,
		MapBytes:   min(b.cfg.CleanerDedupeBuffer/int64(threads), math.MaxInt32),
		LoadFactor: b.cfg.CleanerLoadFactor,
		ReadBytes:  int(b.cfg.CleanerIOBuffer) / threads / 2,
		Seed:       uint64(b.cfg.NodeID),
	})
	out.Note(event.Event{Kind: event.CleaningBegan, Node: b.cfg.NodeID, TP: c.tp, Base: dirtiest.FirstDirty, Offset: dirtiest.Uncleanable})
	return true, nil
}

// mayClean tells that a log is compacted, can be read, and is not being cleaned.
func (b *Broker) mayClean(r *log.Replica) bool {
	if !r.Log.Config().Compact || slices.Contains(b.cleaner.uncleanable, r.Log) {
		return false
	}
	return !slices.ContainsFunc(b.cleaner.threads, func(c cleaner) bool { return c.run != nil && c.log == r.Log })
}

// cleanOn goes on with the cleaning under way. After its end the checkpoint is
// written and retention looks at the compacted logs.
func (b *Broker) cleanOn(in *step.Input, out *step.Effects, c *cleaner) error {
	if b.logs.Get(c.tp) != c.log { // deleted meanwhile
		return b.absorb(c.abandon())
	}
	before := c.run.Stats().Bytes()
	done, err := c.run.Step()
	b.cleaner.throttle.observed += c.run.Stats().Bytes() - before
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
	if err := b.logs.WriteCleanerOffsets(c.log); err != nil {
		return err
	}
	return b.retainCompacted(in, out)
}

// cleaningFailed leaves a log with a batch that cannot be read alone from now on; an
// aborted cleaning comes again. Any other error is that of a directory.
func (b *Broker) cleaningFailed(out *step.Effects, tp kafka.TopicPartition, l *log.Log, err error) error {
	if l.Failure() != nil {
		return b.absorb(err)
	}
	if !errors.Is(err, log.ErrCleaningAborted) {
		b.cleaner.uncleanable = append(b.cleaner.uncleanable, l)
	}
	out.Note(event.Event{Kind: event.CleaningFailed, Node: b.cfg.NodeID, TP: tp, Text: err.Error()})
	return nil
}

// abandonCleanings ends the cleanings under way, as a stop does.
func (b *Broker) abandonCleanings() error {
	for i := range b.cleaner.threads {
		if err := b.absorb(b.cleaner.threads[i].abandon()); err != nil {
			return err
		}
	}
	return nil
}

// abandon ends a cleaning under way, as a stop or a deletion does.
func (c *cleaner) abandon() error {
	run := c.run
	c.run, c.log = nil, nil
	if run == nil {
		return nil
	}
	return run.Abandon()
}

// forget drops what is known of a log whose directory has failed.
func (c *cleaners) forget(l *log.Log) {
	for i := range c.threads {
		if c.threads[i].log == l {
			_ = c.threads[i].abandon() // nothing can be removed there
		}
	}
	c.uncleanable = slices.DeleteFunc(c.uncleanable, func(u *log.Log) bool { return u == l })
}

// retainCompacted deletes old segments of the compacted logs that are not being cleaned.
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

// throttler keeps the I/O of all cleaner threads below a rate (Throttler): it looks
// at what was read and written since start when more than checkInterval has passed.
type throttler struct {
	start    kafka.Nanos // of the period; ahead of the clock while a thread must wait
	observed int64       // bytes since
}

const throttleInterval = 300 * kafka.Millisecond

// wait is how long a thread must wait before it goes on. rate is in bytes a second.
func (t *throttler) wait(now kafka.Nanos, rate int64) kafka.Nanos {
	if t.start > now {
		return t.start - now
	}
	elapsed := now - t.start
	if rate == math.MaxInt64 || elapsed <= throttleInterval || t.observed == 0 {
		return 0
	}
	const perSecond = int64(kafka.Second / kafka.Millisecond)
	due := kafka.Nanos((t.observed*perSecond+rate/2)/rate) * kafka.Millisecond
	wait := max(0, due-elapsed/kafka.Millisecond*kafka.Millisecond)
	t.start, t.observed = now+wait, 0
	return wait
}
