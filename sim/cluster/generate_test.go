package cluster

import (
	"testing"

	"github.com/simkafka/simkafka/model/outcome"
	"github.com/simkafka/simkafka/scenarios"
)

// Generated worlds run, end healed, converge, and violate nothing; and their faults
// do strike. A sweep runs many more.
func TestGeneratedWorldsKeepEveryInvariant(t *testing.T) {
	fired := 0
	for _, name := range []string{"swarm", "small"} {
		g, _ := scenarios.GeneratorByName(name)
		for seed := range uint64(3) {
			spec, err := g.Draw(seed)
			if err != nil {
				t.Fatal(err)
			}
			r, err := Run(spec, Options{Seed: seed})
			if err != nil {
				t.Fatalf("%s seed %d: %v", g.Name, seed, err)
			}
			if r.Verdict != outcome.Pass {
				t.Errorf("%s seed %d: %s %q", g.Name, seed, r.Verdict, r.Why)
			}
			fired += len(r.Faults)
		}
	}
	if fired == 0 {
		t.Error("no fault struck")
	}
}
