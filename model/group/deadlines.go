package group

import "github.com/simkafka/simkafka/model/kafka"

// deadlines are the timers of all groups, soonest first; those of one instant in the
// order in which they were set (groups 0.2). It is a heap whose entries know their place,
// so that a heartbeat moves one.
type deadlines struct {
	heap []*deadline
	set  uint64 // timers set so far
}

type deadlineKind uint8

// The timers of groups 2.2.
const (
	sessionDeadline deadlineKind = iota // of member; also that of a new member
	pendingDeadline                     // of id, which was handed out
	joinDeadline
	syncDeadline
)

// deadline is one timer. The zero value with its owner filled in is not set.
type deadline struct {
	at     kafka.Nanos
	order  uint64
	place  int // in the heap, from 1; 0 = not set
	kind   deadlineKind
	group  *Group
	member *Member
	id     string
}

// start sets d, anew if it was set.
func (l *deadlines) start(d *deadline, at kafka.Nanos) {
	l.set++
	d.at, d.order = at, l.set
	if d.place == 0 {
		l.heap = append(l.heap, d)
		d.place = len(l.heap)
	}
	l.up(d.place - 1)
	l.down(d.place - 1)
}

// stop unsets d; one that is not set stays as it is.
func (l *deadlines) stop(d *deadline) {
	if d.place == 0 {
		return
	}
	i, last := d.place-1, len(l.heap)-1
	l.swap(i, last)
	l.heap[last] = nil
	l.heap = l.heap[:last]
	d.place = 0
	if i < last {
		l.up(i)
		l.down(i)
	}
}

// first is when the soonest is due, Forever if none is set.
func (l *deadlines) first() kafka.Nanos {
	if len(l.heap) == 0 {
		return kafka.Forever
	}
	return l.heap[0].at
}

// pop unsets the soonest if it is due, else it is nil.
func (l *deadlines) pop(now kafka.Nanos) *deadline {
	if len(l.heap) == 0 || l.heap[0].at > now {
		return nil
	}
	d := l.heap[0]
	l.stop(d)
	return d
}

func (l *deadlines) less(i, j int) bool {
	a, b := l.heap[i], l.heap[j]
	return a.at < b.at || a.at == b.at && a.order < b.order
}

func (l *deadlines) swap(i, j int) {
	l.heap[i], l.heap[j] = l.heap[j], l.heap[i]
	l.heap[i].place, l.heap[j].place = i+1, j+1
}

func (l *deadlines) up(i int) {
	for i > 0 && l.less(i, (i-1)/2) {
		l.swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
}

func (l *deadlines) down(i int) {
	for {
		least := i
		for c := 2*i + 1; c <= 2*i+2 && c < len(l.heap); c++ {
			if l.less(c, least) {
				least = c
			}
		}
		if least == i {
			return
		}
		l.swap(i, least)
		i = least
	}
}
