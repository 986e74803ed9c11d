package cluster

import (
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/sim/kernel"
)

// TestTwoRestartsOfAProcessThatStopsAreOne: the one waits for the end of the process,
// the other comes in the moment of that end.
func TestTwoRestartsOfAProcessThatStopsAreOne(t *testing.T) {
	c, err := New(builtin(t, "w1"), Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	h := &c.consumers[0].host
	h.again = true
	c.exited(kernel.Exit{Actor: h.id})
	if !c.Restart(h.name) {
		t.Fatal("not started")
	}
	c.k.Run(kafka.Millisecond)
	if n := c.k.Incarnation(h.id); n != 1 {
		t.Errorf("started %d times", n)
	}
}
