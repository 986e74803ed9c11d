package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/simkafka/simkafka/model/outcome"
	"github.com/simkafka/simkafka/sim/cluster"
	"github.com/simkafka/simkafka/sim/sweep"
)

// SweepOptions are what the report of a sweep may say beside its runs.
type SweepOptions struct {
	Style
	// Baseline is an earlier sweep to compare with; nil is none.
	Baseline *sweep.Merged
	// Kept gives the directory of a failing run, as the user should see it; "" if it
	// has none. May be nil.
	Kept func(k uint64) string
	// Files are the places of what was written, as the user should see them.
	Files []string
	// Canary is the known bug that this process had to catch; nil if there was none.
	Canary *sweep.Canary
}

// SweepVerdict is the verdict of a whole sweep.
func SweepVerdict(m *sweep.Merged) outcome.Verdict {
	t := m.Totals()
	switch {
	case t.Errors > 0:
		return outcome.Error
	case t.Violated > 0:
		return outcome.Violated
	case t.Inconclusive > 0, m.State != sweep.Complete:
		return outcome.Inconclusive
	}
	return outcome.Pass
}

// WriteSweep prints a sweep for people. Equal sweeps give equal bytes: no wall-clock
// time enters.
func WriteSweep(w io.Writer, m *sweep.Merged, o SweepOptions) error {
	p := &sweepPrinter{printer: printer{w: w, style: o.Style, r: &outcome.Result{Verdict: SweepVerdict(m)}}, m: m, o: o, totals: m.Totals()}
	p.title()
	p.gaps()
	p.seeds()
	p.findings()
	p.probes()
	p.canary()
	p.foot()
	return p.err
}

// WriteSweepVerdict prints the first lines of the report.
func WriteSweepVerdict(w io.Writer, m *sweep.Merged, s Style) error {
	p := &sweepPrinter{printer: printer{w: w, style: s, r: &outcome.Result{Verdict: SweepVerdict(m)}}, m: m, totals: m.Totals()}
	p.title()
	p.gaps()
	return p.err
}

// sweepPrinter writes the sections of a sweep's report.
type sweepPrinter struct {
	printer
	m      *sweep.Merged
	o      SweepOptions
	totals sweep.Totals
}

func (p *sweepPrinter) title() {
	h := &p.m.Header
	part := ""
	if h.Shards > 1 {
		part = fmt.Sprintf("  shard %d/%d", h.Shard, h.Shards)
	}
	p.printf("%s  sweep %s  %s  root seed %d  engine %d%s\n", p.verdict(), p.style.Bold(h.Name), plural(int64(p.totals.Runs), "seed"), h.Root, h.Engine, part)
}

// gaps says what the sweep lacks, and what it has twice.
func (p *sweepPrinter) gaps() {
	m := p.m
	switch m.State {
	case sweep.Interrupted:
		p.printf("  interrupted\n")
	case sweep.OutOfTime:
		p.printf("  the time ended before all %s were run\n", plural(int64(m.Header.Count), "seed"))
	}
	p.ranges("missing runs", m.Missing)
	p.ranges("missing shards", m.Absent)
	p.ranges("shards that did not end", m.Unfinished)
	p.ranges("runs that two files have, and agree on", m.Duplicates)
}

// maxRanges bounds a list of ranges.
const maxRanges = 20

func (p *sweepPrinter) ranges(what string, list []sweep.Range) {
	if len(list) == 0 {
		return
	}
	var words []string
	total := uint64(0)
	for i, r := range list {
		total += r.To - r.From + 1
		if i < maxRanges {
			words = append(words, r.String())
		}
	}
	if len(list) > maxRanges {
		words = append(words, "…")
	}
	p.wrapped("  ", "    ", fmt.Sprintf("%s: %s (k %s)", what, count(int64(total)), strings.Join(words, ", ")))
}

func (p *sweepPrinter) seeds() {
	t := &p.totals
	p.head("seeds")
	number := func(name string) Column { return Column{Name: name, Right: true} }
	cell := func(n uint64) string { return count(int64(n)) }
	p.table(Table{
		Columns: []Column{number("run"), number("passed"), number("violated"), number("inconclusive"), number("errors"),
			{Name: "expected loss", Right: true, Drop: 1}, {Name: "run twice", Right: true, Drop: 2}, {Name: "virtual", Right: true, Drop: 3}, {Name: "events", Right: true, Drop: 4}},
		Rows: [][]string{{cell(t.Runs), cell(t.Passed), cell(t.Violated), cell(t.Inconclusive), cell(t.Errors), cell(t.LossRuns), cell(t.Repeated),
			span(t.Virtual), cell(t.Events)}},
	})
}

// maxFindings is how many findings are told; the table has all.
const maxFindings = 10

