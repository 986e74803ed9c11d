package cluster

import (
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/outcome"
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

const rewrittenScenario = `apiVersion: simkafka/v1
name: rewritten
protocol: zk-3.9
duration: 40s
heal: 30s
cluster:
  brokers: 3
  config:
    min.insync.replicas: 1
    zookeeper.session.timeout.ms: 6000
    replica.lag.time.max.ms: 1000
    log.segment.bytes: 4096
    log.index.interval.bytes: 1
    leader.imbalance.check.interval.seconds: 5
topics:
  - {name: orders, partitions: 1, replication: 2}
producers:
  - {name: p, count: 2, topic: orders, rate: 40/s, arrival: exponential, size: 200B, config: {acks: all, linger.ms: 0, max.in.flight.requests.per.connection: 1}}
consumers:
  - {name: c, count: 2, topics: [orders], config: {auto.offset.reset: earliest}}
events:
  - {at: 10s, pause: controller, for: 11s}
  - {at: 23s, kill: random(brokers), restart_after: 1s}
  - {at: 9s, power_loss: leader(orders/0), restart_after: 2s}
`

// TestALongRewrittenEpochIsStillExcused: a leader that lost its end with its power leads its epoch again
// and a follower that kept the end goes on behind it, into the next epoch, of which the ghost has
// forgotten the first batches by then. A random cluster found it: it was taken for a conflict.
func TestALongRewrittenEpochIsStillExcused(t *testing.T) {
	spec := parse(t, "rewritten.yaml", rewrittenScenario)
	r := runSpec(t, spec, 426)
	if r.Verdict != outcome.Pass || r.Loss.Records != 2 {
		t.Errorf("%v %s, expected loss of %d records", r.Verdict, r.Why, r.Loss.Records)
	}
}
