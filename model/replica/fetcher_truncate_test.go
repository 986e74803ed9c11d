package replica

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

// TestF8ALongerLogIsCutToTheLeadersEnd.
func TestF8ALongerLogIsCutToTheLeadersEnd(t *testing.T) {
	w := newWorld(t, "zk-0.10", 2)
	a, b := w.broker(1), w.broker(2)
	fill(w, b, 10, 10)
	a.lead(0, 1, 1, ids(1), ids(1, 2))
	a.append(0, "new", 4, 1)
	b.follow(0, 1, 1, 1, ids(1, 2))
	w.notes = nil
	b.exchange() // fetch at 10: out of range
	if req, _ := b.exchange(); req.(*kmsg.ListOffsetsRequest).Topics[0].Partitions[0].Timestamp != -1 {
		t.Fatal("not asked for the end")
	}
	e := w.only(event.Truncated)
	if e.Offset != 4 || e.LEO != 10 || e.Text != "out-of-range" || e.HW != 4 || b.truncated != 1 {
		t.Errorf("%+v", e)
	}
	if part := fetchPart(t, b.pending()); part.FetchOffset != 4 {
		t.Errorf("fetches from %d", part.FetchOffset)
	}
}

// TestF8AShorterLogThanTheLeadersStartBeginsAnew.
func TestF8AShorterLogThanTheLeadersStartBeginsAnew(t *testing.T) {
	w, a, b := pair(t, "zk-3.9")
	a.lead(0, 1, 1, ids(1), ids(1, 2))
	for range 3 {
		a.append(0, "x", 2, 1)
	}
	if _, err := a.partition(0).Log().MaybeIncrementLogStartOffset(4); err != nil {
		t.Fatal(err)
	}
	b.follow(0, 1, 1, 1, ids(1, 2))
	b.answer(respond(b, kafka.UnknownLeaderEpoch)) // the old request
	w.notes = nil
	for range 4 { // fetch, end, start, fetch
		b.exchange()
	}
	if got := b.contents(0); got != "4..5@1:x" {
		t.Errorf("%q", got)
	}
	if e := w.only(event.Truncated); e.Offset != 4 || e.Text != "full" || b.truncated != 1 {
		t.Errorf("%+v", e)
	}
	if l := b.partition(0).Log(); l.LogStartOffset() != 4 || l.HighWatermark() < 4 {
		t.Errorf("start %d hw %d", l.LogStartOffset(), l.HighWatermark())
	}
}

// TestF8ErrorsOfListOffsets: fenced fails, others delay and fetch again.
func TestF8ErrorsOfListOffsets(t *testing.T) {
	for code, fails := range map[kafka.ErrorCode]bool{kafka.NotLeaderOrFollower: false, kafka.FencedLeaderEpoch: true} {
		_, _, b := pair(t, "zk-3.9")
		b.answer(respond(b, kafka.OffsetOutOfRange))
		b.answer(respond(b, code))
		if (b.fetcher.Len() == 0) != fails {
			t.Errorf("%v: %d partitions", code, b.fetcher.Len())
		}
		if fails {
			continue
		}
		if _, ok := b.pending().(*kmsg.FetchRequest); !ok {
			t.Errorf("%v: no fetch", code)
		}
	}
}

// TestF8ListOffsetsCarriesTheLeaderEpochWhereFenced.
func TestF8ListOffsetsCarriesTheLeaderEpochWhereFenced(t *testing.T) {
	for profile, want := range map[string]int32{"zk-3.9": 0, "zk-2.0": -1} {
		_, _, b := pair(t, profile)
		for {
			if _, ok := b.pending().(*kmsg.FetchRequest); ok {
				break
			}
			b.exchange()
		}
		b.answer(respond(b, kafka.OffsetOutOfRange))
		req := b.pending().(*kmsg.ListOffsetsRequest)
		if got := req.Topics[0].Partitions[0].CurrentLeaderEpoch; got != want || req.ReplicaID != 2 {
			t.Errorf("%s: epoch %d, replica %d", profile, got, req.ReplicaID)
		}
		wire(t, req)
	}
}

// TestT5TruncationIsToldOnlyWhenTheLogGotShorter: recovery points are written for
// it and requests looked at.
func TestT5TruncationIsToldOnlyWhenTheLogGotShorter(t *testing.T) {
	w := newWorld(t, "zk-0.10", 2)
	b := w.broker(2)
	fill(w, b, 10, 10)
	b.follow(0, 1, 1, 1, ids(1, 2))
	b.pending()
	if b.truncated != 0 || len(w.all(event.Truncated)) != 0 {
		t.Error("a truncation to the end was told")
	}
	b.parts = nil
	b.partition(0).log = b.openLog(tp(0), b.fs, 10)
	b.fetcher = nil
	b.append2Uncommitted(t)
	b.moved = 0
	b.follow(0, 1, 2, 2, ids(1, 2))
	b.pending()
	if e := w.only(event.Truncated); b.truncated != 1 || e.Offset != 10 || e.LEO != 12 || e.HW != 10 || e.Text != "hw" || b.moved&MovedRole == 0 {
		t.Errorf("%+v", e)
	}
	if b.partition(0).PublishedLEO() != 10 {
		t.Errorf("published %d", b.partition(0).PublishedLEO())
	}
}

