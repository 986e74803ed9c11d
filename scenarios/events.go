package scenarios

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/simkafka/simkafka/faults"
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

// entry reads one line of events or chaos.
type entry struct {
	l     *loader
	p     faults.Planned
	words []*yaml.Node // keys that name the fault
	when  []*yaml.Node // keys that say when

	forMax, restartMax kafka.Nanos
	wild               bool // topic/* is allowed (chaos)
}

func (l *loader) event(n *yaml.Node) {
	e := &entry{l: l}
	e.p.Trigger.At = -1
	e.p.Line = n.Line
	trigger := func(name string, read func(*yaml.Node)) field {
		return field{name, func(n *yaml.Node) { e.when = append(e.when, n); read(n) }, false}
	}
	t := &e.p.Trigger
	var atNode = n
	before := l.Errors()
	e.read(n, "an event",
		trigger("at", l.at(&atNode, l.duration("at", &t.At))),
		trigger("every", l.duration("every", &t.Every)),
		field{"from", l.duration("from", &t.From), false},
		field{"times", count(&l.reader, "times", 1, 1_000_000, &t.Times), false},
		trigger("when", e.onEvent),
		trigger("on_disk", e.onDisk),
	)
	l.exactlyOne("at", "every", "when", "on_disk")
	switch {
	case l.Errors() > before: // what is missing may be what is wrong
	case len(e.when) != 1:
		l.errorAt(n, "an event says when exactly once: at, every, when or on_disk")
	case t.Every == 0 && (t.From > 0 || t.Times > 0):
		l.errorAt(n, "from and times belong to every")
	}
	if t.On == nil && t.Disk == nil && e.p.Fault != nil && l.Errors() == before {
		for _, s := range e.p.Fault.Selectors() {
			if s.Role == faults.Subject {
				l.errorAt(n, "$node is the node of a triggering event: this event has none; use when or on_disk")
			}
		}
	}
	l.spec.Events = append(l.spec.Events, e.p)
	l.later = append(l.later, func() {
		first := max(t.At, t.From)
		if end := l.spec.HealAt(); first >= end && end > 0 {
			l.errorAt(atNode, "this event is at %s, but the faults end at %s", short(first), short(end))
		}
	})
}

// read takes the keys that every entry has, the fault among them.
func (e *entry) read(n *yaml.Node, what string, more ...field) {
	l := e.l
	fields := append(more,
		field{"for", e.rangeOf("for", &e.p.For, &e.forMax), false},
		field{"restart_after", e.rangeOf("restart_after", &e.p.RestartAfter, &e.restartMax), false})
	for _, k := range faults.Table {
		fields = append(fields, field{k.Word, func(v *yaml.Node) {
			e.words = append(e.words, v)
			e.fault(k.Word, v)
		}, false})
	}
	before := l.Errors()
	meant := l.mapping(n, what, fields...)
	l.exactlyOne(faults.Words()...)
	switch {
	case len(e.words) == 0 && l.Errors() > before: // a misspelt word was reported
		l.eventDoubts(meant)
	case len(e.words) == 0:
		l.errorAt(n, "%s names no fault; there is %s", what, faultWords())
	case len(e.words) > 1:
		l.errorAt(n, "%s names %d faults; write one line for each", what, len(e.words))
	case l.Errors() == before:
		e.checkTimes(n)
	}
}

func faultWords() string { return strings.Join(faults.Words(), ", ") }

// checkTimes: restart_after goes with what takes a process down, for with what lasts.
func (e *entry) checkTimes(n *yaml.Node) {
	if e.p.Fault == nil {
		return
	}
	switch f := e.p.Fault.(type) {
	case faults.Clock:
		if f.Jump && e.p.For > 0 || e.p.RestartAfter > 0 {
			e.l.errorAt(n, "%s takes no %s", f.Word(), map[bool]string{true: "for: the clock stays where it jumped to", false: "restart_after"}[f.Jump && e.p.For > 0])
		}
	case faults.Kill, faults.PowerLoss, faults.Stop, faults.Damage, faults.Wipe:
		if e.p.For > 0 {
			e.l.errorAt(n, "%s takes restart_after, not for", e.p.Fault.Word())
		}
	case faults.Restart, faults.Resume, faults.Reset, faults.HalfOpen, faults.CreatePartitions, faults.DeleteTopic, faults.CreateTopic:
		if e.p.For > 0 || e.p.RestartAfter > 0 {
			e.l.errorAt(n, "%s happens at once: it takes neither for nor restart_after", e.p.Fault.Word())
		}
	default:
		if e.p.RestartAfter > 0 {
			e.l.errorAt(n, "%s takes for, not restart_after", e.p.Fault.Word())
		}
	}
}

