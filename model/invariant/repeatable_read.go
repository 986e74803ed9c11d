package invariant

import (
	"slices"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

func repeatableRead() rule {
	return rule{
		Info: Info{
			Name:  "repeatable-read",
			Rules: "INV-02 I-13",
			Words: "All who read an offset, at any time and from any broker, get the same record, and only records below the high watermark; " +
				"what was read once does not vanish.",
			When:   "at each delivery and each batch of the final read; when a leader takes office",
			Broken: "an allowed unclean election, or a power loss beyond the budget, on that partition; retention; a truncation that a power loss undid",
		},
		kinds: []event.Kind{event.RecordDelivered, event.BecameLeader, event.PartitionChanged},
		build: func(f *findings) checker { return &stableRead{findings: f} },
	}
}

type stableRead struct {
	*findings
	chunk chunkRead
}

// chunkRead folds the batches of a chunk of which only the hash is left.
type chunkRead struct {
	c    *chunk
	hash uint64
	next kafka.Offset
}

func (c *stableRead) observe(e *event.Event) {
	switch e.Kind {
	case event.RecordDelivered:
		c.delivered(c.g.ch.p, c.g.ch.r, e)
	default:
		c.cut(c.g.ch.p, c.g.ch.cut)
	}
}

func (c *stableRead) delivered(p *partition, r *replica, e *event.Event) {
	c.checked++
	if e.Last >= r.topHW && e.Last >= p.committed.end {
		c.violate(p, "%s gave %s the offsets %d to %d at %s, but the high watermark there never passed %d",
			nodeName(e.Node), e.Actor, e.Base, e.Last, e.Time, r.topHW)
		return
	}
	x := p.committed
	if e.Last >= x.end {
		if x = r.log; e.Last >= x.end {
			return // the broker has cut its log since it answered
		}
	}
	got, _, how := x.holding(e.Base).find(e.Base)
	whole := got.next() == e.Last+1 || e.Flag && got.next() > e.Last // max.poll.records may cut a batch
	if how != found || got.crc == e.CRC && whole || c.thinned(p, r, x, e) {
		return
	}
	if why := c.excuse(p, x, e.Base); why != "" {
		c.suspend(p, why)
		return
	}
	c.violate(p, "%s gave %s a batch with CRC %08x at offsets %d to %d at %s; committed there is one with CRC %08x at %d to %d",
		nodeName(e.Node), e.Actor, e.CRC, e.Base, e.Last, e.Time, got.crc, got.base, got.next()-1)
}

// thinned: what was delivered is what the cleaner of the broker may have left of the
// batch.
func (c *stableRead) thinned(p *partition, r *replica, x position, e *event.Event) bool {
	if p.keys == nil || e.Base >= r.clean.bound || c.g.ch.unread {
		return false
	}
	_, differs := p.keys.differs(x)
	return !differs
}

// excuse: part of what was committed was lost on this partition with good reason, at
// or below this offset.
func (c *stableRead) excuse(p *partition, x position, o kafka.Offset) string {
	for _, i := range p.incidents {
		if (i.kind == uncleanCut || i.kind == lossyCut) && i.from <= o {
			return i.String()
		}
	}
	if x.excused(0) {
		return rewrittenText
	}
	return ""
}

func (c *stableRead) cut(p *partition, cut *incident) {
	if cut == nil || p.readEnd <= cut.from {
		return
	}
	c.checked++
	if cut.kind != bareCut {
		c.suspend(p, cut.String())
		return
	}
	c.violate(p, "offsets up to %d were delivered, but %s led from epoch %d on without those from %d on", p.readEnd-1, nodeName(cut.node),
		cut.epoch, cut.from)
}

// readBack compares the final read with what was committed.
func (c *stableRead) readBack(b *readBatch) {
	c.checked++
	p := b.p
	x := p.committed
	if b.entry.next() > x.end {
		c.past(p, b)
		return
	}
	holder := x.holding(b.entry.base)
	got, i, how := holder.find(b.entry.base)
	switch {
	case how == unknown && !holder.blank:
		c.forgotten(p, &holder.chunks[i/chunkSize], b)
	case how == found && got != b.entry && !c.thinnedBack(b, holder, got) || how == found && holder.epoch != b.epoch:
		why := c.excuse(p, x, b.entry.base)
		if why == "" {
			why = p.older(b)
		}
		if why != "" {
			c.suspend(p, why)
			return
		}
		c.violate(p, "the final read found at offset %d a batch of epoch %d with CRC %08x; committed there is one of epoch %d at %d with CRC %08x",
			b.entry.base, b.epoch, b.entry.crc, holder.epoch, got.base, got.crc)
	}
}

// older says why a replica may have, below what was committed, a batch that another leader
// wrote there before; "" if there is no reason, or nobody wrote that batch.
//
// A truncation is not synced, the file of leader epochs is (UnifiedLog.truncateTo,
// LeaderEpochFileCache): after a power loss the replica may have what it had cut, with the
// epochs of what replaced it, which hide that from its leader. And a leader whose log start
// is above answers that start for an epoch that it does not know any more
// (LeaderEpochFileCache.endOffsetFor): what a follower has below stays until its own log
// start follows, which a crash forgets (LogManager.checkpointLogStartOffsets).
func (p *partition) older(b *readBatch) string {
	wrote := func(x *branch) bool {
		got, _, how := x.find(b.entry.base)
		return x.epoch == b.epoch && how == found && got == b.entry
	}
	if !wrote(p.root) && !slices.ContainsFunc(p.branches, wrote) {
		return ""
	}
	for _, i := range p.incidents {
		if i.kind == lossy && i.node == b.node && i.from <= b.entry.base && b.entry.base < i.to {
			return i.String()
		}
	}
	if b.entry.base < p.everDeleted {
		return "a replica began below what its leader had deleted, with what another leader had written there"
	}
	return ""
}

// thinnedBack: the batch is what the cleaner of the broker may have left of the one that
// was committed.
func (c *stableRead) thinnedBack(b *readBatch, holder *branch, got entry) bool {
	r := b.p.known(b.node)
	return r != nil && b.p.thinned(r, holder, got, b.entry)
}

// past: the leader's high watermark is above what the ghost saw committed.
func (c *stableRead) past(p *partition, b *readBatch) {
	r := p.known(b.node)
	if r == nil || b.entry.next() > max(r.topHW, p.committed.end) {
		c.violate(p, "the final read got offset %d from %s, above every high watermark noted there", b.entry.base, nodeName(b.node))
	}
}

// forgotten compares a whole chunk by its hash.
func (c *stableRead) forgotten(p *partition, k *chunk, b *readBatch) {
	if c.chunk.c != k || c.chunk.next != b.entry.base {
		c.chunk = chunkRead{c: k}
		if b.entry.base != k.base {
			c.chunk.c = nil // not from its beginning
			return
		}
	}
	c.chunk.hash = mix(c.chunk.hash, b.entry)
	c.chunk.next = b.entry.next()
	if c.chunk.next != k.end || c.chunk.hash == k.hash {
		return
	}
	if why := c.excuse(p, p.committed, k.end); why != "" {
		c.suspend(p, why)
		return
	}
	c.violate(p, "the final read found at offsets %d to %d other batches than those committed there", k.base, k.end-1)
}
