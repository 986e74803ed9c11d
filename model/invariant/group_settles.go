package invariant

import (
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

func groupSettles() rule {
	return rule{
		Info: Info{
			Name:  "group-settles",
			Rules: "groups 6.5",
			Words: "A group comes to rest: when the faults have ended and no member, coordinator or topic comes or goes any more, it rebalances no longer than the bound that its " +
				"settings give.",
			When: "after the faults, at each rebalance that begins and each partition that is taken; at the end of a run",
			Broken: "callbacks that take longer than max.poll.interval.ms; a coordinator that cannot append (fewer than min.insync.replicas replicas run); all members are static and " +
				"gone (the group waits for their sessions)",
		},
		kinds: []event.Kind{event.GroupChanged, event.PartitionAssigned},
		build: func(f *findings) checker { return &settles{f} },
	}
}

type settles struct{ *findings }

// term is one of the times that make the bound of groups 6.5.
type term struct {
	name string
	of   func(s *Setup, g *Group) kafka.Nanos
}

// slack is for everything on the way: the requests' own time, appends, backoffs of
// members and coordinators.
const slack = 2 * kafka.Second

// settlesBefore is what passes until members know that they must rebalance, settlesRound
// what each of the 1 + k rebalances takes: X = sum(settlesBefore) + (1+k) *
// sum(settlesRound).
var (
	settlesBefore = []term{
		{"T_coord: a broker that is gone is replaced", func(s *Setup, _ *Group) kafka.Nanos { return s.Detection }},
		{"T_coord: a connection to it is given up", func(_ *Setup, g *Group) kafka.Nanos { return g.Request }},
		{"S: a member that is gone", func(_ *Setup, g *Group) kafka.Nanos { return g.Session }},
		{"L: the first members of a group wait for others", func(_ *Setup, g *Group) kafka.Nanos { return min(2*g.Delay, g.Rebalance) }},
	}
	settlesRound = []term{
		{"h: a member hears of it", func(_ *Setup, g *Group) kafka.Nanos { return g.Heartbeat }},
		{"G: it comes to poll", func(_ *Setup, g *Group) kafka.Nanos { return g.Poll }},
		{"K: its last commit", func(_ *Setup, g *Group) kafka.Nanos { return g.Request }},
		{"min(R, slowest): all have joined", func(_ *Setup, g *Group) kafka.Nanos { return min(g.Rebalance, g.Poll+g.Request) }},
		{"join, sync and append", func(*Setup, *Group) kafka.Nanos { return slack }},
	}
)

// Settles is X of groups 6.5: how long after its last disturbance a group may rebalance.
func (s *Setup) Settles(g *Group) (x kafka.Nanos) {
	for _, t := range settlesBefore {
		x += t.of(s, g)
	}
	for _, t := range settlesRound {
		x += kafka.Nanos(1+g.Rounds) * t.of(s, g)
	}
	return x
}

func (c *settles) observe(e *event.Event) {
	x := c.g.ch.groups.of
	if x.setup == nil || c.g.healed == 0 || e.Kind == event.GroupChanged && e.State != event.GroupPreparingRebalance {
		return
	}
	c.checked++
	since := max(c.g.healed, x.disturbed)
	if bound := c.g.setup.Settles(x.setup); e.Time > since+bound {
		c.violateGroup(x, kafka.TopicPartition{}, "it rebalances at %s, %s after the last thing that happened to it; the bound is %s", e.Time, e.Time-since, bound)
	}
}

// finish looks for groups that are not at rest though they had the time.
func (c *settles) finish(bool) {
	if c.g.groups == nil || c.g.healed == 0 || !c.s.complete {
		return
	}
	for _, x := range c.g.groups.list {
		if x.setup == nil {
			continue
		}
		c.checked++
		l, since := x.newest(), max(c.g.healed, x.disturbed)
		if bound := c.g.setup.Settles(x.setup); l != nil && c.g.now > since+bound && l.state != event.GroupStable && l.state != event.GroupEmpty {
			c.violateGroup(x, kafka.TopicPartition{}, "at the end, %s, it is %s; the last thing happened to it at %s, and the bound is %s", c.g.now, l.state, since, bound)
		}
	}
}
