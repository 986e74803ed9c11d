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

// A topic may be created again after an event has deleted it; else the administrator asks in
// vain, of which the reader is warned.
func TestATopicIsCreatedAgainAfterItsDeletion(t *testing.T) {
	s := mustLoad(t, withEvent("{at: 10s, delete_topic: orders}\n  - {at: 11s, create_topic: orders}"))
	if f, ok := s.Events[1].Fault.(faults.CreateTopic); !ok || f.Topic != "orders" || len(s.Warnings) != 0 {
		t.Errorf("%v, warnings %v", s.Events[1].Fault, s.Warnings)
	}
	if again := mustLoad(t, s.YAML()); again.Events[1].Fault != s.Events[1].Fault {
		t.Errorf("printed %v, loaded %v", s.Events[1].Fault, again.Events[1].Fault)
	}
	s = mustLoad(t, withEvent("{at: 11s, create_topic: orders}"))
	if len(s.Warnings) != 1 || !strings.Contains(s.Warnings[0], "no event deletes it") {
		t.Errorf("warnings %v", s.Warnings)
	}
	if drawn := mustLoad(t, strings.Replace(withEvent("{at: 11s, create_topic: orders}"), "events:", "chaos:\n  from: 5s\n  to: 20s\n  of:\n    - {delete_topic: orders}\nevents:", 1)); len(drawn.Warnings) != 0 {
		t.Errorf("warnings %v although the deletion may be drawn", drawn.Warnings)
	}
}
