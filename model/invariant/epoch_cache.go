package invariant

import (
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

func epochCacheAgrees() rule {
	return rule{
		Info: Info{
			Name:  "epoch-cache-agrees",
			Rules: "I-28 INV-11",
			Words: "Leader epochs do not fall along a log; a leader begins its epoch at its log end and appends batches of that epoch only; a follower appends none " +
				"of an epoch above the one it follows (profiles with fenced fetches). A log that is opened again knows the epoch of its first record, if none was ever deleted.",
			When:   "at each append, each leader's taking office and each opening of a log",
			Broken: "before KIP-320 a follower may fetch of an epoch that it has not heard of; a power loss may bring back records that were cut, but not their epochs, or take those that a disk lied about",
		},
		kinds: []event.Kind{event.BatchAppended, event.BecameLeader, event.ReplicaLoaded},
		build: func(f *findings) checker { return &epochCache{f} },
	}
}

type epochCache struct{ *findings }

func (c *epochCache) observe(e *event.Event) {
	c.checked++
	p, r := c.g.ch.p, c.g.ch.r
	switch e.Kind {
	case event.ReplicaLoaded:
		c.loaded(e)
		return
	case event.BecameLeader:
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

// loaded: an entry is on the medium before the first batch of its epoch is in the log, and
// goes only with it (E-1, E-3). A power loss may bring back what was cut, without its
// epochs; what a disk only said to have synced may be the file of epochs (see replica.bares);
// and where records are deleted the epochs of what goes are gone before anybody
// notes that it went, so that only partitions are judged that keep everything. A replica
// that copies a compacted log gets its first batch, and with it its first entry, behind the
// log's start.
func (c *epochCache) loaded(e *event.Event) {
	l, p := &c.g.ch.load, c.g.ch.p
	if e.LEO == 0 || e.First <= 0 || p.start > 0 || p.compacted || p.deletes() || l.stop.losesUnsynced() && l.cut <= 0 {
		return
	}
	if kafka.Offset(e.First) <= c.g.ch.r.bared {
		c.suspend(p, "a disk had lied about the sync of the leader epochs, which a power loss then took")
		return
	}
	c.violate(p, "the log of %s was opened from %d to %d, with leader epochs from %d on", nodeName(c.g.ch.r.node), e.LogStart, e.LEO, e.First)
}

// bares takes a log that was opened: it may know no epochs below the first that it knows, as a
// power loss took its file of epochs, about whose sync the disk had lied. Recovery names the epochs
// of what it reads again (LogSegment.recover), at least of the whole active segment
// (LogLoader.recoverLog begins with the segment of the recovery point). What is lost stays lost
// when the log is opened again. A file that was written when the disk was honest is not lost.
func (r *replica) bares(e *event.Event) {
	if first := kafka.Offset(e.First); r.bare && (!e.Flag || first <= e.Base) {
		r.bared = max(r.bared, first)
	}
	r.bare = false
}

// deletes reports whether retention takes records within hours.
func (p *partition) deletes() bool {
	limit := p.topic.Retention
	return limit != nil && (limit.Bytes >= 0 || limit.Ms >= 0 && kafka.Nanos(limit.Ms)*kafka.Millisecond < 24*kafka.Hour)
}
