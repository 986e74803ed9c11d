package invariant

import (
	"slices"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

func oneOwner() rule {
	return rule{
		Info: Info{
			Name:  "one-owner",
			Rules: "groups VI-30",
			Words: "No two members of a group own a partition at once: eager members revoke all before they join, cooperative ones what goes to others before it is assigned anew.",
			When:  "when a member takes a partition",
			Broken: "the old owner does not know yet that it is out of the group (session, rebalance or sync timeout, a pause, no way to the coordinator), that another process came " +
				"back under its group.instance.id, or that another coordinator serves the group (LD-10), and cannot commit then; a JoinGroup of a connection that is lost may be " +
				"carried out late; a member that was away takes what it was told in a generation that has ended without it",
		},
		kinds: []event.Kind{event.PartitionAssigned},
		build: func(f *findings) checker { return &owners{f} },
	}
}

type owners struct{ *findings }

func (c *owners) observe(e *event.Event) {
	x, client := c.g.ch.groups.of, c.g.ch.groups.client
	c.checked++
	for _, o := range x.owners[e.TP] {
		if o.client == client {
			continue
		}
		if why := x.overlap(client, o, e); why != "" {
			c.suspend(c.g.ch.p, why)
			continue
		}
		c.violateGroup(x, e.TP, "%s takes %s at %s in generation %d; %s owns it since %s, in generation %d", e.Actor, e.TP, e.Time, e.Generation, o.client.actor, o.since,
			o.client.generation)
	}
}

// overlap says why o's client may own a partition still that another member takes.
func (x *group) overlap(taker *groupClient, o *clientPart, e *event.Event) string {
	l, c := x.newest(), o.client
	if l == nil || taker.node != l.node {
		return "two coordinators served the group"
	}
	if c.node != kafka.NoNode && c.node != l.node { // whose generations may have the same numbers
		return "the owner before takes a broker for the coordinator that was replaced (LD-10)"
	}
	if taker.reset {
		return "the new owner lost its membership in its callback, and loses the partition at its next join"
	}
	// It learns of its end from its next heartbeat (AbstractCoordinator.joinGroupIfNeeded).
	if e.Generation < l.generation && l.without(e.Member) {
		return "the new owner takes what it was given in a generation that has ended without it, and does not know that yet"
	}
	m := l.byID[c.member]
	if c.generation == e.Generation && !c.reset && m != nil { // a number may be given out again (LD-9)
		return ""
	}
	switch {
	case m == nil:
		return "the owner before was out of the group and did not know it yet"
	case c.reset:
		return "the owner before knew that it was out of the group, and had not come to poll yet"
	case m.joined != l.generation:
		return "the owner before had not joined the generation"
	case c.joinLost:
		return "a JoinGroup of the owner before was carried out after it had given the coordinator up"
	}
	return ""
}

// without: the member had no part in the last completed join.
func (l *life) without(id string) bool {
	m := l.byID[id]
	return m == nil || m.joined != l.generation
}

func callbacksAlternate() rule {
	return rule{
		Info: Info{
			Name:  "callbacks-alternate",
			Rules: "groups VI-31 VI-32",
			Words: "A member is told of each partition by turns that it is assigned and that it is revoked or lost: lost if it had given its generation or id up when the " +
				"rebalance (onJoinPrepare, onJoinComplete) or close came to it, else revoked. " +
				"Between the two alone it gets records, an eager one none after its automatic commit before the rebalance; an eager member owns nothing while it joins; a cooperative " +
				"one is not assigned what it revoked in the same generation.",
			When:   "at each callback and delivery, and when a member begins to join",
			Broken: "never (a process that dies is told nothing; close during a rebalance counts as lost)",
		},
		kinds: []event.Kind{event.PartitionAssigned, event.PartitionRevoked, event.PartitionLost, event.RecordDelivered, event.MemberChanged},
		build: func(f *findings) checker { return &callbacks{f} },
	}
}

type callbacks struct{ *findings }

func (c *callbacks) observe(e *event.Event) {
	if e.Group == "" {
		return
	}
	x, client, part := c.g.ch.groups.of, c.g.ch.groups.client, c.g.ch.groups.part
	if x == nil {
		return
	}
	c.checked++
	switch e.Kind {
	case event.MemberChanged:
		if e.Detail == event.MemberPreparing && e.Index == 0 {
			c.joins(x, client, e)
		}
	case event.RecordDelivered:
		switch {
		case part == nil:
		case !part.owned:
			c.violateGroup(x, e.TP, "%s got %s offset %d at %s without owning the partition", e.Actor, e.TP, e.Base, e.Time)
		case part.revoking && !client.cooperative:
			c.violateGroup(x, e.TP, "%s got %s offset %d at %s; it had committed %d before, to revoke the partition", e.Actor, e.TP, e.Base, e.Time, part.position)
		}
	case event.PartitionAssigned:
		switch {
		case part.owned:
			c.violateGroup(x, e.TP, "%s is assigned %s at %s; it owns it since %s", e.Actor, e.TP, e.Time, part.since)
		case client.cooperative && part.given == e.Generation && e.Generation >= 0:
			c.violateGroup(x, e.TP, "%s is assigned %s in generation %d, in which it had revoked it", e.Actor, e.TP, e.Generation)
		}
	default:
		c.ends(x, client, part, e)
	}
}

func (c *callbacks) joins(x *group, client *groupClient, e *event.Event) {
	for _, p := range client.parts {
		if p.owned {
			c.violateGroup(x, p.tp, "%s joins at %s and still owns %s, though its assignors are eager", e.Actor, e.Time, p.tp)
			return
		}
	}
}

func (c *callbacks) ends(x *group, client *groupClient, part *clientPart, e *event.Event) {
	// A callback that takes time may be of a rebalance that has failed meanwhile.
	joining := client.joining() || e.Created > 0 && client.joinEnded >= e.Created
	switch {
	case !part.owned:
		c.violateGroup(x, e.TP, "%s is told at %s that %s is gone; it does not own it", e.Actor, e.Time, e.TP)
	case e.Kind == event.PartitionLost && !client.reset && !joining:
		c.violateGroup(x, e.TP, "%s loses %s at %s (%s); it has its generation and id", e.Actor, e.TP, e.Time, e.Text)
	case e.Kind == event.PartitionRevoked && client.reset && (e.Created == 0 || e.Created == e.Time || client.resetAt < e.Created):
		c.violateGroup(x, e.TP, "%s revokes %s at %s (%s); it gave its generation up before, so that it is lost", e.Actor, e.TP, e.Time, e.Text)
	}
}

func takesWhatItJoined() rule {
	return rule{
		Info: Info{
			Name:   "takes-what-it-joined",
			Rules:  "groups VI-33",
			Words:  "A member takes only partitions that the coordinator's last answer to its SyncGroup names, in the generation of that answer.",
			When:   "when a member takes a partition",
			Broken: "never",
		},
		kinds: []event.Kind{event.PartitionAssigned},
		build: func(f *findings) checker { return &takes{f} },
	}
}

type takes struct{ *findings }

func (c *takes) observe(e *event.Event) {
	x, s := c.g.ch.groups.of, &c.g.ch.groups.client.sync
	if s.unread {
		return
	}
	c.checked++
	switch {
	case s.member != e.Member || s.generation != e.Generation:
		c.violateGroup(x, e.TP, "%s takes %s at %s as %s in generation %d; it was last assigned something as %s in generation %d", e.Actor, e.TP, e.Time, e.Member, e.Generation,
			s.member, s.generation)
	case !slices.Contains(s.parts, e.TP):
		c.violateGroup(x, e.TP, "%s takes %s at %s in generation %d, in which it was assigned %s", e.Actor, e.TP, e.Time, e.Generation, listed(s.parts))
	}
}
