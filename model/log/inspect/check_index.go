package inspect

import (
	"errors"
	"fmt"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/vfs"
)

// indexFile is what the checks of both indexes share.
type indexFile struct {
	table
	file string
	have bool  // an entry waits for its batch
	pos  int64 // of that entry
	n    int64 // entries read
	off  bool  // missing, or not to be read on
}

func (x *indexFile) close() error {
	if x.w == nil {
		return nil
	}
	return x.w.close()
}

func (c *segmentCheck) openIndexes() error {
	if err := c.openIndex(&c.offsets.indexFile, IndexKind, indexWidth); err != nil {
		return err
	}
	if err := c.openIndex(&c.times.indexFile, TimeIndexKind, timeIndexWidth); err != nil {
		return err
	}
	if err := c.openTxns(); err != nil {
		return err
	}
	if err := c.offsets.advance(c); err != nil {
		return err
	}
	return c.times.advance(c)
}

func (c *segmentCheck) openIndex(x *indexFile, kind Kind, width int) (err error) {
	x.file, x.width = c.path(fileName(c.base, kind)), width
	x.w, err = openWindow(c.FS, x.file)
	if errors.Is(err, vfs.ErrNotExist) {
		x.off = true
		c.missingIndex(x, kind)
		return nil
	}
	if err != nil {
		x.off = true
		return err
	}
	if rest := x.w.size % int64(width); rest != 0 {
		c.indexFinding(x, Warning, "index-length", x.w.size-rest, kafka.NoOffset,
			fmt.Sprintf("the length %d is not a multiple of %d", x.w.size, width), "the rest is ignored")
	}
	return nil
}

const madeAnew = "made anew, since the segment is recovered"

// missingIndex is no finding for a segment without batches: the indexes come with the
// first use.
func (c *segmentCheck) missingIndex(x *indexFile, kind Kind) {
	if c.size == 0 {
		return
	}
	at := "the segment is recovered, as after an unclean stop: its indexes are made anew"
	if kind == TimeIndexKind {
		if at = "an empty one is made: lookups by time read the segment from its beginning"; c.recovered() {
			at = madeAnew
		}
	}
	c.sink.add(&Finding{Severity: Warning, Kind: "index-missing", File: x.file, Pos: wholePos, Offset: c.base,
		What: "the file is missing", AtStart: at, Lost: nothing})
}

func (c *segmentCheck) indexFinding(x *indexFile, s Severity, kind string, pos int64, offset kafka.Offset, what, harm string) {
	f := &Finding{Severity: s, Kind: kind, File: x.file, Pos: pos, Offset: offset, What: what, AtStart: asItIs, Lost: nothing}
	if c.recovered() {
		f.AtStart = madeAnew
		if s == Error {
			f.Severity = Warning
		}
	} else {
		f.AtStart += "; " + harm
	}
	c.sink.add(f)
}

// read is the next entry's bytes; nil at the end. zero tells an entry that may never
// have been written.
func (x *indexFile) read(c *segmentCheck, zero func([]byte) bool) ([]byte, error) {
	if x.off {
		return nil, nil
	}
	b, pos, err := x.next()
	if b == nil || err != nil {
		x.off = true
		return nil, err
	}
	if zero(b) {
		zeros, _, err := x.w.zerosFrom(pos)
		if err != nil {
			return nil, err
		}
		if zeros {
			x.off = true
			c.preallocated(x, pos)
			return nil, nil
		}
	}
	x.pos, x.have = pos, true
	x.n++
	return b, nil
}

