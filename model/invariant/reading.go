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

	// ours: every record is one that a producer of the run makes, numbered in order:
	// spans, from number on. Only in compacted logs there are gaps.
	ours     bool
	spans    []span
	control  bool   // a control batch
	bare     bool   // no records, which only a cleaner leaves so
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
	r.now = readBatch{p: p, spans: r.now.spans[:0], node: node, epoch: b.PartitionLeaderEpoch(), expected: p.back.next, first: !p.back.started,
		entry: entry{b.BaseOffset(), b.CRC(), uint32(b.LastOffset() - b.BaseOffset() + 1)}, count: int64(b.Count())}
	x := &r.now
	r.decode(x, b)
	if !x.ours {
		return x
	}
	if x.sender = p.knownSender(x.producer, x.number); x.sender != nil {
		x.top = x.sender.top
		x.fresh = x.count - x.in(x.sender.present)
	}
	return x
}

// decode reads the records' values.
func (r *reading) decode(x *readBatch, b record.Batch) {
	if p := x.p; p.keys != nil {
		p.keys.decode(b, 0)
	}
	if b.IsControl() {
		x.control, x.problem = true, "a control batch"
		return
	}
	if err := b.Check(); err != nil {
		x.problem = err.Error()
		return
	}
	for r.it.Reset(b); r.it.Next(); {
		producer, number, _, ok := client.ParseRecord(r.it.Record())
		fresh := len(x.spans) == 0
		switch {
		case !ok:
			x.problem = "a value that no producer makes"
			return
		case fresh:
			x.producer, x.number = producer, number
		case producer != x.producer || number != x.last()+1 && (x.p.keys == nil || number <= x.last()):
			x.problem = "records of several producers, or out of their order, in one batch"
			return
		}
		if fresh || number > x.last()+1 {
			x.spans = append(x.spans, span{number, number})
		}
		x.spans[len(x.spans)-1].hi = number + 1
	}
	if err := r.it.Err(); err != nil {
		x.problem = err.Error()
		return
	}
	x.ours = len(x.spans) > 0
	x.bare = !x.ours && x.p.keys != nil
	x.count = 0
	for _, y := range x.spans {
		x.count += y.hi - y.lo
	}
}

// last is the highest number so far.
func (x *readBatch) last() int64 { return x.spans[len(x.spans)-1].hi - 1 }

// in counts the batch's numbers that are in s.
func (x *readBatch) in(s intervals) (n int64) {
	for _, y := range x.spans {
		n += s.count(y.lo, y.hi)
	}
	return n
}

// taken enters the batch when the checkers have seen it.
func (r *reading) taken(x *readBatch) {
	p := x.p
	p.back.started, p.back.next, p.back.node = true, x.entry.next(), x.node
	if x.sender == nil {
		return
	}
	p.back.duplicated += x.count - x.fresh
	for _, y := range x.spans {
		x.sender.present.add(y.lo, y.hi)
	}
	x.sender.top = max(x.sender.top, x.last())
}

// readAgain forgets an unfinished read.
func (p *partition) readAgain() {
	p.back = readBack{}
	for _, s := range p.senders {
		s.present, s.replaced, s.top = nil, nil, -1
	}
}
