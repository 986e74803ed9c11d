package kernel

import (
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
)

// actor is one crash domain: a name that outlives its processes.
type actor struct {
	k           *Kernel
	id          ActorID
	name        string
	host        string
	nameHash    uint64
	node        step.Node
	disk        Disk
	state       State
	paused      bool
	doomed      bool // a step met ErrCrashed: nothing runs until the crash strikes
	incarnation int32
	lanes       []lane
	serving     step.Lane
	timers      step.TimerTable
	conns       step.ConnID
	draws       step.Draws
	tieDraws    step.Draws
	ties        uint64
	held        []item // what fell due during a pause, in due order
	wallOffset  kafka.Nanos
	slow        int64 // percent of normal service time
	crashAt     kafka.Nanos
	crashMode   Mode
	crashReason string
	hash        uint64 // of this actor's steps alone
}

// Options describes an actor.
type Options struct {
	// Host names the machine; actors on one host reach each other by loopback. Empty:
	// a host of its own.
	Host string
	// WallOffset is the wall clock's error; may be negative.
	WallOffset kafka.Nanos
}

// Add makes an actor, without a process. Names are unique; at most 65,534 actors.
func (k *Kernel) Add(name string, o Options) ActorID {
	if _, dup := k.byName[name]; dup || len(k.actors) >= int(NoActor) {
		panic("kernel: actor " + name + " exists, or there are too many")
	}
	id := ActorID(len(k.actors))
	if o.Host == "" {
		o.Host = name
	}
	d := k.draws.Sub(name)
	a := &actor{k: k, id: id, name: name, host: o.Host, draws: d, tieDraws: d.Sub("sched.tie"),
		nameHash: k.nameHash(name), wallOffset: o.WallOffset, slow: 100, crashAt: kafka.Forever}
	k.actors = append(k.actors, a)
	k.byName[name] = id
	return id
}

func (k *Kernel) nameHash(name string) uint64 {
	var d digest
	d.string(name)
	return uint64(d)
}

// Lookup finds an actor by name.
func (k *Kernel) Lookup(name string) (ActorID, bool) {
	id, ok := k.byName[name]
	return id, ok
}

// Actors counts the actors; their ids are 0 to Actors()-1.
func (k *Kernel) Actors() int { return len(k.actors) }

// Name is the actor's name, "" for NoActor.
func (k *Kernel) Name(a ActorID) string {
	if a == NoActor {
		return ""
	}
	return k.actors[a].name
}

// Host is the actor's machine.
func (k *Kernel) Host(a ActorID) string { return k.actors[a].host }

// State says whether the actor has a process.
func (k *Kernel) State(a ActorID) State { return k.actors[a].state }

// Paused reports whether the actor is paused.
func (k *Kernel) Paused(a ActorID) bool { return k.actors[a].paused }

// Incarnation is the number of the last process, from 1; 0 before the first.
func (k *Kernel) Incarnation(a ActorID) int32 { return k.actors[a].incarnation }

// Node is the running process, nil if there is none. Read-only.
func (k *Kernel) Node(a ActorID) step.Node { return k.actors[a].node }

// Serving is the lane that serves the actor's inbound connections; false if it
// has none, or no process.
func (k *Kernel) Serving(a ActorID) (step.Lane, bool) {
	x := k.actors[a]
	return x.serving, x.state == Running && x.serving != noLane
}

// NodeHash is a hash of the actor's own steps: it tells which actor diverged first.
func (k *Kernel) NodeHash(a ActorID) uint64 { return k.actors[a].hash }

// NewConn numbers a connection that the actor accepts.
func (k *Kernel) NewConn(a ActorID) step.ConnID {
	k.actors[a].conns++
	return k.actors[a].conns
}

const noLane step.Lane = 255

// Boot starts a process: node gets the Boot input now. disk may be nil. The actor
// must not be running.
func (k *Kernel) Boot(id ActorID, n step.Node, disk Disk) {
	a := k.actors[id]
	if a.state == Running {
		panic("kernel: " + a.name + " is running")
	}
	a.node, a.disk = n, disk
	a.state, a.doomed, a.paused = Running, false, false
	a.incarnation++
	a.crashAt = kafka.Forever
	a.makeLanes(n.Lanes())
	if k.net != nil {
		k.net.Booted(id)
	}
	k.Note(event.Event{Kind: event.NodeBooted, Actor: a.name, Count: a.incarnation})
	k.ready.push(&item{actor: id, inc: a.incarnation, in: input{kind: step.Boot, from: NoActor}})
}

