package log

import (
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/record"
)

// AppendInfo is what an append did.
type AppendInfo struct {
	Base    kafka.Offset // base offset of the first batch; -1 if there was none
	Last    kafka.Offset // last offset, inclusive
	Size    int          // bytes
	Batches int
	// MaxTimestamp is the newest of all batches, -1 if none has one.
	MaxTimestamp kafka.TimestampMs
	LastEpoch    kafka.LeaderEpoch // of the last batch
	Count        int32             // records; of the first batch only
	CRC          uint32            // of the first batch
	Rolled       bool              // a segment was begun before the append
	// Batch is what was written: it is immutable and the file's from now on.
	Batch []byte
}

func infoOf(a *span) AppendInfo {
	info := AppendInfo{
		Base: a.FirstOffset, Last: a.LastOffset, Size: a.Size, Batches: a.Batches,
		MaxTimestamp: a.MaxTimestamp, LastEpoch: a.LastEpoch,
	}
	if a.Batches > 0 {
		info.Count, info.CRC, info.Batch = a.buf.Count(), a.buf.CRC(), a.buf
	}
	return info
}

// AppendAsLeader validates what a client produced and appends it with the next
// offsets and the given leader epoch, in the order of storage 6.1. b is not
// modified and not kept. A verdict other than None means that nothing was
// appended; an error, that the directory is offline.
func (l *Log) AppendAsLeader(b record.Batch, epoch kafka.LeaderEpoch, now kafka.TimestampMs) (AppendInfo, record.Verdict, error) {
	if err := l.usable(); err != nil {
		return AppendInfo{}, record.Verdict{}, err
	}
	if l.limits == nil {
		l.limits = l.cfg.limits()
	}
	out, verdict := record.ValidateAndAssign(b, l.leo, epoch, now, l.limits)
	if verdict.Code != kafka.None {
		return AppendInfo{}, verdict, nil
	}
	a := spanOf(out)
	info, err := l.append(&a, now)
	return info, verdict, err
}

// AppendAsFollower appends whole batches as a leader has stored them: their
// offsets and epochs stay, and gaps before them are allowed. buf is the log's from
// now on; a torn batch at its end is dropped. now is the wall clock, for rolling
// by time. It is one write.
//
// Errors that leave the log usable: *record.CorruptError, ErrOffsetsOutOfOrder of
// package record, *UnexpectedAppendOffsetError if the first batch begins before
// the log's end, *RecordBatchTooLargeError. A buffer without a whole batch appends
// nothing.
func (l *Log) AppendAsFollower(buf []byte, now kafka.TimestampMs) (AppendInfo, error) {
	if err := l.usable(); err != nil {
		return AppendInfo{}, err
	}
	bounds, err := record.CheckFollower(buf)
	if err != nil {
		return AppendInfo{}, err
	}
	a := span{record.Batch(buf[:bounds.Size:bounds.Size]), bounds}
	switch {
	case a.Batches == 0:
		return infoOf(&a), nil
	case a.FirstOffset < l.leo:
		return AppendInfo{}, &UnexpectedAppendOffsetError{a.FirstOffset, a.LastOffset, l.leo, l.logStart}
	case l.cfg.LimitFollowerAppend && a.Size > int(l.cfg.SegmentBytes):
		return AppendInfo{}, &RecordBatchTooLargeError{a.Size, l.cfg.SegmentBytes}
	}
	return l.append(&a, now)
}

// append is steps 5 to 14 of storage 6.1 for batches that have their offsets.
func (l *Log) append(a *span, now kafka.TimestampMs) (AppendInfo, error) {
	info := infoOf(a)
	err := l.assignEpochs(a)
	if err == nil {
		info.Rolled, err = l.maybeRoll(a, now)
	}
	if err != nil {
		return info, l.fail(err)
	}
	s := l.active()
	pos := s.size
	if err := s.append(&l.place, a); err != nil {
		return info, l.fail(err)
	}
	if l.hw >= l.leo { // the bound's position is known: where this append begins
		l.hints.add(l.leo, s.base, pos)
	}
	l.leo = a.LastOffset + 1
	l.hints.add(l.leo, s.base, s.size)
	if int64(l.leo-l.recoveryPoint) >= l.cfg.FlushMessages {
		return info, l.Flush(l.leo)
	}
	return info, nil
}

// assignEpochs enters the epochs of the batches into the epoch cache.
func (l *Log) assignEpochs(a *span) error {
	if a.Batches == 1 {
		return l.assignEpoch(a.buf)
	}
	for rest := []byte(a.buf); len(rest) > 0; {
		b, next, err := record.Next(rest)
		if err != nil {
			panic("log: " + err.Error()) // CheckFollower has passed it
		}
		if err := l.assignEpoch(b); err != nil {
			return err
		}
		rest = next
	}
	return nil
}

func (l *Log) assignEpoch(b record.Batch) error {
	epoch := b.PartitionLeaderEpoch()
	if epoch < 0 || !l.epochs.assign(epoch, b.BaseOffset()) {
		return nil
	}
	return l.epochs.write(&l.place)
}

// maybeRoll begins a new segment if the active one must not take a.
func (l *Log) maybeRoll(a *span, now kafka.TimestampMs) (bool, error) {
	roll, err := l.active().shouldRoll(&l.place, a, now)
	if err != nil || !roll {
		return false, err
	}
	return true, l.roll(max(a.FirstOffset, l.leo), now)
}

// roll makes a new active segment that begins at base (storage 2.2). What lies
// before it waits for a background flush.
func (l *Log) roll(base kafka.Offset, now kafka.TimestampMs) error {
	old := l.active()
	if old.base == base {
		return l.rollInPlace(old, now)
	}
	if old.base > base { // rot has moved the log's end before its last segment
		return &CorruptError{File: old.file.Name(), Pos: old.size, Err: errOffsetOverflow}
	}
	if err := l.removeStrays(base); err != nil {
		return err
	}
	if err := old.deactivate(&l.place); err != nil {
		return err
	}
	s, err := createSegment(&l.place, base, now, l.jitter)
	if err != nil {
		return err
	}
	l.segments = append(l.segments, s)
	l.flushTo = base
	return nil
}

// rollInPlace replaces an empty active segment, whose indexes may be full, by a
// new one with the same base.
func (l *Log) rollInPlace(old *segment, now kafka.TimestampMs) error {
	if old.size > 0 {
		return &CorruptError{File: old.file.Name(), Pos: old.size, Err: errOffsetOverflow}
	}
	var err error
	if l.deleted, err = old.markDeleted(&l.place, l.deleted); err != nil {
		return err
	}
	s, err := createSegment(&l.place, old.base, now, l.jitter)
	if err != nil {
		return err
	}
	l.segments[len(l.segments)-1] = s
	return nil
}

// removeStrays removes files that already have the names of a new segment.
func (l *Log) removeStrays(base kafka.Offset) error {
	for _, suffix := range segmentSuffixes {
		if err := removeFile(l.fs, filePath(l.dir, base, suffix)); err != nil {
			return err
		}
	}
	return nil
}
