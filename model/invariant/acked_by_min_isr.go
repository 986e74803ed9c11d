package invariant

import (
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

func ackedByMinISR() rule {
	return rule{
		Info: Info{
			Name:   "acked-by-min-isr",
			Rules:  "INV-05 I-16",
			Words:  "When a produce request with acks=all is answered without error, at least min.insync.replicas brokers have or had the records in their logs.",
			When:   "at each such answer",
			Broken: "ZooKeeper: a follower that kept other batches of an epoch that a lossy leader led again counts by its log end (A-13). It says nothing about disks",
		},
		kinds: []event.Kind{event.ProduceAnswered},
		build: func(f *findings) checker { return &ackedByAll{f} },
	}
}

type ackedByAll struct{ *findings }

func (c *ackedByAll) observe(e *event.Event) {
	if e.Acks != allISR || e.Err != kafka.None || e.Base < 0 {
		return
	}
	p, r := c.g.ch.p, c.g.ch.r
	x := r.log
	if x.end <= e.Last {
		if x = r.before(e.Last); x.b == nil {
			return // the broker has cut its log since, more often than is remembered
		}
	}
	c.checked++
	x = x.at(e.Last + 1)
	have, rewritten := 0, false
	for _, m := range p.replicas {
		if m.log.b == x.b && m.log.end >= x.end || m.had(x) {
			have++
			continue
		}
		at := m.agrees(x)
		rewritten = rewritten || x.excused(at) || m.log.excused(at)
	}
	switch {
	case have >= p.minISR():
	case rewritten:
		c.suspend(p, rewrittenText)
	default:
		c.violate(p, "%s answered offsets %d to %d with acks=all at %s, but %d brokers had them; min.insync.replicas is %d",
			nodeName(e.Node), e.Base, e.Last, e.Time, have, p.minISR())
	}
}

// before is a log that the replica had before it was cut and that reached beyond o.
func (r *replica) before(o kafka.Offset) position {
	for i := len(r.peaks) - 1; i >= 0; i-- {
		if p := r.peaks[i]; p.b != nil && p.end > o {
			return p
		}
	}
	return position{}
}
