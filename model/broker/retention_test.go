package broker

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/log"
	"github.com/simkafka/simkafka/model/record"
	"github.com/simkafka/simkafka/model/step"
)

// small are settings of a topic that rolls and deletes early.
func small() map[string]string {
	return map[string]string{"segment.bytes": "500", "retention.bytes": "600", "file.delete.delay.ms": "5000"}
}

// fill produces n records of about 100 bytes, each in a batch of its own.
func (w *world) fill(leader kafka.NodeID, n int) {
	w.t.Helper()
	c := w.client(leader)
	for range n {
		if code, _ := produced(c.ask(w.produce(-1, "orders", 0, batch(strings.Repeat("x", 30))))); code != kafka.None {
			w.t.Fatal(code)
		}
	}
}

// files lists the log files of orders-0 on a broker, and how many are marked for
// deletion.
func (w *world) files(id kafka.NodeID) (logs, deleted int) {
	names, err := w.parties[kafka.BrokerHost(id)].fs.List("data/orders-0")
	if err != nil {
		w.t.Fatal(err)
	}
	for _, n := range names {
		if strings.HasSuffix(n, ".log") {
			logs++
		}
		if strings.HasSuffix(n, ".deleted") {
			deleted++
		}
	}
	return logs, deleted
}

// TestRetentionRunsOnVirtualTime: after 30 s, then every check interval, each replica
// deletes for itself; the files go file.delete.delay.ms later.
func TestRetentionRunsOnVirtualTime(t *testing.T) {
	w := newWorld(t, "zk-3.9").with("log.retention.check.interval.ms", "20000")
	w.cluster(3)
	w.create("orders", small(), 1, 2, 3)
	w.fill(1, 40)
	begin := w.noted(event.SegmentDeleted, 1)
	if begin != 0 || w.now > 20*kafka.Second {
		t.Fatalf("%d deleted at %v", begin, w.now)
	}
	w.until("the leader has deleted", func() bool { return w.noted(event.SegmentDeleted, 1) > 0 })
	if w.now < 30*kafka.Second || w.now > 32*kafka.Second {
		t.Fatalf("at %v", w.now)
	}
	w.run(kafka.Second)
	for id := kafka.NodeID(1); id <= 3; id++ {
		l := w.part(id, "orders").Log()
		if l.LogStartOffset() == 0 || l.Size() < 600 || l.Size() > 600+2*500 || l.LogEndOffset() != 40 {
			t.Fatalf("broker %d: start %d, %d bytes, end %d", id, l.LogStartOffset(), l.Size(), l.LogEndOffset())
		}
		if _, deleted := w.files(id); deleted == 0 || w.noted(event.LogStartRaised, id) == 0 {
			t.Fatalf("broker %d: %d files wait, %d times noted", id, deleted, w.noted(event.LogStartRaised, id))
		}
	}
	w.run(6 * kafka.Second)
	for id := kafka.NodeID(1); id <= 3; id++ {
		if logs, deleted := w.files(id); deleted != 0 || logs != len(w.part(id, "orders").Log().Segments()) {
			t.Fatalf("broker %d: %d logs, %d files wait", id, logs, deleted)
		}
	}
	w.fill(1, 20)
	before := w.noted(event.SegmentDeleted, 1)
	w.run(20 * kafka.Second)
	if w.noted(event.SegmentDeleted, 1) == before {
		t.Fatal("no second run")
	}
}

// TestF8FollowerBelowTheLeadersLogStartBeginsAnewThere: what it would fetch is gone.
func TestF8FollowerBelowTheLeadersLogStartBeginsAnewThere(t *testing.T) {
	for _, profile := range []string{"zk-2.0", "zk-3.9"} {
		w := newWorld(t, profile).with("log.retention.check.interval.ms", "5000")
		w.cluster(3)
		w.create("orders", small(), 1, 2, 3)
		w.fill(1, 3)
		w.run(kafka.Second)
		w.crash(3)
		w.isrOf(1, 2)
		w.fill(1, 40)
		w.run(40 * kafka.Second)
		start := w.part(1, "orders").Log().LogStartOffset()
		if start <= 3 {
			t.Fatalf("%s: log start %d", profile, start)
		}
		w.start(3)
		w.isrOf(1, 3)
		if l := w.part(3, "orders").Log(); l.LogStartOffset() < start || l.LogEndOffset() != 43 {
			t.Fatalf("%s: start %d, end %d", profile, l.LogStartOffset(), l.LogEndOffset())
		}
		full := 0
		for i := range w.notes {
			if e := &w.notes[i]; e.Kind == event.Truncated && e.Node == 3 && e.Text == "full" {
				full++
			}
		}
		if full != 1 {
			t.Fatalf("%s: %d full truncations", profile, full)
		}
	}
}