// rangeOf reads a duration, or in chaos a range 2s..15s.
func (e *entry) rangeOf(what string, lo, hi *kafka.Nanos) func(*yaml.Node) {
	return func(n *yaml.Node) {
		x := durations()
		if e.wild {
			x.pattern = "(?:" + x.pattern + `)(?:\.\.(?:` + x.pattern + "))?"
		}
		e.l.say(x.schema())
		s, ok := e.l.scalar(n, what)
		if !ok {
			return
		}
		from, to, isRange := strings.Cut(s, "..")
		if isRange && !e.wild {
			e.l.errorAt(n, "%s: a range is drawn in chaos only; write one duration", what)
			return
		}
		a, err := ParseDuration(from, false)
		b := a
		if err == nil && isRange {
			b, err = ParseDuration(to, false)
		}
		switch {
		case err != nil:
			e.l.errorAt(n, "%s: %v", what, err)
		case b < a:
			e.l.errorAt(n, "%s: the range %s ends before it begins", what, s)
		case a == 0:
			e.l.errorAt(n, "%s: must be longer than 0", what)
		default:
			*lo, *hi = a, b
		}
	}
}

func (e *entry) onEvent(n *yaml.Node) {
	l := e.l
	t := &faults.EventTrigger{Nth: 1, TP: kafka.TopicPartition{Partition: -1}}
	var kind, part string
	var kindNode, partNode, groupNode, stateNode = n, n, n, n
	l.mapping(n, "when",
		field{"event", l.at(&kindNode, l.textOf(oneWord(event.Kinds()), "event", &kind)), true},
		field{"partition", l.at(&partNode, l.textOf(patterned(`.+/(?:[0-9]+|\*)`), "partition", &part)), false},
		field{"node", func(n *yaml.Node) {
			if s, ok := e.single(n, "node"); ok {
				t.Actor = &s
			}
		}, false},
		field{"text", l.text("text", &t.Text), false},
		field{"group", l.at(&groupNode, l.text("group", &t.Group)), false},
		field{"state", l.at(&stateNode, l.text("state", &t.State)), false},
		field{"acks", l.word("acks", &t.Acks, "all", "1", "0"), false},
		field{"isr", count(&l.reader, "isr", 1, 1000, &t.ISR), false},
		field{"nth", count(&l.reader, "nth", 1, 1_000_000_000, &t.Nth), false},
		field{"records", count(&l.reader, "records", 1, 1<<40, &t.Records), false},
		field{"after", l.duration("after", &t.After), false},
		field{"delay", func(n *yaml.Node) { e.delay(n, t) }, false},
	)
	if k, ok := event.ParseKind(kind); ok {
		t.Kind = k
	} else if kind != "" {
		l.errorAt(kindNode, "unknown event %q%s", kind, suggest(kind, event.Kinds()))
	}
	if part != "" {
		t.TP = e.partition(partNode, part)
	}
	if t.Group != "" {
		l.later = append(l.later, func() { l.groupExists(groupNode, t.Group) })
	}
	if t.State != "" && t.Kind != 0 {
		l.stateOf(stateNode, t)
	}
	e.p.Trigger.On = t
}

// stateOf checks a trigger's state: a group's or a member's.
func (l *loader) stateOf(n *yaml.Node, t *faults.EventTrigger) {
	var words []string
	switch t.Kind {
	case event.GroupChanged:
		for s := event.GroupEmpty; s <= event.GroupDead; s++ {
			words = append(words, s.String())
		}
	case event.MemberChanged:
		words = []string{event.MemberUnjoined, event.MemberPreparing, event.MemberCompleting, event.MemberStable}
	default:
		l.errorAt(n, "state belongs to the events group-changed and member-changed")
		return
	}
	if !slices.Contains(words, t.State) {
		l.errorAt(n, "state is %q; %s has %s", t.State, t.Kind, strings.Join(words, ", "))
	}
}

