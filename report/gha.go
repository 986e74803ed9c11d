package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/simkafka/simkafka/model/outcome"
	"github.com/simkafka/simkafka/scenarios"
	"github.com/simkafka/simkafka/sim/sweep"
)

// Annotation is a remark that GitHub Actions shows beside a line of a file.
type Annotation struct {
	Level string // error, warning or notice
	// File is relative to the repository; "" is none. Line and Col count from 1; 0 is none.
	File      string
	Line, Col int
	Title     string
	Message   string
}

// The levels of annotations.
const (
	AnnotateError   = "error"
	AnnotateWarning = "warning"
	AnnotateNotice  = "notice"
)

// maxAnnotations is how many of each level a step writes itself: GitHub shows ten, and
// says nothing of the others. The tenth notice counts them.
const maxAnnotations = 9

// WriteAnnotations prints workflow commands of GitHub Actions, at most ten of a level; a
// last notice counts those that had no room.
func WriteAnnotations(w io.Writer, list []Annotation) error {
	var b strings.Builder
	left := make([]string, 0, 3)
	for _, level := range []string{AnnotateError, AnnotateWarning, AnnotateNotice} {
		n := 0
		for i := range list {
			if list[i].Level != level {
				continue
			}
			if n++; n <= maxAnnotations {
				b.WriteString(list[i].command())
			}
		}
		if n > maxAnnotations {
			left = append(left, plural(int64(n-maxAnnotations), "more "+level))
		}
	}
	if len(left) > 0 {
		more := Annotation{Level: AnnotateNotice, Title: "not all are shown",
			Message: fmt.Sprintf("%s: GitHub shows ten of each kind for a step; the log of the step has all", strings.Join(left, ", "))}
		b.WriteString(more.command())
	}
	return put(w, b.String())
}

var (
	// escapeData and escapeProperty are what a workflow command needs: its text ends at the
	// end of the line, its properties at commas and colons.
	escapeData     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	escapeProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// command is the annotation as a line.
func (a *Annotation) command() string {
	var props []string
	add := func(key, value string) {
		if value != "" {
			props = append(props, key+"="+escapeProperty.Replace(value))
		}
	}
	if add("file", a.File); a.File != "" && a.Line > 0 {
		add("line", fmt.Sprint(a.Line))
		if a.Col > 0 {
			add("col", fmt.Sprint(a.Col))
		}
	}
	add("title", a.Title)
	head := "::" + a.Level
	if len(props) > 0 {
		head += " " + strings.Join(props, ",")
	}
	return head + "::" + escapeData.Replace(a.Message) + "\n"
}

// RunAnnotations says why a run did not pass, each reason at the line of the scenario that
// it comes from: a violation at the last fault before it, an expectation at its own. level
// is that of a verdict that is not pass; file is "" where the scenario is in no file.
func RunAnnotations(r *outcome.Result, spec *scenarios.Spec, level, file, replay string) []Annotation {
	var out []Annotation
	for _, why := range r.Why {
		a := Annotation{Level: level, File: file, Message: why, Title: fmt.Sprintf("%s, seed %d: %s", r.Scenario, r.Seed, r.Verdict)}
		if i := slices.IndexFunc(r.Violations, func(v outcome.Violation) bool {
			return strings.HasPrefix(why, v.Invariant+" is violated at "+v.At.String())
		}); i >= 0 {
			v := &r.Violations[i]
			a.Title = fmt.Sprintf("%s, seed %d: %s violated", r.Scenario, r.Seed, v.Invariant)
			a.Line = lineOfFault(r, spec, v)
			if v.TP.Topic != "" {
				a.Message += " (" + v.TP.String() + ")"
			}
		} else if i := slices.IndexFunc(r.Metrics, func(m outcome.MetricResult) bool { return strings.HasPrefix(why, "expected "+m.Source+": ") }); i >= 0 {
			a.Title = fmt.Sprintf("%s, seed %d: expectation failed", r.Scenario, r.Seed)
			a.Line = r.Metrics[i].Line
		}
		if replay != "" {
			a.Message += "\nreplay: " + replay
		}
		out = append(out, a)
	}
	return out
}

// lineOfFault is the line of the last fault that began before a violation; 0 if there was
// none, or none of the file's.
func lineOfFault(r *outcome.Result, spec *scenarios.Spec, v *outcome.Violation) int {
	line, last := 0, -1
	for i := range r.Faults {
		f := &r.Faults[i]
		if f.From > v.At || last >= 0 && f.From < r.Faults[last].From {
			continue
		}
		last = i
		switch {
		case f.Index < len(spec.Events):
			line = spec.Events[f.Index].Line
		case spec.Chaos != nil:
			word, _, _ := strings.Cut(f.Text, ":")
			line = lineOfWord(spec, word)
		}
	}
	return line
}

// lineOfWord is the first line of a scenario with a fault; 0 if there is none.
func lineOfWord(spec *scenarios.Spec, word string) int {
	for i := range spec.Events {
		if f := spec.Events[i].Fault; f != nil && f.Word() == word {
			return spec.Events[i].Line
		}
	}
	if spec.Chaos != nil {
		for i := range spec.Chaos.Of {
			if c := &spec.Chaos.Of[i]; c.Fault != nil && c.Fault.Word() == word {
				return c.Line
			}
		}
	}
	return 0
}

// SweepAnnotations has an error for each finding of a sweep, and one for what it lacks. spec
// and file are those of the scenario; nil and "" where there is none, as for drawn worlds.
func SweepAnnotations(m *sweep.Merged, spec *scenarios.Spec, level, file string, canary *sweep.Canary) []Annotation {
	var out []Annotation
	runs := m.Totals().Runs
	for _, f := range m.Findings(nil) {
		l := &f.Shortest
		a := Annotation{Level: level, File: file, Title: fmt.Sprintf("%s: %s of %s", m.Header.Name, count(int64(f.Runs)), plural(int64(runs), "seed"))}
		a.Message = fmt.Sprintf("%s\nfaults: %s\nreplay: %s", l.What, orNone(l.Faults), SweepReplay(&m.Header, l.Seed))
		if len(l.Violated) > 0 {
			a.Title += " violate " + l.Violated[0]
		} else {
			a.Title += " are " + string(f.Verdict)
		}
		if spec != nil && file != "" {
			a.Line = lineOfFinding(spec, l)
		}
		out = append(out, a)
	}
	var b strings.Builder
	p := &sweepPrinter{printer: printer{w: &b, r: &outcome.Result{}}, m: m}
	if p.gaps(); b.Len() > 0 {
		out = append(out, Annotation{Level: level, Title: m.Header.Name + ": not all seeds were run", Message: strings.TrimSpace(b.String())})
	}
	if canary != nil && canary.Missed != "" {
		out = append(out, Annotation{Level: AnnotateError, Title: "the canary was missed",
			Message: fmt.Sprintf("a run with %s on did not violate %s: %s", canary.Bug, canary.Invariant, canary.Missed)})
	}
	return out
}

// lineOfFinding is the line of the expectation that failed, or of a fault that was there.
func lineOfFinding(spec *scenarios.Spec, l *sweep.Line) int {
	for _, x := range spec.Expect.Metrics {
		if strings.HasPrefix(l.What, "expected "+x.Source+": ") {
			return x.Line
		}
	}
	for _, word := range slices.Backward(l.Faults) {
		if n := lineOfWord(spec, word); n > 0 {
			return n
		}
	}
	return 0
}
