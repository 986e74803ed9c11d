package replica

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
)

// pair is leader 1 and follower 2 with one partition, in sync, nothing appended.
func pair(t *testing.T, profile string) (*world, *broker, *broker) {
	t.Helper()
	w := newWorld(t, profile, 2)
	a, b := w.broker(1), w.broker(2)
	a.lead(0, 0, 0, ids(1, 2), ids(1, 2))
	b.follow(0, 1, 0, 0, ids(1, 2))
	return w, a, b
}

func fetchPart(t *testing.T, req kmsg.Request) kmsg.FetchRequestTopicPartition {
	t.Helper()
	f, ok := req.(*kmsg.FetchRequest)
	if !ok || len(f.Topics) != 1 || len(f.Topics[0].Partitions) != 1 {
		t.Fatalf("not a fetch of one partition: %T %+v", req, req)
	}
	return f.Topics[0].Partitions[0]
}

// respond makes a response with one error code for everything asked.
func respond(b *broker, code kafka.ErrorCode) kmsg.Response {
	switch req := b.pending().(type) {
	case *kmsg.FetchRequest:
		resp := kmsg.NewPtrFetchResponse()
		resp.Version = req.Version
		for _, t := range req.Topics {
			rt := kmsg.FetchResponseTopic{Topic: t.Topic, TopicID: t.TopicID}
			for _, p := range t.Partitions {
				rp := kmsg.NewFetchResponseTopicPartition()
				rp.Partition, rp.ErrorCode, rp.HighWatermark = p.Partition, int16(code), -1
				rt.Partitions = append(rt.Partitions, rp)
			}
			resp.Topics = append(resp.Topics, rt)
		}
		return resp
	case *kmsg.OffsetForLeaderEpochRequest:
		resp := kmsg.NewPtrOffsetForLeaderEpochResponse()
		resp.Version = req.Version
		rp := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
		rp.ErrorCode = int16(code)
		resp.Topics = []kmsg.OffsetForLeaderEpochResponseTopic{{Topic: "t", Partitions: []kmsg.OffsetForLeaderEpochResponseTopicPartition{rp}}}
		return resp
	case *kmsg.ListOffsetsRequest:
		resp := kmsg.NewPtrListOffsetsResponse()
		resp.Version = req.Version
		rp := kmsg.NewListOffsetsResponseTopicPartition()
		rp.ErrorCode = int16(code)
		resp.Topics = []kmsg.ListOffsetsResponseTopic{{Topic: "t", Partitions: []kmsg.ListOffsetsResponseTopicPartition{rp}}}
		return resp
	}
	b.w.t.Fatal("no request")
	return nil
}

