package cluster

import (
	"strings"
	"testing"

	"github.com/simkafka/simkafka/model/outcome"
)

const slowSyncScenario = `apiVersion: simkafka/v1
name: slow-sync
duration: 24s
heal: 20s
settle: 30s
cluster:
  brokers: 1
  config: {log.segment.bytes: 4000}
  disk: {fsync: 20ms}
topics:
  - {name: orders, partitions: 2, replication: 1}
producers:
  - {name: p, count: 2, topic: orders, rate: 60/s, size: 250B, config: {linger.ms: 5}}
events:
  - {at: 15s, stop: broker-1, restart_after: 2s}
`

// TestBackgroundFlushesDoNotPileUp: segments roll faster than the disk syncs them. Each
// flush covers all that was rolled before it begins, so that the broker is as far behind
// as its disk is slow, and can be stopped.
func TestBackgroundFlushesDoNotPileUp(t *testing.T) {
	spec := parse(t, "slow-sync.yaml", slowSyncScenario)
	r := runSpec(t, spec, 1)
	if r.Verdict != outcome.Pass || r.Settled < 0 {
		t.Errorf("%v %s, settled %v", r.Verdict, r.Why, r.Settled)
	}
}

const sharedDiskScenario = `apiVersion: simkafka/v1
name: shared-disk
duration: 20s
cluster:
  brokers: 1
  disk: {fsync: 20ms}
topics:
  - {name: rolling, partitions: 1, replication: 1, config: {segment.bytes: 2000}}
  - {name: flushing, partitions: 1, replication: 1, config: {flush.messages: 1}}
producers:
  - {name: p, topic: rolling, rate: 60/s, size: 250B}
  - {name: q, topic: flushing, rate: 2/s, size: 250B}
expect:
  metrics:
    - produce.latency.max < 1s
`

// TestForegroundSyncsComeBetweenThoseOfABackgroundFlush: who syncs each record does not
// wait for all that another topic's rolls have left to sync.
func TestForegroundSyncsComeBetweenThoseOfABackgroundFlush(t *testing.T) {
	spec := parse(t, "shared-disk.yaml", sharedDiskScenario)
	r := runSpec(t, spec, 1)
	if r.Verdict != outcome.Pass {
		t.Errorf("%v %s", r.Verdict, r.Why)
	}
}

const revertedScenario = `apiVersion: simkafka/v1
name: reverted
duration: 15s
cluster:
  brokers: 3
  config: {log.segment.bytes: 6000}
  disk: {filesystem: btrfs}
topics:
  - {name: orders, partitions: 1, replication: 1}
producers:
  - {name: p, topic: orders, rate: 50/s, size: 300B}
events:
  - {at: 8s, for: 3s, disk_error: {node: leader(orders/0), op: sync, file: "orders-0/*.log", nth: 3, drop_dirty: true}}
`

// TestWhatAFailedSyncTookIsAnExpectedLoss: btrfs takes back what a failed sync should have
// written (fault D16), and recovery does not look for a hole in front of the next segment.
func TestWhatAFailedSyncTookIsAnExpectedLoss(t *testing.T) {
	spec := parse(t, "reverted.yaml", revertedScenario)
	r := runSpec(t, spec, 1)
	lost := int64(0)
	for _, x := range r.Loss.Reasons {
		if strings.HasPrefix(x.Text, "a failed sync took the unsynced record from broker-") {
			lost += x.Records
		}
	}
	if r.Verdict != outcome.Pass || lost == 0 {
		t.Errorf("%v %s, expected loss of %d records: %v", r.Verdict, r.Why, lost, r.Loss.Reasons)
	}
}
