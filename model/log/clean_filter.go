package log

import (
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/record"
)

// cleanFilter decides what stays of each batch (cleanInto and MemoryRecords.filterTo,
// storage 9.3).
type cleanFilter struct {
	offsets *offsetMap
	txns    cleanedTxns
	// producers are those of the log, whose last batches leave their header.
	producers *producerState
	upper     kafka.Offset // end of the cleaning's range, exclusive
	now       kafka.TimestampMs
	horizon   kafka.TimestampMs // for batches that get one now

	it record.Iterator
	bd record.Builder
}

// filter is what stays of b: b itself, a thinner batch, a header without records, or
// nothing. The error is an *record.InvalidRecordError or *record.DecompressError, or
// says that the batch cannot be built.
func (f *cleanFilter) filter(b record.Batch) (record.Batch, error) {
	canDiscard, err := f.txns.canDiscard(b)
	if err != nil {
		return nil, err
	}
	horizon, hasHorizon := b.DeleteHorizon()
	discard := canDiscard
	if b.IsControl() {
		discard = canDiscard && hasHorizon && horizon <= f.now
	}
	kept, tombstones := int32(0), false
	if !discard {
		if kept, tombstones, err = f.count(b, horizon, hasHorizon); err != nil {
			return nil, err
		}
	}
	stamp := (tombstones || canDiscard && b.IsControl()) && !hasHorizon
	switch {
	case kept == 0 && f.keepsHeader(b):
		return b.EmptyBatch(), nil
	case kept == 0:
		return nil, nil
	case kept == b.Count() && !stamp:
		return b, nil
	}
	return f.rebuild(b, stamp)
}

// count tells how many records of b stay, and whether a tombstone is among them.
func (f *cleanFilter) count(b record.Batch, horizon kafka.TimestampMs, hasHorizon bool) (kept int32, tombstones bool, err error) {
	if b.IsControl() {
		return b.Count(), false, nil
	}
	expired := hasHorizon && f.now >= horizon
	for f.it.Reset(b); f.it.Next(); {
		if r := f.it.Record(); f.keeps(r, expired) {
			kept++
			tombstones = tombstones || r.Value == nil
		}
	}
	return kept, tombstones, f.it.Err()
}

// keeps decides on a record of a data batch. expired: the batch's tombstones may go.
func (f *cleanFilter) keeps(r *record.Record, expired bool) bool {
	switch {
	case r.Offset > f.offsets.latest:
		return true
	case r.Key == nil:
		return false
	}
	if newest, found := f.offsets.get(r.Key); found && r.Offset < newest {
		return false
	}
	return r.Value != nil || !expired
}

// keepsHeader tells that b must leave its header even without records: it holds the
// last sequence, or the last epoch, of a producer, or ends the cleaning's range
// (storage trap 48).
func (f *cleanFilter) keepsHeader(b record.Batch) bool {
	return b.NextOffset() == f.upper || b.HasProducerID() && f.isLastOfProducer(b)
}

func (f *cleanFilter) isLastOfProducer(b record.Batch) bool {
	if f.producers.table == nil {
		return false
	}
	e := f.producers.table.find(b.ProducerID())
	if e == nil {
		return false
	}
	if last := e.last(); last != nil {
		return b.LastOffset() == last.lastOffset
	}
	return b.IsControl() && b.ProducerEpoch() == e.epoch
}

// rebuild is b with the records that stay. With stamp it gets a delete horizon.
func (f *cleanFilter) rebuild(b record.Batch, stamp bool) (record.Batch, error) {
	horizon, hasHorizon := b.DeleteHorizon()
	expired := hasHorizon && f.now >= horizon
	f.bd.ResetLike(b)
	if stamp {
		f.bd.SetDeleteHorizon(f.horizon)
	}
	for f.it.Reset(b); f.it.Next(); {
		if r := f.it.Record(); b.IsControl() || f.keeps(r, expired) {
			f.bd.AppendAt(r.Offset, r.Timestamp, r.Key, r.Value, r.Headers)
		}
	}
	if err := f.it.Err(); err != nil {
		return nil, err
	}
	f.bd.KeepLastOffset(b.LastOffset())
	return f.bd.Build()
}
