// Package kernel runs actors over a virtual clock: the event queue, the step
// loop, lanes, crash rules and the fingerprint of DESIGN 3 and 4.
//
// One thread, one queue. Time is integer nanoseconds and jumps from event to
// event. An event of a run is one executed step, numbered from 1; each knows the
// step that caused it. Draws are keyed by names, so that adding an actor or
// removing a fault shifts no other draw (simulation 6.4).
//
// The queue is a binary heap of 32-byte values (see Queue). Measured beside
// container/heap of pointers in alternating rounds, hold model, fingerprint on:
// 2.4, 2.8 and 3.0 times its rate at 10^2, 10^4 and 10^6 pending with exponential
// delays, 3.3, 3.4 and 3.4 with a Kafka-like mix; nothing allocated. A 4-ary heap
// of the same entries was at best level and a third slower when most timers are
// cancelled. Choosing the smaller child without a branch gained a fifth up to 10^4
// pending and lost half at 10^6, so large heaps branch.
//
// A step's code runs when a worker takes its input; what it charged and what its
// vfs calls cost keep the worker busy. Its timers are armed then for not before
// that time is spent; its sends are carried out when it is, by an event of their
// own if that is later. A lane that is free takes an input without any further
// event, and workers without work cost none.
//
// Left out: cores (the workers of a node do not compete for CPU), the freezing of
// a step that is under way when its node is paused (its end waits for the resume,
// its service time goes on), cancellation of a planned crash.
package kernel

import (
	"math"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
)

// ActorID is the index of an actor, in the order of Add.
type ActorID uint16

// NoActor is nobody: the simulator itself.
const NoActor ActorID = 1<<16 - 1

// epoch2025 is 2025-01-01T00:00:00Z.
const epoch2025 kafka.TimestampMs = 1735689600000

// What a queue entry is for: the low byte of its tag.
const (
	entryTimer uint32 = iota
	entryNetwork
	entryStepEnd
	entryFlush
	entryCall
	entryCrash
)

// Kernel is one simulation. Its methods may be called from callbacks (At,
// observers, hooks) and between runs, by one goroutine.
type Kernel struct {
	cfg    Config
	now    kafka.Nanos
	epoch  kafka.TimestampMs
	q      Queue
	timers []timerBody // by queue slot
	ready  ring        // inputs that are due now, before the queue's
	cont   contWork    // a worker that became free within this instant

	actors []*actor
	byName map[string]ActorID
	net    Network
	draws  step.Draws

	events  uint64 // steps executed
	turns   uint64 // things dispatched, steps and bookkeeping
	popped  uint64 // entries of the queue that came due
	current uint64 // number of the running step, 0 outside
	running *actor // whose step code runs
	stopAt  uint64
	limit   uint64 // the lower of stopAt and Config.MaxEvents
	halted  bool

	in      step.Input
	eff     step.Effects
	scratch []byte
	packet  Packet // lent to the network

	calls    []func()
	freeCall []uint32
	flushes  []flush
	freeFl   []uint32
	handles  []uint32

	fp           Fingerprint
	checkpoints  []Checkpoint
	checkpointAt uint64 // number of the event after which the next is taken
	observers    []Observer
	recorder     Recorder
	before       []func(ActorID, *step.Input)
	after        []func(ActorID, *step.Input, *step.Effects)
	onExit       []func(Exit)
	assertions   []Assertion
	record       Record
}

// New makes a kernel without actors.
func New(cfg Config) *Kernel {
	if cfg.CheckpointEvery == 0 {
		cfg.CheckpointEvery = 4096
	}
	if cfg.Epoch == 0 {
		cfg.Epoch = epoch2025
	}
	k := &Kernel{cfg: cfg, epoch: cfg.Epoch, byName: make(map[string]ActorID), draws: step.NewDraws(cfg.Seed), checkpointAt: cfg.CheckpointEvery}
	k.StopAt(0)
	return k
}

// SetNetwork attaches the network; before the first Boot.
func (k *Kernel) SetNetwork(n Network) { k.net = n }

