package invariant

import (
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

func epochCacheAgrees() rule {
	return rule{
		Info: Info{
			Name:  "epoch-cache-agrees",
			Rules: "I-28",
			Words: "Leader epochs do not fall along a log; a leader begins its epoch at its log end and appends batches of that epoch only; a follower appends none " +
				"of an epoch above the one it follows (profiles with fenced fetches).",
			When:   "at each append and each leader's taking office",
			Broken: "before KIP-320 a follower may fetch of an epoch that it has not heard of",
		},
		kinds: []event.Kind{event.BatchAppended, event.BecameLeader},
		build: func(f *findings) checker { return &epochCache{f} },
	}
}

type epochCache struct{ *findings }

func (c *epochCache) observe(e *event.Event) {
	c.checked++
	p, r := c.g.ch.p, c.g.ch.r
	if e.Kind == event.BecameLeader {
		if e.Offset != e.LEO {
			c.violate(p, "%s begins epoch %d at offset %d; its log ends at %d", nodeName(r.node), e.LeaderEpoch, e.Offset, e.LEO)
		}
		return
	}
	switch {
	case e.Flag && r.epoch != kafka.NoLeaderEpoch && e.LeaderEpoch != r.epoch:
		c.violate(p, "%s, leader of epoch %d, appended a batch of epoch %d at offset %d", nodeName(r.node), r.epoch, e.LeaderEpoch, e.Base)
	case !e.Flag && c.g.setup.Profile.Fencing320 && r.epoch != kafka.NoLeaderEpoch && e.LeaderEpoch > r.epoch:
		c.violate(p, "%s, in epoch %d, appended a batch of epoch %d at offset %d", nodeName(r.node), r.epoch, e.LeaderEpoch, e.Base)
	}
	if before := c.g.ch.tail; e.LeaderEpoch < before {
		c.violate(p, "%s appended a batch of epoch %d at offset %d behind one of epoch %d", nodeName(r.node), e.LeaderEpoch, e.Base, before)
	}
}
