package log

import (
	"encoding/binary"

	"github.com/simkafka/simkafka/model/kafka"
)

const timeEntrySize = 12

// timeIndex maps timestamps to offsets: an entry says that no record up to its
// offset is newer than its timestamp. Invariant: timestamps strictly increase,
// offsets do not decrease.
type timeIndex struct{ indexFile }

func timestampColumn() column  { return column{width: timeEntrySize, at: 0, wide: true} }
func timeOffsetColumn() column { return column{width: timeEntrySize, at: 8} }

func (x *timeIndex) open(p *place, base kafka.Offset) error {
	return x.indexFile.open(p, base, timeIndexSuffix, timeEntrySize)
}

func (x *timeIndex) load(p *place, base kafka.Offset) error {
	return x.indexFile.load(p, base, timeIndexSuffix, timeEntrySize)
}

func (x *timeIndex) count() int { return len(x.entries) / timeEntrySize }

// isFull keeps one slot free for the entry that closes the segment (storage trap 15).
func (x *timeIndex) isFull(cfg *Config) bool {
	return x.count() >= int(cfg.SegmentIndexBytes/timeEntrySize)-1
}

// entry i, which is -1 for "before the first": (-1, base).
func (x *timeIndex) entry(base kafka.Offset, i int) timestampOffset {
	if i < 0 {
		return timestampOffset{kafka.NoTimestamp, base}
	}
	return timestampOffset{
		timestamp: kafka.TimestampMs(x.entries.key(i, timestampColumn())),
		offset:    base + kafka.Offset(x.entries.key(i, timeOffsetColumn())),
	}
}

func (x *timeIndex) last(base kafka.Offset) timestampOffset { return x.entry(base, x.count()-1) }

// lookup is the offset of the entry with the largest timestamp <= target, base if
// there is none.
func (x *timeIndex) lookup(base kafka.Offset, target kafka.TimestampMs) kafka.Offset {
	return x.entry(base, x.entries.floor(int64(target), timestampColumn())).offset
}

// maybeAppend adds an entry if to is newer than the last one. closing is the entry
// that ends a segment's life: it may take the reserved slot (storage 3.2).
func (x *timeIndex) maybeAppend(p *place, base kafka.Offset, to timestampOffset, closing bool) error {
	if err := x.open(p, base); err != nil {
		return err
	}
	if !closing && x.isFull(p.cfg) {
		return &CorruptError{File: x.file.Name(), Pos: int64(len(x.entries)), Err: errIndexFull}
	}
	last := x.last(base)
	if x.count() > 0 && (to.offset < last.offset || to.timestamp < last.timestamp) {
		return &CorruptError{File: x.file.Name(), Pos: int64(len(x.entries)), Err: errInvalidOffset}
	}
	if to.timestamp <= last.timestamp {
		return nil
	}
	x.room(timeEntrySize)
	x.entries = binary.BigEndian.AppendUint64(x.entries, uint64(to.timestamp))
	x.entries = binary.BigEndian.AppendUint32(x.entries, uint32(to.offset-base))
	return x.write(timeEntrySize)
}

// truncateTo drops the entries of offsets >= offset.
func (x *timeIndex) truncateTo(base, offset kafka.Offset) {
	x.cut(timeEntrySize * x.entries.keep(int64(offset-base), timeOffsetColumn()))
}

// timestampOffset is a timestamp and the last offset of the earliest batch that
// has it as its maximum.
type timestampOffset struct {
	timestamp kafka.TimestampMs
	offset    kafka.Offset
}
