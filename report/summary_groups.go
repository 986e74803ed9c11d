package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/outcome"
)

// maxRebalances is how many rows the table of rebalances has.
const maxRebalances = 12

// groups prints each consumer group: its rebalances, and what became of its partitions.
func (p *printer) groups() {
	for i := range p.r.Groups {
		g := &p.r.Groups[i]
		p.head("group " + g.ID)
		p.printf("  processed %s, again %s, skipped %s\n", count(g.Processed), count(g.Duplicates), count(g.Skipped))
		p.groupOddities(g)
		p.rebalances(g)
		if len(g.Partitions) > 0 {
			p.printf("\n")
			p.groupPartitions(g)
		}
	}
}

// groupOddities tells what seldom happens.
func (p *printer) groupOddities(g *outcome.Group) {
	var parts []string
	for _, x := range []struct {
		n          int64
		noun, what string
	}{{g.Refused, "commit", "refused: no member any more"}, {g.Regressions, "committed offset", "went back"}, {g.Expired, "committed offset", "expired"}} {
		if x.n > 0 {
			parts = append(parts, plural(x.n, x.noun)+" "+x.what)
		}
	}
	if parts != nil {
		p.printf("  %s\n", p.style.warn(strings.Join(parts, ", ")))
	}
}

func (p *printer) rebalances(g *outcome.Group) {
	if len(g.Rebalances) == 0 {
		return
	}
	t := Table{Columns: []Column{{Name: "rebalance", Right: true}, {Name: "took", Right: true}, {Name: "gen", Right: true}, {Name: "moved", Right: true},
		{Name: "unowned", Right: true}, {Name: "find", Right: true}, {Name: "join", Right: true}, {Name: "sync", Right: true}, {Name: "cause", Wrap: true}}}
	for i := range g.Rebalances[:min(len(g.Rebalances), maxRebalances)] {
		r := &g.Rebalances[i]
		took, generation := "-", "-"
		if r.To >= 0 {
			took = span(r.To - r.From)
		}
		if r.Generation >= 0 {
			generation = fmt.Sprint(r.Generation)
		}
		t.Rows = append(t.Rows, []string{moment(r.From), took, generation, fmt.Sprint(r.Moved), waited(r.Unowned), waited(r.Find), waited(r.Join), waited(r.Sync), r.Cause})
	}
	p.table(t)
	if n := len(g.Rebalances); n > maxRebalances {
		p.printf("  the first %d of %d rebalances; result.json has all\n", maxRebalances, n)
	}
}

// waited is a wait that may not have been.
func waited(d kafka.Nanos) string {
	if d == 0 {
		return "-"
	}
	return span(d)
}

func (p *printer) groupPartitions(g *outcome.Group) {
	list := slices.Clone(g.Partitions)
	if len(list) > maxPartitions {
		slices.SortStableFunc(list, worseInGroup)
		list = list[:maxPartitions]
	}
	t := Table{Columns: []Column{{Name: "partition", Tail: true}, {Name: "owner"}, {Name: "committed", Right: true}, {Name: "unowned", Right: true}, {Name: "longest", Right: true},
		{Name: "two owners", Right: true}, {Name: "again", Right: true}, {Name: "skipped", Right: true}}}
	for i := range list {
		x := &list[i]
		owner, committed := either(x.Owner == "", "none", x.Owner), "-"
		if x.Committed >= 0 {
			committed = count(int64(x.Committed))
		}
		sum, longest := intervalSum(x.Unowned)
		twice, _ := intervalSum(x.Overlaps)
		t.Rows = append(t.Rows, []string{x.TP.String(), owner, committed, span(sum), span(longest), span(twice), count(x.Duplicates), count(x.Skipped)})
	}
	p.table(t)
	if n := len(g.Partitions); n > maxPartitions {
		p.printf("  the worst %d of %d; result.json has all\n", maxPartitions, n)
	}
}

// intervalSum is the sum of intervals and the longest one.
func intervalSum(list []outcome.Interval) (sum, longest kafka.Nanos) {
	for _, x := range list {
		sum += x.To - x.From
		longest = max(longest, x.To-x.From)
	}
	return sum, longest
}

func worseInGroup(a, b outcome.GroupPartition) int {
	x, _ := intervalSum(a.Unowned)
	y, _ := intervalSum(b.Unowned)
	return cmp.Or(cmp.Compare(b.Skipped, a.Skipped), cmp.Compare(y, x), cmp.Compare(b.Duplicates, a.Duplicates), a.TP.Compare(b.TP))
}

// WriteGroups prints groups at one moment, as kafka-consumer-groups --describe does.
func WriteGroups(w io.Writer, groups []outcome.GroupState, at kafka.Nanos) error {
	var b strings.Builder
	if len(groups) == 0 {
		fmt.Fprintf(&b, "No consumer group has a coordinator at %s.\n", moment(at))
	}
	for i := range groups {
		writeGroup(&b, &groups[i], i > 0)
	}
	return put(w, b.String())
}

// describeColumns are those of the tool, with the least widths that it gives them.
var describeColumns = [...]struct {
	name  string
	width int
}{{"GROUP", 15}, {"TOPIC", 15}, {"PARTITION", 10}, {"CURRENT-OFFSET", 15}, {"LOG-END-OFFSET", 15}, {"LAG", 15}, {"CONSUMER-ID", 15}, {"HOST", 15}, {"CLIENT-ID", 0}}

func writeGroup(b *strings.Builder, g *outcome.GroupState, more bool) {
	if more {
		b.WriteByte('\n')
	}
	switch g.State {
	case "Empty":
		fmt.Fprintf(b, "Consumer group '%s' has no active members.\n", g.ID)
	case "PreparingRebalance", "CompletingRebalance":
		fmt.Fprintf(b, "Warning: Consumer group '%s' is rebalancing.\n", g.ID)
	case "Dead":
		fmt.Fprintf(b, "Consumer group '%s' does not exist.\n", g.ID)
	}
	rows := [][]string{nil}
	for i := range g.Rows {
		rows = append(rows, describeRow(g.ID, &g.Rows[i]))
	}
	widths := make([]int, len(describeColumns))
	for i, c := range describeColumns {
		rows[0] = append(rows[0], c.name)
		for _, r := range rows {
			widths[i] = max(widths[i], c.width, displayWidth(r[i]))
		}
	}
	for _, r := range rows {
		line := ""
		for i, cell := range r {
			line += padRight(cell, widths[i]) + " "
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}

func describeRow(id string, r *outcome.GroupRow) []string {
	dash := func(s string) string { return either(s == "", "-", s) }
	number := func(o kafka.Offset) string {
		if o < 0 {
			return "-"
		}
		return fmt.Sprint(o)
	}
	partition, lag := "-", "-"
	if r.TP.Topic != "" {
		partition = fmt.Sprint(r.TP.Partition)
	}
	if r.Committed >= 0 && r.LogEnd >= 0 {
		lag = fmt.Sprint(r.LogEnd - r.Committed)
	}
	return []string{id, dash(r.TP.Topic), partition, number(r.Committed), number(r.LogEnd), lag, dash(r.MemberID), dash(r.Host), dash(r.Client)}
}
