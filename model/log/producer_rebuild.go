package log

import (
	"fmt"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/record"
)

// rebuild brings a producer state to an offset: from the newest snapshot at or below
// it, and by reading the batches from there on (UnifiedLog.rebuildProducerState,
// storage 4.6). It goes on over several steps.
type rebuild struct {
	st       *producerState
	segments []*segment // of the log, as far as they are known
	logStart kafka.Offset
	to       kafka.Offset // where a segment ends, or the log

	next int // index of the segment to read after the present one
	seg  *segment
	pos  int64
}

// beginRebuild loads the snapshot. What follows from the snapshots alone is done
// already. clean: the log was closed cleanly, so that a log without any snapshot is
// one without producers.
func (l *Log) beginRebuild(st *producerState, segments []*segment, logStart, to kafka.Offset, clean bool, now kafka.TimestampMs) (rebuild, error) {
	r := rebuild{st: st, segments: segments, logStart: logStart, to: to, next: len(segments)}
	if len(l.snapshots) == 0 && clean {
		return r, r.markEmpty(l)
	}
	// Without producers before a truncation there are none after it.
	wasEmpty := st.isEmpty() && st.mapEnd >= to
	if err := l.reload(st, logStart, to, now); err != nil {
		return r, err
	}
	if to > st.mapEnd && !wasEmpty {
		r.next = max(0, floorOf(segments, st.mapEnd))
	}
	return r, nil
}

// markEmpty takes empty snapshots, so that the log is never read for producers.
func (r *rebuild) markEmpty(l *Log) error {
	for i := max(0, len(r.segments)-2); i < len(r.segments); i++ {
		r.st.mapEnd = r.segments[i].base
		if err := l.takeSnapshot(r.st, true); err != nil {
			return err
		}
	}
	return nil
}

// reload is ProducerStateManager.truncateAndReload.
func (l *Log) reload(st *producerState, logStart, to kafka.Offset, now kafka.TimestampMs) error {
	if err := l.removeSnapshots(func(o kafka.Offset) bool { return o > to || o <= logStart }); err != nil {
		return err
	}
	if to == st.mapEnd {
		l.startRaised(st, logStart)
		return nil
	}
	if st.table != nil {
		st.table.clear()
	}
	return l.loadSnapshot(st, logStart, now)
}

// startRaised is ProducerStateManager.onLogStartOffsetIncremented. Open transactions
// stay, wherever they began.
func (l *Log) startRaised(st *producerState, start kafka.Offset) {
	st.dropReplicated(start)
	st.mapEnd = max(st.mapEnd, start)
	st.lastSnapshot = start
	if n := len(l.snapshots); n > 0 {
		st.lastSnapshot = l.snapshots[n-1]
	}
}

// step reads on, up to recoveryStep bytes of the log. done tells that the state
// stands at its offset, and has its snapshot.
func (r *rebuild) step(l *Log) (done bool, err error) {
	for read := int64(0); read < recoveryStep; {
		if r.seg == nil {
			more, err := r.nextSegment(l)
			if err != nil {
				return false, err
			}
			if !more {
				r.st.mapEnd = r.to
				return true, l.takeSnapshot(r.st, true)
			}
		}
		size, err := r.apply(l)
		if err != nil {
			return false, err
		}
		read += size
	}
	return false, nil
}

// all is step to the end.
func (r *rebuild) all(l *Log) error {
	for {
		if done, err := r.step(l); done || err != nil {
			return err
		}
	}
}

// nextSegment finds where to read in the next segment that begins below the end.
// Before that it takes a snapshot if the segment is one of the last two.
func (r *rebuild) nextSegment(l *Log) (more bool, err error) {
	for r.next < len(r.segments) && r.segments[r.next].base < r.to {
		s := r.segments[r.next]
		start := max(s.base, r.st.mapEnd, r.logStart)
		r.st.mapEnd = start
		if r.next >= len(r.segments)-2 {
			if err := l.takeSnapshot(r.st, true); err != nil {
				return false, err
			}
		}
		r.next++
		at, err := s.locate(&l.place, start, 0)
		if err != nil {
			return false, err
		}
		if at.header == nil {
			continue
		}
		r.seg, r.pos = s, at.pos
		return true, nil
	}
	return false, nil
}

// apply takes one batch. Its size is 0 at the end of the segment.
func (r *rebuild) apply(l *Log) (size int64, err error) {
	h, size, err := r.seg.header(r.pos)
	if err != nil {
		return 0, err
	}
	if h == nil {
		r.seg = nil
		return 0, nil
	}
	if h.HasProducerID() {
		if err := r.note(l, h, size); err != nil {
			return 0, err
		}
	}
	r.pos += size
	return size, nil
}

// note applies a batch to the state. Of a marker the record is read too.
func (r *rebuild) note(l *Log, b record.Batch, size int64) error {
	if b.IsControl() {
		whole, err := r.seg.file.ReadAt(r.pos, int(size))
		if err != nil {
			return fmt.Errorf("log: read %s: %w", r.seg.file.Name(), err)
		}
		if int64(len(whole)) != size {
			return &CorruptError{File: r.seg.file.Name(), Pos: r.pos, Err: errShortFile}
		}
		b = record.Batch(whole)
	}
	t := r.st.ensure()
	if err := t.replicate(b); err != nil {
		return err
	}
	for i := range t.completed {
		t.complete(&t.completed[i])
	}
	return nil
}

// replicate prepares and commits one batch of a log that is read again. Ended
// transactions are left in t.completed.
func (t *producerTable) replicate(b record.Batch) error {
	t.reset()
	if _, v := t.prepare(b, &LeaderAppend{Origin: Replication}, false); v.Code != kafka.None {
		return asError(b, v)
	}
	t.commit()
	return nil
}
