package invariant

import (
	"slices"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

// comeback is a static member that led a generation and came back to it under another id, without a rebalance
// (GroupCoordinator.updateStaticMemberAndRebalance).
type comeback struct {
	generation int32 // 0 = none
	// leads: it was told that it leads (JoinGroup since version 9).
	leads bool
}

// cameBack follows a JoinAnswered without an error to a static member that has just replaced itself.
func (x *group) cameBack(l *life, e *event.Event) {
	if e.Member == l.leader && l.state == event.GroupStable && e.Generation == l.generation {
		x.comeback = comeback{e.Generation, e.Flag}
	}
}

// unnoticed says that a partition has no owner in a group since it was added while the group's leader, a static
// member, was away: it skips the assignment when it is back (KIP-814), and takes what its metadata have
// by then for what is assigned (ConsumerCoordinator.onLeaderElected sets assignmentSnapshot to
// metadataSnapshot), as a note in updateStaticMemberAndRebalance says. What it learns of later it
// notices. Before version 9 of JoinGroup it is not told that it leads, and nobody notices
// anything (KAFKA-13435). The next rebalance mends it.
func (g *ghost) unnoticed(line string, p *partition) string {
	l := g.leads(line)
	if p == nil || l == nil {
		return ""
	}
	c := g.groups.byMember[l.leader]
	if c.of.comeback.generation != l.generation || slices.ContainsFunc(l.members, func(m *member) bool {
		return m.given.generation == l.generation && slices.Contains(m.given.parts, p.tp)
	}) {
		return ""
	}
	if !c.of.comeback.leads {
		if g.setup.Profile.Versions.JoinGroup >= skipsAssignment {
			return ""
		}
		return "the group's leader, a static member, came back and does not know that it leads (JoinGroup before version 9)"
	}
	if !c.sights.sawAlways(l, p.tp) {
		return ""
	}
	return "the group's leader, a static member, was away when it was added, and did not assign when it came back (KIP-814)"
}

// skipsAssignment is from which version on answers to JoinGroup tell such a leader that it leads (KIP-814).
const skipsAssignment = 9

// sawAlways: the metadata had a partition when the member heard that its generation had joined, and since.
func (s *sights) sawAlways(l *life, tp kafka.TopicPartition) bool {
	if s.member != l.leader || s.generation != l.generation {
		return false
	}
	x, _ := s.of(tp.Topic)
	return slices.Contains(x.always, tp.Partition)
}