// preallocated is an index that still has the length of an active segment's.
func (c *segmentCheck) preallocated(x *indexFile, pos int64) {
	what := fmt.Sprintf("%d entries, then %d zeros: the length of an active segment", x.n, x.w.size-pos)
	switch {
	case c.recovered():
		c.indexFinding(x, Info, "index-preallocated", pos, kafka.NoOffset, what, "")
	case c.last && c.clean:
		c.indexFinding(x, Error, "index-preallocated", pos, kafka.NoOffset, what+", after a clean stop (KAFKA-20979)",
			"the zeros are taken for entries: lookups go wrong, the next append fails")
	default:
		c.indexFinding(x, Error, "index-preallocated", pos, kafka.NoOffset, what, "the zeros are taken for entries: lookups go wrong")
	}
}

func (x *indexFile) stop(c *segmentCheck, s Severity, kind string, offset kafka.Offset, what, harm string) {
	c.indexFinding(x, s, kind, x.pos, offset, what, harm)
	x.off, x.have = true, false
}

// indexCheck compares an offset index with the batches (storage 3.1, 3.2).
type indexCheck struct {
	indexFile
	entry   IndexEntry
	pending kafka.Offset // must be the last offset of a batch to come; 0 is none
	pendPos int64
}

func indexIsZero(b []byte) bool { return i32(b, 0) == 0 && i32(b, 4) == 0 }

func (x *indexCheck) advance(c *segmentCheck) error {
	before, had := x.entry, x.n > 0
	x.have = false
	b, err := x.read(c, indexIsZero)
	if b == nil || err != nil {
		return err
	}
	x.entry = indexEntry(c.base, b)
	e := x.entry
	switch {
	case e.Offset < c.base || e.Position < 0:
		x.stop(c, Error, "index-range", e.Offset, fmt.Sprintf("offset %d at position %d: a number is negative", e.Offset-c.base, e.Position), "lookups go wrong")
	case had && (e.Offset <= before.Offset || e.Position <= before.Position):
		x.stop(c, Error, "index-order", e.Offset, fmt.Sprintf("offset %d at position %d follows offset %d at position %d",
			e.Offset, e.Position, before.Offset, before.Position), "lookups go wrong")
	case int64(e.Position) >= c.size:
		x.stop(c, Error, "index-range", e.Offset, fmt.Sprintf("position %d is not in the log of %d bytes", e.Position, c.size), "lookups find nothing")
	}
	return nil
}

func (x *indexCheck) batch(c *segmentCheck, b *batch) error {
	for x.have && int64(x.entry.Position) < b.pos {
		c.indexFinding(&x.indexFile, Error, "index-target", x.pos, x.entry.Offset,
			fmt.Sprintf("position %d is inside of a batch", x.entry.Position), "fetches that begin there fail")
		if err := x.advance(c); err != nil {
			return err
		}
	}
	last := b.LastOffset()
	if x.pending != 0 && last >= x.pending {
		if last != x.pending {
			c.indexFinding(&x.indexFile, Warning, "index-offset", x.pendPos, x.pending,
				fmt.Sprintf("offset %d is not the last of a batch", x.pending), "harmless")
		}
		x.pending = 0
	}
	if !x.have || int64(x.entry.Position) != b.pos {
		return nil
	}
	switch o := x.entry.Offset; {
	case o <= c.before:
		c.indexFinding(&x.indexFile, Error, "index-target", x.pos, o,
			fmt.Sprintf("offset %d is said to be at position %d, where offset %d begins", o, b.pos, b.BaseOffset()), "fetches of it skip records")
	case b.crcOK && o < last:
		c.indexFinding(&x.indexFile, Warning, "index-offset", x.pos, o, fmt.Sprintf("offset %d is not the last of the batch at position %d", o, b.pos), "harmless")
	case o > last: // one entry for a whole append, as brokers before KAFKA-806 made
		x.pending, x.pendPos = o, x.pos
	}
	return x.advance(c)
}

func (x *indexCheck) finish(c *segmentCheck) {
	if x.have {
		c.indexFinding(&x.indexFile, Error, "index-range", x.pos, x.entry.Offset,
			fmt.Sprintf("position %d is behind the last batch", x.entry.Position), "lookups find nothing")
	}
	if x.pending != 0 && x.pending > c.before {
		c.indexFinding(&x.indexFile, Error, "index-range", x.pendPos, x.pending,
			fmt.Sprintf("offset %d is behind the segment's last offset %d", x.pending, c.before), "lookups go wrong")
	}
}

