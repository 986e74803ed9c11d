package invariant

import (
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

func logMatching() rule {
	return rule{
		Info: Info{
			Name:  "log-matching",
			Rules: "INV-03 I-5 I-14",
			Words: "Two replicas that hold a batch with the same offset and leader epoch hold the same batch, and all before it is equal; " +
				"below both high watermarks logs are equal.",
			When:   "at each append, and at each high watermark of a follower of the leader in office; for all replicas at the end",
			Broken: "ZooKeeper: a leader lost unsynced records and led the same epoch again, unseen by any controller (A-13)",
		},
		kinds: []event.Kind{event.BatchAppended, event.HighWatermark},
		build: func(f *findings) checker { return &matching{f} },
	}
}

type matching struct{ *findings }

func (c *matching) observe(e *event.Event) {
	p, r := c.g.ch.p, c.g.ch.r
	if e.Kind == event.HighWatermark {
		if !e.Flag {
			c.below(p, r, e.HW)
		}
		return
	}
	c.checked++
	at := c.g.ch.at
	switch c.g.ch.how {
	case conflicting:
		if r.log.b.excused {
			c.suspend(p, rewrittenText)
			return
		}
		c.violate(p, "%s holds at offset %d a batch of epoch %d with CRC %08x; another replica holds other batches of that epoch",
			nodeName(r.node), e.Base, e.LeaderEpoch, e.CRC)
	case diverging:
		if r.log.b.excused {
			c.suspend(p, rewrittenText)
			return
		}
		c.violate(p, "%s holds the batch of epoch %d at offset %d as another replica does, but their logs differ from offset %d on",
			nodeName(r.node), e.LeaderEpoch, e.Base, at.end)
	}
}

// below compares a follower's log below its high watermark with the leader's.
func (c *matching) below(p *partition, r *replica, hw kafka.Offset) {
	l := p.incumbent()
	if l == nil || l == r || r.role != follows || r.epoch != p.auth.epoch {
		return
	}
	c.checked++
	x := l.log.at(min(hw, l.log.end))
	at := r.agrees(x)
	if at >= x.end || p.moot(r, x) {
		return
	}
	if r.log.excused(at) || x.excused(at) {
		c.suspend(p, rewrittenText)
		return
	}
	c.violate(p, "%s has high watermark %d, but its log differs from that of the leader, %s, from offset %d on",
		nodeName(r.node), hw, nodeName(l.node), at)
}

// finish compares all replicas when everything has settled.
func (c *matching) finish(read bool) {
	if !read {
		return
	}
	c.g.each(func(p *partition) {
		l := p.incumbent()
		if l == nil {
			return
		}
		for _, r := range p.replicas {
			c.below(p, r, min(r.hw, l.hw))
		}
	})
}
