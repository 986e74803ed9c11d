package measure

import (
	"cmp"
	"slices"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/outcome"
)

// groups follows consumer groups: their rebalances as coordinators tell them, owners
// and phases as the members tell them, and what was processed (groups 7.3).
type groups struct {
	list    []*group           // in order of their first fact
	byID    map[string]*group  // for lookup
	clients map[string]*client // by actor, for lookup
	closed  bool
}

type group struct {
	id      string
	clients []*client
	index   kafka.PartitionTable[owned]
	parts   []*owned
	all     []*rebalance
	lag     []outcome.GroupLagPoint
	out     outcome.Group
	// who came or went last, for the cause of a rebalance that this begins.
	changed   string
	changedAt kafka.Nanos
}

// client is a process that is a member of a group, or wants to be.
type client struct {
	name    string
	of      *group
	up      bool
	away    kafka.Nanos // since, while not up
	state   string
	since   kafka.Nanos // of the state
	finding kafka.Nanos // FindCoordinator was sent; -1 = none is on its way
	refused int64       // number of the last commit that was
	owns    []*owned
	work    []portion
	last    outcome.OwnedSpan // the open one; To = -1
	out     outcome.GroupMember
}

// rebalance is an outcome.Rebalance; open: its coordinator has not ended it.
type rebalance struct {
	outcome.Rebalance
	open bool
}

func (g *groups) get(id string) *group {
	if x := g.byID[id]; x != nil {
		return x
	}
	if g.byID == nil {
		g.byID, g.clients = make(map[string]*group), make(map[string]*client)
	}
	x := &group{id: id, out: outcome.Group{ID: id}}
	g.byID[id] = x
	g.list = append(g.list, x)
	return x
}

func (g *groups) client(e *event.Event) *client {
	if c := g.clients[e.Actor]; c != nil {
		return c
	}
	c := &client{name: e.Actor, of: g.get(e.Group), up: true, state: event.MemberUnjoined, finding: -1}
	c.last.To, c.out.Client = -1, e.Actor
	g.clients[e.Actor] = c
	c.of.clients = append(c.of.clients, c)
	return c
}

// observe takes a fact about a group.
func (g *groups) observe(e *event.Event) {
	switch e.Kind {
	case event.GroupChanged, event.MemberJoined, event.MemberRemoved:
		g.get(e.Group).coordinated(e)
	case event.OffsetCommitted, event.OffsetLoaded, event.OffsetRemoved:
		g.get(e.Group).offset(e)
	case event.CoordinatorSought, event.CoordinatorFound, event.MemberChanged:
		g.client(e).phase(e)
	case event.PartitionAssigned, event.PartitionRevoked, event.PartitionLost:
		g.client(e).owning(e)
	case event.RecordProcessed:
		g.client(e).processed(e)
	case event.CommittedFetched:
		if e.Offset >= 0 && e.Err == kafka.None {
			g.get(e.Group).part(e.TP).inherit(e.Offset)
		}
	case event.CommitAnswered:
		g.client(e).answered(e)
	}
}

// reset takes a jump of a position (PositionReset).
func (g *groups) reset(e *event.Event) {
	if c := g.clients[e.Actor]; c != nil {
		p := c.of.part(e.TP)
		p.begin(e.Base)
		p.forget(c)
	}
}

// node takes what happens to a process: a client, or a coordinator.
func (g *groups) node(e *event.Event) {
	up := e.Kind == event.NodeBooted || e.Kind == event.NodeResumed
	if c := g.clients[e.Actor]; c != nil && !g.closed {
		c.running(e, up)
		return
	}
	id, isBroker := kafka.ParseBrokerHost(e.Actor)
	if !isBroker || up || e.Kind == event.NodePaused {
		return
	}
	for _, x := range g.list {
		x.interrupted(id, e.Time)
	}
}

// coordinated takes what a coordinator tells of the group.
func (x *group) coordinated(e *event.Event) {
	if e.Kind != event.GroupChanged {
		x.changed, x.changedAt = clientOf(e.Member), e.Time
		return
	}
	if e.State == event.GroupDead {
		x.interrupted(e.Node, e.Time)
		return
	}
	r := x.underWay(e.Node)
	if r == nil {
		if e.State != event.GroupPreparingRebalance {
			return
		}
		r = &rebalance{open: true, Rebalance: outcome.Rebalance{Interval: outcome.Interval{From: e.Time, To: -1}, Coordinator: e.Node,
			Generation: -1, Cause: x.cause(e)}}
		x.all = append(x.all, r)
	}
	r.Members = int(e.Count)
	if e.State == event.GroupStable || e.State == event.GroupEmpty {
		r.To, r.Generation, r.open = e.Time, e.Generation, false
	}
}

// cause is the coordinator's reason, with who it is about.
func (x *group) cause(e *event.Event) string {
	if x.changedAt == e.Time && x.changed != "" {
		return e.Text + ": " + x.changed
	}
	return e.Text
}

// uuid is the length of what a coordinator appends to a client id: "-" and 32 digits.
const uuid = 33

// clientOf is the client id, or the group instance id, in a member id.
func clientOf(member string) string { return member[:max(len(member)-uuid, 0)] }

func (x *group) underWay(node kafka.NodeID) *rebalance {
	for i := len(x.all) - 1; i >= 0; i-- {
		if r := x.all[i]; r.open && r.Coordinator == node {
			return r
		}
	}
	return nil
}

// interrupted ends the rebalance of a coordinator that is none any more.
func (x *group) interrupted(node kafka.NodeID, at kafka.Nanos) {
	if r := x.underWay(node); r != nil {
		r.To, r.open = at, false
	}
}

