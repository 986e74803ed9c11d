package log

import (
	"errors"
	"fmt"
	"math"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/record"
	"github.com/simkafka/simkafka/model/vfs"
)

// segment is a stretch of a log: one .log file and its indexes (LogSegment).
type segment struct {
	base kafka.Offset // of the first record, at most
	file vfs.File
	size int64 // of the batches; the file is longer if it was preallocated

	offsets offsetIndex
	times   timeIndex
	txns    *txnIndex // nil while no aborted transaction has its marker here

	// sinceIndex is the number of bytes appended since the last index entry. It
	// starts anew on load, recovery and truncation (storage trap 12).
	sinceIndex int32

	// trimmed: the segment was rolled and no flush has made the lengths of its indexes
	// durable since.
	trimmed      bool
	preallocated bool // bytes go to size, not to the end of the file
	rollTsKnown  bool
	maxTsKnown   bool

	// maxTs is the newest timestamp; until it is known, that of the last time index
	// entry.
	maxTs timestampOffset
	// rollTs is the timestamp that the age of the segment counts from; -1 means
	// created instead.
	rollTs   kafka.TimestampMs
	created  kafka.TimestampMs // wall clock when this object was made or emptied
	jitterMs int64
}

// maxRelativeOffset is the largest offset - base that the indexes can hold.
const maxRelativeOffset = math.MaxInt32

func (s *segment) fits(offset kafka.Offset) bool {
	return offset >= s.base && offset-s.base <= maxRelativeOffset
}

// createSegment makes the .log file of a new segment; the indexes come with the
// first use (storage 0).
func createSegment(p *place, base kafka.Offset, now kafka.TimestampMs, draw Jitter) (*segment, error) {
	f, err := p.fs.Create(filePath(p.dir, base, logSuffix))
	if err != nil {
		return nil, fmt.Errorf("log: create segment: %w", err)
	}
	s := &segment{
		base: base, file: f,
		created: now, jitterMs: p.cfg.rollJitterMs(draw, p.dir, base),
	}
	s.offsets.loaded, s.times.loaded = true, true
	if p.cfg.Preallocate {
		s.preallocated = true
		if err := f.Truncate(int64(p.cfg.SegmentBytes)); err != nil {
			return nil, fmt.Errorf("log: preallocate segment: %w", err)
		}
	}
	return s, nil
}

// openSegment opens the .log file of a segment that was there before.
func openSegment(p *place, base kafka.Offset, now kafka.TimestampMs, draw Jitter) (*segment, error) {
	f, err := p.fs.Open(filePath(p.dir, base, logSuffix))
	if err != nil {
		return nil, fmt.Errorf("log: open segment: %w", err)
	}
	if f.Size() > math.MaxInt32 {
		return nil, &CorruptError{File: f.Name(), Pos: f.Size(), Err: errBatchLength}
	}
	return &segment{
		base: base, file: f, size: f.Size(),
		created: now, jitterMs: p.cfg.rollJitterMs(draw, p.dir, base),
	}, nil
}

// loadIndexes reads both indexes, or makes the missing ones.
func (s *segment) loadIndexes(p *place) error {
	if err := s.offsets.load(p, s.base); err != nil {
		return err
	}
	return s.times.load(p, s.base)
}

// openIndexes makes sure that both files, and the transaction index if there is one,
// exist and have handles.
func (s *segment) openIndexes(p *place) error {
	if err := s.offsets.open(p, s.base); err != nil {
		return err
	}
	if s.txns != nil {
		if err := s.txns.open(p, s.base); err != nil {
			return err
		}
	}
	return s.times.open(p, s.base)
}

// closeIndexes lets go of the handles of indexes; entries stay in memory.
func (s *segment) closeIndexes() error {
	err := errors.Join(s.offsets.close(), s.times.close())
	if s.txns != nil {
		err = errors.Join(err, s.txns.close())
	}
	return err
}