// timeCheck compares a time index with the batches.
type timeCheck struct {
	indexFile
	entry TimeIndexEntry
	max   kafka.TimestampMs // of the batches before; -1 at first
	begun bool
}

func timeIsZero(b []byte) bool { return i64(b, 0) == 0 && i32(b, 8) == 0 }

func (x *timeCheck) advance(c *segmentCheck) error {
	before, had := x.entry, x.n > 0
	x.have = false
	b, err := x.read(c, timeIsZero)
	if b == nil || err != nil {
		return err
	}
	x.entry = timeIndexEntry(c.base, b)
	e := x.entry
	switch {
	case e.Offset < c.base:
		x.stop(c, Error, "time-range", e.Offset, fmt.Sprintf("offset %d is before the segment's base", e.Offset), "lookups by time go wrong")
	case had && (e.Timestamp <= before.Timestamp || e.Offset < before.Offset):
		x.stop(c, Error, "time-order", e.Offset, fmt.Sprintf("timestamp %d at offset %d follows timestamp %d at offset %d",
			e.Timestamp, e.Offset, before.Timestamp, before.Offset), "lookups by time go wrong")
	}
	return nil
}

func (x *timeCheck) batch(c *segmentCheck, b *batch) error {
	if !x.begun {
		x.max, x.begun = kafka.NoTimestamp, true
	}
	if !b.crcOK {
		x.off = true // what its timestamps are nobody knows
		x.have = false
	}
	for x.have && x.entry.Offset <= b.LastOffset() {
		e := x.entry
		switch {
		case x.max > e.Timestamp:
			c.indexFinding(&x.indexFile, Error, "time-target", x.pos, e.Offset,
				fmt.Sprintf("nothing up to offset %d should be newer than %d; a batch before it is of %d", e.Offset, e.Timestamp, x.max),
				"lookups by time skip records")
		case b.MaxTimestamp() != e.Timestamp && e.Offset >= b.BaseOffset():
			c.indexFinding(&x.indexFile, Error, "time-target", x.pos, e.Offset,
				fmt.Sprintf("timestamp %d is said to be at offset %d, whose batch is of %d", e.Timestamp, e.Offset, b.MaxTimestamp()),
				"lookups by time go wrong")
		}
		if err := x.advance(c); err != nil {
			return err
		}
	}
	x.max = max(x.max, b.MaxTimestamp())
	return nil
}

func (x *timeCheck) finish(c *segmentCheck) {
	if x.have {
		c.indexFinding(&x.indexFile, Error, "time-range", x.pos, x.entry.Offset,
			fmt.Sprintf("offset %d is behind the segment's last offset %d", x.entry.Offset, c.before), "lookups by time go wrong")
		return
	}
	if !c.last && x.w != nil && x.begun && c.scan.tail.size == 0 && !x.broken() && x.max > x.lastTimestamp() {
		c.indexFinding(&x.indexFile, Warning, "time-closing", x.w.size, c.before,
			fmt.Sprintf("the newest timestamp is %d, the index ends with %d", x.max, x.lastTimestamp()),
			"lookups by time and retention take the segment for older than it is")
	}
}

// broken tells that reading ended before the end of the file.
func (x *timeCheck) broken() bool { return x.fragment() >= timeIndexWidth }

func (x *timeCheck) lastTimestamp() kafka.TimestampMs {
	if x.n == 0 {
		return kafka.NoTimestamp
	}
	return x.entry.Timestamp
}

func (c *segmentCheck) finishIndexes() error {
	c.offsets.finish(c)
	c.times.finish(c)
	return c.txns.finish(c)
}
