package log

import (
	"slices"
	"strconv"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/quirk"
)

// TruncateTo drops the records at target and after it (storage 6.3, cluster T-5)
// and reports whether the log got shorter. A target inside a batch drops the whole
// batch, and the log ends at target all the same. A target at or after the end
// still drops epochs that begin at the end. The recovery points are to be written
// by the caller before anything else is appended.
//
// The epoch file is written at once, as brokers did before they left it to a
// background thread.
func (l *Log) TruncateTo(target kafka.Offset, now kafka.TimestampMs) (bool, error) {
	if err := l.usable(); err != nil {
		return false, err
	}
	if target < 0 {
		panic("log: truncation of " + l.dir + " to offset " + strconv.FormatInt(int64(target), 10))
	}
	if target >= l.leo {
		if l.cfg.Quirks.Has(quirk.EpochsKeptAtLogEnd) {
			return false, nil
		}
		return false, l.fail(l.truncateEpochs(l.leo))
	}
	if l.segments[0].base > target {
		return true, l.TruncateFullyAndStartAt(target, now)
	}
	return true, l.fail(l.truncateTo(target, now))
}

func (l *Log) truncateTo(target kafka.Offset, now kafka.TimestampMs) error {
	keep := l.floorIndex(target) + 1
	rolled := keep < len(l.segments) // the target lies in one of those
	if err := l.deleteSegments(keep, len(l.segments)); err != nil {
		return err
	}
	if _, err := l.active().truncateTo(&l.place, target, now); err != nil {
		return err
	}
	l.endAt(target)
	if rolled {
		l.clipCleanedTo()
	}
	if !l.cfg.Quirks.Has(quirk.EpochsKeptBehindCut) {
		if err := l.truncateEpochs(target); err != nil {
			return err
		}
	}
	l.logStart = min(l.logStart, target)
	r, err := l.beginRebuild(&l.producers, l.segments, l.logStart, target, false, now)
	if err == nil {
		err = r.all(l)
	}
	l.SetHighWatermark(l.hw)
	return err
}

// TruncateFullyAndStartAt drops everything; the log becomes empty and begins and
// ends at offset (storage 6.4).
func (l *Log) TruncateFullyAndStartAt(offset kafka.Offset, now kafka.TimestampMs) error {
	if err := l.usable(); err != nil {
		return err
	}
	return l.fail(l.restartAt(offset, now))
}

func (l *Log) restartAt(offset kafka.Offset, now kafka.TimestampMs) error {
	last := len(l.segments) - 1
	if err := l.deleteSegmentFiles(0, last); err != nil {
		return err
	}
	old := l.segments[0]
	if err := l.replaceLast(old, offset, now); err != nil {
		return err
	}
	l.endAt(offset)
	l.clipCleanedTo()
	l.logStart = offset
	if !l.cfg.Quirks.Has(quirk.HWKeptOnRestart) {
		l.hw = offset
	}
	l.epochs = l.epochs[:0]
	if err := l.epochs.write(&l.place); err != nil {
		return err
	}
	return l.forgetProducers(offset)
}

// forgetProducers removes every snapshot; the state begins anew at offset.
func (l *Log) forgetProducers(offset kafka.Offset) error {
	if t := l.producers.table; t != nil {
		t.clear()
	}
	l.producers.mapEnd, l.producers.lastSnapshot = offset, offset
	return l.removeSnapshots(func(kafka.Offset) bool { return true })
}

// replaceLast puts an empty segment at offset into the place of the one segment
// left, which is renamed first if it has the same base, else after.
func (l *Log) replaceLast(old *segment, offset kafka.Offset, now kafka.TimestampMs) (err error) {
	if old.base == offset {
		if l.deleted, err = old.markDeleted(&l.place, l.deleted); err != nil {
			return err
		}
	} else if err := l.removeStrays(offset); err != nil {
		return err
	}
	s, err := createSegment(&l.place, offset, now, l.jitter)
	if err != nil {
		return err
	}
	l.segments[0] = s
	if old.base != offset {
		l.deleted, err = old.markDeleted(&l.place, l.deleted)
	}
	return err
}

// endAt sets the end of a log whose files were cut.
func (l *Log) endAt(end kafka.Offset) {
	l.leo = end
	l.recoveryPoint = min(l.recoveryPoint, end)
	l.flushTo = min(l.flushTo, l.active().base)
	l.cuts++
	l.hints.clear()
}

// clipCleanedTo follows a truncation that reached a rolled segment: of what is left
// the active segment is to be cleaned as a whole.
func (l *Log) clipCleanedTo() {
	if base := l.active().base; l.cleaned && l.cleanedTo > base {
		l.cleanedTo, l.cleanedCut = base, true
	}
}

// deleteSegments takes the segments from index from to index to (exclusive) out of
// the log and renames their files, then their snapshots, to .deleted.
func (l *Log) deleteSegments(from, to int) error {
	gone := slices.Clone(l.segments[from:to])
	if err := l.deleteSegmentFiles(from, to); err != nil {
		return err
	}
	for _, s := range gone {
		if err := l.markSnapshotDeleted(s.base); err != nil {
			return err
		}
	}
	return nil
}

func (l *Log) deleteSegmentFiles(from, to int) error {
	for _, s := range l.segments[from:to] {
		var err error
		if l.deleted, err = s.markDeleted(&l.place, l.deleted); err != nil {
			return err
		}
	}
	l.segments = slices.Delete(l.segments, from, to)
	return nil
}

func (l *Log) truncateEpochs(end kafka.Offset) error {
	if !l.epochs.truncateFromEnd(end) {
		return nil
	}
	return l.epochs.write(&l.place)
}
