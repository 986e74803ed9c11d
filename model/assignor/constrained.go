package assignor

import "slices"

// constrained is the path for members with equal subscriptions (groups 4.3). Each
// ends with q or q+1 partitions, and no other assignment of those sizes keeps more
// of what was claimed (ST-4).
type constrained struct {
	*target
	minQuota, maxQuota int32
	over, mayBeOver    int32   // members with more than minQuota: so far, and in the end
	under              []int32 // members with fewer than minQuota, by id
	atMin              []int32 // members with minQuota that may get one more
	unassigned         []int32 // partitions, ascending
}

func newConstrained(t *target) *constrained {
	n, count := t.partitions(), int32(len(t.members))
	c := &constrained{target: t, minQuota: n / count, maxQuota: n / count, mayBeOver: n % count}
	if c.mayBeOver > 0 {
		c.maxQuota++
	}
	return c
}

func (c *constrained) run() {
	c.keep()
	slices.Sort(c.under)
	slices.Sort(c.atMin)
	for p, m := range c.owner {
		if m < 0 {
			c.unassigned = append(c.unassigned, int32(p))
		}
	}
	if c.racks {
		c.assignByRack()
	}
	c.assignInTurn()
}

// keep gives members what they claim, up to their quota. They keep theirs in the
// order of partition, then topic (KAFKA-16277), so that it is spread over topics.
func (c *constrained) keep() {
	claims, end := c.claimsByMember()
	for _, m := range c.visit {
		first := int32(0)
		if m > 0 {
			first = end[m-1]
		}
		own := claims[first:end[m]]
		switch n := int32(len(own)); {
		case n < c.minQuota:
			c.under = append(c.under, m)
		case n >= c.maxQuota && c.over < c.mayBeOver:
			own = own[:c.maxQuota]
			if c.over++; c.over == c.mayBeOver {
				c.atMin = c.atMin[:0]
			}
		default:
			own = own[:c.minQuota]
			if c.over < c.mayBeOver {
				c.atMin = append(c.atMin, m)
			}
		}
		for _, k := range own {
			c.give(c.number(int32(k&(1<<32-1)), int32(k>>32)), m)
		}
	}
}

// claimsByMember lists the claims that count, each member's together and sorted,
// with the end of each member's part. A claim is partition << 32 | topic.
func (c *constrained) claimsByMember() (claims []int64, end []int32) {
	end = make([]int32, len(c.members))
	for t := range c.topics {
		for p := c.first[t]; p < c.first[t+1]; p++ {
			if c.keeps(p, int32(t)) {
				end[c.claimed[p]]++
			}
		}
	}
	at, total := make([]int32, len(end)), int32(0)
	for m := range end {
		at[m] = total
		total += end[m]
		end[m] = total
	}
	claims = make([]int64, total)
	for t := range c.topics {
		for p := c.first[t]; p < c.first[t+1]; p++ {
			if c.keeps(p, int32(t)) {
				m := c.claimed[p]
				claims[at[m]] = int64(c.partition(int32(t), p))<<32 | int64(t)
				at[m]++
			}
		}
	}
	if len(c.topics) > 1 {
		first := int32(0)
		for m := range end {
			slices.Sort(claims[first:end[m]])
			first = end[m]
		}
	}
	return claims, end
}

// assignInTurn deals out what is left: to those under their quota in turn, then one
// each to those at it.
func (c *constrained) assignInTurn() {
	turn := 0
	for _, p := range c.unassigned {
		if len(c.under) == 0 {
			c.give(p, c.atMin[0])
			c.atMin = c.atMin[1:]
			continue
		}
		if turn >= len(c.under) {
			turn = 0
		}
		m := c.under[turn]
		if c.give(p, m); c.size[m] < c.minQuota {
			turn++
			continue
		}
		c.under = slices.Delete(c.under, turn, turn+1)
		c.atMin = append(c.atMin, m)
	}
}