func (w *world) deleteRecords(before int64, timeout int32) *kmsg.DeleteRecordsRequest {
	r := kmsg.NewPtrDeleteRecordsRequest()
	r.Version, r.TimeoutMillis = 1, timeout
	p := kmsg.NewDeleteRecordsRequestTopicPartition()
	p.Offset = before
	t := kmsg.NewDeleteRecordsRequestTopic()
	t.Topic, t.Partitions = "orders", append(t.Partitions, p)
	r.Topics = append(r.Topics, t)
	return r
}

func deletedRecords(r kmsg.Response) (kafka.ErrorCode, kafka.Offset) {
	p := &r.(*kmsg.DeleteRecordsResponse).Topics[0].Partitions[0]
	return kafka.ErrorCode(p.ErrorCode), kafka.Offset(p.LowWatermark)
}

// TestDeleteRecordsWaitsForTheReplicas: the answer comes when the log start of every
// live replica has followed (KIP-107, F-6).
func TestDeleteRecordsWaitsForTheReplicas(t *testing.T) {
	w := trio(t, "zk-3.9", nil)
	w.fill(1, 10)
	if code, _ := deletedRecords(w.client(2).ask(w.deleteRecords(4, 1000))); code != kafka.NotLeaderOrFollower {
		t.Fatal(code)
	}
	if code, low := deletedRecords(w.client(1).ask(w.deleteRecords(11, 1000))); code != kafka.OffsetOutOfRange || low != -1 {
		t.Fatal(code, low)
	}
	if code, low := deletedRecords(w.client(1).ask(w.deleteRecords(4, 30_000))); code != kafka.None || low != 4 {
		t.Fatal(code, low)
	}
	for id := kafka.NodeID(1); id <= 3; id++ {
		if start := w.part(id, "orders").Log().LogStartOffset(); start != 4 || w.noted(event.LogStartRaised, id) != 1 {
			t.Fatalf("broker %d: log start %d, noted %d times", id, start, w.noted(event.LogStartRaised, id))
		}
	}
	got := fetched(w.client(1).ask(w.fetch("orders", 0, 3, 0)))
	if kafka.ErrorCode(got.ErrorCode) != kafka.OffsetOutOfRange {
		t.Fatalf("%+v", got)
	}

	w.cut("broker-1", "broker-2")
	begin := w.now
	if code, low := deletedRecords(w.client(1).ask(w.deleteRecords(-1, 2000))); code != kafka.RequestTimedOut || low != 4 {
		t.Fatal(code, low)
	}
	if took := w.now - begin; took < 2*kafka.Second || took > 2100*kafka.Millisecond {
		t.Fatal(took)
	}
	if start := w.part(1, "orders").Log().LogStartOffset(); start != 10 {
		t.Fatalf("log start %d", start)
	}
	w.heal()
	w.until("the last replica has followed", func() bool { return w.part(2, "orders").Log().LogStartOffset() == 10 })
	if len(w.broker(1).waiting.deletions) != 0 {
		t.Fatal("a deletion is parked")
	}
}

// A fetch that waits is answered when its offset is deleted under it.
func TestParkedFetchHearsOfADeletion(t *testing.T) {
	w := trio(t, "zk-3.9", nil)
	w.fill(1, 5)
	c := w.client(1)
	req := w.fetch("orders", 0, 2, 30_000)
	req.MinBytes = 1 << 20
	c.send(req)
	w.run(kafka.Second)
	w.client(1).ask(w.deleteRecords(4, 1000))
	w.until("answered", func() bool { return len(c.resp) == 1 })
	if code := kafka.ErrorCode(fetched(c.resp[0]).ErrorCode); code != kafka.OffsetOutOfRange {
		t.Fatal(code)
	}
}

func producerBatch(id int64, sequence int32, transactional bool, values ...string) []byte {
	o := record.ClientOptions()
	o.ProducerID, o.ProducerEpoch, o.BaseSequence, o.Transactional = id, 0, sequence, transactional
	var bd record.Builder
	bd.Reset(o)
	for _, v := range values {
		bd.Append(1_700_000_000_000, nil, []byte(v), nil)
	}
	b, err := bd.Build()
	if err != nil {
		panic(err)
	}
	return b
}

