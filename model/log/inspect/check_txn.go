package inspect

import (
	"errors"
	"fmt"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/record"
	"github.com/simkafka/simkafka/model/vfs"
)

// txnCheck compares a transaction index with the markers (storage 4.1).
type txnCheck struct {
	table
	file  string
	entry AbortedTxn
	pos   int64 // of the entry
	have  bool
	n     int64
	off   bool
}

func (x *txnCheck) close() error {
	if x.w == nil {
		return nil
	}
	return x.w.close()
}

func (c *segmentCheck) openTxns() (err error) {
	x := &c.txns
	x.file, x.width = c.path(fileName(c.base, TxnIndexKind)), txnIndexWidth
	x.w, err = openWindow(c.FS, x.file)
	if errors.Is(err, vfs.ErrNotExist) {
		x.off = true
		return nil
	}
	if err != nil {
		x.off = true
		return err
	}
	return x.advance(c)
}

func (x *txnCheck) report(c *segmentCheck, s Severity, kind string, pos int64, offset kafka.Offset, what, lost string) {
	at := asItIs
	if c.recovered() || kind == "txn-version" || kind == "txn-range" {
		at, lost = madeAnew, nothing
	}
	c.sink.add(&Finding{Severity: s, Kind: kind, File: x.file, Pos: pos, Offset: offset, What: what, AtStart: at, Lost: lost})
}

const wrongAnswers = "nothing on disk; read_committed consumers may get aborted records"

func (x *txnCheck) advance(c *segmentCheck) error {
	before, had := x.entry, x.n > 0
	x.have = false
	if x.off {
		return nil
	}
	b, pos, err := x.next()
	if b == nil || err != nil {
		if rest := x.fragment(); err == nil && rest > 0 {
			x.report(c, Warning, "txn-length", pos, kafka.NoOffset, fmt.Sprintf("%d bytes are less than an entry", rest), nothing)
		}
		x.off = true
		return err
	}
	x.entry, x.pos, x.have = abortedTxn(b), pos, true
	x.n++
	switch e := x.entry; {
	case e.Version>>8 != 0:
		x.report(c, Error, "txn-version", pos, e.LastOffset, fmt.Sprintf("version %d is not 0", e.Version), wrongAnswers)
		x.have, x.off = false, true
	case e.LastOffset < c.base:
		x.report(c, Error, "txn-range", pos, e.LastOffset, fmt.Sprintf("the marker at %d is before the segment's base", e.LastOffset), wrongAnswers)
		x.have, x.off = false, true
	case had && e.LastOffset <= before.LastOffset:
		x.report(c, Error, "txn-order", pos, e.LastOffset, fmt.Sprintf("the marker at %d follows that at %d", e.LastOffset, before.LastOffset), wrongAnswers)
		x.have, x.off = false, true
	}
	return nil
}

// aborted is called for each ABORT marker. first is where its transaction begins, as
// far as the log still tells; kafka.NoOffset if no batch of it is there.
func (x *txnCheck) aborted(c *segmentCheck, b *batch, first kafka.Offset) error {
	marker := b.LastOffset()
	if err := x.skipTo(c, marker); err != nil {
		return err
	}
	if !x.have || x.entry.LastOffset != marker {
		if first != kafka.NoOffset {
			x.report(c, Error, "txn-missing", wholePos, marker,
				fmt.Sprintf("the transaction of producer %d from %d to %d was aborted and has no entry", b.ProducerID(), first, marker), wrongAnswers)
		}
		return nil
	}
	c.sum.AbortedTxns++
	switch e := x.entry; {
	case e.ProducerID != b.ProducerID():
		x.report(c, Error, "txn-target", x.pos, marker, fmt.Sprintf("the marker at %d is of producer %d, not %d", marker, b.ProducerID(), e.ProducerID), wrongAnswers)
	case first != kafka.NoOffset && e.FirstOffset > first, e.FirstOffset >= marker:
		x.report(c, Error, "txn-target", x.pos, e.FirstOffset, fmt.Sprintf("the transaction begins at %d, not at %d", first, e.FirstOffset), wrongAnswers)
	case e.LastStableOffset > marker+1:
		x.report(c, Error, "txn-target", x.pos, e.LastStableOffset, fmt.Sprintf("the last stable offset %d is behind the marker at %d", e.LastStableOffset, marker), wrongAnswers)
	default:
		c.sink.add(&Finding{Severity: Info, Kind: "txn-aborted", File: x.file, Pos: x.pos, Offset: e.FirstOffset,
			What: fmt.Sprintf("aborted transaction of producer %d: offsets %d to %d", e.ProducerID, e.FirstOffset, e.LastOffset)})
	}
	return x.advance(c)
}

// skipTo complains about entries whose markers should have come before offset.
func (x *txnCheck) skipTo(c *segmentCheck, offset kafka.Offset) error {
	for x.have && x.entry.LastOffset < offset {
		x.report(c, Error, "txn-target", x.pos, x.entry.LastOffset, fmt.Sprintf("offset %d is not an abort marker", x.entry.LastOffset),
			"nothing on disk; committed records may be hidden")
		if err := x.advance(c); err != nil {
			return err
		}
	}
	return nil
}

func (x *txnCheck) finish(c *segmentCheck) error {
	if x.have && x.entry.LastOffset > c.before {
		x.report(c, Error, "txn-behind", x.pos, x.entry.LastOffset, fmt.Sprintf("the marker at %d is behind the segment's last offset %d", x.entry.LastOffset, c.before), wrongAnswers)
		return nil
	}
	return x.skipTo(c, 1<<63-1)
}

// producer applies a batch to what is known of its producer.
func (c *segmentCheck) producer(b *batch) error {
	t := &c.producers
	st := t.get(b.ProducerID())
	if st == nil {
		return nil
	}
	if !b.IsControl() {
		if b.ProducerEpoch() < st.epoch {
			c.report(Warning, "producer-epoch", b.pos, b.BaseOffset(), fmt.Sprintf("producer %d writes with epoch %d after %d", b.ProducerID(), b.ProducerEpoch(), st.epoch),
				"not checked", nothing)
		}
		if st.txnFirst != kafka.NoOffset && !b.IsTransactional() {
			c.report(Error, "txn-mixed", b.pos, b.BaseOffset(), fmt.Sprintf("a batch outside of the transaction that producer %d began at %d", b.ProducerID(), st.txnFirst),
				"loading fails if the producers' state has to be read from here", nothing)
		}
		st.epoch, st.lastSequence, st.lastOffset = b.ProducerEpoch(), b.LastSequence(), b.LastOffset()
		if b.IsTransactional() && st.txnFirst == kafka.NoOffset {
			st.txnFirst = b.BaseOffset()
		}
		return nil
	}
	if !b.whole || b.Count() == 0 {
		return nil
	}
	m, ok, err := b.ParseMarker()
	if invalid := (*record.InvalidRecordError)(nil); errors.As(err, &invalid) || err != nil {
		c.report(Error, "marker", b.pos, b.BaseOffset(), err.Error(), "recovery, if it comes here, ends the log behind it", "the end of the transaction")
		return nil
	}
	if !ok {
		return nil
	}
	first := st.txnFirst
	if m.ProducerEpoch != st.epoch {
		st.epoch, st.lastSequence, st.lastOffset = m.ProducerEpoch, record.NoSequence, kafka.NoOffset
	}
	st.txnFirst = kafka.NoOffset
	st.lastMarker = b.LastOffset()
	if m.Commit {
		return nil
	}
	return c.txns.aborted(c, b, first)
}
