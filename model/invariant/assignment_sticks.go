package invariant

import (
	"slices"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

func assignmentSticks() rule {
	return rule{
		Info: Info{
			Name:  "assignment-sticks",
			Rules: "groups VI-24",
			Words: "sticky and cooperative-sticky leave as many partitions where they are claimed as equal numbers allow, if all members subscribe to the same topics; else no two " +
				"members swap partitions of a topic, and nothing moves if everything is claimed and no move would make two members more equal.",
			When: "at each generation that becomes stable with one of the two",
			Broken: "racks (not in these runs); what a member does not claim, because it is new or has lost its generation, is nobody's; nor is a topic anybody's whose deletion has begun, " +
				"if the leader knows that, until it knows that the topic was created again",
		},
		kinds: []event.Kind{event.GroupChanged},
		build: func(f *findings) checker { return &sticks{f} },
	}
}

type sticks struct{ *findings }

func (c *sticks) observe(e *event.Event) {
	x, l := c.g.ch.groups.of, c.g.toJudge(e)
	if l == nil || e.Detail != "sticky" && e.Detail != "cooperative-sticky" || l.all() == 0 {
		return
	}
	c.checked++
	owner := l.claimed(e.Detail)
	if l.uniform() {
		c.kept(x, l, owner, e)
		return
	}
	c.swaps(x, l, owner, e)
	c.repeats(x, l, owner, e)
}

// claimed is ST-1: who rightly claims a partition; a partition that several claim in
// their newest generation is nobody's (nil).
func (l *life) claimed(protocol string) map[kafka.TopicPartition]*member {
	owner := map[kafka.TopicPartition]*member{}
	since := map[kafka.TopicPartition]int32{}
	for _, m := range l.members {
		list, generation := m.sub.claims(protocol)
		for _, tp := range list {
			g, claimed := since[tp]
			switch {
			case !claimed || generation > g:
				owner[tp], since[tp] = m, generation
			case generation == g && owner[tp] != m:
				owner[tp] = nil
			}
		}
	}
	return owner
}

// kept is ST-4.
func (c *sticks) kept(x *group, l *life, owner map[kafka.TopicPartition]*member, e *event.Event) {
	kept := l.keptByMisnamed(owner, e.Detail)
	for _, m := range l.members {
		for _, tp := range m.given.parts {
			if owner[tp] == m && m.sub.wants(tp.Topic) {
				kept++
			}
		}
	}
	unused := c.g.unusedDoomed(l)
	bound := c.couldKeep(l, owner, e.Detail, unused)
	if l.cooperative() { // it may know each of them, and withhold it
		for set := 0; kept < bound && set < 1<<len(unused)-1; set++ {
			bound = min(bound, c.couldKeep(l, owner, e.Detail, chosen(unused, set)))
		}
	}
	if kept < bound {
		c.violateGroup(x, kafka.TopicPartition{}, "%s, generation %d: %d partitions stay where they are claimed; %d could", e.Detail, e.Generation, kept, bound)
	}
}

// chosen are those whose bit is set.
func chosen(topics []string, set int) (some []string) {
	for i, t := range topics {
		if set&(1<<i) != 0 {
			some = append(some, t)
		}
	}
	return some
}

// unusedDoomed are the topics whose deletion has begun, and of which nothing is assigned. A
// topic leaves the brokers' metadata when the controller begins to delete it (long before
// its znode is gone, if a replica is down), and the leader's when it asks them next. So it
// does not know them, or is cooperative and withholds all of them. When the topic is created
// again the leader may know that it is gone, and not that it is there again.
func (g *ghost) unusedDoomed(l *life) (topics []string) {
	for _, t := range l.wanted() {
		if (g.doomedTopic(t) || g.createdAgain(t) && g.sightOf(l, t).gone) && !slices.ContainsFunc(l.members, func(m *member) bool { return len(m.of(t)) > 0 }) {
			topics = append(topics, t)
		}
	}
	return topics
}

// couldKeep is how many partitions may stay where they are claimed, if the leader knows all
// topics but those in gone.
func (c *sticks) couldKeep(l *life, owner map[kafka.TopicPartition]*member, protocol string, gone []string) (bound int) {
	total := c.g.assignable(l, gone)
	q, extra := total/len(l.members), total%len(l.members)
	more := 0
	for _, m := range l.members {
		list, _ := m.sub.claims(protocol)
		n := 0
		for _, tp := range list {
			if owner[tp] == m && m.sub.wants(tp.Topic) && c.g.maySee(l, tp) && !slices.Contains(gone, tp.Topic) {
				n++
			}
		}
		bound += min(n, q)
		if n > q {
			more++
		}
	}
	return bound + min(extra, more)
}

// swaps looks for a partition that went from one member to another while another of the
// same topic went back.
func (c *sticks) swaps(x *group, l *life, owner map[kafka.TopicPartition]*member, e *event.Event) {
	type move struct {
		from, to *member
		topic    string
	}
	moves := map[move]kafka.TopicPartition{}
	for _, m := range l.members {
		for _, tp := range m.given.parts {
			if o := owner[tp]; o != nil && o != m && o.sub.wants(tp.Topic) {
				if back, found := moves[move{m, o, tp.Topic}]; found {
					c.violateGroup(x, tp, "%s, generation %d: %s moves from %s to %s, and %s the other way", e.Detail, e.Generation, tp, o.id, m.id, back)
				}
				moves[move{o, m, tp.Topic}] = tp
			}
		}
	}
}

// repeats: an assignor that is asked again about what it has assigned changes nothing. What
// is claimed is such an assignment if nothing is free and ST-6 holds of it.
func (c *sticks) repeats(x *group, l *life, owner map[kafka.TopicPartition]*member, e *event.Event) {
	claims := make([][]kafka.TopicPartition, len(l.members))
	whole := 0
	for i, m := range l.members {
		list, _ := m.sub.claims(e.Detail)
		for _, tp := range list {
			if owner[tp] == m && m.sub.wants(tp.Topic) && tp.Partition < c.g.partitionsOf(tp.Topic) {
				claims[i] = append(claims[i], tp)
			}
		}
		whole += len(claims[i])
	}
	if whole != l.all() || whole != c.g.mostAssignable(l) || improvable(l, claims) {
		return
	}
	for _, m := range l.members {
		for _, tp := range m.given.parts {
			if o := owner[tp]; o != nil && o != m {
				c.violateGroup(x, tp, "%s, generation %d: %s moves from %s to %s, though all is claimed and no move makes two members more equal", e.Detail, e.Generation, tp, o.id, m.id)
				return
			}
		}
	}
}

// improvable: a member has two partitions or more beyond another that subscribes to one of
// their topics (ST-6). parts is by member.
func improvable(l *life, parts [][]kafka.TopicPartition) bool {
	for i := range l.members {
		for k, b := range l.members {
			if len(parts[i]) >= len(parts[k])+2 && slices.ContainsFunc(parts[i], func(tp kafka.TopicPartition) bool { return b.sub.wants(tp.Topic) }) {
				return true
			}
		}
	}
	return false
}
