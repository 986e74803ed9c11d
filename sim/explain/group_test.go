package explain

import (
	"fmt"
	"testing"

	"github.com/simkafka/simkafka/scenarios"
	"github.com/simkafka/simkafka/sim/shrink"
)

// The group stands in the words of the violation, or is that of the consumer it names.
func TestTheGroupIsTheOneThatIsNamed(t *testing.T) {
	spec := &scenarios.Spec{Consumers: []scenarios.Consumer{{Name: "plain", Count: 1}, {Name: "pay", Count: 2, Group: "billing"}}}
	for want, targets := range map[string][]shrink.Target{
		"g0": {{What: "group g0: c1 takes t-2 at 3s in generation 2; c2 owns it"}, {What: "still open at the end: t-2 has 0 owners in group g0"},
			{What: "still open at the end: consumer c-1 of group g0 wants to rejoin"}, {Metric: "group.unowned(g0) < 3s", What: "expected group.unowned(g0) < 3s: it is 4s"}},
		"billing": {{What: "still open at the end: consumer pay-2 is at 3 of t-0, whose high watermark is 7"}},
		"":        {{What: "still open at the end: consumer plain is at 3 of t-0, whose high watermark is 7"}, {What: "2 active controllers"}},
	} {
		for _, x := range targets {
			if got := groupOf(&x, spec); got != want {
				t.Errorf("%s%s: %q, want %q", x.What, x.Metric, got, want)
			}
		}
	}
}

// What goes round and round is told from its beginning.
func TestALongStoryKeepsItsBeginning(t *testing.T) {
	rank := make([]int, 30)
	for i := range rank {
		rank[i] = rankTurn
	}
	got, hidden := pick(rank, 6, earlyShare)
	if fmt.Sprint(got) != "[0 1 26 27 28 29]" || hidden != 24 {
		t.Errorf("%v, %d hidden", got, hidden)
	}
}