// TestP15DuplicateIsAnsweredWithItsOldOffset: also by the next leader, which has the
// producers from its log.
func TestP15DuplicateIsAnsweredWithItsOldOffset(t *testing.T) {
	w := trio(t, "zk-3.9", nil)
	c := w.client(1)
	for i, v := range []string{"a", "b", "c"} {
		if code, base := produced(c.ask(w.produce(-1, "orders", 0, producerBatch(7, int32(i), false, v)))); code != kafka.None || base != kafka.Offset(i) {
			t.Fatal(code, base)
		}
	}
	again := c.ask(w.produce(-1, "orders", 0, producerBatch(7, 1, false, "b")))
	if code, base := produced(again); code != kafka.None || base != 1 {
		t.Fatal(code, base)
	}
	if at := again.(*kmsg.ProduceResponse).Topics[0].Partitions[0].LogAppendTime; at != 1_700_000_000_000 {
		t.Fatalf("log append time %d", at)
	}
	if code, _ := produced(c.ask(w.produce(-1, "orders", 0, producerBatch(7, 5, false, "f")))); code != kafka.OutOfOrderSequenceNumber {
		t.Fatal(code)
	}
	w.crash(1)
	w.until("another leads", func() bool { return w.part(2, "orders").IsLeader() || w.part(3, "orders").IsLeader() })
	leader := kafka.NodeID(2)
	if w.part(3, "orders").IsLeader() {
		leader = 3
	}
	if code, base := produced(w.client(leader).ask(w.produce(-1, "orders", 0, producerBatch(7, 2, false, "c")))); code != kafka.None || base != 2 {
		t.Fatal(code, base)
	}
	if end := w.part(leader, "orders").Log().LogEndOffset(); end != 3 {
		t.Fatalf("end %d", end)
	}
}

// mark ends a transaction at the leader, as a coordinator will.
func (w *world) mark(leader kafka.NodeID, id int64, commit bool) {
	w.t.Helper()
	b, err := record.MarkerBatch(record.Marker{ProducerID: id, Commit: commit}, 0, kafka.NoLeaderEpoch, 1_700_000_000_000)
	if err != nil {
		w.t.Fatal(err)
	}
	done := false
	w.onZK(leader, func(in *step.Input, out *step.Effects) {
		p := w.part(leader, "orders")
		res, code, err := p.AppendFrom(in, out, b, 1, log.Coordinator, log.NoGuard)
		if code != kafka.None || err != nil {
			w.t.Fatal(code, err)
		}
		p.Publish(in, out, res.Number)
		done = true
	})
	w.until("the marker is written", func() bool { return done })
}

// TestL18ReadCommittedSeesUpToTheLastStableOffset: an open transaction hides what
// follows it; the answer lists the aborted ones (L-12, L-21).
func TestL18ReadCommittedSeesUpToTheLastStableOffset(t *testing.T) {
	w := trio(t, "zk-3.9", nil)
	c := w.client(1)
	committed := func(at kafka.Offset) *kmsg.FetchResponseTopicPartition {
		req := w.fetch("orders", 0, at, 0)
		req.IsolationLevel = 1
		return fetched(w.client(1).ask(req))
	}
	c.ask(w.produce(-1, "orders", 0, batch("plain")))
	c.ask(w.produce(-1, "orders", 0, producerBatch(7, 0, true, "a", "b"))) // 1, 2
	c.ask(w.produce(-1, "orders", 0, batch("behind")))                     // 3
	w.run(kafka.Second)
	got := committed(0)
	if got.HighWatermark != 4 || got.LastStableOffset != 1 || got.AbortedTransactions == nil || len(got.AbortedTransactions) != 0 {
		t.Fatalf("%+v", got)
	}
	if b, rest, err := record.Next(got.RecordBatches); err != nil || b.LastOffset() != 0 || len(rest) != 0 {
		t.Fatalf("%d bytes, %v", len(got.RecordBatches), err)
	}
	if got := committed(2); len(got.RecordBatches) != 0 || got.ErrorCode != 0 {
		t.Fatalf("%+v", got)
	}
	if got := fetched(c.ask(w.fetch("orders", 0, 0, 0))); got.LastStableOffset != 1 || got.AbortedTransactions != nil || len(got.RecordBatches) < 150 {
		t.Fatalf("%+v", got)
	}

	// A long poll ends when the marker is replicated.
	parked := w.client(1)
	req := w.fetch("orders", 0, 1, 30_000)
	req.IsolationLevel = 1
	parked.send(req)
	w.run(kafka.Second)
	if len(parked.resp) != 0 {
		t.Fatal("answered below the last stable offset")
	}
	w.mark(1, 7, false)
	w.until("answered", func() bool { return len(parked.resp) == 1 })
	got = fetched(parked.resp[0])
	if got.LastStableOffset != 5 || len(got.AbortedTransactions) != 1 || got.AbortedTransactions[0].ProducerID != 7 || got.AbortedTransactions[0].FirstOffset != 1 {
		t.Fatalf("%+v", got)
	}
	// The followers have index and state of their own.
	w.run(kafka.Second)
	for id := kafka.NodeID(2); id <= 3; id++ {
		l := w.part(id, "orders").Log()
		if l.LastStableOffset() != 5 || l.HasOngoingTransaction(7) || !w.exists(id, "orders-0/00000000000000000000.txnindex") {
			t.Fatalf("broker %d: last stable offset %d", id, l.LastStableOffset())
		}
	}
}

