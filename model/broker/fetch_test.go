package broker

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/replica"
)

func TestL20LongPollEndsWhenTheHighWatermarkPasses(t *testing.T) {
	w := trio(t, "zk-3.9", nil)
	w.run(kafka.Second)
	c, d := w.client(1), w.client(1)
	begin := w.now
	c.send(w.fetch("orders", 0, 0, 5000))
	w.run(300 * kafka.Millisecond)
	if len(c.resp) != 0 || w.broker(1).waiting.parkedFetches != 3 { // two followers beside it
		t.Fatalf("%d answers, %d parked", len(c.resp), w.broker(1).waiting.parkedFetches)
	}
	d.ask(w.produce(-1, "orders", 0, batch("a")))
	w.run(10 * kafka.Millisecond)
	if len(c.resp) != 1 {
		t.Fatal("no answer")
	}
	got := fetched(c.resp[0])
	if got.HighWatermark != 1 || len(got.RecordBatches) == 0 || w.now-begin > kafka.Second {
		t.Fatalf("high watermark %d, %d bytes at %v", got.HighWatermark, len(got.RecordBatches), w.now-begin)
	}
}

func TestL20LongPollIsNotEndedByWhatConsumersMayNotSee(t *testing.T) {
	w := trio(t, "zk-3.9", nil)
	w.run(kafka.Second)
	w.cut("broker-1", "broker-2")
	c := w.client(1)
	c.send(w.fetch("orders", 0, 0, 5000))
	w.client(1).ask(w.produce(1, "orders", 0, batch("a")))
	w.run(kafka.Second)
	if len(c.resp) != 0 {
		t.Fatal("answered above the high watermark")
	}
	w.heal()
	w.until("answered", func() bool { return len(c.resp) == 1 })
	if fetched(c.resp[0]).HighWatermark != 1 {
		t.Fatal(fetched(c.resp[0]))
	}
}

func TestL20LongPollExpiresEmpty(t *testing.T) {
	w := trio(t, "zk-3.9", nil)
	c := w.client(1)
	begin := w.now
	got := fetched(c.ask(w.fetch("orders", 0, 0, 200)))
	if took := w.now - begin; got.ErrorCode != 0 || len(got.RecordBatches) != 0 || took < 200*kafka.Millisecond || took > 210*kafka.Millisecond {
		t.Fatalf("%+v after %v", got, took)
	}
	before := w.records(1)
	for range 50 {
		c.ask(w.fetch("orders", 0, 0, 1))
	}
	if n := w.records(1); n != before {
		t.Fatalf("%d records of fetches are kept, %d before", n, before)
	}
}

// records counts the records of fetches that a broker keeps.
func (w *world) records(node kafka.NodeID) (n int) {
	for _, op := range w.broker(node).waiting.fetches {
		if op != nil {
			n++
		}
	}
	return n
}

func TestL20MinBytesAreWaitedFor(t *testing.T) {
	w := trio(t, "zk-3.9", nil)
	c, d := w.client(1), w.client(1)
	req := w.fetch("orders", 0, 0, 60_000)
	one := len(batch("a"))
	req.MinBytes = int32(2*one + 1)
	c.send(req)
	for i := range 3 {
		if d.ask(w.produce(-1, "orders", 0, batch("a"))); len(c.resp) != 0 {
			t.Fatalf("answered with %d batches", i)
		}
		w.run(20 * kafka.Millisecond)
	}
	if len(c.resp) != 1 || len(fetched(c.resp[0]).RecordBatches) != 3*one {
		t.Fatalf("%d answers", len(c.resp))
	}
}

