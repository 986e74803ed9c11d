package kernel

import (
	"errors"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
	"github.com/simkafka/simkafka/model/vfs"
)

// crashedAtDisk is the reason of a crash that a disk call brought about without a plan.
const crashedAtDisk = "crashed at a disk operation"

// run executes one step on a free worker, or skips a timer that was cancelled
// while it waited in the lane.
func (k *Kernel) run(a *actor, wi uint8, in *input) {
	li := in.lane
	if in.kind == dropped {
		k.settle(a, li, wi)
		return
	}
	if in.kind == step.Timer {
		r := step.UnpackTimerRef(in.ref)
		if !a.timers.Live(r) {
			k.settle(a, li, wi)
			return
		}
		a.timers.Release(r)
	}
	k.events++
	k.current = k.events
	k.fillInput(a, in, wi)
	incarnation := a.incarnation
	for _, f := range k.before {
		f(a.id, &k.in)
	}
	if a.state != Running || a.incarnation != incarnation {
		k.current = 0
		return // a hook crashed it
	}
	k.eff.Bind(&a.timers, &a.conns)
	if a.disk != nil {
		a.disk.BeginStep(k.now, a.crashAt)
	}
	k.running = a
	failure, err := k.call(a.node)
	k.running = nil
	var disk kafka.Nanos
	var diskDigest uint64
	if a.disk != nil {
		disk, diskDigest = a.disk.EndStep(), a.disk.Digest()
	}
	took := scale(k.eff.Service, a.slow) + disk
	k.tellNotes(a)
	for _, f := range k.after {
		f(a.id, &k.in, &k.eff)
	}
	if !k.cfg.NoFingerprint {
		k.foldStep(a, in, wi, took, diskDigest)
	}
	if a.state != Running || a.incarnation != incarnation {
		k.current = 0
		return // an observer crashed it: before its sends
	}
	k.outcome(a, li, wi, took, err, failure)
	k.current = 0
}

// outcome applies the crash rules, else carries the effects out.
func (k *Kernel) outcome(a *actor, li step.Lane, wi uint8, took kafka.Nanos, err error, failure *Assertion) {
	w := &a.lanes[li].workers[wi]
	switch {
	case failure != nil:
		k.assert(a, failure)
		k.die(a, Exited, failure.Message)
	case a.crashAt <= k.now:
		k.die(a, a.crashMode, a.crashReason)
	case err != nil && errors.Is(err, vfs.ErrCrashed):
		a.doomed = true
		w.busyUntil = kafka.Forever
		k.CrashAt(a.id, k.now+took, crashedAtDisk, Kill)
	default:
		w.busyUntil = k.now + took
		if err != nil {
			w.exiting, w.reason = true, err.Error()
		} else if k.eff.Exiting {
			w.exiting, w.reason = true, k.eff.ExitReason
		}
		k.effects(a, li, wi)
	}
}

// effects arms timers at once, for not before the step's end, and sends at its end.
func (k *Kernel) effects(a *actor, li step.Lane, wi uint8) {
	w := &a.lanes[li].workers[wi]
	sends := false
	for i := range k.eff.Ops {
		switch op := &k.eff.Ops[i]; op.Kind {
		case step.OpSetTimer:
			k.setTimer(a, op, w.busyUntil)
		case step.OpCancelTimer:
			k.cancelTimer(a, op.TimerRef)
		case step.OpDone:
			w.done = append(w.done, input{kind: step.Done, lane: li, timer: op.Timer, from: NoActor,
				parent: k.current, arg: uint64(op.Arg), body: op.Ref})
		default:
			sends = true
		}
	}
	if sends {
		w.ops, k.eff.Ops = k.eff.Ops, w.ops[:0]
		w.parent = k.current
	}
	if w.busyUntil > k.now {
		k.settle(a, li, wi)
		return
	}
	if sends && !k.sends(a, w) {
		return
	}
	if w.exiting {
		k.die(a, Exited, w.reason)
		return
	}
	k.settle(a, li, wi)
}

// sends carries out what leaves at a step's end; false if the actor died of it.
func (k *Kernel) sends(a *actor, w *worker) bool {
	incarnation := a.incarnation
	for i := range w.ops {
		op := &w.ops[i]
		switch op.Kind {
		case step.OpConnect:
			k.net.Connect(a.id, op.Conn, op.Lane, op.Addr, w.parent)
		case step.OpClose:
			k.net.Close(a.id, op.Conn, w.parent)
			k.dropInputs(a, op.Conn)
		case step.OpRequest, step.OpReply, step.OpNoReply:
			k.packet = Packet{Kind: op.Kind, Correlation: op.Correlation, Body: op.Body, Parent: w.parent}
			if op.Body != nil {
				size, d := k.measure(op.Body)
				k.packet.Size, k.packet.Digest = size, uint64(d)
			}
			k.net.Send(a.id, op.Conn, &k.packet)
		case step.OpFlush:
			k.beginFlush(a, op, w.parent)
		}
		if a.state != Running || a.incarnation != incarnation {
			return false
		}
		*op = step.Op{}
	}
	w.ops = w.ops[:0]
	return true
}

