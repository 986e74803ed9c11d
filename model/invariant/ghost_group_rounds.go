package invariant

import (
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

// lateJoin reports whether a rebalance is begun by a JoinGroup that its sender has given up: no
// member waits for the answer to one. The connection was at an end for the member, but a
// broker handles what comes on it all the same, and a member that rejoins with other metadata than
// it has begins a rebalance (GroupCoordinator.doCurrentMemberJoinGroup). Each begins one only.
func (g *ghost) lateJoin(x *group) bool {
	var late *groupClient
	for _, c := range g.groups.clients {
		switch {
		case c.of != x:
		case c.state == event.MemberPreparing:
			return false
		case c.joinsLost > 0 && late == nil:
			late = c
		}
	}
	if late == nil {
		return false
	}
	late.joinsLost--
	return true
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
