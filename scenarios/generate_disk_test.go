package scenarios

import (
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
)

// A slow sync gets as much cheaper as the workload's segments need; one that the disk
// can afford stays.
func TestSlowSyncsLeaveTheDiskTimeForTheWorkload(t *testing.T) {
	for _, c := range []struct {
		segment string
		rate    int64 // records a second
		want    kafka.Nanos
	}{
		{"1073741824", 60, 20 * kafka.Millisecond}, // no roll
		{"10000", 60, 20 * kafka.Millisecond},      // 1 roll in 1 s: 5 syncs, 80 ms each
		{"1000", 60, 7 * kafka.Millisecond},        // 10.5 rolls: 52.5 syncs, 7.6 ms each
		{"1000", 600, 0},                           // the built-in price
	} {
		w := &world{spec: &Spec{}}
		w.spec.Cluster.Brokers, w.spec.Cluster.Disk.Fsync = 3, 20*kafka.Millisecond
		w.spec.Topics = []Topic{{Name: "t", Partitions: 2, Replication: 3, Config: []Setting{{Key: "segment.bytes", Value: c.segment}}}}
		w.spec.Producers = []Producer{{Topic: "t", Count: 2, RatePerMil: c.rate * 500, Size: 100}}
		w.easeDisk()
		if got := w.spec.Cluster.Disk.Fsync; got != c.want {
			t.Errorf("segments of %s bytes at %d/s: %v, want %v", c.segment, c.rate, got, c.want)
		}
	}
}