func (c *client) phase(e *event.Event) {
	switch e.Kind {
	case event.CoordinatorSought:
		if c.finding < 0 {
			c.finding = e.Time
		}
	case event.CoordinatorFound:
		if c.finding >= 0 {
			c.ended(outcome.PhaseFind, c.finding, e.Time)
			c.finding = -1
		}
	case event.MemberChanged:
		c.enter(e.Detail, e.Time)
		if e.Detail == event.MemberStable {
			c.span(e.Time, e.Generation)
		}
	}
}

// enter ends the phase that the member was in.
func (c *client) enter(state string, at kafka.Nanos) {
	switch c.state {
	case event.MemberPreparing:
		c.ended(outcome.PhaseJoin, c.since, at)
	case event.MemberCompleting:
		c.ended(outcome.PhaseSync, c.since, at)
	}
	c.state, c.since = state, at
}

func (c *client) ended(phase string, from, to kafka.Nanos) {
	c.out.Phases = append(c.out.Phases, outcome.MemberPhase{Interval: outcome.Interval{From: from, To: to}, Name: phase})
}

// refusals are the answers to a commit of a client that is no member of the generation.
var refusals = []kafka.ErrorCode{kafka.IllegalGeneration, kafka.UnknownMemberID, kafka.FencedInstanceID}

func (c *client) answered(e *event.Event) {
	if slices.Contains(refusals, e.Err) && c.refused != e.First {
		c.refused = e.First
		c.of.out.Refused++
	}
}

// running takes a boot, an end, a pause or its end of the client's process. Who dies
// owns nothing any more; who stands still does, and reads nothing.
func (c *client) running(e *event.Event, up bool) {
	if up != c.up {
		for _, p := range c.owns {
			p.count(either(up, 1, -1), e.Time)
		}
		if c.up = up; up {
			c.out.Away = append(c.out.Away, outcome.Interval{From: c.away, To: e.Time})
		}
		c.away = e.Time
	}
	if e.Kind == event.NodePaused || e.Kind == event.NodeResumed {
		return
	}
	c.enter(event.MemberUnjoined, e.Time)
	c.finding = -1
	c.work = c.work[:0]
	for len(c.owns) > 0 {
		c.drop(c.owns[0], e.Time)
	}
}

func either(cond bool, a, b int) int {
	if cond {
		return a
	}
	return b
}

// close ends the measured time.
func (g *groups) close(at kafka.Nanos) {
	g.closed = true
	for _, x := range g.list {
		for _, c := range x.clients {
			c.span(at, -1)
			c.last.To = at
			if !c.up {
				c.out.Away = append(c.out.Away, outcome.Interval{From: c.away, To: at})
			}
		}
		for _, p := range x.parts {
			p.close(at)
		}
	}
}

// doomed ends the measured time of a topic that is to be deleted. Nobody is behind in it.
func (g *groups) doomed(topic string, at kafka.Nanos) {
	for _, x := range g.list {
		for _, p := range x.parts {
			if p.out.TP.Topic == topic {
				p.gone = true
				p.close(at)
			}
		}
	}
}

// created begins the account of a topic anew if there was another one of the name.
func (g *groups) created(topic string, at kafka.Nanos) {
	for _, x := range g.list {
		for _, p := range x.parts {
			if p.out.TP.Topic == topic && p.gone {
				p.anew(at)
			}
		}
	}
}

// result is in order of ids, clients and partitions.
func (g *groups) result() []outcome.Group {
	var out []outcome.Group
	for _, x := range g.list {
		out = append(out, x.result())
	}
	slices.SortFunc(out, func(a, b outcome.Group) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

func (x *group) result() outcome.Group {
	o := x.out
	slices.SortFunc(x.parts, func(a, b *owned) int { return a.out.TP.Compare(b.out.TP) })
	for _, p := range x.parts {
		p.settle()
		o.Partitions = append(o.Partitions, p.out)
		o.Processed += p.out.Processed
		o.Duplicates += p.out.Duplicates
		o.Skipped += p.out.Skipped
		for _, gap := range p.out.Unowned {
			if r := x.lastBefore(gap.To); r != nil && (r.To < 0 || r.To >= gap.From) { // else its owner came back without one
				r.Unowned = max(r.Unowned, gap.To-gap.From)
			}
		}
	}
	for _, c := range x.clients {
		o.Members = append(o.Members, c.out)
		for _, ph := range c.out.Phases {
			x.waited(ph)
		}
	}
	slices.SortFunc(o.Members, func(a, b outcome.GroupMember) int { return cmp.Compare(a.Client, b.Client) })
	for _, r := range x.all {
		o.Rebalances = append(o.Rebalances, r.Rebalance)
	}
	return o
}

// lastBefore is the rebalance that began last, by a time.
func (x *group) lastBefore(at kafka.Nanos) *rebalance {
	for i := len(x.all) - 1; i >= 0; i-- {
		if x.all[i].From <= at {
			return x.all[i]
		}
	}
	return nil
}

// waited adds a member's phase to its rebalance: that which it found the coordinator
// for, or which was under way when its answer came.
func (x *group) waited(ph outcome.MemberPhase) {
	r := x.lastBefore(ph.To)
	if ph.Name == outcome.PhaseFind {
		i := slices.IndexFunc(x.all, func(r *rebalance) bool { return r.To < 0 || r.To >= ph.To })
		if i < 0 {
			return
		}
		r = x.all[i]
	}
	if r == nil {
		return
	}
	d := ph.To - ph.From
	switch ph.Name {
	case outcome.PhaseFind:
		r.Find = max(r.Find, d)
	case outcome.PhaseJoin:
		r.Join = max(r.Join, d)
	case outcome.PhaseSync:
		r.Sync = max(r.Sync, d)
	}
}