func TestL17ErrorsAreAnsweredAtOnce(t *testing.T) {
	w := trio(t, "zk-3.9", nil)
	w.run(kafka.Second)
	for _, x := range []struct {
		name string
		to   kafka.NodeID
		set  func(r *kmsg.FetchRequest, p *kmsg.FetchRequestTopicPartition)
		want kafka.ErrorCode
	}{
		{"beyond the end", 1, func(_ *kmsg.FetchRequest, p *kmsg.FetchRequestTopicPartition) { p.FetchOffset = 1 }, kafka.OffsetOutOfRange},
		{"older epoch", 1, func(_ *kmsg.FetchRequest, p *kmsg.FetchRequestTopicPartition) { p.CurrentLeaderEpoch = 0 }, kafka.FencedLeaderEpoch},
		{"newer epoch", 1, func(_ *kmsg.FetchRequest, p *kmsg.FetchRequestTopicPartition) { p.CurrentLeaderEpoch = 9 }, kafka.UnknownLeaderEpoch},
		{"follower, old consumer", 2, func(r *kmsg.FetchRequest, _ *kmsg.FetchRequestTopicPartition) { r.Version = 10 }, kafka.NotLeaderOrFollower},
		{"follower, consumer of KIP-392", 2, func(*kmsg.FetchRequest, *kmsg.FetchRequestTopicPartition) {}, kafka.None},
		{"no such partition", 1, func(_ *kmsg.FetchRequest, p *kmsg.FetchRequestTopicPartition) { p.Partition = 5 }, kafka.UnknownTopicOrPartition},
		{"stranger as follower", 1, func(r *kmsg.FetchRequest, _ *kmsg.FetchRequestTopicPartition) { r.ReplicaID = 8 }, kafka.NotLeaderOrFollower},
	} {
		w.control(1, w.leaderAndISR(1, 50, state(1, 1, 1, 2, 3)))
		req := w.fetch("orders", 0, 0, 1)
		req.Topics[0].Partitions[0].CurrentLeaderEpoch = -1
		x.set(req, &req.Topics[0].Partitions[0])
		if got := kafka.ErrorCode(fetched(w.client(x.to).ask(req)).ErrorCode); got != x.want {
			t.Errorf("%s: %v", x.name, got)
		}
	}
}

func TestFetchByTopicID(t *testing.T) {
	w := trio(t, "zk-3.9", nil)
	w.run(kafka.Second)
	req := w.fetch("", 0, 0, 1)
	req.Version = 16
	req.Topics[0].Topic = ""
	req.Topics[0].TopicID = w.part(1, "orders").TopicID
	if got := fetched(w.client(1).ask(req)); got.ErrorCode != 0 || got.HighWatermark != 0 {
		t.Fatal(kafka.ErrorCode(got.ErrorCode))
	}
	req.Topics[0].TopicID[3] ^= 1
	if got := fetched(w.client(1).ask(req)); kafka.ErrorCode(got.ErrorCode) != kafka.UnknownTopicID {
		t.Fatal(kafka.ErrorCode(got.ErrorCode))
	}
}

func TestL19LimitsOfAFetch(t *testing.T) {
	w := newWorld(t, "zk-3.9")
	w.cluster(1)
	w.create("a", nil, 1)
	w.create("b", nil, 1)
	c := w.client(1)
	one := int32(len(batch("x")))
	for _, topic := range []string{"a", "b"} {
		for range 4 {
			c.ask(w.produce(1, topic, 0, batch("x")))
		}
	}
	for _, x := range []struct {
		response, partition int32
		a, b                int32 // batches of each topic
	}{
		{10 * one, 10 * one, 4, 4},
		{5 * one, 10 * one, 4, 1},
		{10 * one, 2 * one, 2, 2},
		{1, 1, 1, 0},         // one whole batch, however small the limits
		{4*one + 1, 1, 1, 0}, // and only one
		{0, 10 * one, 1, 0},
	} {
		req := w.fetch("a", 0, 0, 0)
		req.Topics = append(req.Topics, w.fetch("b", 0, 0, 0).Topics...)
		req.MaxBytes = x.response
		for i := range req.Topics {
			req.Topics[i].Partitions[0].PartitionMaxBytes = x.partition
		}
		resp := c.ask(req).(*kmsg.FetchResponse)
		a, b := int32(len(resp.Topics[0].Partitions[0].RecordBatches)), int32(len(resp.Topics[1].Partitions[0].RecordBatches))
		if a != x.a*one || b != x.b*one {
			t.Errorf("limits %d and %d: %d and %d bytes, want %d and %d batches of %d", x.response, x.partition, a, b, x.a, x.b, one)
		}
	}
}

