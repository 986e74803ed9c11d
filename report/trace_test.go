package report

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
	"github.com/simkafka/simkafka/sim/kernel"
)

func TestTraceGolden(t *testing.T) {
	golden(t, "trace.txt", func(w io.Writer) error {
		tr := NewTrace(w)
		tr.Name = func(a kernel.ActorID) string { return []string{"broker-1", "p-1"}[a] }
		for k := event.Kind(1); k < event.NumKinds; k++ {
			tr.Event(&event.Event{Kind: k, Time: 12_345_678_901, Seq: 17, Actor: "broker-1", TP: kafka.TopicPartition{Topic: "orders", Partition: 2},
				Node: 1, Leader: -1, LeaderEpoch: 3, ISR: []kafka.NodeID{1, 2}, Base: 5, Last: 9, Offset: 5, LEO: 10, HW: 8, Acks: -1,
				Err: kafka.ErrorCode(6), Text: `two "words"`, CRC: 0xabc, Created: 5 * ms})
		}
		tr.Event(&event.Event{Kind: event.Probe, Text: "no actor"})
		produce := kmsg.NewPtrProduceRequest()
		produce.SetVersion(11)
		tr.Record(&kernel.Record{Time: s, Took: 20_000, Seq: 18, Parent: 3, Actor: 0, From: 1, Incarnation: 1, Kind: step.Request, Conn: 4, Correlation: 9,
			Body: produce, Digest: 0xfeed})
		tr.Record(&kernel.Record{Time: s, Seq: 19, Actor: 1, Kind: step.Timer, Timer: 2, Arg: 7})
		tr.Record(&kernel.Record{Time: s, Seq: 20, Actor: 1, Kind: step.Refused, Conn: 5, Err: errors.New("connection refused")})
		return tr.Flush()
	})
}

// TestTracePrintsDocumentedKeysOnly keeps TraceHelp true.
func TestTracePrintsDocumentedKeysOnly(t *testing.T) {
	for k := event.Kind(1); k < event.NumKinds; k++ {
		var b strings.Builder
		tr := NewTrace(&b)
		tr.Event(&event.Event{Kind: k})
		if err := tr.Flush(); err != nil {
			t.Fatal(err)
		}
		words := strings.Fields(b.String())
		if words[3] != k.String() {
			t.Errorf("%q does not name %s", b.String(), k)
		}
		for _, w := range words[4:] {
			if key, _, ok := strings.Cut(w, "="); ok && !strings.Contains(TraceHelp, key+" ") {
				t.Errorf("%s: key %q is not documented", k, key)
			}
		}
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestTraceReportsAFailedWrite(t *testing.T) {
	tr := NewTrace(brokenWriter{})
	for range 10_000 {
		tr.Event(&event.Event{Kind: event.Healed})
	}
	if tr.Flush() == nil {
		t.Error("a write failed and nobody was told")
	}
}

func TestTraceAllocatesNothingForAFact(t *testing.T) {
	tr := NewTrace(io.Discard)
	e := &event.Event{Kind: event.HighWatermark, Actor: "broker-1", TP: kafka.TopicPartition{Topic: "orders"}, ISR: []kafka.NodeID{1, 2, 3}}
	tr.Event(e)
	if n := testing.AllocsPerRun(100, func() { tr.Event(e) }); n > 0 {
		t.Errorf("%.0f allocations a fact", n)
	}
}