// TestF1FetcherIndex is abs(31 x hash + partition) mod count, in 32 bits.
func TestF1FetcherIndex(t *testing.T) {
	for _, c := range []struct {
		topic     string
		partition int32
		count     int
		want      int
	}{
		{"t", 0, 1, 0},
		{"t", 1, 4, (31*116 + 1) % 4},
		{"t", 2, 4, (31*116 + 2) % 4},
		// "orders".hashCode() is -1008770331; times 31 wraps to -1207109189.
		{"orders", 0, 7, 1207109189 % 7},
	} {
		if got := FetcherIndex(kafka.TopicPartition{Topic: c.topic, Partition: c.partition}, c.count); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}

// TestF2InitialStateByRule: on fetch with a known epoch at the log end, else
// truncating from the high watermark.
func TestF2InitialStateByRule(t *testing.T) {
	for _, c := range []struct {
		profile string
		records int
		state   partState
		offset  kafka.Offset
		last    kafka.LeaderEpoch
	}{
		{"zk-3.9", 10, fetching, 10, 0},
		{"zk-3.9", 0, truncating, 0, -1},
		{"zk-2.6", 10, truncating, 4, -1},
		{"zk-0.11", 10, truncating, 4, -1},
		{"zk-0.10", 10, truncating, 4, -1},
	} {
		w := newWorld(t, c.profile, 2)
		b := w.broker(2)
		if c.records > 0 {
			fill(w, b, c.records, 4)
		} else {
			b.partition(0).log = b.openLog(tp(0), b.fs, 0)
		}
		p := b.partition(0)
		p.leaderEpoch = 3
		s := (&Fetcher{env: &b.env, rule: truncatorOf(w.profile.Truncation)}).initial(p)
		if s.state != c.state || s.offset != c.offset || s.lastFetched != c.last || s.epoch != 3 {
			t.Errorf("%s with %d records: %+v", c.profile, c.records, s)
		}
	}
}

// TestF3FetchRequestByProfile: what each version carries, and nothing above it.
func TestF3FetchRequestByProfile(t *testing.T) {
	for _, c := range []struct {
		profile       string
		current, last int32
		logStart      int64
	}{
		{"zk-0.10", -1, -1, -1},
		{"zk-0.11", -1, -1, 0},
		{"zk-2.0", -1, -1, 0},
		{"zk-2.6", 0, -1, 0},
		{"zk-3.9", 0, -1, 0},
	} {
		t.Run(c.profile, func(t *testing.T) {
			_, a, b := pair(t, c.profile)
			for range 2 { // past an epoch exchange, if any
				if _, ok := b.pending().(*kmsg.FetchRequest); !ok {
					b.exchange()
				}
			}
			req := b.pending().(*kmsg.FetchRequest)
			if req.ReplicaID+req.ReplicaState.ID != 2-1 || req.MaxWaitMillis != 500 || req.MinBytes != 1 || req.MaxBytes != 10<<20 || req.IsolationLevel != 0 || req.SessionID != 0 || req.SessionEpoch != -1 {
				t.Errorf("%+v", req)
			}
			part := fetchPart(t, req)
			if part.FetchOffset != 0 || part.PartitionMaxBytes != 1<<20 || part.CurrentLeaderEpoch != c.current || part.LastFetchedEpoch != c.last || part.LogStartOffset != c.logStart {
				t.Errorf("%+v", part)
			}
			wire(t, req)
			a.append(0, "x", 3, 1)
			b.exchange()
			want := int32(-1)
			if c.profile == "zk-3.9" {
				want = 0
			}
			if part := fetchPart(t, b.pending()); part.FetchOffset != 3 || part.LastFetchedEpoch != want {
				t.Errorf("the next fetch: %+v", part)
			}
		})
	}
}

// TestF3LateVersions: topic ids from v13, the replica state with the broker epoch
// from v15.
func TestF3LateVersions(t *testing.T) {
	for _, version := range []int16{11, 12, 13, 14, 15, 16} {
		w, a, b := pair(t, "zk-3.9")
		w.profile.Versions.Fetch = version
		req := b.pending().(*kmsg.FetchRequest)
		replica, state := int32(2), int32(-1)
		if version >= 15 {
			replica, state = -1, 2
		}
		if req.Version != version || req.ReplicaID != replica || req.ReplicaState.ID != state || (req.ReplicaState.Epoch == 102) != (version >= 15) {
			t.Errorf("v%d: %+v", version, req)
		}
		if byName := req.Topics[0].Topic == "t"; byName != (version < 13) || (req.Topics[0].TopicID == [16]byte{1}) == byName {
			t.Errorf("v%d: %+v", version, req.Topics[0])
		}
		a.append(0, "x", 3, 1)
		b.exchange()
		if got := b.contents(0); got != "0..2@0:x" {
			t.Errorf("v%d: %q", version, got)
		}
	}
}

// TestF4LateResponsesAreDropped: partition gone, offset moved on, delayed, or asked
// for in another leader epoch (KAFKA-18991).
func TestF4LateResponsesAreDropped(t *testing.T) {
	for name, spoil := range map[string]func(b *broker){
		"removed": func(b *broker) { b.check(b.fetcher.Remove(b.input(step.Request), b.out, b.partition(0))) },
		"offset":  func(b *broker) { b.fetcher.parts[0].offset = 7 },
		"delayed": func(b *broker) { b.fetcher.parts[0].delayedUntil = b.w.now + 1 },
		"state":   func(b *broker) { b.fetcher.parts[0].state = truncating },
		"epoch":   func(b *broker) { b.fetcher.parts[0].epoch++ },
	} {
		t.Run(name, func(t *testing.T) {
			w, a, b := pair(t, "zk-3.9")
			a.append(0, "x", 3, 1)
			resp := a.serve(b.pending())
			spoil(b)
			b.answer(resp)
			if got := b.contents(0); got != "" || len(w.all(event.FetcherFailed)) != 0 {
				t.Errorf("appended %q, or failed", got)
			}
		})
	}
}

// TestF5AppendKeepsOffsetsAndEpochs, byte for byte, and notes each batch.
func TestF5AppendKeepsOffsetsAndEpochs(t *testing.T) {
	w, a, b := pair(t, "zk-3.9")
	a.append(0, "x", 3, 1)
	a.append(0, "y", 2, 1)
	w.notes = nil
	b.exchange()
	if got, want := b.contents(0), a.contents(0); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	notes := w.all(event.BatchAppended)
	if len(notes) != 2 || notes[0].Base != 0 || notes[0].LEO != 3 || notes[1].Base != 3 || notes[1].Last != 4 || notes[1].LEO != 5 || notes[1].Flag || notes[1].Node != 2 {
		t.Errorf("%+v", notes)
	}
	if b.partition(0).Log().LatestEpoch() != 0 {
		t.Error("the epoch cache did not follow the batches")
	}
}

// TestF5AMismatchWithTheLogEndFails: a program error in Kafka; the partition is
// marked failed.
func TestF5AMismatchWithTheLogEndFails(t *testing.T) {
	w, a, b := pair(t, "zk-3.9")
	a.append(0, "x", 3, 1)
	resp := a.serve(b.pending())
	if _, err := b.partition(0).Log().AppendAsFollower(batch(t, "stray", 1), 0); err != nil {
		t.Fatal(err)
	}
	b.answer(resp)
	if b.fetcher.Len() != 0 || w.only(event.FetcherFailed).Node != 2 {
		t.Error("not failed")
	}
}

// TestF6HighWatermarkFollowsClampedAndMayStepBack.
func TestF6HighWatermarkFollowsClampedAndMayStepBack(t *testing.T) {
	w, a, b := pair(t, "zk-3.9")
	a.append(0, "x", 3, 1)
	resp := a.serve(b.pending()).(*kmsg.FetchResponse)
	resp.Topics[0].Partitions[0].HighWatermark = 99
	b.answer(resp)
	expectHW(t, b.partition(0), 3, "a high watermark beyond the log")
	w.notes = nil
	resp = a.serve(b.pending()).(*kmsg.FetchResponse)
	resp.Topics[0].Partitions[0].HighWatermark = 1
	b.answer(resp)
	expectHW(t, b.partition(0), 1, "a leader with a lower one")
	if e := w.all(event.HighWatermark); len(e) == 0 || e[len(e)-1].HW != 1 || e[len(e)-1].Flag || e[len(e)-1].Node != 2 {
		t.Errorf("%+v", e)
	}
}

// TestF6NothingIsVisibleBeforeTheDiskTimeIsSpent: log end, high watermark and the
// next fetch wait for Done.
func TestF6NothingIsVisibleBeforeTheDiskTimeIsSpent(t *testing.T) {
	w, a, b := pair(t, "zk-3.9")
	a.append(0, "x", 3, 1)
	b.holdDone = true
	w.notes = nil
	b.exchange()
	p := b.partition(0)
	if p.PublishedLEO() != 0 || p.Log().LogEndOffset() != 3 || len(b.requests) != 0 || len(w.all(event.LEOPublished)) != 0 {
		t.Fatalf("published %d, %d requests", p.PublishedLEO(), len(b.requests))
	}
	b.release()
	if p.PublishedLEO() != 3 || len(b.requests) != 1 || w.only(event.LEOPublished).LEO != 3 {
		t.Errorf("published %d, %d requests", p.PublishedLEO(), len(b.requests))
	}
}

// TestF6RemoveShowsWhatWasAppended: a role change waits for the fetcher.
func TestF6RemoveShowsWhatWasAppended(t *testing.T) {
	_, a, b := pair(t, "zk-3.9")
	a.append(0, "x", 3, 1)
	b.holdDone = true
	b.exchange()
	p := b.partition(0)
	b.check(b.fetcher.Remove(b.input(step.Request), b.out, p))
	if p.PublishedLEO() != 3 {
		t.Errorf("published %d", p.PublishedLEO())
	}
	b.release()
}

// TestF6LogStartFollowsAfterTheHighWatermark; above the local one it fails the
// partition (L-11, corrected).
func TestF6LogStartFollowsAfterTheHighWatermark(t *testing.T) {
	w, a, b := pair(t, "zk-3.9")
	a.append(0, "x", 3, 1)
	a.append(0, "x", 3, 1)
	b.exchange()
	b.exchange()
	resp := a.serve(b.pending()).(*kmsg.FetchResponse)
	resp.Topics[0].Partitions[0].LogStartOffset = 3
	w.notes = nil
	b.answer(resp)
	if e := w.only(event.LogStartRaised); e.LogStart != 3 || b.partition(0).Log().LogStartOffset() != 3 {
		t.Errorf("%+v", e)
	}
	resp = a.serve(b.pending()).(*kmsg.FetchResponse)
	resp.Topics[0].Partitions[0].HighWatermark = 4
	resp.Topics[0].Partitions[0].LogStartOffset = 6
	b.answer(resp)
	if b.fetcher.Len() != 0 || w.only(event.FetcherFailed).Node != 2 {
		t.Error("a log start above the high watermark did not fail the partition")
	}
}

// TestL19PartitionsTakeTurns: behind one that brought data the next comes first.
func TestL19PartitionsTakeTurns(t *testing.T) {
	w, a, b := pair(t, "zk-3.9")
	for n := int32(1); n < 4; n++ {
		a.lead(n, 0, 0, ids(1, 2), ids(1, 2))
		b.follow(n, 1, 0, 0, ids(1, 2))
	}
	b.exchange()
	order := func() string {
		var s strings.Builder
		for _, topic := range b.pending().(*kmsg.FetchRequest).Topics {
			for _, p := range topic.Partitions {
				s.WriteByte(byte('0' + p.Partition))
			}
			s.WriteByte(' ')
		}
		return s.String()
	}
	if got := order(); got != "0123 " {
		t.Fatalf("first %q", got)
	}
	a.append(1, "x", 1, 1)
	b.exchange()
	if got := order(); got != "2301 " {
		t.Errorf("after data of 1: %q", got)
	}
	b.exchange()
	if got := order(); got != "2301 " {
		t.Errorf("after nothing: %q", got)
	}
	_ = w
}

// TestAnIdleFetcherSetsNoTimer: without partitions it waits for them.
func TestAnIdleFetcherSetsNoTimer(t *testing.T) {
	_, _, b := pair(t, "zk-3.9")
	resp := respond(b, kafka.None)
	b.check(b.fetcher.Remove(b.input(step.Request), b.out, b.partition(0)))
	b.answer(resp)
	for _, op := range b.timers {
		if op.Timer == fetcherKind {
			t.Error("a timer without partitions")
		}
	}
	if len(b.requests) != 0 {
		t.Error("a fetch of nothing")
	}
}

// TestAddWakesARestingFetcher and is idempotent for one leader epoch.
func TestAddWakesARestingFetcher(t *testing.T) {
	w, _, b := pair(t, "zk-3.9")
	b.answer(respond(b, kafka.UnknownLeaderEpoch)) // rests for a second
	before := b.fetcher.parts[0]
	b.fetcher.Add(b.input(step.Request), b.out, b.partition(0))
	b.settle()
	if b.fetcher.parts[0] != before {
		t.Error("the same epoch began anew")
	}
	start := w.now
	b.follow(1, 1, 0, 0, ids(1, 2))
	if b.pending() == nil || w.now != start {
		t.Errorf("woken after %v", w.now-start)
	}
}

// TestAStrayTimerSendsNothingTwice.
func TestAStrayTimerSendsNothingTwice(t *testing.T) {
	_, _, b := pair(t, "zk-3.9")
	b.pending()
	in := b.input(step.Timer)
	in.Lane, in.Timer = fetcherLane, fetcherKind
	b.handle(in)
	b.settle()
	if len(b.requests) != 1 {
		t.Errorf("%d requests", len(b.requests))
	}
}

// TestAddBeginsAnewWithANewerEpoch, also where nobody called Remove: the delay of
// the old epoch is gone, the new epoch is asked with.
func TestAddBeginsAnewWithANewerEpoch(t *testing.T) {
	w, _, b := pair(t, "zk-3.9")
	b.answer(respond(b, kafka.UnknownLeaderEpoch))
	p := b.partition(0)
	in := b.input(step.Request)
	p.MakeFollower(in, b.out, &State{Leader: 1, LeaderEpoch: 5, PartitionEpoch: 5, Replicas: ids(1, 2)}, p.Log())
	start := w.now
	b.fetcher.Add(in, b.out, p)
	b.settle()
	if part := fetchPart(t, b.pending()); part.CurrentLeaderEpoch != 5 || w.now != start {
		t.Errorf("%+v after %v", part, w.now-start)
	}
}

// TestRemovingTheLastPartitionKeepsTheTurns: the one whose turn it was is gone.
func TestRemovingTheLastPartitionKeepsTheTurns(t *testing.T) {
	_, a, b := pair(t, "zk-3.9")
	a.lead(1, 0, 0, ids(1, 2), ids(1, 2))
	b.follow(1, 1, 0, 0, ids(1, 2))
	b.exchange()
	a.append(0, "x", 1, 1)
	b.exchange() // the turn is at partition 1
	b.check(b.fetcher.Remove(b.input(step.Request), b.out, b.partition(1)))
	b.answer(respond(b, kafka.None))
	if part := fetchPart(t, b.pending()); part.Partition != 0 {
		t.Errorf("%+v", part)
	}
}
