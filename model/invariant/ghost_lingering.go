package invariant

import (
	"slices"
	"strings"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

// A broker of ZooKeeper mode forgets a topic when the controller tells it that the partitions are being
// deleted, and else never: UpdateMetadata adds to what it knows (ZkMetadataCache.updateMetadata,
// LEADER_DURING_DELETE). A controller tells those that are registered
// (TopicDeletionManager.onTopicDeletion), and who registers again later hears of the topics that there
// are (KafkaController.onBrokerStartup; since 2.7 without those that are being deleted,
// ControllerContext.partitionsWithLeaders). What a broker has not been sent when its session ends or the controller
// changes, nobody sends it any more (ControllerChannelManager.removeBroker, shutdown). So such a process shows
// the topic until it ends, and if there is a smaller one of that name again, the partitions that this one has not.
//
// A member's metadata are now of such a broker, now of another one, as those without the topic, and the
// refusals of its leader, have it ask again. Each time the leader of the group rebalances
// (ConsumerCoordinator.rejoinNeededOrPending compares the metadata with its assignmentSnapshot).

// uninformed is a process that does not hear of a topic's deletion.
type uninformed struct {
	node  kafka.NodeID
	count int32 // it shows the partitions below
	at    kafka.Nanos
}

// linger keeps the processes that are not registered while a topic is deleted.
func (g *ghost) linger(t *topic) {
	for i := range g.nodes {
		if n := &g.nodes[i]; n.away {
			t.lingersOn(n, g.now)
		}
	}
}

// doom notes which brokers have replicas of a topic that is to be deleted: these hear of it, as its deletion does not
// end before they have deleted them, and an UpdateMetadata goes ahead of the StopReplica that has them
// do so (TopicDeletionManager.onTopicDeletion, resumeDeletions).
func (g *ghost) doom(t *topic) {
	t.dooms(g.now)
	t.askedAt, t.hosts = g.now, nil
	for _, p := range t.parts {
		if p != nil {
			t.hosts = append(t.hosts, p.assignment...)
		}
	}
	g.linger(t)
}

// tells: a topic's deletion ends: who is told of it shows none of its partitions, those of an earlier one neither.
func (t *topic) tells() {
	t.untold = slices.DeleteFunc(t.untold, func(u uninformed) bool { return u.at < t.askedAt && u.count <= t.count })
}

func (t *topic) lingersOn(n *node, now kafka.Nanos) {
	if n.id <= 0 || n.down || n.booted >= t.askedAt || slices.Contains(t.hosts, n.id) {
		return
	}
	count := t.count
	if t.askedAt <= t.goneAt {
		count = t.had
	}
	for i := range t.untold {
		if u := &t.untold[i]; u.node == n.id {
			u.count, u.at = max(u.count, count), now
			return
		}
	}
	t.untold = append(t.untold, uninformed{n.id, count, now})
}

// shown reports whether a process that runs shows a partition of a deleted topic.
func (g *ghost) shown(t *topic, partition int32) bool {
	return slices.ContainsFunc(t.untold, func(u uninformed) bool { return u.count > partition && !g.node(u.node).down })
}

// unregistered: a broker's session ends while topics are being deleted, or before it has heard of it.
func (g *ghost) unregistered(n *node) {
	for _, t := range g.topics {
		if t.doomed && !t.isGone() || n.heard < t.askedAt {
			t.lingersOn(n, g.now)
		}
	}
}

// succeeds: a new controller does not know of the topics that are gone.
func (g *ghost) succeeds() {
	for _, t := range g.topics {
		for i := range g.nodes {
			if n := &g.nodes[i]; t.askedAt <= t.goneAt && n.heard < t.askedAt {
				t.lingersOn(n, g.now)
			}
		}
	}
}

// forgets: a process begins, and knows of no topic.
func (g *ghost) forgets(id kafka.NodeID) {
	for _, t := range g.topics {
		t.untold = slices.DeleteFunc(t.untold, func(u uninformed) bool { return u.node == id })
	}
}

// isGone: it is deleted, and there is none of its name.
func (t *topic) isGone() bool { return t.doomed && t.count == 0 }

// reappears: a member's metadata have a partition that they did not have, and that there is not, while a
// broker shows it.
func (g *ghost) reappears(c *groupClient, tp kafka.TopicPartition) {
	for _, t := range g.topics {
		if t.Name == tp.Topic && tp.Partition >= t.count && g.shown(t, tp.Partition) {
			c.reappeared, c.reappearedIn = g.now, tp.Topic
		}
	}
}

// unsettled reports whether a group may rebalance since its leader's metadata have had partitions of a
// deleted topic again, as a broker still shows it: each time as long as a group may that something happens to.
func (g *ghost) unsettled(x *group) bool {
	l := x.newest()
	if l == nil || x.setup == nil || x.comeback.generation == l.generation && !x.comeback.leads {
		return false
	}
	c := g.groups.byMember[l.leader]
	return c != nil && c.of == x && c.reappeared > 0 && g.now <= c.reappeared+g.setup.Settles(x.setup) &&
		slices.ContainsFunc(g.topics, func(t *topic) bool {
			return t.Name == c.reappearedIn && slices.ContainsFunc(t.untold, func(u uninformed) bool { return u.count > t.count }) && slices.Contains(l.wanted(), t.Name)
		})
}

const lingeringText = "the metadata of the group's leader have a deleted topic now and again: a broker that was not told still shows it"

// lingering says that the members of a group do not come to rest, or do not come to read, because
// of that.
func (g *ghost) lingering(line string, p *partition) string {
	if g.groups == nil || strings.HasSuffix(line, " hears nothing from its coordinator") {
		return ""
	}
	for _, x := range g.groups.list {
		ofMember := slices.ContainsFunc(g.groups.clients, func(c *groupClient) bool {
			return c.of == x && (strings.HasPrefix(line, "consumer "+c.actor+" of group ") || strings.HasPrefix(line, "consumer "+c.actor+" is at "))
		})
		if g.unsettled(x) && (ofMember || strings.HasSuffix(line, " has 0 owners in group "+x.id) && x.isOnItsWay(p)) {
			return lingeringText
		}
	}
	return ""
}

// isOnItsWay: the present generation is not complete, or has given a partition to somebody.
func (x *group) isOnItsWay(p *partition) bool {
	l := x.newest()
	return p != nil && (l.state != event.GroupStable || slices.ContainsFunc(l.members, func(m *member) bool { return slices.Contains(m.given.parts, p.tp) }))
}
