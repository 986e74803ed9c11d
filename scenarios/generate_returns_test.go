package scenarios

import (
	"testing"

	"github.com/simkafka/simkafka/model/event"
)

// The steps of the plan come in their order, if the cluster does its part: a lead goes
// back soon, and the in-sync set outlives that.
func TestReturnSilencesALeaderPastTwoChanges(t *testing.T) {
	m, ok := modeByName("small-returns")
	if !ok {
		t.Fatal("no such generator")
	}
	for seed := range uint64(100) {
		w := drawWorld(m.chooser(seed), m)
		every, lag := w.setting("leader.imbalance.check.interval.seconds"), w.setting("replica.lag.time.max.ms")
		p := w.spec.Events
		first, one, all, again := &p[0], &p[1], &p[2], &p[3]
		leader := leaderOf(first.Trigger.On.TP)
		for law, holds := range map[string]bool{
			"one leads, one hears less, one hears more":    w.replication == 3 && w.spec.Cluster.Brokers >= 3,
			"the lead goes back soon":                      every == 2 || every == 3,
			"the in-sync set outlives that":                lag >= 3000,
			"a leader fails when there are records":        first.Trigger.On.Kind == event.ProduceAnswered,
			"another one when the lead has gone back":      again.Trigger.On.Kind == event.LeaderElected && again.Trigger.On.Text == "preferred",
			"silence begins when the set is complete":      one.Trigger.On.ISR == w.replication && all.Trigger.On.ISR == w.replication,
			"one follower is silenced before all":          one.Trigger.On.DelayMax < all.Trigger.On.DelayMin,
			"it is the leader that is not heard":           one.Fault.Selectors()[0] == leader && all.Fault.Selectors()[0] == leader,
			"the silence outlives the session of a leader": one.For > w.session && all.For > w.session,
		} {
			if !holds {
				t.Errorf("seed %d: it does not hold that %s\n%s", seed, law, w.spec.YAML())
			}
		}
	}
}
