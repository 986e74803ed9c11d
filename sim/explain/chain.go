package explain

import (
	"slices"
	"strings"

	"github.com/simkafka/simkafka/model/event"
)

// chain takes what leads to the violation, at most max facts of it. hidden counts those
// that had no room. Of the faults it has those that are needed; where that is not known,
// all.
func (h *history) chain(max int, causes []Cause) (links []Link, hidden int) {
	if h.group == "" {
		h.offset = focus(h.target.What, h.facts)
	}
	h.sent()
	g := link(h.facts, h.parents, h.told)
	struck := h.faults(causes)
	keep := g.reach(append(h.ends(), struck...))
	rank := make([]int, len(h.facts))
	quiet, last := h.quiet(), h.lasts()
	settled, came := h.settled(quiet), h.cameFrom()
	for i := range h.facts {
		switch f := &h.facts[i]; {
		case came[i] && keep[i]:
			rank[i] = rankRecord
		case !keep[i], f.Kind == event.FaultStarted && !slices.Contains(struck, i):
		case i < quiet && !h.ofRecord(f) && !atStart[f.Kind] && i != settled && (i < settled || !h.ofPartition(f)):
		case f.Kind == event.ControlExecuted && h.target.TP.Topic != "":
		case frequent[f.Kind] && !h.ofRecord(f) && f.Time != h.target.At && (f.Kind == event.BatchSent || last[key{f.Actor, f.Kind}] != i):
		default:
			rank[i] = h.rank(i)
		}
	}
	early := 0
	if h.group != "" { // what goes round and round has a beginning, too
		early = earlyShare
	}
	chosen, hidden := pick(rank, max, early)
	return g.links(chosen), hidden
}

// frequent are facts of which every record makes some.
var frequent = [event.NumKinds]bool{event.BatchSent: true, event.BatchAppended: true, event.HighWatermark: true, event.ProduceAnswered: true,
	event.RecordAcked: true, event.RecordDelivered: true, event.OffsetAnswered: true, event.ControlExecuted: true, event.RecordProcessed: true,
	event.CommitSent: true, event.CommitAnswered: true, event.OffsetCommitted: true, event.CommittedFetched: true}

// atStart are what the start of a cluster leaves in the chain: the rest of it is always
// the same.
var atStart = [event.NumKinds]bool{event.BecameLeader: true, event.ControllerElected: true, event.FaultStarted: true}

// quiet is how many facts there are before the first fault that strikes a cluster at work,
// or without one before the work itself.
func (h *history) quiet() int {
	if i := slices.IndexFunc(h.facts, func(f fact) bool { return f.Kind == event.FaultStarted && f.Time >= h.start }); i >= 0 {
		return i
	}
	return max(0, slices.IndexFunc(h.facts, func(f fact) bool { return f.Time >= h.start }))
}

// settled is the last time before quiet ends that the group had an assignment; -1 if there
// is none, or no group.
func (h *history) settled(quiet int) int {
	if h.group == "" {
		return -1
	}
	for i := quiet - 1; i >= 0; i-- {
		if f := &h.facts[i]; f.Kind == event.GroupChanged && f.State == event.GroupStable {
			return i
		}
	}
	return -1
}

// cameFrom are, of the clients to which something was delivered at the moment of the violation,
// the deliveries before: they say where each of them stood.
func (h *history) cameFrom() map[int]bool {
	before, now := make(map[seat]int), make(map[int]bool)
	if h.group != "" { // whose story has the commits instead
		return now
	}
	for i := range h.facts {
		f := &h.facts[i]
		at := seat{f.Actor, f.TP}
		if f.Kind != event.RecordDelivered {
			continue
		}
		if j, ok := before[at]; ok && f.Time == h.target.At && h.facts[j].Time < f.Time {
			now[j] = true
		}
		before[at] = i
	}
	return now
}

type key struct {
	actor string
	kind  event.Kind
}

// lasts are the last facts of each kind that each node noted.
func (h *history) lasts() map[key]int {
	last := make(map[key]int)
	for i := range h.facts {
		last[key{h.facts[i].Actor, h.facts[i].Kind}] = i
	}
	return last
}

// reach marks everything that a set of facts follows from.
func (g *graph) reach(from []int) []bool {
	seen := make([]bool, len(g.facts))
	for len(from) > 0 {
		i := from[len(from)-1]
		from = from[:len(from)-1]
		if !seen[i] {
			seen[i] = true
			from = append(from, g.after[i]...)
		}
	}
	return seen
}

// ends are the facts that the violation is made of: what was noted at its moment, the
// last of each replica and of each node that it names, and the life of its record.
func (h *history) ends() []int {
	if h.group != "" {
		return h.groupEnds()
	}
	var out []int
	last := make(map[string]int)
	for i := range h.facts {
		f := &h.facts[i]
		if f.Time == h.target.At && f.Kind != event.FaultEnded || h.ofRecord(f) {
			out = append(out, i)
		}
		if f.Actor != "" && (f.TP.Topic != "" && f.Node > 0 || h.mentions(f.Actor)) {
			last[f.Actor] = i
		}
	}
	for i := range h.facts {
		if j, ok := last[h.facts[i].Actor]; ok && j == i {
			out = append(out, i)
		}
	}
	return out
}

// faults are the facts of the needed faults.
func (h *history) faults(causes []Cause) (out []int) {
	needed := func(f *fact) bool {
		return slices.ContainsFunc(causes, func(c Cause) bool {
			if !c.Needed || c.Fault == nil {
				return false
			}
			t := c.Fault.Trigger // behind the step that it waited for, it is a nanosecond later
			return t.On != nil || t.Disk != nil || t.Every > 0 || t.At == f.Time || t.At == f.Time+1
		})
	}
	known := slices.ContainsFunc(causes, func(c Cause) bool { return c.Needed && c.Fault != nil })
	for i := range h.facts {
		if f := &h.facts[i]; f.Kind == event.FaultStarted && (!known || needed(f)) {
			out = append(out, i)
		}
	}
	return out
}

