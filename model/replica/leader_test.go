package replica

import (
	"slices"
	"testing"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/record"
	"github.com/simkafka/simkafka/model/step"
)

// TestL13AppendByRow: rows 3 to 6, in order, and nothing is appended.
func TestL13AppendByRow(t *testing.T) {
	for _, c := range []struct {
		name  string
		setUp func(b *broker)
		acks  int8
		want  kafka.ErrorCode
	}{
		{"offline", func(b *broker) { b.partition(0).SetOffline(b.input(step.Flushed), b.out) }, 1, kafka.KafkaStorageError},
		{"follower", func(b *broker) { b.follow(0, 2, 2, 2, ids(1, 2, 3)) }, 1, kafka.NotLeaderOrFollower},
		{"stopped", func(b *broker) { b.partition(0).Stop(b.input(step.Request), b.out, 1, true) }, 1, kafka.NotLeaderOrFollower},
		{"few in sync, all", func(b *broker) { b.w.topic.MinInsyncReplicas = 3 }, AllISR, kafka.NotEnoughReplicas},
		{"few in sync, one", func(b *broker) { b.w.topic.MinInsyncReplicas = 3 }, 1, kafka.None},
		{"few in sync, none", func(b *broker) { b.w.topic.MinInsyncReplicas = 3 }, 0, kafka.None},
		{"enough in sync", func(b *broker) { b.w.topic.MinInsyncReplicas = 2 }, AllISR, kafka.None},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, b, p := led(t, "zk-3.9")
			c.setUp(b)
			before := p.Log().LogEndOffset()
			res, code := b.append(0, "x", 1, c.acks)
			if code != c.want {
				t.Fatalf("code %v, want %v", code, c.want)
			}
			if code != kafka.None && (res.Base != -1 || res.Last != -1 || p.Log().LogEndOffset() != before) {
				t.Errorf("refused and appended: %+v", res)
			}
		})
	}
}

// TestL13TheMinISRCheckUsesTheCommittedSet: a member about to join does not count
// before the append (I-17).
func TestL13TheMinISRCheckUsesTheCommittedSet(t *testing.T) {
	_, b, _ := led(t, "zk-3.9")
	b.w.topic.MinInsyncReplicas = 3
	b.fetchFrom(3, 10)
	if _, code := b.append(0, "x", 1, AllISR); code != kafka.NotEnoughReplicas {
		t.Errorf("%v", code)
	}
}

// TestL13ARefusedBatchCarriesItsVerdict.
func TestL13ARefusedBatchCarriesItsVerdict(t *testing.T) {
	_, b, p := led(t, "zk-3.9")
	bad := slices.Clone(batch(t, "x", 1))
	bad[len(bad)-1] ^= 1
	res, code, err := p.Append(b.input(step.Request), b.out, bad, 1)
	if err != nil || code != kafka.CorruptMessage || res.Verdict.Code != code || res.Base != -1 {
		t.Errorf("%v %v %+v", err, code, res)
	}
}

// TestL13AppendStampsEpochAndOffsetsAndNotesIt.
func TestL13AppendStampsEpochAndOffsetsAndNotesIt(t *testing.T) {
	w, b, p := led(t, "zk-3.9")
	res, _ := b.append(0, "x", 3, 1)
	if res.Base != 10 || res.Last != 12 {
		t.Errorf("%+v", res)
	}
	var stored record.Batch
	b.check(p.Log().Batches(10, func(r record.Batch) bool { stored = r; return true }))
	e := w.only(event.BatchAppended)
	if e.Base != 10 || e.Last != 12 || e.LeaderEpoch != 1 || stored.PartitionLeaderEpoch() != 1 || e.CRC != stored.CRC() ||
		e.Count != 3 || int(e.Size) != len(stored) || e.LEO != 13 || !e.Flag || e.Node != 1 || e.TP != tp(0) {
		t.Errorf("%+v", e)
	}
}

