package log

import (
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/record"
	"github.com/simkafka/simkafka/model/vfs"
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
	Rolled       bool              // a segment was begun before the append, or before its refusal
	RollBase     kafka.Offset      // where it begins, if Rolled
	// Duplicate: nothing was appended, since the producer's batch was there already.
	// Base, Last and MaxTimestamp are those of then.
	Duplicate bool
	// Batch is what was written: it is immutable and the file's from now on. Where the
	// file system copies (vfs.Copier) it is there until the next append.
	Batch []byte
}

// LeaderAppend says how a leader appends.
type LeaderAppend struct {
	Epoch  kafka.LeaderEpoch
	Now    kafka.TimestampMs
	Origin Origin // Client or Coordinator
	// Guard is that of the producer's verified transaction, if the batch is the first
	// of one (Config.VerifyTransactions).
	Guard VerificationGuard
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

// nothing is what an append did that was refused after info.
func nothing(info AppendInfo) AppendInfo {
	return AppendInfo{
		Base: kafka.NoOffset, Last: kafka.NoOffset, MaxTimestamp: kafka.NoTimestamp, LastEpoch: kafka.NoLeaderEpoch,
		Rolled: info.Rolled, RollBase: info.RollBase,
	}
}

// AppendAsLeader is Append for a client's batch.
func (l *Log) AppendAsLeader(b record.Batch, epoch kafka.LeaderEpoch, now kafka.TimestampMs) (AppendInfo, record.Verdict, error) {
	return l.Append(b, &LeaderAppend{Epoch: epoch, Now: now})
}

// Append validates what a client or coordinator has produced and appends it with
// the next offsets and the leader's epoch, in the order of storage 6.1. b is not
// modified and not kept. A verdict other than None means that nothing was appended;
// an error, that the directory is offline. Both what is refused for its producer's
// state and a duplicate may have begun a segment before (AppendInfo.Rolled).
func (l *Log) Append(b record.Batch, o *LeaderAppend) (AppendInfo, record.Verdict, error) {
	if err := l.usable(); err != nil {
		return AppendInfo{}, record.Verdict{}, err
	}
	if l.limits == nil {
		l.limits = l.cfg.limits()
		_, l.limits.Reuse = l.active().file.(vfs.Copier)
	}
	limits := l.limits
	if o.Origin == Coordinator {
		coordinators := *limits
		coordinators.Coordinator = true
		limits = &coordinators
	}
	out, verdict := record.ValidateAndAssign(b, l.leo, o.Epoch, o.Now, limits)
	if verdict.Code != kafka.None {
		return nothing(AppendInfo{}), verdict, nil
	}
	a := spanOf(out)
	return l.append(&a, o)
}

// AppendAsFollower appends whole batches as a leader has stored them: their
// offsets and epochs stay, and gaps before them are allowed. buf is the log's from
// now on; a torn batch at its end is dropped. now is the wall clock, for rolling
// by time. It is one write.
//
// Errors that leave the log usable: *record.CorruptError, ErrOffsetsOutOfOrder and
// *record.InvalidRecordError (a marker that cannot be read) of package record,
// *UnexpectedAppendOffsetError if the first batch begins before the log's end,
// *RecordBatchTooLargeError, *InvalidTxnStateError. A buffer without a whole batch
// appends nothing.
func (l *Log) AppendAsFollower(buf []byte, now kafka.TimestampMs) (AppendInfo, error) {
	if err := l.usable(); err != nil {
		return AppendInfo{}, err
	}
	bounds, err := record.CheckFollower(buf, l.cfg.checked())
	if err != nil {
		return AppendInfo{}, err
	}
	a := span{buf: record.Batch(buf[:bounds.Size:bounds.Size]), Bounds: bounds}
	switch {
	case a.Batches == 0:
		return infoOf(&a), nil
	case a.FirstOffset < l.leo:
		return AppendInfo{}, &UnexpectedAppendOffsetError{a.FirstOffset, a.LastOffset, l.leo, l.logStart}
	}
	info, _, err := l.append(&a, &LeaderAppend{Origin: Replication, Now: now})
	return info, err
}

// append is steps 5 to 14 of storage 6.1 for batches that have their offsets.
func (l *Log) append(a *span, o *LeaderAppend) (AppendInfo, record.Verdict, error) {
	info := infoOf(a)
	err := l.assignEpochs(a)
	switch {
	case err != nil:
	case a.Size <= int(l.cfg.SegmentBytes) || o.Origin == Replication && !l.cfg.LimitFollowerAppend:
		info.Rolled, err = l.maybeRoll(a, o.Now)
	case o.Origin == Replication:
		return AppendInfo{}, record.Verdict{}, &RecordBatchTooLargeError{a.Size, l.cfg.SegmentBytes}
	default:
		return nothing(info), refusal(kafka.RecordListTooLarge, "the records are larger than segment.bytes"), nil
	}
	if err != nil {
		return info, record.Verdict{}, l.fail(err)
	}
	s := l.active()
	info.RollBase = s.base
	if a.hasProducer {
		duplicate, verdict, err := l.prepare(a, o)
		if duplicate != nil {
			info.repeats(duplicate)
			return info, verdict, nil
		}
		if err != nil || verdict.Code != kafka.None {
			return nothing(info), verdict, err
		}
	}
	pos := s.size
	if err := s.append(&l.place, a); err != nil {
		return info, record.Verdict{}, l.fail(err)
	}
	if l.hw >= l.leo { // the bound's position is known: where this append begins
		l.hints.add(l.leo, s.base, pos)
	}
	l.leo = a.LastOffset + 1
	l.hints.add(l.leo, s.base, s.size)
	if a.hasProducer {
		if err := l.commit(s); err != nil {
			return info, record.Verdict{}, l.fail(err)
		}
	}
	l.producers.mapEnd = l.leo
	if int64(l.leo-l.recoveryPoint) >= l.cfg.FlushMessages {
		err = l.Flush(l.leo, o.Now)
	}
	return info, record.Verdict{}, err
}

// repeats tells of the batch that was appended when it came first.
func (info *AppendInfo) repeats(b *producerBatch) {
	info.Duplicate, info.Batch, info.Batches, info.Size = true, nil, 0, 0
	info.Base, info.Last, info.MaxTimestamp = b.firstOffset(), b.lastOffset, b.timestamp
}

// prepare checks the producers of a; what it does to them waits for commit. Of a
// leader's append, which is one batch, duplicate is the one that it repeats. What a
// leader has sent is refused with an error.
func (l *Log) prepare(a *span, o *LeaderAppend) (duplicate *producerBatch, v record.Verdict, err error) {
	t := l.producers.ensure()
	t.reset()
	for rest := []byte(a.buf); len(rest) > 0 && duplicate == nil; {
		b := nextOf(&rest)
		if !b.HasProducerID() {
			continue
		}
		duplicate, v = t.prepare(b, o, l.cfg.VerifyTransactions)
		if v.Code == kafka.None {
			continue
		}
		if o.Origin == Replication {
			return nil, record.Verdict{}, asError(b, v)
		}
		return nil, v, nil
	}
	return duplicate, v, nil
}

// commit takes over the producers of the last append, whose markers lie in s.
func (l *Log) commit(s *segment) error {
	t := l.producers.table
	t.commit()
	for i := range t.completed {
		c := &t.completed[i]
		if c.aborted {
			if err := s.noteAborted(&l.place, c, t.lastStableAfter(c)); err != nil {
				return err
			}
		}
		t.complete(c)
	}
	return nil
}

// nextOf takes the first batch off checked batches.
func nextOf(buf *[]byte) record.Batch {
	b, rest, err := record.Next(*buf)
	if err != nil {
		panic("log: " + err.Error()) // they were checked
	}
	*buf = rest
	return b
}

// assignEpochs enters the epochs of the batches into the epoch cache, and notes
// whether one of them has a producer id.
func (l *Log) assignEpochs(a *span) error {
	if a.Batches == 1 {
		a.hasProducer = a.buf.HasProducerID()
		return l.assignEpoch(a.buf)
	}
	for rest := []byte(a.buf); len(rest) > 0; {
		b := nextOf(&rest)
		if err := l.assignEpoch(b); err != nil {
			return err
		}
		a.hasProducer = a.hasProducer || b.HasProducerID()
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
	return l.rolled(base)
}

// rolled takes the snapshot with which a recovery of the new segment begins. base
// may be above the log's end (storage 2.2, trap 20).
func (l *Log) rolled(base kafka.Offset) error {
	l.flushTo = base
	l.producers.mapEnd = base
	return l.takeSnapshot(&l.producers, false)
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
	return l.rolled(old.base)
}

// removeStrays removes files that already have the names of a new segment.
func (l *Log) removeStrays(base kafka.Offset) error {
	return removeSegmentFiles(l.fs, filePath(l.dir, base, ""), "")
}
