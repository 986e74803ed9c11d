package measure

import (
	"cmp"
	"slices"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/outcome"
)

// owned is a partition in a group: who owns it, and which of its records were
// processed.
type owned struct {
	out    outcome.GroupPartition
	owners int         // running clients that own it
	last   string      // client that owned it last
	since  kafka.Nanos // of no owner or of several; -1 = neither
	closed bool
	gone   bool // its topic is deleted, or is to be

	start   kafka.Offset // where the group began; -1 = unknown
	covered []stretch    // offsets that were processed, in order
	again   bool         // a topic of the name was deleted before
	earlier int64        // offsets skipped in deleted topics of the name
	next    []position   // of the clients that read it
}

// stretch is [from, to) of offsets.
type stretch struct{ from, to kafka.Offset }

// position is where a client's next record of the partition is expected.
type position struct {
	of *client
	at kafka.Offset
}

// portion is records that a client was given and has not processed: [from, last] of a
// partition, in which offsets without a record may be; left are the records.
type portion struct {
	p          *owned
	from, last kafka.Offset
	left       int32
}

func (x *group) part(tp kafka.TopicPartition) *owned {
	if p := x.index.Get(tp); p != nil {
		return p
	}
	p := &owned{out: outcome.GroupPartition{TP: tp, Committed: kafka.NoOffset}, since: -1, start: kafka.NoOffset}
	x.index.Put(tp, p)
	x.parts = append(x.parts, p)
	return p
}

// offset takes what becomes of a committed offset.
func (x *group) offset(e *event.Event) {
	p := x.part(e.TP)
	switch e.Kind {
	case event.OffsetRemoved:
		p.out.Committed = kafka.NoOffset
		if e.Text == event.RemovedExpired {
			x.out.Expired++
		}
		return
	case event.OffsetCommitted:
		if e.Offset < e.Base {
			x.out.Regressions++
		}
	}
	p.out.Committed = e.Offset
}

func (c *client) owning(e *event.Event) {
	p := c.of.part(e.TP)
	if e.Kind != event.PartitionAssigned {
		c.drop(p, e.Time)
		return
	}
	p.forget(c)
	if slices.Contains(c.owns, p) {
		return
	}
	c.span(e.Time, e.Generation)
	c.owns = append(c.owns, p)
	if p.last != c.name && p.last != "" {
		if r := c.of.lastBefore(e.Time); r != nil && !p.closed {
			r.Moved++
		}
	}
	p.last, p.out.Owner = c.name, c.name
	p.count(1, e.Time)
}

func (c *client) drop(p *owned, at kafka.Nanos) {
	i := slices.Index(c.owns, p)
	if i < 0 {
		return
	}
	c.span(at, c.last.Generation)
	c.owns = slices.Delete(c.owns, i, i+1)
	if c.up {
		p.count(-1, at)
	}
	if p.out.Owner == c.name {
		p.out.Owner = ""
	}
	p.forget(c)
}

// span ends the open stretch of ownership, if it has lasted, and begins another one.
func (c *client) span(at kafka.Nanos, generation int32) {
	if at > c.last.From && len(c.owns) > 0 && c.last.To < 0 {
		s := outcome.OwnedSpan{Interval: outcome.Interval{From: c.last.From, To: at}, Generation: c.last.Generation}
		for _, p := range c.owns {
			s.Partitions = append(s.Partitions, p.out.TP)
		}
		slices.SortFunc(s.Partitions, kafka.TopicPartition.Compare)
		c.out.Owned = append(c.out.Owned, s)
	}
	c.last.From, c.last.Generation = at, generation
}

// count changes the number of owners. The first one begins the measured time.
func (p *owned) count(by int, at kafka.Nanos) {
	was := p.owners
	p.owners += by
	if p.closed {
		return
	}
	p.turned(was, at)
	p.since = -1
	if p.owners != 1 {
		p.since = at
	}
}

// turned ends a stretch with no owner or several.
func (p *owned) turned(owners int, at kafka.Nanos) {
	if p.since < 0 || at <= p.since {
		return
	}
	list := &p.out.Unowned
	if owners > 1 {
		list = &p.out.Overlaps
	}
	if n := len(*list); n > 0 && (*list)[n-1].To == p.since {
		(*list)[n-1].To = at // two became three: one overlap
		return
	}
	*list = append(*list, outcome.Interval{From: p.since, To: at})
}

func (p *owned) close(at kafka.Nanos) {
	if p.closed {
		return
	}
	p.turned(p.owners, at)
	p.closed = true
}

