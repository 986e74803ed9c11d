package cluster

import (
	"slices"
	"testing"

	"github.com/simkafka/simkafka/model/outcome"
)

// Every probe has a name of its own and words.
func TestProbesAreNamed(t *testing.T) {
	var names []string
	for _, p := range Probes() {
		if p.Name == "" || p.Words == "" {
			t.Errorf("%+v", p)
		}
		names = append(names, p.Name)
	}
	slices.Sort(names)
	if len(slices.Compact(names)) != len(Probes()) {
		t.Error("two probes have one name")
	}
}

// Rare states are counted where a scenario is about them, and not in a calm run.
func TestProbesCountRareStates(t *testing.T) {
	hit := func(r *outcome.Result, name string) int64 {
		for _, p := range r.Probes {
			if p.Name == name {
				return p.N
			}
		}
		return 0
	}
	for _, c := range []struct{ scenario, probe string }{
		{"a-01-truncate-to-hw", "truncated-below-own-high-watermark"},
		{"a-08-high-watermark-steps-back", "high-watermark-stepped-back"},
		{"a-09-fixed", "isr-below-minimum"},
		{"a-11-deposed-controller", "session-expired"},
		{"unclean-election", "unclean-election"},
		{"disk-full", "directory-offline"},
	} {
		if r := run(t, c.scenario, Options{Seed: 1}); hit(r, c.probe) == 0 {
			t.Errorf("%s does not reach %s: %v", c.scenario, c.probe, r.Probes)
		}
	}
	spec := parse(t, "calm.yaml", faultWorld)
	calm := runSpec(t, spec, 1)
	for _, p := range Probes() {
		if hit(calm, p.Name) > 0 {
			t.Errorf("a calm run reaches %s", p.Name)
		}
	}
}
