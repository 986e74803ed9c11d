package cluster

import (
	"testing"

	"github.com/simkafka/simkafka/model/outcome"
)

const compactionScenario = `apiVersion: simkafka/v1
name: compaction
why: "What does compaction leave when brokers die and lose their power meanwhile?"
protocol: zk-3.9
duration: 90s
cluster:
  brokers: 3
  config:
    min.insync.replicas: 2
    zookeeper.session.timeout.ms: 6000
    log.cleaner.backoff.ms: 2000
topics:
  - {name: orders, partitions: 2, replication: 3, config: {cleanup.policy: compact, segment.bytes: 20000, min.cleanable.dirty.ratio: 0.1}}
  - {name: plain, partitions: 1, replication: 3}
producers:
  - {name: p, topic: orders, rate: 100/s, size: 200B, keys: 20, config: {acks: all}}
  - {name: q, topic: plain, rate: 20/s, size: 200B, config: {acks: all}}
consumers:
  - {name: c, topics: [orders, plain], config: {auto.offset.reset: earliest}}
events:
  - {at: 30s, kill: leader(orders/0), restart_after: 10s}
  - {at: 60s, power_loss: leader(orders/1), restart_after: 10s}
`

// TestCompactionRunsInACluster: the cleaners are at work while brokers die; nothing
// goes offline, the same seed gives the same run, and what they leave is judged, as all
// acknowledged records are.
func TestCompactionRunsInACluster(t *testing.T) {
	spec := parse(t, "compaction.yaml", compactionScenario)
	var prints []string
	for range 2 {
		r, err := Run(spec, Options{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		prints = append(prints, r.Fingerprint)
		if r.Verdict != outcome.Pass || len(r.Violations) > 0 || r.Settled < 0 || r.Records.Acked == 0 {
			t.Errorf("%v %s, settled %v, %+v", r.Verdict, r.Why, r.Settled, r.Records)
		}
		for _, s := range r.Invariants {
			judged := s.Name == "compaction-keeps-latest" || s.Name == "no-acked-loss" || s.Name == "repeatable-read" || s.Name == "log-matching"
			if judged && (s.State != "held" || s.Checked == 0) {
				t.Errorf("%s: %s %q, checked %d times", s.Name, s.State, s.Note, s.Checked)
			}
			if s.Name == "no-acked-loss" && int64(s.Checked) < r.Records.Acked {
				t.Errorf("%d of %d acknowledged records were judged", s.Checked, r.Records.Acked)
			}
		}
	}
	if prints[0] != prints[1] {
		t.Error("one seed, two runs")
	}
}
