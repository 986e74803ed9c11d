package invariant

import (
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

func groupOneAssignment() rule {
	return rule{
		Info: Info{
			Name:  "group-one-assignment",
			Rules: "groups VI-4",
			Words: "A generation is assigned once, by its leader; who is answered SyncGroup without an error gets, byte for byte, what was persisted for it in the present " +
				"generation.",
			When:   "at each assignment that is published and each answer to SyncGroup",
			Broken: "never",
		},
		kinds: []event.Kind{event.AssignmentStored, event.SyncAnswered},
		build: func(f *findings) checker { return &oneAssignment{f} },
	}
}

type oneAssignment struct{ *findings }

func (c *oneAssignment) observe(e *event.Event) {
	x, l, m := c.g.ch.groups.of, c.g.ch.groups.life, c.g.ch.groups.member
	if e.Kind == event.SyncAnswered && e.Err != kafka.None {
		return
	}
	c.checked++
	switch {
	case m == nil:
		c.violateGroup(x, kafka.TopicPartition{}, "%s has an assignment of generation %d for %q, which is no member", nodeName(e.Node), e.Generation, e.Member)
	case e.Generation != l.generation:
		c.violateGroup(x, kafka.TopicPartition{}, "%s assigns generation %d to %s; the group is in generation %d", nodeName(e.Node), e.Generation, e.Member, l.generation)
	case e.Kind == event.AssignmentStored && l.state != event.GroupCompletingRebalance:
		c.violateGroup(x, kafka.TopicPartition{}, "%s publishes an assignment of generation %d while the group is %s", nodeName(e.Node), e.Generation, l.state)
	case e.Kind == event.AssignmentStored && m.given.generation == e.Generation:
		c.violateGroup(x, kafka.TopicPartition{}, "%s publishes a second assignment of generation %d for %s", nodeName(e.Node), e.Generation, e.Member)
	case e.Kind == event.SyncAnswered && m.given.generation != e.Generation:
		c.violateGroup(x, kafka.TopicPartition{}, "%s tells %s an assignment of generation %d; none was persisted", nodeName(e.Node), e.Member, e.Generation)
	case e.Kind == event.SyncAnswered && (m.given.crc != e.CRC || m.given.size != e.Size):
		c.violateGroup(x, kafka.TopicPartition{}, "%s tells %s other bytes for generation %d (%d, CRC %08x) than were persisted (%d, CRC %08x)", nodeName(e.Node), e.Member,
			e.Generation, e.Size, e.CRC, m.given.size, m.given.crc)
	}
}

func staticRejoinQuiet() rule {
	return rule{
		Info: Info{
			Name:  "static-rejoin-quiet",
			Rules: "groups VI-6",
			Words: "A static member that comes back to a stable group under another id, without changing the vote, joins the present generation and is assigned what it was " +
				"before; nobody rebalances for it.",
			When:   "from its new id to the answer to its JoinGroup, while the group stays stable",
			Broken: "its protocols change the vote; others leave, join or time out meanwhile",
		},
		kinds: []event.Kind{event.MemberJoined, event.JoinAnswered, event.AssignmentStored, event.GroupChanged},
		build: func(f *findings) checker { return &quiet{f} },
	}
}

type quiet struct{ *findings }

// The reasons for a rebalance that a known static member must not give (group.reason…).
const (
	newMemberText = "a member is new"
	staticText    = "a static member rejoins before the assignment"
)

func (c *quiet) observe(e *event.Event) {
	x, l := c.g.ch.groups.of, c.g.ch.groups.life
	if e.Kind == event.MemberJoined {
		// The same instance must not be twice in it (KAFKA-8500).
		for _, m := range l.members {
			if e.Detail != "" && m.instance == e.Detail && m.id != e.Member {
				c.violateGroup(x, kafka.TopicPartition{}, "%s has the static member %s twice: as %s and as %s", nodeName(e.Node), e.Detail, m.id, e.Member)
			}
		}
		return
	}
	if l.rejoined == "" {
		return
	}
	switch {
	case e.Kind == event.JoinAnswered && e.Member == l.rejoined && e.Err == kafka.None:
		c.checked++
		if e.Generation != l.generation {
			c.violateGroup(x, kafka.TopicPartition{}, "the static member %s came back to generation %d and was told %d", e.Member, l.generation, e.Generation)
		}
	case e.Kind == event.AssignmentStored:
		c.violateGroup(x, kafka.TopicPartition{}, "generation %d is assigned anew because the static member %s came back", e.Generation, l.rejoined)
	case e.Kind == event.GroupChanged && e.State == event.GroupPreparingRebalance:
		c.checked++
		if e.Text == staticText || e.Text == newMemberText && l.members[len(l.members)-1].id == l.rejoined { // nobody has joined after it
			c.violateGroup(x, kafka.TopicPartition{}, "it rebalances (%s) because the static member %s came back", e.Text, l.rejoined)
		}
	}
}
