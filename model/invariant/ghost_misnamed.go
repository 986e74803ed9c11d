package invariant

import (
	"slices"
	"strings"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

// misnamed: the leader of a generation under way, or just assigned, knows m by an id that was
// taken back, so that m got nothing.
//
// A static member that comes back to a stable group gets another id, and when that cannot be
// persisted in time its old one again, whatever has happened meanwhile
// (GroupCoordinator.updateStaticMemberAndRebalance). If others have joined, and the leader was told
// the new id, its assignment does not name the old one, which gets no bytes, and what the leader
// gave the new one is nobody's (doSyncGroup). An assignor that knows a member names it, if only with an
// empty list, and the leader names itself.
func (l *life) misnamed(m *member) bool {
	return m.misnamed > 0 && m.misnamed == l.generation && m.given.generation == l.generation && m.given.size == 0 && m.id != l.leader
}

const misnamedText = "the leader knew a static member by an id that could not be persisted, and that was taken back before it assigned"

// couldLose reports whether so many partitions of a topic, that are nobody's, may be what the
// leader gave members that are misnamed: not more than their number gets. Where members
// subscribe to different topics round robin and the sticky ones have no such number.
func (l *life) couldLose(protocol, topic string, none, count int) bool {
	subs, lost := 0, 0
	for _, m := range l.members {
		if m.sub.wants(topic) {
			subs++
			if l.misnamed(m) {
				lost++
			}
		}
	}
	switch {
	case lost == 0:
		return false
	case protocol == "range":
		return none <= lost*((count+subs-1)/subs)
	case l.uniform():
		return none <= l.mostLost()
	}
	return true
}

// mostLost is how many partitions the leader may have given to misnamed members, if all
// members subscribe to the same topics: one more each than the least that another has.
func (l *life) mostLost() int {
	lost, least := 0, -1
	for _, m := range l.members {
		if l.misnamed(m) {
			lost++
		} else if n := len(m.given.parts); least < 0 || n < least {
			least = n
		}
	}
	return lost * (least + 1)
}

// equalOthers is equal where the leader gave misnamed members what nobody has.
func (c *fair) equalOthers(x *group, l *life, e *event.Event) {
	if !l.cooperative() {
		if lost := c.g.assignable(l, nil) - l.all(); lost > l.mostLost() {
			c.violateGroup(x, kafka.TopicPartition{}, "%s, generation %d: %d partitions are nobody's; the leader gave %d at most to a member that it knew by another id", e.Detail,
				e.Generation, lost, l.mostLost())
		}
	}
	var sizes []int
	for _, m := range l.members {
		if !l.misnamed(m) {
			sizes = append(sizes, len(m.given.parts))
		}
	}
	most := 0
	for _, t := range l.wanted() {
		most += int(c.g.mostOf(l, t))
	}
	if lost := len(l.members) - len(sizes); most-l.all() < lost*(slices.Max(sizes)-1) {
		c.violateGroup(x, kafka.TopicPartition{}, "%s, generation %d: %d partitions are nobody's; the leader gave more to members that it knew by another id, as others have %v", e.Detail,
			e.Generation, most-l.all(), sizes)
	}
	high := slices.Min(sizes) + 1
	if l.cooperative() { // it may withhold a part
		high = (max(l.all(), most) + len(l.members) - 1) / len(l.members)
	}
	for _, m := range l.members {
		if n := len(m.given.parts); n > high {
			c.violateGroup(x, kafka.TopicPartition{}, "%s, generation %d: %s gets %d partitions, and others, of %d members, %v", e.Detail, e.Generation, m.id, n, len(l.members), sizes)
		}
	}
}

// aroundMisnamed is blocks where the leader gave misnamed subscribers what nobody has: for some
// number of partitions that it may have known, the others have their blocks.
func (c *fair) aroundMisnamed(x *group, l *life, subs []*member, topic string, e *event.Event) {
	for n := c.g.knownTo(l, topic); n <= max(c.g.partitionsOf(topic), c.g.everHad(topic)); n++ {
		if l.othersHaveBlocks(subs, c.g.mayKnow(l, topic, n), topic) {
			return
		}
	}
	for i, m := range subs {
		if !l.misnamed(m) {
			c.violateGroup(x, kafka.TopicPartition{}, "range, generation %d: %s, number %d of %d subscribers, gets partitions %v of %s, not the block that is its", e.Generation, m.id, i,
				len(subs), m.of(topic), topic)
		}
	}
}

// mayKnow are the partitions below n that the leader of a generation knows, and those that it assigned.
func (g *ghost) mayKnow(l *life, topic string, n int32) (known []int32) {
	for i := range max(n, l.highest(topic)+1) {
		tp := kafka.TopicPartition{Topic: topic, Partition: i}
		if l.gives(tp) || i < n && (!g.numbers(l) || !g.leftOut(l, g.partition(tp))) {
			known = append(known, i)
		}
	}
	return known
}

func (l *life) othersHaveBlocks(subs []*member, known []int32, topic string) bool {
	for i, m := range subs {
		if !l.misnamed(m) && !slices.Equal(m.of(topic), block(known, i, len(subs))) {
			return false
		}
	}
	return true
}

// keptByMisnamed counts what misnamed members claim, each alone, and nobody got: the leader may have
// left it to them.
func (l *life) keptByMisnamed(owner map[kafka.TopicPartition]*member, protocol string) (n int) {
	for _, m := range l.members {
		if !l.misnamed(m) {
			continue
		}
		list, _ := m.sub.claims(protocol)
		for _, tp := range list {
			if owner[tp] == m && m.sub.wants(tp.Topic) && !l.gives(tp) {
				n++
			}
		}
	}
	return n
}

// gives: the generation assigns a partition to somebody.
func (l *life) gives(tp kafka.TopicPartition) bool {
	return slices.ContainsFunc(l.members, func(m *member) bool { return slices.Contains(m.given.parts, tp) })
}

// orphans is what the last generation may have left to nobody, as the leader gave it to a member
// that is misnamed.
type orphans struct {
	generation int32 // 0 = none
	parts      []kafka.TopicPartition
}

// orphans follows a generation that is published. What is added to a topic later is none: the
// leader hears of it, and rejoins.
func (g *ghost) orphans(l *life) orphans {
	x := orphans{}
	for _, m := range l.members {
		if !l.misnamed(m) {
			continue
		}
		x.generation = l.generation
		for _, t := range m.sub.topics {
			for i := range g.partitionsOf(t) {
				if tp := (kafka.TopicPartition{Topic: t, Partition: i}); !l.gives(tp) && !slices.Contains(x.parts, tp) {
					x.parts = append(x.parts, tp)
				}
			}
		}
	}
	return x
}

// orphaned says that a partition has no owner in a group since the present generation gave it to
// an id that was taken back. Who comes or goes next mends it, but not the static member: it
// comes back to a stable group without a rebalance.
func (g *ghost) orphaned(line string, p *partition) string {
	if g.groups == nil || p == nil {
		return ""
	}
	for _, x := range g.groups.list {
		l := x.newest()
		if strings.HasSuffix(line, " has 0 owners in group "+x.id) && l != nil && l.state == event.GroupStable &&
			x.orphans.generation == l.generation && l.generation > 0 && slices.Contains(x.orphans.parts, p.tp) {
			return misnamedText
		}
	}
	return ""
}
