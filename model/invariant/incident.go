package invariant

import (
	"fmt"
	"slices"
	"strings"

	"github.com/simkafka/simkafka/model/kafka"
)

// incidentKind says what happened that may excuse a loss.
type incidentKind uint8

const (
	// lossy: a replica came back from a power loss without data that it had held.
	lossy incidentKind = iota
	// uncleanCut, lossyCut, bareCut: a leader took office without a part of what was
	// committed. It was elected from outside the in-sync set; or it had lost that part
	// in a power loss; or nothing excuses it.
	uncleanCut
	lossyCut
	bareCut
)

// incident is one of these.
type incident struct {
	kind  incidentKind
	at    kafka.Nanos // lossy: when the power was lost, or the process ended
	node  kafka.NodeID
	epoch kafka.LeaderEpoch
	// from is the first offset lost, to the end before: exclusive.
	from, to kafka.Offset
	// held is the log that had them.
	held position
	// cause is the lossy incident behind a lossyCut.
	cause *incident
	// led: after a lossy incident the node was elected.
	led  bool
	stop stopKind // lossy: what took them
	// hole: the log goes on behind what was lost. ended is when it was cut below that; 0 = it
	// was not.
	hole  bool
	ended kafka.Nanos
	text  string // what String said first
}

const keptIncidents = 256

// happened enters an incident; of very many the first are kept.
func (p *partition) happened(i *incident) *incident {
	if len(p.incidents) < keptIncidents {
		p.incidents = append(p.incidents, i)
	}
	return i
}

// maybeCut compares the log of a leader that takes office in epoch with what was
// committed. If it lacks a part, that part is lost from now on: the committed prefix
// is cut, and an incident tells why. It returns nil if the leader is complete.
func (g *ghost) maybeCut(p *partition, r *replica, epoch kafka.LeaderEpoch) *incident {
	at := r.agrees(p.committed)
	if at >= p.committed.end {
		return nil
	}
	if p.cutAt(at) == nil && p.mootOlder(r) {
		p.cutBack(r, at)
		return nil
	}
	i := &incident{kind: bareCut, at: g.now, node: r.node, epoch: epoch, from: at, to: p.committed.end, held: p.committed}
	switch {
	case p.auth.unclean && p.auth.epoch == epoch:
		i.kind = uncleanCut
	case r.lost != nil && r.lost.from <= at && at < r.lost.to:
		i.kind, i.cause = lossyCut, r.lost
	case p.moot(r, p.committed) && p.cutAt(at) != nil:
		o := p.cutAt(at)
		i.kind, i.cause = o.kind, o.cause
		i.text = fmt.Sprintf("%s led epoch %d from %s on with older records where a leader had deleted others, after: %s", nodeName(i.node), epoch, i.at, o)
	case p.committed.excused(at) || r.log.excused(at):
		i.kind = lossyCut
		for _, c := range p.incidents {
			if c.kind == lossy && c.from <= at && at < c.to {
				i.cause = c
			}
		}
	}
	p.cutBack(r, at)
	return p.happened(i)
}

// cutBack: what is committed ends where r, the new leader, parts from it.
func (p *partition) cutBack(r *replica, at kafka.Offset) {
	p.committed = p.committed.at(at)
	if m := meet(p.committed, r.log); m.end == at {
		p.committed = m
	}
}

// lacks reports how far the log of a member of the in-sync set reaches into x, and
// what excuses it if that is not all of it (10.2 U and P).
func (p *partition) lacks(id kafka.NodeID, x position) (at kafka.Offset, why string, lacks bool) {
	r := p.known(id)
	switch {
	case r == nil && x.end == p.root.end:
		return x.end, "", false
	case r == nil:
		return p.root.end, "", true
	case !r.loaded && r.stop.losesUnsynced():
		return x.end, "", false // nobody knows what its disk holds
	}
	at = r.agrees(x)
	if at >= x.end {
		return at, "", false
	}
	if p.moot(r, x) {
		return at, "", false
	}
	if p.cutDeleted(r, x) {
		return at, cutDeletedText, true
	}
	return at, p.excuse(r, x, at), true
}

// cutDeleted: r follows and has cut its log to its high watermark, and the leader in office
// has deleted all that it lacks now.
//
// When all of a log is deleted, its one epoch entry is moved to the end
// (LeaderEpochFileCache.truncateFromStart). A process that dies then finds the entry, but
// not the log start, which is written later; LogLoader takes entries at the end of the log
// out, and a log without epochs is cut to its high watermark
// (AbstractFetcherThread.truncateToHighWatermark), that of the checkpoint.
func (p *partition) cutDeleted(r *replica, x position) bool {
	return r.role == follows && x.end <= p.deleted && r.reach() <= r.hw && r.agrees(x) == r.reach()
}

