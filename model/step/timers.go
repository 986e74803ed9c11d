package step

// TimerTable gives a node's timers their refs and keeps, for the runner, a
// handle per pending timer (its place in the event queue). Slots are reused;
// a generation tells a stale ref from a live one.
type TimerTable struct {
	slots []timerSlot
	free  []uint32
}

type timerSlot struct {
	gen    uint32
	live   bool
	handle uint32
}

func (t *TimerTable) take() TimerRef {
	var i uint32
	if n := len(t.free); n > 0 {
		i = t.free[n-1]
		t.free = t.free[:n-1]
	} else {
		i = uint32(len(t.slots))
		t.slots = append(t.slots, timerSlot{})
	}
	s := &t.slots[i]
	s.gen++
	s.handle = 0
	s.live = true
	return TimerRef{slot: i + 1, gen: s.gen}
}

func (t *TimerTable) live(r TimerRef) bool {
	i := r.slot - 1
	return int(i) < len(t.slots) && t.slots[i].live && t.slots[i].gen == r.gen
}

// Live reports whether the timer is pending.
func (t *TimerTable) Live(r TimerRef) bool { return r.IsSet() && t.live(r) }

// SetHandle keeps the runner's handle for a pending timer.
func (t *TimerTable) SetHandle(r TimerRef, h uint32) { t.slots[r.slot-1].handle = h }

// Handle returns the runner's handle of a pending timer.
func (t *TimerTable) Handle(r TimerRef) uint32 { return t.slots[r.slot-1].handle }

// Release marks a timer as fired or cancelled; its slot is reused.
func (t *TimerTable) Release(r TimerRef) {
	if t.live(r) {
		t.slots[r.slot-1].live = false
		t.free = append(t.free, r.slot-1)
	}
}

// Reset forgets every timer: the process died. Refs kept by nobody survive it.
func (t *TimerTable) Reset() { t.slots, t.free = t.slots[:0], t.free[:0] }

// Pack puts r into one word, for a runner that keeps it in a queue; 0 is none.
func (r TimerRef) Pack() uint64 { return uint64(r.gen)<<32 | uint64(r.slot) }

// UnpackTimerRef undoes Pack.
func UnpackTimerRef(w uint64) TimerRef { return TimerRef{slot: uint32(w), gen: uint32(w >> 32)} }

// AtSlot is the ref of the timer that is live in slot s (the low half of Pack),
// or the zero ref.
func (t *TimerTable) AtSlot(s uint32) TimerRef {
	if s == 0 || int(s) > len(t.slots) || !t.slots[s-1].live {
		return TimerRef{}
	}
	return TimerRef{slot: s, gen: t.slots[s-1].gen}
}

// Handles appends the non-zero handles of all live timers, in slot order.
func (t *TimerTable) Handles(dst []uint32) []uint32 {
	for i := range t.slots {
		if t.slots[i].live && t.slots[i].handle != 0 {
			dst = append(dst, t.slots[i].handle)
		}
	}
	return dst
}
