package sweep

import (
	"fmt"
	"slices"

	"github.com/simkafka/simkafka/model/outcome"
	"github.com/simkafka/simkafka/model/quirk"
	"github.com/simkafka/simkafka/scenarios"
	"github.com/simkafka/simkafka/sim/cluster"
)

// Canary is the run of a world with a known bug that every process of a sweep makes: a
// sweep that cannot see a bug that is there proves nothing by seeing none (interface
// 4.3). It is no run of the sweep and in none of its files.
type Canary struct {
	Bug       string // key of the bug
	Seed      uint64
	Invariant string // that must fail
	// Missed says why it was not caught; "" if it was.
	Missed string
}

// canaries are bugs whose scenarios show them under every seed.
var canaries = [...]quirk.ID{quirk.ReadToLogEnd, quirk.HWBelowMinISR, quirk.EmptyISR, quirk.HWIgnoresLeaving}

// canaryRun is the number of the run whose seed a canary takes; no sweep gets there.
const canaryRun = 1<<64 - 1

// RunCanary runs the canary of a plan; simulate is cluster.Run if nil.
func RunCanary(plan *Plan, simulate Simulate) Canary {
	if simulate == nil {
		simulate = cluster.Run
	}
	seed := Seed(plan.Root, plan.Source.Digest(), canaryRun)
	bug := canaries[seed%uint64(len(canaries))].Bug()
	c := Canary{Bug: bug.Key, Seed: seed, Invariant: bug.Invariant}
	spec, err := canarySpec(bug)
	if err != nil {
		c.Missed = err.Error()
		return c
	}
	s := &sweep{opts: Options{Simulate: simulate}}
	switch r, trouble := s.run(spec, cluster.Options{Seed: seed}); {
	case trouble != nil:
		c.Missed = trouble.what
	case r.Verdict != outcome.Violated || !slices.ContainsFunc(r.Violations, func(v outcome.Violation) bool { return v.Invariant == c.Invariant }):
		c.Missed = fmt.Sprintf("the verdict is %s, without a violation of %s", r.Verdict, c.Invariant)
	}
	return c
}

// canarySpec is the scenario of a bug, with the bug, which does not expect it.
func canarySpec(bug quirk.Bug) (*scenarios.Spec, error) {
	e, ok := scenarios.BugScenario(bug)
	if !ok {
		return nil, fmt.Errorf("%s has no scenario", bug.Key)
	}
	spec, err := scenarios.Load(e.File, []byte(e.Text), scenarios.LibrarySource)
	if err != nil {
		return nil, err
	}
	spec = spec.WithoutQuirks()
	spec.Quirks = bug.On()
	return spec, nil
}
