package invariant

import (
	"slices"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

// view is what a client's metadata have of partitions, since its process began.
type view struct {
	actor string
	parts []viewed
}

// viewed is a partition that they have, or had: in which leader epoch last
// (Metadata.lastSeenLeaderEpochs, which outlives the partition there), and at most.
type viewed struct {
	tp          kafka.TopicPartition
	epoch, most kafka.LeaderEpoch
	has         bool
}

func (g *ghost) viewOf(actor string) *view {
	for _, v := range g.views {
		if v.actor == actor {
			return v
		}
	}
	return nil
}

// lookedUp follows what a client learns of a partition.
func (g *ghost) lookedUp(e *event.Event) {
	v := g.viewOf(e.Actor)
	if v == nil {
		v = &view{actor: e.Actor}
		g.views = append(g.views, v)
	}
	i := slices.IndexFunc(v.parts, func(x viewed) bool { return x.tp == e.TP })
	if i < 0 {
		v.parts = append(v.parts, viewed{tp: e.TP, epoch: kafka.NoLeaderEpoch, most: kafka.NoLeaderEpoch})
		i = len(v.parts) - 1
	}
	x := &v.parts[i]
	if x.has = !e.Flag; e.LeaderEpoch != kafka.NoLeaderEpoch {
		x.epoch, x.most = e.LeaderEpoch, max(x.most, e.LeaderEpoch)
	}
}

// lastSeen is the leader epoch of a partition that a client learned last, and the highest;
// NoLeaderEpoch if it knows none.
func (g *ghost) lastSeen(actor string, tp kafka.TopicPartition) (last, most kafka.LeaderEpoch) {
	if v := g.viewOf(actor); v != nil {
		for i := range v.parts {
			if v.parts[i].tp == tp {
				return v.parts[i].epoch, v.parts[i].most
			}
		}
	}
	return kafka.NoLeaderEpoch, kafka.NoLeaderEpoch
}

// viewEnds: another process of the client begins.
func (g *ghost) viewEnds(actor string) {
	if v := g.viewOf(actor); v != nil {
		v.parts = v.parts[:0]
	}
}

// knowsElection reports whether a client that keeps to the highest leader epoch of a partition has learned of an
// election in a topic.
func (g *ghost) knowsElection(actor, topic string) bool {
	v := g.viewOf(actor)
	return v != nil && g.setup.Profile.Versions.Metadata < topicIDVersion && slices.ContainsFunc(v.parts, func(x viewed) bool { return x.tp.Topic == topic && x.most > 0 })
}

// topicIDVersion is from which version on metadata responses have ids of topics (KIP-516).
const topicIDVersion = 10

// knows: they have a partition of a topic.
func (v *view) knows(topic string) bool {
	return slices.ContainsFunc(v.parts, func(x viewed) bool { return x.has && x.tp.Topic == topic })
}

// hides reports whether a client's metadata leave a partition out, though brokers tell of it:
// its topic was created again, and the partition is in a lower leader epoch than the client knows
// from the deleted topic. Metadata.updateLatestMetadata takes a lower epoch only with a topic id
// that is new to it: of all partitions of the response with which the client learns of the new
// topic, and of none where there are no ids. A client that leaves out what was in that response
// has bugs (KAFKA-12257, KAFKA-13488); it may have had no partition that brokers were told of
// later than others.
func (g *ghost) hides(actor string, p *partition) bool {
	v := g.viewOf(actor)
	if v == nil || g.setup.Profile.Versions.Metadata >= topicIDVersion && !(p.later && v.knows(p.tp.Topic)) {
		return false
	}
	i := slices.IndexFunc(v.parts, func(x viewed) bool { return x.tp == p.tp })
	return i >= 0 && !v.parts[i].has && v.parts[i].epoch > p.auth.epoch && p.hadEpoch(v.parts[i].epoch)
}

// leftOut reports whether the metadata of a generation's leader had some partitions of a topic
// and left this one out, for a cause: they hide it, or were of a time when brokers were told of
// those only.
func (g *ghost) leftOut(l *life, p *partition) bool {
	c, s := g.groups.byMember[l.leader], g.sightOf(l, p.tp.Topic)
	if c == nil || s.least == 0 || slices.Contains(s.always, p.tp.Partition) {
		return false
	}
	asOld := func(n int32) bool { // it was told of before p
		q := g.partition(kafka.TopicPartition{Topic: p.tp.Topic, Partition: n})
		return q.told && (!p.told || q.toldAt < p.toldAt && g.mayBeOf(c.of, p.toldAt))
	}
	return p.behind && g.mayBeOf(c.of, p.behindAt) || g.hides(c.actor, p) || !slices.ContainsFunc(s.always, func(n int32) bool { return !asOld(n) })
}

// mayBeOf reports whether the leader of a group may assign by metadata that are as old as at. When the
// faults have ended the controller repeats what a broker has not answered (controller.socket.timeout.ms),
// clients ask again after metadata.max.age.ms, and a generation that has joined is assigned within
// the rebalance timeout.
func (g *ghost) mayBeOf(x *group, at kafka.Nanos) bool {
	return g.healed == 0 || x.setup == nil || g.now <= max(g.healed, at)+g.setup.ControllerTimeout+x.setup.MetadataAge+x.setup.Rebalance+slack
}

// leavesOut counts these partitions.
func (g *ghost) leavesOut(l *life, t *topic) (n int32) {
	for _, p := range t.parts {
		if p != nil && p.tp.Partition < t.count && g.leftOut(l, p) {
			n++
		}
	}
	return n
}

const hiddenText = "knows the partition from the deleted topic of that name, in a leader epoch that the new one has not come to"

// hidden says that a partition has no owner in a group since the metadata of the group's leader
// leave it out, or that a consumer does not read it since its own do, until an election brings it
// a higher epoch.
func (g *ghost) hidden(line string, p *partition) string {
	if p == nil || len(p.buried) == 0 {
		return ""
	}
	for _, v := range g.views {
		if waits(line, v.actor) && g.hides(v.actor, p) {
			return "it " + hiddenText
		}
	}
	if l := g.leads(line); l != nil && g.hides(g.groups.byMember[l.leader].actor, p) {
		return "the group's leader " + hiddenText
	}
	return ""
}
