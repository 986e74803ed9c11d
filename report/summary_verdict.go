package report

import (
	"fmt"
	"strings"

	"github.com/simkafka/simkafka/model/outcome"
)

// states of an invariant, as outcome.InvariantState spells them, in the order in
// which the summary counts them.
var states = [...]struct{ state, words string }{
	{"violated", "violated"}, {"held", "held"}, {"suspended", "suspended"}, {"not-exercised", "not exercised"},
}

func (p *printer) invariants() {
	if len(p.r.Invariants) == 0 {
		return
	}
	p.head("invariants")
	var parts []string
	for _, s := range states {
		n := 0
		for i := range p.r.Invariants {
			if p.r.Invariants[i].State == s.state {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s.words))
		}
	}
	p.printf("  %s\n", strings.Join(parts, ", "))
	for i := range p.r.Invariants {
		if v := &p.r.Invariants[i]; v.State == "violated" {
			p.wrapped("  "+p.style.bad("violated")+"   ", "             ", fmt.Sprintf("%s (%s): %s", v.Name, v.Rules, v.Words))
		}
	}
	p.suspended()
}

// suspended names the invariants that are suspended for the same reason together.
func (p *printer) suspended() {
	var notes []string
	names := make(map[string][]string)
	for i := range p.r.Invariants {
		v := &p.r.Invariants[i]
		if v.State != "suspended" {
			continue
		}
		if names[v.Note] == nil {
			notes = append(notes, v.Note)
		}
		names[v.Note] = append(names[v.Note], v.Name)
	}
	for _, note := range notes {
		p.wrapped("  "+p.style.warn("suspended")+"  ", "             ", because(strings.Join(names[note], ", "), note))
	}
}

func (p *printer) expectations() {
	if len(p.r.Metrics) == 0 {
		return
	}
	p.head("expectations")
	for i := range p.r.Metrics {
		m := &p.r.Metrics[i]
		word := p.style.good("holds")
		if !m.Held {
			word = p.style.bad("FAILS")
		}
		// The colour codes of word do not count.
		first := "  " + word + "  "
		for i, l := range Wrap(m.Source+"  ("+strings.TrimSpace(m.Value+" "+m.Where)+")", p.style.width()-9) {
			if i > 0 {
				first = strings.Repeat(" ", 11)
			}
			p.printf("%s%s\n", first, l)
		}
	}
}

// storyLines bounds the violations' part of the summary (interface U14).
const storyLines = 40

// violations tells the first violation as a story and each other one in short.
// What does not fit in storyLines is only counted.
func (p *printer) violations() {
	left := storyLines
	for i := range p.r.Violations {
		v := &p.r.Violations[i]
		lines := p.short(v)
		if i == 0 {
			lines = p.story(v, left-3)
		}
		if i > 0 && len(lines) > left-3 {
			p.printf("\n  and %s; result.json has all\n", plural(int64(len(p.r.Violations)-i), "more violation"))
			return
		}
		left -= len(lines) + 1
		p.printf("\n%s\n", strings.Join(lines, "\n"))
	}
}

// short is a violation without its story.
func (p *printer) short(v *outcome.Violation) []string {
	return append([]string{p.violationHead(v)}, p.block("    what     ", v.What)...)
}

func (p *printer) violationHead(v *outcome.Violation) string {
	word := p.style.bad("VIOLATED")
	if p.r.Verdict == outcome.Pass { // only what the scenario demands leaves the verdict a pass
		word = p.style.warn("VIOLATED, as the scenario expects,")
	}
	return fmt.Sprintf("  invariant %s   %s at %s%s", p.style.Bold(v.Invariant), word, moment(v.At), p.partitionOf(v))
}

// maxRecent is how many of the last events a story shows.
const maxRecent = 10

// story is a violation in at most limit lines, if that can be: events go first,
// then facts.
func (p *printer) story(v *outcome.Violation, limit int) []string {
	head := []string{p.violationHead(v)}
	head = append(head, p.block("    rule     ", p.rule(v.Invariant))...)
	head = append(head, p.block("    what     ", v.What)...)
	var tail []string
	if p.o.Replay != "" {
		tail = append(tail, "    replay   "+p.replay(v))
	}
	events := min(len(v.Recent), maxRecent) + 1 // with their label
	facts := p.facts(v, limit-len(head)-len(tail)-events)
	recent := p.recent(v, limit-len(head)-len(tail)-len(facts))
	return append(append(append(head, facts...), recent...), tail...)
}

func (p *printer) partitionOf(v *outcome.Violation) string {
	if v.TP.Topic == "" {
		return ""
	}
	return "  " + v.TP.String()
}

func (p *printer) rule(name string) string {
	for i := range p.r.Invariants {
		if p.r.Invariants[i].Name == name {
			return p.r.Invariants[i].Words
		}
	}
	return ""
}

// replay adds --until where the violation showed before the run's own end.
func (p *printer) replay(v *outcome.Violation) string {
	if v.At <= 0 || p.r.Settled >= 0 && v.At >= p.r.Settled || v.At >= p.r.End {
		return p.o.Replay
	}
	return p.o.Replay + " --until " + Exact(v.At)
}

// block is a labelled paragraph.
func (p *printer) block(label, text string) []string {
	if text == "" {
		return nil
	}
	lines := Wrap(text, p.style.width()-len(label))
	for i, l := range lines {
		lines[i] = label + l
		label = strings.Repeat(" ", len(label))
	}
	return lines
}

func (p *printer) facts(v *outcome.Violation, limit int) []string {
	var out []string
	label := "    facts    "
	for _, f := range v.Facts {
		b := p.block(label, f)
		if len(out)+len(b) > limit {
			break
		}
		out = append(out, b...)
		label = "             "
	}
	return out
}

// recent lists the last events before the violation, one a line under their label.
func (p *printer) recent(v *outcome.Violation, limit int) []string {
	n := min(len(v.Recent), maxRecent, limit-1)
	if n <= 0 {
		return nil
	}
	out := []string{"    before"}
	for i := len(v.Recent) - n; i < len(v.Recent); i++ {
		e := &v.Recent[i]
		what := sentence(e)
		if e.TP == v.TP {
			what = phrase(e)
		}
		out = append(out, clip(fmt.Sprintf("    %9s  %s  %s", moment(e.Time), who(e), what), p.style.width()))
	}
	return out
}

// warnings stand near the top: a fault that hit nothing is one.
func (p *printer) warnings() {
	if len(p.r.Warnings) == 0 {
		return
	}
	p.head("warnings")
	for _, w := range p.r.Warnings {
		p.wrapped("  ", "    ", w)
	}
}

func (p *printer) notes() {
	if len(p.r.NotModelled) > 0 {
		p.head("settings that are not modelled")
		p.wrapped("  ", "  ", strings.Join(p.r.NotModelled, ", "))
	}
}

func (p *printer) foot() {
	p.printf("\nfingerprint  %s  (%s events)\n", p.r.Fingerprint, count(int64(p.r.Events)))
	if p.o.Out != "" {
		p.printf("files        %s\n", p.o.Out)
	}
	if p.o.Replay != "" {
		p.printf("replay       %s\n", p.o.Replay)
	}
}
