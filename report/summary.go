package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/outcome"
)

// SummaryOptions are what a summary may say beside the result.
type SummaryOptions struct {
	Style
	// Replay is the command line that repeats the run, without --until; "" leaves
	// replay lines out.
	Replay string
	// Out is where the files went, as the user should see it; "" = nowhere.
	Out string
}

// WriteSummary prints a result for people. Equal results give equal bytes: no
// wall-clock time and no machine path enters.
func WriteSummary(w io.Writer, r *outcome.Result, o SummaryOptions) error {
	p := &printer{w: w, r: r, style: o.Style, o: o}
	p.title()
	p.violations()
	p.faults()
	p.warnings()
	p.records()
	p.latencies()
	p.partitions()
	p.groups()
	p.loss()
	p.invariants()
	p.expectations()
	p.timelineSection()
	p.notes()
	p.foot()
	return p.err
}

// WriteVerdict prints the first line of the summary, and why the verdict is not pass.
func WriteVerdict(w io.Writer, r *outcome.Result, s Style) error {
	p := &printer{w: w, r: r, style: s, brief: true}
	p.title()
	return p.err
}

// printer writes the sections of a summary and keeps the first error.
type printer struct {
	w     io.Writer
	r     *outcome.Result
	style Style
	o     SummaryOptions
	brief bool // no stories follow
	err   error
}

