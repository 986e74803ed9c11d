package cluster

import (
	"reflect"
	"testing"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

// What the checks find does not depend on when they see a fact.
func TestChecksFindTheSameWhenFactsWait(t *testing.T) {
	for _, name := range []string{"a-02-power-loss-divergence", "killed-consumer"} {
		late, err := New(builtin(t, name), Options{Seed: 3, Series: true})
		if err != nil {
			t.Fatal(err)
		}
		prompt, err := New(builtin(t, name), Options{Seed: 3, Series: true})
		if err != nil {
			t.Fatal(err)
		}
		prompt.checkPromptly()
		if a, b := late.Run(), prompt.Run(); !reflect.DeepEqual(a, b) {
			t.Errorf("%s: %d violations, verdict %s; of facts that did not wait %d and %s", name, len(a.Violations), a.Verdict, len(b.Violations), b.Verdict)
		}
	}
}

// Violations are asked for while a run goes on: what waits is looked at then.
func TestViolationsAreKnownWhenAskedFor(t *testing.T) {
	c, err := New(builtin(t, "w1"), Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	tp := kafka.TopicPartition{Topic: c.spec.Topics[0].Name}
	for node := range kafka.NodeID(2) {
		c.Event(&event.Event{Kind: event.BecameLeader, TP: tp, Node: node + 1, LeaderEpoch: 7})
	}
	if len(c.suite.Violations()) > 0 {
		t.Fatal("the facts do not wait")
	}
	if len(c.Violations()) == 0 {
		t.Error("two leaders of an epoch are not told of")
	}
}
