package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/outcome"
)

// WriteTimeline prints every fact of the timeline, one a line: time in seconds,
// node, what.
func WriteTimeline(w io.Writer, r *outcome.Result) error {
	width := len("simulator")
	for i := range r.Timeline {
		width = max(width, displayWidth(who(&r.Timeline[i])))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# %s, seed %d, %s: %s\n", r.Scenario, r.Seed, r.Protocol, plural(int64(len(r.Timeline)), "fact"))
	for i := range r.Timeline {
		e := &r.Timeline[i]
		fmt.Fprintf(&b, "%14s  %s  %s\n", e.Time, padRight(who(e), width), sentence(e))
	}
	return put(w, b.String())
}

func padRight(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-displayWidth(s)))
}

// line is an entry of the condensed timeline.
type line struct {
	at       kafka.Nanos
	kind     event.Kind
	node     string
	what     string
	subjects []string // partitions or nodes that it holds for
	ofNodes  bool     // subjects are nodes, and stand in the node's place
	weight   int      // 0 is told first
}

// maxLines is the length of the condensed timeline.
const maxLines = 30

// mergeWindow is how long after its first fact a line takes equal ones.
const mergeWindow = kafka.Second

// condense tells the run in at most maxLines lines: equal facts about several
// partitions or nodes become one, and lesser kinds of facts go first. hidden
// counts the facts that no line tells.
func condense(r *outcome.Result) (lines []line, hidden int) {
	all := simplify(r.Timeline)
	for weight := maxWeight; weight >= 0; weight-- {
		hidden = 0
		kept := make([]line, 0, len(all))
		for _, l := range all {
			if l.weight <= weight {
				kept = append(kept, l)
			} else {
				hidden++
			}
		}
		if lines = merge(kept); len(lines) <= maxLines {
			return lines, hidden
		}
	}
	const head = maxLines * 2 / 3
	gone := lines[head : len(lines)-(maxLines-head)]
	for _, l := range gone {
		hidden += max(1, len(l.subjects))
	}
	return append(lines[:head:head], lines[len(lines)-(maxLines-head):]...), hidden
}

// simplify words the facts of the timeline so that equal changes read equal: an
// ISR change says who left or came back.
func simplify(facts []event.Event) []line {
	var out []line
	isr := make(map[kafka.TopicPartition]*event.Event)
	topics := make(map[string]bool) // that were created
	for i := range facts {
		e := &facts[i]
		l := line{at: e.Time, kind: e.Kind, node: who(e), what: phrase(e), weight: weights[e.Kind]}
		if tp := subject(e); tp != "" {
			l.subjects = []string{tp}
		}
		switch e.Kind {
		case event.NodeBooted:
			l.subjects, l.ofNodes = []string{e.Actor}, true
			if e.Count <= 1 {
				l.weight = maxWeight
				if e.Time > 0 {
					continue // a tool of the simulator: it makes topics, or reads back
				}
			}
		case event.NodeCrashed, event.NodeStopped, event.NodePaused, event.NodeResumed:
			l.subjects, l.ofNodes = []string{e.Actor}, true
		case event.BrokerRegistered:
			l.subjects, l.what = []string{broker(e.Node)}, "registered"
		case event.BrokerUnregistered:
			l.subjects, l.what = []string{broker(e.Node)}, "registration gone"
		case event.LeaderElected:
			l.what = "elects " + broker(e.Leader) + either(e.Flag, ", unclean", "")
		case event.TopicCreated:
			if !topics[e.TP.Topic] { // the scenario's own
				l.weight = maxWeight
			}
			topics[e.TP.Topic] = true
		case event.AssignmentChanged:
			l.what = either(len(e.Replicas) > 0, "partition added", "partition taken out")
		case event.PartitionChanged:
			before := isr[e.TP]
			isr[e.TP] = e
			if before == nil {
				l.weight = maxWeight
				break
			}
			if before.Leader == e.Leader {
				l.what, l.weight = isrChange(before.ISR, e.ISR), 1
			} else {
				l.what = "leader " + broker(e.Leader)
			}
		}
		out = append(out, l)
	}
	return out
}

// isrChange says who left the ISR and who came back.
func isrChange(before, now []kafka.NodeID) string {
	var parts []string
	for _, id := range before {
		if !slices.Contains(now, id) {
			parts = append(parts, broker(id)+" leaves the ISR")
		}
	}
	for _, id := range now {
		if !slices.Contains(before, id) {
			parts = append(parts, broker(id)+" joins the ISR")
		}
	}
	if parts == nil {
		return "state rewritten, ISR " + nodes(now)
	}
	return strings.Join(parts, ", ")
}

