package assignor

import "slices"

// assignByRack hands out what some member below its quota has a replica of in its
// rack (KIP-881); first the partitions that fewest members match. The rest stays
// unassigned.
func (c *constrained) assignByRack() {
	inRack := make([]int32, c.partitions()) // members of the group
	for _, p := range c.unassigned {
		for m := range c.members {
			if c.hasRackOf(int32(m), p) {
				inRack[p]++
			}
		}
	}
	slices.SortStableFunc(c.unassigned, func(a, b int32) int { return int(inRack[a] - inRack[b]) })
	turn := 0
	left := c.unassigned[:0]
	for _, p := range c.unassigned {
		if i := c.matching(c.under, p, turn); i >= 0 {
			turn = c.fill(p, i)
		} else if i := c.matching(c.atMin, p, 0); i >= 0 {
			c.overfill(p, i)
		} else {
			left = append(left, p)
		}
	}
	c.unassigned = left
}

// hasRackOf: the member has a rack and the partition a replica in it.
func (c *constrained) hasRackOf(m, p int32) bool {
	return c.members[m].Rack != "" && c.matches(m, p, c.topicOf(p))
}

// matching finds the first of members, from a place on and round, in whose rack
// there is a replica; -1 if there is none.
func (c *constrained) matching(members []int32, p int32, from int) int {
	for i := range members {
		at := (from + i) % len(members)
		if c.hasRackOf(members[at], p) {
			return at
		}
	}
	return -1
}

// fill gives p to the i-th member under its quota and returns whose turn is next.
func (c *constrained) fill(p int32, i int) int {
	m := c.under[i]
	c.give(p, m)
	if c.size[m] >= c.minQuota {
		c.under = slices.Delete(c.under, i, i+1)
		if c.size[m] < c.maxQuota && c.over < c.mayBeOver {
			c.atMin = append(c.atMin, m)
		}
	} else {
		i++
	}
	if len(c.under) == 0 {
		return 0
	}
	return i % len(c.under)
}

// overfill gives p to the i-th member at its quota.
func (c *constrained) overfill(p int32, i int) {
	c.give(p, c.atMin[i])
	c.atMin = slices.Delete(c.atMin, i, i+1)
	if c.over++; c.over == c.mayBeOver {
		c.atMin = c.atMin[:0]
	}
}
