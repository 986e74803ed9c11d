package kernel

import (
	"container/heap"
	"fmt"
	"math"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/simkafka/simkafka/model/kafka"
)

// rng is SplitMix64.
type rng uint64

func (r *rng) next() uint64 {
	*r += 0x9e3779b97f4a7c15
	z := uint64(*r)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// delays draws 2^16 delays in ns: "exp" has a mean of 1 ms; "kafka" is 80 % network
// and disk (0.05 to 2 ms), 15 % short timers (5 to 500 ms), 5 % long ones (1 to 30 s).
func delays(mix string) []kafka.Nanos {
	r := rng(42)
	u := func() float64 { return (float64(r.next()>>11) + 0.5) / (1 << 53) }
	d := make([]kafka.Nanos, 1<<16)
	for i := range d {
		x := u()
		switch {
		case mix == "exp":
			d[i] = kafka.Nanos(-math.Log(x) * 1e6)
		case x < 0.80:
			d[i] = kafka.Nanos(50e3 + u()*2e6)
		case x < 0.95:
			d[i] = kafka.Nanos(5e6 + u()*495e6)
		default:
			d[i] = kafka.Nanos(1e9 + u()*29e9)
		}
	}
	return d
}

// The anchor: container/heap over pointers, what most simulators in Go do.
type anchorEvent struct {
	at    int64
	seq   uint64
	actor uint32
	arg   uint64
}
type anchorHeap []*anchorEvent

func (h anchorHeap) Len() int { return len(h) }
func (h anchorHeap) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].seq < h[j].seq
}
func (h anchorHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *anchorHeap) Push(x any)   { *h = append(*h, x.(*anchorEvent)) }
func (h *anchorHeap) Pop() any {
	o := *h
	n := len(o) - 1
	x := o[n]
	o[n] = nil
	*h = o[:n]
	return x
}

// hold is the hold model: each event goes to an actor through an interface, which
// schedules one later event.
type hold struct {
	q      Queue
	fp     Fingerprint
	anchor anchorHeap
	seq    uint64
	now    kafka.Nanos
	rng    rng
	inc    []kafka.Nanos
	actors []holder
}

type holder interface{ handle(h *hold, arg uint64) }

type holdNode struct{ n, sum uint64 }

func (a *holdNode) handle(h *hold, arg uint64) { a.n++; a.sum += arg }

const holdActors = 1024

func newHold(mix string, n int, anchor bool) *hold {
	h := &hold{rng: 7, inc: delays(mix)}
	for range holdActors {
		h.actors = append(h.actors, &holdNode{})
	}
	for i := range n {
		r := h.rng.next()
		h.push(h.inc[r&(1<<16-1)], uint32(i)%holdActors, anchor)
	}
	return h
}

func (h *hold) push(d kafka.Nanos, to uint32, anchor bool) {
	h.seq++
	if anchor {
		heap.Push(&h.anchor, &anchorEvent{at: int64(h.now + d), seq: h.seq, actor: to, arg: h.seq})
		return
	}
	h.q.Push(h.now+d, Inputs, 0, to, h.seq)
}

func (h *hold) run(n int, anchor bool) {
	for range n {
		var to uint32
		var arg uint64
		if anchor {
			e := heap.Pop(&h.anchor).(*anchorEvent)
			h.now, to, arg = kafka.Nanos(e.at), e.actor, e.arg
		} else {
			e := h.q.Pop()
			h.now, to, arg = e.At, e.Tag, e.Arg
			h.fp.Fold(mum(uint64(e.At)^mixC, e.Seq()^mixD) ^ mum(uint64(to)^mixE, arg^mixF))
		}
		h.actors[to].handle(h, arg)
		r := h.rng.next()
		h.push(h.inc[r&(1<<16-1)], uint32(r>>16)%holdActors, anchor)
	}
}

// PA1: ours against container/heap in alternating rounds; the metric x is the
// median ratio of the times. The gates are 1.9, 2.0 and 2.4 at 10^2, 10^4 and 10^6
// pending, with the fingerprint on and no allocation.
func BenchmarkHold(b *testing.B) {
	for _, mix := range []string{"exp", "kafka"} {
		for _, n := range []int{100, 10_000, 1_000_000} {
			b.Run(fmt.Sprintf("%s/%d", mix, n), func(b *testing.B) {
				ours, anchor := newHold(mix, n, false), newHold(mix, n, true)
				ours.run(min(2*n, 200_000), false)
				anchor.run(min(2*n, 200_000), true)
				const round = 50_000
				var ratios, times []float64
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
				for b.Loop() {
					t0 := threadCPU()
					anchor.run(round, true)
					t1 := threadCPU()
					ours.run(round, false)
					d := threadCPU() - t1
					ratios = append(ratios, float64(t1-t0)/float64(d))
					times = append(times, float64(d)/round)
				}
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(median(ratios), "x")
				b.ReportMetric(median(times), "ns/event")
			})
		}
	}
}

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
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

// cancelMix: each event also re-arms its actor's 30 s timeout.
type cancelMix struct {
	q     Queue
	fp    Fingerprint
	now   kafka.Nanos
	rng   rng
	timer []Handle
	peak  int
	fired int
}

func newCancelMix(actors int) *cancelMix {
	c := &cancelMix{rng: 99, timer: make([]Handle, actors)}
	for i := range actors {
		c.q.Push(kafka.Nanos(i)*1000, Inputs, 0, uint32(i), 0)
	}
	return c
}

func (c *cancelMix) run(n int) {
	for i := 0; i < n; {
		e := c.q.Pop()
		c.now = e.At
		c.fp.Fold(mum(uint64(e.At)^mixC, e.Seq()^mixD))
		if e.Arg == 1 {
			c.fired++
			continue
		}
		i++
		c.q.Push(c.now+50_000+kafka.Nanos(c.rng.next()>>44), Inputs, 0, e.Tag, 0)
		c.q.Cancel(c.timer[e.Tag])
		c.timer[e.Tag] = c.q.Arm(c.now+30*kafka.Second, Inputs, 0, e.Tag, 1)
		c.peak = max(c.peak, c.q.Len())
	}
}

// PA4.
func BenchmarkCancel(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			c := newCancelMix(n)
			c.run(3 * n)
			b.ReportAllocs()
			for b.Loop() {
				c.run(1)
			}
			b.ReportMetric(float64(c.peak)/float64(n), "pending/actor")
		})
	}
}

func TestHoldModelPopsTheOrderOfContainerHeap(t *testing.T) {
	for _, mix := range []string{"exp", "kafka"} {
		a, b := newHold(mix, 1000, false), newHold(mix, 1000, true)
		for i := range 20_000 {
			a.run(1, false)
			if b.run(1, true); a.now != b.now {
				t.Fatalf("%s: event %d at %d, container/heap at %d", mix, i, a.now, b.now)
			}
		}
	}
}

// PA1, PA4: the scheduler allocates nothing once it has grown, and keeps nothing dead.
func TestQueueInSteadyStateAllocatesNothing(t *testing.T) {
	h := newHold("kafka", 1000, false)
	h.run(5000, false)
	if n := testing.AllocsPerRun(10, func() { h.run(1000, false) }); n != 0 {
		t.Errorf("hold: %v allocations", n)
	}
	c := newCancelMix(1000)
	c.run(5000)
	if n := testing.AllocsPerRun(10, func() { c.run(1000) }); n != 0 {
		t.Errorf("cancel: %v allocations", n)
	}
	if c.peak > 2*1000 || c.fired > 0 {
		t.Errorf("%d pending for 1000 live timers and 1000 events, %d fired", c.peak, c.fired)
	}
}
