package inspect

import (
	"errors"
	"fmt"
	"math"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/record"
)

// segmentCheck walks one segment: its .log once, the indexes beside it.
type segmentCheck struct {
	*partitionCheck
	base    kafka.Offset
	next    kafka.Offset // base of the next segment; the largest offset for the last
	last    bool
	file    string // path of the .log
	scan    *scanner
	offsets indexCheck
	times   timeCheck
	txns    txnCheck
	before  kafka.Offset // last offset of the batch before, base-1 at first
	size    int64
}

func (p *partitionCheck) segment(i int) (err error) {
	base := p.bases[i]
	if err := p.passSnapshots(base); err != nil {
		return err
	}
	c := &segmentCheck{
		partitionCheck: p, base: base, next: math.MaxInt64, last: i+1 == len(p.bases),
		file: p.path(fileName(base, LogKind)), before: base - 1,
	}
	if !c.last {
		c.next = p.bases[i+1]
	}
	limit := wholeBatch
	if p.Deep {
		limit = maxWhole
	}
	if c.scan, err = openScanner(p.FS, c.file, limit); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	c.size = c.scan.w.size
	p.sum.Bytes += c.size
	if c.size > math.MaxInt32 {
		c.report(Error, "log-size", 0, base, fmt.Sprintf("%d bytes are more than positions in an index can tell", c.size),
			"loading the partition fails: the data directory goes offline", "nothing, once the file is cut")
	}
	if err := c.openIndexes(); err != nil {
		return err
	}
	for {
		b, ok, err := c.scan.next()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		if err := c.batch(&b); err != nil {
			return err
		}
	}
	c.tail()
	return c.finishIndexes()
}

func (c *segmentCheck) close() error {
	return errors.Join(c.scan.w.close(), c.offsets.close(), c.times.close(), c.txns.close())
}

// report is a finding in the .log.
func (c *segmentCheck) report(s Severity, kind string, pos int64, offset kafka.Offset, what, atStart, lost string) {
	c.sink.add(&Finding{Severity: s, Kind: kind, File: c.file, Pos: pos, Offset: offset, What: what, AtStart: atStart, Lost: lost})
}

// recovered tells that a start reads this segment.
func (c *segmentCheck) recovered() bool {
	return !c.clean && c.base >= c.unflushed || !c.has(c.base, IndexKind)
}

// broken is what becomes of a log with a batch at pos that is torn or corrupt: offset is
// where the readable part ends (storage 7.2 step 5, 7.3).
func (c *segmentCheck) broken(pos int64, offset kafka.Offset) (atStart, lost string) {
	switch {
	case c.ended:
		return "gone by then: recovery ends the log before it", nothing + " more"
	case !c.recovered() && c.clean:
		return "not looked at after a clean stop; a fetch that comes here fails, and so do followers",
			fmt.Sprintf("offsets from %d on cannot be read from here", offset)
	case !c.recovered():
		return fmt.Sprintf("not looked at: it lies before the recovery point %d; a fetch that comes here fails", c.recoveryPoint),
			fmt.Sprintf("offsets from %d on cannot be read from here", offset)
	}
	c.ended = true
	atStart = fmt.Sprintf("recovery cuts the segment to %d bytes", pos)
	if !c.last {
		atStart += " and deletes the segments after it"
	}
	return atStart, fmt.Sprintf("every record from offset %d on", offset)
}

func (c *segmentCheck) batch(b *batch) error {
	if !b.crcOK {
		at, lost := c.broken(b.pos, c.before+1)
		c.report(Error, "crc", b.pos, b.BaseOffset(), crcText(b), at, lost)
		return c.notice(b) // its place is what an index may point to
	}
	c.order(b)
	if err := c.passSnapshots(b.BaseOffset()); err != nil {
		return err
	}
	c.countBatch(b)
	c.epoch(b)
	if c.Deep {
		c.records(b)
	}
	if b.HasProducerID() {
		if err := c.producer(b); err != nil {
			return err
		}
	}
	if err := c.notice(b); err != nil {
		return err
	}
	c.before = max(c.before, b.LastOffset())
	c.lastOffset = max(c.lastOffset, b.LastOffset())
	return nil
}

