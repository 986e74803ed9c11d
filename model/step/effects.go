package step

import (
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/vfs"
)

// OpKind says what an Op asks for.
type OpKind uint8

// The operations.
const (
	OpConnect OpKind = iota
	OpClose
	OpRequest
	OpReply
	OpNoReply
	OpSetTimer
	OpCancelTimer
	OpFlush
	OpDone
)

// Op is one effect. A test reads them; a runner carries them out in order.
type Op struct {
	Kind        OpKind
	Lane        Lane
	Timer       TimerKind
	Conn        ConnID
	Correlation int32
	TimerRef    TimerRef
	At          kafka.Nanos
	Arg         int64
	Body        Message
	Ref         any
	*Detail     // of OpConnect and OpFlush, nil with all others
}

// Detail is what only rare operations need.
type Detail struct {
	Addr  Addr // OpConnect
	Flush FlushID
	Files []vfs.File
	Dirs  []string
}

// TimerRef names a set timer so that it can be cancelled. The zero value is none.
// A ref of a timer that fired or was cancelled is stale and harmless.
type TimerRef struct {
	slot uint32 // slot+1
	gen  uint32
}

// IsSet reports whether r was ever set; it does not tell whether it has fired.
func (r TimerRef) IsSet() bool { return r.slot != 0 }

// Effects collects what a step wants done. The runner reuses it; an actor keeps
// no reference past the step.
type Effects struct {
	// Service is the CPU time charged by the step, beside the time of its vfs calls.
	Service kafka.Nanos
	// Invariant: the spare room behind Ops is zero.
	Ops   []Op
	Notes []event.Event
	// Exiting is set by Exit; ExitReason is what it said.
	Exiting    bool
	ExitReason string

	Timers *TimerTable
	// conns numbers this actor's connections.
	conns *ConnID
}

// usual is how many operations or notes an empty Effects keeps room for.
const usual = 256

// NewEffects makes effects with their own timer table, for tests. A runner makes
// one per node with Bind.
func NewEffects() *Effects {
	var c ConnID
	return &Effects{Timers: new(TimerTable), conns: &c}
}

// Bind points e at a node's timer table and connection counter and clears it.
func (e *Effects) Bind(t *TimerTable, conns *ConnID) {
	e.Timers, e.conns = t, conns
	e.Reset()
}

// Reset empties e for the next step.
func (e *Effects) Reset() {
	e.Service = 0
	if cap(e.Notes) > usual || cap(e.Ops) > usual { // after a rare, large step
		e.Ops, e.Notes = nil, nil
	}
	for i := range e.Ops { // lets go of messages
		o := &e.Ops[i]
		*o = Op{} // one by one: a call of clear costs more than what it does here
	}
	e.Ops, e.Notes = e.Ops[:0], e.Notes[:0]
	e.Exiting, e.ExitReason = false, ""
}

// NewConn takes the actor's next connection number; runners use it for accepted
// connections, Connect for asked ones.
func (e *Effects) NewConn() ConnID {
	*e.conns++
	return *e.conns
}

// Connect asks for a connection on behalf of lane, which will get Opened or
// Refused. Requests may be queued on it at once.
func (e *Effects) Connect(lane Lane, to Addr) ConnID {
	c := e.NewConn()
	o := e.op(OpConnect)
	o.Lane, o.Conn, o.Detail = lane, c, &Detail{Addr: to}
	return c
}

// Close closes a connection from this side. No input follows for it.
func (e *Effects) Close(c ConnID) { e.op(OpClose).Conn = c }

// Request sends body on a connection that this node opened. The answer carries
// the same correlation, which the caller chooses.
func (e *Effects) Request(c ConnID, correlation int32, body Message) {
	o := e.op(OpRequest)
	o.Conn, o.Correlation, o.Body = c, correlation, body
}

// Reply answers a request received on c, and lets the next one of c through.
func (e *Effects) Reply(c ConnID, correlation int32, body Message) {
	o := e.op(OpReply)
	o.Conn, o.Correlation, o.Body = c, correlation, body
}

// NoReply ends a request that gets no answer (produce with acks=0).
func (e *Effects) NoReply(c ConnID, correlation int32) {
	o := e.op(OpNoReply)
	o.Conn, o.Correlation = c, correlation
}

// Push sends a message from the accepting side without a request (ZooKeeper
// watch events and session notices). It arrives as a Response with correlation -1.
func (e *Effects) Push(c ConnID, body Message) {
	o := e.op(OpReply)
	o.Conn, o.Correlation, o.Body = c, -1, body
}

// SetTimer delivers a Timer input on lane at time at (not before this step's
// time is spent). arg and ref come back as they are.
func (e *Effects) SetTimer(lane Lane, at kafka.Nanos, kind TimerKind, arg int64, ref any) TimerRef {
	r := e.Timers.take()
	o := e.op(OpSetTimer)
	o.Lane, o.At, o.Timer, o.Arg, o.Ref, o.TimerRef = lane, at, kind, arg, ref, r
	return r
}

// CancelTimer cancels *r if it is pending and clears it.
func (e *Effects) CancelTimer(r *TimerRef) {
	if r.IsSet() && e.Timers.live(*r) {
		e.op(OpCancelTimer).TimerRef = *r
	}
	*r = TimerRef{}
}

// Flush starts a background fsync of files and directories: it covers what was
// written before this step's end; lane gets Flushed with id.
func (e *Effects) Flush(lane Lane, id FlushID, files []vfs.File, dirs []string) {
	o := e.op(OpFlush)
	o.Lane, o.Detail = lane, &Detail{Flush: id, Files: files, Dirs: dirs}
}

// Done delivers a Done input to this step's worker when the step's time is spent,
// at once if it took none.
func (e *Effects) Done(kind TimerKind, arg int64, ref any) {
	o := e.op(OpDone)
	o.Timer, o.Arg, o.Ref = kind, arg, ref
}

// Charge keeps the worker busy for d of CPU time. Waiting is a timer, never a charge.
func (e *Effects) Charge(d kafka.Nanos) { e.Service += d }

// Note records a fact. Time, Seq and Actor are filled by the runner.
func (e *Effects) Note(ev event.Event) { *e.Fact() = ev }

// Fact is Note of an empty fact, which the caller fills at once: the pointer is good
// until the next call.
func (e *Effects) Fact() *event.Event {
	n := len(e.Notes)
	if n == cap(e.Notes) {
		e.Notes = append(e.Notes, event.Event{})
		return &e.Notes[n]
	}
	e.Notes = e.Notes[:n+1]
	f := &e.Notes[n]
	*f = event.Event{}
	return f
}

// op adds an operation, of which everything but its kind is zero.
func (e *Effects) op(kind OpKind) *Op {
	n := len(e.Ops)
	if n == cap(e.Ops) {
		e.Ops = append(e.Ops, Op{})
	}
	e.Ops = e.Ops[:n+1]
	o := &e.Ops[n]
	o.Kind = kind
	return o
}

// Exit ends the process after this step's sends.
func (e *Effects) Exit(reason string) { e.Exiting, e.ExitReason = true, reason }
