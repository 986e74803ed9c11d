package invariant

import (
	"slices"

	"github.com/simkafka/simkafka/model/kafka"
)

// match says how an appended batch relates to what other replicas hold.
type match uint8

const (
	extended    match = iota // the first replica to hold it
	matched                  // equal to another's, and so is all before it
	unjudged                 // beside bytes that are not known
	conflicting              // another replica holds other batches of this epoch
	diverging                // another holds the batch, but the logs differ before it
	gap                      // not at the log's end but above
	overlap                  // below the log's end
)

// append takes a noted batch into r's log and the tree. at is where the log
// differs from the other replica's, for conflicting and diverging.
func (p *partition) append(r *replica, e entry, epoch kafka.LeaderEpoch, asLeader bool) (how match, at position) {
	place := p.place(r, e.base, epoch)
	if place == overlap {
		r.rewind(e.base)
	}
	how, at = p.extend(r, e, epoch, asLeader)
	if place != matched && how < gap {
		how = max(how, place)
	}
	r.blankEnd = max(0, min(r.blankEnd, r.log.end))
	r.floor = kafka.NoOffset
	if len(p.blankTails) > 0 && !asLeader {
		p.reveal(r, e.base)
	}
	return how, at
}

// place brings r's log to base, where a batch is appended.
func (p *partition) place(r *replica, base kafka.Offset, epoch kafka.LeaderEpoch) match {
	switch {
	case base == r.log.end:
		return matched
	case base < r.log.end:
		return overlap
	case r.floor == base:
		return matched
	}
	how := matched
	if base > max(r.blankEnd, r.clean.bound) { // a follower gets what its leader's cleaner has left
		how = gap
	}
	// It was cut inside a batch, and nothing of that is left (LogSegment.truncateTo).
	if e, _, at := r.log.holding(r.log.end).find(r.log.end); at == found && e.base < r.log.end && base <= r.clean.bound {
		r.rewind(e.base)
	}
	for i := len(p.branches) - 1; i >= 0; i-- { // the unknown bytes may be those that another replica has
		b := p.branches[i]
		if b.start <= base && base <= b.end && b.epoch == epoch && (r.floor != kafka.NoOffset || r.log.end <= p.deleted || meet(r.log, position{b, base}).end == r.log.end) {
			r.log = position{b, base}.settled()
			_, r.next, _ = r.log.b.find(base)
			return how
		}
	}
	n := p.newBranch(kafka.NoLeaderEpoch, r.log, base)
	n.blank = true
	p.blanks = append(p.blanks, n)
	r.log, r.next = position{n, base}, 0
	return how
}

// extend adds a batch at the end of r's log.
func (p *partition) extend(r *replica, e entry, epoch kafka.LeaderEpoch, asLeader bool) (match, position) {
	b := r.log.b
	if b.epoch == epoch && !b.blank && r.next < b.count {
		same, ok := b.indexed(r.next)
		switch {
		case !ok:
			return p.past(r, e), position{}
		case same == e, p.thinned(r, b, same, e):
			r.advance(e)
			return matched, position{}
		}
	}
	if b.epoch == epoch && !b.blank && r.next == b.count && asLeader && b.end == e.base {
		p.push(b, e)
		r.advance(e)
		return extended, position{}
	}
	return p.search(r, e, epoch)
}

func (r *replica) advance(e entry) {
	r.log.end = e.next()
	r.next++
}

// past moves r over batches that are forgotten.
func (p *partition) past(r *replica, e entry) match {
	r.log.end = e.next()
	_, r.next, _ = r.log.b.find(r.log.end)
	return unjudged
}

// search finds the batch on another branch, or a branch that it continues, or makes
// a new one.
func (p *partition) search(r *replica, e entry, epoch kafka.LeaderEpoch) (match, position) {
	var differs, parts *branch
	for i := len(p.branches) - 1; i >= 0; i-- {
		b := p.branches[i]
		if b.blank {
			if b.start <= e.base && e.next() <= b.end && p.reaches(r, b, e.base) {
				r.log, r.next = position{b, e.next()}, 0
				return unjudged, position{}
			}
			continue
		}
		if b.epoch != epoch || e.next() <= b.start || e.base >= b.end {
			continue
		}
		got, n, how := b.find(e.base)
		switch {
		case e.base < b.start:
			differs = b
		case how == unknown:
			if p.reaches(r, b, e.base) {
				r.log = position{b, e.next()}
				_, r.next, _ = b.find(e.next())
				return unjudged, position{}
			}
			if p.partedBefore(r.log, position{b, e.base}) {
				parts = b
			}
		case how != found || got != e && !p.thinned(r, b, got, e):
			differs = b
		case p.reaches(r, b, e.base):
			r.log, r.next = position{b, e.next()}, n+1
			return matched, position{}
		default:
			parts = b
		}
	}
	if differs == nil && parts == nil {
		for i := len(p.branches) - 1; i >= 0; i-- {
			if b := p.branches[i]; b.epoch == epoch && b.end == e.base && !b.blank && p.reaches(r, b, e.base) {
				p.push(b, e)
				r.log, r.next = position{b, e.next()}, b.count
				return extended, position{}
			}
		}
	}
	return p.fork(r, e, epoch, differs, parts)
}

