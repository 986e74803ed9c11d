package invariant

import (
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

// holed: recovery found that a power loss, or a failed sync, had taken offsets between two segments. Kafka
// loads such a log like any other: LogLoader.recoverLog deletes the segments behind one
// in which bytes were torn, but does not compare the end of a segment with the base of the
// next one. A log that had ended below the hole has it, too, if the power loss brought back
// segments that an earlier start had deleted: Kafka renames such files, but does not sync the
// directory then (LogSegment.changeFileSuffixes).
func (p *partition) holed(r *replica, e *event.Event) {
	from, to := notCleaned(r, e.Offset, e.Last+1), e.Last+1
	if !r.mayLose(min(from, e.Last)) {
		r.beganSegment(e)
		return
	}
	lost := func(from, to kafka.Offset) *incident {
		return &incident{kind: lossy, stop: r.stop, at: r.stopAt, node: r.node, epoch: p.auth.epoch, from: from, to: to, held: r.log.at(to), hole: true}
	}
	if from < to {
		p.happened(lost(from, to))
	}
	if e.Offset < from && e.Offset >= r.durable && len(r.gaps) < keptIncidents {
		r.gaps = append(r.gaps, skip{from: e.Offset, to: from, why: lost(e.Offset, from)})
	}
}

// gap is a loss that may have taken the record at an offset from a replica's log, if no cleaner did, and whose gap
// had not ended before since; nil if there is none.
func (r *replica) gap(o kafka.Offset, since kafka.Nanos) *incident {
	for i := range r.gaps {
		if s := &r.gaps[i]; s.from <= o && o < s.to && s.until(since) {
			return s.why
		}
	}
	return nil
}

// notCleaned is from where on no cleaner has taken what a replica's log lacks at [from, to).
func notCleaned(r *replica, from, to kafka.Offset) kafka.Offset {
	return max(from, min(to, r.clean.bound))
}

// hole is the loss that left offsets missing inside the log of a replica, if those at
// [from, to) are among them, and the log was not cut below them since; nil otherwise.
func (p *partition) hole(id kafka.NodeID, from, to kafka.Offset) *incident {
	return p.holeAfter(id, from, to, kafka.Forever)
}

// holeAfter also finds one that ended after since: what was read from the log before may
// arrive later.
func (p *partition) holeAfter(id kafka.NodeID, from, to kafka.Offset, since kafka.Nanos) *incident {
	for _, i := range p.incidents {
		if i.hole && i.node == id && i.from <= from && to <= i.to && (i.ended == 0 || i.ended > since) {
			return i
		}
	}
	if r := p.known(id); r != nil {
		for i := range r.skips {
			if s := &r.skips[i]; s.from <= from && to <= s.to && s.until(since) {
				return s.why
			}
		}
	}
	return nil
}

// cutHoles ends the holes of a replica whose log ends at to now: what comes there is new.
func (p *partition) cutHoles(r *replica, to kafka.Offset, now kafka.Nanos) {
	for _, i := range p.incidents {
		if i.hole && i.node == r.node && i.from >= to && i.ended == 0 {
			i.ended = now
		}
	}
	for _, list := range [2][]skip{r.skips, r.gaps} {
		for i := range list {
			if s := &list[i]; s.from >= to && s.ended == 0 {
				s.ended = now
			}
		}
	}
}

// skip is a hole that a follower copied from its leader: Kafka's followers take a batch at any offset that is
// not below their log end (UnifiedLog.append).
type skip struct {
	from, to kafka.Offset
	why      *incident
	ended    kafka.Nanos // when the log was cut below it; 0 = it was not
}

// until reports whether it had not ended before since.
func (s *skip) until(since kafka.Nanos) bool { return s.ended == 0 || s.ended > since }

const keptSkips = 64

// skipped: a follower appends a batch above its log end, as its leader had nothing there when
// it read that.
func (p *partition) skipped(r *replica, from, to kafka.Offset) {
	if i := p.holeAfter(r.leader, from, to, r.grown); i != nil && len(r.skips) < keptSkips {
		r.skips = append(r.skips, skip{from: from, to: to, why: i})
	}
}

// holeOf is such a loss of any replica, at any time. That a reader passed it over on another
// one is what consumer-position-moves-forward would say.
func (p *partition) holeOf(from, to kafka.Offset) *incident {
	for _, r := range p.replicas {
		if i := p.holeAfter(r.node, from, to, -1); i != nil {
			return i
		}
	}
	return nil
}
