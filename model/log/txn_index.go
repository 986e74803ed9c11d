package log

import (
	"errors"
	"fmt"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/vfs"
)

// txnIndex lists the aborted transactions whose markers lie in a segment, in the
// order of the markers (TransactionIndex). A segment without any has none: the file
// comes with the first entry. Entries are in memory too.
type txnIndex struct {
	entries []AbortedTxn
	file    vfs.File // nil until opened
}

// openTxnIndex reads the index of a segment, which exists.
func openTxnIndex(p *place, base kafka.Offset) (*txnIndex, error) {
	f, err := p.fs.Open(filePath(p.dir, base, txnIndexSuffix))
	if err != nil {
		return nil, fmt.Errorf("log: open transaction index: %w", err)
	}
	x := &txnIndex{file: f}
	size := int(f.Size())
	b, err := f.ReadAt(0, size)
	if err != nil {
		return x, fmt.Errorf("log: read transaction index: %w", err)
	}
	if len(b) != size {
		return x, &CorruptError{File: f.Name(), Pos: int64(len(b)), Err: errShortFile}
	}
	x.entries, err = parseTxnIndex(f.Name(), b)
	return x, err
}

// isSane is TransactionIndex.sanityCheck: no marker lies before the segment.
func (x *txnIndex) isSane(base kafka.Offset) bool {
	for i := range x.entries {
		if x.entries[i].LastOffset < base {
			return false
		}
	}
	return true
}

func (x *txnIndex) open(p *place, base kafka.Offset) (err error) {
	if x.file != nil {
		return nil
	}
	name := filePath(p.dir, base, txnIndexSuffix)
	x.file, err = p.fs.Open(name)
	if errors.Is(err, vfs.ErrNotExist) {
		x.file, err = p.fs.Create(name)
	}
	if err != nil {
		return fmt.Errorf("log: open transaction index: %w", err)
	}
	return nil
}

// append adds an entry. Its marker lies behind that of the last one.
func (x *txnIndex) append(p *place, base kafka.Offset, a AbortedTxn) error {
	if err := x.open(p, base); err != nil {
		return err
	}
	pos := int64(len(x.entries)) * abortedTxnSize
	if n := len(x.entries); n > 0 && x.entries[n-1].LastOffset >= a.LastOffset {
		return &CorruptError{File: x.file.Name(), Pos: pos, Err: errInvalidOffset}
	}
	if err := x.file.WriteAt(pos, a.appendTo(make([]byte, 0, abortedTxnSize))); err != nil {
		return fmt.Errorf("log: write transaction index: %w", err)
	}
	x.entries = append(x.entries, a)
	return nil
}

// truncateTo drops the entries from the first one on whose marker is at offset or
// after it.
func (x *txnIndex) truncateTo(p *place, base, offset kafka.Offset) error {
	for i := range x.entries {
		if x.entries[i].LastOffset >= offset {
			return x.cut(p, base, i)
		}
	}
	return nil
}

// cut keeps n entries.
func (x *txnIndex) cut(p *place, base kafka.Offset, n int) error {
	if err := x.open(p, base); err != nil {
		return err
	}
	if err := x.file.Truncate(int64(n) * abortedTxnSize); err != nil {
		return fmt.Errorf("log: truncate transaction index: %w", err)
	}
	x.entries = x.entries[:n]
	return nil
}

// collect appends the transactions that reach into [from, upper). complete tells
// that no later segment can have more: everything below upper was decided (storage
// trap 29).
func (x *txnIndex) collect(list []AbortedTxn, from, upper kafka.Offset) (found []AbortedTxn, complete bool) {
	for i := range x.entries {
		a := &x.entries[i]
		if a.LastOffset >= from && a.FirstOffset < upper {
			list = append(list, *a)
		}
		if a.LastStableOffset >= upper {
			return list, true
		}
	}
	return list, false
}

func (x *txnIndex) close() error {
	if x.file == nil {
		return nil
	}
	f := x.file
	x.file = nil
	if err := f.Close(); err != nil {
		return fmt.Errorf("log: close transaction index: %w", err)
	}
	return nil
}

// noteAborted enters an aborted transaction into the segment that has its marker.
func (s *segment) noteAborted(p *place, c *completedTxn, lastStable kafka.Offset) error {
	if s.txns == nil {
		s.txns = new(txnIndex)
	}
	return s.txns.append(p, s.base, AbortedTxn{c.producer, c.first, c.last, lastStable})
}

// AbortedTransactions appends to list the aborted transactions that a reader with
// isolation level read_committed needs to know of for what Read(from, …) has found,
// and perhaps some more (storage 4.2): a batch may be part of one if its producer's
// entry begins at or before it. They come in the order of their markers.
func (l *Log) AbortedTransactions(list []AbortedTxn, from kafka.Offset, found *ReadInfo) ([]AbortedTxn, error) {
	if err := l.usable(); err != nil {
		return list, err
	}
	i := l.floorIndex(found.Segment)
	if found.Segment == kafka.NoOffset || i < 0 || l.segments[i].base != found.Segment {
		return list, nil
	}
	upper, err := l.upperBound(i, found.Pos+int64(found.Size))
	if err != nil {
		return list, l.failRead(err)
	}
	for complete := false; i < len(l.segments) && !complete; i++ {
		if x := l.segments[i].txns; x != nil {
			list, complete = x.collect(list, from, upper)
		}
	}
	return list, nil
}

// upperBound is an offset that no batch before end, a position in segment i,
// reaches: that of an index entry at end or after it, else where the next segment
// begins, or the log ends (storage trap 30).
func (l *Log) upperBound(i int, end int64) (kafka.Offset, error) {
	s := l.segments[i]
	if err := s.offsets.load(&l.place, s.base); err != nil {
		return 0, err
	}
	if o, found := s.offsets.upperBound(s.base, end); found {
		return o, nil
	}
	if i+1 < len(l.segments) {
		return l.segments[i+1].base, nil
	}
	return l.leo, nil
}