// reaches reports whether r's log is that of b up to base, as far as that matters: what
// the leader in office has deleted need not be equal (moot).
func (p *partition) reaches(r *replica, b *branch, base kafka.Offset) bool {
	if r.floor == base || base <= p.deleted {
		return true
	}
	x := position{b, base}
	at := meet(r.log, x).end
	return at >= base || overBlank(r.log, x, at) >= base
}

// partedBefore: two logs part for a reason, so that it does not matter whether the batch that follows in
// one of them, and is forgotten, is the other's.
func (p *partition) partedBefore(x, y position) bool {
	at := meet(x, y).end
	return x.excused(at) || y.excused(at)
}

// fork begins a branch: that of a new epoch, or a second one of an epoch that has
// the offset already.
func (p *partition) fork(r *replica, e entry, epoch kafka.LeaderEpoch, differs, parts *branch) (match, position) {
	before := r.log
	if differs == nil && parts == nil && !p.behindBlank(before, epoch) {
		differs = p.ofEpoch(epoch)
	}
	n := p.newBranch(epoch, before, e.base)
	p.push(n, e)
	r.log, r.next = position{n, e.next()}, 1
	switch {
	case parts != nil:
		n.rewritten = true
		at := meet(before, position{parts, e.base})
		n.excused = (position{parts, e.base}).excused(at.end) || before.excused(at.end)
		return diverging, at
	case differs != nil:
		n.rewritten = true
		n.excused = slices.Contains(p.reled, epoch) || p.rewriteExcused(r, differs, e.base)
		return conflicting, meet(before, position{differs, max(e.base, differs.start)})
	}
	n.excused = slices.Contains(p.reled, epoch)
	return extended, position{}
}

// behindBlank: the log x goes on with bytes that nobody noted, of an append in which its
// process ended, right behind what its epoch wrote. What the epoch's leader then writes (no
// controller saw it gone) does not contradict that, if x has all of it: each time that the
// process ends so, another branch of the epoch begins.
func (p *partition) behindBlank(x position, epoch kafka.LeaderEpoch) bool {
	if !x.b.blank || x.b.parent.blank || x.b.parent.epoch != epoch {
		return false
	}
	for _, b := range p.branches {
		if b.epoch == epoch && !b.blank && meet(x, position{b, b.end}).end != b.end {
			return false
		}
	}
	return true
}

// ofEpoch is a branch of an epoch, nil if there is none: its leader wrote one.
func (p *partition) ofEpoch(epoch kafka.LeaderEpoch) *branch {
	for _, b := range p.branches {
		if b.epoch == epoch && !b.blank {
			return b
		}
	}
	return nil
}

// rewriteExcused is A-13: a leader lost unsynced batches of its epoch in a power
// loss, and was made leader of the same epoch again.
func (p *partition) rewriteExcused(r *replica, old *branch, base kafka.Offset) bool {
	for _, i := range p.incidents {
		if i.kind == lossy && i.from <= base && i.to > base && (i.node == r.node || old.excused) && meet(i.held, position{old, old.end}).end > base {
			return true
		}
	}
	return false
}

// reveal: what r copied tells what its leader's unknown tail holds.
func (p *partition) reveal(r *replica, base kafka.Offset) {
	kept := p.blankTails[:0]
	for _, q := range p.blankTails {
		if q != r && q.role == leads && q.log.end == base && r.log.end <= q.blankEnd && meet(q.log, r.log).end == base {
			q.log, q.next = r.log, r.next
		}
		if q.blankEnd > q.log.end {
			kept = append(kept, q)
		}
	}
	p.blankTails = kept
}

func (p *partition) newBranch(epoch kafka.LeaderEpoch, on position, start kafka.Offset) *branch {
	b := &branch{parent: on.b, start: start, end: start, epoch: epoch, depth: on.b.depth + 1}
	if epoch == kafka.NoLeaderEpoch { // a blank stretch begins at the log's end
		b.start = on.end
	}
	p.branches = append(p.branches, b)
	return b
}

// chunkRef is a chunk that is kept in full.
type chunkRef struct {
	b *branch
	n int
}

// push adds a batch and keeps the number of remembered ones bounded.
func (p *partition) push(b *branch, e entry) {
	fresh := b.push(e)
	if p.keys != nil {
		p.keys.entered(b)
		return
	}
	if !fresh {
		return
	}
	p.chunks = append(p.chunks, chunkRef{b, len(b.chunks) - 1})
	if len(p.chunks) <= keptChunks {
		return
	}
	old := p.chunks[0]
	copy(p.chunks, p.chunks[1:])
	p.chunks = p.chunks[:keptChunks]
	if c := &old.b.chunks[old.n]; len(c.entries) == chunkSize {
		c.forget()
	}
}