const cutDeletedText = "a follower that had deleted all of its log died before it had written the log start; without an epoch it cut what was there again to its high watermark"

// excuse says why r may lack what x has from at on; "" is no excuse.
func (p *partition) excuse(r *replica, x position, at kafka.Offset) string {
	switch {
	case r.lost != nil && r.lost.from <= at && at < r.lost.to:
		return r.lost.String()
	case x.excused(at) || r.log.excused(at):
		return rewrittenText
	}
	if meet(x, p.committed).end == x.end {
		return ""
	}
	for _, i := range p.incidents { // x belongs to a leader that was replaced
		if (i.kind == uncleanCut || i.kind == lossyCut) && x.b.epoch < i.epoch && i.from <= at {
			return i.String()
		}
	}
	return ""
}

// moot: r reaches as far as x does, and the leader in office has deleted all that they
// could differ in: nobody can read that, and r cannot notice, since of what lies below
// its log start a leader keeps no epochs (LeaderEpochFileCache.truncateFromStart).
func (p *partition) moot(r *replica, x position) bool {
	return x.end <= p.deleted && r.reach() >= x.end
}

// mootOlder: the leader in office has deleted all that was committed, and r has other
// records there, of an older epoch than the leader knew by then: it answered its log start
// for the end of that epoch (LeaderEpochFileCache.endOffsetFor), so that r, which ended there,
// was in sync. r hears of the log start with its next response. If it leads before, all that
// is deleted may be written once more. Had r ended behind that log start with records of its own,
// it would have cut them: what it has there is of that leader.
func (p *partition) mootOlder(r *replica) bool {
	x := p.committed
	last := x.settled().b.epoch
	return r.log.end >= x.end && p.moot(r, x) && r.log.at(x.end).b.epoch < last && (r.log.end == x.end || r.log.holding(x.end).epoch >= last)
}

// cutAt is what took, with an excuse, the committed batch at an offset; nil if nothing did.
func (p *partition) cutAt(at kafka.Offset) *incident {
	for _, i := range p.incidents {
		if (i.kind == uncleanCut || i.kind == lossyCut) && i.from <= at && at < i.to {
			return i
		}
	}
	return nil
}

// rewrittenText is A-13.
const rewrittenText = "a leader lost unsynced records in a power loss and led the same epoch again, unseen by a controller (A-13)"

// String tells the incident without its partition and offsets, so that equal ones of
// several partitions read the same.
func (i *incident) String() string {
	if i.text == "" {
		i.text = i.tell()
	}
	return i.text
}

func (i *incident) tell() string {
	broker := kafka.BrokerHost(i.node)
	switch i.kind {
	case lossy:
		return fmt.Sprintf("%s lost unsynced records in %s at %s", broker, i.stop.loss(), i.at)
	case uncleanCut:
		return fmt.Sprintf("unclean election of %s in epoch %d at %s", broker, i.epoch, i.at)
	case lossyCut:
		if i.cause != nil && i.cause.node != i.node {
			return fmt.Sprintf("%s led epoch %d from %s on without records that %s", broker, i.epoch, i.at, i.cause)
		}
		return fmt.Sprintf("%s lost unsynced records in %s and led epoch %d from %s on", broker, i.lossOf(), i.epoch, i.at)
	}
	return fmt.Sprintf("%s led epoch %d from %s on although it lacked committed records", broker, i.epoch, i.at)
}

// lossOf says what took the records of a lossyCut.
func (i *incident) lossOf() string {
	if i.cause == nil {
		return powerLost.loss()
	}
	return i.cause.stop.loss()
}

// takenBy says what took the records of lossy incidents.
func takenBy(list []*incident) string {
	of := func(is bool) bool {
		return slices.ContainsFunc(list, func(i *incident) bool { return (i.stop == reverted) == is })
	}
	switch {
	case of(true) && of(false):
		return "power loss and a failed sync"
	case of(true):
		return "a failed sync"
	}
	return "power loss"
}

// losers names the nodes of several lossy incidents, each with its time.
func losers(list []*incident) string {
	var parts []string
	var nodes []kafka.NodeID
	for _, i := range list {
		if !slices.Contains(nodes, i.node) {
			nodes = append(nodes, i.node)
			parts = append(parts, fmt.Sprintf("%s (at %s)", kafka.BrokerHost(i.node), i.at))
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}
