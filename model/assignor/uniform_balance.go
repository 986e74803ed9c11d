package assignor

import (
	"cmp"
	"slices"
)

// maxPasses bounds the passes over all topics (MAX_ITERATION_COUNT).
const maxPasses = 16

// balanceTopics is SV-3, for members with different subscriptions: keep, hand out
// to the least loaded, then level the subscribers of each topic.
func (u *uniform) balanceTopics() {
	for m := range u.members {
		for _, tp := range u.members[m].Owned {
			if t, ok := u.previous(m, tp); ok {
				u.give(t, tp.Partition, m)
			}
		}
	}
	order := u.scarceFirst()
	for _, t := range order {
		l := u.newLeveller(t)
		for p, m := range u.owner[t] {
			if m < 0 {
				u.give(t, int32(p), l.least())
			}
		}
	}
	u.level(order)
}

// scarceFirst is the subscribed topics with most partitions a subscriber first, then
// those with fewest subscribers.
func (u *uniform) scarceFirst() []int {
	var order []int
	for t := range u.topics {
		if len(u.subs[t]) > 0 {
			order = append(order, t)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		pa, pb, sa, sb := len(u.owner[a]), len(u.owner[b]), len(u.subs[a]), len(u.subs[b])
		return cmp.Or(cmp.Compare(pb*sa, pa*sb), cmp.Compare(sa, sb))
	})
	return order
}

// level goes over the topics that several subscribe to until a whole round changed
// nothing.
func (u *uniform) level(order []int) {
	var shared []int
	for _, t := range order {
		if len(u.subs[t]) >= 2 {
			shared = append(shared, t)
		}
	}
	last := -1 // the topic that was changed last
	for range maxPasses {
		for i, t := range shared {
			if i == last {
				return
			}
			if u.levelTopic(t) || last < 0 {
				last = i
			}
		}
	}
}

// levelTopic moves partitions of a topic from its most to its least loaded
// subscribers until their loads differ by one at most, or the most loaded have no
// more of the topic.
func (u *uniform) levelTopic(t int) (changed bool) {
	l := u.newLeveller(t)
	if l.mostLevel-l.leastLevel <= 3 { // both levels begin one beyond the loads
		return false
	}
	own := make([][]int32, len(u.members)) // partitions of t by member, ascending
	for p, m := range u.owner[t] {
		if m >= 0 {
			own[m] = append(own[m], int32(p))
		}
	}
	for {
		m := l.most()
		for m >= 0 && len(own[m]) == 0 {
			l.exclude()
			m = l.most()
		}
		if m < 0 {
			return changed
		}
		p := own[m][len(own[m])-1]
		own[m] = own[m][:len(own[m])-1]
		to := l.least()
		if l.mostLevel-l.leastLevel <= 1 {
			return changed
		}
		u.give(t, p, to)
		changed = true
	}
}

// leveller walks a topic's subscribers, sorted by load: the least loaded in rounds
// from the left, the most loaded in rounds from the right. A round takes each of
// those of equal load once; then their load has changed by one, and those who have
// that load already join in (MemberAssignmentBalancer).
type leveller struct {
	u       *uniform
	members []int

	leastEnd, leastLevel, nextLeast int // members[:leastEnd] have leastLevel
	// members[mostStart:mostEnd] have mostLevel; those from mostEnd on have nothing to
	// give.
	mostStart, mostEnd, mostLevel, nextMost int
}

func (u *uniform) newLeveller(t int) *leveller {
	members := slices.Clone(u.subs[t])
	slices.SortStableFunc(members, func(a, b int) int { return cmp.Compare(u.size[a], u.size[b]) })
	n := len(members)
	return &leveller{u: u, members: members,
		leastLevel: u.size[members[0]] - 1,
		mostStart:  n, mostEnd: n, nextMost: n - 1, mostLevel: u.size[members[n-1]] + 1}
}

func (l *leveller) load(i int) int { return l.u.size[l.members[i]] }

// least is the member to get a partition next.
func (l *leveller) least() int {
	if l.nextLeast >= l.leastEnd {
		l.leastLevel++
		for l.leastEnd < len(l.members) && l.load(l.leastEnd) == l.leastLevel {
			l.leastEnd++
		}
		l.nextLeast = 0
	}
	l.nextLeast++
	return l.members[l.nextLeast-1]
}

// most is the member to give a partition up next, -1 if nobody has any left.
func (l *leveller) most() int {
	if l.nextMost < l.mostStart {
		if l.mostEnd <= l.mostStart && l.mostStart > 0 {
			l.mostLevel = l.load(l.mostStart - 1)
		} else {
			l.mostLevel--
		}
		for l.mostStart > 0 && l.load(l.mostStart-1) == l.mostLevel {
			l.mostStart--
		}
		l.nextMost = l.mostEnd - 1
	}
	if l.nextMost < 0 {
		return -1
	}
	l.nextMost--
	return l.members[l.nextMost+1]
}

// exclude takes the member that most returned last out of its rounds.
func (l *leveller) exclude() {
	at := l.nextMost + 1
	l.members[at], l.members[l.mostEnd-1] = l.members[l.mostEnd-1], l.members[at]
	l.mostEnd--
}
