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
	dropEnd   bool         // Config.CleanerDropsEnd
	now       kafka.TimestampMs
	horizon   kafka.TimestampMs // for batches that get one now
	// byRecordTime: tombstones go delete.retention.ms after they were sent (KAFKA-4529).
	byRecordTime bool

	it   record.Iterator
	bd   record.Builder
	kept []record.Record // of the batch at hand; their bytes are its own or the iterator's

	headers []record.Header // those of kept
	keys    []keyAt         // of kept, before they are chosen
}

// filter is what stays of b: b itself, a thinner batch, a header without records, or
// nothing; it stays until the next call. The error is an *record.InvalidRecordError or *record.DecompressError, or
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
	f.kept = f.kept[:0]
	tombstones := false
	if !discard {
		expired := hasHorizon && f.now >= horizon
		if f.byRecordTime {
			expired = b.MaxTimestamp() <= f.now-(f.horizon-f.now)
		}
		if tombstones, err = f.collect(b, expired); err != nil {
			return nil, err
		}
	}
	stamp := (tombstones || canDiscard && b.IsControl()) && !hasHorizon
	switch {
	case len(f.kept) == 0 && f.keepsHeader(b):
		return b.EmptyBatch(), nil
	case len(f.kept) == 0:
		return nil, nil
	case len(f.kept) == int(b.Count()) && !stamp:
		return b, nil
	}
	return f.rebuild(b, stamp)
}

// collect finds the records of b that stay, and whether a tombstone is among them.
// expired: the batch's tombstones may go.
func (f *cleanFilter) collect(b record.Batch, expired bool) (tombstones bool, err error) {
	control := b.IsControl()
	f.all(b, !control)
	chosen := f.kept[:0]
	for i := range f.kept {
		r := &f.kept[i]
		if !control && !f.keeps(r, f.keys[i].key, expired) {
			continue
		}
		chosen = append(chosen, *r)
		tombstones = tombstones || r.Value == nil
	}
	f.kept = chosen
	return tombstones, f.it.Err()
}

// all puts all records of b into kept and hashes their keys.
func (f *cleanFilter) all(b record.Batch, hash bool) {
	f.headers, f.keys = f.headers[:0], f.keys[:0]
	for f.it.Reset(b); f.it.Next(); {
		r := f.it.Record()
		f.kept = append(f.kept, *r)
		if r.Headers != nil { // the iterator uses the slice again
			from := len(f.headers)
			f.headers = append(f.headers, r.Headers...)
			f.kept[len(f.kept)-1].Headers = f.headers[from:len(f.headers):len(f.headers)]
		}
		if hash {
			f.keys = append(f.keys, keyAt{f.offsets.hash(r.Key), r.Offset})
		}
	}
	f.offsets.touch(f.keys)
}

// keeps decides on a record of a data batch.
func (f *cleanFilter) keeps(r *record.Record, key keyHash, expired bool) bool {
	switch {
	case r.Offset > f.offsets.latest:
		return true
	case r.Key == nil:
		return false
	}
	if newest, found := f.offsets.get(key); found && r.Offset < newest {
		return false
	}
	return r.Value != nil || !expired
}

// keepsHeader tells that b must leave its header even without records: it holds the
// last sequence, or the last epoch, of a producer, or ends the cleaning's range
// (storage trap 48).
func (f *cleanFilter) keepsHeader(b record.Batch) bool {
	return b.NextOffset() == f.upper && !f.dropEnd || b.HasProducerID() && f.isLastOfProducer(b)
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

// rebuild is b with the records that stay, until the next batch. With stamp it gets a
// delete horizon.
func (f *cleanFilter) rebuild(b record.Batch, stamp bool) (record.Batch, error) {
	f.bd.ResetLike(b)
	if stamp {
		f.bd.SetDeleteHorizon(f.horizon)
	}
	for i := range f.kept {
		r := &f.kept[i]
		f.bd.AppendAt(r.Offset, r.Timestamp, r.Key, r.Value, r.Headers)
	}
	f.bd.KeepLastOffset(b.LastOffset())
	return f.bd.BuildInPlace()
}
