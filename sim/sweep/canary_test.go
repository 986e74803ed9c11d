package sweep

import (
	"strings"
	"testing"

	"github.com/simkafka/simkafka/model/outcome"
	"github.com/simkafka/simkafka/scenarios"
	"github.com/simkafka/simkafka/sim/cluster"
)

func canaryPlan(t *testing.T, root uint64) *Plan {
	t.Helper()
	spec, err := scenarios.Load("canary.yaml", []byte("apiVersion: simkafka/v1\nname: c\nduration: 4s\ncluster: {brokers: 1}\ntopics: [{name: t}]\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	return &Plan{Source: Scenario(spec), Root: root}
}

// Every canary is caught, whatever the root seed.
func TestCanariesAreCaught(t *testing.T) {
	seen := make(map[string]bool)
	for root := range uint64(12) {
		c := RunCanary(canaryPlan(t, root), nil)
		if c.Missed != "" {
			t.Errorf("root seed %d: %s, seed %d: %s", root, c.Bug, c.Seed, c.Missed)
		}
		seen[c.Bug] = true
	}
	if len(seen) < len(canaries) {
		t.Errorf("12 root seeds tried only %v", seen)
	}
}

// A simulator that sees nothing, or another bug, or fails, misses its canary.
func TestABlindSweepMissesItsCanary(t *testing.T) {
	blind := func(*scenarios.Spec, cluster.Options) (*outcome.Result, error) {
		return &outcome.Result{Verdict: outcome.Pass}, nil
	}
	if c := RunCanary(canaryPlan(t, 1), blind); !strings.Contains(c.Missed, "verdict is pass") {
		t.Errorf("missed: %q", c.Missed)
	}
	other := func(*scenarios.Spec, cluster.Options) (*outcome.Result, error) {
		return &outcome.Result{Verdict: outcome.Violated, Violations: []outcome.Violation{{Invariant: "no-phantom"}}}, nil
	}
	if c := RunCanary(canaryPlan(t, 1), other); c.Missed == "" {
		t.Error("a violation of something else counts")
	}
	broken := func(*scenarios.Spec, cluster.Options) (*outcome.Result, error) { panic("broken") }
	if c := RunCanary(canaryPlan(t, 1), broken); !strings.Contains(c.Missed, "broken") {
		t.Errorf("missed: %q", c.Missed)
	}
}
