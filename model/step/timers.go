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
