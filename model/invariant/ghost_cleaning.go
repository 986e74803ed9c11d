package invariant

import (
	"slices"
	"strconv"
	"strings"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

// copiesFrom: a follower's log may lack what its leader's lacks, below base what that had lost.
func (p *partition) copiesFrom(r *replica, base kafka.Offset) {
	l := p.known(r.leader)
	if l == nil {
		return
	}
	r.clean.copied(l.clean)
	r.clean.gone.gap(r.reach(), base)
	if base <= r.log.end {
		return
	}
	for i := range l.gaps {
		if s := &l.gaps[i]; s.from < base && r.log.end < s.to && s.until(r.grown) && len(r.gaps) < keptIncidents {
			r.gaps = append(r.gaps, skip{from: s.from, to: s.to, why: s.why})
		}
	}
}

// stopsCopying: r's process ends, in the middle of an append maybe.
func (p *partition) stopsCopying(r *replica) {
	if !r.loaded {
		return // an earlier process copied last
	}
	r.source = cleaning{}
	if l := p.known(r.leader); l != nil && (r.role == follows || r.failed) {
		r.source = l.clean
	}
}

// beganSegment: a follower's log was opened without the offsets that e names. They may be those
// that a cleaner had taken from the leader's log, before the batch that the follower was about
// to append when its process ended or a write failed.
//
// Kafka is the same: UnifiedLog.maybeRoll begins the segment at the first offset of what is
// appended, not at the log's end. The file is there (LocalLog.roll) when the snapshot of the
// producers, the batch and the indexes are not yet written, and stays if that fails. A start
// takes the base of an empty last segment for the log's end (LogSegment.readNextOffset).
func (r *replica) beganSegment(e *event.Event) {
	if e.Offset == r.reach() && e.Last < r.source.bound {
		r.clean.copied(r.source)
	}
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
		c.gone.cleaned(e.Offset)
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

// hollow is a part of a log, [from, to), of which a cleaner may have left nothing. It lies
// within the log.
type hollow struct{ from, to kafka.Offset }

// cleaned: the log's own cleaner has ended at end (exclusive); each of its cleanings goes
// over all below.
func (s *hollow) cleaned(end kafka.Offset) {
	if end >= s.from {
		s.from, s.to = 0, max(s.to, end)
	}
}

// gap: a log that ended at end gets its next batch at base, as its leader's cleaner has
// left nothing between.
func (s *hollow) gap(end, base kafka.Offset) {
	if base <= end {
		return
	}
	if end > s.to {
		s.from = end
	}
	s.to = base
}

// cut: the log ends at end now.
func (s *hollow) cut(end kafka.Offset) {
	if s.to = min(s.to, end); s.to <= s.from {
		*s = hollow{}
	}
}

// nothingLeft says that a reader stays where it is since a cleaner took all records of the
// leader's log from there on, for newer ones of their keys, and the log was then truncated to
// below those, after an unclean election say.
//
// Kafka 2.6 to 3.9 is the same: a truncated log ends at the offset to which it was truncated,
// whatever stands before that (Log.truncateTo, updateLogEndOffset). The high watermark goes up to there,
// Log.read finds no batch in any segment and answers nothing, and Fetcher leaves the position
// where it is until the next record is appended. A log that was never truncated has a record
// at its end, as the active segment is not cleaned.
func (g *ghost) nothingLeft(line string, p *partition) string {
	if p == nil || p.keys == nil {
		return ""
	}
	l, from := p.incumbent(), p.placeIn(line)
	if l == nil || from == kafka.NoOffset || from < max(l.clean.gone.from, l.logStart) || from >= l.log.end || l.reach() > l.clean.gone.to || l.log.blankWithin(from, l.log.end) {
		return ""
	}
	some, all := false, true
	l.log.each(from, l.log.end, func(x *rec) {
		how, _ := p.absent(x, &l.clean, g.clockMoved)
		some, all = true, all && how != forgiven && how != unexplained && (how == expiredRec || how == mistimed || p.sweeps(x, l))
	})
	if !some || !all {
		return ""
	}
	return "the leader's cleaner took all records from there on for newer ones of their keys, which were then truncated"
}

// sweeps: a log that r's cleaner went over had a newer record of x's key: the one that it cleaned last, or one that was
// truncated since. What another replica had is no reason for it.
func (p *partition) sweeps(x *rec, r *replica) bool {
	c := &r.clean
	return x.key == 0 || c.own.b != nil && p.keys.newer(c.own, x, c.bound) ||
		slices.ContainsFunc(r.peaks[:], func(log position) bool { return log.b != nil && p.keys.newer(log, x, c.bound) })
}

// placeIn is the offset N of "at N of" the partition in a line, NoOffset without that.
func (p *partition) placeIn(line string) kafka.Offset {
	words := strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == ':' || r == ',' })
	i := slices.Index(words, p.tp.String())
	if i < 3 || words[i-1] != "of" || words[i-3] != "at" {
		return kafka.NoOffset
	}
	o, err := strconv.ParseInt(words[i-2], 10, 64)
	if err != nil {
		return kafka.NoOffset
	}
	return kafka.Offset(o)
}
