package group

import (
	"slices"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/quirk"
	"github.com/simkafka/simkafka/model/step"
)

// maybeRebalance begins a rebalance where none is under way.
func (c *Coordinator) maybeRebalance(in *step.Input, out *step.Effects, g *Group, why string) {
	if slices.Contains(previous[PreparingRebalance], g.state) {
		c.prepareRebalance(in, out, g, why)
	}
}

// prepareRebalance asks the members to join again (groups 2.1). A group that was empty
// waits for others first (CJ-9).
func (c *Coordinator) prepareRebalance(in *step.Input, out *step.Effects, g *Group, why string) {
	if g.state == CompletingRebalance {
		c.failSyncs(in, out, g, kafka.RebalanceInProgress)
	}
	c.clearSyncs(g)
	r := g.rebalanceTimeout()
	g.initial = g.state == Empty
	c.move(in, out, g, PreparingRebalance, why)
	if g.initial {
		g.delay = c.cfg.GroupInitialDelay
		g.remaining = max(r-g.delay, 0)
		c.deadlines.start(&g.join, in.Now+g.delay)
		return
	}
	c.deadlines.start(&g.join, in.Now+r)
	c.maybeCompleteJoin(in, out, g)
}

// maybeCompleteJoin completes the join when nobody is waited for. The initial delay is
// never cut short.
func (c *Coordinator) maybeCompleteJoin(in *step.Input, out *step.Effects, g *Group) {
	if g.state == PreparingRebalance && !g.initial && g.allJoined() {
		c.completeJoin(in, out, g)
	}
}

// joinDue is the end of the join timer, or of the initial delay, which goes on while
// members come (CJ-9).
func (c *Coordinator) joinDue(in *step.Input, out *step.Effects, g *Group) {
	if g.initial && g.newMemberAdded && g.remaining != 0 {
		g.newMemberAdded = false
		was := g.delay
		g.delay = min(c.cfg.GroupInitialDelay, g.remaining)
		g.remaining = max(g.remaining-was, 0)
		c.deadlines.start(&g.join, in.Now+g.delay)
		return
	}
	c.completeJoin(in, out, g)
}

// completeJoin begins the next generation with who is there (CJ-10).
func (c *Coordinator) completeJoin(in *step.Input, out *step.Effects, g *Group) {
	c.deadlines.stop(&g.join)
	for _, m := range slices.Clone(g.members) {
		if !m.join.parked && !m.isStatic() {
			c.remove(out, g, m, event.GoneRebalance)
		}
	}
	if !g.electJoined() && len(g.members) > 0 {
		// All are static and absent: their sessions will end (CJ-10 b).
		g.initial = false
		c.deadlines.start(&g.join, in.Now+g.rebalanceTimeout())
		return
	}
	g.generation++
	g.protocol = ""
	c.clearSyncs(g)
	if len(g.members) == 0 {
		g.learnTopics()
		c.move(in, out, g, Empty, "no member is left")
		c.storeGroup(in, g, nil, ignored)
		return
	}
	g.protocol = g.vote()
	g.learnTopics()
	c.move(in, out, g, CompletingRebalance, "the members have joined")
	for _, m := range g.members {
		c.answerJoin(out, g, m, g.current(m))
		c.renewSession(in, m)
		if m.isNew && c.cfg.Profile.Quirks.Has(quirk.NewNotTimed) {
			c.deadlines.stop(&m.session) // until it is heard of again
		}
		m.isNew = false
		m.syncPending = true
	}
	g.syncsPending = len(g.members)
	if !c.cfg.Profile.Quirks.Has(quirk.NoSyncTimer) {
		c.deadlines.start(&g.sync, in.Now+g.rebalanceTimeout())
	}
}

// ignored is the outcome of a record that an empty group leaves: without it the last
// generation comes back with the next coordinator, and times out there.
func ignored(*step.Input, *step.Effects, kafka.ErrorCode, kafka.Offset) {}

// clearSyncs ends the wait for SyncGroup requests.
func (c *Coordinator) clearSyncs(g *Group) {
	for _, m := range g.members {
		m.syncPending = false
	}
	g.syncsPending = 0
	c.deadlines.stop(&g.sync)
}

// failSyncs answers all parked SyncGroup requests with an error; what was assigned is
// void.
func (c *Coordinator) failSyncs(in *step.Input, out *step.Effects, g *Group, code kafka.ErrorCode) {
	for _, m := range g.members {
		m.assignment = nil
	}
	c.tellSyncs(in, out, g, code)
}

// tellSyncs answers all parked SyncGroup requests. A session that has ended meanwhile was
// let pass, so those who were waiting begin another.
func (c *Coordinator) tellSyncs(in *step.Input, out *step.Effects, g *Group, code kafka.ErrorCode) {
	for _, m := range g.members {
		if c.answerSync(out, g, m, code) {
			c.renewSession(in, m)
		}
	}
}

// remove takes a member out.
func (c *Coordinator) remove(out *step.Effects, g *Group, m *Member, why string) {
	c.deadlines.stop(&m.session)
	g.drop(m)
	if g.syncsPending == 0 {
		c.deadlines.stop(&g.sync)
	}
	c.noteMember(out, event.MemberRemoved, g, m, why)
}

// removeAndRebalance takes a member out and lets the group go on without it
// (removeMemberAndUpdateGroup).
func (c *Coordinator) removeAndRebalance(in *step.Input, out *step.Effects, g *Group, m *Member, gone, why string) {
	c.answerJoin(out, g, m, joinError(unknownMember, kafka.UnknownMemberID))
	c.remove(out, g, m, gone)
	switch g.state {
	case Stable, CompletingRebalance:
		c.maybeRebalance(in, out, g, why)
	case PreparingRebalance:
		c.maybeCompleteJoin(in, out, g)
	}
}

// renewSession restarts a member's session timer.
func (c *Coordinator) renewSession(in *step.Input, m *Member) {
	c.deadlines.start(&m.session, in.Now+m.sessionTimeout)
}

// sessionExpired is the end of a session (groups 2.2). A member that is parked counts as
// alive, unless it is new.
func (c *Coordinator) sessionExpired(in *step.Input, out *step.Effects, g *Group, m *Member) {
	switch {
	case m.isNew:
		c.removeAndRebalance(in, out, g, m, event.GoneNew, reasonSession)
	case !m.join.parked && !m.sync.parked:
		c.removeAndRebalance(in, out, g, m, event.GoneSession, reasonSession)
	}
}

// pendingExpired forgets an id that nobody came back with.
func (c *Coordinator) pendingExpired(in *step.Input, out *step.Effects, g *Group, d *deadline) {
	g.pending = slices.DeleteFunc(g.pending, func(o *deadline) bool { return o == d })
	c.maybeCompleteJoin(in, out, g)
}

// syncExpired removes those whose SyncGroup has not come (KAFKA-12890).
func (c *Coordinator) syncExpired(in *step.Input, out *step.Effects, g *Group) {
	if g.syncsPending == 0 || g.state != CompletingRebalance && g.state != Stable {
		return
	}
	for _, m := range slices.Clone(g.members) {
		if m.syncPending {
			c.remove(out, g, m, event.GoneSync)
		}
	}
	c.prepareRebalance(in, out, g, reasonSync)
}
