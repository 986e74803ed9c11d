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
	keptRare  = 16 // of elections, ISR changes, truncations, crashes
	keptOften = 8  // of appends, acknowledgements and the like
)

// story keeps the last events of a partition: the frequent kinds apart, so that
// they do not push the others out.
type story struct {
	rare, often   []event.Event
	nRare, nOften int
}

// frequent are the kinds of which every record makes some.
var frequent = [event.NumKinds]bool{
	event.BatchAppended: true, event.HighWatermark: true, event.ProduceAnswered: true, event.BatchSent: true,
	event.RecordAcked: true, event.RecordDelivered: true,
}

// remember keeps an event of the partition.
func (p *partition) remember(e *event.Event) {
	switch {
	case e.Kind == event.LEOPublished: // said by BatchAppended
	case frequent[e.Kind]:
		keep(&p.story.often, &p.story.nOften, keptOften, e)
	default:
		keep(&p.story.rare, &p.story.nRare, keptRare, e)
	}
}

// rememberNode keeps the end of a replica's process.
func (p *partition) rememberNode(e *event.Event) { keep(&p.story.rare, &p.story.nRare, keptRare, e) }

func keep(ring *[]event.Event, n *int, size int, e *event.Event) {
	if len(*ring) < size {
		*ring = append(*ring, *e)
		return
	}
	(*ring)[*n] = *e
	if *n++; *n == size {
		*n = 0
	}
}

// recent lists the kept events in order.
func (s *story) recent() []event.Event {
	all := slices.Concat(s.rare[s.nRare:], s.rare[:s.nRare], s.often[s.nOften:], s.often[:s.nOften])
	slices.SortStableFunc(all, func(a, b event.Event) int {
		return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.Seq, b.Seq))
	})
	return all
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
