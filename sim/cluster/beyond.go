package cluster

import (
	"slices"

	"github.com/simkafka/simkafka/scenarios"
)

// beyondBudget must hold whatever goes wrong (bugs.md 2.4): no divergence, no
// phantom, no disorder, no control by the deposed, no commit by who is no member, no
// consumer that reads on over a cut log, and the cluster comes back. What else is
// violated in such a run is reported, but does not decide.
var beyondBudget = [...]string{"log-matching", "no-phantom", "order-preserved", "rejected-means-absent", "recovery-keeps-prefix",
	"offset-sanity", "single-leader-per-epoch", "epochs-grow", "control-fenced", "converges-after-heal", "assertion",
	"group-states-legal", "group-members-joined", "group-one-assignment", "callbacks-alternate", "takes-what-it-joined", "commit-by-current-member",
	"truncation-noticed"}

func holdsBeyondBudget(name string) bool { return slices.Contains(beyondBudget[:], name) }

// Decides reports whether a violation of an invariant decides the verdict of a scenario
// that expects none.
func Decides(spec *scenarios.Spec, invariant string) bool {
	return !spec.Expect.BeyondBudget || holdsBeyondBudget(invariant)
}