func (p *printer) printf(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

func (p *printer) head(name string) { p.printf("\n%s\n", p.style.Bold(name)) }

func (p *printer) table(t Table) {
	t.Indent = "  "
	if p.err == nil {
		p.err = t.Write(p.w, p.style)
	}
}

// wrapped prints a paragraph: first before its first line, indent before the others.
func (p *printer) wrapped(first, indent, text string) {
	width := p.style.width()
	for _, l := range wrap(text, width-displayWidth(first), width-displayWidth(indent)) {
		p.printf("%s%s\n", first, l)
		first = indent
	}
}

// Wrap breaks text at blanks; a longer word stands alone.
func Wrap(text string, width int) []string { return wrap(text, width, width) }

// wrap breaks text at blanks where the first line has another width than the rest.
func wrap(text string, width, rest int) []string {
	var lines []string
	cur := ""
	for _, word := range strings.Fields(text) {
		switch {
		case cur == "":
			cur = word
		case displayWidth(cur)+1+displayWidth(word) > width:
			lines = append(lines, cur)
			cur, width = word, rest
		default:
			cur += " " + word
		}
	}
	return append(lines, cur)
}

// verdictWords are what the first line shouts.
var verdictWords = []struct {
	verdict outcome.Verdict
	word    string
}{{outcome.Pass, "PASS"}, {outcome.Violated, "FAIL"}, {outcome.Inconclusive, "INCONCLUSIVE"}, {outcome.Error, "ERROR"}}

func (p *printer) verdict() string {
	for _, v := range verdictWords {
		if v.verdict != p.r.Verdict {
			continue
		}
		switch v.verdict {
		case outcome.Pass:
			return p.style.good(v.word)
		case outcome.Inconclusive:
			return p.style.warn(v.word)
		}
		return p.style.bad(v.word)
	}
	return string(p.r.Verdict)
}

func (p *printer) title() {
	r := p.r
	head := fmt.Sprintf("%s  %s  ", p.verdict(), p.style.Bold(r.Scenario))
	protocol := r.Protocol
	if len(r.Quirks) > 0 {
		protocol += " with " + strings.Join(r.Quirks, ", ")
	}
	run := fmt.Sprintf("seed %d  %s  engine %d  virtual %s", r.Seed, protocol, r.Engine, span(r.End))
	if displayWidth(head)+len(run) > p.style.width() {
		head = strings.TrimRight(head, " ") + "\n  "
	}
	p.printf("%s%s\n", head, run)
	for _, why := range r.Why {
		if p.brief || !p.told(why) {
			p.wrapped("  ", "    ", why)
		}
	}
	if len(r.Why) == 0 && r.Loss.Records > 0 {
		p.printf("  expected loss: %s, which the configuration allows\n", plural(r.Loss.Records, "record"))
	}
}

// told reports whether a violation's story says the same as a reason.
func (p *printer) told(why string) bool {
	for i := range p.r.Violations {
		if strings.HasPrefix(why, p.r.Violations[i].Invariant+" is violated at ") {
			return true
		}
	}
	return false
}

// maxFaults is how many rows the table of faults has.
const maxFaults = 12

func (p *printer) faults() {
	if len(p.r.Faults) == 0 {
		return
	}
	p.head("faults")
	t := Table{Columns: []Column{{Name: "#", Right: true}, {Name: "from", Right: true}, {Name: "for", Right: true}, {Name: "fault", Wrap: true}, {Name: "hit", Wrap: true}}}
	for _, f := range p.r.Faults[:min(len(p.r.Faults), maxFaults)] {
		length := "-"
		if f.To > f.From {
			length = span(f.To - f.From)
		}
		t.Rows = append(t.Rows, []string{fmt.Sprint(f.Index + 1), moment(f.From), length, f.Text, f.Hit})
	}
	p.table(t)
	if n := len(p.r.Faults); n > maxFaults {
		p.printf("  the first %d of %d; result.json has all\n", maxFaults, n)
	}
}

func (p *printer) records() {
	c := &p.r.Records
	p.head("records")
	p.table(Table{
		Columns: []Column{{Name: "sent", Right: true}, {Name: "acked", Right: true}, {Name: "failed", Right: true}, {Name: "unknown", Right: true}, {Name: "delivered", Right: true},
			{Name: "duplicated", Right: true}, {Name: "lost", Right: true}},
		Rows: [][]string{{count(c.Sent), count(c.Acked), count(c.Failed), count(c.Unknown), count(c.Delivered), count(c.Duplicated), count(c.Lost)}},
	})
	if c.Expired > 0 {
		p.printf("  deleted: retention or DeleteRecords has taken %s that %s acknowledged\n", count(c.Expired), either(c.Expired == 1, "was", "were"))
	}
	if c.Unknown > 0 {
		p.printf("  unknown: failed, but may be in the log; %s found in the final logs\n", count(c.UnknownPresent))
	}
}

func (p *printer) latencies() {
	if len(p.r.Phases) == 0 {
		return
	}
	p.head("latency")
	t := Table{Columns: []Column{{Name: "phase"}, {Name: "from", Right: true, Drop: 1}, {}, {Name: "records", Right: true}, {Name: "p50", Right: true},
		{Name: "p95", Right: true}, {Name: "p99", Right: true}, {Name: "p99.9", Right: true}, {Name: "max", Right: true}}}
	for i := range p.r.Phases {
		ph := &p.r.Phases[i]
		t.Rows = append(t.Rows,
			append([]string{ph.Name, moment(ph.From), "produce"}, quantileCells(ph.Produce)...),
			append([]string{"", "", "e2e"}, quantileCells(ph.E2E)...))
	}
	p.table(t)
}

func quantileCells(q outcome.Quantiles) []string {
	if q.Count == 0 {
		return []string{"0", "-", "-", "-", "-", "-"}
	}
	return []string{count(q.Count), latency(q.P50), latency(q.P95), latency(q.P99), latency(q.P999), latency(q.Max)}
}

// maxPartitions is how many rows the partition table has.
const maxPartitions = 12

func (p *printer) partitions() {
	if len(p.r.Partitions) == 0 {
		return
	}
	p.head("partitions")
	list, internal := p.r.Partitions, []outcome.Partition(nil)
	if own := slices.DeleteFunc(slices.Clone(list), isInternal); len(own) > 0 { // else they are all there is
		internal = slices.DeleteFunc(slices.Clone(list), func(x outcome.Partition) bool { return !isInternal(x) })
		list = own
	}
	all := len(list)
	if all > maxPartitions {
		list = slices.Clone(list)
		slices.SortStableFunc(list, worseFirst)
		list = list[:maxPartitions]
	}
	t := Table{Columns: []Column{{Name: "partition", Tail: true}, {Name: "leader", Right: true}, {Name: "isr", Drop: 1}, {Name: "elections", Right: true},
		{Name: "unavailable", Right: true}, {Name: "leaderless", Right: true}, {Name: "under-repl.", Right: true}}}
	for i := range list {
		x := &list[i]
		elections := fmt.Sprint(x.Elections)
		if x.Unclean > 0 {
			elections = fmt.Sprintf("%d (%d unclean)", x.Elections, x.Unclean)
		}
		leader := "none"
		if x.Leader >= 0 {
			leader = fmt.Sprint(x.Leader)
		}
		t.Rows = append(t.Rows, []string{x.TP.String(), leader, nodes(x.ISR), elections, span(x.Unavailable),
			span(x.Leaderless), span(x.UnderReplicated)})
	}
	p.table(t)
	if all > maxPartitions {
		p.printf("  the worst %d of %d; result.json has all\n", maxPartitions, all)
	}
	p.internal(internal)
}

// isInternal tells Kafka's own partitions from those of the scenario.
func isInternal(x outcome.Partition) bool { return x.TP.Topic == offsetsTopic }

// internal tells how Kafka's own partitions fared, all in one line.
func (p *printer) internal(list []outcome.Partition) {
	if len(list) == 0 {
		return
	}
	elections, vacant, under := 0, kafka.Nanos(0), kafka.Nanos(0)
	for i := range list {
		x := &list[i]
		elections += x.Elections
		vacant, under = max(vacant, x.Leaderless), max(under, x.UnderReplicated)
	}
	p.wrapped("  ", "  ", fmt.Sprintf("and %s of %s: %s, leaderless %s at most, under-replicated %s; result.json has each",
		plural(int64(len(list)), "partition"), offsetsTopic, plural(int64(elections), "election"), span(vacant), span(under)))
}

// worseFirst orders partitions by what went wrong: no leader at the end,
// unavailable, leaderless, under-replicated, elections.
func worseFirst(a, b outcome.Partition) int {
	key := func(p *outcome.Partition) [6]int64 {
		none := int64(0)
		if p.Leader < 0 {
			none = 1
		}
		return [6]int64{none, int64(p.Unclean), int64(p.Unavailable), int64(p.Leaderless), int64(p.UnderReplicated), int64(p.Elections)}
	}
	x, y := key(&a), key(&b)
	for i := range x {
		if x[i] != y[i] {
			if x[i] > y[i] {
				return -1
			}
			return 1
		}
	}
	return a.TP.Compare(b.TP)
}

func (p *printer) loss() {
	l := &p.r.Loss
	if l.Records == 0 && len(l.Reasons) == 0 {
		return
	}
	p.head("expected loss")
	for _, r := range l.Reasons {
		p.wrapped(fmt.Sprintf("  %s: ", plural(r.Records, "record")), "      ", r.Text)
		if r.Example != "" {
			p.wrapped("    such as ", "      ", r.Example)
		}
	}
}
