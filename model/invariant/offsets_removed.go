package invariant

import (
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

func offsetsRemovedForCause() rule {
	return rule{
		Info: Info{
			Name:  "offsets-removed-for-cause",
			Rules: "groups VI-9",
			Words: "A committed offset goes only if it expired (offsets.retention.minutes after the group lost its last member or, of a topic that nobody subscribes to, after " +
				"the commit; never while it rebalances), or by OffsetDelete for a topic that nobody subscribes to, by DeleteGroups of an empty group, or with its topic.",
			When:   "at each removal and each commit that should replace a value",
			Broken: "before KIP-211 (Kafka 2.1) offsets expire by the age of the commit, also of a live group (KAFKA-4682); the clock of a broker is moved",
		},
		kinds: []event.Kind{event.OffsetRemoved, event.OffsetCommitted},
		build: func(f *findings) checker { return &removedForCause{f} },
	}
}

type removedForCause struct{ *findings }

func (c *removedForCause) observe(e *event.Event) {
	x, l, com := c.g.ch.groups.of, c.g.ch.groups.life, c.g.ch.groups.com
	c.checked++
	if e.Kind == event.OffsetCommitted {
		if com.known && com.life == l && e.Base < 0 {
			c.violateGroup(x, e.TP, "%s publishes %d as the first commit for %s; it had %d, which nothing removed", nodeName(e.Node), e.Offset, e.TP, com.offset)
		}
		return
	}
	idle := c.g.setup.Profile.ExpireIdleGroups
	subscribed := l.state != event.GroupEmpty && l.state != event.GroupDead && l.subscribes(e.TP.Topic)
	switch e.Text {
	case event.RemovedExpired:
		rebalances := l.state == event.GroupPreparingRebalance || l.state == event.GroupCompletingRebalance
		switch {
		case rebalances && idle:
			c.violateGroup(x, e.TP, "the committed offset %d of %s expired on %s while the group rebalances (%s), so that nobody knows whether it subscribes to its topic", e.Base,
				e.TP, nodeName(e.Node), l.state)
			return
		case subscribed && idle:
			c.violateGroup(x, e.TP, "the committed offset %d of %s expired on %s while the group, %s, subscribes to its topic", e.Base, e.TP, nodeName(e.Node), l.state)
			return
		}
		c.age(x, com, e)
	case event.RemovedOffset:
		if subscribed {
			c.violateGroup(x, e.TP, "OffsetDelete removed the committed offset %d of %s while the group, %s, subscribes to its topic", e.Base, e.TP, l.state)
		}
	case event.RemovedGroup:
		if len(l.members) > 0 {
			c.violateGroup(x, e.TP, "DeleteGroups removed the committed offset %d of %s of a group with %d members", e.Base, e.TP, len(l.members))
		}
	case event.RemovedTopic:
	default:
		c.violateGroup(x, e.TP, "the committed offset %d of %s is gone: %q is no cause", e.Base, e.TP, e.Text)
	}
}

// age judges an expiry by time: since the commit or since the group is empty.
func (c *removedForCause) age(x *group, com *committed, e *event.Event) {
	retention := c.g.setup.OffsetsRetention
	since := com.accepted
	if !com.known {
		return
	}
	if x.emptied >= 0 {
		since = min(since, x.emptied)
	}
	if retention <= 0 || e.Time-since >= retention-2*kafka.Millisecond {
		return
	}
	if c.g.clockMoved {
		c.suspend(c.g.ch.p, clockText)
		return
	}
	c.violateGroup(x, e.TP, "the committed offset %d of %s expired on %s at %s, %s after its time began; offsets.retention.minutes is %s", e.Base, e.TP, nodeName(e.Node), e.Time,
		e.Time-since, retention)
}

// subscribes: some member reads the topic.
func (l *life) subscribes(topic string) bool {
	for _, m := range l.members {
		if m.sub.wants(topic) {
			return true
		}
	}
	return false
}

func lastCommitWins() rule {
	return rule{
		Info: Info{
			Name:  "last-commit-wins",
			Rules: "groups VI-12",
			Words: "Of one partition's commits the one whose record is last in __consumer_offsets is the value: each that is published has its record behind the one that it " +
				"replaces, and replaces the value that the coordinator had.",
			When:   "at each published commit",
			Broken: "never (transactions are not in these runs)",
		},
		kinds: []event.Kind{event.OffsetCommitted},
		build: func(f *findings) checker { return &lastWins{f} },
	}
}

type lastWins struct{ *findings }

func (c *lastWins) observe(e *event.Event) {
	x, l, com := c.g.ch.groups.of, c.g.ch.groups.life, c.g.ch.groups.com
	if !com.known || com.life != l {
		return
	}
	c.checked++
	switch {
	case e.First <= com.at:
		c.violateGroup(x, e.TP, "%s publishes %d for %s from offset %d of its partition of __consumer_offsets over %d from offset %d", nodeName(e.Node), e.Offset, e.TP, e.First,
			com.offset, com.at)
	case e.Base >= 0 && e.Base != com.offset:
		c.violateGroup(x, e.TP, "%s publishes %d for %s over %d; the value was %d", nodeName(e.Node), e.Offset, e.TP, e.Base, com.offset)
	}
}
