package client

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/config"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
)

// bench runs a client against brokers that answer each request a millisecond later;
// it costs little itself.
type bench struct {
	node    step.Node
	out     *step.Effects
	in      step.Input
	timers  []labTimer
	answers []benchAnswer
	reply   func(req kmsg.Request) kmsg.Response
	steps   int
}

type benchAnswer struct {
	at          kafka.Nanos
	conn        step.ConnID
	correlation int32
	resp        kmsg.Response
}

func newBench(node step.Node, l *lab) *bench {
	b := &bench{node: node, out: step.NewEffects()}
	b.in.SetDraws(step.NewDraws(1))
	b.in.Incarnation = 1
	b.reply = func(req kmsg.Request) kmsg.Response {
		if m, ok := req.(*kmsg.MetadataRequest); ok {
			return l.metadata(m)
		}
		return respond(req, func(kafka.TopicPartition) partReply { return partReply{} })
	}
	b.step(step.Boot)
	return b
}

func (b *bench) step(kind step.Kind) {
	b.in.Kind = kind
	b.out.Reset()
	if err := b.node.Step(&b.in, b.out); err != nil {
		panic(err)
	}
	b.steps++
	opened := step.ConnID(0)
	for i := range b.out.Ops {
		switch op := &b.out.Ops[i]; op.Kind {
		case step.OpConnect:
			opened = op.Conn
		case step.OpRequest:
			b.answers = append(b.answers, benchAnswer{b.in.Now + kafka.Millisecond, op.Conn, op.Correlation, b.reply(op.Body.(kmsg.Request))})
		case step.OpSetTimer:
			b.timers = append(b.timers, labTimer{op.At, op.Timer, op.Arg, op.TimerRef})
		case step.OpCancelTimer:
			for i := range b.timers {
				if b.timers[i].ref == op.TimerRef {
					b.timers = append(b.timers[:i], b.timers[i+1:]...)
					break
				}
			}
			b.out.Timers.Release(op.TimerRef)
		}
	}
	if opened != 0 {
		b.in.Conn = opened
		b.step(step.Opened)
	}
}

// next delivers the next answer or timer.
func (b *bench) next() {
	first := 0
	for i := range b.timers {
		if b.timers[i].at < b.timers[first].at {
			first = i
		}
	}
	if len(b.answers) > 0 && b.answers[0].at <= b.timers[first].at {
		a := b.answers[0]
		b.answers = append(b.answers[:0], b.answers[1:]...)
		b.in.Now, b.in.Conn, b.in.Correlation, b.in.Body = a.at, a.conn, a.correlation, a.resp
		b.step(step.Response)
		return
	}
	t := b.timers[first]
	b.timers = append(b.timers[:first], b.timers[first+1:]...)
	b.out.Timers.Release(t.ref)
	b.in.Now, b.in.Timer, b.in.Arg = max(b.in.Now, t.at), t.kind, t.arg
	b.step(step.Timer)
}

func benchProducer(b *testing.B, w Workload, cfg *config.Producer) {
	l := &lab{}
	l.cluster.leaders = map[string][]leaderInfo{}
	partitions := make([]int32, 30)
	for i := range partitions {
		partitions[i] = int32(i%3) + 1
	}
	l.lead("orders", 0, partitions...)
	p := NewProducer(ProducerConfig{Producer: cfg, Bootstrap: []step.Addr{addrOf(1)}, Workload: w})
	h := newBench(p, l)
	for range 1000 {
		h.next()
	}
	// The fake broker's answers are made before: they are not what is measured.
	answer := respond(&kmsg.ProduceRequest{Version: 11, Topics: []kmsg.ProduceRequestTopic{{Topic: "orders"}}}, nil).(*kmsg.ProduceResponse)
	answer.Topics[0].Partitions = []kmsg.ProduceResponseTopicPartition{kmsg.NewProduceResponseTopicPartition()}
	reply := h.reply
	h.reply = func(req kmsg.Request) kmsg.Response {
		r, ok := req.(*kmsg.ProduceRequest)
		if !ok || len(r.Topics[0].Partitions) > 1 {
			return reply(req)
		}
		part := &answer.Topics[0].Partitions[0]
		if len(h.answers) > 0 {
			return reply(req)
		}
		part.Partition = r.Topics[0].Partitions[0].Partition
		return answer
	}
	b.ReportAllocs()
	from, steps := p.called, h.steps
	for b.Loop() {
		before := p.called
		for p.called == before {
			h.next()
		}
	}
	b.ReportMetric(float64(h.steps-steps)/float64(p.called-from), "steps/record")
}

// W1: one request in flight, no linger, 1 KiB records.
func BenchmarkProducerOneInFlight(b *testing.B) {
	cfg := labProducerConfig()
	cfg.MaxInFlight = 1
	benchProducer(b, Workload{Topic: "orders", RatePerMil: 33_000, Arrival: Exponential, RecordSize: 1024, Partition: -1}, cfg)
}

// C1: 100 records a second and producer, linger 5 ms, batches of 16 KiB.
func BenchmarkProducerLinger(b *testing.B) {
	cfg := labProducerConfig()
	cfg.Linger = 5 * kafka.Millisecond
	benchProducer(b, Workload{Topic: "orders", RatePerMil: 100_000, Arrival: Exponential, RecordSize: 1024, Partition: -1}, cfg)
}

// Full batches: 100 bytes at 100,000 records a second.
func BenchmarkProducerThroughput(b *testing.B) {
	cfg := labProducerConfig()
	cfg.Linger = 5 * kafka.Millisecond
	benchProducer(b, Workload{Topic: "orders", RatePerMil: 100_000_000, RecordSize: 100, Partition: -1}, cfg)
}

func BenchmarkConsumerFetch(b *testing.B) {
	l := &lab{}
	l.cluster.leaders = map[string][]leaderInfo{}
	l.lead("orders", 0, 1, 1, 1)
	cfg := labConsumerConfig()
	cfg.AutoOffsetReset = config.ResetEarliest
	h := newBench(NewConsumer(ConsumerConfig{Consumer: cfg, Bootstrap: []step.Addr{addrOf(1)}, Assignment: Assignment{Topics: []string{"orders"}}}), l)
	for range 50 {
		h.next()
	}
	b.ReportAllocs()
	for b.Loop() {
		h.next()
	}
}
