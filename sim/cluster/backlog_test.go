package cluster

import (
	"reflect"
	"testing"

	"github.com/simkafka/simkafka/model/event"
)

// What the checks find does not depend on when they see a fact.
func TestChecksFindTheSameWhenFactsWait(t *testing.T) {
	for _, name := range []string{"a-02-power-loss-divergence", "killed-consumer"} {
		late, err := New(builtin(t, name), Options{Seed: 3, Series: true})
		if err != nil {
			t.Fatal(err)
		}
		prompt, err := New(builtin(t, name), Options{Seed: 3, Series: true})
		if err != nil {
			t.Fatal(err)
		}
		prompt.checkPromptly()
		if a, b := late.Run(), prompt.Run(); !reflect.DeepEqual(a, b) {
			t.Errorf("%s: %d violations, verdict %s; of facts that did not wait %d and %s", name, len(a.Violations), a.Verdict, len(b.Violations), b.Verdict)
		}
	}
}

// Violations are asked for while a run goes on: what waits is looked at then.
func TestViolationsAreKnownWhenAskedFor(t *testing.T) {
	c, err := New(builtin(t, "w1"), Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	c.catchUp()
	c.Event(&event.Event{Kind: event.Probe, Text: "asked"})
	if c.backlog.n != 1 {
		t.Fatalf("%d facts wait", c.backlog.n)
	}
	c.Violations()
	if c.backlog.n != 0 {
		t.Errorf("%d facts wait", c.backlog.n)
	}
}
