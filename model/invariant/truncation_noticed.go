package invariant

import (
	"slices"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

func truncationNoticed() rule {
	return rule{
		Info: Info{
			Name:  "truncation-noticed",
			Rules: "INV-20 cluster C-5 groups VI-43",
			Words: "A consumer that has read records of one leader epoch does not go on behind them where the log has records of a later epoch in their place: it asks the new leader " +
				"for the end of its epoch, and goes back to that.",
			When: "at each delivery that follows another one",
			Broken: "a compacted log, whose epochs may seem to begin later than they did; a topic that was created again; consumers before KIP-320 do not ask, and later ones once for a leader's epoch: not when it leads " +
				"the same one again, after a power loss that took unsynced records",
		},
		kinds: []event.Kind{event.RecordDelivered},
		build: func(f *findings) checker { return &noticed{f} },
	}
}

type noticed struct{ *findings }

func (c *noticed) observe(e *event.Event) {
	p := c.g.ch.p
	r := p.reader(e.Actor)
	if !r.delivered || r.position != e.Base || r.epoch == kafka.NoLeaderEpoch {
		return
	}
	c.checked++
	served := c.g.ch.r.log
	epoch, ok := served.written(e.Base, e.CRC)
	if !ok {
		return // the broker has cut its log since it answered
	}
	before := served.holding(e.Base - 1)
	switch {
	case before.blank || before.epoch <= r.epoch:
	case before.epoch == epoch && slices.Contains(p.reled, epoch): // a later leader would have been asked
		c.suspend(p, "a leader lost unsynced records and led its epoch again; consumers ask a leader once in an epoch")
	case p.compacted:
		c.suspend(p, "the log is compacted: an epoch may seem to begin where its first record is that is left")
	case len(p.buried) > 0:
		c.suspend(p, recreatedText)
	case !c.g.setup.Profile.Fencing320:
		c.suspend(p, "a consumer did not notice that the log was cut; before KIP-320 it does not ask")
	default:
		c.violate(p, "%s got offset %d at %s behind records of epoch %d; %s has records of epoch %d before it, which %s never got",
			e.Actor, e.Base, e.Time, r.epoch, nodeName(e.Node), before.epoch, e.Actor)
	}
}

// written is the leader epoch of the batch at offset o of a log, if its CRC is this one.
func (p position) written(o kafka.Offset, crc uint32) (kafka.LeaderEpoch, bool) {
	if o >= p.end {
		return kafka.NoLeaderEpoch, false
	}
	b := p.holding(o)
	x, _, how := b.find(o)
	return b.epoch, how == found && x.crc == crc
}

// wasGiven ends a delivery.
func (r *reader) wasGiven(from *replica, e *event.Event) {
	r.position, r.at, r.delivered, r.epoch = e.Last+1, e.Time, true, kafka.NoLeaderEpoch
	if epoch, ok := from.log.written(e.Base, e.CRC); ok {
		r.epoch = epoch
	}
}
