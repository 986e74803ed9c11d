package assignor

import (
	"cmp"
	"slices"
)

// loads keeps members sorted by load, then id.
type loads struct {
	members []int32
	place   []int32 // by member, in members
}

func newLoads(size []int32) loads {
	l := loads{make([]int32, len(size)), make([]int32, len(size))}
	for m := range size {
		l.members[m] = int32(m)
	}
	slices.SortFunc(l.members, func(a, b int32) int { return cmp.Or(cmp.Compare(size[a], size[b]), cmp.Compare(a, b)) })
	for i, m := range l.members {
		l.place[m] = int32(i)
	}
	return l
}

// change adds by, which is 1 or -1, to a member's load in size.
func (l *loads) change(size []int32, m, by int32) {
	at := int(l.place[m])
	size[m] += by
	for ; at+1 < len(l.members) && l.after(size, m, l.members[at+1]); at++ {
		l.set(at, l.members[at+1])
	}
	for ; at > 0 && l.after(size, l.members[at-1], m); at-- {
		l.set(at, l.members[at-1])
	}
	l.set(at, m)
}

func (l *loads) after(size []int32, a, b int32) bool {
	return size[a] > size[b] || size[a] == size[b] && a > b
}

func (l *loads) set(at int, m int32) { l.members[at], l.place[m] = m, int32(at) }