// TestC9LatestForReadCommittedIsTheLastStableOffset as for timestamp lookups.
func TestC9LatestForReadCommittedIsTheLastStableOffset(t *testing.T) {
	w := trio(t, "zk-3.9", nil)
	c := w.client(1)
	c.ask(w.produce(-1, "orders", 0, batch("plain")))
	c.ask(w.produce(-1, "orders", 0, producerBatch(7, 0, true, "a")))
	w.run(kafka.Second)
	ask := func(isolation int8) int64 {
		r := kmsg.NewPtrListOffsetsRequest()
		r.Version, r.ReplicaID, r.IsolationLevel = w.profile.Versions.ListOffsets, -1, isolation
		p := kmsg.NewListOffsetsRequestTopicPartition()
		p.Timestamp = -1
		topic := kmsg.NewListOffsetsRequestTopic()
		topic.Topic, topic.Partitions = "orders", append(topic.Partitions, p)
		r.Topics = append(r.Topics, topic)
		return c.ask(r).(*kmsg.ListOffsetsResponse).Topics[0].Partitions[0].Offset
	}
	if all, stable := ask(0), ask(1); all != 2 || stable != 1 {
		t.Fatal(all, stable)
	}
}

// TestProducersExpireOnVirtualTime: every check interval, by their records' time.
func TestProducersExpireOnVirtualTime(t *testing.T) {
	w := newWorld(t, "zk-3.9").with("producer.id.expiration.ms", "60000").with("producer.id.expiration.check.interval.ms", "10000")
	w.cluster(3)
	w.create("orders", nil, 1, 2, 3)
	w.client(1).ask(w.produce(-1, "orders", 0, producerBatch(7, 0, false, "a")))
	w.run(30 * kafka.Second)
	if n := w.part(2, "orders").Log().ProducerCount(); n != 1 {
		t.Fatalf("%d producers", n)
	}
	w.run(50 * kafka.Second)
	for id := kafka.NodeID(1); id <= 3; id++ {
		if n := w.part(id, "orders").Log().ProducerCount(); n != 0 {
			t.Fatalf("broker %d: %d producers", id, n)
		}
	}
}

// TestFlushMsFlushesOnVirtualTime: the flusher looks every
// log.flush.scheduler.interval.ms.
func TestFlushMsFlushesOnVirtualTime(t *testing.T) {
	w := newWorld(t, "zk-3.9").with("log.flush.scheduler.interval.ms", "1000").with("log.initial.task.delay.ms", "0")
	w.cluster(1)
	w.create("orders", map[string]string{"flush.ms": "5000"}, 1)
	w.run(6 * kafka.Second)
	w.fill(1, 3)
	l := w.part(1, "orders").Log()
	w.until("it is flushed", func() bool { return l.RecoveryPoint() == 3 })
	at := w.now
	w.fill(1, 1)
	w.until("it is flushed again", func() bool { return l.RecoveryPoint() == 4 })
	if took := w.now - at; took < 5*kafka.Second || took > 6*kafka.Second {
		t.Fatal(took)
	}
}

// Files that the recovery has marked are removed after the delay too.
func TestWhatARecoveryMarksIsRemoved(t *testing.T) {
	w := newWorld(t, "zk-3.9")
	w.cluster(1)
	w.create("orders", map[string]string{"segment.bytes": "500"}, 1)
	w.fill(1, 20)
	w.crash(1)
	fs := w.parties["broker-1"].fs
	name := "data/orders-0/00000000000000000000.log"
	f, err := fs.Open(name)
	if err == nil {
		err = f.Truncate(f.Size() - 10) // torn, below what was never flushed
	}
	if err != nil {
		t.Fatal(err)
	}
	w.start(1)
	w.until("it runs", func() bool { return w.broker(1).State() == Running })
	if _, deleted := w.files(1); deleted == 0 {
		t.Fatal("nothing is marked")
	}
	w.run(70 * kafka.Second)
	if logs, deleted := w.files(1); logs != 1 || deleted != 0 {
		t.Fatalf("%d logs, %d files marked", logs, deleted)
	}
}
