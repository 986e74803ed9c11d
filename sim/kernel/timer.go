package kernel

import (
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
)

// timerBody is what a pending timer brings besides its queue entry (32 bytes), its
// place (8) and these 24: 64 bytes a timer.
type timerBody struct {
	ref any
	arg int64
}

// A timer entry's Arg holds the parent's number and the timer's kind.
const timerKindBits = 24

// setTimer arms a timer, unless it was cancelled in the meantime. One set for
// Forever never fires and takes no place in the queue.
func (k *Kernel) setTimer(a *actor, op *step.Op, earliest kafka.Nanos) {
	if !a.timers.Live(op.TimerRef) || op.At == kafka.Forever {
		return
	}
	h := k.q.Arm(max(op.At, earliest), Inputs, k.tie(a), tag(a.id, op.Lane, entryTimer),
		k.current<<timerKindBits|uint64(op.Timer))
	k.q.slots[h.slot].aux = uint32(op.TimerRef.Pack())
	for int(h.slot) >= len(k.timers) {
		k.timers = append(k.timers, timerBody{})
	}
	k.timers[h.slot] = timerBody{ref: op.Ref, arg: op.Arg}
	a.timers.SetHandle(op.TimerRef, h.slot)
}

// cancelTimer makes sure that the timer is never delivered, even if it is due and
// waits for its lane.
func (k *Kernel) cancelTimer(a *actor, r step.TimerRef) {
	if !a.timers.Live(r) {
		return
	}
	if s := a.timers.Handle(r); s != 0 {
		k.q.cancelSlot(s)
		k.timers[s] = timerBody{}
	}
	a.timers.Release(r)
}

func (k *Kernel) fireTimer(e *Entry) {
	a := k.actors[e.Tag>>16]
	b := &k.timers[e.slot]
	r := a.timers.AtSlot(k.q.slots[e.slot].aux)
	a.timers.SetHandle(r, 0)
	it := item{actor: a.id, inc: a.incarnation, in: input{kind: step.Timer, lane: step.Lane(e.Tag >> 8),
		timer: step.TimerKind(e.Arg), from: NoActor, parent: e.Arg >> timerKindBits, arg: uint64(b.arg), ref: r.Pack(), body: b.ref}}
	b.ref = nil
	k.take(&it)
}

// flush is a background flush under way.
type flush struct {
	actor  ActorID
	lane   step.Lane
	inc    int32
	id     step.FlushID
	parent uint64
}

func (k *Kernel) beginFlush(a *actor, op *step.Op, parent uint64) {
	if a.disk == nil {
		k.Fail(a.id, "a flush without a disk")
		return
	}
	f := flush{actor: a.id, lane: op.Lane, inc: a.incarnation, id: op.Flush, parent: parent}
	var i uint32
	if n := len(k.freeFl); n > 0 {
		i = k.freeFl[n-1]
		k.freeFl = k.freeFl[:n-1]
		k.flushes[i] = f
	} else {
		i = uint32(len(k.flushes))
		k.flushes = append(k.flushes, f)
	}
	due := a.disk.BeginFlush(k.now, op.Flush, op.Files, op.Dirs)
	k.q.Push(max(due, k.now), Inputs, k.tie(a), tag(a.id, op.Lane, entryFlush), uint64(i))
}

func (k *Kernel) endFlush(i uint32) {
	f := k.flushes[i]
	k.freeFl = append(k.freeFl, i)
	a := k.actors[f.actor]
	if a.state != Running || a.incarnation != f.inc || a.doomed {
		return
	}
	it := item{actor: a.id, inc: a.incarnation, in: input{kind: step.Flushed, lane: f.lane, from: NoActor,
		parent: f.parent, arg: uint64(f.id)}}
	if err := a.disk.CompleteFlush(f.id); err != nil {
		it.in.body = err
	}
	k.take(&it)
}
