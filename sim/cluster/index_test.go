package cluster

import (
	"bytes"
	"strings"
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
)

const indexScenario = `apiVersion: simkafka/v1
name: followers-index
why: "What has a follower in its index?"
protocol: zk-3.9
duration: 10s
cluster:
  brokers: 2
  network: {latency: 5ms}
topics:
  - {name: orders, assignment: [[1, 2]], config: {index.interval.bytes: 400}}
producers:
  - {name: p, topic: orders, rate: 300/s, size: 50B, config: {acks: 1, linger.ms: 0}}
`

// A follower fetches several batches at once. Since 3.9.1 it indexes each of them, and
// its index is the leader's; before, it had one entry a fetch at most (KAFKA-806, storage
// trap 60).
func TestFollowersIndexAsTheirProfileDoes(t *testing.T) {
	for _, p := range []struct {
		profile string
		same    bool
	}{{"zk-3.9", true}, {"zk-2.6", false}} {
		text := strings.Replace(indexScenario, "zk-3.9", p.profile, 1)
		spec := parse(t, "followers-index.yaml", text)
		c, err := New(spec, Options{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		c.Run()
		leader, follower := liveIndex(t, c, 1), liveIndex(t, c, 2)
		if len(leader) < 100*8 || bytes.Equal(leader, follower) != p.same {
			t.Errorf("%s: the leader's index has %d bytes, the follower's %d; equal: %t", p.profile, len(leader), len(follower), bytes.Equal(leader, follower))
		}
	}
}

// liveIndex are the entries of orders/0's offset index, which the disk keeps at its
// greatest length, full of zeros behind them.
func liveIndex(t *testing.T, c *Cluster, broker kafka.NodeID) []byte {
	t.Helper()
	f, err := c.Disk(broker).Open("data/orders-0/00000000000000000000.index")
	if err != nil {
		t.Fatal(err)
	}
	b, err := f.ReadAt(0, int(f.Size()))
	if err != nil {
		t.Fatal(err)
	}
	return bytes.TrimRight(b, "\x00")
}
