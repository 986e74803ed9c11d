package report

import (
	"fmt"
	"html"
	"strings"

	"github.com/simkafka/simkafka/model/outcome"
	"github.com/simkafka/simkafka/sim/sweep"
)

// StepSummary is the Markdown page of a step of GitHub Actions ($GITHUB_STEP_SUMMARY): a
// table, and each failure behind a line that opens. GitHub drops a page above 1 MiB as a
// whole, hence it ends before.
type StepSummary struct {
	rows  [][]string // of runs
	parts []string
	room  int
	left  int // parts that had no room
}

// maxSummary is how long a page may become, in bytes.
const maxSummary = 900 << 10

// NewStepSummary begins a page; used is what the step's file holds already, in bytes.
func NewStepSummary(used int64) *StepSummary {
	const own = 64 << 10 // for the table and the last line
	return &StepSummary{room: int(max(0, maxSummary-own-used))}
}

// maxSummaryRows bounds the table.
const maxSummaryRows = 100

// Run adds a run.
func (s *StepSummary) Run(r *outcome.Result, replay string) {
	why := ""
	if len(r.Why) > 0 {
		why = clip(r.Why[0], 160)
	}
	s.rows = append(s.rows, []string{string(r.Verdict), r.Scenario, fmt.Sprint(r.Seed), count(r.Records.Acked), count(r.Records.Lost), why})
	if r.Verdict == outcome.Pass {
		return
	}
	var b strings.Builder
	_ = WriteSummary(&b, r, SummaryOptions{Style: Style{Width: 100}, Replay: replay}) // a Builder takes everything
	s.details(fmt.Sprintf("%s, seed %d: %s", r.Scenario, r.Seed, why), b.String())
}

// Sweep adds a sweep.
func (s *StepSummary) Sweep(m *sweep.Merged, o SweepOptions) {
	t := m.Totals()
	var b strings.Builder
	fmt.Fprintf(&b, "### %s: sweep %s, %s\n\n", SweepVerdict(m), m.Header.Name, plural(int64(t.Runs), "seed"))
	p := &sweepPrinter{printer: printer{w: &b, r: &outcome.Result{}}, m: m, totals: t}
	p.gaps()
	found := m.Findings(o.Baseline)
	table := Table{Columns: []Column{{Name: "#", Right: true}, {Name: "verdict"}, {Name: "seeds", Right: true}, {Name: "first k", Right: true}, {Name: "change"}, {Name: "signature"}}}
	for i, f := range found[:min(len(found), maxSummaryRows)] {
		table.Rows = append(table.Rows, []string{fmt.Sprint(i + 1), string(f.Verdict), count(int64(f.Runs)), fmt.Sprint(f.First), string(f.Change), clip(f.Signature, 160)})
	}
	if len(found) > 0 {
		_ = table.Markdown(&b)
	}
	if more := len(found) - maxSummaryRows; more > 0 {
		fmt.Fprintf(&b, "\nand %s\n", plural(int64(more), "more finding"))
	}
	s.add(b.String())
	for i := range found {
		if f := &found[i]; !gone(*f) {
			l := &f.Shortest
			s.details(fmt.Sprintf("finding %d: %s", i+1, clip(f.Signature, 160)),
				fmt.Sprintf("what    %s\nfaults  %s\nreplay  %s\n", l.What, orNone(l.Faults), SweepReplay(&m.Header, l.Seed)))
		}
	}
	var all strings.Builder
	_ = WriteSweep(&all, m, SweepOptions{Style: Style{Width: 100}, Baseline: o.Baseline, Canary: o.Canary})
	s.details("the whole report", all.String())
}

// details adds a text behind a line that opens.
func (s *StepSummary) details(head, text string) {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	s.add(fmt.Sprintf("<details><summary>%s</summary>\n\n%stext\n%s\n%s\n\n</details>\n", html.EscapeString(head), fence, strings.TrimRight(text, "\n"), fence))
}

func (s *StepSummary) add(part string) {
	if len(part)+1 > s.room {
		s.left++
		return
	}
	s.room -= len(part) + 1
	s.parts = append(s.parts, part)
}

// String is the page; "" if there is nothing to tell.
func (s *StepSummary) String() string {
	var b strings.Builder
	if len(s.rows) > 0 {
		t := Table{Columns: []Column{{Name: "verdict"}, {Name: "scenario"}, {Name: "seed", Right: true}, {Name: "acked", Right: true}, {Name: "lost", Right: true}, {Name: "why"}},
			Rows: s.rows[:min(len(s.rows), maxSummaryRows)]}
		_ = t.Markdown(&b)
		if more := len(s.rows) - maxSummaryRows; more > 0 {
			fmt.Fprintf(&b, "\nand %s\n", plural(int64(more), "more run"))
		}
		b.WriteString("\n")
	}
	for _, part := range s.parts {
		b.WriteString(part + "\n")
	}
	if s.left > 0 {
		fmt.Fprintf(&b, "%s had no room: GitHub takes pages below 1 MiB only\n", plural(int64(s.left), "more section"))
	}
	return b.String()
}