// dropped marks an input that waits and will not be delivered.
const dropped = step.NumKinds

// dropInputs keeps the promise that no input follows a Close, also none that has
// arrived and waits.
func (k *Kernel) dropInputs(a *actor, c step.ConnID) {
	drop := func(it *item) {
		if it.actor == a.id && !it.end && it.in.conn == c {
			it.in.kind, it.in.body = dropped, nil
		}
	}
	k.ready.each(drop)
	for i := range a.lanes {
		a.lanes[i].fifo.each(drop)
	}
	for i := range a.held {
		drop(&a.held[i])
	}
}

func (k *Kernel) fillInput(a *actor, in *input, worker uint8) {
	to := &k.in
	to.Kind, to.Lane, to.Worker, to.Incarnation = in.kind, in.lane, worker, a.incarnation
	to.Now, to.Wall = k.now, k.epoch+kafka.TimestampMs(floorMillis(k.now+a.wallOffset))
	to.Conn, to.Correlation, to.Timer, to.Arg, to.Flush = 0, 0, 0, 0, 0
	to.From, to.Body, to.Ref, to.Err = "", nil, nil, nil
	to.SetDraws(a.draws)
	switch in.kind {
	case step.Timer, step.Done:
		to.Timer, to.Arg, to.Ref = in.timer, int64(in.arg), in.body
	case step.Flushed:
		to.Flush = step.FlushID(in.arg)
		to.Err, _ = in.body.(error)
	case step.Refused, step.Closed:
		to.Conn = in.conn
		to.Err, _ = in.body.(error)
	default:
		to.Conn, to.Correlation, to.Body = in.conn, in.corr, in.body
		to.From = k.Name(in.from)
	}
}

func (k *Kernel) tellNotes(a *actor) {
	if len(k.observers) == 0 {
		return
	}
	for i := range k.eff.Notes {
		ev := &k.eff.Notes[i]
		ev.Time, ev.Seq, ev.Actor = k.now, k.events, a.name
		k.tell(ev)
	}
}

// assert records a failed assertion and notes it.
func (k *Kernel) assert(a *actor, f *Assertion) {
	f.Time, f.Seq, f.Actor = k.now, k.events, a.name
	k.assertions = append(k.assertions, *f)
	k.Note(event.Event{Kind: event.Assertion, Actor: a.name, Text: f.Message})
}

// foldStep takes a step into the fingerprint: when, who, what, and what came of it.
func (k *Kernel) foldStep(a *actor, in *input, wi uint8, took kafka.Nanos, disk uint64) {
	what := uint64(in.kind) | uint64(in.lane)<<8 | uint64(wi)<<16 | uint64(in.timer)<<32 | uint64(uint16(a.incarnation))<<48
	came := uint64(len(k.eff.Ops))<<32 | uint64(len(k.eff.Notes))
	d := mum(uint64(k.now)^mixC, what^a.nameHash) ^
		mum(uint64(in.conn)<<32|uint64(uint32(in.corr))^mixD, in.arg^mixE) ^
		mum(uint64(took)^mixF, came^mixA) ^ mum(disk^mixB, mixD)
	k.fp.Fold(d)
	a.hash = mum(a.hash^d, mixA)
	if k.events == k.checkpointAt {
		k.checkpoints = append(k.checkpoints, Checkpoint{Seq: k.events, Sum: k.fp})
		k.checkpointAt += k.cfg.CheckpointEvery
	}
	if k.recorder != nil {
		k.record = Record{Time: k.now, Took: took, Seq: k.events, Parent: in.parent, Actor: a.id, From: in.from,
			Incarnation: a.incarnation, Kind: in.kind, Lane: in.lane, Worker: wi, Conn: in.conn, Correlation: in.corr,
			Timer: in.timer, Arg: int64(in.arg), Body: k.in.Body, Err: k.in.Err, Digest: d, Sum: k.fp}
		k.recorder.Record(&k.record)
	}
}

// scale takes percent of d.
func scale(d kafka.Nanos, percent int64) kafka.Nanos {
	if percent == 100 {
		return d
	}
	p := kafka.Nanos(percent)
	return d/100*p + d%100*p/100
}

// floorMillis rounds towards minus infinity: the clock may stand before the epoch.
func floorMillis(n kafka.Nanos) int64 {
	ms := int64(n / kafka.Millisecond)
	if n%kafka.Millisecond < 0 {
		ms--
	}
	return ms
}
