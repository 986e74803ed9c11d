package cluster

import (
	"strings"
	"testing"

	"github.com/simkafka/simkafka/model/outcome"
)

// unheardScenario: the controller's request about an added partition to the broker that is asked
// first is lost, and it waits for the answer beyond the end of the run.
const unheardScenario = `
apiVersion: simkafka/v1
name: unheard
protocol: zk-3.9
duration: 20s
cluster:
  brokers: 2
  config: {controller.socket.timeout.ms: 60000, min.insync.replicas: 1}
topics:
  - {name: t, assignment: [[2]]}
producers:
  - {name: p, topic: t, rate: 50/s, size: 100B, config: {acks: 1, metadata.max.age.ms: 1000}}
events:
  - {at: 4s, for: 14s, lose: {from: brokers, to: broker-1, api: UpdateMetadata, kind: request}}
  - {at: 5s, create_partitions: {topic: t, partitions: 2}}
`

// TestWhatABrokerHasNotHeardOfIsReadBack: records of a partition are not lost because the first
// broker that is asked does not know it.
func TestWhatABrokerHasNotHeardOfIsReadBack(t *testing.T) {
	spec := parse(t, "unheard.yaml", unheardScenario)
	for seed := range uint64(4) {
		r, err := Run(spec, Options{Seed: seed}) // who adds it may hear nothing, and asks again
		if err != nil {
			t.Fatal(err)
		}
		if r.Verdict != outcome.Pass || r.Records.Lost > 0 {
			t.Errorf("seed %d: %s, %d lost: %s", seed, r.Verdict, r.Records.Lost, strings.Join(r.Why, "\n"))
		}
	}
}
