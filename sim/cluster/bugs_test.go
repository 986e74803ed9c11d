package cluster

import (
	"slices"
	"strings"
	"testing"

	"github.com/simkafka/simkafka/model/outcome"
	"github.com/simkafka/simkafka/model/quirk"
	"github.com/simkafka/simkafka/scenarios"
)

func bugScenario(t *testing.T, b quirk.Bug) *scenarios.Spec {
	t.Helper()
	e, ok := scenarios.BugScenario(b)
	if !ok {
		t.Fatalf("%s has no scenario", b.Key)
	}
	return parse(t, e.File, e.Text)
}

func runSpec(t *testing.T, spec *scenarios.Spec, seed uint64) *outcome.Result {
	t.Helper()
	r, err := Run(spec, Options{Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range r.Warnings {
		t.Errorf("seed %d: %s", seed, w) // a fault that never fired tells another story
	}
	return r
}

// TestEachBugIsSeenAndItsAbsenceIsNot runs the scenario of every historical bug: with
// the bug exactly the invariants that the file names are violated, that of the table
// among them; without it nothing is.
func TestEachBugIsSeenAndItsAbsenceIsNot(t *testing.T) {
	for _, b := range quirk.All() {
		t.Run(b.Key, func(t *testing.T) {
			spec := bugScenario(t, b)
			if spec.Quirks != b.On() {
				t.Errorf("the scenario has %s on, the table wants %s", spec.Quirks, b.On())
			}
			if !slices.Contains(spec.Expect.Violated, b.Invariant) {
				t.Errorf("the scenario expects %v, the table %s", spec.Expect.Violated, b.Invariant)
			}
			if r := runSpec(t, spec, 1); r.Verdict != outcome.Pass {
				t.Errorf("with it: %s", strings.Join(r.Why, "\n"))
			}
			if r := runSpec(t, spec.WithoutQuirks(), 1); r.Verdict != outcome.Pass || len(r.Violations) > 0 {
				t.Errorf("without it: %s", strings.Join(r.Why, "\n"))
			}
		})
	}
}

// TestMaskedBugsAloneAreSilent: a rule that another one hides can be removed without
// a violation, in the very scenario in which the pair is seen (bugs.md 2.1 d).
func TestMaskedBugsAloneAreSilent(t *testing.T) {
	masked := 0
	for _, b := range quirk.All() {
		if !b.Masked {
			continue
		}
		masked++
		spec := bugScenario(t, b).WithoutQuirks()
		spec.Quirks = quirk.Of(b.ID)
		if r := runSpec(t, spec, 1); len(r.Violations) > 0 {
			t.Errorf("%s alone: %s", b.Key, strings.Join(r.Why, "\n"))
		}
	}
	if masked == 0 {
		t.Error("no pair was tested")
	}
}

func TestQuirksAreInTheResultAndPrintBack(t *testing.T) {
	spec := bugScenario(t, quirk.ReadToLogEnd.Bug())
	again, err := scenarios.Load("again.yaml", []byte(spec.YAML()), nil)
	if err != nil || again.Quirks != spec.Quirks {
		t.Fatalf("prints as %s (%v)", again.Quirks, err)
	}
	if r := runSpec(t, spec, 1); !slices.Equal(r.Quirks, []string{"KAFKA-727"}) {
		t.Errorf("the result tells %v", r.Quirks)
	}
}
