package client

import (
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"github.com/simkafka/simkafka/model/config"
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/record"
	"github.com/simkafka/simkafka/model/step"
)

// logs is what the fake brokers have appended, by partition.
type logs map[kafka.TopicPartition][]int64

// answer takes a request's records in, if err allows, and answers.
func (g logs) answer(req kmsg.Request, err kafka.ErrorCode) kmsg.Response {
	p, ok := req.(*kmsg.ProduceRequest)
	if !ok {
		return respond(req, func(kafka.TopicPartition) partReply { return partReply{err: err} })
	}
	bases := map[kafka.TopicPartition]int64{}
	for _, t := range p.Topics {
		for _, part := range t.Partitions {
			tp := kafka.TopicPartition{Topic: t.Topic, Partition: part.Partition}
			bases[tp] = int64(len(g[tp]))
			if err == kafka.NotEnoughReplicas || err == kafka.MessageTooLarge {
				continue // any other error may come after the append, and here it does
			}
			var it record.Iterator
			for it.Reset(record.Batch(part.Records)); it.Next(); {
				_, n, _, _ := ParseValue(it.Record().Value)
				g[tp] = append(g[tp], n)
			}
		}
	}
	return respond(req, func(tp kafka.TopicPartition) partReply { return partReply{err: err, offset: bases[tp]} })
}

// chaos answers, cuts and waits at random, then lets everything succeed.
func chaos(t *rapid.T, l *lab, g logs) {
	errs := []kafka.ErrorCode{kafka.None, kafka.None, kafka.None, kafka.NotEnoughReplicas, kafka.NotEnoughReplicasAfterAppend,
		kafka.NotLeaderOrFollower, kafka.RequestTimedOut, kafka.MessageTooLarge, kafka.KafkaStorageError}
	for range rapid.IntRange(1, 60).Draw(t, "steps") {
		broker := rapid.Int32Range(1, 3).Draw(t, "broker")
		switch rapid.IntRange(0, 5).Draw(t, "what") {
		case 0:
			l.cut(broker)
		case 1:
			epoch := rapid.Int32Range(0, 9).Draw(t, "epoch")
			l.lead("orders", epoch, broker, broker%3+1, rapid.SampledFrom([]int32{-1, 1, 2, 3}).Draw(t, "leader"))
		case 2, 3:
			if l.waiting(broker) > 0 {
				c, r := l.take(broker)
				l.answer(c, r, g.answer(r.req, rapid.SampledFrom(errs).Draw(t, "error")))
			}
		default:
			l.advance(kafka.Millisecond * kafka.Nanos(rapid.Int64Range(1, 700).Draw(t, "ms")))
		}
	}
	l.lead("orders", 10, 1, 2, 3)
	for range 400 {
		for broker := int32(1); broker <= 3; broker++ {
			for l.waiting(broker) > 0 {
				c, r := l.take(broker)
				l.answer(c, r, g.answer(r.req, kafka.None))
			}
		}
		l.advance(kafka.Second)
	}
}

// fate checks that every record of every partition ended once, and returns which
// ones were acknowledged.
func fate(t *rapid.T, events []event.Event, p *Producer) map[kafka.TopicPartition][]bool {
	acked := map[kafka.TopicPartition][]bool{}
	seen := map[kafka.TopicPartition][]bool{}
	for _, q := range p.topic.queues {
		acked[q.tp], seen[q.tp] = make([]bool, q.next), make([]bool, q.next)
	}
	for i := range events {
		e := &events[i]
		if e.Kind != event.RecordAcked && e.Kind != event.RecordFailed || e.First < 0 {
			continue
		}
		for n := e.First; n < e.First+int64(e.Count); n++ {
			if seen[e.TP][n] {
				t.Fatalf("record %d of %v ended twice", n, e.TP)
			}
			seen[e.TP][n], acked[e.TP][n] = true, e.Kind == event.RecordAcked
		}
	}
	for tp, s := range seen {
		if i := slices.Index(s, false); i >= 0 {
			t.Fatalf("record %d of %v never ended", i, tp)
		}
	}
	return acked
}

func drawProducer(t *rapid.T, cfg *config.Producer) *Producer {
	cfg.BatchSize = rapid.SampledFrom([]int32{0, 300, 16384}).Draw(t, "batch.size")
	cfg.Linger = kafka.Millis(rapid.SampledFrom([]int64{0, 5, 50}).Draw(t, "linger.ms"))
	cfg.BufferMemory = rapid.SampledFrom([]int64{20_000, 32 << 20}).Draw(t, "buffer.memory")
	return NewProducer(ProducerConfig{Producer: cfg, Number: 7, Bootstrap: []step.Addr{addrOf(1)}, Workload: Workload{
		Topic: "orders", RatePerMil: 50_000, RecordSize: 80, Partition: -1, Count: 100, KeyCount: rapid.Int64Range(0, 3).Draw(t, "keys")}})
}

