package invariant

import (
	"cmp"
	"slices"

	"github.com/simkafka/simkafka/model/assignor"
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

func assignmentFair() rule {
	return rule{
		Info: Info{
			Name:  "assignment-fair",
			Rules: "groups VI-23",
			Words: "range gives each subscriber of a topic the block that its place says; roundrobin, sticky and cooperative-sticky give members with equal subscriptions numbers of " +
				"partitions that differ by one at most; with other subscriptions the sticky ones leave no partition whose move would make two members more equal.",
			When:   "at each generation that becomes stable with one of Kafka's assignors",
			Broken: "a cooperative generation on the way to the next one is only bounded from above; what the leader gave a static member by an id that was taken back is taken for that member's",
		},
		kinds: []event.Kind{event.GroupChanged},
		build: func(f *findings) checker { return &fair{f} },
	}
}

type fair struct{ *findings }

func (c *fair) observe(e *event.Event) {
	x, l := c.g.ch.groups.of, c.g.toJudge(e)
	if l == nil || len(l.members) == 0 {
		return
	}
	c.checked++
	switch {
	case e.Detail == "range":
		for _, t := range l.wanted() {
			c.blocks(x, l, t, e)
		}
	case l.uniform():
		c.equal(x, l, e)
	case e.Detail != "roundrobin" && l.all() >= c.g.mostAssignable(l):
		c.stuck(x, l, e)
	}
}

// all counts what is assigned.
func (l *life) all() (n int) {
	for _, m := range l.members {
		n += len(m.given.parts)
	}
	return n
}

// assignable counts the partitions of all subscribed topics of which something is
// assigned, or withheld: at most those that the leader knows. It knows nothing of the topics
// in gone.
func (g *ghost) assignable(l *life, gone []string) int {
	return g.countKnown(l, func(topic string) int32 {
		if slices.Contains(gone, topic) {
			return 0
		}
		return g.countedBy(l, topic)
	})
}

// countedBy is how many partitions of a topic the leader of a generation may have counted at
// least. Of one whose deletion has begun its metadata may have lost a part (see goesInParts). That may be
// the first that the leader hears of the topic after another broker has said that there is none. Or they are from before
// partitions were added to one that is deleted since.
func (g *ghost) countedBy(l *life, topic string) int32 {
	n := cmp.Or(g.knownTo(l, topic), g.everHad(topic))
	if g.numbers(l) {
		n -= g.unassignedOf(l, topic, n)
	}
	if some := g.sightOf(l, topic).some; some > 0 && (g.hadOnce(topic, some) || g.goesInParts(topic, g.groups.byMember[l.leader].actor)) {
		n = min(n, max(some, l.highest(topic)+1))
	}
	return n
}

// hadOnce reports whether a topic that is deleted had so many partitions before others were added.
func (g *ghost) hadOnce(name string, partitions int32) bool {
	return slices.ContainsFunc(g.topics, func(t *topic) bool {
		return t.Name == name && t.count == 0 && slices.Contains(t.hadGrown, partitions)
	})
}

// goesInParts: a topic is to be deleted, and a client may know that of some of its partitions only.
// The controller tells all brokers of all partitions when it begins (TopicDeletionManager.onTopicDeletion), but
//   - a process that registers anew meanwhile, and had not heard it, is told of the partitions only that it has replicas of, and
//     shows the others as before (since 2.7 ControllerContext.partitionsWithLeaders leaves the topic out; the move to OnlineReplica
//     does not);
//   - a new controller may not begin, as a replica is down, and tells of those partitions that have another one
//     (ReplicaStateMachine.startup);
//   - nor does one begin while a partition is reassigned (TopicDeletion), of which alone it tells then;
//   - and where a broker that has not heard it shows all of them as they were before an election, a client that had learned of
//     the election, and then that they are gone, takes those only of which it knows no higher leader epoch
//     (Metadata.updateLatestMetadata; with topic ids all of them).
func (g *ghost) goesInParts(topic, actor string) bool {
	for _, t := range g.topics {
		if t.Name == topic && t.doomed {
			return t.moved || g.elected >= t.doomedAt || g.knowsElection(actor, topic) ||
				g.setup.Profile.DoomedUntold && slices.ContainsFunc(g.nodes, func(n node) bool { return n.anew >= t.doomedAt })
		}
	}
	return false
}

// maySee: the leader of a generation counts a claim of a partition.
func (g *ghost) maySee(l *life, tp kafka.TopicPartition) bool {
	if !g.numbers(l) {
		return tp.Partition < g.countedBy(l, tp.Topic)
	}
	return tp.Partition < cmp.Or(g.knownTo(l, tp.Topic), g.everHad(tp.Topic)) && !g.leftOut(l, g.partition(tp))
}

// unassignedOf counts those below n of a topic that nobody got and that the leader's metadata left out.
func (g *ghost) unassignedOf(l *life, topic string, n int32) (count int32) {
	for i := range min(n, g.partitionsOf(topic)) {
		tp := kafka.TopicPartition{Topic: topic, Partition: i}
		if !l.gives(tp) && g.leftOut(l, g.partition(tp)) {
			count++
		}
	}
	return count
}

// mostAssignable also counts those that the leader may not know yet, as they were added, or
// withholds, or knows no more, as their topic is deleted; or has still, as it has not asked
// since the topic was deleted, and created again with fewer. A leader that subscribes to all topics
// of the group asks for no update when it is elected (ConsumerCoordinator.updateGroupSubscription).
func (g *ghost) mostAssignable(l *life) int {
	return g.countKnown(l, func(topic string) int32 { return g.mostOf(l, topic) })
}

// mostOf is how many partitions of a topic the leader of a generation may have counted at most.
func (g *ghost) mostOf(l *life, topic string) int32 {
	return max(g.everHad(topic), g.sightOf(l, topic).most)
}

// everHad is how many partitions a topic has, or had when it was deleted: a leader with
// older metadata still assigns them.
func (g *ghost) everHad(topic string) int32 {
	for _, t := range g.topics {
		if t.Name == topic {
			return cmp.Or(t.count, t.had)
		}
	}
	return 0
}

func (g *ghost) countKnown(l *life, count func(topic string) int32) (n int) {
	for _, t := range l.wanted() {
		of := func(tp kafka.TopicPartition) bool { return tp.Topic == t }
		if slices.ContainsFunc(l.members, func(m *member) bool {
			return slices.ContainsFunc(m.given.parts, of) || l.cooperative() && slices.ContainsFunc(m.sub.owned, of)
		}) {
			n += int(count(t))
		}
	}
	return n
}

// blocks is AR-1 for a topic.
func (c *fair) blocks(x *group, l *life, topic string, e *event.Event) {
	var subs []*member
	var all []int32 // that are assigned
	for _, m := range l.members {
		if m.sub.wants(topic) {
			subs = append(subs, m)
			all = append(all, m.of(topic)...)
		}
	}
	got := len(all)
	slices.Sort(all)
	for i := range all {
		if !c.g.numbers(l) { // they are the first numbers
			all[i] = int32(i)
		}
	}
	slices.SortFunc(subs, func(a, b *member) int { // AS-0
		if static := a.instance != ""; static != (b.instance != "") {
			if static {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(a.instance, b.instance), cmp.Compare(a.id, b.id))
	})
	if slices.ContainsFunc(subs, l.misnamed) {
		c.aroundMisnamed(x, l, subs, topic, e)
		return
	}
	for i, m := range subs {
		have := m.of(topic)
		if want := block(all, i, len(subs)); !slices.Equal(have, want) {
			c.violateGroup(x, kafka.TopicPartition{}, "range, generation %d: %s, number %d of %d subscribers, gets partitions %v of the %d of %s, not %v", e.Generation, m.id, i,
				len(subs), have, got, topic, want)
		}
	}
}

// block is what range gives number i of so many subscribers (AR-1).
func block(partitions []int32, i, subscribers int) []int32 {
	q, r := len(partitions)/subscribers, len(partitions)%subscribers
	start, size := i*q+min(i, r), q
	if i < r {
		size++
	}
	return partitions[start : start+size]
}

// of lists the numbers of a topic's partitions that m is assigned, sorted.
func (m *member) of(topic string) (list []int32) {
	for _, tp := range m.given.parts {
		if tp.Topic == topic {
			list = append(list, tp.Partition)
		}
	}
	slices.Sort(list)
	return list
}

// equal: sizes of members with the same subscription differ by one at most.
func (c *fair) equal(x *group, l *life, e *event.Event) {
	if slices.ContainsFunc(l.members, l.misnamed) {
		c.equalOthers(x, l, e)
		return
	}
	all := l.all()
	if n := c.g.mostAssignable(l); l.cooperative() && all < n {
		all = n
	}
	low, high := all/len(l.members), (all+len(l.members)-1)/len(l.members)
	for _, m := range l.members {
		n := len(m.given.parts)
		if n > high || n < low && all == l.all() {
			c.violateGroup(x, kafka.TopicPartition{}, "%s, generation %d: %s gets %d of %d partitions for %d members", e.Detail, e.Generation, m.id, n, all, len(l.members))
		}
	}
}

// stuck is ST-6: an improving move is left.
func (c *fair) stuck(x *group, l *life, e *event.Event) {
	for _, a := range l.members {
		for _, tp := range a.given.parts {
			for _, b := range l.members {
				if len(a.given.parts) >= len(b.given.parts)+2 && b.sub.wants(tp.Topic) && !l.misnamed(b) {
					c.violateGroup(x, tp, "%s, generation %d: %s has %d partitions, among them %s, and %s, which subscribes to its topic, has %d", e.Detail, e.Generation, a.id,
						len(a.given.parts), tp, b.id, len(b.given.parts))
					return
				}
			}
		}
	}
}

func cooperativeGrantsFree() rule {
	return rule{
		Info: Info{
			Name:  "cooperative-grants-free",
			Rules: "groups VI-25",
			Words: "A cooperative generation assigns a partition to nobody but its owner: if a member claims it in the newest generation that anybody claims it in, only this " +
				"member may get it, and if two do, nobody.",
			When:   "at each generation of cooperative members that becomes stable",
			Broken: "an assignor of the application's own (Kafka's own, with different subscriptions: CS-C, which simkafka guards against)",
		},
		kinds: []event.Kind{event.GroupChanged},
		build: func(f *findings) checker { return &grants{f} },
	}
}

type grants struct{ *findings }

func (c *grants) observe(e *event.Event) {
	x, l := c.g.ch.groups.of, c.g.toJudge(e)
	if l == nil || !l.cooperative() {
		return
	}
	if a, _ := assignor.ByName(e.Detail); !a.Cooperative() {
		return
	}
	c.checked++
	owner := l.claimed(e.Detail)
	for _, m := range l.members {
		for _, tp := range m.given.parts {
			o, claimed := owner[tp]
			switch {
			case !claimed || o == m:
			case o == nil:
				c.violateGroup(x, tp, "generation %d gives %s to %s, though two members say to own it", e.Generation, tp, m.id)
			default:
				c.violateGroup(x, tp, "generation %d gives %s to %s, though %s says to own it and has not revoked it", e.Generation, tp, m.id, o.id)
			}
		}
	}
}

func cooperativeRoundsEnd() rule {
	return rule{
		Info: Info{
			Name:   "cooperative-rounds-end",
			Rules:  "groups VI-26",
			Words:  "Cooperative rebalances come to their end: two of them follow on each other at most if all members subscribe to the same topics, else four.",
			When:   "at each generation of cooperative members that becomes stable",
			Broken: "never without a new cause: a member that comes, goes or loses its generation or coordinator, a topic that appears; one does not count in which a member was told to join again instead of its assignment; a JoinGroup that its member had given up is carried out late",
		},
		kinds: []event.Kind{event.GroupChanged},
		build: func(f *findings) checker { return &roundsEnd{f} },
	}
}

type roundsEnd struct{ *findings }

// Rounds that may follow on each other (CS-B).
const (
	uniformRounds = 2
	mixedRounds   = 4
)

func (c *roundsEnd) observe(e *event.Event) {
	x, l := c.g.ch.groups.of, c.g.toJudge(e)
	if l == nil || !l.cooperative() {
		return
	}
	c.checked++
	bound := mixedRounds
	if l.uniform() {
		bound = uniformRounds
	}
	if n := l.rounds.count; n > bound && l.topics() <= l.rounds.topics {
		c.violateGroup(x, kafka.TopicPartition{}, "generation %d is rebalance number %d in a row without a cause but the one before", e.Generation, n)
	}
}
