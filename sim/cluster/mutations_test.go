package cluster

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/simkafka/simkafka/model/outcome"
	"github.com/simkafka/simkafka/model/quirk"
	"github.com/simkafka/simkafka/scenarios"
)

// mutationScenarios has the world in which each mutation is tried: a file of
// testdata/mutations, or a built-in scenario.
var mutationScenarios = map[quirk.ID]string{
	quirk.HWAsMax:             "one-follower-behind.yaml",
	quirk.HWAsMedian:          "one-follower-behind.yaml",
	quirk.JoinIneligible:      "unregistered-follower.yaml",
	quirk.AnyLeaderEpoch:      "a-13-same-epoch-twice",
	quirk.EpochsKeptBehindCut: "epoch-without-a-trace.yaml",
	quirk.StateWrittenBlindly: "a-11-deposed-controller",
	quirk.AlterByAnyEpoch:     "bugs/KAFKA-14144",
	quirk.AlterAnyVersion:     "bugs/KAFKA-14144",
	quirk.UncleanKeepsISR:     "unclean-election",
	quirk.FetchAnyEpoch:       "bugs/KAFKA-7395",
}

func mutationSpec(t *testing.T, id quirk.ID, on quirk.Set) *scenarios.Spec {
	t.Helper()
	name := mutationScenarios[id]
	e, ok := scenarios.Builtin(name)
	if !ok {
		text, err := os.ReadFile(filepath.Join("testdata", "mutations", name))
		if err != nil {
			t.Fatal(err)
		}
		e = scenarios.Entry{File: name, Text: string(text)}
	}
	spec := parse(t, e.File, e.Text)
	spec = spec.WithoutQuirks()
	spec.Quirks = on
	return spec
}

func breaks(r *outcome.Result) (names []string) {
	for i := range r.Violations {
		if n := r.Violations[i].Invariant; !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	return names
}

// TestMutationsAreKilled takes out each rule of cluster 10.6 that is no historical bug:
// the named invariant fails with the mutation, and none without it. Those that other
// rules hide are the equivalent mutants: they stay silent, and so does each half of a
// pair.
func TestMutationsAreKilled(t *testing.T) {
	killed := 0
	for _, m := range quirk.Mutations() {
		t.Run(strings.TrimPrefix(m.Key, "mutation/"), func(t *testing.T) {
			if got := breaks(runSpec(t, mutationSpec(t, m.ID, quirk.Set{}), 1)); len(got) > 0 {
				t.Fatalf("without it: %v", got)
			}
			got := breaks(runSpec(t, mutationSpec(t, m.ID, m.On()), 1))
			if m.Invariant == "" {
				if len(got) > 0 {
					t.Errorf("it is not silent: %v", got)
				}
				return
			}
			killed++
			if !slices.Contains(got, m.Invariant) {
				t.Errorf("with %s: %v, not %s", m.On(), got, m.Invariant)
			}
			if len(m.With) == 0 {
				return
			}
			for _, half := range []quirk.Set{quirk.Of(m.ID), quirk.Of(m.With...)} {
				if got := breaks(runSpec(t, mutationSpec(t, m.ID, half), 1)); len(got) > 0 {
					t.Errorf("%s alone: %v", half, got)
				}
			}
		})
	}
	if killed < 5 {
		t.Errorf("%d mutations were killed", killed)
	}
}
