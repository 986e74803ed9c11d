package invariant

import (
	"github.com/simkafka/simkafka/model/client"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/record"
)

// readBatch is a batch of the final read.
type readBatch struct {
	p     *partition
	entry entry
	epoch kafka.LeaderEpoch
	node  kafka.NodeID
	// expected is the offset at which the batch should begin; first: it is the first
	// batch of the partition.
	expected kafka.Offset
	first    bool

	// ours: every record is one that a producer of the run makes, numbered in order
	// from number on.
	ours     bool
	control  bool   // a control batch
	problem  string // why the records are not ours
	producer int32
	number   int64
	count    int64
	sender   *sender // nil if that producer never sent to this partition
	// fresh counts the records that the read had not found before; top is the highest
	// number that it had.
	fresh int64
	top   int64
}

// reading decodes the final read.
type reading struct {
	it  record.Iterator
	now readBatch
}

func (r *reading) take(g *ghost, tp kafka.TopicPartition, b record.Batch, node kafka.NodeID) *readBatch {
	p := g.partition(tp)
	if p.back.started && b.BaseOffset() < p.back.next {
		p.readAgain()
	}
	r.now = readBatch{p: p, node: node, epoch: b.PartitionLeaderEpoch(), expected: p.back.next, first: !p.back.started,
		entry: entry{b.BaseOffset(), b.CRC(), uint32(b.LastOffset() - b.BaseOffset() + 1)}, count: int64(b.Count())}
	x := &r.now
	r.decode(x, b)
	if !x.ours {
		return x
	}
	if x.sender = p.knownSender(x.producer, x.number); x.sender != nil {
		x.top = x.sender.top
		x.fresh = x.count - x.sender.present.count(x.number, x.number+x.count)
	}
	return x
}

// decode reads the records' values.
func (r *reading) decode(x *readBatch, b record.Batch) {
	if b.IsControl() {
		x.control, x.problem = true, "a control batch"
		return
	}
	if err := b.Check(); err != nil {
		x.problem = err.Error()
		return
	}
	n := int64(0)
	for r.it.Reset(b); r.it.Next(); n++ {
		producer, number, _, ok := client.ParseValue(r.it.Record().Value)
		switch {
		case !ok:
			x.problem = "a value that no producer makes"
			return
		case n == 0:
			x.producer, x.number = producer, number
		case producer != x.producer || number != x.number+n:
			x.problem = "records of several producers, or out of their order, in one batch"
			return
		}
	}
	if err := r.it.Err(); err != nil {
		x.problem = err.Error()
		return
	}
	x.ours = n > 0
}

// taken enters the batch when the checkers have seen it.
func (r *reading) taken(x *readBatch) {
	p := x.p
	p.back.started, p.back.next = true, x.entry.next()
	if x.sender == nil {
		return
	}
	p.back.duplicated += x.count - x.fresh
	x.sender.present.add(x.number, x.number+x.count)
	x.sender.top = max(x.sender.top, x.number+x.count-1)
}

// readAgain forgets an unfinished read.
func (p *partition) readAgain() {
	p.back = readBack{}
	for _, s := range p.senders {
		s.present, s.top = nil, -1
	}
}