// growIndexes gives both files their greatest length, as an active segment has.
func (s *segment) growIndexes(p *place) error {
	if err := s.openIndexes(p); err != nil {
		return err
	}
	if err := s.offsets.resize(maxBytes(p.cfg, offsetEntrySize)); err != nil {
		return err
	}
	return s.times.resize(maxBytes(p.cfg, timeEntrySize))
}

// loadMaxTs makes maxTs known (readMaxTimestampAndOffsetSoFar).
func (s *segment) loadMaxTs(p *place) error {
	if s.maxTsKnown {
		return nil
	}
	if err := s.times.load(p, s.base); err != nil {
		return err
	}
	s.maxTs, s.maxTsKnown = s.times.last(s.base), true
	return nil
}

// headSize is what a reader of a file must see to frame a batch (storage 7.3).
const headSize = 18

// header reads the header of the batch at pos and its size. At the end the header
// is nil: fewer than 18 bytes are left, or the batch would pass the end of the
// segment. The header has record.HeaderSize bytes, whatever the batch's size.
func (s *segment) header(pos int64) (record.Batch, int64, error) {
	left := s.size - pos
	if left < headSize {
		return nil, 0, nil
	}
	b, err := s.file.ReadAt(pos, int(min(left, record.HeaderSize)))
	if err != nil {
		return nil, 0, fmt.Errorf("log: read batch header: %w", err)
	}
	if int64(len(b)) < min(left, record.HeaderSize) {
		return nil, 0, fmt.Errorf("log: %s is shorter than its segment: %w", s.file.Name(), vfs.ErrIO)
	}
	size, err := record.PeekSize(b)
	if err != nil {
		return nil, 0, &CorruptError{File: s.file.Name(), Pos: pos, Err: err}
	}
	if int64(size) > left {
		return nil, 0, nil
	}
	if size < record.HeaderSize {
		return nil, 0, &CorruptError{File: s.file.Name(), Pos: pos, Err: errBatchLength}
	}
	return record.Batch(b), int64(size), nil
}

// location is where a batch is in a segment.
type location struct {
	pos    int64
	size   int64
	header record.Batch // nil if there is no such batch; then pos is the segment's end
}

// locate finds the first batch whose last offset is >= offset (translateOffset).
// from is a position at or before it, 0 if none is known.
func (s *segment) locate(p *place, offset kafka.Offset, from int64) (location, error) {
	if err := s.offsets.load(p, s.base); err != nil {
		return location{}, err
	}
	pos := max(from, s.offsets.lookup(s.base, offset))
	for {
		h, size, err := s.header(pos)
		if err != nil || h == nil {
			return location{pos: s.size}, err
		}
		if h.LastOffset() >= offset {
			return location{pos, size, h}, nil
		}
		pos += size
	}
}

// nextOffset is the offset after the segment's last batch, base if it has none
// (readNextOffset). It reads from the last index entry on.
func (s *segment) nextOffset(p *place) (kafka.Offset, error) {
	if err := s.offsets.load(p, s.base); err != nil {
		return 0, err
	}
	at, err := s.locate(p, s.offsets.lastOffset(s.base), 0)
	next := s.base
	for err == nil && at.header != nil {
		next = at.header.NextOffset()
		at.pos += at.size
		at.header, at.size, err = s.header(at.pos)
	}
	return next, err
}

// largestTimestamp is the newest timestamp, or the time of the file if no record
// has one.
func (s *segment) largestTimestamp(p *place) (kafka.TimestampMs, error) {
	if err := s.loadMaxTs(p); err != nil {
		return 0, err
	}
	if s.maxTs.timestamp >= 0 {
		return s.maxTs.timestamp, nil
	}
	info, err := p.fs.Stat(filePath(p.dir, s.base, logSuffix))
	if err != nil {
		return 0, fmt.Errorf("log: stat segment: %w", err)
	}
	return info.ModTime, nil
}