// append2Uncommitted gives the log two records above its high watermark.
func (b *broker) append2Uncommitted(t *testing.T) {
	t.Helper()
	if _, _, err := b.partition(0).log.AppendAsLeader(batch(t, "u", 2), 0, 0); err != nil {
		t.Fatal(err)
	}
}

// TestT2AnUndefinedAnswerCutsAtTheHighWatermark, for each asking rule.
func TestT2AnUndefinedAnswerCutsAtTheHighWatermark(t *testing.T) {
	for _, profile := range []string{"zk-0.11", "zk-2.0", "zk-2.6"} {
		w := newWorld(t, profile, 2)
		a, b := w.broker(1), w.broker(2)
		fill(w, b, 5, 5)
		b.append2Uncommitted(t) // 5, 6 of epoch 0
		b.partition(0).log.SetHighWatermark(5)
		a.lead(0, 1, 1, ids(1), ids(1, 2)) // an empty log: knows epoch 1 only
		resp := kmsg.NewPtrOffsetForLeaderEpochResponse()
		b.follow(0, 1, 1, 1, ids(1, 2))
		req := b.pending().(*kmsg.OffsetForLeaderEpochRequest)
		resp.Version = req.Version
		rp := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
		resp.Topics = []kmsg.OffsetForLeaderEpochResponseTopic{{Topic: "t", Partitions: []kmsg.OffsetForLeaderEpochResponseTopicPartition{rp}}}
		b.answer(resp)
		if got := b.partition(0).Log().LogEndOffset(); got != 5 {
			t.Errorf("%s: cut at %d", profile, got)
		}
	}
}

// TestT2EpochRequestByVersion: current epoch from v2 where fenced, replica id from v3.
func TestT2EpochRequestByVersion(t *testing.T) {
	for profile, want := range map[string][2]int32{"zk-0.11": {-1, -2}, "zk-2.0": {-1, -2}, "zk-2.6": {7, 2}} {
		w := newWorld(t, profile, 2)
		b := w.broker(2)
		fill(w, b, 5, 5)
		b.follow(0, 1, 7, 7, ids(1, 2))
		req := b.pending().(*kmsg.OffsetForLeaderEpochRequest)
		part := req.Topics[0].Partitions[0]
		if part.CurrentLeaderEpoch != want[0] || req.ReplicaID != want[1] || part.LeaderEpoch != 0 {
			t.Errorf("%s: replica %d, %+v", profile, req.ReplicaID, part)
		}
		wire(t, req)
	}
}

// TestT6AnAnswerForAnOlderLeaderEpochDoesNotTruncate: the partition changed its
// leader epoch while the fetcher waited.
func TestT6AnAnswerForAnOlderLeaderEpochDoesNotTruncate(t *testing.T) {
	w := newWorld(t, "zk-2.6", 2)
	a, b := w.broker(1), w.broker(2)
	fill(w, b, 10, 2)
	a.lead(0, 1, 1, ids(1), ids(1, 2))
	b.follow(0, 1, 1, 1, ids(1, 2))
	resp := a.serve(b.pending()) // says: epoch 0 is unknown, ends at 0
	b.follow(0, 1, 2, 2, ids(1, 2))
	b.answer(resp)
	if got := b.partition(0).Log().LogEndOffset(); got != 10 {
		t.Errorf("cut at %d", got)
	}
	if _, ok := b.pending().(*kmsg.OffsetForLeaderEpochRequest); !ok {
		t.Error("did not ask again")
	}
}

// TestT3EpochErrors: fenced fails, a disconnect delays what was asked about only.
func TestT3EpochErrors(t *testing.T) {
	w := newWorld(t, "zk-2.6", 2)
	b := w.broker(2)
	fill(w, b, 10, 2)
	b.follow(0, 1, 1, 1, ids(1, 2))
	b.pending()
	b.disconnect()
	start := w.now
	if _, ok := b.pending().(*kmsg.OffsetForLeaderEpochRequest); !ok || w.now-start != kafka.Second {
		t.Errorf("asked again after %v", w.now-start)
	}
	b.answer(respond(b, kafka.NotLeaderOrFollower))
	if b.fetcher.Len() != 1 || len(b.requests) != 0 {
		t.Error("not delayed")
	}
	b.pending()
	b.answer(respond(b, kafka.FencedLeaderEpoch))
	if b.fetcher.Len() != 0 {
		t.Error("not failed")
	}
}
