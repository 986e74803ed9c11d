package broker

import (
	"fmt"
	"strings"
	"testing"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/log"
	"github.com/simkafka/simkafka/model/record"
)

// keyed is a batch of one record with a key.
func keyed(key, value string) record.Batch {
	var bd record.Builder
	bd.Reset(record.ClientOptions())
	bd.Append(1, []byte(key), []byte(value), nil)
	b, err := bd.Build()
	if err != nil {
		panic(err)
	}
	return b
}

func (w *world) fillKeyed(leader kafka.NodeID, n int) {
	w.t.Helper()
	c := w.client(leader)
	for i := range n {
		b := keyed(fmt.Sprint("k", i%3), strings.Repeat("v", 30))
		if code, _ := produced(c.ask(w.produce(-1, "orders", 0, b))); code != kafka.None {
			w.t.Fatal(code)
		}
	}
}

// keysOf lists the offsets that a broker's log holds below end.
func (w *world) keysOf(id kafka.NodeID, end kafka.Offset) string {
	w.t.Helper()
	var out []string
	err := w.part(id, "orders").Log().Batches(0, func(b record.Batch) bool {
		records, err := b.Records(nil)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, r := range records {
			if r.Offset < end {
				out = append(out, fmt.Sprintf("%d:%s", r.Offset, r.Key))
			}
		}
		return true
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return strings.Join(out, " ")
}

// TestCleanerRunsOnVirtualTime: each replica compacts for itself, within the backoff;
// the checkpoint is there, and what was replaced goes file.delete.delay.ms later.
func TestCleanerRunsOnVirtualTime(t *testing.T) {
	w := newWorld(t, "zk-3.9")
	w.cluster(3)
	w.create("orders", map[string]string{"segment.bytes": "500", "cleanup.policy": "compact", "file.delete.delay.ms": "5000"}, 1, 2, 3)
	w.fillKeyed(1, 40)
	if code, _ := produced(w.client(1).ask(w.produce(-1, "orders", 0, batch("no key")))); code != kafka.InvalidRecord {
		t.Fatalf("a record without a key: %v", code)
	}
	begin := w.now
	w.until("all have cleaned", func() bool {
		return w.noted(event.LogCleaned, 1) > 0 && w.noted(event.LogCleaned, 2) > 0 && w.noted(event.LogCleaned, 3) > 0
	})
	if w.now > begin+16*kafka.Second {
		t.Fatalf("only after %v", w.now-begin)
	}
	w.run(kafka.Second)
	for id := kafka.NodeID(1); id <= 3; id++ {
		l := w.part(id, "orders").Log()
		end, found := l.CleanedTo()
		active := l.Segments()[len(l.Segments())-1].Base
		if !found || end != active {
			t.Fatalf("broker %d: cleaned to %d, active segment at %d", id, end, active)
		}
		want := make([]string, 3)
		for o := end - 3; o < end; o++ {
			want[o-end+3] = fmt.Sprintf("%d:k%d", o, o%3)
		}
		if got := w.keysOf(id, end); got != strings.Join(want, " ") {
			t.Fatalf("broker %d: %s, want %v", id, got, want)
		}
		lines, err := log.ReadOffsetCheckpoint(w.parties[kafka.BrokerHost(id)].fs, "data", log.CleanerOffsetCheckpoint)
		if err != nil || len(lines) != 1 || lines[0].Offset != end {
			t.Fatalf("broker %d: checkpoint %v %v", id, lines, err)
		}
		if _, deleted := w.files(id); deleted == 0 {
			t.Fatalf("broker %d: nothing waits for its deletion", id)
		}
	}
	w.run(6 * kafka.Second)
	for id := kafka.NodeID(1); id <= 3; id++ {
		if logs, deleted := w.files(id); deleted != 0 || logs != len(w.part(id, "orders").Log().Segments()) {
			t.Fatalf("broker %d: %d logs, %d files wait", id, logs, deleted)
		}
	}
}

// TestCleanerDeletesOldSegmentsOfCompactedLogs: with compact,delete it is the cleaner
// who looks at retention.bytes, long before log.retention.check.interval.ms.
func TestCleanerDeletesOldSegmentsOfCompactedLogs(t *testing.T) {
	w := newWorld(t, "zk-3.9")
	w.cluster(1)
	w.create("orders", map[string]string{
		"segment.bytes": "500", "cleanup.policy": "compact,delete", "retention.bytes": "600", "min.compaction.lag.ms": "9000000000000",
	}, 1)
	w.fillKeyed(1, 40)
	begin := w.now
	w.until("segments are deleted", func() bool { return w.noted(event.SegmentDeleted, 1) > 0 })
	if w.now > begin+16*kafka.Second || w.noted(event.LogCleaned, 1) > 0 {
		t.Fatalf("after %v, %d cleanings", w.now-begin, w.noted(event.LogCleaned, 1))
	}
}

// TestCleanerMayBeOff: then a compacted log keeps everything.
func TestCleanerMayBeOff(t *testing.T) {
	w := newWorld(t, "zk-3.9").with("log.cleaner.enable", "false")
	w.cluster(1)
	w.create("orders", map[string]string{"segment.bytes": "500", "cleanup.policy": "compact"}, 1)
	w.fillKeyed(1, 40)
	w.run(40 * kafka.Second)
	if n := w.noted(event.CleaningBegan, 1); n != 0 || len(strings.Fields(w.keysOf(1, 40))) != 40 {
		t.Fatalf("%d cleanings", n)
	}
}
