package assignor

import (
	"cmp"
	"slices"
)

// general is the path for members with different subscriptions (groups 4.3). When
// it ends no partition can move to a subscriber with two or more fewer (ST-6).
//
// Kafka puts the assignment before the moves back when they did not improve the
// balance score. Here each move goes from a member to one with at least two fewer,
// which lowers the score, so there is nothing to put back.
type general struct {
	*target
	topicOrder []int32 // by number of subscribers, then name
	prior      []int32 // see target.previous
	movable    []bool  // by topic: two or more subscribers
	byLoad     loads
	moves      movements
}

func newGeneral(t *target) *general { return &general{target: t, prior: t.previous()} }

func (g *general) run() {
	g.order()
	fresh := g.keep()
	if g.racks {
		g.assignByRack(fresh)
	}
	g.assign(fresh)
	g.byLoad = newLoads(g.size)
	g.moves = newMovements(g.partitions())
	if !g.moved {
		g.balance(fresh)
	}
	all := make([]int32, 0, g.partitions())
	for _, t := range g.topicOrder {
		for p := g.first[t]; p < g.first[t+1]; p++ {
			all = append(all, p)
		}
	}
	g.balance(all)
}

func (g *general) order() {
	g.topicOrder, g.movable = make([]int32, len(g.topics)), make([]bool, len(g.topics))
	for t := range g.topics {
		g.topicOrder[t], g.movable[t] = int32(t), len(g.subs[t]) >= 2
	}
	slices.SortFunc(g.topicOrder, func(a, b int32) int {
		return cmp.Or(len(g.subs[a])-len(g.subs[b]), int(a-b))
	})
}

// keep leaves claims that count as they are and returns the other partitions, in
// the order of topics.
func (g *general) keep() (fresh []int32) {
	for _, t := range g.topicOrder {
		for p := g.first[t]; p < g.first[t+1]; p++ {
			if g.keeps(p, t) {
				g.give(p, g.claimed[p])
			} else {
				fresh = append(fresh, p)
			}
		}
	}
	return fresh
}

// assignByRack gives each partition to the least loaded subscriber whose rack
// matches; one without a rack always does.
func (g *general) assignByRack(fresh []int32) {
	for _, p := range fresh {
		t := g.topicOf(p)
		best := int32(-1)
		for _, m := range g.subs[t] {
			if g.matches(m, p, t) && (best < 0 || g.size[m] < g.size[best]) {
				best = m
			}
		}
		if best >= 0 {
			g.give(p, best)
		}
	}
}

// assign gives each partition that is left to the least loaded subscriber (size,
// then id).
func (g *general) assign(fresh []int32) {
	var queue []int32 // a heap of the topic's subscribers
	topic := int32(-1)
	for _, p := range fresh {
		if g.owner[p] >= 0 {
			continue
		}
		if topic < 0 || p < g.first[topic] || p >= g.first[topic+1] {
			topic = g.topicOf(p)
			queue = append(queue[:0], g.subs[topic]...)
			slices.SortFunc(queue, g.compareLoad)
		}
		g.give(p, queue[0])
		g.sink(queue)
	}
}

func (g *general) compareLoad(a, b int32) int {
	if d := g.size[a] - g.size[b]; d != 0 {
		return int(d)
	}
	return int(a - b)
}

// sink puts the heap's first element, whose load has grown, where it belongs.
func (g *general) sink(heap []int32) {
	for i := 0; ; {
		child := 2*i + 1
		if child >= len(heap) {
			return
		}
		if r := child + 1; r < len(heap) && g.compareLoad(heap[r], heap[child]) < 0 {
			child = r
		}
		if g.compareLoad(heap[i], heap[child]) <= 0 {
			return
		}
		heap[i], heap[child] = heap[child], heap[i]
		i = child
	}
}

// balance moves partitions of the list until none of them can move any more. It
// ends, since every move lowers the sum of the squares of the loads.
func (g *general) balance(list []int32) {
	for again := true; again; {
		again = false
		for at := 0; at < len(list); {
			t := g.topicOf(list[at])
			end := at
			for end < len(list) && list[end] < g.first[t+1] && list[end] >= g.first[t] {
				end++
			}
			if g.movable[t] {
				for _, p := range list[at:end] {
					again = g.improve(p, t) || again
				}
			}
			at = end
		}
	}
}

// improve moves a partition to its previous owner or else to the least loaded
// subscriber, if that has at least two partitions fewer than the owner.
func (g *general) improve(p, t int32) bool {
	enough := g.size[g.owner[p]] - 1 // a load below it makes a move worthwhile
	if g.prior != nil {
		if b := g.prior[p]; b >= 0 && g.size[b] < enough && g.wants(b, t) {
			g.move(p, t, b)
			return true
		}
	}
	for _, m := range g.byLoad.members {
		if g.size[m] >= enough {
			return false
		}
		if g.wants(m, t) {
			g.move(p, t, m)
			return true
		}
	}
	return false
}

// move gives a partition of topic t to member m, so that no two members exchange
// partitions of one topic: if a partition of t went the other way before, it goes
// back in this one's place. Kafka does that even when that one's owner is another
// than this one's and may have little; here both go back then.
func (g *general) move(p, t, m int32) {
	from := g.moves.origin(p, g.owner[p])
	q := g.moves.find(t, m, from)
	if q < 0 {
		g.hand(p, t, m)
		return
	}
	if from != g.owner[p] && g.size[from] < g.size[m]+2 {
		g.hand(p, t, from)
	}
	g.hand(q, t, m)
}

func (g *general) hand(p, t, to int32) {
	from := g.owner[p]
	g.moves.record(p, t, from, to)
	g.owner[p] = to
	g.byLoad.change(g.size, from, -1)
	g.byLoad.change(g.size, to, +1)
}