// delay reads a duration or a range that the seed draws from.
func (e *entry) delay(n *yaml.Node, t *faults.EventTrigger) {
	one := "(?:" + durationPattern() + ")"
	e.l.say((&syntax[Dist]{pattern: one + `(?:\.\.` + one + ")?", zero: true}).schema())
	s, ok := e.l.scalar(n, "delay")
	if !ok {
		return
	}
	d, err := ParseDist(s)
	if err != nil || d.Kind != "constant" && d.Kind != "uniform" {
		e.l.errorAt(n, "delay is %q; write 5ms or 0ms..5ms", s)
		return
	}
	t.DelayMin, t.DelayMax = d.A, max(d.A, d.B)
}

func (e *entry) onDisk(n *yaml.Node) {
	l := e.l
	t := &faults.DiskTrigger{Nth: 1}
	since, sinceNode := "", n
	l.mapping(n, "on_disk",
		field{"node", e.disk("node", &t.Node), true},
		field{"op", l.word("op", &t.Op, "read", "append", "write", "truncate", "create", "remove", "rename", "sync", "syncdir"), true},
		field{"file", l.text("file", &t.Match), false},
		field{"nth", count(&l.reader, "nth", 1, 1_000_000_000, &t.Nth), false},
		field{"after", l.duration("after", &t.After), false},
		field{"since", l.at(&sinceNode, l.textOf(oneWord(event.Kinds()), "since", &since)), false},
	)
	if k, ok := event.ParseKind(since); ok {
		t.Since = k
	} else if since != "" {
		l.errorAt(sinceNode, "unknown event %q%s", since, suggest(since, event.Kinds()))
	}
	e.p.Trigger.Disk = t
}

// chaos reads the section that draws faults.
func (l *loader) chaos(n *yaml.Node) {
	c := &Chaos{Min: 1, Max: 1}
	before := l.Errors()
	l.mapping(n, "chaos",
		field{"from", l.duration("from", &c.From), false},
		field{"to", l.duration("to", &c.To), true},
		field{"count", func(n *yaml.Node) { l.countRange(n, c) }, false},
		field{"of", func(n *yaml.Node) {
			l.list(n, "of", func(item *yaml.Node) {
				e := &entry{l: l, wild: true}
				e.p.Trigger.At, e.p.Line = -1, item.Line
				e.read(item, "a fault of chaos")
				c.Of = append(c.Of, Candidate{e.p, e.forMax, e.restartMax})
			})
		}, true},
	)
	if l.Errors() == before {
		if len(c.Of) == 0 {
			l.errorAt(n, "chaos has nothing to draw from: of is empty")
		}
		if c.To <= c.From {
			l.errorAt(n, "chaos ends at %s, not after its beginning at %s", short(c.To), short(c.From))
		}
	}
	l.spec.Chaos = c
	l.later = append(l.later, func() {
		if end := l.spec.HealAt(); c.To > end && end > 0 {
			l.errorAt(n, "chaos ends at %s, after the faults' end at %s", short(c.To), short(end))
		}
	})
}

func (l *loader) countRange(n *yaml.Node, c *Chaos) {
	l.say(schema{Type: []string{"string", "integer"}, Pattern: `^[0-9]+(?:\.\.[0-9]+)?$`, Minimum: new(int64)})
	s, ok := l.scalar(n, "count")
	if !ok {
		return
	}
	var lo, hi int
	_, err := fmt.Sscanf(s, "%d..%d", &lo, &hi)
	if err != nil {
		_, err = fmt.Sscanf(s, "%d", &lo)
		hi = lo
	}
	if err != nil || lo < 0 || hi < lo || hi > 10_000 || fmt.Sprintf("%d..%d", lo, hi) != s && fmt.Sprint(lo) != s {
		l.errorAt(n, "count is %q; write 2 or 2..3", s)
		return
	}
	c.Min, c.Max = lo, hi
}