func TestEveryRecordEndsOnceAndAckedOnesAreInTheLog(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := labProducerConfig()
		cfg.MaxInFlight = rapid.IntRange(1, 5).Draw(t, "max.in.flight")
		cfg.Acks = rapid.SampledFrom([]int8{-1, 1}).Draw(t, "acks")
		cfg.RequestTimeout, cfg.DeliveryTimeout = kafka.Second, 5*kafka.Second
		p := drawProducer(t, cfg)
		l, g := newLab(discard{}, p), logs{}
		l.quiet = true
		l.lead("orders", 0, 1, 2, 3)
		l.do(step.Input{Kind: step.Boot})
		chaos(t, l, g)
		if !p.Finished() || p.acc.free != cfg.BufferMemory || p.acc.records != 0 || len(p.acc.active) != 0 {
			t.Fatalf("not at rest: %d pending, %d bytes free, %d active", p.Pending(), p.acc.free, len(p.acc.active))
		}
		for tp, acked := range fate(t, l.events, p) {
			for n, ok := range acked {
				if ok && !slices.Contains(g[tp], int64(n)) {
					t.Fatalf("record %d of %v was acknowledged but is not in the log", n, tp)
				}
			}
		}
		checkCertainty(t, l.events, g)
	})
}

// checkCertainty: a record that failed for certain is in no log (cluster 6.5).
func checkCertainty(t *rapid.T, events []event.Event, g logs) {
	for i := range events {
		e := &events[i]
		for n := e.First; e.Kind == event.RecordFailed && !e.Flag && n < e.First+int64(e.Count); n++ {
			if slices.Contains(g[e.TP], n) {
				t.Fatalf("record %d of %v surely failed but is in the log", n, e.TP)
			}
		}
	}
}

func TestOneRequestInFlightKeepsTheOrderOfFirstAppends(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := labProducerConfig()
		cfg.MaxInFlight, cfg.DeliveryTimeout = 1, kafka.Hour
		cfg.RequestTimeout = kafka.Second
		p := drawProducer(t, cfg)
		l, g := newLab(discard{}, p), logs{}
		l.quiet = true
		l.lead("orders", 0, 1, 2, 3)
		l.do(step.Input{Kind: step.Boot})
		chaos(t, l, g)
		fate(t, l.events, p)
		for tp, numbers := range g {
			last := int64(-1)
			for i, n := range numbers {
				if slices.Contains(numbers[:i], n) {
					continue // a retry of what was appended
				}
				if n < last {
					t.Fatalf("%v: %d after %d in %v", tp, n, last, numbers)
				}
				last = n
			}
		}
	})
}

func TestSameSeedSameEvents(t *testing.T) {
	run := func() []event.Event {
		cfg := labProducerConfig()
		cfg.Linger = 3 * kafka.Millisecond
		p := NewProducer(ProducerConfig{Producer: cfg, Bootstrap: []step.Addr{addrOf(1)}, Workload: Workload{
			Topic: "orders", RatePerMil: 500_000, Arrival: Exponential, RecordSize: 50, Partition: -1, KeyCount: 4, Count: 200}})
		l, g := newLab(t, p), logs{}
		l.quiet = true
		l.lead("orders", 0, 1, 2, 3)
		l.do(step.Input{Kind: step.Boot})
		for range 100 {
			l.advance(10 * kafka.Millisecond)
			for broker := int32(1); broker <= 3; broker++ {
				for l.waiting(broker) > 0 {
					c, r := l.take(broker)
					l.answer(c, r, g.answer(r.req, kafka.None))
				}
			}
		}
		return l.events
	}
	a, b := run(), run()
	if len(a) < 100 || !slices.EqualFunc(a, b, func(x, y event.Event) bool {
		return x.Kind == y.Kind && x.Time == y.Time && x.TP == y.TP && x.First == y.First && x.Count == y.Count
	}) {
		t.Errorf("%d and %d events differ", len(a), len(b))
	}
}

func TestALaterLifeNumbersItsRecordsAnew(t *testing.T) {
	p := NewProducer(ProducerConfig{Producer: labProducerConfig(), Workload: Workload{Topic: "orders"}})
	in := &step.Input{Kind: step.Boot, Incarnation: 3}
	if err := p.Step(in, step.NewEffects()); err != nil {
		t.Fatal(err)
	}
	if n := p.acc.queue(p.topic, 0).next; n != 2<<40 {
		t.Errorf("first number %d", n)
	}
}

// discard is the testing.TB of a lab inside a property: its failures panic.
type discard struct{ testing.TB }

func (discard) Helper()                   {}
func (discard) Fatal(args ...any)         { panic(args) }
func (discard) Fatalf(f string, a ...any) { panic(f) }
