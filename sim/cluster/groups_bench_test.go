package cluster

import (
	"strings"
	"testing"

	"github.com/simkafka/simkafka/scenarios"
)

// thousandMembers: a group of 1,000 members on 1,000 partitions loses one, which comes
// back, and gets one more.
const thousandMembers = `apiVersion: simkafka/v1
name: thousand-members
protocol: zk-3.9
duration: 90s
cluster:
  brokers: 3
  config: {offsets.topic.num.partitions: 1}
topics:
  - {name: orders, partitions: 1000, replication: 1}
producers:
  - {name: shop, topic: orders, rate: 200/s, size: 100B, keys: 100000}
consumers:
  - {name: m, count: 1000, topics: [orders], group: many, config: {auto.offset.reset: earliest, session.timeout.ms: 10000, partition.assignment.strategy: ASSIGNOR}}
  - {name: late, topics: [orders], group: many, start: 60s, config: {auto.offset.reset: earliest, session.timeout.ms: 10000, partition.assignment.strategy: ASSIGNOR}}
events:
  - {at: 30s, kill: m-500, restart_after: 45s}
expect:
  metrics:
    - records.lost == 0
    - group.skipped(many) == 0
    - group.overlap(many) == 0s
    - group.unowned(many) < 14s after 20s
`

// BenchmarkThousandMembers: simulated seconds for a CPU second, the group's rebalances
// being right.
func BenchmarkThousandMembers(b *testing.B) {
	for _, assignor := range []string{"range", "cooperative-sticky"} {
		b.Run(assignor, func(b *testing.B) {
			loadSpec(b, func() *scenarios.Spec { return thousand(b, assignor) }, validThousand)
		})
	}
}

func thousand(b *testing.B, assignor string) *scenarios.Spec {
	return parse(b, "thousand.yaml", strings.ReplaceAll(thousandMembers, "ASSIGNOR", assignor))
}

// validThousand: all partitions have an owner in the end, and three changes have made
// at least three rebalances, each completed, by all members.
func validThousand(b *testing.B, r ran) {
	g := findGroup(r.Result, "many")
	if len(g.Partitions) != 1000 {
		b.Errorf("%d partitions", len(g.Partitions))
	}
	for i := range g.Partitions {
		if g.Partitions[i].Owner == "" {
			b.Errorf("%s has no owner", g.Partitions[i].TP)
		}
	}
	if n := len(g.Rebalances); n < 4 {
		b.Errorf("%d rebalances", n)
	}
	for _, x := range g.Rebalances {
		if x.Generation < 0 || x.Members < 999 {
			b.Errorf("rebalance at %s: generation %d with %d members", x.From, x.Generation, x.Members)
		}
	}
}
