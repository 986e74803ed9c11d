package client

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/assignor"
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/quirk"
	"github.com/simkafka/simkafka/model/step"
)

// prepare is what comes before a rebalance, once each (onJoinPrepare, groups 3.4).
type prepare struct {
	begun   bool
	until   kafka.Nanos // for the automatic commit
	commit  *commit
	retryAt kafka.Nanos
	// reset: there was no membership when onJoinPrepare was last called, at calledAt; what
	// becomes of it in that call, by the answer to its commit too, it does not look at.
	reset    bool
	calledAt kafka.Nanos
}

// called: a reset that comes later asks for another preparation, before the join after this
// one.
func (p *prepare) called(in *step.Input, m *membership) {
	p.reset, p.calledAt, m.needsPrepare = m.wasReset(), in.Now, false
}

// cooperative: all assignors keep partitions while they rebalance (CC-3).
func (g *GroupConsumer) cooperative() bool {
	for _, name := range g.cfg.Assignors {
		if a, ok := assignor.ByName(name); !ok || !a.Cooperative() {
			return false
		}
	}
	return true
}

// prepareJoin commits if it is automatic, then runs the callback that gives
// partitions up. done: it has come to its end; else next is when to come back, or
// the callback commits.
func (g *GroupConsumer) prepareJoin(in *step.Input, out *step.Effects) (next kafka.Nanos, done bool) {
	p := &g.join.prepare
	if !p.begun {
		*p = prepare{begun: true, until: saturatingAdd(in.Now, g.cfg.MaxPollInterval)}
	}
	if g.autoCommits() {
		if next, done := g.commitBeforeJoin(in, out); !done {
			return next, false
		}
	} else {
		p.called(in, &g.member)
	}
	switch {
	case p.reset:
		if g.callback(in, event.PartitionLost, g.parts, afterPrepare) {
			return kafka.Forever, false
		}
	case !g.cooperative():
		if g.callback(in, event.PartitionRevoked, g.parts, afterPrepare) {
			return kafka.Forever, false
		}
	}
	g.prepareEnded(out)
	return kafka.Forever, true
}

// prepareEnded gives partitions up behind the callback, which alone says how: whether the
// membership is lost meanwhile does not matter any more.
func (g *GroupConsumer) prepareEnded(out *step.Effects) {
	switch p := &g.join.prepare; {
	case p.reset:
		g.drop(out, event.PartitionLost, g.parts, "membership reset", p.calledAt)
	case !g.cooperative():
		g.drop(out, event.PartitionRevoked, g.parts, "rebalance", p.calledAt)
	}
	g.prepared()
}

// prepared ends the preparation; JoinGroup follows.
func (g *GroupConsumer) prepared() {
	g.member.leader, g.join.prepare, g.join.ready = false, prepare{}, true
}

// commitBeforeJoin is CC-6: a commit of all positions, waited for no longer than the
// rebalance timeout. Of partitions that an eager member is to lose nothing more is
// fetched.
func (g *GroupConsumer) commitBeforeJoin(in *step.Input, out *step.Effects) (next kafka.Nanos, done bool) {
	p := &g.join.prepare
	if g.cooperative() && g.cfg.Profile.Quirks.Has(quirk.JoinCommitUnbounded) {
		return g.commitForEver(in, out)
	}
	if p.commit == nil {
		if p.retryAt > in.Now && in.Now < p.until {
			return p.retryAt, false
		}
		if !g.cooperative() && !g.cfg.Profile.Quirks.Has(quirk.ReadsWhileRevoking) {
			for _, a := range g.parts {
				a.paused = true
			}
		}
		p.called(in, &g.member)
		p.commit = g.sendCommit(in, out, g.consumed(g.parts), event.CommitPrepare)
	}
	switch c := p.commit; {
	case in.Now >= p.until:
		return kafka.Forever, true
	case c.pending:
		return p.until, false
	case !c.retriable:
		return kafka.Forever, true
	}
	p.commit, p.retryAt = nil, in.Now+g.cfg.RetryBackoff
	return min(p.retryAt, p.until), false
}

// commitForEver is KAFKA-14024: a commit has to succeed in the very call that sends it.
func (g *GroupConsumer) commitForEver(in *step.Input, out *step.Effects) (next kafka.Nanos, done bool) {
	p := &g.join.prepare
	if p.retryAt > in.Now {
		return p.retryAt, false
	}
	if c := g.sendCommit(in, out, g.consumed(g.parts), event.CommitPrepare); !c.pending && !c.retriable {
		return kafka.Forever, true
	}
	p.retryAt = in.Now + g.cfg.RetryBackoff
	return p.retryAt, false
}

