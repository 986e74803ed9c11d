package invariant

import (
	"slices"
	"strings"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

// handsOver are the partitions that a member said to own when it joined the generation, and that
// this first round of a cooperative rebalance gives to nobody: it is to revoke them and to
// begin the second one.
func (l *life) handsOver(m *member) (parts []kafka.TopicPartition) {
	if len(m.sub.owned) == 0 || !l.cooperative() {
		return nil
	}
	for _, tp := range m.sub.owned {
		if !slices.ContainsFunc(l.members, func(o *member) bool { return o.given.generation == l.generation && slices.Contains(o.given.parts, tp) }) {
			parts = append(parts, tp)
		}
	}
	return parts
}

// handedToNobody says that a partition has no owner in a group, since static members were to
// hand it over in the present generation and have since come back to it under other ids. Only
// a member that revokes something begins the second round (ConsumerCoordinator.onJoinComplete);
// one that comes back owns nothing, and to a stable group whose vote it does not change it
// comes back without a rebalance (GroupCoordinator.updateStaticMemberAndRebalance): as another
// process, or as the same whose id was given up because it did not poll for too long. Even a
// second round that had begun is forgotten when the group moves to another coordinator before
// the leader has assigned it. Who comes or goes next mends it.
func (g *ghost) handedToNobody(line string, p *partition) string {
	if g.groups == nil || p == nil {
		return ""
	}
	for _, x := range g.groups.list {
		if l := x.newest(); strings.HasSuffix(line, " has 0 owners in group "+x.id) && l != nil && l.state == event.GroupStable && x.forgot(l, p.tp) {
			return "a static member was to hand it over, and came back under another id without a rebalance"
		}
	}
	return ""
}

// forgot: who was to hand over a partition in the generation of a coordinator is there still,
// but under another id, and nobody else was to.
func (x *group) forgot(l *life, tp kafka.TopicPartition) (some bool) {
	if x.saved == nil || x.saved.generation != l.generation {
		return false
	}
	for i := range x.saved.members {
		s := &x.saved.members[i]
		if !slices.Contains(s.handsOver, tp) {
			continue
		}
		if s.instance == "" || !slices.ContainsFunc(l.members, func(m *member) bool { return m.instance == s.instance && m.id != s.id }) {
			return false
		}
		some = true
	}
	return some
}
