package invariant

import (
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

func epochsGrow() rule {
	return rule{
		Info: Info{
			Name:  "epochs-grow",
			Rules: "INV-07 I-4",
			Words: "Partition epochs grow with each committed change and leader epochs with each change of leader; a broker process never accepts a leader " +
				"epoch twice or one below; controller epochs and broker epochs grow.",
			When:   "at each of these changes",
			Broken: "never; a controller that was paused as it was elected, until its session expired, may hear of it when the next one is in office",
		},
		kinds: []event.Kind{event.PartitionChanged, event.BecameLeader, event.BecameFollower, event.ControllerElected, event.BrokerRegistered},
		build: func(f *findings) checker { return &growing{f} },
	}
}

type growing struct{ *findings }

func (c *growing) observe(e *event.Event) {
	c.checked++
	p := c.g.ch.p
	switch e.Kind {
	case event.PartitionChanged:
		c.committed(p, &c.g.ch.before, e)
	case event.BecameLeader, event.BecameFollower:
		if e.LeaderEpoch <= c.g.ch.epoch {
			c.violate(p, "%s accepted leader epoch %d after %d", nodeName(e.Node), e.LeaderEpoch, c.g.ch.epoch)
		}
		if e.LeaderEpoch > p.auth.epoch && p.auth.known {
			c.violate(p, "%s accepted leader epoch %d; the committed one is %d", nodeName(e.Node), e.LeaderEpoch, p.auth.epoch)
		}
	case event.ControllerElected:
		if e.ControllerEpoch <= c.g.controllerEpoch && !c.hearsLate(e) {
			c.violate(nil, "%s was elected controller in epoch %d at %s; there was epoch %d before", nodeName(e.Node), e.ControllerEpoch, e.Time, c.g.controllerEpoch)
		}
	case event.BrokerRegistered:
		if n := c.g.ch.n; e.BrokerEpoch <= n.registered {
			c.violate(nil, "%s registered with broker epoch %d at %s after %d", nodeName(e.Node), e.BrokerEpoch, e.Time, n.registered)
		}
	}
}

// hearsLate tells whether an election is one that ZooKeeper granted as the broker was
// paused, and of which it hears now that it goes on: KafkaZkClient.
// registerControllerAndIncrementControllerEpoch takes its answer whenever that
// comes. Who is granted one holds /controller until its session ends, so that there is a
// next controller only if that expired in the pause, and all that were elected before
// the expiry have lower numbers; this is one that nobody else had. The connection that
// brings the answer brings the end of the session behind it: who has registered anew has no such
// answer to come.
func (c *growing) hearsLate(e *event.Event) bool {
	n := c.g.ch.n
	return n.late && e.ControllerEpoch > n.expiredIn && e.ControllerEpoch < c.g.controllerEpoch && c.g.ch.owner == kafka.NoNode
}

func (c *growing) committed(p *partition, was *authority, e *event.Event) {
	switch {
	case !was.known:
	case e.PartitionEpoch <= was.partitionEpoch:
		c.violate(p, "partition epoch %d was committed after %d", e.PartitionEpoch, was.partitionEpoch)
	case e.LeaderEpoch < was.epoch:
		c.violate(p, "leader epoch %d was committed after %d", e.LeaderEpoch, was.epoch)
	case e.LeaderEpoch == was.epoch && e.Leader != was.leader:
		c.violate(p, "the leader changed from %s to %s within epoch %d", nodeName(was.leader), nodeName(e.Leader), e.LeaderEpoch)
	}
}
