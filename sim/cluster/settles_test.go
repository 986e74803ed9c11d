package cluster

import (
	"flag"
	"slices"
	"testing"

	"github.com/simkafka/simkafka/model/invariant"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/scenarios"
)

var settleSeeds = flag.Uint64("settle-seeds", 2, "random worlds of each generator of groups whose rest is measured")

// TestGroupsSettleWithinTheirBound measures which share of the bound of groups 6.5 groups
// need, from the last outside cause until nothing moves any more; README has the figures of
// a larger sweep (go test ./sim/cluster -run GroupsSettle -v -settle-seeds 100).
func TestGroupsSettleWithinTheirBound(t *testing.T) {
	var rests []invariant.Rest
	for _, name := range []string{"groups", "small-groups"} {
		g, _ := scenarios.GeneratorByName(name)
		for seed := range *settleSeeds {
			spec, err := g.Draw(seed)
			if err != nil {
				t.Fatal(err)
			}
			c, err := New(spec, Options{Seed: seed})
			if err != nil {
				t.Fatal(err)
			}
			c.Run()
			for _, r := range c.suite.Rests() {
				if rests = append(rests, r); r.Took > r.Bound {
					t.Errorf("%s seed %d: group %s took %s, and the bound is %s", name, seed, r.Group, r.Took, r.Bound)
				}
			}
		}
	}
	if len(rests) == 0 {
		t.Fatal("no group had to come to rest: nothing was measured")
	}
	share := func(r *invariant.Rest) kafka.Nanos { return r.Took * 1000 / r.Bound } // in thousandths
	slices.SortFunc(rests, func(a, b invariant.Rest) int { return int(share(&a) - share(&b)) })
	for _, q := range []int{50, 90, 99, 100} {
		r := &rests[(len(rests)-1)*q/100]
		t.Logf("p%d: %d.%d%% of the bound (%s of %s, %d rebalances), of %d groups", q, share(r)/10, share(r)%10, r.Took, r.Bound, r.Rebalances, len(rests))
	}
}
