package cluster

import (
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
)

// Retention by age asks a segment's file for its time where no record tells one
// (LogSegment.largestTimestamp), so files go by the clock that records are stamped with.
func TestFilesGoByTheNodesWallClock(t *testing.T) {
	const hour = 3_600_000
	text := indexScenario + "events: [{at: 2s, clock_jump: {node: broker-2, by: -1h}}]\n"
	spec := parse(t, "clock.yaml", text)
	c, err := New(spec, Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	c.Run()
	for broker, off := range map[kafka.NodeID]kafka.TimestampMs{1: 0, 2: -hour} {
		info, err := c.Disk(broker).Stat("data/orders-0/00000000000000000000.log")
		if err != nil {
			t.Fatal(err)
		}
		if now := c.k.Epoch() + kafka.TimestampMs(c.k.Now()/kafka.Millisecond) + off; info.ModTime > now || info.ModTime < now-10_000 {
			t.Errorf("a file of broker-%d is of %d; its clock is at %d", broker, info.ModTime, now)
		}
	}
}
