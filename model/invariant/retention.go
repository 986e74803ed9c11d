package invariant

import (
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

func retentionAsConfigured() rule {
	return rule{
		Info: Info{
			Name:  "retention-as-configured",
			Rules: "INV-13",
			Words: "A segment is deleted only if it lies below the high watermark and its topic's retention.ms or retention.bytes, or the log start, allows it, and " +
				"not much later than one check interval after it must go; a log start moves only by retention, DeleteRecords or a full truncation, and a follower's " +
				"not beyond its leaders'.",
			When: "at each deletion and each move of a log start; for what is overdue at the end",
			Broken: "age goes by the producers' timestamps, so a clock that was moved may delete early or late (S-24); what a replica has on its disk after a " +
				"power loss is not known",
		},
		kinds: []event.Kind{event.LogStartRaised, event.SegmentDeleted, event.ReplicaLoaded},
		build: func(f *findings) checker { return &retained{f} },
	}
}

type retained struct{ *findings }

const (
	clockText = "a clock was moved, and the age of records goes by timestamps (S-24)"
	// retentionSlack is for a busy scheduler and slow disk.
	retentionSlack = 30 * kafka.Second
)

func (c *retained) observe(e *event.Event) {
	p, r := c.g.ch.p, c.g.ch.r
	switch e.Kind {
	case event.ReplicaLoaded:
		l := &c.g.ch.load
		if !l.happened || l.stop == powerLost || e.LogStart <= c.g.ch.start || l.before == 0 {
			return
		}
		if c.checked++; !c.diedDeleting(p, r, e.LogStart) {
			c.violate(p, "the log of %s began at %d and was opened with log start %d", nodeName(r.node), c.g.ch.start, e.LogStart)
		}
	case event.LogStartRaised:
		c.checked++
		c.moved(p, r, e)
	case event.SegmentDeleted:
		c.checked++
		c.deleted(p, r, e)
	}
}

// diedDeleting: a killed process may have been deleting the segments below start, of which
// nobody heard, in a full truncation or if retention allowed it when it died.
func (c *retained) diedDeleting(p *partition, r *replica, start kafka.Offset) bool {
	limit := p.topic.Retention
	switch {
	case c.g.ch.load.stop != killed:
		return false
	case r.behind:
		return true
	case limit == nil || start > c.g.ch.hw:
		return false
	}
	left, known := c.g.ch.active, c.g.ch.active >= 0
	for _, s := range r.files.list[:max(0, len(r.files.list)-1)] {
		if s.base >= start {
			left, known = left+s.size, known && s.size >= 0
		}
	}
	if limit.Bytes >= 0 && (!known || left >= limit.Bytes) {
		return true
	}
	sent, found := p.newest(r, c.g.ch.start, start)
	return limit.Ms >= 0 && (!found || r.stopAt-sent > kafka.Millis(limit.Ms)-2*kafka.Millisecond)
}

func (c *retained) moved(p *partition, r *replica, e *event.Event) {
	switch e.Text {
	case event.StartByRetention, event.StartByDeletion:
		if e.Text == event.StartByDeletion && r.role != leads {
			c.violate(p, "%s, which does not lead, deleted records below %d", nodeName(r.node), e.LogStart)
		}
		if e.LogStart > r.hw {
			c.violate(p, "the log start of %s rose to %d (%s), above its high watermark %d", nodeName(r.node), e.LogStart, e.Text, r.hw)
		}
	case event.StartByLeader, event.StartByTruncation:
		// A follower that had emptied its log inside a batch of its leader's goes back to
		// where that begins (UnexpectedAppendOffsetException).
		if e.LogStart > p.leaderStart && !(e.Text == event.StartByTruncation && e.LogStart <= c.g.ch.start) {
			c.violate(p, "the log start of %s became %d (%s), but no leader ever had one above %d", nodeName(r.node), e.LogStart, e.Text, p.leaderStart)
		}
	default:
		c.violate(p, "the log start of %s became %d for no known reason", nodeName(r.node), e.LogStart)
	}
}

// The passes of retention, as brokers note them.
const (
	passStart = "log start"
	passSize  = "retention.bytes"
	passTime  = "retention.ms"
)

func (c *retained) deleted(p *partition, r *replica, e *event.Event) {
	x := c.g.ch.gone
	upper := x.upper
	if upper == kafka.NoOffset {
		upper = e.Base // at least that
	}
	if upper > r.hw {
		c.violate(p, "%s deleted the segment at %d, which reaches to %d; its high watermark is %d", nodeName(r.node), e.Base, upper, r.hw)
		return
	}
	limit := p.topic.Retention
	switch e.Text {
	case passStart:
		if upper > r.logStart {
			c.violate(p, "%s deleted the segment at %d, which reaches to %d; its log starts at %d", nodeName(r.node), e.Base, upper, r.logStart)
		}
	case passSize:
		if limit == nil || limit.Bytes >= 0 && (x.rest < 0 || x.rest >= limit.Bytes) {
			return
		}
		c.violate(p, "%s deleted the segment at %d by size and kept %d bytes; retention.bytes is %d", nodeName(r.node), e.Base, x.rest, limit.Bytes)
	case passTime:
		if limit != nil {
			c.byTime(p, r, e, upper, limit.Ms)
		}
	default:
		c.violate(p, "%s deleted the segment at %d for no known reason", nodeName(r.node), e.Base)
	}
}

// byTime: the newest record is as old as retention.ms says, by when it was sent. Clocks
// tick in ms.
func (c *retained) byTime(p *partition, r *replica, e *event.Event, upper kafka.Offset, limit int64) {
	sent, found := p.newest(r, e.Base, upper)
	if limit >= 0 && (!found || e.Time-sent > kafka.Millis(limit)-2*kafka.Millisecond) {
		return
	}
	if c.g.clockMoved && limit >= 0 {
		c.suspend(p, clockText)
		return
	}
	c.violate(p, "%s deleted the segment at %d by age; a record in it was sent %s before, and retention.ms is %d", nodeName(r.node), e.Base, e.Time-sent, limit)
}

// finish looks for segments that had to go long ago.
func (c *retained) finish(bool) {
	if c.g.setup.RetentionCheck == 0 || !c.s.complete {
		return
	}
	c.g.each(func(p *partition) {
		limit := p.topic.Retention
		if limit == nil || p.compacted {
			return
		}
		for _, r := range p.replicas {
			if r.loaded && r.stop == running && !c.g.node(r.node).down && len(r.files.list) > 1 && !r.files.partial {
				c.late(p, r, limit)
			}
		}
	})
}

func (c *retained) late(p *partition, r *replica, limit *Retention) {
	since := max(r.loadedAt+c.g.setup.TaskDelay, c.g.healed)
	wait := c.g.setup.RetentionCheck + retentionSlack
	oldest, next := r.files.list[0], r.files.list[1]
	c.checked++
	switch {
	case limit.Bytes >= 0 && r.due > 0 && c.g.now > max(since, r.due)+wait:
		c.violate(p, "%s has the segment at %d, which had to go by size (retention.bytes %d) since %s", nodeName(r.node), oldest.base, limit.Bytes, r.due)
	case limit.Ms >= 0 && next.base <= r.hw && c.g.now > max(since, next.began+kafka.Millis(limit.Ms))+wait:
		if c.g.clockMoved {
			c.suspend(p, clockText)
			return
		}
		c.violate(p, "%s has the segment at %d, without a record after %s; retention.ms is %d", nodeName(r.node), oldest.base, next.began, limit.Ms)
	}
}
