package invariant

import (
	"github.com/simkafka/simkafka/model/event"
)

func noPhantom() rule {
	return rule{
		Info: Info{
			Name:   "no-phantom",
			Rules:  "INV-02",
			Words:  "Every record that a consumer or the final read gets was sent to that partition by a producer, and a batch has its records in the order in which they were sent.",
			When:   "at each delivery and each batch of the final read",
			Broken: "never",
		},
		kinds: []event.Kind{event.RecordDelivered},
		build: func(f *findings) checker { return &phantom{f} },
	}
}

type phantom struct{ *findings }

func (c *phantom) observe(e *event.Event) {
	c.checked++
	p := c.g.ch.p
	if p.keys != nil && !c.g.ch.unread {
		c.keyed(p, e)
		return
	}
	if e.Producer >= 0 {
		s := p.knownSender(e.Producer, e.First)
		if s != nil && s.sent.has(e.First, e.First+int64(e.Count)) {
			return
		}
	}
	c.violate(p, "%s got at offset %d %d records, from number %d of producer %d on, that were never sent to the partition", e.Actor, e.Base, e.Count, e.First, e.Producer)
}

// keyed looks at each record that is left of a batch.
func (c *phantom) keyed(p *partition, e *event.Event) {
	for i := range p.keys.now {
		r := &p.keys.now[i]
		if s := p.knownSender(r.producer, r.number); s == nil || !s.sent.has(r.number, r.number+1) {
			c.violate(p, "%s got at offset %d the record %d of producer %d, which was never sent to the partition", e.Actor, r.offset, r.number, r.producer)
			return
		}
	}
}

func (c *phantom) readBack(b *readBatch) {
	c.checked++
	switch {
	case b.control, b.bare:
	case !b.ours:
		c.violate(b.p, "the final read got at offset %d a batch that no producer made: %s", b.entry.base, b.problem)
	case b.sender == nil || b.in(b.sender.sent) < b.count:
		c.violate(b.p, "the final read got at offset %d the records %d to %d of producer %d, which were never sent to the partition",
			b.entry.base, b.number, b.last(), b.producer)
	}
}
