package invariant

import (
	"fmt"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

func committedOffsetsKept() rule {
	return rule{
		Info: Info{
			Name:  "committed-offsets-kept",
			Rules: "groups VI-8 VI-40",
			Words: "What a coordinator loads is what was published before: no older committed offset, no older generation, and of the same record the same contents; and a " +
				"member that asks what is committed gets a value that was so at some time since it got the partition.",
			When: "when a coordinator that leads in the committed epoch has read its partition of __consumer_offsets to the end; at each answer to OffsetFetch that a member uses",
			Broken: "committed records of __consumer_offsets lost in an allowed unclean election or power loss, or in the middle of the log, where a power loss took the end of a segment but not the next one; offsets loaded from above the high watermark; a coordinator that was replaced and does not know it answers " +
				"with what it has (LD-10); offsets.commit.required.acks below all",
		},
		kinds: []event.Kind{event.OffsetLoaded, event.CoordinatorLoaded, event.CommittedFetched},
		build: func(f *findings) checker { return &kept{f} },
	}
}

type kept struct{ *findings }

func (c *kept) observe(e *event.Event) {
	if e.Kind != event.CommittedFetched && c.g.deposed(e) {
		return // it has not heard yet that it was replaced
	}
	switch e.Kind {
	case event.OffsetLoaded:
		c.offset(c.g.ch.groups.of, c.g.ch.groups.com, e)
	case event.CoordinatorLoaded:
		c.loaded(e)
	case event.CommittedFetched:
		c.fetched(e)
	}
}

// lost tells of a loss, or why it may be. node is the coordinator's: a power loss may have left
// its log without the record, but with later ones (see partition.holed).
func (c *kept) lost(node kafka.NodeID, x *group, index int32, at kafka.Offset, tp kafka.TopicPartition, format string, args ...any) {
	if p := c.g.offsetsPartition(index); p != nil {
		if com := x.comsBy.Get(tp); com != nil && at == kafka.Offset(com.at) && com.neverCommitted(p) {
			c.suspend(p, "a coordinator had loaded a committed offset from above the high watermark, and no other replica had it when its broker died")
			return
		}
		if why := p.fellBack(at); why != "" {
			c.suspend(p, why)
			return
		}
		if i := p.hole(node, at, at+1); i != nil {
			c.suspend(p, i.String())
			return
		}
		if why := p.cleanedFor(p.known(node), at); why != "" {
			c.suspend(p, why)
			return
		}
	}
	c.violateGroup(x, tp, format, args...)
}

// cleanedFor: a cleaner of r's log, or of one that it copied, may have taken the record at an offset for a newer one of its
// key that was lost afterwards (bugs S-12).
func (p *partition) cleanedFor(r *replica, at kafka.Offset) string {
	if r == nil {
		return ""
	}
	for _, i := range p.incidents {
		if (i.kind == uncleanCut || i.kind == lossyCut) && at < r.clean.bound && i.from < min(i.to, r.clean.bound) && at < i.to && p.keys.replaced(i, at, r.clean.bound) {
			return "a cleaner may have taken it for a newer one that was lost: " + i.String()
		}
	}
	return ""
}

// replaced reports whether, below bound, what i took had a newer record of a key of the batch at an offset, as far as
// that one's records are known.
func (k *keyed) replaced(i *incident, at, bound kafka.Offset) (newer bool) {
	if k == nil {
		return true
	}
	e, _, how := i.held.holding(at).find(at)
	if how != found {
		return true
	}
	unread := true
	i.held.each(at, e.next(), func(x *rec) {
		unread = false
		newer = newer || k.newer(i.held, &rec{offset: max(x.offset, i.from-1), key: x.key}, bound)
	})
	return newer || unread
}

// offsetsTopic is where groups are kept.
const offsetsTopic = "__consumer_offsets"

// offsetsPartition is a partition of __consumer_offsets, nil for none.
func (g *ghost) offsetsPartition(index int32) *partition {
	if index < 0 {
		return nil
	}
	return g.partition(kafka.TopicPartition{Topic: offsetsTopic, Partition: index})
}

func (c *kept) offset(x *group, com *committed, e *event.Event) {
	if !com.known {
		return
	}
	c.checked++
	switch {
	case e.First < com.at:
		c.lost(e.Node, x, e.Index, kafka.Offset(com.at), e.TP, "%s loaded %d as committed for %s, from offset %d of partition %d of __consumer_offsets; %d was published from offset %d",
			nodeName(e.Node), e.Offset, e.TP, e.First, e.Index, com.offset, com.at)
	case e.First == com.at && e.Offset != com.offset:
		c.lost(e.Node, x, e.Index, kafka.Offset(com.at), e.TP, "%s loaded %d as committed for %s; %d was published from the same offset %d of partition %d of __consumer_offsets",
			nodeName(e.Node), e.Offset, e.TP, com.offset, com.at, e.Index)
	}
}

// loaded looks for what the load has left out.
func (c *kept) loaded(e *event.Event) {
	gs := c.g.groups
	if gs == nil || e.Text != "" {
		return
	}
	for _, x := range gs.list {
		if x.index != e.TP.Partition {
			continue
		}
		c.checked++
		l := x.at(e.Node)
		for _, com := range x.coms {
			if com.known && (l == nil || com.life != l) {
				c.lost(e.Node, x, x.index, kafka.Offset(com.at), com.tp, "%s loaded no committed offset for %s; %d was published from offset %d of partition %d of __consumer_offsets",
					nodeName(e.Node), com.tp, com.offset, com.at, x.index)
			}
		}
		if s := x.saved; s != nil {
			if diff := s.differs(l); diff != "" {
				c.lost(e.Node, x, x.index, s.offset, kafka.TopicPartition{}, "%s loaded the group otherwise than it was published from offset %d of partition %d of __consumer_offsets: %s",
					nodeName(e.Node), s.offset, x.index, diff)
			}
		}
	}
}

// differs says what of a persisted generation a load has lost; l is nil if it did not
// find the group at all. A later generation is no loss.
func (s *saved) differs(l *life) string {
	switch {
	case l == nil:
		return fmt.Sprintf("not at all, instead of generation %d", s.generation)
	case !l.loaded || l.generation > s.generation:
		return ""
	case l.generation < s.generation:
		return fmt.Sprintf("generation %d instead of %d", l.generation, s.generation)
	case len(l.members) != len(s.members):
		return fmt.Sprintf("generation %d has %d members instead of %d", s.generation, len(l.members), len(s.members))
	}
	for i := range s.members {
		x := &s.members[i]
		if m := l.find(x); m == nil {
			return fmt.Sprintf("generation %d without its member %s", s.generation, x.id)
		} else if m.given.crc != x.crc || m.given.size != x.size {
			return fmt.Sprintf("generation %d with another assignment for %s", s.generation, x.id)
		}
	}
	return ""
}

// find finds the same member: a static one may have another id.
func (l *life) find(x *savedMember) *member {
	if m := l.byID[x.id]; m != nil {
		return m
	}
	for _, m := range l.members {
		if x.instance != "" && m.instance == x.instance {
			return m
		}
	}
	return nil
}

// fetched judges what a member was told.
func (c *kept) fetched(e *event.Event) {
	x, com, part := c.g.ch.groups.of, c.g.ch.groups.com, c.g.ch.groups.part
	if e.Err != kafka.None || !part.owned || com == nil {
		return
	}
	c.checked++
	if e.Offset < 0 {
		if com.known && com.since < part.since {
			c.stale(x, com, part, e, "nothing")
		}
		return
	}
	found := false
	forgotten := com.each(func(v *pastValue) bool {
		found = found || v.offset == e.Offset
		return !found && v.when >= part.since
	})
	if !found && !forgotten {
		c.stale(x, com, part, e, fmt.Sprint(e.Offset))
	}
}

// stale judges an old answer, which only a deposed coordinator may give.
func (c *kept) stale(x *group, com *committed, part *clientPart, e *event.Event, got string) {
	if l := x.newest(); l == nil || part.client.node != l.node || com.life != l {
		p := c.g.ch.p
		c.suspend(p, "a member was told an older committed offset by a coordinator that did not know yet that it had been replaced")
		return
	}
	c.lost(com.life.node, x, com.index, kafka.Offset(com.at), e.TP, "%s was told at %s that %s is committed for %s, which it owns since %s; %d is, published at %s", e.Actor, e.Time, got, e.TP,
		part.since, com.offset, com.published)
}
