package log

import (
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/quirk"
)

// RetentionPass is why a segment was deleted.
type RetentionPass string

// The passes, in their order (storage 8).
const (
	StartBreach RetentionPass = "log start"       // it ends at or before the log start
	SizeBreach  RetentionPass = "retention.bytes" // the log is larger without it
	TimeBreach  RetentionPass = "retention.ms"    // its newest record is older
)

// DeletedSegment is a segment that retention took away. Its files are among those
// of TakeDeleted.
type DeletedSegment struct {
	Base kafka.Offset
	Pass RetentionPass
}

// Retention is what DeleteOldSegments did.
type Retention struct {
	Deleted []DeletedSegment // in offset order
	// Rolled: all segments were to go, so that a new one was begun before, at the
	// log's end (storage trap 45).
	Rolled bool
}

// DeleteOldSegments deletes from the oldest segment on what breaches the log start,
// retention.bytes or retention.ms, the latter two if the cleanup policy has delete
// (storage 8). What is at the high watermark or above stays, and so does an empty
// active segment (storage trap 43). The log start follows. An error is the file
// system's: the directory is offline.
func (l *Log) DeleteOldSegments(now kafka.TimestampMs) (Retention, error) {
	var done Retention
	if err := l.usable(); err != nil {
		return done, err
	}
	err := l.deleteWhile(&done, StartBreach, now, func(i int) (bool, error) {
		return i+1 < len(l.segments) && l.segments[i+1].base <= l.logStart, nil
	})
	if l.cfg.Delete && err == nil {
		err = l.deleteBySize(&done, now)
	}
	if l.cfg.Delete && err == nil {
		err = l.deleteByTime(&done, now)
	}
	return done, l.fail(err)
}

// deleteBySize leaves at least retention.bytes (storage trap 44).
func (l *Log) deleteBySize(done *Retention, now kafka.TimestampMs) error {
	size, limit := l.Size(), l.cfg.RetentionBytes
	if limit < 0 || size < limit {
		return nil
	}
	excess := size - limit
	return l.deleteWhile(done, SizeBreach, now, func(i int) (bool, error) {
		excess -= l.segments[i].size
		return excess >= 0, nil
	})
}

// deleteByTime goes by the records' time, so that one record from the future keeps
// its segment and all after it.
func (l *Log) deleteByTime(done *Retention, now kafka.TimestampMs) error {
	limit := l.cfg.RetentionMs
	if limit < 0 {
		return nil
	}
	return l.deleteWhile(done, TimeBreach, now, func(i int) (bool, error) {
		newest, err := l.segments[i].largestTimestamp(&l.place)
		return int64(now-newest) > limit, err
	})
}

// deleteWhile deletes segments from the first on, up to the first for which breaches
// is false. breaches is asked once for each segment that may go, in order.
func (l *Log) deleteWhile(done *Retention, pass RetentionPass, now kafka.TimestampMs, breaches func(i int) (bool, error)) error {
	n := 0
	for n < len(l.segments) && l.mayDelete(n) {
		breach, err := breaches(n)
		if err != nil {
			return err
		}
		if !breach {
			break
		}
		n++
	}
	if n == 0 {
		return nil
	}
	if n == len(l.segments) {
		if err := l.roll(l.leo, now); err != nil {
			return err
		}
		done.Rolled = true
	}
	if _, err := l.raiseStart(l.segments[n].base); err != nil {
		return err
	}
	for _, s := range l.segments[:n] {
		done.Deleted = append(done.Deleted, DeletedSegment{s.base, pass})
	}
	l.hints.clear()
	return l.deleteSegments(0, n)
}

// mayDelete tells that segment i lies below the high watermark and is not an empty
// active one.
func (l *Log) mayDelete(i int) bool {
	end := l.hw
	if l.cfg.Quirks.Has(quirk.RetentionPastHW) {
		end = l.leo
	}
	if i+1 < len(l.segments) {
		return end >= l.segments[i+1].base
	}
	return l.segments[i].size > 0 && end >= l.leo
}
