package conformance

import (
	"os"
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/outcome"
	"github.com/simkafka/simkafka/scenarios"
	"github.com/simkafka/simkafka/sim/cluster"
)

const simulatedBrokers = 3

// troubled runs the scenario of that name. Its brokers still run at the end, so that
// its disks are those of a cluster that is killed.
func troubled(t testing.TB, seed uint64) (*cluster.Cluster, *outcome.Result) {
	t.Helper()
	text, err := os.ReadFile("testdata/troubled.yaml")
	check(t, err)
	spec, err := scenarios.Load("troubled.yaml", text, scenarios.LibrarySource)
	check(t, err)
	c, err := cluster.New(spec, cluster.Options{Seed: seed})
	check(t, err)
	return c, c.Run()
}

// simulatedTopics are those of the scenario, in the words of the release.
func simulatedTopics(r release) []goldenTopic {
	return []goldenTopic{
		{Name: "sim-plain", Settings: map[string]string{r.segmentBytes: "9000", "index.interval.bytes": "400", "segment.index.bytes": "4096"}},
		{Name: "sim-packed", Settings: map[string]string{r.segmentBytes: "5000", "index.interval.bytes": "300", "segment.index.bytes": "4096"}},
		{Name: "sim-stamped", Settings: map[string]string{r.segmentBytes: "6000", "index.interval.bytes": "300", "segment.index.bytes": "4096",
			"message.timestamp.type": "LogAppendTime", "flush.messages": "20"}},
	}
}

// Kafka's DumpLogSegments accepts every file on the disks of a simulated cluster that
// went through crashes, a power failure and a cut, while it still runs.
func TestKafkaDumpsASimulatedCluster(t *testing.T) {
	eachRelease(t, func(t *testing.T, r release) {
		needKafka(t, r)
		c, result := troubled(t, 1)
		if result.Records.Acked == 0 {
			t.Fatalf("nothing was written: %s %v", result.Verdict, result.Why)
		}
		for b := kafka.NodeID(1); b <= simulatedBrokers; b++ {
			dir := t.TempDir()
			copyOut(t, c.Disk(b), "data", dir)
			seen := mustDumpLive(t, r, dir)
			t.Logf("Kafka %s, broker %d: %+v", r.version, b, seen)
		}
	})
}
