package inspect

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/record"
)

// maxProducers bounds the producers that are remembered of a partition; what others do is
// not checked.
const maxProducers = 1 << 17

// producers is what the batches so far tell of those who wrote them.
type producers struct {
	byID map[int64]*producerStatus // for lookup only
	list []*producerStatus         // in the order in which they came
}

type producerStatus struct {
	id           int64
	epoch        int16
	lastSequence int32
	lastOffset   kafka.Offset // of its last data batch of this epoch; kafka.NoOffset without one
	txnFirst     kafka.Offset // where its open transaction begins; kafka.NoOffset without one
	lastMarker   kafka.Offset
}

// get is a producer's status; nil if there are too many.
func (p *producers) get(id int64) *producerStatus {
	if st := p.byID[id]; st != nil {
		return st
	}
	if len(p.list) == maxProducers {
		return nil
	}
	if p.byID == nil {
		p.byID = make(map[int64]*producerStatus)
	}
	st := &producerStatus{
		id: id, epoch: record.NoProducerEpoch, lastSequence: record.NoSequence,
		lastOffset: kafka.NoOffset, txnFirst: kafka.NoOffset, lastMarker: kafka.NoOffset,
	}
	p.byID[id] = st
	p.list = append(p.list, st)
	return st
}

func (p *producers) count() int { return len(p.list) }

func (p *producers) open() (n int) {
	for _, st := range p.list {
		if st.txnFirst != kafka.NoOffset {
			n++
		}
	}
	return n
}

// openTransactions tells of those without a marker.
func (p *partitionCheck) openTransactions() {
	for _, st := range p.producers.list {
		if st.txnFirst == kafka.NoOffset {
			continue
		}
		p.sink.add(&Finding{Severity: Info, Kind: "txn-open", File: p.dir, Pos: wholePos, Offset: st.txnFirst,
			What:    fmt.Sprintf("producer %d, epoch %d, has a transaction open since offset %d", st.id, st.epoch, st.txnFirst),
			AtStart: "it stays open until its coordinator or its timeout ends it; read_committed consumers wait before it"})
	}
	if p.producers.count() == maxProducers {
		p.sink.add(&Finding{Severity: Info, Kind: "producers", File: p.dir, Pos: wholePos, Offset: kafka.NoOffset,
			What: fmt.Sprintf("there are %d producers or more; the others were not checked", maxProducers)})
	}
}

// passSnapshots compares the snapshots up to offset with the producers as they are
// now.
func (p *partitionCheck) passSnapshots(offset kafka.Offset) error {
	for p.nextSnap < len(p.snapshots) && p.snapshots[p.nextSnap] <= offset {
		if err := p.snapshot(p.snapshots[p.nextSnap]); err != nil {
			return err
		}
		p.nextSnap++
	}
	return nil
}

// snapshot checks one (storage 4.5).
func (p *partitionCheck) snapshot(offset kafka.Offset) error {
	file := p.path(fileName(offset, SnapshotKind))
	w, err := openWindow(p.FS, file)
	if err != nil {
		return err
	}
	f, err := p.readSnapshot(w, offset)
	if closeErr := w.close(); err == nil {
		err = closeErr
	}
	if err != nil || f == nil {
		return err
	}
	f.File = file
	if f.Offset == kafka.NoOffset {
		f.Offset = offset
	}
	p.sink.add(f)
	return nil
}

