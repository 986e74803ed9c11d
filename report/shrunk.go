package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/simkafka/simkafka/sim/explain"
	"github.com/simkafka/simkafka/sim/shrink"
)

// ShrunkFile is the shrunk scenario in a failing seed's directory.
const ShrunkFile = "shrunk.yaml"

// ShrunkStory is how many facts the comment on top of it tells.
const ShrunkStory = 14

// commentWidth is the width of the comment on top of a shrunk scenario.
const commentWidth = 100

// WriteShrunk writes a shrunk scenario with a comment on top that says what happens.
// replay is the command that runs it. story may be nil.
func WriteShrunk(w io.Writer, s *shrink.Shrunk, story *explain.Story, replay string) error {
	var b strings.Builder
	say := func(text string) {
		for _, l := range Wrap(text, commentWidth-2) {
			b.WriteString("# " + l + "\n")
		}
	}
	say(fmt.Sprintf("%s fails at %s: %s.", s.Target, moment(s.Target.At), shortMembers(s.Target.What)))
	if story != nil && len(story.Chain) > 0 {
		b.WriteString("#\n# What happens:\n#\n")
		for i := range story.Chain {
			r := chainOf(story, i)
			b.WriteString(strings.TrimRight(clip(fmt.Sprintf("#   %s  %s  %s", padLeft(r.at, 8), padRight(r.node, 9), r.what), commentWidth), " ") + "\n")
		}
	}
	b.WriteString("#\n")
	say(fmt.Sprintf("Shrunk in %s from %s.", plural(int64(s.Runs), "run"), sizeText(s.From)))
	b.WriteString("# Run it with: " + replay + "\n#\n")
	b.WriteString(s.Spec.YAML())
	return put(w, b.String())
}

func sizeText(z shrink.Size) string {
	return strings.Join([]string{plural(int64(z.Faults), "fault"), plural(int64(z.Brokers), "broker"), plural(int64(z.Partitions), "partition"),
		plural(int64(z.Clients), "client"), plural(z.Operations, "record"), plural(int64(z.Settings), "setting"), span(z.Duration)}, ", ")
}

// WriteShrinking says what shrinking has brought: sizes before and after, where the result
// is and how to run it.
func WriteShrinking(w io.Writer, s *shrink.Shrunk, file, replay string, style Style) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s  seed %d\n", style.bad("SHRUNK"), s.Spec.Name, s.Seed)
	for i, l := range Wrap(fmt.Sprintf("%s at %s: %s", s.Target, moment(s.Target.At), shortMembers(s.Target.What)), style.width()-12) {
		b.WriteString(either(i == 0, "  fails     ", "            ") + l + "\n")
	}
	b.WriteString("\n")
	t := Table{Columns: []Column{{Name: ""}, {Name: "before"}, {Name: "after"}}}
	row := func(name, before, after string) { t.Rows = append(t.Rows, []string{name, before, after}) }
	n := func(v int) string { return count(int64(v)) }
	row("faults", n(s.From.Faults), n(s.To.Faults))
	row("brokers", n(s.From.Brokers), n(s.To.Brokers))
	row("partitions", n(s.From.Partitions), n(s.To.Partitions))
	row("clients", n(s.From.Clients), n(s.To.Clients))
	row("records sent", count(s.From.Operations), count(s.To.Operations))
	row("settings", n(s.From.Settings), n(s.To.Settings))
	row("duration", span(s.From.Duration), span(s.To.Duration))
	row("events", count(int64(s.From.Events)), count(int64(s.To.Events)))
	if err := t.Write(&b, style); err != nil {
		return err
	}
	ended := ""
	if s.Ended != "" {
		ended = ", ended " + s.Ended
	}
	fmt.Fprintf(&b, "\n  search    %s%s\n", plural(int64(s.Runs), "run"), ended)
	if file != "" {
		fmt.Fprintf(&b, "  file      %s\n", file)
	}
	fmt.Fprintf(&b, "  replay    %s\n", replay)
	return put(w, b.String())
}
