package invariant

import (
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

// copies reads the records of an appended batch. A follower's log may lack what its
// leader's lacks.
func (p *partition) copies(r *replica, e *event.Event) (read bool) {
	if l := p.known(r.leader); !e.Flag && l != nil {
		r.clean.copied(l.clean)
	}
	return p.keys.decode(e.Batch, 0)
}

// thinned reports whether an appended batch, e, is one of b's, have, as a cleaner may
// rewrite it: fewer records, offsets and epoch as they were.
func (p *partition) thinned(r *replica, b *branch, have, e entry) bool {
	if p.keys == nil || e.base >= r.clean.bound || have.base != e.base || have.count != e.count {
		return false
	}
	_, differs := p.keys.differs(position{b, e.next()})
	return !differs
}

// cleaned follows the cleanings of a replica.
func (g *ghost) cleaned(p *partition, r *replica, e *event.Event) {
	g.ch.r = r
	r.files.partial = true // segments become one
	c, n := &r.clean, g.node(r.node)
	if len(n.lies) > 0 || e.Kind != event.CleaningBegan && n.honest > c.last { // what is written anew may not be on the medium
		r.durable = min(r.durable, r.logStart)
	}
	if e.Kind != event.CleaningBegan {
		r.sparse = true
		return
	}
	c.base, c.end, c.last = e.Base, e.Offset, e.Time
	if e.Offset >= c.bound { // else a log that it copied was cleaned further
		c.bound, c.own = e.Offset, r.log.at(e.Offset)
	}
	if p.keys == nil {
		return
	}
	if k := p.keys; len(k.passes) == 0 || k.passes[len(k.passes)-1].end < e.Offset {
		k.passes = append(k.passes, pass{e.Offset, e.Time})
	}
}

// absence is what is said of a record that a reader did not get.
type absence uint8

const (
	replaced    absence = iota // a newer one of its key stands behind it
	expiredRec                 // a tombstone whose time had passed
	mistimed                   // a tombstone whose time is over by a clock that was moved
	bereft                     // the newer one of its key, for which a cleaner took it, was lost for a reason
	forgiven                   // it cannot be judged, for a reason
	unexplained                // nothing explains it
)

// absent judges a record of the committed log that a log which was cleaned so lacks. What
// replaced it may be known to that log only: a leader that was deposed and does not know
// it goes on to commit and to clean.
func (p *partition) absent(r *rec, c *cleaning, clockMoved bool) (absence, string) {
	k := p.keys
	switch {
	case r.offset >= c.bound:
		return unexplained, "it is above everything that was cleaned"
	case r.key == 0 || k.newer(p.committed, r, c.bound):
		return replaced, ""
	case r.tombstone && k.horizonPassed(r.offset, c, p.topic.Compact.DeleteRetention):
		return expiredRec, ""
	case r.tombstone && clockMoved:
		return mistimed, clockText
	case p.committed.blankWithin(r.offset+1, c.bound):
		return forgiven, "a batch that nobody noted may hold a newer record of the key"
	}
	for _, i := range p.incidents {
		if i.kind != bareCut && i.to > r.offset && k.newer(i.held, r, c.bound) {
			return bereft, "the newer record that replaced it is gone: " + i.String()
		}
	}
	if c.own.b != nil && k.newer(c.own, r, c.bound) {
		return replaced, ""
	}
	if r.tombstone {
		return unexplained, "it is a tombstone, kept for delete.retention.ms after the cleaning that first met it"
	}
	return unexplained, "it is the latest of its key below what was cleaned"
}

// lacking visits the records of the log x at [from, to) that are not at hand.
func (k *keyed) lacking(x position, from, to kafka.Offset, visit func(*rec)) {
	i := 0
	x.each(from, to, func(r *rec) {
		for i < len(k.now) && k.now[i].offset < r.offset {
			i++
		}
		if i == len(k.now) || k.now[i].offset != r.offset {
			visit(r)
		}
	})
}
