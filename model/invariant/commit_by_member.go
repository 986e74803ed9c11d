package invariant

import (
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

func commitByMember() rule {
	return rule{
		Info: Info{
			Name:  "commit-by-current-member",
			Rules: "groups VI-5",
			Words: "A commit was accepted only from a current member with the current generation, and under its group.instance.id if it named one; without a generation only " +
				"while the group had no members.",
			When:   "at each published commit, as the group was when it was accepted",
			Broken: "never; a member evicted from the group, or one that another coordinator has replaced, still works on its records, but cannot commit",
		},
		kinds: []event.Kind{event.OffsetCommitted},
		build: func(f *findings) checker { return &byMember{f} },
	}
}

type byMember struct{ *findings }

func (c *byMember) observe(e *event.Event) {
	x, l := c.g.ch.groups.of, c.g.ch.groups.life
	if e.Created <= l.forgotten {
		return
	}
	c.checked++
	if e.Generation < 0 {
		if !l.was(e.Created, func(s *pastState) bool { return s.state == event.GroupEmpty }) {
			c.violateGroup(x, e.TP, "%s accepted the commit of %d for %s at %s without a generation, though the group had members", nodeName(e.Node), e.Offset, e.TP, e.Created)
		}
		return
	}
	if !l.was(e.Created, func(s *pastState) bool { return s.generation == e.Generation }) {
		c.violateGroup(x, e.TP, "%s accepted the commit of %d for %s at %s from %s in generation %d, which was not the group's", nodeName(e.Node), e.Offset, e.TP, e.Created,
			e.Member, e.Generation)
	}
	instance, known := l.memberAt(e.Member, e.Created)
	switch {
	case !known:
		c.violateGroup(x, e.TP, "%s accepted the commit of %d for %s at %s from %s, which was no member", nodeName(e.Node), e.Offset, e.TP, e.Created, e.Member)
	case e.Detail != "" && e.Detail != instance:
		c.violateGroup(x, e.TP, "%s accepted the commit of %d for %s at %s from %s as %q; its group.instance.id is %q", nodeName(e.Node), e.Offset, e.TP, e.Created, e.Member,
			e.Detail, instance)
	}
}

// was reports whether l was in a state at a time, its first and last instant included.
func (l *life) was(at kafka.Nanos, in func(*pastState) bool) bool {
	for i := len(l.past) - 1; i >= 0; i-- {
		s := &l.past[i]
		if s.at <= at && in(s) {
			return true
		}
		if s.at < at {
			return false
		}
	}
	return false
}

// memberAt finds the group.instance.id of a member at a time.
func (l *life) memberAt(id string, at kafka.Nanos) (instance string, known bool) {
	if m := l.byID[id]; m != nil && m.since <= at {
		return m.instance, true
	}
	for i := range l.former {
		if f := &l.former[i]; f.id == id && f.from <= at && at <= f.to {
			return f.instance, true
		}
	}
	return "", false
}
