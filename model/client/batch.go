package client

import (
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/record"
)

// batch is the records of one partition that travel together (ProducerBatch).
type batch struct {
	queue   *queue
	builder *record.Builder // holds the records
	data    record.Batch    // what is sent, from the first drain on; the builder's memory
	limit   int             // bytes at which no further record joins
	memory  int64           // bytes of buffer.memory held
	first   int64           // number of the first record
	count   int32
	size    int // bytes, an estimate until built
	closed  bool
	created kafka.Nanos // when the batch was made; delivery.timeout.ms counts from here
	oldest  kafka.Nanos // send call of the first record

	announced bool        // BatchSent was noted
	done      bool        // acknowledged or failed; an answer still to come is ignored
	doubtful  bool        // an attempt may have reached a log
	returned  bool        // the only request that ever carried it was answered
	attempts  int32       // ended ones that count
	since     kafka.Nanos // last attempt's end, or created: linger and backoff count from here
	retryAt   kafka.Nanos // end of the retry backoff
	sentEpoch kafka.LeaderEpoch
}

// full reports whether no further record can join (ProducerBatch.isFull).
func (b *batch) full() bool {
	return b.closed || b.limit <= b.size
}

// expired reports whether delivery.timeout.ms has passed (P-4).
func (b *batch) expired(now, deliveryTimeout kafka.Nanos) bool {
	return now-b.created >= deliveryTimeout
}

// hasRoom reports whether a record may join; the first always may.
func (b *batch) hasRoom(r *outgoing) bool {
	return !b.closed && b.builder.EstimatedSize()+b.builder.RecordSize(r.timestamp, r.key, r.value, r.headers) <= b.limit
}

func (b *batch) add(r *outgoing) {
	b.builder.Append(r.timestamp, r.key, r.value, r.headers)
	b.count++
	b.size = b.builder.EstimatedSize()
}

// queue is the batches of one partition: those waiting, oldest first, and those in
// flight, in the order of their draining.
type queue struct {
	tp       kafka.TopicPartition
	topic    *topicQueues
	order    int32 // place among all queues of the producer
	waiting  []*batch
	inFlight []*batch
	muted    bool // one request in flight keeps the order (max.in.flight 1)
	active   bool // in accumulator.active
	next     int64
	// The sender's view in the current run.
	leader kafka.NodeID
	epoch  kafka.LeaderEpoch
}

func (q *queue) tail() *batch {
	if len(q.waiting) == 0 {
		return nil
	}
	return q.waiting[len(q.waiting)-1]
}

// allFull reports whether a new record would need a new batch (allBatchesFull).
func (q *queue) allFull() bool {
	t := q.tail()
	return t == nil || t.full()
}

func (q *queue) popHead() *batch {
	b := q.waiting[0]
	q.waiting = removeAt(q.waiting, 0)
	return b
}

// pushHead puts a batch before all that wait.
func (q *queue) pushHead(b *batch) {
	q.waiting = append(q.waiting, nil)
	copy(q.waiting[1:], q.waiting)
	q.waiting[0] = b
}

func (q *queue) landed(b *batch) {
	for i, f := range q.inFlight {
		if f == b {
			q.inFlight = removeAt(q.inFlight, i)
			return
		}
	}
}

// removeAt keeps the order and lets go of the element.
func removeAt(s []*batch, i int) []*batch {
	last := len(s) - 1
	copy(s[i:], s[i+1:])
	s[last] = nil
	return s[:last]
}
