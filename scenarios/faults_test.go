package scenarios

import (
	"strings"
	"testing"

	"github.com/simkafka/simkafka/faults"
)

func withEvent(line string) string {
	head, _, _ := strings.Cut(good, "events:")
	return head + "events:\n  - " + line + "\n"
}

// Every example of the faults' table loads as it stands, is of that kind, and
// prints back to itself.
func TestEveryFaultExampleLoadsAndPrintsBack(t *testing.T) {
	for _, k := range faults.Table {
		text := strings.NewReplacer("at: 30s", "at: 29s", "at: 40s", "at: 29s").Replace(k.Example)
		s := mustLoad(t, withEvent(text))
		if w := s.Events[0].Fault.Word(); w != k.Word {
			t.Errorf("the example of %s is a %s", k.Word, w)
		}
		again := mustLoad(t, withEvent("{"+eventText(&s.Events[0])+"}"))
		if a, b := again.Events[0].Fault.String(), s.Events[0].Fault.String(); a != b {
			t.Errorf("%s prints as %s", b, a)
		}
	}
}

// A fault rebound to other nodes keeps everything else.
func TestRebindChangesSelectorsOnly(t *testing.T) {
	to := faults.Selector{Role: faults.ByName, Name: "broker-9"}
	for _, k := range faults.Table {
		f := mustLoad(t, withEvent(strings.NewReplacer("at: 30s", "at: 29s", "at: 40s", "at: 29s").Replace(k.Example))).Events[0].Fault
		moved := faults.Rebind(f, func(faults.Selector) faults.Selector { return to })
		if moved.Word() != f.Word() || len(moved.Selectors()) != len(f.Selectors()) {
			t.Errorf("%s became %s", f, moved)
		}
		for _, s := range moved.Selectors() {
			if s != to {
				t.Errorf("%s still names %s", moved, s)
			}
		}
		want := f.String()
		for _, s := range f.Selectors() {
			want = strings.ReplaceAll(want, s.String(), "broker-9")
		}
		if moved.String() != want {
			t.Errorf("%s, want %s", moved, want)
		}
	}
}
