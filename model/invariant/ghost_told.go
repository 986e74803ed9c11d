package invariant

import (
	"slices"
	"strings"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

// A controller of ZooKeeper mode tells brokers of those partitions only whose state it
// knows (ControllerBrokerRequestBatch.addUpdateMetadataRequestForBrokers): of a new one
// from its first election on, which waits for a live replica, of the others when it has
// read their states after a failover. Clients count the partitions that they hear of.

// tell: the controller of today knows the state of a partition.
func (g *ghost) tell(p *partition) {
	if p.told {
		return
	}
	p.told, p.toldAt = true, g.now
	t := p.topic
	n := int32(0)
	for _, o := range t.parts {
		if o != nil && o.told {
			n++
		}
	}
	if t.toldAt != g.now || len(t.told) == 0 { // those of one instant are told of in one request
		t.told, t.toldAt = append(t.told, n), g.now
	}
	t.told[len(t.told)-1] = n
	p.later = len(t.told) > 1
}

// controllerReads: a new controller reads all states that there are. It tells of the
// partitions first that have a replica on a broker that is registered, and of the others in
// the next request, when their replicas are out of the ISRs (ReplicaStateMachine.startup).
// A broker that has just begun knows no more in between.
func (g *ghost) controllerReads() {
	for _, t := range g.topics {
		n := int32(0)
		for _, p := range t.parts {
			if p != nil && g.toldFirst(p) {
				n++
			}
		}
		if n > 0 && n < t.count {
			t.toldFirst = append(t.toldFirst, n)
			for _, p := range t.parts {
				if p != nil {
					if !g.toldFirst(p) {
						p.behind, p.behindAt = true, g.now
					}
					p.later = p.later || p.behind
				}
			}
		}
	}
	g.each(func(p *partition) {
		if p.auth.known {
			g.tell(p)
		}
	})
}

// toldFirst: a controller that begins now tells of a partition in its first request.
func (g *ghost) toldFirst(p *partition) bool {
	return p.auth.known && slices.ContainsFunc(p.assignment, func(id kafka.NodeID) bool { return !g.node(id).away })
}

// topicGrows follows a partition that is assigned: added ones are more than there were.
func (g *ghost) topicGrows(p *partition) {
	t := p.topic
	if t.count == 0 || p.tp.Partition < t.count || len(p.assignment) == 0 {
		return
	}
	if t.addedAt != g.now {
		t.grown, t.addedAt = append(t.grown, t.count), g.now
	}
	t.count = p.tp.Partition + 1
	g.disturb()
}

// topicShrinks follows a partition that is taken out of its topic before there was a state of it,
// hence before a client could hear of it. Of two requests for more partitions at the same time
// the second may not see what the first has added: each reads the topic's znode, and writes it
// whatever its version is by then (AdminZkClient.addPartitions, KafkaZkClient.setTopicAssignment).
func (g *ghost) topicShrinks(p *partition) {
	t := p.topic
	if len(p.assignment) == 0 && !p.auth.known && p.tp.Partition < t.count {
		t.count = p.tp.Partition // they are told of in their order
	}
}

// unheard says that a partition has no owner in a group since the leader of the group does
// not know of it: its metadata are of when a new controller had told brokers of other
// partitions only, and complete as far as a client can tell.
func (g *ghost) unheard(line string, p *partition) string {
	if g.groups == nil || p == nil {
		return ""
	}
	for _, x := range g.groups.list {
		l := x.newest()
		if !strings.HasSuffix(line, " has 0 owners in group "+x.id) || l == nil || l.state != event.GroupStable || x.setup == nil {
			continue
		}
		c := g.groups.byMember[l.leader]
		if c == nil {
			continue
		}
		seen := c.has(p.tp.Topic)
		if g.now < c.seenAt+x.setup.MetadataAge && slices.ContainsFunc(p.topic.toldFirst, func(n int32) bool { return seen <= n && n <= p.tp.Partition }) {
			return "the group's leader has not heard of it yet: a new controller told brokers of it later than of others"
		}
	}
	return ""
}
