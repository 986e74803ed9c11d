package cluster

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/simkafka/simkafka/model/outcome"
	"github.com/simkafka/simkafka/scenarios"
)

// world draws a small cluster with small limits, so that rolls, shrinks and
// elections are common, and a few faults of any kind.
func world(t *rapid.T) string {
	var b strings.Builder
	pick := func(name string, words ...string) string { return rapid.SampledFrom(words).Draw(t, name) }
	brokers := rapid.IntRange(2, 5).Draw(t, "brokers")
	rf := rapid.IntRange(1, min(brokers, 3)).Draw(t, "replication")
	fmt.Fprintf(&b, "apiVersion: simkafka/v1\nname: drawn\nprotocol: %s\nduration: 40s\nheal: 30s\n", pick("protocol", "zk-2.6", "zk-3.9"))
	fmt.Fprintf(&b, "cluster:\n  brokers: %d\n  config:\n", brokers)
	for _, s := range []string{
		fmt.Sprintf("min.insync.replicas: %d", rapid.IntRange(1, rf).Draw(t, "minISR")),
		"zookeeper.session.timeout.ms: 6000",
		"replica.lag.time.max.ms: " + pick("lag", "1000", "5000", "30000"),
		"log.segment.bytes: " + pick("segment", "4096", "65536", "1073741824"),
		"log.index.interval.bytes: " + pick("interval", "1", "4096"),
		"leader.imbalance.check.interval.seconds: " + pick("imbalance", "5", "300"),
		"num.replica.fetchers: " + pick("fetchers", "1", "2"),
	} {
		fmt.Fprintf(&b, "    %s\n", s)
	}
	fmt.Fprintf(&b, "topics:\n  - {name: orders, partitions: %d, replication: %d}\n", rapid.IntRange(1, 4).Draw(t, "partitions"), rf)
	fmt.Fprintf(&b, "producers:\n  - {name: p, count: 2, topic: orders, rate: %s, arrival: exponential, size: 200B, config: {acks: all, linger.ms: %s, max.in.flight.requests.per.connection: %s}}\n",
		pick("rate", "5/s", "40/s"), pick("linger", "0", "20"), pick("inFlight", "1", "5"))
	b.WriteString("consumers:\n  - {name: c, count: 2, topics: [orders], config: {auto.offset.reset: earliest}}\nevents:\n")
	for i := range rapid.IntRange(1, 4).Draw(t, "faults") {
		at := rapid.IntRange(4, 25).Draw(t, fmt.Sprint("at", i))
		node := pick(fmt.Sprint("node", i), "leader(orders/0)", "random(brokers)", "controller", "broker-1")
		lasts := rapid.IntRange(1, 12).Draw(t, fmt.Sprint("for", i))
		fmt.Fprintf(&b, "  - {at: %ds, %s}\n", at, pick(fmt.Sprint("fault", i),
			fmt.Sprintf("kill: %s, restart_after: %ds", node, lasts),
			fmt.Sprintf("power_loss: %s, restart_after: %ds", node, lasts),
			fmt.Sprintf("stop: %s, restart_after: %ds", node, lasts),
			fmt.Sprintf("pause: %s, for: %ds", node, lasts),
			fmt.Sprintf("isolate: %s, for: %ds", node, lasts),
			fmt.Sprintf("cut: {from: %s, to: zookeeper}, for: %ds", node, lasts),
			fmt.Sprintf("cut: {from: %s, to: clients, direction: one-way}, for: %ds", node, lasts),
			fmt.Sprintf("link: {between: brokers, and: brokers, latency: 20ms, loss: 10%%}, for: %ds", lasts),
			"reset: {between: brokers, and: clients}",
			fmt.Sprintf("slow_disk: {node: %s, factor: 50x}, for: %ds", node, lasts),
			fmt.Sprintf("stall_disk: %s, for: %ds", node, lasts),
			fmt.Sprintf("disk_full: %s, for: %ds", node, lasts),
			fmt.Sprintf("disk_error: {node: %s, op: write, nth: 3}, for: %ds", node, lasts),
			fmt.Sprintf("clock_offset: {node: %s, by: 1h}, for: %ds", node, lasts)))
	}
	return b.String()
}

// Random small clusters under random faults keep every invariant; what is lost
// the configuration allowed.
func TestRandomClustersKeepEveryInvariant(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := world(t)
		seed := rapid.Uint64Range(1, 1<<40).Draw(t, "seed")
		spec, err := scenarios.Load("drawn.yaml", []byte(text), nil)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		r, err := Run(spec, Options{Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		if r.Verdict != outcome.Pass {
			t.Fatalf("seed %d: %s %q\n%s", seed, r.Verdict, r.Why, text)
		}
	})
}
