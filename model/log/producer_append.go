package log

import (
	"fmt"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/record"
)

// Origin says where an append comes from, and so how much of it is checked
// (AppendOrigin).
type Origin uint8

// The origins.
const (
	// Client is a producer: everything is checked.
	Client Origin = iota
	// Coordinator is a group or transaction coordinator: offsets and markers, which
	// have epochs but no sequence numbers.
	Coordinator
	// Replication is a leader's log, or one's own that is read again: what stands
	// there has been checked.
	Replication
)

// InvalidTxnStateError is a batch outside of a transaction from a producer that has
// one open, in a log that is copied or read again (InvalidTxnStateException). It
// cannot come from a correct leader.
type InvalidTxnStateError struct {
	ProducerID int64
	Offset     kafka.Offset // of the batch
}

// Error names producer and offset.
func (e *InvalidTxnStateError) Error() string {
	return fmt.Sprintf("log: producer %d wrote at offset %d outside of its open transaction", e.ProducerID, e.Offset)
}

// producerAppend is what an append does to one producer (ProducerAppendInfo).
type producerAppend struct {
	entry *producerEntry // as it is, nil if the producer is unknown
	next  producerEntry  // as it will be
}

// reset begins to collect an append.
func (t *producerTable) reset() {
	t.pending, t.completed = t.pending[:0], t.completed[:0]
}

// appendOf is the part of the producer in the append in progress. It is valid until
// the next call.
func (t *producerTable) appendOf(id int64) *producerAppend {
	for i := range t.pending {
		if t.pending[i].next.id == id {
			return &t.pending[i]
		}
	}
	if e := t.find(id); e != nil {
		t.pending = append(t.pending, producerAppend{entry: e, next: *e})
	} else {
		t.pending = append(t.pending, producerAppend{next: newProducerEntry(id)})
	}
	return &t.pending[len(t.pending)-1]
}

// prepare checks a batch with a producer id in the order of storage 4.4 and collects
// what it does; commit does it. duplicate is the remembered batch that it repeats:
// nothing is to be appended then. A verdict other than None refuses it.
func (t *producerTable) prepare(b record.Batch, o *LeaderAppend, verify bool) (duplicate *producerBatch, v record.Verdict) {
	p := t.appendOf(b.ProducerID())
	if o.Origin == Client && p.entry != nil {
		if d := p.entry.duplicate(b); d != nil {
			return d, v
		}
	}
	if b.IsControl() {
		v = t.prepareMarker(p, b, o.Origin)
	} else {
		v = t.prepareData(p, b, o, verify)
	}
	if v.Code == kafka.None && b.IsTransactional() {
		// The transaction has a first offset now, or an end.
		t.clearVerification(b.ProducerID())
	}
	return nil, v
}

func (t *producerTable) prepareData(p *producerAppend, b record.Batch, o *LeaderAppend, verify bool) record.Verdict {
	e := &p.next
	open := e.txnFirst != kafka.NoOffset
	if verify && o.Origin != Replication && b.IsTransactional() && !open && !t.isVerified(b.ProducerID(), o.Guard) {
		return refusal(kafka.InvalidTxnState, "the batch is not part of an ongoing transaction")
	}
	if o.Origin != Replication && b.ProducerEpoch() < e.epoch {
		return staleEpoch()
	}
	if o.Origin == Client {
		if v := t.checkSequence(p, b); v.Code != kafka.None {
			return v
		}
	}
	if open && !b.IsTransactional() {
		return refusal(kafka.InvalidTxnState, "the batch is not transactional, but its producer has an open transaction")
	}
	e.add(b.ProducerEpoch(), producerBatch{
		lastOffset: b.LastOffset(), timestamp: b.MaxTimestamp(),
		lastSequence: b.LastSequence(), offsetDelta: b.LastOffsetDelta(),
	})
	if !open && b.IsTransactional() {
		e.txnFirst = b.BaseOffset()
	}
	return record.Verdict{}
}

func (t *producerTable) isVerified(producer int64, given VerificationGuard) bool {
	v := t.verification(producer)
	return v != nil && v.guard == given
}

// checkSequence is storage 4.4 step 4. A producer of which nothing is known may
// start anywhere: its earlier batches may have expired (storage trap 24).
func (t *producerTable) checkSequence(p *producerAppend, b record.Batch) record.Verdict {
	first, e := b.BaseSequence(), &p.next
	if v := t.verification(b.ProducerID()); v != nil && first > v.lowestSequence {
		return refusal(kafka.OutOfOrderSequenceNumber, "an earlier batch of the producer waits for its verification")
	}
	known := p.entry != nil && p.entry.epoch != record.NoProducerEpoch
	switch {
	case !known:
	case b.ProducerEpoch() != e.epoch && first != 0:
		return refusal(kafka.OutOfOrderSequenceNumber, "a new epoch of the producer must begin with sequence number 0")
	case b.ProducerEpoch() == e.epoch && !follows(e.lastSequence(), first):
		return refusal(kafka.OutOfOrderSequenceNumber, "the sequence number does not follow the producer's last one")
	}
	return record.Verdict{}
}

// prepareMarker is storage 4.4 step 6.
func (t *producerTable) prepareMarker(p *producerAppend, b record.Batch, origin Origin) record.Verdict {
	if b.Count() == 0 {
		return record.Verdict{} // the transaction was compacted away
	}
	m, ok, err := b.ParseMarker()
	switch {
	case err != nil:
		return refusal(kafka.InvalidRecord, err.Error())
	case !ok:
		return refusal(kafka.InvalidRecord, "a control batch of a producer holds no transaction marker")
	}
	e := &p.next
	if origin != Replication {
		switch {
		case m.ProducerEpoch < e.epoch:
			return staleEpoch()
		case m.CoordinatorEpoch < e.coordinatorEpoch:
			return refusal(kafka.TransactionCoordinatorFenced, "the marker is from an earlier transaction coordinator")
		}
	}
	if e.txnFirst != kafka.NoOffset {
		t.completed = append(t.completed, completedTxn{txn{e.txnFirst, b.BaseOffset(), e.id}, !m.Commit})
	}
	e.setEpoch(m.ProducerEpoch)
	e.coordinatorEpoch, e.lastTimestamp, e.txnFirst = m.CoordinatorEpoch, b.MaxTimestamp(), kafka.NoOffset
	return record.Verdict{}
}

func refusal(code kafka.ErrorCode, message string) record.Verdict {
	return record.Verdict{Code: code, Message: message}
}

func staleEpoch() record.Verdict {
	return refusal(kafka.InvalidProducerEpoch, "the epoch of the producer is smaller than the last one seen")
}

// asError is what a refusal is where the batch is copied or read again.
func asError(b record.Batch, v record.Verdict) error {
	if v.Code == kafka.InvalidTxnState {
		return &InvalidTxnStateError{b.ProducerID(), b.BaseOffset()}
	}
	return &record.InvalidRecordError{Index: 0, Reason: v.Message}
}

// commit takes over what was prepared: producers first, then the transactions that
// began. Those that ended are left in t.completed, for complete.
func (t *producerTable) commit() {
	for i := range t.pending {
		p := &t.pending[i]
		if p.entry != nil {
			*p.entry = p.next
		} else {
			t.put(&p.next)
		}
		if p.next.txnFirst != kafka.NoOffset {
			t.ongoing = putTxn(t.ongoing, txn{first: p.next.txnFirst, producer: p.next.id})
		}
	}
	for i := range t.completed {
		c := &t.completed[i]
		t.ongoing = putTxn(t.ongoing, txn{first: c.first, producer: c.producer})
	}
}
