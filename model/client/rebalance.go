package client

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/assignor"
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
)

// prepare is what comes before a rebalance, once each (onJoinPrepare, groups 3.4).
type prepare struct {
	begun   bool
	until   kafka.Nanos // for the automatic commit
	commit  *commit
	retryAt kafka.Nanos
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
	}
	switch {
	case g.member.wasReset():
		g.drop(out, event.PartitionLost, g.parts, "membership reset")
	case !g.cooperative() && len(g.parts) > 0:
		if g.commitRevoked(in, out, g.parts, afterPrepare) {
			return kafka.Forever, false
		}
		g.drop(out, event.PartitionRevoked, g.parts, "rebalance")
	}
	g.prepared()
	return kafka.Forever, true
}

// prepared ends the preparation.
func (g *GroupConsumer) prepared() {
	g.member.needsPrepare, g.member.leader, g.join.prepare = false, false, prepare{}
}

// commitBeforeJoin is CC-6: a commit of all positions, waited for no longer than the
// rebalance timeout. Of partitions that an eager member is to lose nothing more is
// fetched.
func (g *GroupConsumer) commitBeforeJoin(in *step.Input, out *step.Effects) (next kafka.Nanos, done bool) {
	p := &g.join.prepare
	if p.commit == nil {
		if p.retryAt > in.Now && in.Now < p.until {
			return p.retryAt, false
		}
		if !g.cooperative() {
			for _, a := range g.parts {
				a.paused = true
			}
		}
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

// completeJoin takes an assignment over (onJoinComplete, groups 3.4). A cooperative
// member that has to give partitions up does so first and joins again.
func (g *GroupConsumer) completeJoin(in *step.Input, out *step.Effects) {
	j := &g.join
	if g.member.state != stable || g.member.memberID != j.of {
		j.assignment = nil
		g.resetMember(out, "the membership was given up before its assignment came", true)
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
	if len(j.revoking) > 0 && g.commitRevoked(in, out, j.revoking, afterComplete) {
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
// position (CC-10).
func (g *GroupConsumer) takeOver(in *step.Input, out *step.Effects) {
	as := g.join.assignment
	if len(g.join.revoking) > 0 {
		g.drop(out, event.PartitionRevoked, g.join.revoking, "assigned to others")
		g.requestRejoin()
	}
	g.join.assignment, g.join.revoking = nil, nil
	g.auto = in.Now + g.cfg.AutoCommitInterval
	g.member.last, g.member.lastGeneration = nil, g.member.generation
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
	g.note(out, event.PartitionAssigned).TP = a.tp
}

// drop ends the reading of partitions and says so.
func (g *GroupConsumer) drop(out *step.Effects, kind event.Kind, parts []*assigned, why string) {
	for _, a := range slices.Clone(parts) {
		e := g.note(out, kind)
		e.TP, e.Offset, e.Text = a.tp, kafka.NoOffset, why
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
