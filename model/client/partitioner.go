package client

import (
	"github.com/simkafka/simkafka/model/config"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/record"
	"github.com/simkafka/simkafka/model/step"
)

// chooser is the state of a topic's partitioner for records without a key.
type chooser struct {
	sticky   int32 // the partition that gets records; -1 before the first
	bytes    int   // appended to it since it was chosen (KIP-794)
	counter  uint64
	draws    stream
	weights  []int64 // scratch: cumulative
	eligible []int32 // scratch
}

// outgoing is one record on its way into a batch.
type outgoing struct {
	producer  int32
	now       kafka.Nanos
	called    kafka.Nanos // time of the send call
	timestamp kafka.TimestampMs
	key       []byte          // nil = none
	value     []byte          // its head is written when the number is known; nil = a tombstone
	headers   []record.Header // of a tombstone: the head
}

// append puts a record into the queue of its partition: the fixed one, that of its
// key, or as the partitioner says. False when buffer.memory has no room. The topic
// has partitions.
func (a *accumulator) append(in *step.Input, t *topicQueues, fixed int32, r *outgoing) bool {
	switch {
	case fixed >= 0:
		return a.join(a.queue(t, fixed), r)
	case r.key != nil && !a.cfg.IgnoreKeys:
		return a.join(a.queue(t, PartitionForKey(r.key, t.info.count)), r)
	}
	switch a.cfg.Partitioner {
	case config.RoundRobin:
		return a.appendRoundRobin(in, t, r)
	case config.StickyPerBatch:
		return a.appendStickyPerBatch(in, t, r)
	}
	return a.appendUniformSticky(in, t, r)
}

// appendRoundRobin: each record to the next partition that has a leader (P-14,
// before 2.4).
func (a *accumulator) appendRoundRobin(in *step.Input, t *topicQueues, r *outgoing) bool {
	if t.draws == 0 {
		t.counter = t.draw(in) & 0x7fffffff
	}
	among := a.available(t)
	if !a.join(a.queue(t, among[t.counter%uint64(len(among))]), r) {
		return false
	}
	t.counter++
	return true
}

// appendStickyPerBatch: the same partition until a record needs a new batch, then
// another one (KIP-480, P-14).
func (a *accumulator) appendStickyPerBatch(in *step.Input, t *topicQueues, r *outgoing) bool {
	if t.sticky < 0 {
		t.sticky = a.otherPartition(in, t)
	}
	q := a.queue(t, t.sticky)
	if b := q.tail(); b == nil || !b.hasRoom(r) {
		if a.free < int64(a.cfg.BatchSize) {
			return false
		}
		if b != nil {
			b.closed = true
		}
		t.sticky = a.otherPartition(in, t)
		q = a.queue(t, t.sticky)
	}
	return a.join(q, r)
}

// otherPartition draws an available partition that is not the sticky one, if there
// is another (StickyPartitionCache.nextPartition).
func (a *accumulator) otherPartition(in *step.Input, t *topicQueues) int32 {
	among := a.available(t)
	if len(among) == 1 {
		return among[0]
	}
	others := among[:0]
	for _, p := range among {
		if p != t.sticky {
			others = append(others, p)
		}
	}
	return others[step.Below(t.draw(in), uint64(len(others)))]
}

// appendUniformSticky: the same partition until batch.size bytes went there and
// its batches are full, or twice as many (KIP-794, P-13).
func (a *accumulator) appendUniformSticky(in *step.Input, t *topicQueues, r *outgoing) bool {
	if t.sticky < 0 {
		t.switchTo(a.nextPartition(in, t))
	}
	q := a.queue(t, t.sticky)
	if t.bytes >= int(a.cfg.BatchSize) && q.allFull() {
		t.switchTo(a.nextPartition(in, t))
		q = a.queue(t, t.sticky)
	}
	before, sizeBefore := q.tail(), 0
	if before != nil {
		sizeBefore = before.size
	}
	if !a.join(q, r) {
		return false
	}
	if q.tail() != before {
		sizeBefore = 0
	}
	t.bytes += q.tail().size - sizeBefore
	if t.bytes >= int(a.cfg.BatchSize) && q.allFull() || t.bytes >= 2*int(a.cfg.BatchSize) {
		t.switchTo(a.nextPartition(in, t))
	}
	return true
}

func (c *chooser) switchTo(partition int32) { c.sticky, c.bytes = partition, 0 }

// nextPartition draws the next sticky partition: by queue length if the partitioner
// is adaptive, as many partitions have been used as there are and their lengths differ, else
// uniformly among those with a leader. The lengths are those of now; Kafka's are of
// the sender's last run.
func (a *accumulator) nextPartition(in *step.Input, t *topicQueues) int32 {
	draw := t.draw(in)
	if used := t.used(a.firstNext); a.cfg.Adaptive && used >= max(t.info.count, 2) {
		t.eligible, t.weights = t.eligible[:0], t.weights[:0]
		for p, q := range t.queues {
			if q.next == a.firstNext {
				continue
			}
			if leader, _ := a.meta.leaderOf(t.info, int32(p)); leader != kafka.NoNode && !a.unavailable(leader) {
				t.eligible = append(t.eligible, int32(p))
				t.weights = append(t.weights, int64(len(q.waiting)))
			}
		}
		if weighQueues(t.weights, used) {
			total := uint64(t.weights[len(t.weights)-1])
			return t.eligible[pick(t.weights, int64(step.Below(draw, total)))]
		}
	}
	among := a.available(t)
	return among[step.Below(draw, uint64(len(among)))]
}

// used counts the partitions that have had a record (RecordAccumulator.TopicInfo.batches).
func (t *topicQueues) used(firstNumber int64) (n int) {
	for _, q := range t.queues {
		if q.next != firstNumber {
			n++
		}
	}
	return n
}

// weighQueues turns queue lengths into cumulative weights max + 1 - length. False
// when there is nothing to weigh: no partition, or all lengths equal with all
// partitions that have had a record present (P-13).
func weighQueues(lengths []int64, partitions int) bool {
	if len(lengths) == 0 {
		return false
	}
	longest, equal := lengths[0], true
	for _, n := range lengths {
		equal = equal && n == lengths[0]
		longest = max(longest, n)
	}
	if equal && len(lengths) == partitions {
		return false
	}
	sum := int64(0)
	for i, n := range lengths {
		sum += longest + 1 - n
		lengths[i] = sum
	}
	return true
}

// pick is the first index whose cumulative weight is above at, which is drawn below
// the total.
func pick(cumulative []int64, at int64) int {
	for i, c := range cumulative {
		if c > at {
			return i
		}
	}
	panic("client: a draw beyond the total weight")
}

// available lists the partitions that have a leader; if none has, as many numbers as there are
// partitions, from 0 on, whether these are known or not. It is scratch: valid until the next choice.
func (a *accumulator) available(t *topicQueues) []int32 {
	t.eligible = t.eligible[:0]
	for p := range t.info.partitions {
		if leader, _ := a.meta.leaderOf(t.info, int32(p)); leader != kafka.NoNode {
			t.eligible = append(t.eligible, int32(p))
		}
	}
	if len(t.eligible) == 0 {
		for p := range t.info.count {
			t.eligible = append(t.eligible, int32(p))
		}
	}
	return t.eligible
}

func (c *chooser) draw(in *step.Input) uint64 { return c.draws.draw(in, "producer/partition") }