// begin is told where a client begins to read: the first one is where the group does.
func (p *owned) begin(at kafka.Offset) {
	if p.start == kafka.NoOffset {
		p.start = at
	}
}

// inherit is told a committed offset that a client fetched. In a topic that was created again,
// where no client has begun to read, it is one of the deleted topic: the group skips what is
// below it.
func (p *owned) inherit(at kafka.Offset) {
	if p.again {
		at = 0
	}
	p.begin(at)
}

// anew begins the account of a topic that was created again. As of any topic, the measured
// time begins with the first owner.
func (p *owned) anew(at kafka.Nanos) {
	p.earlier += p.gaps()
	p.start, p.covered, p.next = kafka.NoOffset, nil, nil
	p.gone, p.closed, p.again, p.since = false, false, true, -1
	if p.owners > 1 {
		p.since = at
	}
}

// forget: where the client goes on is not where it was.
func (p *owned) forget(c *client) {
	p.next = slices.DeleteFunc(p.next, func(x position) bool { return x.of == c })
}

// delivered takes records that a client was given.
func (g *groups) delivered(e *event.Event) {
	c := g.clients[e.Actor]
	if c == nil {
		return
	}
	p := c.of.part(e.TP)
	p.begin(e.Base)
	w := portion{p: p, from: e.Base, last: e.Last, left: e.Count}
	i := slices.IndexFunc(p.next, func(x position) bool { return x.of == c })
	if i < 0 {
		p.next = append(p.next, position{of: c})
		i = len(p.next) - 1
	} else if p.next[i].at < e.Base {
		w.from = p.next[i].at // there is no record between
	}
	p.next[i].at = e.Last + 1
	c.work = append(c.work, w)
}

// processed takes records that the application is done with. They are of the oldest
// portion that has them; those before it were dropped.
func (c *client) processed(e *event.Event) {
	p := c.of.part(e.TP)
	i := slices.IndexFunc(c.work, func(w portion) bool { return w.p == p && w.from <= e.Base && e.Last <= w.last })
	if i < 0 {
		return
	}
	w := &c.work[i]
	w.left -= e.Count
	to := e.Last + 1
	if w.left <= 0 {
		to = w.last + 1
	}
	p.cover(w.from, to, int64(e.Count))
	w.from = to
	c.work = c.work[i:]
	if c.work[0].left <= 0 {
		c.work = c.work[1:]
	}
}

// cover adds processed offsets, among which n are records.
func (p *owned) cover(from, to kafka.Offset, n int64) {
	i, _ := slices.BinarySearchFunc(p.covered, from, func(s stretch, at kafka.Offset) int { return int(s.to - at) })
	fresh := int64(to - from)
	j := i
	for ; j < len(p.covered) && p.covered[j].from <= to; j++ {
		s := p.covered[j]
		fresh -= int64(max(0, min(s.to, to)-max(s.from, from)))
		from, to = min(from, s.from), max(to, s.to)
	}
	p.covered = slices.Replace(p.covered, i, j, stretch{from, to})
	fresh = min(fresh, n)
	p.out.Processed += fresh
	p.out.Duplicates += n - fresh
}

// settle counts the offsets that the group has behind it and nobody processed.
func (p *owned) settle() { p.out.Skipped = p.earlier + p.gaps() }

func (p *owned) gaps() (n int64) {
	end := p.out.Committed
	if n := len(p.covered); n > 0 {
		end = max(end, p.covered[n-1].to)
	}
	at := p.start
	if at == kafka.NoOffset {
		return 0
	}
	for _, s := range p.covered {
		n += int64(max(0, s.from-at))
		at = max(at, s.to)
	}
	return n + int64(max(0, end-at))
}

// sample takes how far every group is behind.
func (g *groups) sample(at kafka.Nanos, parts *partitions) {
	for _, x := range g.list {
		pt := outcome.GroupLagPoint{At: at}
		for _, p := range x.parts {
			log := parts.index.Get(p.out.TP)
			if log == nil || p.start == kafka.NoOffset || p.gone {
				continue
			}
			done := p.start
			if n := len(p.covered); n > 0 {
				done = p.covered[n-1].to
			}
			pt.Committed += int64(max(0, log.out.HW-max(p.out.Committed, p.start)))
			pt.Unprocessed += int64(max(0, log.out.HW-done))
		}
		x.lag = append(x.lag, pt)
	}
}

func (g *groups) lags() (out []outcome.GroupLag) {
	for _, x := range g.list {
		out = append(out, outcome.GroupLag{Group: x.id, Points: x.lag})
	}
	slices.SortFunc(out, func(a, b outcome.GroupLag) int { return cmp.Compare(a.Group, b.Group) })
	return out
}
