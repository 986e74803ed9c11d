package report

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/simkafka/simkafka/model/outcome"
	"github.com/simkafka/simkafka/sim/diff"
	"github.com/simkafka/simkafka/sim/kernel"
)

// neighbours is how many events around the first difference are shown.
const neighbours = 3

// WriteDiff says where two runs part: the first event that differs, with what comes before
// it in both and after it in each, in the lines of the text trace with steps.
func WriteDiff(w io.Writer, a, b diff.Run, d *diff.Difference, s Style) error {
	if d.Event == 0 {
		return put(w, fmt.Sprintf("%s  %s, fingerprint %s\n", s.good("equal"), plural(int64(d.A.Events), "event"), d.A.Fingerprint))
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%s  at event %s\n\n", s.bad("differ"), count(int64(d.Event)))
	out.WriteString(diffSide("A", d.A) + diffSide("B", d.B))
	before, err := windowLines(a, d.Event-min(neighbours, d.Event-1), d.Event-1)
	if err != nil {
		return err
	}
	fmt.Fprintf(&out, "\nequal up to event %s\n", count(int64(d.Event)-1))
	for _, l := range before {
		out.WriteString("    " + l + "\n")
	}
	for _, side := range []struct {
		name string
		run  diff.Run
		r    *outcome.Result
	}{{"A", a, d.A}, {"B", b, d.B}} {
		lines, err := windowLines(side.run, d.Event, d.Event+neighbours)
		if err != nil {
			return err
		}
		fmt.Fprintf(&out, "\n%s from there on\n", side.name)
		if len(lines) == 0 {
			fmt.Fprintf(&out, "  %s has ended: %s\n", side.name, plural(int64(side.r.Events), "event"))
		}
		for _, l := range lines {
			fmt.Fprintf(&out, "  %s %s\n", side.name, l)
		}
	}
	return put(w, out.String())
}

func diffSide(name string, r *outcome.Result) string {
	return fmt.Sprintf("  %s  %s, seed %d, %s: %s, %s, fingerprint %s\n", name, r.Scenario, r.Seed, r.Protocol, r.Verdict,
		plural(int64(r.Events), "event"), r.Fingerprint)
}

// windowLines are the trace's lines of some events.
func windowLines(r diff.Run, from, to uint64) ([]string, error) {
	if to < from || to == 0 {
		return nil, nil
	}
	var b bytes.Buffer
	t := NewTrace(&b)
	err := diff.Window(r, from, to, t, func(name func(kernel.ActorID) string) { t.Name = name })
	if errors.Is(err, diff.ErrNone) {
		return nil, nil
	}
	if err := errors.Join(err, t.Flush()); err != nil {
		return nil, err
	}
	return strings.Split(strings.TrimRight(b.String(), "\n"), "\n"), nil
}