// Now is the time of the event being handled, or the end of the last Run.
func (k *Kernel) Now() kafka.Nanos { return k.now }

// Epoch is the wall clock at virtual time zero, of a node whose clock is right.
func (k *Kernel) Epoch() kafka.TimestampMs { return k.epoch }

// Events counts the steps executed so far; it is the number of the last one.
func (k *Kernel) Events() uint64 { return k.events }

// Dispatched counts the entries of the event queue that came due: messages that
// arrive, timers, ends of steps, flushes, calls.
func (k *Kernel) Dispatched() uint64 { return k.popped }

// Pending counts what is scheduled: timers, messages, ends of steps, calls.
func (k *Kernel) Pending() int { return k.q.Len() }

// Draws is the run's root source; callers take a Sub of it.
func (k *Kernel) Draws() step.Draws { return k.draws }

// Fingerprint covers every step so far.
func (k *Kernel) Fingerprint() Fingerprint { return k.fp }

// Checkpoints lists the fingerprint after every CheckpointEvery events. The slice
// is the kernel's.
func (k *Kernel) Checkpoints() []Checkpoint { return k.checkpoints }

// Assertions lists the panics of actors so far.
func (k *Kernel) Assertions() []Assertion { return k.assertions }

// Observe adds an observer; they are called in the order of being added.
func (k *Kernel) Observe(o Observer) { k.observers = append(k.observers, o) }

// SetRecorder sets the receiver of the full event stream; nil for none.
func (k *Kernel) SetRecorder(r Recorder) { k.recorder = r }

// BeforeStep and AfterStep add hooks around each step's code. Input and effects
// are only lent; after runs before the effects are carried out.
func (k *Kernel) BeforeStep(f func(ActorID, *step.Input)) { k.before = append(k.before, f) }

// AfterStep: see BeforeStep.
func (k *Kernel) AfterStep(f func(ActorID, *step.Input, *step.Effects)) { k.after = append(k.after, f) }

// OnExit adds a hook that is called when a process has ended, after its
// connections and timers are gone; the disk takes its crash image there.
func (k *Kernel) OnExit(f func(Exit)) { k.onExit = append(k.onExit, f) }

// StopAt makes Run return after event number n; 0 is never.
func (k *Kernel) StopAt(n uint64) {
	k.stopAt, k.limit = n, math.MaxUint64
	if n != 0 {
		k.limit = n
	}
	if k.cfg.MaxEvents != 0 {
		k.limit = min(k.limit, k.cfg.MaxEvents)
	}
}

// Halt makes Run return before the next event.
func (k *Kernel) Halt() { k.halted = true }

// Note notes a fact of the simulator: Time and Seq (the last event) are filled.
// Actor stays as given.
func (k *Kernel) Note(ev event.Event) {
	ev.Time, ev.Seq = k.now, k.events
	k.tell(&ev)
}

func (k *Kernel) tell(ev *event.Event) {
	for _, o := range k.observers {
		o.Event(ev)
	}
}

// At calls fn at a time (now if it is past), before everything else due then. The
// call can be withdrawn by Cancel.
func (k *Kernel) At(at kafka.Nanos, fn func()) Handle {
	var i uint32
	if n := len(k.freeCall); n > 0 {
		i = k.freeCall[n-1]
		k.freeCall = k.freeCall[:n-1]
		k.calls[i] = fn
	} else {
		i = uint32(len(k.calls))
		k.calls = append(k.calls, fn)
	}
	return k.q.Arm(max(at, k.now), World, 0, entryCall, uint64(i))
}

// Cancel withdraws what At or Schedule returned; false if it is no longer pending.
func (k *Kernel) Cancel(h Handle) bool { return k.q.Cancel(h) }

// Run handles everything due up to and including until, then sets the clock to it.
func (k *Kernel) Run(until kafka.Nanos) Stop {
	for {
		if k.halted || k.events >= k.limit || k.idles() {
			return k.stopped()
		}
		if !k.turn(until) {
			k.now = max(k.now, until)
			return ReachedTime
		}
	}
}

