package log

import (
	"fmt"
	"math"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/quirk"
	"github.com/simkafka/simkafka/model/record"
)

// span is one append: whole batches in offset order.
type span struct {
	buf record.Batch // the first batch's header leads it
	record.Bounds
	hasProducer bool // a batch has a producer id
}

func spanOf(b record.Batch) span {
	return span{buf: b, Bounds: record.Bounds{
		Size: len(b), Batches: 1,
		FirstOffset: b.BaseOffset(), LastOffset: b.LastOffset(), LastEpoch: b.PartitionLeaderEpoch(),
		MaxTimestamp: b.MaxTimestamp(), OffsetOfMaxTimestamp: b.LastOffset(),
	}}
}

// shouldRoll reports whether a new segment must begin before a is appended
// (storage 2.2).
func (s *segment) shouldRoll(p *place, a *span, now kafka.TimestampMs) (bool, error) {
	if err := s.loadIndexes(p); err != nil {
		return false, err
	}
	if err := s.openIndexes(p); err != nil {
		return false, err
	}
	if s.size > 0 && s.size > int64(p.cfg.SegmentBytes)-int64(a.Size) ||
		s.offsets.isFull(p.cfg) || s.times.isFull(p.cfg) || !s.fits(a.LastOffset) {
		return true, nil
	}
	if s.size == 0 {
		return false, nil
	}
	waited, err := s.waited(a.MaxTimestamp, now)
	return waited > p.cfg.maxSegmentMs()-s.jitterMs, err
}

// waited is how long the segment has waited to be rolled, in ms: by the records'
// own time if its first batch has one, else by the wall clock (storage trap 18, 19).
func (s *segment) waited(newest, now kafka.TimestampMs) (int64, error) {
	if !s.rollTsKnown {
		h, _, err := s.header(0)
		if err != nil {
			return 0, err
		}
		if h == nil {
			return int64(now - s.created), nil
		}
		s.rollTs, s.rollTsKnown = h.MaxTimestamp(), true
	}
	if s.rollTs >= 0 {
		return int64(newest - s.rollTs), nil
	}
	return int64(now - s.created), nil
}

// append writes a at the end and then offers its batches to the indexes (storage
// 2.1). On an error of the write size is as before.
func (s *segment) append(p *place, a *span) error {
	if int64(a.Size) > math.MaxInt32-s.size || !s.fits(a.LastOffset) {
		return &CorruptError{File: s.file.Name(), Pos: s.size, Err: errOffsetOverflow}
	}
	pos := s.size
	if pos == 0 {
		s.rollTs, s.rollTsKnown = a.MaxTimestamp, true
		if p.cfg.IndexPerBatch {
			s.rollTs = a.buf.MaxTimestamp()
		}
		// The check of the offset makes the offset index.
		if err := s.offsets.open(p, s.base); err != nil {
			return err
		}
	}
	if err := s.loadMaxTs(p); err != nil {
		return err
	}
	if err := s.write(a.buf); err != nil {
		return fmt.Errorf("log: append: %w", err)
	}
	if pos == 0 {
		// The question for the newest timestamp so far makes the time index.
		if err := s.times.open(p, s.base); err != nil {
			return err
		}
	}
	s.size += int64(a.Size)
	if a.Batches > 1 && p.cfg.IndexPerBatch {
		return s.noteEach(p, a.buf, pos)
	}
	return s.note(p, pos, int32(a.Size), a.LastOffset, timestampOffset{a.MaxTimestamp, a.OffsetOfMaxTimestamp})
}

func (s *segment) write(b []byte) error {
	if s.preallocated {
		return s.file.WriteAt(s.size, b)
	}
	return s.file.Append(b)
}

func (s *segment) noteEach(p *place, buf []byte, pos int64) error {
	for len(buf) > 0 {
		b := nextOf(&buf)
		if err := s.note(p, pos, int32(len(b)), b.LastOffset(), timestampOffset{b.MaxTimestamp(), b.LastOffset()}); err != nil {
			return err
		}
		pos += int64(len(b))
	}
	return nil
}

// note follows size bytes that were written at pos: newest timestamp and index
// rule (storage 3.2).
func (s *segment) note(p *place, pos int64, size int32, last kafka.Offset, newest timestampOffset) error {
	if newest.timestamp > s.maxTs.timestamp {
		s.maxTs = newest
	}
	if s.sinceIndex > p.cfg.IndexIntervalBytes {
		if err := s.index(p, last, pos); err != nil {
			return err
		}
		s.sinceIndex = 0
	}
	s.sinceIndex += size
	return nil
}

// index adds an entry to both indexes.
func (s *segment) index(p *place, last kafka.Offset, pos int64) error {
	if err := s.offsets.load(p, s.base); err != nil {
		return err
	}
	if err := s.offsets.append(p, s.base, last, pos); err != nil {
		return err
	}
	return s.times.maybeAppend(p, s.base, s.maxTs, false)
}

// deactivate ends the segment's time as the active one (onBecomeInactiveSegment):
// closing time index entry, all files cut to what they hold.
func (s *segment) deactivate(p *place) error {
	if err := s.loadIndexes(p); err != nil {
		return err
	}
	if err := s.loadMaxTs(p); err != nil {
		return err
	}
	if err := s.closeTimes(p); err != nil {
		return err
	}
	if err := s.offsets.open(p, s.base); err != nil {
		return err
	}
	if err := s.offsets.trim(); err != nil {
		return err
	}
	s.trimmed = true
	return s.trimLog()
}

// closeTimes writes the closing time index entry, which tells the segment's newest
// timestamp without reading it, and trims the time index.
func (s *segment) closeTimes(p *place) error {
	if err := s.times.maybeAppend(p, s.base, s.maxTs, true); err != nil {
		return err
	}
	if p.cfg.Quirks.Has(quirk.TimeIndexUntrimmed) {
		return s.times.resize(int64(len(s.times.entries)) + timeEntrySize)
	}
	return s.times.trim()
}

func (s *segment) trimLog() error {
	s.preallocated = false
	if s.file.Size() == s.size {
		return nil
	}
	if err := s.file.Truncate(s.size); err != nil {
		return fmt.Errorf("log: trim segment: %w", err)
	}
	return nil
}