// readSnapshot is the first finding in a snapshot, nil if it is good.
func (p *partitionCheck) readSnapshot(w *window, offset kafka.Offset) (*Finding, error) {
	bad := func(pos int64, what string) *Finding {
		return &Finding{Severity: Error, Kind: "snapshot", Pos: pos, Offset: kafka.NoOffset, What: what,
			AtStart: "deleted if it is the newest; the next older one is loaded and the log read from there", Lost: nothing}
	}
	head, err := w.at(0, snapshotHead)
	if err != nil {
		return nil, err
	}
	if len(head) < snapshotHead {
		return bad(wholePos, fmt.Sprintf("%d bytes are too few for a snapshot", len(head))), nil
	}
	version, stored, count := i16(head, 0), binary.BigEndian.Uint32(head[2:]), i32(head, 6)
	if version != 1 {
		return bad(0, fmt.Sprintf("version %d is not 1", version)), nil
	}
	crc := uint32(0)
	for pos := int64(6); pos < w.size; {
		b, err := w.at(pos, windowSize)
		if err != nil {
			return nil, err
		}
		if len(b) == 0 {
			return nil, fmt.Errorf("inspect: %s: %w", w.f.Name(), errShort)
		}
		crc = crc32.Update(crc, castagnoli, b)
		pos += int64(len(b))
	}
	if crc != stored {
		return bad(2, fmt.Sprintf("the CRC is %08x, the bytes give %08x", stored, crc)), nil
	}
	if want := snapshotHead + int64(count)*snapshotWidth; count < 0 || w.size != want {
		return bad(6, fmt.Sprintf("%d producers do not make %d bytes", count, w.size)), nil
	}
	if f := p.snapshotName(offset); f != nil {
		return f, nil
	}
	return p.compareSnapshot(w, offset)
}

// snapshotName checks that the offset in the name belongs to the log.
func (p *partitionCheck) snapshotName(offset kafka.Offset) *Finding {
	n := len(p.bases)
	if n == 0 {
		return nil
	}
	if p.walked && offset > p.end() {
		return &Finding{Severity: Warning, Kind: "snapshot-ahead", Pos: wholePos, Offset: offset,
			What: fmt.Sprintf("it is of offset %d, the log ends at %d", offset, p.end()), AtStart: "deleted", Lost: nothing}
	}
	if p.isBase(offset) || offset >= p.bases[n-1] && p.nextSnap == len(p.snapshots)-1 {
		return nil
	}
	return &Finding{Severity: Info, Kind: "snapshot-stray", Pos: wholePos, Offset: offset,
		What: "no segment begins at its offset", AtStart: "deleted", Lost: nothing}
}

func (p *partitionCheck) isBase(o kafka.Offset) bool {
	for _, base := range p.bases {
		if base == o {
			return true
		}
	}
	return false
}

// compareSnapshot looks for a producer of whom the batches before offset tell something
// else.
func (p *partitionCheck) compareSnapshot(w *window, offset kafka.Offset) (*Finding, error) {
	t := table{w: w, pos: snapshotHead, width: snapshotWidth}
	for {
		b, pos, err := t.next()
		if b == nil || err != nil {
			return nil, err
		}
		e := producer(b)
		what := ""
		st := p.producers.byID[e.ProducerID]
		switch {
		case e.LastOffset >= offset || e.CurrentTxnFirstOffset >= offset:
			what = fmt.Sprintf("producer %d has offsets at or behind that of the snapshot", e.ProducerID)
		case st == nil || p.ended:
			continue
		case st.lastOffset != kafka.NoOffset && (e.Epoch != st.epoch || e.LastOffset != st.lastOffset || e.LastSequence != st.lastSequence):
			what = fmt.Sprintf("producer %d: epoch %d, sequence %d at offset %d; the log has epoch %d, sequence %d at offset %d",
				e.ProducerID, e.Epoch, e.LastSequence, e.LastOffset, st.epoch, st.lastSequence, st.lastOffset)
		case e.CurrentTxnFirstOffset >= 0 && st.txnFirst == kafka.NoOffset && st.lastMarker > e.CurrentTxnFirstOffset:
			what = fmt.Sprintf("producer %d has a transaction open since %d; the log ends it at %d", e.ProducerID, e.CurrentTxnFirstOffset, st.lastMarker)
		case e.CurrentTxnFirstOffset < 0 && st.txnFirst != kafka.NoOffset:
			what = fmt.Sprintf("producer %d has no transaction open; in the log one is open since %d", e.ProducerID, st.txnFirst)
		default:
			continue
		}
		at := "not read, unless newer snapshots are damaged"
		if p.nextSnap == len(p.snapshots)-1 {
			at = "loaded as the producers' state: a start compares it with nothing"
		}
		return &Finding{Severity: Error, Kind: "snapshot-stale", Pos: pos, Offset: offset, What: what, AtStart: at,
			Lost: "nothing on disk; duplicates may get in, or good batches be refused"}, nil
	}
}
