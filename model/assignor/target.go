package assignor

import "slices"

// unclaimed and contested stand in target.claimed for no member.
const (
	unclaimed = -1
	contested = -2 // by several members in the newest generation
)

// target is a sticky assignment in the making: what was claimed, who gets what.
type target struct {
	*group
	visit      []int32
	generation int32 // the newest of all members
	// claimed is by partition the member with its newest claim, subscribed or not;
	// since is that claim's generation.
	claimed []int32
	since   []int32
	claims  []claim // all of them, in order of visits; for members whose subscriptions differ
	racks   bool    // racks of members and replicas matter
	// moved is set when a member lost a partition to its subscription or rack.
	moved bool
	owner []int32 // by partition; -1 = nobody
	size  []int32 // by member
	flaws
	doubles []double
}

// claim is one that may turn out to be of an older generation.
type claim struct{ partition, member, generation int32 }

func newTarget(g *group, visit []int32) *target {
	t := &target{group: g, visit: visit, generation: NoGeneration, size: make([]int32, len(g.members))}
	if visit == nil {
		t.visit = make([]int32, len(g.members))
		for m := range t.visit {
			t.visit[m] = int32(m)
		}
	}
	t.claimed, t.since, t.owner = nobody(g.partitions()), nobody(g.partitions()), nobody(g.partitions())
	t.racks = racksMatter(g.racksOf(t.visit), g.topics)
	return t
}

// claimant enters the claims of one member.
type claimant struct {
	t          *target
	member     int32
	generation int32
	topic      string // of the claim before
	index      int32  // the same, -1 = no such topic
}

func (t *target) claimant(m, generation int32) claimant {
	t.generation = max(t.generation, generation)
	return claimant{t: t, member: m, generation: generation, index: -1}
}

// claim is ST-1: a claim of a newer generation wins, two of the same cancel out.
func (c *claimant) claim(topic string, partition int32) {
	if c.topic != topic || c.index < 0 {
		c.topic, c.index = topic, -1
		if i, exists := c.t.index[topic]; exists {
			c.index = i
		}
	}
	if c.index < 0 {
		return
	}
	t, p := c.t, c.t.number(c.index, partition)
	if p < 0 {
		return
	}
	if !t.uniform || t.trusting {
		if t.claims == nil {
			t.claims = make([]claim, 0, t.partitions())
		}
		t.claims = append(t.claims, claim{p, c.member, c.generation})
	}
	switch {
	case t.claimed[p] == unclaimed || c.generation > t.since[p]:
		t.claimed[p], t.since[p] = c.member, c.generation
	case c.generation == t.since[p] && t.claimed[p] != c.member && !t.trusting:
		t.claimed[p] = contested
	}
}

// keeps reports whether the one that rightly claims a partition of topic may have it
// still; if not, it must revoke.
func (t *target) keeps(p, topic int32) bool {
	m := t.claimed[p]
	if m < 0 {
		return false
	}
	if !t.wants(m, topic) || !t.matches(m, p, topic) {
		t.moved = true
		return false
	}
	return true
}

// matches reports whether racks allow it; they always do where they do not matter.
func (t *target) matches(m, p, topic int32) bool {
	return !t.racks || rackMatches(t.members[m].Rack, t.topics[topic].Racks, int(p-t.first[topic]))
}

// compute chooses the path (ST-3).
func (t *target) compute() {
	if t.newestOnly {
		t.dropOlder()
	}
	switch {
	case len(t.members) == 0 || t.partitions() == 0:
	case t.uniform:
		newConstrained(t).run()
	default:
		newGeneral(t).run()
	}
	if t.trusting {
		t.keepDoubles()
	}
}

func (t *target) give(p, m int32) {
	t.owner[p] = m
	t.size[m]++
}

func (t *target) result() []Assignment { return t.withDoubles(t.assignments(t.owner)) }

// previous is by partition the newest claimant of a generation older than the
// newest of all, -1 if there is none; of several the one visited first. Nil: there
// is none at all.
func (t *target) previous() []int32 {
	if !slices.ContainsFunc(t.claims, func(c claim) bool { return c.generation < t.generation }) {
		return nil
	}
	before, since := nobody(t.partitions()), nobody(t.partitions())
	for _, c := range t.claims {
		if c.generation < t.generation && (before[c.partition] < 0 || c.generation > since[c.partition]) {
			before[c.partition], since[c.partition] = c.member, c.generation
		}
	}
	return before
}
