package simnet

import (
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
	"github.com/simkafka/simkafka/sim/kernel"
	"github.com/simkafka/simkafka/sim/kernel/dist"
)

// pair is a bare actor: no log.
type pair struct {
	step func(in *step.Input, out *step.Effects)
}

func (p *pair) Lanes() []step.LaneSpec {
	return []step.LaneSpec{{Name: "all", Workers: 8, Serves: true}}
}

func (p *pair) Step(in *step.Input, out *step.Effects) error { p.step(in, out); return nil }

// pingPong is two actors that ask and answer without end; each answer takes
// service. Two steps a round trip.
func pingPong(req, resp step.Message, service kafka.Nanos) *kernel.Kernel {
	k := kernel.New(kernel.Config{})
	New(k, Config{Latency: dist.Uniform(200*kafka.Microsecond, 500*kafka.Microsecond)})
	k.Boot(k.Add("s", kernel.Options{}), &pair{func(in *step.Input, out *step.Effects) {
		if in.Kind == step.Request {
			out.Charge(service)
			out.Reply(in.Conn, in.Correlation, resp)
		}
	}}, nil)
	k.Boot(k.Add("c", kernel.Options{}), &pair{func(in *step.Input, out *step.Effects) {
		switch in.Kind {
		case step.Boot:
			out.Connect(0, step.Addr{Host: "s"})
		case step.Opened, step.Response:
			out.Request(in.Conn, 1, req)
		}
	}}, nil)
	k.Run(kafka.Second)
	return k
}

func messages() map[string][2]step.Message {
	preq, presp := kmsg.NewPtrProduceRequest(), kmsg.NewPtrProduceResponse()
	preq.Version, presp.Version = 9, 9
	b := make([]byte, 1100)
	b[10], b[11], b[16] = 1088>>8, 1088&0xff, 2
	preq.Topics = []kmsg.ProduceRequestTopic{{Topic: "orders", Partitions: []kmsg.ProduceRequestTopicPartition{{Records: b}}}}
	p := kmsg.NewProduceResponseTopicPartition()
	presp.Topics = []kmsg.ProduceResponseTopic{{Topic: "orders", Partitions: []kmsg.ProduceResponseTopicPartition{p}}}
	return map[string][2]step.Message{
		"produce":  {preq, presp},
		"metadata": {kmsg.NewPtrMetadataRequest(), kmsg.NewPtrMetadataResponse()},
		"own":      {text("ping"), text("pong")},
	}
}

func TestPingPongAllocatesNothing(t *testing.T) {
	m := messages()
	for _, name := range []string{"produce", "own"} {
		k := pingPong(m[name][0], m[name][1], 20*kafka.Microsecond)
		at := k.Now()
		if n := testing.AllocsPerRun(5, func() { at += 100 * kafka.Millisecond; k.Run(at) }); n > 1 {
			t.Errorf("%s: %v allocations in 100 ms", name, n)
		}
	}
}

// threadCPU is the CPU time of this thread: a busy neighbour does not count.
func threadCPU() time.Duration {
	var u syscall.Rusage
	const thread = 1 // RUSAGE_THREAD
	if err := syscall.Getrusage(thread, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// CPU ns per executed step, everything on: network, latency draws, sizes, fingerprint.
func BenchmarkPingPong(b *testing.B) {
	m := messages()
	for _, name := range []string{"own", "produce", "metadata"} {
		b.Run(name, func(b *testing.B) {
			k := pingPong(m[name][0], m[name][1], 20*kafka.Microsecond)
			b.ReportAllocs()
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			t := threadCPU()
			n := k.Events()
			for b.Loop() {
				k.Step()
			}
			b.ReportMetric(float64(threadCPU()-t)/float64(k.Events()-n), "cpu-ns/step")
		})
	}
}
