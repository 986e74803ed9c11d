package effects

import (
	"testing"

	"github.com/simkafka/simkafka/scenarios"
)

func TestAFaultMattersIfTheRunWithoutItIsAnotherOne(t *testing.T) {
	spec, err := scenarios.Load("x.yaml", []byte(`apiVersion: simkafka/v1
name: x
duration: 20s
cluster: {brokers: 3}
topics: [{name: orders, partitions: 1, replication: 3}]
producers: [{name: p, topic: orders, rate: 20/s}]
consumers: [{name: c, topics: [orders]}]
events:
- {at: 6s, for: 3s, pause: leader(orders/0)}
- {at: 6s, for: 3s, hold: {from: broker-1, to: broker-2, api: OffsetCommit}}   # nobody sends one
- {when: {event: truncated, after: 18s}, clock_jump: {node: broker-1, by: 1h}} # nothing is truncated
`), nil)
	if spec == nil {
		t.Fatal(err)
	}
	var c Counts
	if err := c.Add(spec, 7); err != nil {
		t.Fatal(err)
	}
	want := []Count{{"N7", 1, 1, 0}, {"N23", 1, 1, 1}, {"N28", 1, 1, 0}, {"P6", 1, 1, 1}, {"C3", 1, 0, 0}}
	for _, w := range want {
		if got := c.Of(w.Row); got == nil || *got != w {
			t.Errorf("%s: %+v, want %+v", w.Row, got, w)
		}
	}
	if c.Of("N4") != nil {
		t.Error("N4 was not drawn")
	}
}
