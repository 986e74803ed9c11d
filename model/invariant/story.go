package invariant

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

const (
	// keptRare bounds the remembered elections, ISR changes, truncations, crashes and the
	// like of the whole cluster, keptOften the appends, acknowledgements and the like of
	// a partition. toldRare of the former are told of a partition.
	keptRare  = 1024
	keptOften = 8
	toldRare  = 20
)

// ring keeps the last events.
type ring struct {
	events []event.Event
	next   int
}

func (r *ring) keep(e *event.Event, size int) {
	if len(r.events) < size {
		r.events = append(r.events, *e)
		r.events[len(r.events)-1].Batch = nil
		return
	}
	r.events[r.next] = *e
	r.events[r.next].Batch = nil
	if r.next++; r.next == size {
		r.next = 0
	}
}

// frequent are the kinds of which every record makes some.
var frequent = [event.NumKinds]bool{
	event.BatchAppended: true, event.HighWatermark: true, event.ProduceAnswered: true, event.BatchSent: true,
	event.RecordAcked: true, event.RecordDelivered: true, event.OffsetCommitted: true, event.Polled: true,
	event.RecordProcessed: true, event.CommitSent: true, event.CommitAnswered: true,
}

// untold are left out of stories: other events say it as well.
var untold = [event.NumKinds]bool{
	event.LEOPublished: true, event.MetadataSeen: true, event.SegmentRolled: true, event.Probe: true, event.ControlExecuted: true,
	event.ControlWrite: true, event.OffsetAnswered: true, event.OffsetLoaded: true, event.AssignmentStored: true,
}

// remember keeps an event for stories.
func (g *ghost) remember(e *event.Event) {
	switch {
	case untold[e.Kind]:
	case !frequent[e.Kind]:
		g.rare.keep(e, keptRare)
	case g.ch.p != nil:
		g.ch.p.often.keep(e, keptOften)
	}
}

// recent lists the remembered events of a partition and of the whole cluster, in
// order.
func (g *ghost) recent(p *partition) []event.Event {
	var all []event.Event
	for i := len(g.rare.events) - 1; i >= 0 && len(all) < toldRare; i-- {
		e := &g.rare.events[(g.rare.next+i)%len(g.rare.events)]
		if e.TP.Topic == "" || e.TP == p.tp {
			all = append(all, *e)
		}
	}
	slices.Reverse(all)
	all = append(all, p.often.events[p.often.next:]...)
	all = append(all, p.often.events[:p.often.next]...)
	slices.SortStableFunc(all, inOrder)
	return all
}

func inOrder(a, b event.Event) int {
	return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.Seq, b.Seq))
}

// facts describes a partition for a violation.
func (p *partition) facts() []string {
	f := []string{fmt.Sprintf("committed state: leader %s, epoch %d, in-sync %v of %v, min.insync.replicas %d",
		nodeName(p.auth.leader), p.auth.epoch, p.auth.isr, p.assignment, p.topic.MinISR),
		fmt.Sprintf("committed up to offset %d, in %s", p.committed.end, p.committed)}
	for _, r := range p.replicas {
		f = append(f, p.replicaFact(r))
	}
	from := max(0, len(p.incidents)-5)
	for _, i := range p.incidents[from:] {
		f = append(f, fmt.Sprintf("offsets %d to %d: %s", i.from, i.to-1, i))
	}
	return f
}

func (p *partition) replicaFact(r *replica) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: ", kafka.BrokerHost(r.node))
	switch {
	case r.role == leads:
		fmt.Fprintf(&b, "leader of epoch %d, ", r.epoch)
	case r.role == follows:
		fmt.Fprintf(&b, "follower in epoch %d, ", r.epoch)
	case r.stop != running:
		b.WriteString("process down or starting, ")
	}
	fmt.Fprintf(&b, "log %d to %d in %s, high watermark %d", r.logStart, r.reach(), r.log, r.hw)
	if at := r.agrees(p.committed); at < p.committed.end {
		fmt.Fprintf(&b, "; has what was committed only up to %d", at)
	}
	if r.blankEnd > r.log.end {
		fmt.Fprintf(&b, "; unknown from %d on", r.log.end)
	}
	return b.String()
}

// String lists the last epochs of a log with the offsets at which they begin, newest
// first.
func (p position) String() string {
	var parts []string
	for b := p.b; b.parent != nil; b = b.parent {
		if len(parts) == 4 {
			parts = append(parts, "...")
			break
		}
		word := fmt.Sprintf("epoch %d from %d", b.epoch, b.start)
		if b.blank {
			word = fmt.Sprintf("unknown from %d", b.start)
		}
		parts = append(parts, word)
	}
	if parts == nil {
		return "no epoch"
	}
	return strings.Join(parts, ", ")
}

func nodeName(id kafka.NodeID) string {
	if id == kafka.NoNode {
		return "none"
	}
	return kafka.BrokerHost(id)
}
