package invariant

import (
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

func atLeastOnce() rule {
	return rule{
		Info: Info{
			Name:  "at-least-once",
			Rules: "groups VI-44",
			Words: "An application that commits behind its work commits nothing that it has not done; and in the end every record between where a group began and what it " +
				"has committed was delivered to one of its members.",
			When: "at each request to commit; at the end, for each committed offset",
			Broken: "commits before the work (at most once); an automatic commit at a close in the middle of a batch; a reset by auto.offset.reset passes records over; the log " +
				"was cut below the committed offset, or has a hole that a power loss left, or lost its beginning to retention; in a compacted log offsets without a record are no gaps",
		},
		kinds: []event.Kind{event.RecordDelivered, event.RecordProcessed, event.PositionReset, event.PartitionAssigned, event.CommitSent, event.TopicCreated},
		build: func(f *findings) checker {
			return &leastOnce{findings: f, work: map[*clientPart]*inHand{}, read: map[*group]map[kafka.TopicPartition]*readBy{}, former: map[ofGroup]kafka.Offset{}}
		},
	}
}

// leastOnce follows the work of each member and what each group was given.
type leastOnce struct {
	*findings
	work map[*clientPart]*inHand
	read map[*group]map[kafka.TopicPartition]*readBy
	// former is how far a group had come, by what it was given, reset to or had committed, in
	// the deleted topics of a name.
	former map[ofGroup]kafka.Offset
}

type ofGroup struct {
	x  *group
	tp kafka.TopicPartition
}

// inHand is what a member was given of a partition and has not done: so many records, from
// first on.
type inHand struct {
	records int64
	first   kafka.Offset
}

// readBy is what the members of a group were given of a partition, and from where on nothing
// was passed over by a reset.
type readBy struct {
	given intervals
	from  kafka.Offset
}

func (c *leastOnce) observe(e *event.Event) {
	if e.Kind == event.TopicCreated {
		c.anew(c.g.topicOf(e.TP.Topic))
		return
	}
	x, part := c.g.ch.groups.of, c.g.ch.groups.part
	if x == nil || part == nil {
		return
	}
	w := c.work[part]
	if w == nil {
		w = new(inHand)
		c.work[part] = w
	}
	switch e.Kind {
	case event.PartitionAssigned:
		*w = inHand{}
	case event.RecordDelivered:
		if w.records == 0 {
			w.first = e.Base
		}
		w.records += int64(e.Count)
		c.of(x, e.TP).given.add(int64(e.Base), int64(e.Last)+1)
	case event.RecordProcessed:
		w.records, w.first = max(0, w.records-int64(e.Count)), e.Last+1
	case event.PositionReset:
		*w = inHand{}
		if r := c.of(x, e.TP); e.Text != event.ResetCommitted {
			r.from = max(r.from, e.Base)
		}
	case event.CommitSent:
		c.sent(x, w, e)
	}
}

// anew forgets what was given of a deleted topic, except how far each group had come.
func (c *leastOnce) anew(t *topic) {
	if c.g.groups == nil {
		return
	}
	for _, grave := range t.graves {
		for n, q := range grave.parts {
			if q == nil {
				continue
			}
			for _, x := range c.g.groups.list {
				c.buried(x, kafka.TopicPartition{Topic: t.Name, Partition: int32(n)})
			}
		}
	}
}

func (c *leastOnce) buried(x *group, tp kafka.TopicPartition) {
	var end kafka.Offset
	if com := x.comsBy.Get(tp); com != nil {
		end = com.offset
	}
	if r := c.read[x][tp]; r != nil {
		end = max(end, r.from)
		if n := len(r.given); n > 0 {
			end = max(end, kafka.Offset(r.given[n-1].hi))
		}
		delete(c.read[x], tp)
	}
	if at := (ofGroup{x, tp}); end > c.former[at] {
		c.former[at] = end
	}
}

func (c *leastOnce) of(x *group, tp kafka.TopicPartition) *readBy {
	parts := c.read[x]
	if parts == nil {
		parts = map[kafka.TopicPartition]*readBy{}
		c.read[x] = parts
	}
	r := parts[tp]
	if r == nil {
		r = new(readBy)
		parts[tp] = r
	}
	return r
}

func (c *leastOnce) sent(x *group, w *inHand, e *event.Event) {
	if e.Text == event.CommitBefore {
		return
	}
	c.checked++
	switch {
	case w.records == 0 || e.Offset <= w.first:
	case e.Text == event.CommitClose:
		c.suspend(c.g.ch.p, "the application closed in the middle of a batch, and enable.auto.commit commits all of it")
	default:
		c.violateGroup(x, e.TP, "%s commits %d for %s at %s (%s) with %d records undone, from offset %d on", e.Actor, e.Offset, e.TP, e.Time, e.Text, w.records, w.first)
	}
}

// finish looks for records below a committed offset that no member was given.
func (c *leastOnce) finish(read bool) {
	if !read || c.g.groups == nil {
		return
	}
	for _, x := range c.g.groups.list {
		for _, com := range x.coms {
			r := c.read[x][com.tp]
			if !com.known || r == nil {
				continue
			}
			c.checked++
			c.gap(x, com, c.g.partition(com.tp), r)
		}
	}
}

func (c *leastOnce) gap(x *group, com *committed, p *partition, r *readBy) {
	if com.offset <= r.from || p.compacted || p.keys != nil {
		return
	}
	// Deleted records, too, are passed over by a reset.
	for _, s := range (intervals{{int64(r.from), int64(com.offset)}}).minus(r.given) {
		at := kafka.Offset(s.lo)
		if i := p.holeOf(at, kafka.Offset(s.hi)); i != nil {
			c.suspend(p, i.String())
			continue
		}
		if why := p.fellBack(at); why != "" {
			c.suspend(p, why)
			return
		}
		if at < c.former[ofGroup{x, com.tp}] {
			c.suspend(p, recreatedText)
			return
		}
		c.violateGroup(x, com.tp, "it has committed %d for %s; nobody was given offset %d", com.offset, com.tp, at)
		return
	}
}
