package invariant

import (
	"cmp"

	"github.com/simkafka/simkafka/model/event"
)

func recoveryKeepsPrefix() rule {
	return rule{
		Info: Info{
			Name:  "recovery-keeps-prefix",
			Rules: "INV-11 I-29",
			Words: "A log that is opened again is a prefix, in whole batches, of what was appended: all of it after a clean stop, or after a kill of a leader; " +
				"after a power loss at least what an earlier clean stop or power loss had left.",
			When: "at each opening of a log",
			Broken: "a batch or a truncation under way when the process died may be there or not, without any event that tells of it; " +
				"a follower that was about to append what its leader's cleaner has left may have begun the segment for it and no more; " +
				"a power loss, or a failed sync that the file system answers by taking back what was not written (btrfs), may take the end of a segment, or all of it, and leave the next one, which recovery takes for a log without those offsets; " +
				"what a cleaner has written anew on a disk that lies about syncs may be gone, and what a clean stop should have synced there; a disk was wiped",
		},
		kinds: []event.Kind{event.OffsetsMissing, event.ReplicaLoaded, event.BecameLeader, event.BecameFollower},
		build: func(f *findings) checker { return &recovery{f} },
	}
}

type recovery struct{ *findings }

func (c *recovery) observe(e *event.Event) {
	if e.Kind == event.OffsetsMissing {
		c.missing(e)
		return
	}
	l := &c.g.ch.load
	if !l.happened {
		return
	}
	c.checked++
	p, r := c.g.ch.p, c.g.ch.r
	switch {
	case l.torn:
		c.violate(p, "the log of %s was opened with end %d, inside a batch", nodeName(r.node), l.after)
	case l.stop.losesUnsynced() && l.after < l.durable:
		c.violate(p, "the log of %s was opened with end %d after %s; up to %d it had been on the medium", nodeName(r.node), l.after, l.stop.loss(), l.durable)
	case l.wasLead && l.beyond():
		c.violate(p, "the log of %s, which led, was opened with end %d after a failed sync of the segment from %d on", nodeName(r.node), l.after, l.kept)
	case l.stop == exited && l.clean && l.after != l.before:
		c.violate(p, "the log of %s was opened with end %d after a clean stop; it had ended at %d", nodeName(r.node), l.after, l.before)
	case (l.stop == killed || l.stop == exited) && l.wasLead && l.after < l.before:
		c.violate(p, "the log of %s, which led, was opened with end %d after its process died; it had ended at %d and the page cache was kept",
			nodeName(r.node), l.after, l.before)
	case l.implicit && l.stop != powerLost && l.before > 0:
		c.violate(p, "the log of %s, which had ended at %d, was gone after its process died", nodeName(r.node), l.before)
	case l.stop == running && !l.implicit && l.after > l.before:
		c.violate(p, "the log of %s was opened with end %d; nothing was appended beyond %d", nodeName(r.node), l.after, l.before)
	}
}

// missing judges offsets that recovery did not find: a power loss or failed sync took them, this
// time or earlier.
func (c *recovery) missing(e *event.Event) {
	p, r := c.g.ch.p, c.g.ch.r
	from := notCleaned(r, e.Offset, e.Last+1)
	if from > e.Last {
		return
	}
	c.checked++
	i := p.hole(r.node, from, e.Last+1)
	if r.stop == reverted && i == nil && !r.mayLose(from) {
		c.violate(p, "the log of %s was opened without offsets %d to %d; the failed sync was that of the segment from %d on", nodeName(r.node), from, e.Last, r.unwritten)
		return
	}
	if !r.stop.losesUnsynced() && i == nil {
		c.violate(p, "the log of %s was opened without offsets %d to %d; no power was lost", nodeName(r.node), from, e.Last)
		return
	}
	c.suspend(p, nodeName(r.node)+" lost, in "+cmp.Or(i, &incident{stop: r.stop}).stop.loss()+", the end of a segment but not the one behind it, and recovery does not look for that")
}
