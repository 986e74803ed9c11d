package invariant

import (
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

func singleLeaderPerEpoch() rule {
	return rule{
		Info: Info{
			Name:   "single-leader-per-epoch",
			Rules:  "INV-07 I-3",
			Words:  "A leader epoch of a partition has one leader, as committed and in office, and a controller epoch has one controller.",
			When:   "at each committed state, at each leader's and controller's taking office",
			Broken: "never: that two brokers believe to lead, in different epochs, is normal",
		},
		kinds: []event.Kind{event.PartitionChanged, event.BecameLeader, event.ControllerElected},
		build: func(f *findings) checker { return &oneLeader{f} },
	}
}

type oneLeader struct{ *findings }

func (c *oneLeader) observe(e *event.Event) {
	c.checked++
	p := c.g.ch.p
	switch e.Kind {
	case event.ControllerElected:
		if was := c.g.ch.owner; was != kafka.NoNode && was != e.Node {
			c.violate(nil, "%s took controller epoch %d at %s, which %s had", nodeName(e.Node), e.ControllerEpoch, e.Time, nodeName(was))
		}
	case event.PartitionChanged:
		c.compare(p, p.chosen, e.LeaderEpoch, e.Leader, "was committed as leader")
	case event.BecameLeader:
		c.compare(p, p.chosen, e.LeaderEpoch, e.Node, "took office")
		c.compare(p, p.took, e.LeaderEpoch, e.Node, "took office")
	}
}

func (c *oneLeader) compare(p *partition, list []office, epoch kafka.LeaderEpoch, node kafka.NodeID, what string) {
	if was := holder(list, epoch); node != kafka.NoNode && was != kafka.NoNode && was != node {
		c.violate(p, "%s %s in epoch %d, which belongs to %s", nodeName(node), what, epoch, nodeName(was))
	}
}
