package invariant

import (
	"fmt"
	"slices"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

// raise is a log start that rose to an offset: what lay below was deleted by then.
type raise struct {
	offset kafka.Offset
	at     kafka.Nanos
}

// raises are those of a log start that tell when an offset was below it last, oldest first.
// Invariant: times rise and offsets fall, since a raise hides older ones that were not higher.
type raises []raise

const keptRaises = 32

// with enters a raise, which may be older than the last one. Of very many the two oldest
// count as one, which deleted as much, and later.
func (l raises) with(x raise) raises {
	if x.offset <= 0 || slices.ContainsFunc(l, func(y raise) bool { return y.offset >= x.offset && y.at >= x.at }) {
		return l
	}
	l = slices.DeleteFunc(l, func(y raise) bool { return y.offset <= x.offset && y.at <= x.at })
	i := 0
	for i < len(l) && l[i].at < x.at {
		i++
	}
	l = slices.Insert(l, i, x)
	if len(l) > keptRaises {
		l[1].offset = l[0].offset
		l = slices.Delete(l, 0, 1)
	}
	return l
}

// and enters those of another log, which begins at start today.
func (l raises) and(other raises, start kafka.Offset) raises {
	for _, x := range other {
		l = l.with(raise{min(x.offset, start), x.at})
	}
	return l
}

// last is when an offset was deleted last; ok is false if it never was.
func (l raises) last(o kafka.Offset) (at kafka.Nanos, ok bool) {
	for i := len(l) - 1; i >= 0; i-- {
		if l[i].offset > o {
			return l[i].at, true
		}
	}
	return 0, false
}

// raised enters that r's log start rose. One that goes after its leader's tells of what that
// one deleted, when it did, and of nothing that it did not.
func (p *partition) raised(r *replica, e *event.Event) {
	if e.Kind == event.LogStartRaised && (e.Text == event.StartByLeader || e.Text == event.StartByTruncation) {
		if l := p.known(r.leader); l != nil {
			r.raises = r.raises.and(l.raises, e.LogStart)
		}
		return
	}
	r.raises = r.raises.with(raise{e.LogStart, e.Time})
}

// ahead is a leader whose log began above that of the one before it.
type ahead struct {
	node   kafka.NodeID
	epoch  kafka.LeaderEpoch
	at     kafka.Nanos
	raises raises // of its log start by then
}

// beginsAhead: r takes office, and its log begins above that of the last leader.
func (p *partition) beginsAhead(r *replica, e *event.Event) {
	if r.logStart > p.deleted && len(p.aheads) < keptIncidents {
		p.aheads = append(p.aheads, ahead{r.node, e.LeaderEpoch, e.Time, raises(nil).and(r.raises, r.logStart)})
	}
}

// allowedAhead: the record was written where a later leader had deleted others before.
//
// A leader that was elected without all that was committed may end below the log start of a
// replica that had it. That one comes back with an empty log, goes on from the leader's end
// (AbstractFetcherThread.fetchOffsetAndTruncate), or, if that is above by now, from its own,
// and joins the in-sync set: only log ends are compared (Partition.isFollowerInSync). What was written
// below in between it does not fetch, and nobody has it once that replica leads.
func (p *partition) allowedAhead(held []position, a *ack) string {
	if a == nil {
		return ""
	}
	for i := range p.aheads {
		x := &p.aheads[i]
		gone, ok := x.raises.last(a.last())
		if !ok || gone >= a.created || !olderThan(held, x.epoch) {
			continue
		}
		for _, c := range p.incidents {
			if (c.kind == uncleanCut || c.kind == lossyCut) && c.from <= a.last() && c.at > gone && c.at <= a.at {
				return fmt.Sprintf("%s led epoch %d from %s on with a log that began above them, where it had deleted others, after: %s",
					nodeName(x.node), x.epoch, x.at, c)
			}
		}
	}
	return ""
}
