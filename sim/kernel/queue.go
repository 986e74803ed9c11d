package kernel

import (
	"math/bits"

	"github.com/simkafka/simkafka/model/kafka"
)

// Class orders entries that are due at one instant, before tie and sequence.
type Class uint8

// The classes, in order.
const (
	World    Class = iota // faults, crashes and other callbacks of the simulator
	StepEnds              // the time of a step is spent: sends leave, workers become free
	Inputs                // messages, timers, flushes
	numClass
)

const (
	seqBits = 40 // 10^12 pushes a run
	tieBits = 20
	maxTie  = 1<<tieBits - 1
)

// Entry is one pending event: 32 bytes, moved by value inside the heap.
type Entry struct {
	At   kafka.Nanos
	key  uint64 // class, tie, sequence
	slot uint32 // 0: cannot be cancelled
	Tag  uint32 // the owner's
	Arg  uint64 // the owner's
}

// Seq is the push number of the entry within its queue.
func (e *Entry) Seq() uint64 { return e.key & (1<<seqBits - 1) }

// less is before as a number, 1 or 0, without a branch: choosing the smaller of two
// children would be mispredicted every other time. It is the borrow of a 128-bit
// subtraction.
func (e *Entry) less(f *Entry) uint64 {
	_, b := bits.Sub64(e.key, f.key, 0)
	_, b = bits.Sub64(uint64(e.At), uint64(f.At), b)
	return b
}

func (e *Entry) before(f *Entry) bool { return e.At < f.At || e.At == f.At && e.key < f.key }

// Handle names a pending entry that can be cancelled. The zero value names none. A
// stale handle is recognised by its generation, which is the entry's sequence
// number, and is harmless.
type Handle struct{ slot, gen uint32 }

// Slot is the number that the queue gave the entry, at least 1; it is reused when
// the entry has gone.
func (h Handle) Slot() uint32 { return h.slot }

// Queue is the future-event list: a binary heap of values ordered by (time,
// class, tie, sequence). Cancelling removes the entry; nothing dead stays behind.
// It allocates only to grow. Entries pushed by Push have no position to keep, so
// that they cost no bookkeeping.
//
// Time is never negative and must not go back: nothing may be pushed before the
// time last popped.
type Queue struct {
	h     []Entry
	slots []slotInfo // by slot; 0 unused
	free  uint32     // head of the list of free slots, through pos
	seq   uint64
	hole  bool // h[0] was popped: the next push takes its place
}

type slotInfo struct {
	pos uint32 // index in h while pending, next free slot after
	aux uint32 // the owner's
}

// Len counts the pending entries.
func (q *Queue) Len() int {
	if q.hole {
		return len(q.h) - 1
	}
	return len(q.h)
}

// Reset empties the queue and keeps its memory.
func (q *Queue) Reset() { *q = Queue{h: q.h[:0], slots: q.slots[:0]} }

// Push adds an entry that will not be cancelled. tie is below 2^20; 0 keeps entries
// of one instant and class in the order of their pushes.
func (q *Queue) Push(at kafka.Nanos, c Class, tie uint32, tag uint32, arg uint64) {
	q.add(Entry{At: at, key: q.nextKey(c, tie), Tag: tag, Arg: arg})
}

// Arm adds an entry that can be cancelled.
func (q *Queue) Arm(at kafka.Nanos, c Class, tie uint32, tag uint32, arg uint64) Handle {
	if len(q.slots) == 0 {
		q.slots = append(q.slots, slotInfo{})
	}
	s := q.free
	if s != 0 {
		q.free = q.slots[s].pos
	} else {
		s = uint32(len(q.slots))
		q.slots = append(q.slots, slotInfo{})
	}
	key := q.nextKey(c, tie)
	q.add(Entry{At: at, key: key, slot: s, Tag: tag, Arg: arg})
	return Handle{slot: s, gen: uint32(key)}
}

func (q *Queue) nextKey(c Class, tie uint32) uint64 {
	q.seq++
	return uint64(c)<<(seqBits+tieBits) | uint64(tie)<<seqBits | q.seq
}

func (q *Queue) add(e Entry) {
	if q.hole {
		q.hole = false
		q.down(0, e)
		return
	}
	q.h = append(q.h, e)
	q.up(len(q.h)-1, e)
}

// Pending reports whether h is still in the queue.
func (q *Queue) Pending(h Handle) bool {
	if h.slot == 0 || int(h.slot) >= len(q.slots) {
		return false
	}
	i := int(q.slots[h.slot].pos)
	return i < len(q.h) && q.h[i].slot == h.slot && uint32(q.h[i].key) == h.gen && !(q.hole && i == 0)
}

// Cancel removes an entry and reports whether it was still pending.
func (q *Queue) Cancel(h Handle) bool {
	if !q.Pending(h) {
		return false
	}
	q.cancelSlot(h.slot)
	return true
}

func (q *Queue) cancelSlot(s uint32) {
	i := int(q.slots[s].pos)
	q.release(s)
	n := len(q.h) - 1
	e := q.h[n]
	q.h = q.h[:n]
	if i == n {
		return
	}
	if i > 0 && e.before(&q.h[(i-1)>>1]) {
		q.up(i, e)
		return
	}
	q.down(i, e)
}

func (q *Queue) release(s uint32) {
	q.slots[s].pos = q.free
	q.free = s
}

// Next is the time of the earliest entry, Forever if there is none.
func (q *Queue) Next() kafka.Nanos {
	if q.hole {
		q.fill()
	}
	if len(q.h) == 0 {
		return kafka.Forever
	}
	return q.h[0].At
}

// Pop takes the earliest entry; the queue must not be empty. The gap at the top is
// closed by the next push, which saves moving an entry twice: most events cause one.
func (q *Queue) Pop() Entry {
	if q.hole {
		q.fill()
	}
	e := q.h[0]
	if e.slot != 0 {
		q.release(e.slot)
	}
	q.hole = true
	return e
}

func (q *Queue) fill() {
	q.hole = false
	n := len(q.h) - 1
	e := q.h[n]
	q.h = q.h[:n]
	if n > 0 {
		q.down(0, e)
	}
}

func (q *Queue) up(i int, e Entry) {
	h := q.h
	for i > 0 {
		p := (i - 1) >> 1
		if !e.before(&h[p]) {
			break
		}
		h[i] = h[p]
		if s := h[i].slot; s != 0 {
			q.slots[s].pos = uint32(i)
		}
		i = p
	}
	h[i] = e
	if e.slot != 0 {
		q.slots[e.slot].pos = uint32(i)
	}
}

// large is where the heap outgrows the near caches.
const large = 1 << 14

// down moves smaller children up, from i on, and puts e where they leave room.
func (q *Queue) down(i int, e Entry) {
	h := q.h
	n := len(h)
	guess := n > large
	for {
		c := 2*i + 1
		if c >= n {
			break
		}
		if c+1 < n {
			// In a large heap a branch is better after all: guessing it lets the
			// processor fetch the grandchildren early.
			if guess {
				if h[c+1].before(&h[c]) {
					c++
				}
			} else {
				c += int(h[c+1].less(&h[c]))
			}
		}
		if !h[c].before(&e) {
			break
		}
		h[i] = h[c]
		if s := h[i].slot; s != 0 {
			q.slots[s].pos = uint32(i)
		}
		i = c
	}
	h[i] = e
	if e.slot != 0 {
		q.slots[e.slot].pos = uint32(i)
	}
}
