package cluster

import (
	"testing"

	"github.com/simkafka/simkafka/model/outcome"
	"github.com/simkafka/simkafka/scenarios"
)

const logDirsScenario = `apiVersion: simkafka/v1
name: log-dirs
why: "One of two data directories fails: what goes with it?"
protocol: zk-3.9
duration: 60s
cluster:
  brokers: 3
  config: {min.insync.replicas: 2, zookeeper.session.timeout.ms: 6000, log.dirs: "/d1,/d2"}
topics:
  - {name: orders, assignment: [[1, 2, 3], [1, 2, 3]]}
producers:
  - {name: p, topic: orders, rate: 50/s, size: 1KiB, config: {acks: all, linger.ms: 5}}
consumers:
  - {name: c, topics: [orders], config: {auto.offset.reset: earliest}}
events:
  - {at: 15s, for: 15s, disk_error: {node: broker-1, op: write, file: "d1/*/*"}}
  - {at: 40s, kill: broker-1}
  - {at: 42s, restart: broker-1}
expect:
  metrics:
    - records.lost == 0
    - records.failed == 0
    - elections(orders/0) == 1
    - unavailable(orders/0) < 1s
    - elections(orders/1) == 1
    - unavailable(orders/1) > 4s
`

// TestOneOfTwoDirectoriesFails: the partition in it moves at once, since the broker itself
// tells the controller; that in the other stays with the broker until it dies, and then
// has to wait for the end of the session. After the restart both are in sync again.
func TestOneOfTwoDirectoriesFails(t *testing.T) {
	spec, err := scenarios.Load("log-dirs.yaml", []byte(logDirsScenario), nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Run(spec, Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if r.Verdict != outcome.Pass || len(r.Violations) > 0 || r.Settled < 0 {
		t.Errorf("%v %s, settled %v, %+v", r.Verdict, r.Why, r.Settled, r.Violations)
	}
}
