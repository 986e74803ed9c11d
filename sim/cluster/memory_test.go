package cluster

import (
	"runtime"
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/scenarios"
)

// heapOf is the memory that an idle cluster holds, in bytes.
func heapOf(t *testing.T, partitions int32, opts Options) int64 {
	t.Helper()
	s := &scenarios.Spec{Name: "wide", Protocol: "zk-3.9", Duration: 60 * kafka.Second, Cluster: scenarios.Cluster{Brokers: 6},
		Topics: []scenarios.Topic{{Name: "orders", Partitions: partitions, Replication: 3}}}
	c, err := New(s, opts)
	if err != nil {
		t.Fatal(err)
	}
	c.k.Run(s.Duration)
	if open := c.open(1); len(open) > 0 {
		t.Fatal(open)
	}
	runtime.GC()
	runtime.GC() // the second one frees what the first one finalised
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	runtime.KeepAlive(c)
	return int64(m.HeapAlloc)
}

// PA12: everything that a run holds for one more replica without records: log and
// files, the broker's and its followers' records, a third of the partition's znodes,
// its place in the controller and in every broker's metadata. The goal of 2 KiB is
// not reached: 3.4 KiB, and 4.1 with what the invariants keep. The bounds are whole
// KiB above: a field more in a log must not fail the tests, a second copy must.
func TestPA12IdleReplicaTakesLittleMemory(t *testing.T) {
	const few, many, replication = 100, 2100, 3
	for _, x := range []struct {
		name  string
		opts  Options
		bound int64
	}{
		{"without invariants", Options{Seed: 1, Unchecked: true}, 4096},
		{"with invariants", Options{Seed: 1}, 5120},
	} {
		each := (heapOf(t, many, x.opts) - heapOf(t, few, x.opts)) / ((many - few) * replication)
		t.Logf("%s: %d bytes a replica", x.name, each)
		if each > x.bound {
			t.Errorf("%s: %d bytes a replica, more than %d", x.name, each, x.bound)
		}
	}
}
