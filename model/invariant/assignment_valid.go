package invariant

import (
	"slices"

	"github.com/simkafka/simkafka/model/assignor"
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

func assignmentValid() rule {
	return rule{
		Info: Info{
			Name:  "assignment-valid",
			Rules: "groups VI-20 VI-21 VI-22",
			Words: "In a stable generation of consumers no partition is assigned twice, every partition of a subscribed topic is assigned (unless its owner has to give it up " +
				"first), and each member gets only topics that it subscribes to.",
			When: "at each generation that becomes stable with one of Kafka's assignors",
			Broken: "an assignor of the application's own; a cooperative generation on the way to the next one; the leader's metadata were older than a topic or than added partitions, so that it " +
				"leaves them out; added partitions were without a leader yet, so that no metadata had them: assignors before 3.5, and round robin, number as many as they count from 0, and the last ones are left out; the same where a new controller has told " +
				"a broker that has just begun only of the partitions that have a live replica; the leader knew a static member by an id that could not be persisted, and that was taken back before it assigned",
		},
		kinds: []event.Kind{event.GroupChanged},
		build: func(f *findings) checker { return &validAssignment{f} },
	}
}

type validAssignment struct{ *findings }

// toJudge is the life whose assignment has just been published, nil if it is not one of
// Kafka's assignors for consumers or not fully known.
func (g *ghost) toJudge(e *event.Event) *life {
	if e.State != event.GroupStable || e.Text == loadedText {
		return nil
	}
	l := g.ch.groups.life
	if _, known := assignor.ByName(e.Detail); !known {
		return nil
	}
	for _, m := range l.members {
		if !m.sub.read || m.given.unread || m.given.generation != e.Generation {
			return nil
		}
	}
	return l
}

func (c *validAssignment) observe(e *event.Event) {
	x, l := c.g.ch.groups.of, c.g.toJudge(e)
	if l == nil {
		return
	}
	c.checked++
	owner := map[kafka.TopicPartition]*member{}
	for _, m := range l.members {
		for _, tp := range m.given.parts {
			if o := owner[tp]; o != nil {
				c.violateGroup(x, tp, "generation %d assigns %s to %s and to %s", e.Generation, tp, o.id, m.id)
			}
			owner[tp] = m
			if !m.sub.wants(tp.Topic) {
				c.violateGroup(x, tp, "generation %d assigns %s to %s, which subscribes to %v", e.Generation, tp, m.id, m.sub.topics)
			}
		}
	}
	for _, t := range l.wanted() {
		c.complete(x, l, owner, t, e)
	}
}

// wanted are the topics that a member subscribes to, sorted.
func (l *life) wanted() (topics []string) {
	for _, m := range l.members {
		topics = append(topics, m.sub.topics...)
	}
	slices.Sort(topics)
	return slices.Compact(topics)
}

// complete looks for partitions of a topic that nobody got.
func (c *validAssignment) complete(x *group, l *life, owner map[kafka.TopicPartition]*member, topic string, e *event.Event) {
	count, known := c.g.knownTo(l, topic), c.g.sightOf(l, topic).least > 0
	if count < c.g.partitionsOf(topic) {
		c.suspend(c.g.partition(kafka.TopicPartition{Topic: topic, Partition: count}), "the leader's metadata were older than partitions that were added to a topic, or brokers had not heard of all partitions yet")
	}
	var none []kafka.TopicPartition
	for n := range count {
		tp := kafka.TopicPartition{Topic: topic, Partition: n}
		switch {
		case owner[tp] != nil:
			known = true
		case l.withheld(tp): // as far as one can tell: a leader that does not know it gives it to nobody, too
		case c.g.numbers(l) && c.g.leftOut(l, c.g.partition(tp)):
			c.suspend(c.g.partition(tp), "the leader's metadata left it out")
		default:
			none = append(none, tp)
		}
	}
	switch {
	case len(none) == 0:
	case !known: // the leader does not know the topic yet
		c.suspend(c.g.partition(none[0]), "the leader's metadata were older than a topic that its members subscribe to")
	case l.couldLose(e.Detail, topic, len(none), int(count)):
		c.suspend(c.g.partition(none[0]), misnamedText)
	default:
		c.violateGroup(x, none[0], "generation %d assigns %s to nobody", e.Generation, listed(none))
	}
}

// partitionsOf is how many partitions a topic has, 0 if it was not created yet.
func (g *ghost) partitionsOf(topic string) int32 {
	for _, t := range g.topics {
		if t.Name == topic {
			return t.count
		}
	}
	return 0
}

// numbers: the leader of a generation assigns the partitions that its metadata have, and not the
// first numbers.
func (g *ghost) numbers(l *life) bool {
	return g.setup.Profile.AssignsKnown && l.protocol != "roundrobin"
}

// knownTo is how many partitions the leader of a generation knew of a topic: the least
// of the counts that the topic has had, or that brokers were told of, that is above all
// that it assigned; or what a new controller told first, if the leader has seen no more since; or
// those that its metadata did not leave out (see leftOut).
//
// Where metadata leave out partitions between others, Kafka's assignors share out
// numbers that these do not have and leave the last ones out, until these are known and
// the count grows (Cluster.partitionCountForTopic); from 3.5 on all but round robin assign those that
// metadata have.
func (g *ghost) knownTo(l *life, topic string) int32 {
	most, known := l.highest(topic), g.partitionsOf(topic)
	seen := g.sightOf(l, topic).least
	for _, t := range g.topics {
		if t.Name != topic {
			continue
		}
		if n := t.count - g.leavesOut(l, t); !g.numbers(l) && n > most {
			known = min(known, n)
		}
		for _, n := range t.toldFirst {
			if n > most && n >= seen {
				known = min(known, n)
			}
		}
		for _, counts := range [2][]int32{t.grown, t.told} {
			for _, n := range counts { // ascending
				if most < n {
					known = min(known, n)
					break
				}
			}
		}
	}
	return known
}

// highest is the last partition of a topic that is assigned, -1 = none.
func (l *life) highest(topic string) int32 {
	most := int32(-1)
	for _, m := range l.members {
		for _, tp := range m.given.parts {
			if tp.Topic == topic {
				most = max(most, tp.Partition)
			}
		}
	}
	return most
}

// withheld: a cooperative generation gives a partition that a member says to own to
// nobody, so that it is revoked first.
func (l *life) withheld(tp kafka.TopicPartition) bool {
	return l.cooperative() && slices.ContainsFunc(l.members, func(m *member) bool { return slices.Contains(m.sub.owned, tp) })
}
