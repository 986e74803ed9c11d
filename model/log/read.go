package log

import (
	"fmt"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/record"
	"github.com/simkafka/simkafka/model/vfs"
)

// Bound is the exclusive offset up to which a read may see: the log's end, the
// high watermark or the last stable offset (storage 6.2).
type Bound = kafka.Offset

// ReadInfo is what a read found.
type ReadInfo struct {
	// Records begin with a whole batch header, at or before the offset asked for,
	// and may end inside a batch. They are immutable. Nil if there is nothing.
	Records []byte
	// Base is the base offset of the first batch, -1 if there is none.
	Base kafka.Offset
	// FirstIncomplete tells that the limit cut the first batch.
	FirstIncomplete bool

	// Where the bytes are, for those who send them without reading. The range of
	// the file stays as it is until the log is truncated. File is nil if there is
	// nothing to read.
	File    vfs.File
	Segment kafka.Offset // base offset
	Pos     int64
	Size    int
}

// Read reads from the batch that holds start on, up to maxBytes and not beyond
// upper; with minOne the first batch comes whole, however large. An offset before
// the log start or after the log end is an *OffsetOutOfRangeError; between upper
// and the log end the answer is empty. The bytes alias the file's where the file
// system can do so.
func (l *Log) Read(start kafka.Offset, maxBytes int, upper Bound, minOne bool) (ReadInfo, error) {
	info, err := l.ReadSlice(start, maxBytes, upper, minOne)
	if err != nil || info.Size == 0 {
		return info, err
	}
	if f, lends := info.File.(vfs.Lender); lends {
		info.Records, err = f.ReadToSend(info.Pos, info.Size)
	} else {
		info.Records, err = info.File.ReadAt(info.Pos, info.Size)
	}
	if err != nil {
		return info, l.failRead(fmt.Errorf("log: read %s: %w", info.File.Name(), err))
	}
	return info, nil
}

// ReadSlice is Read without reading the records.
func (l *Log) ReadSlice(start kafka.Offset, maxBytes int, upper Bound, minOne bool) (ReadInfo, error) {
	empty := ReadInfo{Base: kafka.NoOffset, Segment: kafka.NoOffset}
	if err := l.usable(); err != nil {
		return empty, err
	}
	if start < l.logStart || start > l.leo {
		return empty, &OffsetOutOfRangeError{start, l.logStart, l.leo}
	}
	if start >= upper {
		return empty, nil
	}
	end, known, err := l.position(upper)
	if err != nil || !known {
		// A bound that cannot be placed hides everything (storage trap 52).
		return empty, err
	}
	at, i, err := l.locate(start)
	if err != nil || at.header == nil {
		return empty, err
	}
	return l.slice(at, l.segments[i], end, maxBytes, minOne), nil
}

// LookupPosition is what the offset index says of an offset of the log: the search for
// its batch begins at pos in the segment.
func (l *Log) LookupPosition(o kafka.Offset) (segment kafka.Offset, pos int64, err error) {
	if err := l.usable(); err != nil {
		return 0, 0, err
	}
	if o < l.logStart || o >= l.leo {
		return 0, 0, &OffsetOutOfRangeError{o, l.logStart, l.leo}
	}
	s := l.segments[l.floorIndex(o)]
	if err := s.offsets.load(&l.place, s.base); err != nil {
		return 0, 0, l.fail(err)
	}
	return s.base, s.offsets.lookup(s.base, o), nil
}

// slice limits what may be read from at on.
func (l *Log) slice(at location, s *segment, end hint, maxBytes int, minOne bool) ReadInfo {
	limit := int64(max(0, maxBytes))
	if minOne {
		limit = max(limit, at.size)
	}
	info := ReadInfo{
		Base: kafka.NoOffset, Segment: s.base, Pos: at.pos,
		FirstIncomplete: limit > 0 && limit < at.size,
	}
	last := s.size
	switch {
	case s.base > end.base:
		last = at.pos
	case s.base == end.base:
		last = end.pos
	}
	info.Size = int(max(0, min(last-at.pos, limit)))
	if info.Size > 0 {
		info.File = s.file
		info.Base = at.header.BaseOffset()
	}
	return info
}

// locate finds the batch that holds start or the first after it, over all
// segments. i is its segment's index; without such a batch the location has no
// header.
func (l *Log) locate(start kafka.Offset) (at location, i int, err error) {
	i = max(0, l.floorIndex(start))
	from := int64(0)
	if h, found := l.hints.find(start); found && h.base == l.segments[i].base {
		from = h.pos
	}
	for ; i < len(l.segments); i++ {
		at, err = l.segments[i].locate(&l.place, start, from)
		if err != nil {
			return at, i, l.failRead(err)
		}
		if at.header != nil {
			return at, i, nil
		}
		from = 0
	}
	return at, i - 1, nil
}

// position places an offset: everything below it lies before the position. known
// is false for an offset outside of the log.
func (l *Log) position(o kafka.Offset) (h hint, known bool, err error) {
	if o == l.leo {
		return hint{o, l.active().base, l.active().size}, true, nil
	}
	if o < l.logStart || o > l.leo {
		return hint{}, false, nil
	}
	if h, found := l.hints.find(o); found {
		return h, true, nil
	}
	at, i, err := l.locate(o)
	if err != nil {
		return hint{}, false, err
	}
	h = hint{o, l.segments[i].base, at.pos}
	l.hints.add(h.offset, h.base, h.pos)
	return h, true, nil
}

// AvailableBytes is how many bytes a fetch from from, bounded by upper, could
// read, for a fetch that waits (DelayedFetch, cluster L-20). olderSegment tells to
// answer at once: one of the two offsets is on an older segment than the other, or
// cannot be placed, which the read will explain. Equal offsets have 0 bytes; so
// has an upper below from in the same segment.
func (l *Log) AvailableBytes(from, upper kafka.Offset) (bytes int64, olderSegment bool) {
	if from == upper {
		return 0, false
	}
	start, startKnown, err := l.position(from)
	if err != nil {
		return 0, true
	}
	end, endKnown, err := l.position(upper)
	if err != nil || !startKnown || !endKnown || start.base != end.base {
		return 0, true
	}
	return max(0, end.pos-start.pos), false
}

// Batches walks the whole batches from the one that holds from on, until fn
// returns false. A batch stays valid after the walk.
func (l *Log) Batches(from kafka.Offset, fn func(record.Batch) bool) error {
	at, i, err := l.locate(from)
	for err == nil && i < len(l.segments) {
		s := l.segments[i]
		if at.header == nil {
			i++
			if i < len(l.segments) {
				at, err = l.segments[i].at(0)
			}
			continue
		}
		b, readErr := s.file.ReadAt(at.pos, int(at.size))
		if readErr != nil {
			return l.failRead(fmt.Errorf("log: read %s: %w", s.file.Name(), readErr))
		}
		if !fn(record.Batch(b)) {
			return nil
		}
		at, err = s.at(at.pos + at.size)
	}
	return err
}

// at is the batch at pos.
func (s *segment) at(pos int64) (location, error) {
	h, size, err := s.header(pos)
	return location{pos, size, h}, err
}
