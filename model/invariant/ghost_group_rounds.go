package invariant

import (
	"fmt"
	"slices"

	"github.com/simkafka/simkafka/model/assignor"
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

// rounds counts the rebalances of a cooperative group that only follow on each other
// (VI-26): no member came or went, lost its generation or its coordinator, and no topic
// appeared.
type rounds struct {
	count  int
	follow bool        // the rebalance under way was begun by members that give up or take
	formed kafka.Nanos // when the members of the last generation had joined
	missed int32       // the last generation of which a member was not told its assignment
	topics int         // that the leader knew
}

// Why a rebalance begins that may only follow on another (group.reason…).
const (
	metadataText = "a member's metadata changed"
	leaderText   = "the leader rejoins"
)

// moved follows a GroupChanged, before l has its new state.
func (r *rounds) moved(x *group, l *life, e *event.Event) {
	switch e.State {
	case event.GroupPreparingRebalance:
		r.follow = l.state == event.GroupStable && (e.Text == metadataText || e.Text == leaderText)
	case event.GroupCompletingRebalance:
		if !l.missedBy(r.missed) { // else its partitions are given up a rebalance later
			r.count++
		}
		if !r.follow || x.disturbed > r.formed { // also one whose SyncGroup got no answer
			r.count = 1
		}
		r.formed = e.Time
	case event.GroupStable:
		if n := l.topics(); n > r.topics {
			r.topics, r.count = n, 1
		}
	}
}

// lateJoin is a JoinGroup that its sender has given up, and that a broker may carry out yet.
type lateJoin struct {
	node   kafka.NodeID
	member string // its id
}

const keptLates = 8

// givesUpJoin: the JoinGroup of c is late, unless it was carried out before.
func (c *groupClient) givesUpJoin() {
	if !c.joinDone && c.member != "" && c.node != kafka.NoNode && len(c.lates) < keptLates {
		c.lates = append(c.lates, lateJoin{c.node, c.member})
	}
	c.joinDone = true
}

// lateJoin reports whether a rebalance is begun by a JoinGroup that its sender has given up: no
// member waits for the answer to one. The connection was at an end for the member, but the
// broker handles what comes on it all the same. A leader that rejoins begins a rebalance, and another
// member of the group if it does so with other metadata than it has (GroupCoordinator.doCurrentMemberJoinGroup).
// Each begins one only.
func (g *ghost) lateJoin(x *group, l *life, why string) bool {
	var late, waits *groupClient
	at, waiting, given := -1, 0, false
	for _, c := range g.groups.clients {
		if c.of != x {
			continue
		}
		given = given || len(c.lates) > 0
		if c.state == event.MemberPreparing {
			waits, waiting = c, waiting+1
		} else if i := c.lateAt(l, why); i >= 0 && late == nil {
			late, at = c, i
		}
	}
	if waiting == 1 && !given && waits.node == l.node {
		waits.joinDone = true // it is the only one
	}
	if late == nil || waiting > 0 {
		return false
	}
	late.lates = slices.Delete(late.lates, at, at+1)
	return true
}

// lateAt is which of a client's late JoinGroup may begin a rebalance of l for a reason, -1 if none may.
func (c *groupClient) lateAt(l *life, why string) int {
	return slices.IndexFunc(c.lates, func(j lateJoin) bool {
		return j.node == l.node && l.byID[j.member] != nil && (j.member == l.leader) == (why == leaderText)
	})
}

// joinAnswered: a coordinator has answered a member (nil if it is not known): the JoinGroup for which it waits, if
// it has sent no other. Else it may have been another one, see overtaken.
func (c *groupClient) joinAnswered(e *event.Event) {
	switch {
	case c == nil || c.state != event.MemberPreparing || c.node != e.Node:
	case len(c.lates) == 0:
		c.joinDone = true
	case e.Err == kafka.None && e.Member == c.member && slices.Contains(c.lates, lateJoin{e.Node, e.Member}):
		c.answeredOne = e.Time
	}
}

// overtaken says that a member waits for the answer to a JoinGroup as long as it may, since one that
// it had sent before, and given up, was carried out after it: the later one carried out takes the place of the other, which
// is never answered (GroupMetadata.updateMember, awaitingJoinCallback). That happens where a
// broker has stood still and goes on with the connections of before. The coordinator has answered the member while it
// waited for both.
func (g *ghost) overtaken(line string) string {
	if g.groups == nil {
		return ""
	}
	for _, c := range g.groups.clients {
		x := c.of.setup
		if x != nil && line == fmt.Sprintf("consumer %s of group %s is %s", c.actor, c.of.id, event.MemberPreparing) && c.state == event.MemberPreparing && c.answeredOne >= c.joins && c.answeredOne > 0 &&
			g.now <= c.joins+max(x.Request, x.Rebalance+joinLapse)+slack {
			return "the coordinator has answered an older JoinGroup, which the member had given up, in place of that for which it waits until max.poll.interval.ms and 5 s are over"
		}
	}
	return ""
}

// neverCarriedOut: the process on a broker has ended, and with it what it had not read.
func (g *groups) neverCarriedOut(node kafka.NodeID) {
	for _, c := range g.clients {
		c.joinDone = c.joinDone || c.node == node
		c.lates = slices.DeleteFunc(c.lates, func(j lateJoin) bool { return j.node == node })
	}
}

// answered follows a SyncAnswered. A member that syncs when another one has joined again
// already is told to join, too, and does not learn what it should give up (groups 2.4: SyncGroup in
// PreparingRebalance).
func (r *rounds) answered(e *event.Event) {
	if e.Err == kafka.RebalanceInProgress {
		r.missed = e.Generation
	}
}

// missedBy: somebody missed the last generation: a member was not told its assignment in
// the generation told, or did not join it and stayed, which static members may (groups 2.5).
func (l *life) missedBy(told int32) bool {
	return told == l.generation || slices.ContainsFunc(l.members, func(m *member) bool { return m.joined != l.generation })
}

// topics counts those that are assigned to somebody.
func (l *life) topics() int {
	var names []string
	for _, m := range l.members {
		for _, tp := range m.given.parts {
			if !slices.Contains(names, tp.Topic) {
				names = append(names, tp.Topic)
			}
		}
	}
	return len(names)
}

// cooperative: all members keep partitions while they rebalance (CC-3).
func (l *life) cooperative() bool {
	for _, m := range l.members {
		for _, name := range m.protocols {
			if a, ok := assignor.ByName(name); !ok || !a.Cooperative() {
				return false
			}
		}
	}
	return len(l.members) > 0
}

// uniform: all members subscribe to the same topics.
func (l *life) uniform() bool {
	for _, m := range l.members {
		if !slices.Equal(m.sub.topics, l.members[0].sub.topics) {
			return false
		}
	}
	return true
}
