package invariant

import (
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

func offsetSanity() rule {
	return rule{
		Info: Info{
			Name:  "offset-sanity",
			Rules: "INV-06 I-1",
			Words: "On every replica log start <= high watermark <= log end; batches follow each other without gap or overlap; the log end moves only " +
				"by an append or a truncation; a leader's high watermark never falls within its epoch.",
			When:   "at each change of one of them",
			Broken: "a follower copies a log in which a power loss left a hole",
		},
		kinds: []event.Kind{event.BatchAppended, event.LEOPublished, event.HighWatermark, event.Truncated, event.ReplicaLoaded,
			event.BecameLeader, event.BecameFollower, event.LogStartRaised},
		build: func(f *findings) checker { return &sane{f} },
	}
}

type sane struct{ *findings }

func (c *sane) observe(e *event.Event) {
	p, r, ch := c.g.ch.p, c.g.ch.r, &c.g.ch
	c.checked++
	switch e.Kind {
	case event.BatchAppended:
		c.appended(p, r, e)
		return
	case event.LogStartRaised:
		return // the high watermark that belongs to it comes with the next event
	case event.LEOPublished:
		if e.LEO > r.reach() {
			c.violate(p, "%s published log end %d; its log ends at %d", nodeName(r.node), e.LEO, r.reach())
		}
	case event.HighWatermark:
		if e.Flag && e.HW < ch.hw {
			c.violate(p, "the high watermark of the leader, %s, fell from %d to %d in epoch %d", nodeName(r.node), ch.hw, e.HW, e.LeaderEpoch)
		}
		if e.LEO > r.reach() {
			c.violate(p, "%s has log end %d; its log ends at %d", nodeName(r.node), e.LEO, r.reach())
		}
	case event.BecameLeader, event.BecameFollower:
		if !ch.load.happened && e.LEO != ch.end {
			c.violate(p, "the log of %s ended at %d and ends at %d now, without an append or truncation between", nodeName(r.node), ch.end, e.LEO)
		}
	case event.Truncated:
		if e.LEO != ch.end && e.Offset <= ch.end {
			c.violate(p, "%s truncated a log that ended at %d; by its appends it ended at %d", nodeName(r.node), e.LEO, ch.end)
		}
	}
	c.order(p, r)
}

func (c *sane) order(p *partition, r *replica) {
	if r.logStart <= r.hw && r.hw <= r.reach() {
		return
	}
	c.violate(p, "%s has log start %d, high watermark %d and log end %d", nodeName(r.node), r.logStart, r.hw, r.reach())
}

func (c *sane) appended(p *partition, r *replica, e *event.Event) {
	switch c.g.ch.how {
	case gap:
		if i := p.hole(r.node, c.g.ch.end, e.Base); i != nil && !e.Flag {
			c.suspend(p, i.String())
			break
		}
		c.violate(p, "%s appended a batch at offset %d; its log ended at %d", nodeName(r.node), e.Base, c.g.ch.end)
	case overlap:
		c.violate(p, "%s appended a batch at offset %d below its log end %d", nodeName(r.node), e.Base, c.g.ch.end)
	}
	if e.Last < e.Base || e.LEO != e.Last+1 || kafka.Offset(e.Count) > e.Last-e.Base+1 {
		c.violate(p, "%s appended a batch of %d records at offsets %d to %d, log end %d", nodeName(r.node), e.Count, e.Base, e.Last, e.LEO)
	}
}
