package log

import (
	"cmp"
	"slices"

	"github.com/simkafka/simkafka/model/kafka"
)

// producerState is what a log knows of those who write to it
// (ProducerStateManager, storage 4).
type producerState struct {
	// table is nil while no producer with an id has written.
	table *producerTable
	// mapEnd is the offset up to which the batches are accounted for: exclusive.
	mapEnd kafka.Offset
	// lastSnapshot is the offset of the newest snapshot, or what stands for it
	// without one. A snapshot is taken only if mapEnd is above.
	lastSnapshot kafka.Offset
}

// producerTable holds the producers and their transactions.
type producerTable struct {
	byID []*producerEntry // sorted by id

	ongoing      []txn // without a marker, by first offset
	unreplicated []txn // with a marker at or above the high watermark, by first offset

	guards    []verification // sorted by producer
	lastGuard VerificationGuard

	// capacity is that of the hash map that Kafka would have here; insertions counts
	// the entries ever made. Both give snapshots their order.
	capacity   int
	insertions uint32

	// Of the append in progress; kept for their memory.
	pending   []producerAppend
	completed []completedTxn
}

// txn is a transaction in this partition (TxnMetadata).
type txn struct {
	first    kafka.Offset // of its first record here
	last     kafka.Offset // of its marker, once it has one
	producer int64
}

// completedTxn is a transaction that a marker has ended.
type completedTxn struct {
	txn
	aborted bool
}

// hashMapCapacity is the first size of Java's hash map, hashMapLoad the share, in
// quarters, at which it doubles.
const (
	hashMapCapacity = 16
	hashMapLoad     = 3
)

func (s *producerState) ensure() *producerTable {
	if s.table == nil {
		s.table = &producerTable{capacity: hashMapCapacity}
	}
	return s.table
}

// isEmpty tells that there is neither a producer nor a transaction to account for.
func (s *producerState) isEmpty() bool {
	return s.table == nil || len(s.table.byID) == 0 && len(s.table.unreplicated) == 0
}

func (t *producerTable) search(id int64) (int, bool) {
	return slices.BinarySearchFunc(t.byID, id, func(e *producerEntry, id int64) int { return cmp.Compare(e.id, id) })
}

// find is a producer's entry; nil if it is unknown.
func (t *producerTable) find(id int64) *producerEntry {
	if i, found := t.search(id); found {
		return t.byID[i]
	}
	return nil
}

// put stores a copy of e, in the place of what its producer has.
func (t *producerTable) put(e *producerEntry) {
	i, found := t.search(e.id)
	entry := *e
	if found {
		entry.inserted = t.byID[i].inserted
		*t.byID[i] = entry
		return
	}
	t.insertions++
	entry.inserted = t.insertions
	t.byID = slices.Insert(t.byID, i, &entry)
	for 4*len(t.byID) > hashMapLoad*t.capacity {
		t.capacity *= 2
	}
}

// clear forgets producers and transactions, as before a reload.
func (t *producerTable) clear() {
	clear(t.byID)
	t.byID, t.ongoing, t.unreplicated = t.byID[:0], t.ongoing[:0], t.unreplicated[:0]
}

// expire drops the producers that have been silent for limit ms, and verifications
// that began so long ago (storage 4.4).
func (t *producerTable) expire(now kafka.TimestampMs, limit int64) {
	t.byID = slices.DeleteFunc(t.byID, func(e *producerEntry) bool { return e.expired(now, limit) })
	t.guards = slices.DeleteFunc(t.guards, func(v verification) bool { return int64(now-v.began) >= limit })
}

// ExpireProducers forgets producers without an open transaction whose newest batch
// is producer.id.expiration.ms old by its own timestamp.
func (l *Log) ExpireProducers(now kafka.TimestampMs) {
	if t := l.producers.table; t != nil {
		t.expire(now, l.cfg.ProducerExpirationMs)
	}
}

// ProducerCount is how many producer ids are known.
func (l *Log) ProducerCount() int {
	if l.producers.table == nil {
		return 0
	}
	return len(l.producers.table.byID)
}

// HasOngoingTransaction reports whether the producer has an open transaction here.
func (l *Log) HasOngoingTransaction(producerID int64) bool {
	if l.producers.table == nil {
		return false
	}
	e := l.producers.table.find(producerID)
	return e != nil && e.txnFirst != kafka.NoOffset
}

// Producer describes a producer to whoever asks (DescribeProducers).
type Producer struct {
	ID               int64
	LastTimestamp    kafka.TimestampMs
	TxnFirst         kafka.Offset // of its open transaction; kafka.NoOffset without one
	LastOffset       kafka.Offset // of its last data batch, inclusive; -1 without one
	LastSequence     int32        // inclusive; -1 without a batch
	CoordinatorEpoch int32        // of the last marker; -1 without one
	Epoch            int16
}

// Producers lists the active producers by id.
func (l *Log) Producers() []Producer {
	if l.producers.table == nil {
		return nil
	}
	out := make([]Producer, 0, len(l.producers.table.byID))
	for _, e := range l.producers.table.byID {
		p := Producer{
			ID: e.id, Epoch: e.epoch, LastSequence: e.lastSequence(), LastOffset: kafka.NoOffset,
			LastTimestamp: e.lastTimestamp, CoordinatorEpoch: e.coordinatorEpoch, TxnFirst: e.txnFirst,
		}
		if b := e.last(); b != nil {
			p.LastOffset = b.lastOffset
		}
		out = append(out, p)
	}
	return out
}