// Step goes on until one more step was executed; false if there was none, or the
// run was stopped.
func (k *Kernel) Step() bool {
	n := k.events
	for k.events == n {
		if k.halted || k.events >= k.limit || k.idles() {
			k.stopped()
			return false
		}
		if !k.turn(kafka.Forever - 1) {
			return false
		}
	}
	return true
}

// maxIdleTurns bounds bookkeeping without any step: more is a loop.
const maxIdleTurns = 1 << 20

func (k *Kernel) idles() bool { return k.turns-k.events > maxIdleTurns+k.events*64 }

// stopped is why Run stops before its time.
func (k *Kernel) stopped() Stop {
	switch {
	case k.halted:
		k.halted = false
		return Halted
	case k.stopAt != 0 && k.events >= k.stopAt:
		return ReachedStop
	}
	return Limited
}

// turn dispatches one thing: a worker that can go on, an input that is due, or the
// queue's earliest entry. At most one step is executed. False: nothing due.
func (k *Kernel) turn(until kafka.Nanos) bool {
	k.turns++
	if k.cont.a != nil {
		c := k.cont
		k.cont = contWork{}
		k.goOn(c)
		return true
	}
	if k.ready.n > 0 {
		it := k.ready.pop()
		k.take(&it)
		return true
	}
	if k.q.Next() > until || k.q.Len() == 0 {
		return false
	}
	e := k.q.Pop()
	k.popped++
	k.now = e.At
	k.dispatch(&e)
	return true
}

func (k *Kernel) dispatch(e *Entry) {
	switch e.Tag & 0xff {
	case entryTimer:
		k.fireTimer(e)
	case entryNetwork:
		k.net.Fire(e.Arg)
	case entryStepEnd:
		it := item{actor: ActorID(e.Tag >> 16), end: true, inc: int32(e.Arg >> 32), worker: uint8(e.Arg)}
		it.in.lane = step.Lane(e.Tag >> 8)
		k.take(&it)
	case entryFlush:
		k.endFlush(uint32(e.Arg))
	case entryCall:
		i := uint32(e.Arg)
		fn := k.calls[i]
		k.calls[i] = nil
		k.freeCall = append(k.freeCall, i)
		fn()
	case entryCrash:
		a := k.actors[e.Tag>>16]
		if a.state == Running && a.incarnation == int32(e.Arg) {
			k.Crash(a.id, a.crashReason, a.crashMode)
		}
	}
}

// tag packs the owner's word of a queue entry.
func tag(a ActorID, l step.Lane, entry uint32) uint32 {
	return uint32(a)<<16 | uint32(l)<<8 | entry
}

// tie is 0, or in exploration mode the next draw of the actor that the entry is for.
func (k *Kernel) tie(a *actor) uint32 {
	if !k.cfg.ExploreTies {
		return 0
	}
	a.ties++
	return uint32(a.tieDraws.At(a.ties) >> (64 - tieBits))
}

// Schedule makes the network's Fire be called with arg at a time. to is the actor
// that it concerns, whose tie draws it takes.
func (k *Kernel) Schedule(at kafka.Nanos, to ActorID, arg uint64) Handle {
	return k.q.Arm(max(at, k.now), Inputs, k.tie(k.actors[to]), tag(to, 0, entryNetwork), arg)
}

// Deliver queues an input for an actor, due now, behind what is already due now.
// It is dropped if the actor's process is not there.
func (k *Kernel) Deliver(to ActorID, d *Delivery) {
	a := k.actors[to]
	if a.state != Running || a.doomed {
		return
	}
	if k.cfg.CheckWire && d.Body != nil {
		k.checkWire(d)
	}
	it := k.ready.place()
	it.actor, it.end, it.worker, it.inc = to, false, 0, a.incarnation
	in := &it.in
	in.kind, in.lane, in.timer, in.conn, in.corr, in.from = d.Kind, d.Lane, 0, d.Conn, d.Correlation, d.From
	in.parent, in.arg, in.ref, in.body = d.Parent, d.Digest, 0, d.Body
	if d.Err != nil {
		in.body = d.Err
	}
}
