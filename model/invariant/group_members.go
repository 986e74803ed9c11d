package invariant

import (
	"slices"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

func groupMembersJoined() rule {
	return rule{
		Info: Info{
			Name:  "group-members-joined",
			Rules: "groups VI-2 VI-3 CJ-3",
			Words: "When a generation is assigned, each of its members has joined it or is static; one of them is its leader; each supports the protocol that was voted for; " +
				"no more than group.max.size have joined it.",
			When: "at each completed join, each stable generation and each load of a group",
			Broken: "never (a static member that is away stays until its session ends, and may come back to a complete generation that is full; a member restored from the log is " +
				"known to support only the protocol of its generation, LD-5)",
		},
		kinds: []event.Kind{event.GroupChanged, event.MemberJoined},
		build: func(f *findings) checker { return &joined{f} },
	}
}

type joined struct{ *findings }

func (c *joined) observe(e *event.Event) {
	x, l := c.g.ch.groups.of, c.g.ch.groups.life
	if e.Kind == event.MemberJoined {
		if e.Text == event.JoinLoaded && l.toLoad == 1 && l.leader != "" {
			c.checked++
			if l.byID[l.leader] == nil && l.leader != e.Member {
				c.violateGroup(x, kafka.TopicPartition{}, "%s loaded generation %d, whose leader %s is no member", nodeName(e.Node), l.generation, l.leader)
			}
		}
		return
	}
	if e.Text == loadedText || e.State != event.GroupCompletingRebalance && e.State != event.GroupStable {
		return
	}
	c.checked++
	if int(e.Count) != len(l.members) {
		c.violateGroup(x, kafka.TopicPartition{}, "on %s it is %s with %d members; %d joined and did not leave", nodeName(e.Node), e.State, e.Count, len(l.members))
	}
	if l.byID[e.Member] == nil {
		c.violateGroup(x, kafka.TopicPartition{}, "on %s it is %s in generation %d; its leader %q is no member", nodeName(e.Node), e.State, e.Generation, e.Member)
	}
	if e.State == event.GroupStable {
		c.stable(x, l, e)
	}
}

func (c *joined) stable(x *group, l *life, e *event.Event) {
	present := 0
	for _, m := range l.members {
		if m.joined == e.Generation && !m.late {
			present++
		}
		if m.joined != e.Generation && m.instance == "" {
			c.violateGroup(x, kafka.TopicPartition{}, "generation %d on %s has the member %s, which joined %d last and is not static", e.Generation, nodeName(e.Node), m.id, m.joined)
		}
		if len(m.protocols) > 0 && !slices.Contains(m.protocols, e.Detail) {
			c.violateGroup(x, kafka.TopicPartition{}, "generation %d on %s voted for %q; the member %s supports only %v", e.Generation, nodeName(e.Node), e.Detail, m.id, m.protocols)
		}
	}
	if most, judged := c.g.setup.GroupMaxSize[e.Node]; judged && present > most {
		c.violateGroup(x, kafka.TopicPartition{}, "%d members have joined generation %d on %s; group.max.size is %d", present, e.Generation, nodeName(e.Node), most)
	}
}
