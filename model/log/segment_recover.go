package log

import (
	"errors"
	"fmt"

	"github.com/simkafka/simkafka/model/record"
	"github.com/simkafka/simkafka/model/vfs"
)

const (
	// recoveryRead is what recovery reads at once where batches are small.
	recoveryRead = 256 << 10
	// largeBatch in bytes and above, a batch is read alone: a file system that keeps
	// what was written together then copies nothing.
	largeBatch = 8 << 10
	// recoveryStep bounds the bytes that one step of a recovery reads.
	recoveryStep = 1 << 20
)

// recovery is the scan of one segment after an unclean stop (LogSegment.recover,
// storage 7.3): it rebuilds the indexes and ends the segment at the first batch
// that is torn or corrupt. It goes on over several steps.
type recovery struct {
	seg *segment
	// producers stands at the segment's beginning first. It is not the log's, which
	// is made when all segments are recovered.
	producers producerState
	// Invariant: everything before pos is valid and indexed.
	pos     int64
	indexed int64  // position of the last index entry, 0 before the first
	chunk   []byte // of the file, from pos on
	buffer  []byte // memory of chunk, where the file can read into it
}

// beginRecovery empties the indexes of s. producers is the state at its beginning.
func beginRecovery(p *place, s *segment, producers producerState) (recovery, error) {
	if err := s.openIndexes(p); err != nil {
		return recovery{}, err
	}
	s.offsets.clear()
	s.times.clear()
	s.maxTs, s.maxTsKnown = s.times.last(s.base), true
	if s.txns != nil {
		if err := s.txns.cut(p, s.base, 0); err != nil {
			return recovery{}, err
		}
	}
	return recovery{seg: s, producers: producers}, s.growIndexes(p)
}

// step reads on. done tells that the segment is recovered; cut is then the number
// of bytes that were not valid. Epochs above the latest of epochs are entered.
func (r *recovery) step(p *place, epochs *epochCache) (done bool, cut int64, err error) {
	for end := r.pos + recoveryStep; r.pos < end; {
		b, err := r.next()
		if err != nil {
			return false, 0, err
		}
		if b != nil {
			err = r.accept(p, b, epochs)
		}
		// A marker that cannot be read ends the log behind it.
		if unreadable := (*record.InvalidRecordError)(nil); b == nil || errors.As(err, &unreadable) {
			cut, err = r.finish(p)
			return true, cut, err
		}
		if err != nil {
			return false, 0, err
		}
	}
	return false, 0, nil
}

// next is the batch at pos; nil if there is no valid one.
func (r *recovery) next() (record.Batch, error) {
	left := r.seg.size - r.pos
	if left < headSize {
		return nil, nil
	}
	want := headSize
	_, copies := r.seg.file.(vfs.Copier)
	if copies {
		want = int(min(recoveryRead, left))
	}
	if err := r.fill(headSize, want); err != nil {
		return nil, err
	}
	size, err := record.PeekSize(r.chunk)
	if err != nil || int64(size) > left {
		return nil, nil
	}
	want = size
	if size < largeBatch || copies {
		want = int(min(int64(max(recoveryRead, size)), left))
	}
	if err := r.fill(size, want); err != nil {
		return nil, err
	}
	b := record.Batch(r.chunk[:size:size])
	if b.Check() != nil {
		return nil, nil
	}
	return b, nil
}

// fill makes chunk hold at least n bytes, reading want.
func (r *recovery) fill(n, want int) error {
	if len(r.chunk) >= n {
		return nil
	}
	b, err := r.read(want)
	if err != nil {
		return fmt.Errorf("log: recover %s: %w", r.seg.file.Name(), err)
	}
	if len(b) < n {
		return &CorruptError{File: r.seg.file.Name(), Pos: r.pos + int64(len(b)), Err: errShortFile}
	}
	r.chunk = b
	return nil
}

// read is what the file has at pos, of n bytes. It stays until the next read.
func (r *recovery) read(n int) ([]byte, error) {
	f, ok := r.seg.file.(vfs.Copier)
	if !ok {
		return r.seg.file.ReadAt(r.pos, n)
	}
	if cap(r.buffer) < n {
		r.buffer = make([]byte, n)
	}
	n, err := f.ReadInto(r.pos, r.buffer[:n])
	return r.buffer[:n], err
}

func (r *recovery) accept(p *place, b record.Batch, epochs *epochCache) error {
	s, last := r.seg, b.LastOffset()
	if !s.fits(last) {
		return &CorruptError{File: s.file.Name(), Pos: r.pos, Err: errOffsetOverflow}
	}
	if ts := b.MaxTimestamp(); ts > s.maxTs.timestamp {
		s.maxTs = timestampOffset{ts, last}
	}
	if r.pos-r.indexed > int64(p.cfg.IndexIntervalBytes) {
		if err := s.index(p, last, r.pos); err != nil {
			return err
		}
		r.indexed = r.pos
	}
	r.pos += int64(len(b))
	r.chunk = r.chunk[len(b):]
	if epoch := b.PartitionLeaderEpoch(); epoch > epochs.latest() && b.BaseOffset() >= 0 {
		epochs.assign(epoch, b.BaseOffset())
		if err := epochs.write(p); err != nil {
			return err
		}
	}
	if b.HasProducerID() {
		if err := r.noteProducer(p, b); err != nil {
			return err
		}
	}
	r.producers.mapEnd = last + 1
	return nil
}

// noteProducer applies a batch to the producers, and enters the transaction that it
// aborts anew.
func (r *recovery) noteProducer(p *place, b record.Batch) error {
	t := r.producers.ensure()
	if err := t.replicate(b); err != nil {
		return err
	}
	for i := range t.completed {
		c := &t.completed[i]
		if c.aborted {
			if err := r.seg.noteAborted(p, c, t.lastStableAfter(c)); err != nil {
				return err
			}
		}
		t.complete(c)
	}
	return nil
}

// finish cuts the segment to what is valid and closes its indexes.
func (r *recovery) finish(p *place) (cut int64, err error) {
	s := r.seg
	cut = s.size - r.pos
	if err := s.cutLog(r.pos, s.created); err != nil {
		return 0, err
	}
	if err := s.offsets.trim(); err != nil {
		return 0, err
	}
	return cut, s.closeTimes(p)
}

// isInvalidOffset tells an index that cannot be built from other failures.
func isInvalidOffset(err error) bool { return errors.Is(err, errInvalidOffset) }