// completeJoin takes an assignment over (onJoinComplete, groups 3.4). A cooperative
// member that has to give partitions up does so first and joins again.
func (g *GroupConsumer) completeJoin(in *step.Input, out *step.Effects) {
	j := &g.join
	if g.member.state != stable || g.member.memberID != j.of {
		j.assignment = nil
		g.resetMember(out, "the membership was given up before its assignment came", true)
		j.inFlight = g.cfg.Profile.Quirks.Has(quirk.JoinFutureKept)
		return
	}
	if !g.subscribed(j.assignment) { // CC-9
		j.assignment = nil
		g.requestRejoin()
		return
	}
	if j.revoking = nil; g.cooperative() {
		j.revoking = g.notIn(j.assignment)
	}
	j.completeAt = in.Now
	if len(j.revoking) > 0 && g.callback(in, event.PartitionRevoked, j.revoking, afterComplete) {
		return
	}
	g.takeOver(in, out)
}

func (g *GroupConsumer) subscribed(a *kmsg.ConsumerMemberAssignment) bool {
	for i := range a.Topics {
		if !slices.Contains(g.group.Topics, a.Topics[i].Topic) {
			return false
		}
	}
	return true
}

// notIn is what the member owns but is not assigned.
func (g *GroupConsumer) notIn(as *kmsg.ConsumerMemberAssignment) (out []*assigned) {
	for _, a := range g.parts {
		if !slices.ContainsFunc(as.Topics, func(t kmsg.ConsumerMemberAssignmentTopic) bool {
			return t.Topic == a.tp.Topic && slices.Contains(t.Partitions, a.tp.Partition)
		}) {
			out = append(out, a)
		}
	}
	return out
}

// takeOver owns what was assigned. Partitions that were owned before keep their
// position (CC-10). A membership that was lost in the callback does not keep the member from
// it: the next join loses them all.
func (g *GroupConsumer) takeOver(in *step.Input, out *step.Effects) {
	as := g.join.assignment
	if len(g.join.revoking) > 0 {
		g.drop(out, event.PartitionRevoked, g.join.revoking, "assigned to others", g.join.completeAt)
		g.requestRejoin()
	}
	g.join.assignment, g.join.revoking = nil, nil
	g.auto = in.Now + g.cfg.AutoCommitInterval
	g.member.last, g.member.lastGeneration = nil, g.join.of.generation
	for i := range as.Topics {
		t := g.topic(as.Topics[i].Topic)
		for _, p := range as.Topics[i].Partitions {
			g.member.last = append(g.member.last, kafka.TopicPartition{Topic: t.info.name, Partition: p})
			g.own(out, t, p)
		}
	}
	g.member.needsPrepare = true
}

// own begins to read a partition, if the member does not already.
func (g *GroupConsumer) own(out *step.Effects, t *readTopic, p int32) {
	for len(t.parts) <= int(p) {
		t.parts = append(t.parts, nil)
	}
	if t.parts[p] != nil {
		return
	}
	a := newAssigned(t.info, p)
	a.index = len(g.parts)
	t.parts[p] = a
	g.parts = append(g.parts, a)
	g.maybeValidate(a)
	e := g.note(out, event.PartitionAssigned)
	e.TP, e.Member, e.Generation = a.tp, g.join.of.id, g.join.of.generation
}

// drop ends the reading of partitions and says so. The consumer decided at decided that
// they are revoked, or lost.
func (g *GroupConsumer) drop(out *step.Effects, kind event.Kind, parts []*assigned, why string, decided kafka.Nanos) {
	for _, a := range slices.Clone(parts) {
		e := g.note(out, kind)
		e.TP, e.Offset, e.Text, e.Created = a.tp, kafka.NoOffset, why, decided
		if a.hasPosition() {
			e.Offset = a.pos.offset
		}
		a.state, a.asking, a.buffered = initializing, nil, false // answers on their way are stale
		g.topic(a.tp.Topic).parts[a.tp.Partition] = nil
		g.parts = slices.DeleteFunc(g.parts, func(x *assigned) bool { return x == a })
	}
	g.buffer = slices.DeleteFunc(g.buffer, func(b buffered) bool { return !b.part.buffered })
	for i, a := range g.parts {
		a.index = i
	}
}
