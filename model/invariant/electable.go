package invariant

import (
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

func electableReplicasComplete() rule {
	return rule{
		Info: Info{
			Name:  "electable-replicas-complete",
			Rules: "INV-04 I-9 I-11",
			Words: "Every member of the committed in-sync set has every committed record, and so has every leader elected from it.",
			When: "at each change of the in-sync set, truncation, recovery, high watermark of a leader (also one that has been replaced), " +
				"and when a leader takes office",
			Broken: "a member that lost unsynced records in a power loss, until it has fetched them again or left the set; " +
				"records that a leader commits after an allowed unclean election replaced it; what the leader in office has deleted, on a follower that died before it had written its log start",
		},
		kinds: []event.Kind{event.PartitionChanged, event.HighWatermark, event.Truncated, event.ReplicaLoaded, event.BecameLeader},
		build: func(f *findings) checker { return &complete{f} },
	}
}

type complete struct{ *findings }

func (c *complete) observe(e *event.Event) {
	p, r := c.g.ch.p, c.g.ch.r
	switch e.Kind {
	case event.PartitionChanged:
		for _, id := range e.ISR {
			c.member(p, id, p.committed, "joined or stays in the in-sync set")
		}
	case event.HighWatermark:
		if e.Flag {
			c.highWatermark(p, r, e)
		}
	case event.BecameLeader:
		c.leader(p, c.g.ch.cut)
	default:
		if contains(p.auth.isr, r.node) {
			c.member(p, r.node, p.committed, "is in the in-sync set")
		}
	}
}

// highWatermark: all members have what a leader calls committed. A leader that was
// replaced is believed, too.
func (c *complete) highWatermark(p *partition, r *replica, e *event.Event) {
	x := r.log.at(min(e.HW, r.log.end))
	for _, id := range p.auth.isr {
		if m := p.known(id); m != nil && m.log.b == x.b && m.log.end >= x.end { // the usual case
			c.checked++
			continue
		}
		c.member(p, id, x, "is in the in-sync set")
	}
}

func (c *complete) member(p *partition, id kafka.NodeID, x position, is string) {
	c.checked++
	at, why, lacks := p.lacks(id, x)
	switch {
	case !lacks:
	case why != "":
		c.suspend(p, why)
	case !c.full(p):
		c.violate(p, "%s %s (epoch %d), but its log agrees with what was committed only up to offset %d of %d",
			nodeName(id), is, p.auth.epoch, at, x.end)
	default:
		c.violated++
	}
}

func (c *complete) leader(p *partition, cut *incident) {
	c.checked++
	switch {
	case cut == nil:
	case cut.kind == bareCut:
		c.violate(p, "%s was elected in epoch %d although its log agrees with what was committed only up to offset %d of %d",
			nodeName(cut.node), cut.epoch, cut.from, cut.to)
	default:
		c.suspend(p, cut.String())
	}
}

func contains(list []kafka.NodeID, id kafka.NodeID) bool {
	for _, x := range list {
		if x == id {
			return true
		}
	}
	return false
}
