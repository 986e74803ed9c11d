package invariant

import (
	"slices"
	"strings"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

// vain is what a member that is to rejoin does until it may: it commits, as it does by
// itself (enable.auto.commit), and commits again as long as the answer is an error that may pass.
// UNKNOWN_TOPIC_OR_PARTITION is one (OffsetCommitResponseHandler), also for a partition of a deleted
// topic, or one that the topic created again has no more. ConsumerCoordinator.onJoinPrepare gives up
// after max.poll.interval.ms (joinPrepareTimer; KAFKA-13310). Others begin when they
// hear of the rebalance that follows.
type vain struct {
	since kafka.Nanos // when it had the first such answer; 0 = none
	tp    kafka.TopicPartition
}

const vainText = "a member commits, before it rejoins, for a partition that its topic has no more (KAFKA-13310)"

// answered follows an answer to a commit.
func (v *vain) answered(e *event.Event) {
	switch {
	case e.Text != event.CommitPrepare:
	case e.Err != kafka.UnknownTopicOrPartition:
		if e.TP == v.tp {
			*v = vain{}
		}
	case v.since == 0:
		*v = vain{e.Time, e.TP}
	default:
		v.tp = e.TP
	}
}

// commitsInVain reports whether a member does so, no longer than it may, for a partition
// that it was given when the group's leader may have known of it.
func (g *ghost) commitsInVain(c *groupClient) bool {
	x := c.of.setup
	if c.vain.since == 0 || x == nil || g.now > c.vain.since+x.Rebalance+x.Poll+slack {
		return false
	}
	for _, t := range g.topics {
		if t.Name != c.vain.tp.Topic {
			continue
		}
		there := !t.doomed && c.vain.tp.Partition < t.count
		p := c.part(c.vain.tp)
		return !there && c.vain.tp.Partition < t.had && p.owned && p.since <= t.goneAt+x.MetadataAge+slack
	}
	return false
}

// inVain reports whether a member of a group does so.
func (g *ghost) inVain(x *group) bool {
	return slices.ContainsFunc(g.groups.clients, func(c *groupClient) bool { return c.of == x && g.commitsInVain(c) })
}

// isToOwn: a stable generation gave a partition to a member that has taken what it was given: it need
// not wait for who commits in vain.
func (g *ghost) isToOwn(x *group, p *partition) bool {
	l := x.newest()
	return p != nil && l != nil && l.state == event.GroupStable && slices.ContainsFunc(l.members, func(m *member) bool {
		c := g.groups.byMember[m.id]
		return slices.Contains(m.given.parts, p.tp) && c != nil && c.of == x && c.member == m.id && c.generation == l.generation && c.state == event.MemberStable
	})
}

// goesOn: a member has given a partition up, or asks to join.
func (g *ghost) goesOn(c *groupClient) {
	if g.commitsInVain(c) {
		c.of.wentOn = g.now
	}
	c.vain = vain{}
}

// pausedInVain says that a consumer does not read on, as it commits in vain and has marked all that it owns as
// to be revoked (ConsumerCoordinator.onJoinPrepare, SubscriptionState.markPendingRevocation); a
// cooperative one goes on with what it keeps.
func (g *ghost) pausedInVain(line string) string {
	if g.groups == nil {
		return ""
	}
	for _, c := range g.groups.clients {
		if strings.HasPrefix(line, "consumer "+c.actor+" is at ") && !c.cooperative && g.commitsInVain(c) {
			return vainText
		}
	}
	return ""
}