// Crash ends a process from outside, now. mode is Kill or Power. During a step of
// the actor's own it strikes at the end of it, before its sends. An actor that
// does not run loses power all the same.
func (k *Kernel) Crash(id ActorID, reason string, mode Mode) {
	a := k.actors[id]
	switch {
	case k.running == a:
		a.crashAt, a.crashReason, a.crashMode = k.now, reason, mode
	case a.state == Running:
		k.die(a, mode, reason)
	case mode == Power && a.state == Down:
		a.state = Off
		if k.net != nil {
			k.net.Died(id, Power)
		}
	}
}

// Fail reports a failed assertion about an actor and ends its process. It is for
// misuse of the contract that shows outside the actor's own code.
func (k *Kernel) Fail(id ActorID, message string) {
	a := k.actors[id]
	k.assert(a, &Assertion{Message: message})
	if a.state == Running {
		k.die(a, Exited, message)
	}
}

// CrashAt plans a crash of the present process, so that a vfs call under way then
// fails. An earlier plan stays; false then, or if there is no process.
func (k *Kernel) CrashAt(id ActorID, at kafka.Nanos, reason string, mode Mode) bool {
	a := k.actors[id]
	if a.state != Running || a.crashAt <= at {
		return false
	}
	a.crashAt, a.crashReason, a.crashMode = max(at, k.now), reason, mode
	k.q.Push(a.crashAt, World, 0, tag(id, 0, entryCrash), uint64(uint32(a.incarnation)))
	return true
}

// Pause stops the process as SIGSTOP or a long collection would: what falls due
// for it waits.
func (k *Kernel) Pause(id ActorID) bool {
	a := k.actors[id]
	if a.state != Running || a.paused {
		return false
	}
	a.paused = true
	k.Note(event.Event{Kind: event.NodePaused, Actor: a.name})
	return true
}

// Resume ends a pause: what waited comes now, in due order.
func (k *Kernel) Resume(id ActorID) bool {
	a := k.actors[id]
	if !a.paused {
		return false
	}
	a.paused = false
	k.Note(event.Event{Kind: event.NodeResumed, Actor: a.name})
	for i := range a.held {
		k.ready.push(&a.held[i])
	}
	clear(a.held)
	a.held = a.held[:0]
	return true
}

// Terminate sends SIGTERM.
func (k *Kernel) Terminate(id ActorID) bool {
	a := k.actors[id]
	if a.state != Running {
		return false
	}
	k.ready.push(&item{actor: id, inc: a.incarnation, in: input{kind: step.Terminate, from: NoActor}})
	return true
}

// SetWallOffset sets the wall clock's error from now on; outlives the process.
func (k *Kernel) SetWallOffset(id ActorID, d kafka.Nanos) { k.actors[id].wallOffset = d }

// WallOffset is the wall clock's error.
func (k *Kernel) WallOffset(id ActorID) kafka.Nanos { return k.actors[id].wallOffset }

// SetSlow sets the service time in percent of the normal (100); at least 1. Disk
// time is not touched. It outlives the process.
func (k *Kernel) SetSlow(id ActorID, percent int64) { k.actors[id].slow = max(percent, 1) }

// die ends a process: its memory, timers, flushes and connections go with it.
func (k *Kernel) die(a *actor, mode Mode, reason string) {
	k.handles = a.timers.Handles(k.handles[:0])
	for _, h := range k.handles {
		k.timers[h] = timerBody{}
		k.q.cancelSlot(h)
	}
	a.timers.Reset()
	a.dropLanes()
	clear(a.held)
	a.held = a.held[:0]
	if k.cont.a == a {
		k.cont = contWork{}
	}
	a.node, a.disk = nil, nil
	a.paused, a.doomed = false, false
	a.crashAt = kafka.Forever
	a.state = Down
	if mode == Power {
		a.state = Off
	}
	if k.net != nil {
		k.net.Died(a.id, mode)
	}
	kind := event.NodeCrashed
	if mode == Exited {
		kind = event.NodeStopped
	}
	k.Note(event.Event{Kind: kind, Actor: a.name, Text: reason})
	for _, f := range k.onExit {
		f(Exit{Actor: a.id, Incarnation: a.incarnation, Mode: mode, Reason: reason})
	}
}
