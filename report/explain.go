package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/simkafka/simkafka/faults"
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/scenarios"
	"github.com/simkafka/simkafka/sim/explain"
)

// maxExplanation is the length of an explanation, in lines.
const maxExplanation = 40

// WriteExplanation tells what brought a violation about, in at most 40 lines of 80
// columns: what is violated, the faults that it needs, and the chain of facts from them to
// the violation, one a line.
func WriteExplanation(w io.Writer, s *explain.Story, style Style) error {
	var b strings.Builder
	b.WriteString(explainHead(s, style))
	if causes := causeLines(s.Causes); causes != nil {
		b.WriteString("\n" + strings.Join(causes, "\n") + "\n")
	}
	spare := maxExplanation - strings.Count(b.String(), "\n") - len(s.Chain) - 3 // blank, head, what is hidden
	if rows := chainLines(s, max(spare, 0), style); rows != nil {
		b.WriteString("\n" + strings.Join(rows, "\n") + "\n")
	}
	return put(w, b.String())
}

// maxWhat bounds the lines of the violation's own words.
const maxWhat = 3

func explainHead(s *explain.Story, style Style) string {
	head := s.Target.String()
	if tp := s.Target.TP; tp.Topic != "" {
		head += ", " + tp.String()
	}
	if s.Group != "" {
		head += ", group " + s.Group
	}
	if s.Offset >= 0 {
		head += fmt.Sprintf(", offset %d", s.Offset)
	}
	out := style.bad(clip(head+", at "+moment(s.Target.At), style.width())) + "\n"
	what := Wrap(shortMembers(s.Target.What), style.width()-2)
	if len(what) > maxWhat {
		what = append(what[:maxWhat-1:maxWhat-1], clip(strings.Join(what[maxWhat-1:], " "), style.width()-2))
	}
	for _, l := range what {
		out += "  " + l + "\n"
	}
	return out
}

// maxCauseLines bounds the needed causes that are named.
const maxCauseLines = 5

// causeLines names the causes: first those without which it does not happen.
func causeLines(causes []explain.Cause) []string {
	var needed, other []string
	for i := range causes {
		if causes[i].Needed {
			needed = append(needed, causeText(&causes[i]))
		} else {
			other = append(other, causeText(&causes[i]))
		}
	}
	var out []string
	if needed != nil {
		out = append(out, "needed: without any one of these it does not happen")
		if more := len(needed) - maxCauseLines; more > 0 {
			needed = append(needed[:maxCauseLines-1:maxCauseLines-1], fmt.Sprintf("and %d more", more+1))
		}
		for _, l := range needed {
			out = append(out, "  "+clip(l, defaultWidth-2))
		}
	}
	if len(other) > 0 {
		out = append(out, clip(fmt.Sprintf("not needed: %s", strings.Join(other, "; ")), defaultWidth))
	}
	return out
}

func causeText(c *explain.Cause) string {
	if c.Quirk != "" {
		return "the bug " + c.Quirk
	}
	if t := c.Fault.Trigger; t.On == nil && t.Disk == nil && t.Every == 0 {
		return moment(t.At) + " " + faultLine(c.Fault)
	}
	return scenarios.FaultName(c.Fault)
}

func faultLine(p *faults.Planned) string {
	text := p.Fault.String()
	switch {
	case p.For > 0:
		text += ", for " + faults.Duration(p.For)
	case p.RestartAfter > 0:
		text += ", restart after " + faults.Duration(p.RestartAfter)
	}
	return text
}

// whole are the facts whose text is not cut as long as there is room.
var whole = [event.NumKinds]bool{event.FaultStarted: true, event.DirectoryOffline: true, event.FetcherFailed: true, event.Assertion: true,
	event.GroupChanged: true, event.MemberRemoved: true, event.CoordinatorLost: true}

// chainRow is a line of the chain in columns.
type chainRow struct{ n, after, at, event, node, what string }

// chainLines are the chain; faults and the like may take spare more lines than one each.
func chainLines(s *explain.Story, spare int, style Style) []string {
	if len(s.Chain) == 0 {
		return nil
	}
	rows := []chainRow{{"", "after", "time", "event", "node", "what"}}
	for i := range s.Chain {
		rows = append(rows, chainOf(s, i))
	}
	widths := make([]int, 5)
	for _, r := range rows {
		for i, cell := range []string{r.n, r.after, r.at, r.event, r.node} {
			widths[i] = max(widths[i], displayWidth(cell))
		}
	}
	var out []string
	for i, r := range rows {
		head := fmt.Sprintf("%s  %s  %s  %s  %s  ", padLeft(r.n, widths[0]), padRight(r.after, widths[1]), padLeft(r.at, widths[2]),
			padLeft(r.event, widths[3]), padRight(r.node, widths[4]))
		room := max(20, style.width()-displayWidth(head))
		text := []string{clip(r.what, room)}
		if lines := Wrap(r.what, room); i > 0 && whole[s.Chain[i-1].Event.Kind] && len(lines) <= spare+1 {
			text, spare = lines, spare+1-len(lines)
		}
		for j, l := range text {
			if j > 0 {
				head = strings.Repeat(" ", displayWidth(head))
			}
			if i > 0 {
				l = markKind(style, s.Chain[i-1].Event.Kind, l)
			}
			out = append(out, strings.TrimRight(head+clip(l, room), " "))
		}
	}
	if s.Hidden > 0 {
		out = append(out, style.dim(plural(int64(s.Hidden), "lesser fact")+" of the chain not shown"))
	}
	return out
}

func padLeft(s string, width int) string {
	return strings.Repeat(" ", max(0, width-displayWidth(s))) + s
}

// maxAfter is how many lines a line names that it follows from.
const maxAfter = 2

func chainOf(s *explain.Story, i int) chainRow {
	l := &s.Chain[i]
	after := l.After
	if len(after) > maxAfter {
		after = after[len(after)-maxAfter:]
	}
	var names []string
	for _, j := range after {
		names = append(names, fmt.Sprint(j+1))
	}
	node := who(&l.Event)
	if node == "simulator" {
		node = "-"
	}
	what := linkPhrase(l)
	if say := groupPhrases[l.Event.Kind]; s.Group != "" && say != nil {
		what = say(l)
	}
	return chainRow{fmt.Sprint(i + 1), strings.Join(names, ","), moment(l.Event.Time), fmt.Sprintf("#%d", l.Event.Seq), clip(node, 10), what}
}

// had says what a replica has, as far as it is known.
func had(leo, hw kafka.Offset) string {
	switch {
	case leo < 0:
		return ""
	case hw < 0:
		return fmt.Sprintf("leo %d", leo)
	}
	return fmt.Sprintf("leo %d hw %d", leo, hw)
}
