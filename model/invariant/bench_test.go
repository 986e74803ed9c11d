package invariant

import (
	"testing"

	"github.com/simkafka/simkafka/model/config"
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

// steady makes the facts of a healthy cluster: 12 partitions with three replicas, a
// producer and a consumer; 13 facts for each batch.
type steady struct {
	s    *Suite
	tp   [12]kafka.TopicPartition
	ends [12]kafka.Offset
	isr  []kafka.NodeID
	now  kafka.Nanos
	e    event.Event
}

func newSteady(t testing.TB) *steady {
	profile, ok := config.ProfileByName("zk-3.9")
	if !ok {
		t.Fatal("no profile")
	}
	x := &steady{isr: []kafka.NodeID{1, 2, 3}}
	x.s = NewSuite(Setup{Profile: profile, Brokers: 3, Topics: []Topic{{Name: "orders", MinISR: 2}}})
	for i := range x.tp {
		x.tp[i] = kafka.TopicPartition{Topic: "orders", Partition: int32(i)}
		x.note(event.Event{Kind: event.AssignmentChanged, TP: x.tp[i], Replicas: x.isr})
		x.note(event.Event{Kind: event.PartitionChanged, TP: x.tp[i], Leader: 1, ISR: x.isr})
		for n := kafka.NodeID(1); n <= 3; n++ {
			x.note(event.Event{Kind: event.ReplicaLoaded, TP: x.tp[i], Node: n})
		}
		x.note(event.Event{Kind: event.BecameLeader, TP: x.tp[i], Node: 1, ISR: x.isr})
		x.note(event.Event{Kind: event.BecameFollower, TP: x.tp[i], Node: 2, Leader: 1})
		x.note(event.Event{Kind: event.BecameFollower, TP: x.tp[i], Node: 3, Leader: 1})
	}
	return x
}

func (x *steady) note(e event.Event) {
	x.now += kafka.Microsecond
	x.e = e
	x.e.Time = x.now
	x.s.Observe(&x.e)
}

// produce makes the facts of one batch of two records.
func (x *steady) produce(i int) {
	tp, base := x.tp[i], x.ends[i]
	end := base + 2
	x.ends[i] = end
	x.note(event.Event{Kind: event.BatchSent, Actor: "p", TP: tp, Producer: 1, First: int64(base), Count: 2})
	for n := kafka.NodeID(1); n <= 3; n++ {
		x.note(event.Event{Kind: event.BatchAppended, TP: tp, Node: n, Base: base, Last: end - 1, Count: 2, CRC: uint32(base), LEO: end, Flag: n == 1})
		x.note(event.Event{Kind: event.LEOPublished, TP: tp, Node: n, LEO: end})
	}
	x.note(event.Event{Kind: event.HighWatermark, TP: tp, Node: 1, HW: end, LEO: end, Flag: true, ISR: x.isr, MaximalISR: x.isr})
	x.note(event.Event{Kind: event.ProduceAnswered, TP: tp, Node: 1, Acks: -1, Base: base, Last: end - 1, HW: end, MaximalISR: x.isr})
	x.note(event.Event{Kind: event.RecordAcked, Actor: "p", TP: tp, Producer: 1, First: int64(base), Count: 2, Base: base, Last: end - 1, Acks: -1})
	x.note(event.Event{Kind: event.RecordDelivered, Actor: "c", TP: tp, Node: 1, Base: base, Last: end - 1, CRC: uint32(base), Count: 2, Producer: 1, First: int64(base)})
	for n := kafka.NodeID(2); n <= 3; n++ {
		x.note(event.Event{Kind: event.HighWatermark, TP: tp, Node: n, HW: end, LEO: end})
	}
}

const factsPerBatch = 13

func BenchmarkObserveSteadyStream(b *testing.B) {
	x := newSteady(b)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		x.produce(n % len(x.tp))
		n++
	}
	if len(x.s.violations) > 0 {
		b.Fatal(x.s.violations[0].What)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n)/factsPerBatch, "ns/fact")
}

func TestSteadyStreamAllocatesNextToNothing(t *testing.T) {
	x := newSteady(t)
	for n := range 2000 * len(x.tp) {
		x.produce(n % len(x.tp))
	}
	n := 0
	per := testing.AllocsPerRun(20*chunkSize*len(x.tp), func() {
		x.produce(n % len(x.tp))
		n++
	})
	if per > 0.1 { // a chunk of batches now and then
		t.Errorf("%v allocations a batch", per)
	}
	if len(x.s.violations) > 0 {
		t.Fatal(x.s.violations[0].What)
	}
}

func TestGhostOfOldBatchesIsBounded(t *testing.T) {
	x := newSteady(t)
	for range 3 * keptChunks * chunkSize {
		x.produce(0)
	}
	p := x.s.g.partition(x.tp[0])
	kept := 0
	for _, b := range p.branches {
		for i := range b.chunks {
			kept += len(b.chunks[i].entries)
		}
	}
	if kept > (keptChunks+1)*chunkSize || len(p.acks.ring) > keptAcks {
		t.Errorf("%d batches and %d acknowledgements are kept", kept, len(p.acks.ring))
	}
}
