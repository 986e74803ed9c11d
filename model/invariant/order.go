package invariant

import (
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

func orderPreserved() rule {
	return rule{
		Info: Info{
			Name:  "order-preserved",
			Rules: "INV-15 T-01",
			Words: "Records that a producer sent to a partition one batch at a time, or with max.in.flight.requests.per.connection=1, acknowledged with acks=all, are " +
				"acknowledged and stand in the log in the order of sending.",
			When: "at each acknowledgement; for each batch of the final read",
			Broken: "several batches in flight without idempotence (the producer then promises no order); a second copy that a retry made; " +
				"committed records lost in an allowed unclean election or power loss",
		},
		kinds: []event.Kind{event.RecordAcked},
		build: func(f *findings) checker { return &order{f} },
	}
}

type order struct{ *findings }

func (c *order) observe(e *event.Event) {
	s := c.g.ch.sender
	if s == nil || s.pipelined || e.Acks != allISR || e.Base < 0 || c.g.ch.lastN < 0 || c.g.ch.last == kafka.NoOffset {
		return
	}
	c.checked++
	p := c.g.ch.p
	if e.First > c.g.ch.lastN && e.Base > c.g.ch.last {
		return
	}
	if why := p.fellBack(e.Base); why != "" {
		c.suspend(p, why)
		return
	}
	if why := p.lostOutOfOffice(c.g.ch.adrift, e.Base); why != "" {
		c.suspend(p, why)
		return
	}
	c.violate(p, "producer %d had record %d acknowledged at offset %d at %s, after record %d at offset %d", e.Producer, e.First, e.Base, e.Time,
		c.g.ch.lastN, c.g.ch.last)
}

// adrift is the log of a leader out of office up to a record that it had acknowledged.
type adrift struct {
	held position
	at   kafka.Nanos // of the acknowledgement, or of the end of the process before it came
}

// outOfOffice is where records are that were acknowledged with acks=all and are not committed;
// nil if no leader out of office has them.
func (p *partition) outOfOffice(e *event.Event) *adrift {
	for _, r := range p.replicas {
		if r.log.end <= e.Last || p.inOffice(r) {
			continue
		}
		switch {
		case r.role == leads:
			return &adrift{r.log.at(e.Last + 1), e.Time}
		case !r.loaded && r.wasLead:
			return &adrift{r.log.at(e.Last + 1), r.stopAt}
		}
	}
	return nil
}

// lostOutOfOffice: the leader lost the record before, x, in a power loss, and goes on at base.
// It had acknowledged that record while ZooKeeper had no leader, or another one: what it holds
// then is not committed, so that nothing committed is missing when it leads again (fellBack).
//
// Kafka is the same: a broker whose session has expired leads on, with the in-sync set that it
// knows, until a controller can reach it. As the only replica it is elected again.
func (p *partition) lostOutOfOffice(x *adrift, base kafka.Offset) string {
	if x == nil {
		return ""
	}
	for _, i := range p.incidents {
		if i.kind == lossy && i.node == p.auth.leader && i.at >= x.at && i.from <= base && i.from < x.held.end && x.held.end <= i.to &&
			meet(i.held, x.held).end == x.held.end {
			return i.String()
		}
	}
	return ""
}

// readBack: an acknowledged record stands behind no later one, unless it is a
// second copy. The first one may have been deleted.
func (c *order) readBack(b *readBatch) {
	s := b.sender
	if s == nil || s.pipelined || s.acks != allISR {
		return
	}
	c.checked++
	if b.number > b.top || b.fresh == 0 || b.in(s.acked) == 0 {
		return
	}
	if b.firstIsGone() {
		return
	}
	if why := b.p.fellBack(b.entry.base); why != "" {
		c.suspend(b.p, why)
		return
	}
	c.violate(b.p, "the log has record %d of producer %d at offset %d for the first time, behind record %d", b.number, b.producer, b.entry.base, b.top)
}

// firstIsGone: what the batch has is a second copy. Of the first one the cleaner has
// taken these records, since newer ones of their keys are here; or it lies below the log
// start, and is the one that was acknowledged. A cleaned log that nobody knows all of may
// have had one.
func (b *readBatch) firstIsGone() bool {
	a, _ := ackOf(b.p.acks.by(b.sender), b.number)
	if _, gone := b.p.expired(b.sender, a, b.number); gone {
		return true
	}
	k := b.p.keys
	if k == nil {
		return false
	}
	if b.p.compacted && b.p.committed.blankBelow(b.entry.base) {
		return true
	}
	for i := range k.now {
		if r := &k.now[i]; !b.sender.present.has(r.number, r.number+1) && !k.earlier(b.p.committed, r) {
			return false
		}
	}
	return true
}
