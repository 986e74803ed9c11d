package invariant

import (
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

func controlFenced() rule {
	return rule{
		Info: Info{
			Name:  "control-fenced",
			Rules: "INV-08 I-25",
			Words: "No write of a controller whose epoch is outdated is applied, and a broker obeys only the owner of a controller epoch, none below one " +
				"that it has obeyed, and nothing meant for an earlier process of its id (KIP-380).",
			When:   "at each fenced write, committed election and executed control request",
			Broken: "brokers before KIP-380 obey requests meant for their earlier process",
		},
		kinds: []event.Kind{event.ControlWrite, event.PartitionChanged, event.ControlExecuted},
		build: func(f *findings) checker { return &fenced{f} },
	}
}

type fenced struct{ *findings }

func (c *fenced) observe(e *event.Event) {
	switch e.Kind {
	case event.ControlWrite:
		c.checked++
		if e.Flag && e.ControllerEpoch < c.g.controllerEpoch {
			c.violate(nil, "a write of %s under controller epoch %d was applied at %s; the controller has epoch %d",
				nodeName(e.Node), e.ControllerEpoch, e.Time, c.g.controllerEpoch)
		}
	case event.PartitionChanged:
		c.elected(e)
	case event.ControlExecuted:
		c.executed(e)
	}
}

// elected: only a controller changes a leader epoch, and it writes its own epoch
// into the state.
func (c *fenced) elected(e *event.Event) {
	if was := &c.g.ch.before; !was.known || e.LeaderEpoch == was.epoch {
		return
	}
	c.checked++
	if e.ControllerEpoch < c.g.controllerEpoch {
		c.violate(c.g.ch.p, "leader epoch %d was committed by a controller of epoch %d; the controller has epoch %d",
			e.LeaderEpoch, e.ControllerEpoch, c.g.controllerEpoch)
	}
}

func (c *fenced) executed(e *event.Event) {
	c.checked++
	n := c.g.ch.n
	if e.ControllerEpoch < n.executed {
		c.violate(nil, "%s obeyed %s of controller epoch %d at %s after one of epoch %d", nodeName(e.Node), e.Text, e.ControllerEpoch, e.Time, n.executed)
	}
	if owner := c.g.ch.owner; owner != kafka.NoNode && owner != e.Peer {
		c.violate(nil, "%s obeyed %s of %s in controller epoch %d at %s, which belongs to %s", nodeName(e.Node), e.Text, nodeName(e.Peer),
			e.ControllerEpoch, e.Time, nodeName(owner))
	}
	if c.g.setup.Profile.BrokerEpoch && e.BrokerEpoch >= 0 && e.BrokerEpoch <= n.before {
		c.violate(nil, "%s obeyed %s for broker epoch %d at %s, which an earlier process of it had", nodeName(e.Node), e.Text, e.BrokerEpoch, e.Time)
	}
}
