package invariant

import (
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

func highWatermarkSafe() rule {
	return rule{
		Info: Info{
			Name:  "high-watermark-safe",
			Rules: "INV-05 I-2",
			Words: "A leader in the committed epoch has no high watermark above the real log end of a member of its maximal in-sync set or of the " +
				"committed one, and moves none while the set is below min.insync.replicas (profiles with that gate).",
			When:   "each time such a leader's high watermark moves",
			Broken: "a member that lost unsynced records in a power loss and that the leader still counts by what it last heard",
		},
		kinds: []event.Kind{event.HighWatermark},
		build: func(f *findings) checker { return &safeHW{f} },
	}
}

type safeHW struct{ *findings }

func (c *safeHW) observe(e *event.Event) {
	p, r := c.g.ch.p, c.g.ch.r
	if !e.Flag || !p.inOffice(r) {
		return
	}
	c.checked++
	if c.g.setup.Profile.HWMinISRGate && len(e.ISR) < p.minISR() {
		c.violate(p, "the high watermark of %s moved to %d with %d members in sync, below min.insync.replicas %d",
			nodeName(r.node), e.HW, len(e.ISR), p.minISR())
	}
	for _, id := range e.MaximalISR {
		c.member(p, r, id, e.HW, "the maximal in-sync set")
	}
	for _, id := range p.auth.isr {
		if !contains(e.MaximalISR, id) {
			c.member(p, r, id, e.HW, "the committed in-sync set")
		}
	}
}

func (c *safeHW) member(p *partition, r *replica, id kafka.NodeID, hw kafka.Offset, of string) {
	m := p.known(id)
	if m != nil && m.log.b == r.log.b && m.log.end >= hw { // the usual case
		return
	}
	at, why, lacks := p.lacks(id, r.log.at(min(hw, r.log.end)))
	switch {
	case !lacks:
	case why != "":
		c.suspend(p, why)
	default:
		c.violate(p, "the high watermark of %s, leader of epoch %d, is %d; the log of %s, a member of %s, goes with it only up to %d",
			nodeName(r.node), r.epoch, hw, nodeName(id), of, at)
	}
}