// TestAnAppendIsInvisibleUntilPublished: fetches, high watermark, epoch ends and
// offsets see the published end.
func TestAnAppendIsInvisibleUntilPublished(t *testing.T) {
	w, b, p := led(t, "zk-3.9")
	b.holdDone = true
	res, _ := b.append(0, "x", 2, 1)
	if p.PublishedLEO() != 10 || p.Log().LogEndOffset() != 12 {
		t.Fatalf("published %d", p.PublishedLEO())
	}
	if f := b.fetchFrom(2, 10); f.LEO != 10 || f.Records != nil {
		t.Errorf("a fetch sees %+v", f)
	}
	if f := b.fetchFrom(2, 12); f.Code != kafka.OffsetOutOfRange {
		t.Errorf("a fetch beyond: %+v", f)
	}
	if _, _, end := p.EndOffsetForEpoch(-1, 1); end != 10 {
		t.Errorf("the epoch ends at %d", end)
	}
	l, err := p.ListOffset(ListOffsetArgs{Replica: 2, CurrentLeaderEpoch: -1, Timestamp: LatestTimestamp})
	if b.check(err); l.Offset != 10 {
		t.Errorf("the end is %d", l.Offset)
	}
	w.notes = nil
	p.Publish(b.input(step.Done), b.out, res.Number)
	b.settle()
	if e := w.only(event.LEOPublished); e.LEO != 12 || p.PublishedLEO() != 12 || b.moved&MovedLEO == 0 {
		t.Errorf("published %d, %+v", p.PublishedLEO(), e)
	}
	if f := b.fetchFrom(2, 10); f.LEO != 12 || f.Records == nil {
		t.Errorf("a fetch sees %+v", f)
	}
}

// TestOverlappingAppendsArePublishedInLogOrder: a later append that is done first
// stays invisible behind an earlier one.
func TestOverlappingAppendsArePublishedInLogOrder(t *testing.T) {
	_, b, p := led(t, "zk-3.9")
	b.holdDone = true
	first, _ := b.append(0, "x", 2, 1)
	second, _ := b.append(0, "y", 3, 1)
	third, _ := b.append(0, "z", 1, 1)
	for _, c := range []struct {
		number uint32
		want   kafka.Offset
	}{{second.Number, 10}, {first.Number, 15}, {third.Number, 16}, {third.Number, 16}} {
		p.Publish(b.input(step.Done), b.out, c.number)
		if p.PublishedLEO() != c.want {
			t.Fatalf("published %d, want %d", p.PublishedLEO(), c.want)
		}
	}
}

// TestTheHighWatermarkStaysBelowWhatIsUnderWay though the leader is the whole ISR.
func TestTheHighWatermarkStaysBelowWhatIsUnderWay(t *testing.T) {
	b := newWorld(t, "zk-3.9", 1).broker(1)
	b.lead(0, 0, 0, ids(1), ids(1))
	b.holdDone = true
	first, _ := b.append(0, "x", 2, 1)
	b.append(0, "y", 3, 1)
	p := b.partition(0)
	p.Publish(b.input(step.Done), b.out, first.Number)
	expectHW(t, p, 2, "the first of two appends")
}

// TestARoleChangePublishesWhatWasUnderWay and a late Publish does nothing.
func TestARoleChangePublishesWhatWasUnderWay(t *testing.T) {
	_, b, p := led(t, "zk-3.9")
	b.holdDone = true
	res, _ := b.append(0, "x", 2, 1)
	b.follow(0, 2, 2, 2, ids(1, 2, 3))
	if p.PublishedLEO() != 12 {
		t.Fatalf("published %d", p.PublishedLEO())
	}
	b.moved = 0
	p.Publish(b.input(step.Done), b.out, res.Number)
	if b.moved != 0 {
		t.Error("a late Publish moved something")
	}
}

// TestL14DelayedProduceTable.
func TestL14DelayedProduceTable(t *testing.T) {
	for _, c := range []struct {
		hw, required    kafka.Offset
		maximal, minISR int
		code            kafka.ErrorCode
		done            bool
	}{
		{9, 10, 3, 2, kafka.None, false},
		{9, 10, 1, 2, kafka.None, false},
		{10, 10, 2, 2, kafka.None, true},
		{11, 10, 3, 2, kafka.None, true},
		{10, 10, 1, 2, kafka.NotEnoughReplicasAfterAppend, true},
	} {
		code, done := produceOutcome(c.hw, c.required, c.maximal, c.minISR)
		if code != c.code || done != c.done {
			t.Errorf("%+v: %v %v", c, code, done)
		}
	}
}