// weights say which facts a crowded timeline leaves out first.
var weights = [event.NumKinds]int{
	event.Truncated:          1,
	event.ControllerResigned: 1,
	event.FaultEnded:         1,
	event.BrokerUnregistered: 2,
	event.BrokerRegistered:   2,
	event.PartitionChanged:   2,
	event.GroupChanged:       1,
	event.MemberRemoved:      1,
	event.CoordinatorFound:   2,
	event.CoordinatorLost:    2,
	event.MemberChanged:      maxWeight,
	event.PartitionAssigned:  2,
	event.PartitionRevoked:   2,
	event.PartitionLost:      1,
	event.TopicDeletionAsked: 1,
}

const maxWeight = 3

// merge puts equal lines within mergeWindow into one.
func merge(in []line) []line {
	var out []line
next:
	for _, l := range in {
		for i := len(out) - 1; i >= 0 && l.at-out[i].at <= mergeWindow; i-- {
			o := &out[i]
			if !o.equal(&l) {
				continue
			}
			if slices.Contains(o.subjects, l.subjects[0]) {
				break // it happened again
			}
			o.subjects = append(slices.Clone(o.subjects), l.subjects[0])
			continue next
		}
		out = append(out, l)
	}
	return out
}

// equal reports whether two lines say the same of different subjects.
func (l *line) equal(o *line) bool {
	return len(l.subjects) > 0 && len(o.subjects) > 0 && l.kind == o.kind && l.what == o.what && (l.ofNodes || l.node == o.node)
}

// maxSubjects is how many names a line lists.
const maxSubjects = 4

func (l *line) text() (node, what string) {
	if len(l.subjects) > maxSubjects {
		return l.naming(maxSubjects - 1)
	}
	return l.naming(len(l.subjects))
}

// fitting is text with as many names as have room, at least one.
func (l *line) fitting(room int) string {
	_, what := l.text()
	for n := min(len(l.subjects), maxSubjects) - 1; n > 0 && displayWidth(what) > room; n-- {
		_, what = l.naming(n)
	}
	return clip(what, room)
}

// naming lists n of the names that the line holds for.
func (l *line) naming(n int) (node, what string) {
	names := l.subjects[:n]
	more := ""
	if n < len(l.subjects) {
		more = fmt.Sprintf(" and %d more", len(l.subjects)-n)
	}
	switch {
	case l.ofNodes && len(l.subjects) == 1:
		return l.subjects[0], l.what
	case l.ofNodes:
		return plural(int64(len(l.subjects)), "node"), several(l.kind, l.what) + " (" + strings.Join(names, ", ") + more + ")"
	case len(names) == 0:
		return l.node, l.what
	case len(l.subjects) == 1:
		return l.node, names[0] + ": " + l.what
	}
	return l.node, l.what + " (" + strings.Join(names, ", ") + more + ")"
}

// several is what several nodes do.
func several(k event.Kind, what string) string {
	verb, rest, _ := strings.Cut(what, " ")
	switch k {
	case event.NodeBooted, event.NodeStopped, event.NodePaused, event.NodeResumed: // boots, exits, pauses, resumes
		bare, colon := strings.CutSuffix(verb, ":")
		verb = strings.TrimSuffix(bare, "s") + either(colon, ":", "")
	case event.NodeCrashed: // crashes:
		verb = strings.Replace(verb, "crashes", "crash", 1)
	}
	return strings.TrimSpace(verb + " " + rest)
}

// maxNode bounds the width of the node column.
const maxNode = 16

// timelineSection prints the condensed timeline.
func (p *printer) timelineSection() {
	lines, hidden := condense(p.r)
	if len(lines) == 0 {
		return
	}
	p.head("timeline")
	width := 0
	for i := range lines {
		node, _ := lines[i].text()
		width = max(width, displayWidth(clip(node, maxNode)))
	}
	for i := range lines {
		l := &lines[i]
		node, _ := l.text()
		text := fmt.Sprintf("  %10s  %s  ", moment(l.at), padRight(clip(node, maxNode), width))
		p.printf("%s%s\n", text, p.mark(l.kind, l.fitting(max(p.style.width()-displayWidth(text), 20))))
	}
	if hidden > 0 {
		p.printf("%s\n", p.style.dim(fmt.Sprintf("  %s not shown here; timeline.txt has all", plural(int64(hidden), "lesser fact"))))
	}
}

// mark colours what went wrong and what was put right.
func (p *printer) mark(k event.Kind, text string) string { return markKind(p.style, k, text) }

func markKind(s Style, k event.Kind, text string) string {
	switch k {
	case event.Assertion, event.DirectoryOffline:
		return s.bad(text)
	case event.FaultStarted, event.NodeCrashed, event.NodeStopped, event.FetcherFailed, event.Truncated:
		return s.warn(text)
	case event.Healed, event.Settled:
		return s.Bold(text)
	}
	return text
}
