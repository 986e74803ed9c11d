package invariant

import (
	"strings"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

func consumerPositionMovesForward() rule {
	return rule{
		Info: Info{
			Name:  "consumer-position-moves-forward",
			Rules: "INV-20 I-22",
			Words: "A consumer gets every offset once and in order; its position moves otherwise only by a reset, which it reports, and which needs a position that " +
				"is really out of the log's range; the final read skips nothing either.",
			When: "at each delivery, reset and batch of the final read",
			Broken: "committed records lost in an allowed unclean election or power loss; consumers before KIP-320 may ask a leader that has been replaced, " +
				"and so may later ones that knew of no other when they began at a committed offset; " +
				"control records, compaction and transactions (not in these runs)",
		},
		kinds: []event.Kind{event.RecordDelivered, event.PositionReset},
		build: func(f *findings) checker { return &forward{f} },
	}
}

type forward struct{ *findings }

// Reasons of a consumer's first position: reset, or what was committed.
const (
	startReset     = "start"
	committedStart = "committed"
)

func (c *forward) observe(e *event.Event) {
	p := c.g.ch.p
	r := p.reader(e.Actor)
	c.checked++
	if e.Kind == event.PositionReset {
		c.reset(p, r, e)
		return
	}
	switch {
	case r.position == kafka.NoOffset && e.Base > 0 && p.readBefore(e.Actor):
		c.suspend(p, recreatedText)
	case r.position == kafka.NoOffset || e.Base == r.position:
	case e.Base < r.position:
		c.violate(p, "%s got offset %d at %s after it had got %d, without a reset", e.Actor, e.Base, e.Time, r.position-1)
	case p.compacted: // what lay between is gone
	case p.holeAfter(e.Node, r.position, e.Base, r.at) != nil:
		c.suspend(p, p.holeAfter(e.Node, r.position, e.Base, r.at).String())
	default:
		c.violate(p, "%s got offset %d at %s; it had never got %d to %d", e.Actor, e.Base, e.Time, r.position, e.Base-1)
	}
}

func (c *forward) reset(p *partition, r *reader, e *event.Event) {
	if e.Text == startReset || e.Offset < 0 {
		return
	}
	if r.position != kafka.NoOffset && e.Offset != r.position && !r.readsBack(p, e.Offset) {
		c.violate(p, "%s reports a reset from offset %d; its position was %d", e.Actor, e.Offset, r.position)
		return
	}
	why := p.fellBack(e.Offset)
	if why == "" {
		why = p.shortLeader(e.Offset)
	}
	if why == "" && (r.position == kafka.NoOffset && p.readBefore(e.Actor) || r.leaves(e.Text) && (p.committedBefore(e.Offset) || c.g.ch.groups.part.beganFormerly(e.Offset))) {
		why = recreatedText
	}
	if why == "" && c.g.misled(p, r, e) {
		why = misledText
	}
	switch {
	case why != "":
		c.suspend(p, why)
	case e.Offset > p.committed.end || p.below(e.Offset):
	case !c.g.setup.Profile.Fencing320:
		c.suspend(p, "a consumer reset its position; before KIP-320 it may have asked a leader that had been replaced")
	default:
		c.violate(p, "%s reset its position from %d to %d (%s), but %d was committed and in range", e.Actor, e.Offset, e.Base, e.Text, e.Offset)
	}
}

// leaves reports whether a consumer whose position is of a deleted topic of the name may give it
// up for a reason: what lies below it was truncated, by the epochs of both; or it was out of
// range when the consumer began there, and the log grew while it asked for the offset to reset to.
func (r *reader) leaves(reason string) bool {
	return strings.HasPrefix(reason, "truncation") || r.beyond && !r.delivered
}

// misled: the consumer began at a committed offset when it knew of no leader of the partition.
// An epoch that comes with the offset is only remembered beside another one
// (Metadata.updateLastSeenEpochIfNewer), so that it then believed a leader that had been replaced
// before what it had read was written, and does not know its epoch: it answers that, and no offset
// (LeaderEpochFileCache.endOffsetFor). Once the consumer has seen a newer leader it believes none of older ones.
func (g *ghost) misled(p *partition, r *reader, e *event.Event) bool {
	if !r.blind || r.delivered || e.Text != unknownEpoch || e.Offset <= 0 || e.Offset > p.committed.end {
		return false
	}
	seen, most := g.lastSeen(e.Actor, p.tp)
	return seen != kafka.NoLeaderEpoch && (seen == most || g.createdAgain(p.tp.Topic)) && seen < p.committed.holding(e.Offset-1).epoch && seen < p.auth.epoch
}

// unknownEpoch is the reason of a reset where a leader answered that it does not know the
// epoch of a position.
const unknownEpoch = "truncation: the leader does not know the position's epoch"

const misledText = "a consumer that knew of no leader when it began at a committed offset asked one that had been replaced"

// shortLeader says why a broker that believes to lead, perhaps in an older epoch,
// may not have what was committed up to o.
func (p *partition) shortLeader(o kafka.Offset) string {
	x := p.committed.at(o)
	for _, r := range p.replicas {
		if at := r.agrees(x); r.role == leads && at < x.end {
			return p.excuse(r, x, at)
		}
	}
	return ""
}

// below reports whether some replica's log begins above o.
func (p *partition) below(o kafka.Offset) bool {
	for _, r := range p.replicas {
		if o < r.logStart {
			return true
		}
	}
	return false
}

func (c *forward) readBack(b *readBatch) {
	c.checked++
	// Retention goes on while the log is read.
	deleted := b.expected < b.p.deleted && b.entry.base <= b.p.deleted
	if !b.first && b.entry.base > b.expected && !b.p.compacted && !deleted {
		if i := b.p.hole(b.node, b.expected, b.entry.base); i != nil {
			c.suspend(b.p, i.String())
			return
		}
		c.violate(b.p, "the final read got offset %d after %d", b.entry.base, b.expected-1)
	}
}
