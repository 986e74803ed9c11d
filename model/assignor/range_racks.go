package assignor

import "slices"

// rangeTopic is a topic in a rack-aware range assignment.
type rangeTopic struct {
	owner  []int32 // of its partitions; -1 = not yet
	places []int32 // of its subscribers, in the order of seniority
	racks  [][]string
	taken  []int32 // by index in places
	quota  int32   // every subscriber's
	extra  int32   // how many may still have one more
	needs  bool    // racks make a difference
}

// assignRangesByRack is AR-2 (KIP-881): whom racks match first, the others as range
// has it. Only which partitions a member gets differs from plain range, never how
// many. False: racks make no difference to any topic, and nothing was assigned.
func (g *group) assignRangesByRack(owner, order []int32, subscribers [][]int32) bool {
	states := make([]rangeTopic, len(g.topics))
	needed := false
	for t, places := range subscribers {
		n := g.topics[t].Partitions
		states[t] = rangeTopic{owner: owner[g.first[t]:g.first[t+1]], places: places, racks: g.topics[t].Racks,
			needs: racksMatter(g.racksOf(g.subs[t]), g.topics[t:t+1])}
		needed = needed || states[t].needs
		states[t].quota, states[t].extra = n/int32(len(places)), n%int32(len(places))
	}
	if !needed {
		return false
	}
	for t := range states {
		states[t].taken = make([]int32, len(states[t].places))
	}
	for _, copartitioned := range copartitioned(states) {
		if len(copartitioned) > 1 {
			g.assignTogether(order, states, copartitioned)
		} else if s := &states[copartitioned[0]]; s.needs {
			g.assignAscending(order, s, true)
		}
	}
	for t := range states {
		g.assignAscending(order, &states[t], false)
	}
	return true
}

// copartitioned groups the topics with the same subscribers and partition count.
func copartitioned(states []rangeTopic) [][]int {
	var groups [][]int
next:
	for t := range states {
		for i, other := range groups {
			o := &states[other[0]]
			if len(o.owner) == len(states[t].owner) && slices.Equal(o.places, states[t].places) {
				groups[i] = append(other, t)
				continue next
			}
		}
		groups = append(groups, []int{t})
	}
	return groups
}

// assignTogether gives partition p of every topic to the first subscriber whose rack
// matches in all of them and that has capacity left in all.
func (g *group) assignTogether(order []int32, states []rangeTopic, topics []int) {
	first := &states[topics[0]]
	for p := range first.owner {
		for i, place := range first.places {
			m := order[place]
			fits := true
			for _, t := range topics {
				s := &states[t]
				fits = fits && s.capacity(i) > 0 && rackMatches(g.members[m].Rack, s.racks, p)
			}
			if fits {
				for _, t := range topics {
					states[t].give(p, i, m)
				}
				break
			}
		}
	}
}

// assignAscending gives each subscriber the lowest free partitions, up to its
// capacity; if matching, only those in its rack.
func (g *group) assignAscending(order []int32, s *rangeTopic, matching bool) {
	for i, place := range s.places {
		m := order[place]
		left := s.capacity(i)
		for p := 0; p < len(s.owner) && left > 0; p++ {
			if s.owner[p] < 0 && (!matching || rackMatches(g.members[m].Rack, s.racks, p)) {
				s.give(p, i, m)
				left--
			}
		}
	}
}

// capacity is how much more the i-th subscriber may get: the quota, and one more
// while not all of those are given away, whoever has them.
func (s *rangeTopic) capacity(i int) int32 {
	c := s.quota - s.taken[i]
	if s.extra > 0 {
		c++
	}
	return c
}

func (s *rangeTopic) give(p, i int, m int32) {
	s.owner[p] = m
	if s.taken[i]++; s.taken[i] > s.quota {
		s.extra--
	}
}
