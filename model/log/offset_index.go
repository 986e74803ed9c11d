package log

import (
	"encoding/binary"

	"github.com/simkafka/simkafka/model/kafka"
)

const offsetEntrySize = 8

// offsetIndex maps offsets to positions in the segment's log file. An entry
// holds the last offset of an append and the position where the append begins
// (storage 3.2). Invariant: offsets strictly increase.
type offsetIndex struct{ indexFile }

func offsetColumn() column   { return column{width: offsetEntrySize, at: 0} }
func positionColumn() column { return column{width: offsetEntrySize, at: 4} }

func (x *offsetIndex) open(p *place, base kafka.Offset) error {
	return x.indexFile.open(p, base, indexSuffix, offsetEntrySize)
}

func (x *offsetIndex) load(p *place, base kafka.Offset) error {
	return x.indexFile.load(p, base, indexSuffix, offsetEntrySize)
}

func (x *offsetIndex) count() int { return len(x.entries) / offsetEntrySize }

// isFull tells that the segment must roll (storage 2.2 c).
func (x *offsetIndex) isFull(cfg *Config) bool {
	return x.count() >= int(cfg.SegmentIndexBytes/offsetEntrySize)
}

// lastOffset is the offset of the last entry, base if there is none.
func (x *offsetIndex) lastOffset(base kafka.Offset) kafka.Offset {
	n := x.count()
	if n == 0 {
		return base
	}
	return base + kafka.Offset(x.entries.key(n-1, offsetColumn()))
}

// lookup is the position of the entry with the largest offset <= target, 0 if
// there is none.
func (x *offsetIndex) lookup(base, target kafka.Offset) int64 {
	i := x.entries.floorOffset(int64(target - base))
	if i < 0 {
		return 0
	}
	return x.entries.key(i, positionColumn())
}

// cachedEntries is how many entries the processor is likely to have in its cache when
// they are searched often.
const cachedEntries = 64 << 10

// floorOffset is floor of an offset index, whose keys strictly increase. It looks at the
// same entries, but among few a step does not wait for a wrong guess of the comparison.
// Among many the guess is worth more: it loads the next entry early.
func (t entryTable) floorOffset(target int64) int {
	n := len(t) / offsetEntrySize
	if n == 0 {
		return -1
	}
	lo, hi := 0, n-1
	if t.relativeOffset(hi) <= target { // most readers are at the end
		return hi
	}
	if firstHot := max(0, n-1-warmBytes/offsetEntrySize); t.relativeOffset(firstHot) < target {
		lo = firstHot
	} else if hi = firstHot; t.relativeOffset(0) > target {
		return -1
	}
	if hi-lo > cachedEntries {
		return t.floorBetween(lo, hi, target, offsetColumn())
	}
	for lo < hi {
		mid := int(uint(lo+hi+1) >> 1)
		above := int((target - t.relativeOffset(mid)) >> 63) // -1 if the entry is, else 0
		hi += (mid - 1 - hi) & above
		lo += (mid - lo) &^ above
	}
	return lo
}

func (t entryTable) relativeOffset(i int) int64 {
	at := i * offsetEntrySize
	return int64(int32(binary.BigEndian.Uint32(t[at : at+4])))
}

// append adds an entry. offset is representable relative to base.
func (x *offsetIndex) append(p *place, base, offset kafka.Offset, pos int64) error {
	if err := x.open(p, base); err != nil {
		return err
	}
	if x.isFull(p.cfg) {
		return &CorruptError{File: x.file.Name(), Pos: int64(len(x.entries)), Err: errIndexFull}
	}
	if x.count() > 0 && offset <= x.lastOffset(base) {
		return &CorruptError{File: x.file.Name(), Pos: int64(len(x.entries)), Err: errInvalidOffset}
	}
	x.room(offsetEntrySize)
	x.entries = binary.BigEndian.AppendUint32(x.entries, uint32(offset-base))
	x.entries = binary.BigEndian.AppendUint32(x.entries, uint32(pos))
	return x.write(offsetEntrySize)
}

// truncateTo drops the entries of offsets >= offset.
func (x *offsetIndex) truncateTo(base, offset kafka.Offset) {
	x.cut(offsetEntrySize * x.entries.keep(int64(offset-base), offsetColumn()))
}

// keep is how many entries have a key below target, by way of floor as Kafka
// does it: of equal keys those before the one found stay.
func (t entryTable) keep(target int64, c column) int {
	i := t.floor(target, c)
	if i >= 0 && t.key(i, c) != target {
		i++
	}
	return max(i, 0)
}

// upperBound is the offset of the first entry whose position is >= pos
// (fetchUpperBoundOffset, storage 3.3).
func (x *offsetIndex) upperBound(base kafka.Offset, pos int64) (kafka.Offset, bool) {
	i := x.entries.floor(pos, positionColumn())
	if i < 0 || x.entries.key(i, positionColumn()) != pos {
		i++
	}
	if i >= x.count() {
		return 0, false
	}
	return base + kafka.Offset(x.entries.key(i, offsetColumn())), true
}
