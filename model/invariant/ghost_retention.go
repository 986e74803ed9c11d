package invariant

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

// Retention is how long a topic keeps its records (retention.ms, retention.bytes); -1
// is without limit.
type Retention struct{ Ms, Bytes int64 }

// stretch is a segment of a replica's log, as far as events tell.
type stretch struct {
	base kafka.Offset
	size int64 // bytes, -1 unknown
	// began is when it became the active one: no record of the one before is newer.
	began kafka.Nanos
}

// files are the segments of a replica's log, oldest first. None is listed while
// nobody knows where they begin, as after a power loss.
type files struct {
	list []stretch
	// partial: older ones may be there.
	partial bool
}

// endOf is where the segment ends that begins at base: where the next one begins, Forever if it is the last one
// or that is not known.
func (f *files) endOf(base kafka.Offset) kafka.Offset {
	if !f.partial {
		for i := range f.list {
			if s := &f.list[i]; s.base > base {
				return s.base
			}
		}
	}
	return kafka.Offset(kafka.Forever)
}

// total is the bytes of all; known is false if one of them, or its size, is not known.
func (f *files) total() (size int64, known bool) {
	for _, s := range f.list {
		if s.size < 0 {
			return 0, false
		}
		size += s.size
	}
	return size, !f.partial && len(f.list) > 0
}

// gone is a segment that retention took, with what was left.
type gone struct {
	known bool         // the oldest one, and it was listed
	upper kafka.Offset // where the next one begins
	rest  int64        // bytes of those after it; -1 unknown
}

// segmentEvent takes what an event says of a replica's segments.
func (g *ghost) segmentEvent(r *replica, e *event.Event) {
	f := &r.files
	switch e.Kind {
	case event.ReplicaLoaded:
		g.ch.active = -1
		if n := len(f.list); n > 0 {
			g.ch.active = f.list[n-1].size
		}
		f.loaded(e, &g.ch.load, r.stopAt)
		r.loadedAt, r.due = e.Time, 0
	case event.BatchAppended:
		if n := len(f.list); n > 0 && f.list[n-1].size >= 0 {
			f.list[n-1].size += int64(e.Size)
		}
	case event.SegmentRolled:
		f.rolled(e)
	case event.SegmentDeleted:
		g.ch.gone = f.deleted(e.Base)
		r.due = 0
	case event.Truncated:
		f.truncated(e)
		r.due = 0
	}
}

// loaded: a process finds the segments that the last one left, but for those that a
// power loss took or brought back. Appends under way when it died may be there, and the
// segment that such an append had begun.
func (f *files) loaded(e *event.Event, l *loadResult, died kafka.Nanos) {
	n := len(f.list)
	switch {
	case e.LEO == 0:
		*f = files{list: []stretch{{base: 0, began: e.Time}}}
	case l.stop.losesUnsynced():
		*f = files{partial: true}
	case e.Flag && n > 0:
		f.list[n-1].size = -1
		if e.Base >= l.before && e.Base > f.list[n-1].base {
			f.list = append(f.list, stretch{base: e.Base, size: -1, began: died})
		}
	}
}

func (f *files) rolled(e *event.Event) {
	n := len(f.list)
	if n > 0 && f.list[n-1].base == e.Base {
		return // an empty one was replaced
	}
	f.partial = f.partial || n == 0
	f.list = append(f.list, stretch{base: e.Base, began: e.Time})
}

func (f *files) truncated(e *event.Event) {
	n := len(f.list)
	for n > 0 && f.list[n-1].base > e.Offset {
		n--
	}
	f.list = f.list[:n]
	switch {
	case e.Text == fullTruncation:
		*f = files{list: []stretch{{base: e.Offset, began: e.Time}}}
	case n > 0:
		if last := &f.list[n-1]; last.base == e.Offset {
			last.size = 0
		} else {
			last.size = -1
		}
	}
}

// fullTruncation is the rule of a truncation that empties the log.
const fullTruncation = "full"

// deleted takes a segment out, with whatever older ones are listed.
func (f *files) deleted(base kafka.Offset) gone {
	x := gone{rest: -1, upper: kafka.NoOffset}
	i := slices.IndexFunc(f.list, func(s stretch) bool { return s.base == base })
	if i < 0 {
		return x
	}
	x.known = i == 0 && !f.partial
	if i+1 < len(f.list) {
		x.upper = f.list[i+1].base
	}
	if size, known := f.total(); known && i == 0 {
		x.rest = size - f.list[0].size
	}
	f.list = slices.Delete(f.list, 0, i+1)
	return x
}

