package client

import (
	"slices"

	"github.com/simkafka/simkafka/model/config"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/record"
)

// accumulator collects records into batches, a queue for each partition
// (RecordAccumulator, P-1).
type accumulator struct {
	cfg    *config.Producer
	meta   *metadata
	topics []*topicQueues
	queues int32 // made so far
	active []*queue
	nodes  []destination
	// free is what is left of buffer.memory. exhausted: a send waits for some.
	free      int64
	exhausted bool
	records   int64             // neither acknowledged nor failed
	firstNext int64             // number of a partition's first record
	scratch   *record.Scratch   // shared by all builders
	builders  []*record.Builder // for reuse
	batches   []*batch          // for reuse
}

// topicQueues is one topic's queues by partition and its partitioner's state.
type topicQueues struct {
	info   *topicInfo
	queues []*queue
	chooser
}

func newAccumulator(cfg *config.Producer, meta *metadata, firstNumber int64, scratch *record.Scratch) accumulator {
	if scratch == nil {
		scratch = new(record.Scratch)
	}
	return accumulator{cfg: cfg, meta: meta, free: cfg.BufferMemory, firstNext: firstNumber, scratch: scratch}
}

func (a *accumulator) topic(name string) *topicQueues {
	for _, t := range a.topics {
		if t.info.name == name {
			return t
		}
	}
	t := &topicQueues{info: a.meta.topic(name), chooser: chooser{sticky: -1}}
	a.topics = append(a.topics, t)
	return t
}

// queue makes the queues up to the partition on first use.
func (a *accumulator) queue(t *topicQueues, partition int32) *queue {
	for int(partition) >= len(t.queues) {
		q := &queue{topic: t, order: a.queues, next: a.firstNext,
			tp: kafka.TopicPartition{Topic: t.info.name, Partition: int32(len(t.queues))}}
		a.queues++
		t.queues = append(t.queues, q)
	}
	return t.queues[partition]
}

// join adds a record to the tail batch of q, or to a new one. False when a new
// batch is needed and buffer.memory has no room for it: nothing has happened.
func (a *accumulator) join(q *queue, r *outgoing) bool {
	b := q.tail()
	if b == nil || b.closed {
		if b = a.open(q, r); b == nil {
			return false
		}
	} else if !b.hasRoom(r) {
		b.closed = true
		if b = a.open(q, r); b == nil {
			return false
		}
	}
	head := r.value
	if r.headers != nil {
		head = r.headers[0].Value
	}
	putValue(head, r.producer, q.next, r.called)
	q.next++
	b.add(r)
	a.records++
	return true
}

// open starts a new tail batch with room for the record.
func (a *accumulator) open(q *queue, r *outgoing) *batch {
	limit := max(int(a.cfg.BatchSize), record.SizeUpperBound(r.key, r.value, r.headers))
	if int64(limit) > a.free {
		return nil
	}
	a.free -= int64(limit)
	b := a.newBatch(q, limit)
	b.memory, b.first = int64(limit), q.next
	b.created, b.since, b.oldest = r.now, r.now, r.called
	q.waiting = append(q.waiting, b)
	a.activate(q)
	return b
}

func (a *accumulator) newBatch(q *queue, limit int) *batch {
	var b *batch
	if n := len(a.batches); n > 0 {
		b = a.batches[n-1]
		a.batches = a.batches[:n-1]
	} else {
		b = new(batch)
	}
	*b = batch{queue: q, limit: limit, builder: a.builder()}
	return b
}

func (a *accumulator) builder() *record.Builder {
	var bd *record.Builder
	if n := len(a.builders); n > 0 {
		bd = a.builders[n-1]
		a.builders = a.builders[:n-1]
	} else {
		bd = new(record.Builder)
		bd.UseScratch(a.scratch)
	}
	opts := record.ClientOptions()
	opts.Codec = a.cfg.Codec
	bd.Reset(opts)
	return bd
}

// build closes a batch and makes its bytes; they are frozen from here on. They are
// mostly the builder's, which the batch therefore keeps.
func (a *accumulator) build(b *batch) {
	if b.data != nil {
		return
	}
	data, err := b.builder.BuildInPlace()
	if err != nil {
		panic("client: " + err.Error())
	}
	b.data, b.size, b.closed = data, len(data), true
}

// settle ends a batch's stay: its records are acknowledged or failed.
func (a *accumulator) settle(b *batch) {
	b.done = true
	a.free += b.memory
	b.memory = 0
	a.records -= int64(b.count)
}

// spareBuilders is how many builders are kept: after an outage there are many, each
// with up to batch.size bytes.
const spareBuilders = 8

// recycle takes back a batch that nothing in the producer refers to any more. Its
// bytes are used again if no request that carries them can still be on its way.
func (a *accumulator) recycle(b *batch) {
	if (b.data == nil || b.returned) && len(a.builders) < spareBuilders {
		a.builders = append(a.builders, b.builder)
	}
	*b = batch{}
	a.batches = append(a.batches, b)
}

// activate keeps the queues with waiting batches in order.
func (a *accumulator) activate(q *queue) {
	if q.active {
		return
	}
	q.active = true
	i, _ := slices.BinarySearchFunc(a.active, q.order, func(x *queue, order int32) int { return int(x.order - order) })
	a.active = slices.Insert(a.active, i, q)
}

// compact drops the queues that have run empty.
func (a *accumulator) compact() {
	kept := a.active[:0]
	for _, q := range a.active {
		if q.active = len(q.waiting) > 0; q.active {
			kept = append(kept, q)
		}
	}
	clear(a.active[len(kept):])
	a.active = kept
}

// sendableAt is when the head of q may be sent: at once if it is full, memory is
// short or the producer closes, else after linger.ms; never within the retry
// backoff, which a newer leader epoch ends (P-2, P-7).
func (a *accumulator) sendableAt(q *queue, closing, skipsBackoff bool) kafka.Nanos {
	b := q.waiting[0]
	at := kafka.Nanos(0)
	if len(q.waiting) == 1 && !b.full() && !a.exhausted && !closing {
		at = saturatingAdd(b.since, a.cfg.Linger)
	}
	if b.attempts > 0 && !(skipsBackoff && q.epoch > b.sentEpoch) {
		at = max(at, b.retryAt)
	}
	return at
}

// split re-queues the records of a batch that the broker found too large in
// batches of half its size, at the head and in order (P-5). They keep the age and
// the attempts of the whole; the first of them holds its memory.
func (a *accumulator) split(b *batch) {
	q := b.queue
	var parts []*batch
	var it record.Iterator
	for it.Reset(b.data); it.Next(); {
		x := it.Record()
		r := &outgoing{timestamp: x.Timestamp, key: x.Key, value: x.Value, headers: x.Headers}
		if n := len(parts); n == 0 || !parts[n-1].hasRoom(r) {
			p := a.newBatch(q, max(b.size/2, record.SizeUpperBound(r.key, r.value, r.headers)))
			p.first = b.first + int64(x.Offset-b.data.BaseOffset())
			p.created, p.since, p.oldest = b.created, b.since, b.oldest
			p.attempts, p.retryAt, p.sentEpoch = b.attempts, b.retryAt, b.sentEpoch
			p.announced, p.doubtful = b.announced, b.doubtful
			parts = append(parts, p)
		}
		parts[len(parts)-1].add(r)
	}
	if it.Err() != nil {
		panic("client: a batch of our own does not decode: " + it.Err().Error())
	}
	for i := len(parts) - 1; i >= 0; i-- {
		parts[i].closed = true
		q.pushHead(parts[i])
	}
	parts[0].memory = b.memory
	b.memory = 0
	a.activate(q)
}