func (p *sweepPrinter) findings() {
	found := p.m.Findings(p.o.Baseline)
	if len(found) == 0 {
		return
	}
	p.head("findings")
	t := Table{Columns: []Column{{Name: "#", Right: true}, {Name: "verdict", Drop: 3}, {Name: "seeds", Right: true}, {Name: "of all", Right: true, Drop: 1},
		{Name: "first k", Right: true, Drop: 2}}}
	room := max(p.style.width()-otherColumns, 24)
	if p.o.Baseline != nil {
		c := Column{Name: "baseline"}
		t.Columns = append(t.Columns, c)
		room = max(room-len(c.Name)-2, 24)
	}
	t.Columns = append(t.Columns, Column{Name: "signature"})
	for i, f := range found {
		runs := p.totals.Runs
		if gone(f) {
			runs = uint64(len(p.o.Baseline.Lines))
		}
		row := []string{fmt.Sprint(i + 1), string(f.Verdict), count(int64(f.Runs)), percent(f.Runs, runs), fmt.Sprint(f.First)}
		if p.o.Baseline != nil {
			row = append(row, string(f.Change))
		}
		t.Rows = append(t.Rows, append(row, clip(f.Signature, room)))
	}
	p.table(t)
	told := 0
	for i := range found {
		if gone(found[i]) {
			continue
		}
		if told++; told > maxFindings {
			break
		}
		p.finding(i+1, &found[i])
	}
	p.saturation()
}

// otherColumns is about what the columns beside a finding's signature take.
const otherColumns = 45

// gone reports whether a finding is the baseline's alone.
func gone(f sweep.Finding) bool { return f.Change == sweep.Resolved || f.Change == sweep.Rare }

func (p *sweepPrinter) finding(number int, f *sweep.Finding) {
	l := &f.Shortest
	p.printf("\n%s\n", p.style.Bold(fmt.Sprintf("finding %d: the shortest of %s", number, plural(int64(f.Runs), "run"))))
	p.lines(p.block("  what      ", l.What))
	if len(l.Violated) > 1 {
		p.lines(p.block("  violated  ", strings.Join(l.Violated, ", ")))
	}
	p.lines(p.block("  faults    ", strings.Join(l.Faults, ", ")))
	if f.Runs > 1 && len(f.Always) < len(l.Faults) {
		p.lines(p.block("  in each   ", orNone(f.Always)))
	}
	if p.o.Kept != nil {
		if dir := p.o.Kept(l.K); dir != "" {
			p.printf("  files     %s\n", dir)
		}
	}
	p.printf("  replay    %s\n", SweepReplay(&p.m.Header, l.Seed))
}

// SweepReplay is the command that repeats one run of a sweep.
func SweepReplay(h *sweep.Header, seed uint64) string {
	return fmt.Sprintf("%s --seed %d", h.Replay, seed)
}

func orNone(words []string) string {
	if len(words) == 0 {
		return "none"
	}
	return strings.Join(words, ", ")
}

func (p *sweepPrinter) lines(list []string) {
	for _, l := range list {
		p.printf("%s\n", l)
	}
}

// saturation says whether more seeds may find more.
func (p *sweepPrinter) saturation() {
	curve := p.m.Saturation()
	if len(curve) < 3 {
		return
	}
	last := curve[len(curve)-2]
	p.printf("\nsaturation   the last new finding came after %s of %s\n", count(int64(last.Runs)), plural(int64(p.totals.Runs), "seed"))
}

func (p *sweepPrinter) probes() {
	if p.totals.Runs == 0 {
		return
	}
	p.head("probes")
	t := Table{Columns: []Column{{Name: "rare state"}, {Name: "seeds", Right: true}, {Name: "of all", Right: true}, {Name: "hits", Right: true}}}
	for _, x := range p.totals.Probes {
		t.Rows = append(t.Rows, []string{x.Name, count(int64(x.Runs)), percent(x.Runs, p.totals.Runs), count(x.Hits)})
	}
	for _, name := range unreached(&p.totals) {
		t.Rows = append(t.Rows, []string{name, "never", "-", "0"})
	}
	p.table(t)
}

// unreached lists the probes that no run of the sweep reached.
func unreached(t *sweep.Totals) (names []string) {
	for _, x := range cluster.Probes() {
		if !slices.ContainsFunc(t.Probes, func(p sweep.ProbeTotal) bool { return p.Name == x.Name }) {
			names = append(names, x.Name)
		}
	}
	return names
}

// canary tells whether a bug that was put in was seen.
func (p *sweepPrinter) canary() {
	switch c := p.o.Canary; {
	case c == nil:
	case c.Missed != "":
		p.printf("\ncanary       MISSED: a run with %s on (bugs/%s, seed %d) did not violate %s: %s\n", c.Bug, c.Bug, c.Seed, c.Invariant, c.Missed)
	default:
		p.printf("\ncanary       %s, put into a run of its own, was caught by %s\n", c.Bug, c.Invariant)
	}
}

func (p *sweepPrinter) foot() {
	if len(p.o.Files) > 0 {
		p.printf("\n")
	}
	for _, f := range p.o.Files {
		p.printf("files        %s\n", f)
	}
}

// percent prints a share with two digits after the point, rounded half up.
func percent(part, all uint64) string {
	if all == 0 {
		return "-"
	}
	v := (part*20_000 + all) / (2 * all)
	if v == 0 && part > 0 {
		return "<0.01%"
	}
	return fmt.Sprintf("%d.%02d%%", v/100, v%100)
}
