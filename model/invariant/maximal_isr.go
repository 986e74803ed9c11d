package invariant

import (
	"github.com/simkafka/simkafka/model/event"
)

func maximalISRCovers() rule {
	return rule{
		Info: Info{
			Name:   "maximal-isr-covers",
			Rules:  "I-6",
			Words:  "While a leader's epoch is the committed one, its maximal in-sync set contains the committed in-sync set.",
			When:   "at each committed state, proposal and high watermark of such a leader",
			Broken: "never; a leader of an older epoch may be wrong",
		},
		kinds: []event.Kind{event.PartitionChanged, event.IsrProposed, event.IsrCommitted, event.HighWatermark, event.BecameLeader},
		build: func(f *findings) checker { return &covers{f} },
	}
}

type covers struct{ *findings }

func (c *covers) observe(e *event.Event) {
	p := c.g.ch.p
	if e.Kind == event.HighWatermark && !e.Flag {
		return
	}
	r := p.incumbent()
	if r == nil || e.Kind != event.PartitionChanged && c.g.ch.r != r {
		return
	}
	c.checked++
	for _, id := range p.auth.isr {
		if !contains(r.maximal, id) {
			c.violate(p, "%s, leader of epoch %d, counts on %v; the committed in-sync set is %v", nodeName(r.node), r.epoch, r.maximal, p.auth.isr)
			return
		}
	}
}