func (h *history) mentions(node string) bool {
	return slices.ContainsFunc(strings.Fields(h.target.What), func(w string) bool { return strings.Trim(w, ".,:;()") == node })
}

// ofRecord reports whether a fact is part of the life of the violated record.
func (h *history) ofRecord(f *fact) bool {
	o := h.offset
	if o < 0 {
		return false
	}
	switch f.Kind {
	case event.BatchSent:
		return f.Producer == h.sender && f.First <= h.number && h.number < f.First+int64(f.Count)
	case event.BatchAppended, event.ProduceAnswered, event.RecordAcked, event.RecordDelivered:
		return f.Base >= 0 && f.Base <= o && o <= f.Last
	case event.Truncated:
		return f.Offset <= o && o < f.LEO
	case event.HighWatermark:
		return f.HW > o
	}
	return false
}

// sent finds out whose the record is.
func (h *history) sent() {
	h.sender = -1
	for i := range h.facts {
		f := &h.facts[i]
		if (f.Kind == event.RecordAcked || f.Kind == event.RecordDelivered) && h.ofRecord(f) && f.Producer > 0 {
			h.sender, h.number = f.Producer, f.First+int64(h.offset-f.Base)
			return
		}
	}
}

// The ranks of facts: the first ones have room before the others.
const (
	rankNone     = iota // not in the chain
	rankTurn            // what the story turns on
	rankRecord          // the record's life
	rankChange          // changes of state around it
	rankRoutine         // what happens all the time
	rankRepeated        // the same again
)

// rank says how much room a fact may claim.
func (h *history) rank(i int) int {
	if h.group != "" {
		return h.groupRank(i)
	}
	f := &h.facts[i]
	switch f.Kind {
	case event.FaultStarted, event.Truncated, event.LeaderElected, event.BecameLeader, event.NodeCrashed, event.NodeStopped, event.NodePaused,
		event.Assertion, event.DirectoryOffline, event.FetcherFailed, event.CleaningFailed, event.PositionReset:
		return rankTurn
	case event.BatchAppended, event.RecordAcked, event.RecordDelivered:
		if h.ofRecord(f) {
			return rankRecord
		}
		return rankRepeated
	case event.HighWatermark, event.ProduceAnswered:
		if h.ofRecord(f) && !h.before(i) {
			return rankRecord
		}
		return rankRepeated
	case event.SessionExpired, event.ControllerElected, event.ReplicaLoaded, event.OffsetsMissing, event.IsrProposed, event.PartitionChanged, event.NodeBooted,
		event.NodeResumed, event.BecameFollower, event.ControllerResigned, event.LogStartRaised:
		return rankChange
	case event.BatchSent, event.OffsetAnswered, event.ControlExecuted, event.SegmentDeleted:
		return rankRepeated
	}
	return rankRoutine
}

// before reports whether the same node had noted the same of the record already, since
// it last took a role.
func (h *history) before(i int) bool {
	f := &h.facts[i]
	for j := i - 1; j >= 0; j-- {
		g := &h.facts[j]
		if g.Actor != f.Actor || g.TP != f.TP {
			continue
		}
		switch g.Kind {
		case event.BecameLeader, event.BecameFollower, event.Truncated, event.ReplicaLoaded:
			return false
		case f.Kind:
			if h.ofRecord(g) {
				return true
			}
		}
	}
	return false
}

// earlyShare: one in so many of those that are left of a rank is one of the first.
const earlyShare = 3

// pick chooses at most max facts: by rank, of the last rank that has some room the latest
// ones; but if early is not 0 one in so many is one of the earliest.
func pick(rank []int, max, early int) (chosen []int, hidden int) {
	for r := rankTurn; r <= rankRepeated; r++ {
		var these []int
		for i := range rank {
			if rank[i] == r {
				these = append(these, i)
			}
		}
		if room := max - len(chosen); len(these) > room {
			hidden += len(these) - room
			first := 0
			if early > 0 {
				first = room / early
			}
			these = append(these[:first:first], these[len(these)-(room-first):]...)
		}
		chosen = append(chosen, these...)
	}
	slices.Sort(chosen)
	return chosen, hidden
}

// links makes the chain of the chosen facts: each follows from the nearest chosen ones
// before it.
func (g *graph) links(chosen []int) []Link {
	at := make(map[int]int, len(chosen))
	var out []Link
	for n, i := range chosen {
		f := &g.facts[i]
		l := Link{Event: f.Event, LEO: f.leo, HW: f.hw, Epoch: f.epoch, More: f.more, Heard: f.heard}
		for _, j := range g.nearest(i, at) {
			l.After = append(l.After, at[j])
		}
		slices.Sort(l.After)
		at[i] = n
		out = append(out, l)
	}
	return out
}

// nearest are the chosen facts that can be reached from i through others.
func (g *graph) nearest(i int, chosen map[int]int) (near []int) {
	seen := map[int]bool{i: true}
	from := slices.Clone(g.after[i])
	for len(from) > 0 {
		j := from[len(from)-1]
		from = from[:len(from)-1]
		if seen[j] {
			continue
		}
		seen[j] = true
		if _, ok := chosen[j]; ok {
			near = append(near, j)
			continue
		}
		from = append(from, g.after[j]...)
	}
	return near
}
