package zkcontroller

import (
	"github.com/simkafka/simkafka/model/step"
	"github.com/simkafka/simkafka/model/zookeeper"
)

// procedure is a piece of controller work that waits for ZooKeeper between its
// steps. Implementations keep a step number.
type procedure interface {
	// step does the next piece of work and says how to go on.
	step(c *Controller) next
}

// abandoned is implemented by events that owe somebody an answer.
type abandoned interface {
	// abandon answers for an event that will not be finished.
	abandon(c *Controller, why reason)
}

// reason is why an event is abandoned.
type reason uint8

const (
	preempted reason = iota // the queue was cleared by a session expiry (Z-7)
	moved                   // a fenced write found another controller (Z-9)
	failed                  // something unexpected in ZooKeeper
)

// next says how the machine goes on after a step.
type next struct {
	kind     nextKind
	requests []zookeeper.Request
	child    procedure
}

type nextKind uint8

const (
	nextDone nextKind = iota
	nextAwait
	nextCall
	nextFail
)

// await sends a batch and runs the next step when all of it is answered; an empty
// batch is answered at once.
func await(requests []zookeeper.Request) next { return next{kind: nextAwait, requests: requests} }

// call runs another procedure to its end, then the next step of this one.
func call(p procedure) next { return next{kind: nextCall, child: p} }

// goOn runs the next step.
func goOn() next { return next{kind: nextAwait} }

// done ends the procedure.
func done() next { return next{} }

// fail ends the whole event for something unexpected in ZooKeeper.
func fail() next { return next{kind: nextFail} }

// awaiting is one batch in flight. An abandoned one is answered to nobody.
type awaiting struct {
	c        *Controller
	requests []zookeeper.Request
}

// Resume takes the answers of a batch.
func (w *awaiting) Resume(in *step.Input, out *step.Effects, results [][]zookeeper.Result) {
	c := w.c
	if c.waiting != w {
		return
	}
	c.waiting = nil
	switch {
	case expiredIn(results):
		// The expiry event itself follows in this step (Z-7); nothing may start before.
		c.expired = true
		c.enter(in, out, func() { c.unwind(failed) })
	case movedIn(w.requests, results):
		c.results = nil
		c.enter(in, out, c.controllerMoved)
	default:
		c.results = results
	}
	c.pump(in, out)
}

func expiredIn(results [][]zookeeper.Result) bool {
	for _, r := range results {
		if zookeeper.Outcome(r) == zookeeper.SessionExpired {
			return true
		}
	}
	return false
}

// movedIn reports whether the version check of a fenced write failed (Z-9).
func movedIn(requests []zookeeper.Request, results [][]zookeeper.Result) bool {
	for i, r := range requests {
		if len(r) > 1 && r[0].Type == zookeeper.OpCheck && results[i][0].Code != zookeeper.OK {
			return true
		}
	}
	return false
}

// maxQueuedEvents bounds the event queue. Watches are one-shot, brokers have one
// AlterPartition and the channels one request in flight, so a full queue is a
// program error.
const maxQueuedEvents = 1 << 16

// put appends an event to the queue; pump starts it. After Shutdown events are
// answered, those that want an answer, and dropped: none of them does anything
// while the controller is inactive but those that elect.
func (c *Controller) put(event procedure) {
	if len(c.queue) == maxQueuedEvents {
		panic("zkcontroller: event queue is full")
	}
	c.queue = append(c.queue, event)
}

// enter runs f with the effects of the present step at hand. A nested call (the
// ZooKeeper client may resume within Do) keeps those of the outer one.
func (c *Controller) enter(in *step.Input, out *step.Effects, f func()) {
	if c.out != nil {
		f()
		return
	}
	c.in, c.out = in, out
	f()
	c.in, c.out = nil, nil
}

// pump runs the current event as far as it goes and then the queued ones.
func (c *Controller) pump(in *step.Input, out *step.Effects) {
	if c.out != nil {
		return // the loop that is running goes on
	}
	c.in, c.out = in, out
	for c.waiting == nil && !c.expired && c.startNext() {
		if c.closed {
			c.unwind(preempted)
		} else {
			c.runStep()
		}
	}
	c.in, c.out = nil, nil
}

// startNext makes sure that there is a procedure to run.
func (c *Controller) startNext() bool {
	if len(c.stack) > 0 {
		return true
	}
	if len(c.queue) == 0 {
		return false
	}
	c.stack = append(c.stack, c.queue[0])
	c.queue[0] = nil
	c.queue = c.queue[1:]
	return true
}

func (c *Controller) runStep() {
	top := len(c.stack) - 1
	n := c.stack[top].step(c)
	switch n.kind {
	case nextDone:
		c.stack[top] = nil
		c.stack = c.stack[:top]
	case nextCall:
		c.stack = append(c.stack, n.child)
	case nextAwait:
		c.results = nil
		if len(n.requests) > 0 {
			c.waiting = &awaiting{c: c, requests: n.requests}
			c.zk.Do(c.in, c.out, n.requests, c.waiting)
		}
	case nextFail:
		c.eventFailed()
	}
}

// unwind abandons the event in progress.
func (c *Controller) unwind(why reason) {
	if len(c.stack) > 0 {
		if a, ok := c.stack[0].(abandoned); ok {
			a.abandon(c, why)
		}
	}
	clear(c.stack)
	c.stack = c.stack[:0]
	c.batch.clear()
	c.waiting, c.results = nil, nil
}

// controllerMoved: ZooKeeper knows a newer controller. What Kafka throws as
// ControllerMovedException ends every event in maybeResign (Z-9).
func (c *Controller) controllerMoved() {
	c.unwind(moved)
	c.stack = append(c.stack, &maybeResign{})
}

// eventFailed ends an event whose procedure met something unexpected. An election
// or failover gives the controllership up (Z-8); other events are just over.
func (c *Controller) eventFailed() {
	electing := false
	for _, p := range c.stack {
		if _, ok := p.(*elect); ok {
			electing = true
		}
	}
	c.unwind(failed)
	if electing {
		c.stack = append(c.stack, &triggerMove{})
	}
}

// sequence runs procedures one after another.
type sequence struct {
	at    int
	parts []procedure
}

func (s *sequence) step(*Controller) next {
	if s.at == len(s.parts) {
		return done()
	}
	s.at++
	return call(s.parts[s.at-1])
}

// act is a procedure of one step that waits for nothing.
type act func(c *Controller)

func (a act) step(c *Controller) next {
	a(c)
	return done()
}
