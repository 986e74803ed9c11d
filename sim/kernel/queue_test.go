package kernel

import (
	"slices"
	"testing"
	"unsafe"

	"pgregory.net/rapid"

	"github.com/simkafka/simkafka/model/kafka"
)

// twin is the obvious queue: a slice searched for its least element.
type twin struct {
	entries []twinEntry
	seq     uint64
}

type twinEntry struct {
	at    kafka.Nanos
	class Class
	tie   uint32
	seq   uint64
	arg   uint64
}

func (t *twin) push(at kafka.Nanos, c Class, tie uint32, arg uint64) {
	t.seq++
	t.entries = append(t.entries, twinEntry{at, c, tie, t.seq, arg})
}

func (t *twin) least() int {
	best := 0
	for i, e := range t.entries {
		b := t.entries[best]
		if e.at < b.at || e.at == b.at && (e.class < b.class || e.class == b.class && (e.tie < b.tie || e.tie == b.tie && e.seq < b.seq)) {
			best = i
		}
	}
	return best
}

func (t *twin) remove(arg uint64) bool {
	i := slices.IndexFunc(t.entries, func(e twinEntry) bool { return e.arg == arg })
	if i < 0 {
		return false
	}
	t.entries = slices.Delete(t.entries, i, i+1)
	return true
}

func TestQueuePopsInOrderOfTimeClassTieAndSequence(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q Queue
		var tw twin
		var now kafka.Nanos
		type armed struct {
			h   Handle
			arg uint64
		}
		var handles []armed
		for i := range rapid.IntRange(1, 120).Draw(t, "operations") {
			arg := uint64(i)
			switch op := rapid.IntRange(0, 9).Draw(t, "operation"); {
			case op < 5:
				at := now + kafka.Nanos(rapid.IntRange(0, 5).Draw(t, "delay"))
				class := Class(rapid.IntRange(0, int(numClass)-1).Draw(t, "class"))
				tie := uint32(rapid.SampledFrom([]int{0, 0, 1, maxTie}).Draw(t, "tie"))
				tw.push(at, class, tie, arg)
				if op < 2 {
					q.Push(at, class, tie, 7, arg)
				} else {
					handles = append(handles, armed{q.Arm(at, class, tie, 7, arg), arg})
				}
			case op < 7 && len(handles) > 0:
				a := rapid.SampledFrom(handles).Draw(t, "cancelled")
				if q.Pending(a.h) != slices.ContainsFunc(tw.entries, func(e twinEntry) bool { return e.arg == a.arg }) {
					t.Fatal("Pending is wrong")
				}
				if got, want := q.Cancel(a.h), tw.remove(a.arg); got != want {
					t.Fatalf("cancel says %v, want %v", got, want)
				}
			case len(tw.entries) > 0:
				want := tw.entries[tw.least()]
				if q.Next() != want.at {
					t.Fatalf("next at %d, want %d", q.Next(), want.at)
				}
				e := q.Pop()
				tw.remove(want.arg)
				if e.At != want.at || e.Arg != want.arg || e.Tag != 7 || e.Seq() != want.seq {
					t.Fatalf("popped %+v, want %+v", e, want)
				}
				now = e.At
			}
			if q.Len() != len(tw.entries) {
				t.Fatalf("length %d, want %d", q.Len(), len(tw.entries))
			}
		}
	})
}

// PA12: a timer costs an entry, a slot and a body.
func TestPendingEventTakesAtMost64Bytes(t *testing.T) {
	if n := unsafe.Sizeof(Entry{}) + unsafe.Sizeof(slotInfo{}) + unsafe.Sizeof(timerBody{}); n > 64 {
		t.Errorf("%d bytes", n)
	}
}

func TestZeroHandleNamesNothing(t *testing.T) {
	var q Queue
	if q.Cancel(Handle{}) || q.Pending(Handle{}) || q.Next() != kafka.Forever || q.Len() != 0 {
		t.Error("an empty queue has nothing")
	}
	h := q.Arm(3, Inputs, 0, 0, 0)
	q.Pop()
	if q.Cancel(h) || q.Pending(h) {
		t.Error("what was popped cannot be cancelled")
	}
	h2 := q.Arm(4, Inputs, 0, 0, 0)
	if h2.Slot() != h.Slot() || q.Cancel(h) || !q.Cancel(h2) {
		t.Error("a slot is reused, a handle is not")
	}
}