// TestL14DelayedProduceByRole and the maximal ISR counts, pending members included.
func TestL14DelayedProduceByRole(t *testing.T) {
	w, b, p := led(t, "zk-2.6")
	w.topic.MinInsyncReplicas = 2
	b.append(0, "x", 1, AllISR)
	expect := func(when string, code kafka.ErrorCode, done bool) {
		t.Helper()
		if c, d := p.CheckDelayedProduce(11); c != code || d != done {
			t.Errorf("%s: %v %v", when, c, d)
		}
	}
	expect("not yet", kafka.None, false)
	b.fetchFrom(2, 11)
	expect("member 2 has it", kafka.None, true)
	b.append(0, "x", 1, 1)
	w.now += 40 * kafka.Second
	p.MaybeShrinkISR(b.input(step.Timer), b.out)
	b.settle()
	expect("removal pending", kafka.None, true)
	b.commitISR(p)
	expect("ISR below min after append", kafka.NotEnoughReplicasAfterAppend, true)
	b.follow(0, 2, 2, 9, ids(1, 2, 3))
	expect("no leader any more", kafka.NotLeaderOrFollower, true)
	p.SetOffline(b.input(step.Flushed), b.out)
	expect("offline", kafka.KafkaStorageError, true)
}

// TestL14AnAppendKnowsThatItsLeaderHasResigned, also when it leads again; another epoch of
// the same leader is no such end.
func TestL14AnAppendKnowsThatItsLeaderHasResigned(t *testing.T) {
	_, b, p := led(t, "zk-2.6")
	b.holdDone = true
	res, _ := b.append(0, "x", 1, AllISR)
	expect := func(when string, want bool) {
		t.Helper()
		if got := p.HasResigned(&res); got != want {
			t.Errorf("%s: %t", when, got)
		}
	}
	expect("it leads", false)
	b.lead(0, 2, 2, ids(1, 2, 3), ids(1, 2, 3))
	expect("it leads another epoch", false)
	b.follow(0, 2, 3, 3, ids(1, 2, 3))
	expect("it follows", true)
	b.lead(0, 4, 4, ids(1, 2, 3), ids(1, 2, 3))
	expect("it leads again", true)
}

// TestL14AMemberAboutToJoinCounts: the maximal ISR decides.
func TestL14AMemberAboutToJoinCounts(t *testing.T) {
	w := newWorld(t, "zk-2.6", 1)
	b := w.broker(1)
	b.lead(0, 0, 0, ids(1), ids(1, 2))
	b.append(0, "x", 1, 1)
	b.fetchFrom(2, 1)
	w.topic.MinInsyncReplicas = 2
	if code, done := b.partition(0).CheckDelayedProduce(1); !b.partition(0).ISRInFlight() || code != kafka.None || !done {
		t.Errorf("%v %v", code, done)
	}
}

// TestL15GateTurnsAfterAppendIntoTimeout: A-9 on one partition.
func TestL15GateTurnsAfterAppendIntoTimeout(t *testing.T) {
	for profile, want := range map[string]struct {
		code kafka.ErrorCode
		done bool
	}{"zk-3.9": {kafka.None, false}, "zk-2.6": {kafka.NotEnoughReplicasAfterAppend, true}} {
		w, b, p := led(t, profile)
		w.topic.MinInsyncReplicas = 2
		b.append(0, "x", 1, AllISR)
		w.now += 40 * kafka.Second
		p.MaybeShrinkISR(b.input(step.Timer), b.out)
		b.settle()
		b.commitISR(p)
		if code, done := p.CheckDelayedProduce(11); code != want.code || done != want.done {
			t.Errorf("%s: %v %v", profile, code, done)
		}
	}
}
