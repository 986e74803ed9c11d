package invariant

import (
	"cmp"
	"fmt"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

func compactionKeepsLatest() rule {
	return rule{
		Info: Info{
			Name:  "compaction-keeps-latest",
			Rules: "INV-14",
			Words: "A cleaning takes nothing at or above the high watermark, of the active segment, or younger than min.compaction.lag.ms; who reads a compacted log, as " +
				"a consumer, a follower or at the end, misses only records that were cleaned and have a newer one of the same key below what was cleaned, or tombstones " +
				"of which a cleaning stamped the horizon delete.retention.ms before another one began.",
			When: "at each cleaning; at each delivery, follower's append and batch of the final read of a compacted topic",
			Broken: "the newer record was lost in an allowed unclean election or power loss after the cleaning; a power loss took the record, unsynced, from the middle of a log; a key that was deleted shows an older value again, " +
				"because replicas clean each for itself (S-12)",
		},
		kinds: []event.Kind{event.CleaningBegan, event.LogCleaned, event.BatchAppended, event.RecordDelivered},
		build: func(f *findings) checker { return &keepsLatest{findings: f} },
	}
}

type keepsLatest struct {
	*findings
	seen map[uint64]bool // keys of records that the final read has met
}

func (c *keepsLatest) observe(e *event.Event) {
	p, r := c.g.ch.p, c.g.ch.r
	if p.keys == nil {
		return
	}
	switch e.Kind {
	case event.CleaningBegan:
		c.checked++
		c.began(p, r, e)
	case event.LogCleaned:
		c.checked++
		if k := &r.clean; e.Offset < k.base || e.Offset > k.end {
			c.violate(p, "%s cleaned its log up to offset %d, but had begun to clean from %d to %d", nodeName(r.node), e.Offset, k.base, k.end)
		}
	case event.BatchAppended:
		if !e.Flag && r.clean.bound > 0 && !c.g.ch.unread {
			c.missing(p, r, r.leader, r.log, min(c.g.ch.end, e.Base), e.Last+1, c.g.ch.grown, nodeName(r.node)+", copying its leader,", nil)
		}
	case event.RecordDelivered:
		c.delivered(p, r, e)
	}
}

// began checks what is to be cleaned (LogCleanerManager.cleanableOffsets).
func (c *keepsLatest) began(p *partition, r *replica, e *event.Event) {
	list := r.files.list
	switch {
	case e.Base > e.Offset:
		c.violate(p, "%s cleans from offset %d to %d", nodeName(r.node), e.Base, e.Offset)
	case e.Offset > r.hw:
		c.violate(p, "%s cleans up to offset %d; its high watermark is %d", nodeName(r.node), e.Offset, r.hw)
	case len(list) > 0 && e.Offset > list[len(list)-1].base:
		c.violate(p, "%s cleans up to offset %d; its active segment begins at %d", nodeName(r.node), e.Offset, list[len(list)-1].base)
	}
	lag := p.topic.Compact.MinLag
	uncleaned := *r
	uncleaned.clean = cleaning{}
	sent, found := p.newest(&uncleaned, e.Base, e.Offset)
	if lag <= 0 || !found || e.Time-sent > lag-2*kafka.Millisecond {
		return
	}
	if c.g.clockMoved {
		c.suspend(p, clockText)
		return
	}
	c.violate(p, "%s cleans from offset %d to %d; a record there was sent %s before, and min.compaction.lag.ms is %d", nodeName(r.node), e.Base, e.Offset,
		e.Time-sent, lag/kafka.Millisecond)
}

// delivered looks at what a consumer did not get between its position and the end of
// the batch.
func (c *keepsLatest) delivered(p *partition, r *replica, e *event.Event) {
	if e.Last >= p.committed.end || c.g.ch.unread {
		return
	}
	from := e.Base
	if at := p.reader(e.Actor).position; at != kafka.NoOffset {
		from = min(from, at)
	}
	c.missing(p, r, r.node, p.committed, from, e.Last+1, p.reader(e.Actor).at, e.Actor+", reading from "+nodeName(r.node)+",", nil)
}

// missing judges the records of the log x at [from, to) that are not at hand in the log of
// the replica in, which got it from another one or is read itself, after since. judged is called for each
// of them.
func (c *keepsLatest) missing(p *partition, in *replica, source kafka.NodeID, x position, from, to kafka.Offset, since kafka.Nanos, who string, judged func(r *rec, how absence, why string)) {
	c.checked++
	p.keys.lacking(x, from, to, func(r *rec) {
		how, why := p.absent(r, &in.clean, c.g.clockMoved)
		switch how {
		case forgiven, mistimed, bereft:
			c.suspend(p, why)
		case unexplained:
			if i := cmp.Or(p.holeAfter(source, r.offset, r.offset+1, since), in.gap(r.offset, since)); i != nil {
				how, why = bereft, i.String()
				c.suspend(p, why)
				break
			}
			if c.full(p) {
				c.violated++
				break
			}
			c.violate(p, "%s misses the %s at offset %d, in a log that was cleaned up to %d at most: %s", who, r, r.offset, in.clean.bound, why)
		}
		if judged != nil {
			judged(r, how, why)
		}
	})
}

// String names a record for a story.
func (r *rec) String() string {
	what := "record"
	if r.tombstone {
		what = "tombstone"
	}
	return fmt.Sprintf("%s %d of producer %d", what, r.number, r.producer)
}

// s12Text is S-12, which is in Kafka to this day.
const s12Text = "a deleted key shows an older value: replicas clean each for itself, and one that was away never got the tombstone (S-12)"

// readBack looks at what the final read does not get between its place and the end of
// the batch. What was replaced is not lost.
func (c *keepsLatest) readBack(b *readBatch) {
	p := b.p
	if p.keys == nil {
		return
	}
	if b.first {
		c.seen = map[uint64]bool{}
	}
	from := b.expected
	r := p.known(b.node)
	if r == nil {
		r = newReplica(b.node, p.root)
	}
	if b.first {
		from = r.logStart
	}
	if from < p.deleted { // retention goes on
		from = min(p.deleted, b.entry.base)
	}
	c.missing(p, r, r.node, p.committed, from, min(b.entry.next(), p.committed.end), kafka.Forever, "the final read from "+nodeName(b.node), c.judged(p))
	for i := range p.keys.now {
		c.seen[p.keys.now[i].key] = true
	}
}

func (c *keepsLatest) judged(p *partition) func(*rec, absence, string) {
	return func(r *rec, how absence, why string) {
		if how == expiredRec && c.seen[r.key] && !p.keys.newer(p.committed, r, p.committed.end) {
			c.suspend(p, s12Text)
		}
		s := p.knownSender(r.producer, r.number)
		switch {
		case s == nil:
		case how == replaced || how == expiredRec || how == mistimed || how == forgiven:
			s.replaced.add(r.number, r.number+1)
		case how == bereft:
			p.bereft = append(p.bereft, bereftRecord{s, r.number, why})
		}
	}
}

// finish looks behind the last batch of the final read.
func (c *keepsLatest) finish(read bool) {
	if !read {
		return
	}
	c.g.each(func(p *partition) {
		if p.keys == nil || !p.back.started {
			return
		}
		r := p.known(p.back.node)
		if r == nil {
			return
		}
		p.keys.now = p.keys.now[:0]
		c.seen = map[uint64]bool{}
		c.missing(p, r, r.node, p.committed, max(p.back.next, p.deleted), p.mustReach(), kafka.Forever, "the final read from "+nodeName(r.node), c.judged(p))
	})
}