// notice lets the indexes look at a batch.
func (c *segmentCheck) notice(b *batch) error {
	if err := c.offsets.batch(c, b); err != nil {
		return err
	}
	return c.times.batch(c, b)
}

// order checks that offsets increase and stay in the segment. No CRC covers a base
// offset.
func (c *segmentCheck) order(b *batch) {
	const unseen = "not noticed; reads by offset find the wrong batch"
	first, last := b.BaseOffset(), b.LastOffset()
	switch {
	case last < first:
		c.report(Error, "offset-delta", b.pos, first, fmt.Sprintf("the last offset %d is before the first %d", last, first), unseen, "the batch cannot be found")
	case first < c.base:
		c.report(Error, "offset-range", b.pos, first, fmt.Sprintf("offset %d is before the segment's base %d", first, c.base), unseen, "the batch cannot be found")
	case first <= c.before:
		c.report(Error, "offset-order", b.pos, first, fmt.Sprintf("offset %d follows %d", first, c.before), unseen, "the batch may be read instead of another, or not at all")
	case last >= c.next:
		c.report(Error, "offset-overlap", b.pos, first, fmt.Sprintf("offsets %d to %d reach into the segment at %d", first, last, c.next), unseen,
			fmt.Sprintf("offsets from %d on are there twice", c.next))
	case last-c.base > math.MaxInt32:
		c.report(Error, "offset-overflow", b.pos, first, fmt.Sprintf("offset %d is too far from the segment's base", last),
			"the segment is split, or loading fails", nothing)
	}
}

func (c *segmentCheck) countBatch(b *batch) {
	s := &c.sum
	s.Batches++
	s.Records += int64(max(0, b.Count()))
	if b.BaseOffset() > c.before+1 || int64(b.Count()) <= int64(b.LastOffsetDelta()) {
		s.Gaps++
	}
	if b.Count() == 0 {
		s.EmptyBatches++
	}
	if _, ok := b.DeleteHorizon(); ok {
		s.Horizons++
	}
	if b.Codec() > record.Zstd {
		c.report(Error, "codec", b.pos, b.BaseOffset(), "the batch has an unknown compression", "not noticed; consumers fail", "the batch's records")
	}
}

// records decodes the batch.
func (c *segmentCheck) records(b *batch) {
	if !b.whole {
		c.report(Info, "not-decoded", b.pos, b.BaseOffset(), fmt.Sprintf("a batch of %d bytes is not decoded here", b.size), "", "")
		return
	}
	var it record.Iterator
	it.UseScratch(&c.scratch)
	count := int32(0)
	for it.Reset(b.Batch); it.Next(); count++ {
		if it.Record().Value == nil && !b.IsControl() {
			c.sum.Tombstones++
		}
	}
	err := it.Err()
	if err == nil && count == 0 && b.size > record.HeaderSize {
		err = errLeft
	}
	if err != nil {
		c.report(Error, "records", b.pos, b.BaseOffset(), err.Error(), "not noticed: the CRC fits; consumers and the cleaner fail", "the batch's records")
	}
}

var errLeft = errors.New("an empty batch has bytes behind its header")

// tail is what is left behind the last batch.
func (c *segmentCheck) tail() {
	t := &c.scan.tail
	if t.size == 0 {
		return
	}
	next := c.before + 1
	what := fmt.Sprintf("%d bytes are no batch: %s", t.size, t.why)
	if t.zeros {
		what = fmt.Sprintf("%d zeros: preallocated, or written by nobody", t.size)
	}
	at, lost := c.broken(t.pos, next)
	severity, kind := Error, "tail"
	switch {
	case t.zeros && c.recovered():
		severity, kind = Warning, "tail-zeros"
	case t.torn && c.recovered():
		severity, kind = Error, "tail-torn"
	}
	if c.last && c.recovered() {
		lost = nothing + " that was whole"
	}
	c.report(severity, kind, t.pos, next, what, at, lost)
}