func TestL20SecondReadDoesNotCountForTheFollower(t *testing.T) {
	w := newWorld(t, "zk-3.9")
	w.cluster(2)
	w.create("orders", nil, 1, 2)
	w.run(kafka.Second) // broker 2's fetch is parked at offset 0
	w.client(1).send(w.produce(-1, "orders", 0, batch("a")))
	w.until("the parked fetch is answered", func() bool { return w.broker(1).waiting.parkedFetches == 0 })
	if hw := w.part(1, "orders").HighWatermark(); hw != 0 {
		t.Fatalf("high watermark %d before the follower's next fetch", hw)
	}
	w.until("it commits", func() bool { return w.part(1, "orders").HighWatermark() == 1 })
}

func TestC9ListOffsets(t *testing.T) {
	w := trio(t, "zk-3.9", nil)
	c := w.client(1)
	c.ask(w.produce(-1, "orders", 0, batch("a", "b", "c")))
	list := func(replicaID int32, at kafka.TimestampMs) *kmsg.ListOffsetsResponseTopicPartition {
		req := kmsg.NewPtrListOffsetsRequest()
		req.Version, req.ReplicaID = w.profile.Versions.ListOffsets, replicaID
		p := kmsg.NewListOffsetsRequestTopicPartition()
		p.CurrentLeaderEpoch, p.Timestamp = -1, int64(at)
		topic := kmsg.NewListOffsetsRequestTopic()
		topic.Topic, topic.Partitions = "orders", []kmsg.ListOffsetsRequestTopicPartition{p}
		req.Topics = append(req.Topics, topic)
		return &c.ask(req).(*kmsg.ListOffsetsResponse).Topics[0].Partitions[0]
	}
	for at, want := range map[kafka.TimestampMs]int64{replica.LatestTimestamp: 3, replica.EarliestTimestamp: 0, 1_700_000_000_000: 0, 1_800_000_000_000: -1} {
		if got := list(-1, at); got.Offset != want || got.ErrorCode != 0 {
			t.Errorf("%d: %+v", at, got)
		}
	}
	if w.noted(event.OffsetAnswered, 1) != 1 {
		t.Error("latest to a client is noted, nothing else")
	}
}

func TestE2OffsetForLeaderEpoch(t *testing.T) {
	w := trio(t, "zk-3.9", nil)
	c := w.client(1)
	c.ask(w.produce(-1, "orders", 0, batch("a")))
	req := kmsg.NewPtrOffsetForLeaderEpochRequest()
	req.Version, req.ReplicaID = 4, -1
	for n := range int32(2) {
		p := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
		p.Partition, p.CurrentLeaderEpoch = n, -1
		topic := kmsg.NewOffsetForLeaderEpochRequestTopic()
		topic.Topic, topic.Partitions = "orders", []kmsg.OffsetForLeaderEpochRequestTopicPartition{p}
		req.Topics = append(req.Topics, topic)
	}
	resp := c.ask(req).(*kmsg.OffsetForLeaderEpochResponse)
	if p := resp.Topics[0].Partitions[0]; p.ErrorCode != 0 || p.LeaderEpoch != 0 || p.EndOffset != 1 {
		t.Errorf("%+v", p)
	}
	if p := resp.Topics[1].Partitions[0]; kafka.ErrorCode(p.ErrorCode) != kafka.UnknownTopicOrPartition || p.EndOffset != -1 {
		t.Errorf("%+v", p)
	}
}
