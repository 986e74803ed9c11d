package invariant

import (
	"slices"
	"strings"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

// misnamed is the member of a generation under way, or just assigned, that its leader knows by
// an id that was taken back, and that therefore got nothing; nil if there is none.
//
// A static member that comes back to a stable group gets another id, and when that cannot be
// persisted in time its old one again, whatever has happened meanwhile
// (GroupCoordinator.updateStaticMemberAndRebalance). If others have joined, and the leader was told
// the new id, its assignment has nothing for the old one, which gets an empty part, and
// what the leader gave the new one is nobody's (doSyncGroup).
func (l *life) misnamed() *member {
	for _, m := range l.members {
		if m.misnamed == l.generation && m.misnamed > 0 && len(m.given.parts) == 0 {
			return m
		}
	}
	return nil
}

const misnamedText = "the leader knew a static member by an id that could not be persisted, and that was taken back before it assigned"

// couldLose reports whether the partitions none of a topic of so many may be what the leader gave a
// member that is misnamed: not more than one gets.
func (l *life) couldLose(m *member, protocol, topic string, none, count int) bool {
	subs := 0
	for _, o := range l.members {
		if o.sub.wants(topic) {
			subs++
		}
	}
	return m.sub.wants(topic) && (protocol != "range" || none <= (count+subs-1)/subs)
}

// orphans is what a generation with a misnamed member leaves to nobody: all that it does not give.
type orphans struct {
	generation int32 // 0 = none
	given      []kafka.TopicPartition
}

// orphan follows a generation that is published.
func (x *group) orphan(l *life) {
	x.orphans = orphans{}
	if l.misnamed() == nil {
		return
	}
	x.orphans.generation = l.generation
	for _, m := range l.members {
		x.orphans.given = append(x.orphans.given, m.given.parts...)
	}
}

// orphaned says that a partition has no owner in a group since the present generation gave it to
// an id that was taken back. Who comes or goes next mends it, but not the static member: it
// comes back to a stable group without a rebalance.
func (g *ghost) orphaned(line string, p *partition) string {
	if g.groups == nil || p == nil {
		return ""
	}
	for _, x := range g.groups.list {
		l := x.newest()
		if strings.HasSuffix(line, " has 0 owners in group "+x.id) && l != nil && l.state == event.GroupStable &&
			x.orphans.generation == l.generation && l.generation > 0 && !slices.Contains(x.orphans.given, p.tp) {
			return misnamedText
		}
	}
	return ""
}
