package invariant

import (
	"slices"
	"strings"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

// handover is what the first round of a cooperative rebalance leaves to the second one: of the
// last generation that was persisted, or that was found in the log by a coordinator.
type handover struct {
	generation int32 // -1 = none
	loading    bool
	members    []handing
}

// handing is a member that is to revoke partitions and to begin the second round.
type handing struct {
	id, instance string
	parts        []kafka.TopicPartition
}

// changed follows a GroupChanged, after its life has. Who loads a generation that nobody has
// seen persisted (its coordinator ended first) tells of its members next.
func (h *handover) changed(l *life, e *event.Event) {
	switch {
	case e.Text == loadedText:
		h.loading = e.State == event.GroupStable && e.Generation != h.generation
		if h.loading {
			h.generation, h.members = e.Generation, nil
		}
	case e.State == event.GroupStable:
		h.generation, h.loading, h.members = e.Generation, false, nil
		for _, m := range l.members {
			h.add(l, m)
		}
	}
}

// joined follows a MemberJoined, after its life has.
func (h *handover) joined(l *life, e *event.Event) {
	if h.loading = h.loading && e.Text == event.JoinLoaded; h.loading {
		h.add(l, l.byID[e.Member])
	}
}

// add notes the partitions that a member said to own when it joined and that the generation, as
// far as is known, gives to nobody.
func (h *handover) add(l *life, m *member) {
	if len(m.sub.owned) == 0 || !l.cooperative() {
		return
	}
	x := handing{id: m.id, instance: m.instance}
	for _, tp := range m.sub.owned {
		if !slices.ContainsFunc(l.members, func(o *member) bool { return o.given.generation == h.generation && slices.Contains(o.given.parts, tp) }) {
			x.parts = append(x.parts, tp)
		}
	}
	h.members = append(h.members, x)
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
		if l := x.newest(); strings.HasSuffix(line, " has 0 owners in group "+x.id) && l != nil && l.state == event.GroupStable && g.forgot(x, l, p.tp) {
			return "a static member was to hand it over, and came back under another id without a rebalance"
		}
	}
	return ""
}

// forgot: who was to hand over a partition in the generation of a coordinator is there still,
// but under another id; nobody else was to, and nobody was told to take it.
func (g *ghost) forgot(x *group, l *life, tp kafka.TopicPartition) (some bool) {
	if x.handover.generation != l.generation {
		return false
	}
	for _, m := range l.members {
		if c := g.groups.byMember[m.id]; c != nil && c.sync.member == m.id && c.sync.generation == l.generation && slices.Contains(c.sync.parts, tp) {
			return false
		}
	}
	for i := range x.handover.members {
		s := &x.handover.members[i]
		if !slices.Contains(s.parts, tp) {
			continue
		}
		if s.instance == "" || !slices.ContainsFunc(l.members, func(m *member) bool { return m.instance == s.instance && m.id != s.id }) {
			return false
		}
		some = true
	}
	return some
}
