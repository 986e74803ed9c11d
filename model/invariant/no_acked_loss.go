package invariant

import "github.com/simkafka/simkafka/model/event"

func noAckedLoss() rule {
	return rule{
		Info: Info{
			Name:  "no-acked-loss",
			Rules: "INV-01 I-12",
			Words: "A record acknowledged with acks=all stays readable, until retention or DeleteRecords takes it.",
			When:  "at each change of leader; at the end, for each record, in the final read",
			Broken: "acks other than all; an allowed unclean election; a power loss that took the record, unsynced, from as many of its " +
				"replicas as min.insync.replicas says, or from one that was elected before KIP-966; one that such a leader wrote below the log start " +
				"of a replica that had been ahead, and that leads after it: all of these are expected loss",
		},
		kinds: []event.Kind{event.BecameLeader, event.PartitionChanged},
		build: func(f *findings) checker { return &ackedLoss{f} },
	}
}

// ackedLoss judges leaders as they take office; losses judges the final read.
type ackedLoss struct{ *findings }

func (c *ackedLoss) observe(e *event.Event) {
	p, cut := c.g.ch.p, c.g.ch.cut
	if p.ackedEnd > 0 && (e.Kind == event.BecameLeader || cut != nil) {
		c.checked++
	}
	if cut == nil || p.ackedEnd <= cut.from {
		return
	}
	if cut.kind != bareCut {
		return // the final read tells what is really lost
	}
	c.violate(p, "%s led from epoch %d on with a log that agrees with what was committed up to offset %d only, but records up to %d were acknowledged with acks=all",
		nodeName(cut.node), cut.epoch, cut.from, p.ackedEnd-1)
}
