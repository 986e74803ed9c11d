package log

import (
	"math"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/record"
)

// producerWindow is how many batches of a producer are remembered, so that each of
// up to five requests in flight is recognised when it comes again (cluster P-16).
const producerWindow = 5

// noCoordinatorEpoch: no transaction marker was seen.
const noCoordinatorEpoch int32 = -1

// producerBatch is a batch that a producer has appended (BatchMetadata).
type producerBatch struct {
	lastOffset   kafka.Offset // inclusive
	timestamp    kafka.TimestampMs
	lastSequence int32 // inclusive
	offsetDelta  int32 // last offset - first offset; the sequences' too
}

func (b *producerBatch) firstSequence() int32 {
	return record.DecrementSequence(b.lastSequence, b.offsetDelta)
}

func (b *producerBatch) firstOffset() kafka.Offset { return b.lastOffset - kafka.Offset(b.offsetDelta) }

// producerEntry is what a log knows of one producer id (ProducerStateEntry).
type producerEntry struct {
	id int64
	// lastTimestamp is the maximum timestamp of the last batch or marker, whatever
	// the clock said (storage trap 26).
	lastTimestamp kafka.TimestampMs
	// txnFirst is where the open transaction begins, kafka.NoOffset without one.
	txnFirst         kafka.Offset
	coordinatorEpoch int32
	inserted         uint32                        // number of its insertion into the table
	epoch            int16                         // record.NoProducerEpoch if unknown
	n                uint8                         // batches in use
	batches          [producerWindow]producerBatch // oldest first
}

func newProducerEntry(id int64) producerEntry {
	return producerEntry{
		id: id, epoch: record.NoProducerEpoch, coordinatorEpoch: noCoordinatorEpoch,
		lastTimestamp: kafka.NoTimestamp, txnFirst: kafka.NoOffset,
	}
}

// last is the newest batch; nil if the epoch has none yet.
func (e *producerEntry) last() *producerBatch {
	if e.n == 0 {
		return nil
	}
	return &e.batches[e.n-1]
}

// lastSequence is inclusive, record.NoSequence without a batch.
func (e *producerEntry) lastSequence() int32 {
	if b := e.last(); b != nil {
		return b.lastSequence
	}
	return record.NoSequence
}

// setEpoch forgets the batches of another epoch.
func (e *producerEntry) setEpoch(epoch int16) {
	if e.epoch != epoch {
		e.epoch, e.n = epoch, 0
	}
}

func (e *producerEntry) add(epoch int16, b producerBatch) {
	e.setEpoch(epoch)
	if e.n == producerWindow {
		copy(e.batches[:], e.batches[1:])
		e.n--
	}
	e.batches[e.n] = b
	e.n++
	e.lastTimestamp = b.timestamp
}

// duplicate finds the remembered batch with b's epoch and sequences (storage trap
// 25), nil if there is none.
func (e *producerEntry) duplicate(b record.Batch) *producerBatch {
	if b.ProducerEpoch() != e.epoch {
		return nil
	}
	first, last := b.BaseSequence(), b.LastSequence()
	for i := range e.batches[:e.n] {
		if m := &e.batches[i]; m.lastSequence == last && m.firstSequence() == first {
			return m
		}
	}
	return nil
}

// expired tells that a producer without an open transaction has been silent for
// limit ms.
func (e *producerEntry) expired(now kafka.TimestampMs, limit int64) bool {
	return e.txnFirst == kafka.NoOffset && int64(now-e.lastTimestamp) >= limit
}

// follows reports whether a batch may begin at next after one that ended at last
// (storage trap 23).
func follows(last, next int32) bool {
	return int64(next) == int64(last)+1 || next == 0 && last == math.MaxInt32
}