// overdue follows since when the oldest segment of a replica must go by size.
func (r *replica) overdue(limit int64, now kafka.Nanos) {
	size, known := r.files.total()
	if !known || len(r.files.list) < 2 || size-r.files.list[0].size < limit || r.hw < r.files.list[1].base {
		r.due = 0
		return
	}
	if r.due == 0 {
		r.due = now
	}
}

// startRaised follows the log starts: of the partition the highest, the highest that a
// leader had, and that of the leader in office.
func (p *partition) startRaised(r *replica) {
	p.start = max(p.start, r.logStart)
	if r.role == leads {
		p.leaderStart = max(p.leaderStart, r.logStart)
	}
	if p.inOffice(r) {
		p.deleted = r.logStart
		p.everDeleted = max(p.everDeleted, p.deleted)
		p.raises = p.raises.and(r.raises, r.logStart)
	}
	p.prune()
}

// emptied: r's log begins and ends at start, because what was below is deleted. It
// counts as the committed one, of which nobody needs that part any more.
func (p *partition) emptied(r *replica, start kafka.Offset) {
	r.floor = start
	if p.committed.end >= start {
		r.log = p.committed.at(start)
		r.log.end = start
		_, r.next, _ = r.log.b.find(start)
	}
}

// prune forgets single batches that no replica can be read for any more. A chunk that is
// not full may grow as long as a log can end with it.
func (p *partition) prune() {
	if len(p.chunks) == 0 {
		return
	}
	low := p.start
	for _, r := range p.replicas {
		low = min(low, r.logStart)
	}
	n := 0
	for n < len(p.chunks) {
		ref := p.chunks[n]
		c := &ref.b.chunks[ref.n]
		if c.end > low || c.end == low && len(c.entries) < chunkSize {
			break
		}
		c.forget()
		n++
	}
	p.chunks = slices.Delete(p.chunks, 0, n)
}

// mark is a place in a sender's acknowledgements: its highest number so far, and the
// offset of that record.
type mark struct {
	top    int64
	offset kafka.Offset
}

// markEvery is after how many acknowledgements a mark is made.
const markEvery = 64

// markAck notes the sender's progress.
func (s *sender) markAck() {
	if s.batches++; s.batches%markEvery == 0 {
		s.marks = append(s.marks, mark{s.lastN, s.last})
	}
}

// expired reports whether an acknowledged record was deleted, since it was sent, with everything
// below the log start of a leader in office, today's or an earlier one's, and up to which number
// the answer holds as well. Of an acknowledgement that is forgotten the place is known to
// markEvery batches; a record that may have been below the start counts as deleted.
func (p *partition) expired(x *sender, a *ack, n int64) (last int64, expired bool) {
	if a != nil {
		at, gone := p.raises.last(a.last())
		return n + int64(a.count) - 1, gone && at >= a.created
	}
	i, _ := slices.BinarySearchFunc(x.marks, p.everDeleted, func(m mark, o kafka.Offset) int { return cmp.Compare(m.offset, o) })
	last = math.MaxInt64 - 1
	if i < len(x.marks) { // the first mark at the start or above it
		last = x.marks[i].top
	}
	return last, p.everDeleted > 0 && n <= last
}

// newest is when the last of the acknowledged records at [from, to) that r must still
// have had was sent; found is false if no such acknowledgement is remembered. Where r's
// log is not the committed one, others had these offsets acknowledged.
func (p *partition) newest(r *replica, from, to kafka.Offset) (created kafka.Nanos, found bool) {
	for i := range p.acks.ring {
		a := &p.acks.ring[i]
		if a.base >= from && a.base < to && (!found || a.created > created) && p.stays(r, a) && r.agrees(p.committed) > a.base && p.holds(r, a) {
			created, found = a.created, true
		}
	}
	return created, found
}

// holds: as far as is remembered, a leader put the acknowledged batch into no other log
// than r's. Another leader of the same time may have acknowledged the offsets, with acks=1.
func (p *partition) holds(r *replica, a *ack) bool {
	for _, b := range p.branches {
		if b.blank || a.base < b.start || a.base >= b.end {
			continue
		}
		e, _, how := b.find(a.base)
		if how == absent || how == found && (e.base != a.base || e.next() != a.last()+1) {
			continue // there is another batch
		}
		if meet(position{b, a.last() + 1}, r.log).end <= a.last() {
			return false
		}
	}
	return true
}

// stays reports whether r's cleaner must have left a record of an acknowledged batch.
func (p *partition) stays(r *replica, a *ack) (stays bool) {
	if p.keys == nil || a.base >= r.clean.bound {
		return true
	}
	p.committed.each(a.base, a.last()+1, func(x *rec) {
		how, _ := p.absent(x, &r.clean, false)
		stays = stays || how == unexplained
	})
	return stays
}

// clockFault recognises a fault that moves a clock.
func clockFault(text string) bool { return strings.Contains(text, "clock_") }
