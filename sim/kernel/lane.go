package kernel

import (
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
)

// input is an Input in waiting.
type input struct {
	kind   step.Kind
	lane   step.Lane
	timer  step.TimerKind
	from   ActorID
	conn   step.ConnID
	corr   int32
	parent uint64
	arg    uint64 // Timer, Done: Arg. Flushed: the id. Messages: the digest.
	ref    uint64 // Timer: the packed TimerRef
	body   any    // Body, Ref or Err
}

// item is an input or the end of a step, for an actor.
type item struct {
	in     input
	actor  ActorID
	end    bool
	worker uint8
	inc    int32
}

// contWork names a worker that may go on within this instant.
type contWork struct {
	a      *actor
	lane   step.Lane
	worker uint8
}

// lane is a pool of workers with one queue.
// Invariant: if fifo is not empty, no worker is free, and the worker that will be
// free first has its end armed (or goes on through cont).
type lane struct {
	workers []worker
	fifo    ring
}

// worker runs one step at a time.
type worker struct {
	busyUntil kafka.Nanos
	armed     bool // an event for the end of its step is in the queue
	exiting   bool
	reason    string
	parent    uint64    // the step whose ops wait
	ops       []step.Op // sends that leave at busyUntil
	done      []input   // continuations, in order
}

func (a *actor) makeLanes(specs []step.LaneSpec) {
	a.serving = noLane
	for len(a.lanes) < len(specs) {
		a.lanes = append(a.lanes, lane{})
	}
	a.lanes = a.lanes[:len(specs)]
	for i, s := range specs {
		l := &a.lanes[i]
		n := max(s.Workers, 1)
		if n > 255 || i >= int(noLane) {
			panic("kernel: too many lanes or workers in " + a.name)
		}
		if len(l.workers) != n {
			l.workers = make([]worker, n)
		}
		if s.Serves {
			a.serving = step.Lane(i)
		}
	}
}

// dropLanes forgets everything that waits in the lanes.
func (a *actor) dropLanes() {
	for i := range a.lanes {
		l := &a.lanes[i]
		l.fifo.reset()
		for j := range l.workers {
			w := &l.workers[j]
			clear(w.ops)
			clear(w.done)
			*w = worker{ops: w.ops[:0], done: w.done[:0]}
		}
	}
}

// free is the lowest worker that can take an input now, or -1.
func (l *lane) free(now kafka.Nanos) int {
	for i := range l.workers {
		if w := &l.workers[i]; !w.armed && w.busyUntil <= now && len(w.done) == 0 {
			return i
		}
	}
	return -1
}

// arm puts the end of a worker's step into the queue.
func (k *Kernel) arm(a *actor, l step.Lane, i int) {
	w := &a.lanes[l].workers[i]
	w.armed = true
	k.q.Push(max(w.busyUntil, k.now), StepEnds, 0, tag(a.id, l, entryStepEnd), uint64(uint32(a.incarnation))<<32|uint64(i))
}

// ensureWake keeps the lane's invariant.
func (k *Kernel) ensureWake(a *actor, li step.Lane) {
	l := &a.lanes[li]
	first := 0
	for i := range l.workers {
		if l.workers[i].busyUntil < l.workers[first].busyUntil {
			first = i
		}
	}
	if w := &l.workers[first]; !w.armed && w.busyUntil < kafka.Forever {
		k.arm(a, li, first)
	}
}

// take handles an item that is due.
func (k *Kernel) take(it *item) {
	a := k.actors[it.actor]
	if a.state != Running || a.incarnation != it.inc {
		return
	}
	if a.paused {
		a.held = append(a.held, *it)
		return
	}
	if it.end {
		k.endStep(a, it.in.lane, it.worker)
		return
	}
	if a.doomed {
		return
	}
	if int(it.in.lane) >= len(a.lanes) {
		k.Fail(a.id, "an input for a lane that the node does not have")
		return
	}
	l := &a.lanes[it.in.lane]
	if l.fifo.n == 0 {
		if w := l.free(k.now); w >= 0 {
			k.run(a, uint8(w), &it.in)
			return
		}
	}
	l.fifo.push(it)
	k.ensureWake(a, it.in.lane)
}

// endStep: a worker's time is spent.
func (k *Kernel) endStep(a *actor, li step.Lane, i uint8) {
	w := &a.lanes[li].workers[i]
	w.armed = false
	if len(w.ops) > 0 {
		k.sends(a, w)
		if a.state != Running {
			return
		}
	}
	if w.exiting {
		k.die(a, Exited, w.reason)
		return
	}
	k.goOn(contWork{a, li, i})
}

// goOn gives a worker without work its next: a continuation, then the lane's
// oldest input. It leaves k.cont set if there may be more at once.
func (k *Kernel) goOn(c contWork) {
	a := c.a
	l := &a.lanes[c.lane]
	w := &l.workers[c.worker]
	if a.doomed {
		return
	}
	if a.paused {
		it := item{actor: a.id, inc: a.incarnation, end: true, worker: c.worker}
		it.in.lane = c.lane
		w.armed = true // the held item stands for the queue's
		a.held = append(a.held, it)
		return
	}
	if len(w.done) > 0 {
		in := w.done[0]
		n := copy(w.done, w.done[1:])
		w.done[n] = input{}
		w.done = w.done[:n]
		k.run(a, c.worker, &in)
		return
	}
	if l.fifo.n > 0 {
		it := l.fifo.pop()
		k.run(a, c.worker, &it.in)
	}
}

// settle is called after a worker's step, when its busyUntil is known: it makes
// sure that whatever waits for the worker will be seen to.
func (k *Kernel) settle(a *actor, li step.Lane, i uint8) {
	l := &a.lanes[li]
	w := &l.workers[i]
	waits := len(w.done) > 0 || l.fifo.n > 0
	if w.busyUntil <= k.now {
		if waits {
			k.cont = contWork{a, li, i}
		}
		return
	}
	if len(w.ops) > 0 || len(w.done) > 0 || w.exiting {
		if !w.armed {
			k.arm(a, li, int(i))
		}
	}
	if l.fifo.n > 0 {
		k.ensureWake(a, li)
	}
}

// ring is a queue of items that keeps its memory.
type ring struct {
	buf  []item // length a power of two, or 0
	head int
	n    int
}

func (r *ring) push(it *item) { *r.place() = *it }

// place is the place of a new last item, whose fields the caller sets all.
func (r *ring) place() *item {
	if r.n == len(r.buf) {
		r.grow()
	}
	p := &r.buf[(r.head+r.n)&(len(r.buf)-1)]
	r.n++
	return p
}

func (r *ring) pop() item {
	p := &r.buf[r.head]
	it := *p
	p.in.body = nil
	r.head = (r.head + 1) & (len(r.buf) - 1)
	r.n--
	return it
}

func (r *ring) grow() {
	b := make([]item, max(8, 2*len(r.buf)))
	for i := range r.n {
		b[i] = r.buf[(r.head+i)&(len(r.buf)-1)]
	}
	r.buf, r.head = b, 0
}

func (r *ring) each(f func(*item)) {
	for i := range r.n {
		f(&r.buf[(r.head+i)&(len(r.buf)-1)])
	}
}

func (r *ring) reset() {
	clear(r.buf)
	r.head, r.n = 0, 0
}
