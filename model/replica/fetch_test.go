package replica

import (
	"slices"
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/record"
	"github.com/simkafka/simkafka/model/step"
)

// twoEpochs is a leader of epoch 3 with records 0..4 of epoch 0 and 5..9 of epoch
// 2; followers 2 and 3.
func twoEpochs(t *testing.T) (*broker, *Partition) {
	t.Helper()
	w := newWorld(t, "zk-3.9", 3)
	b := w.broker(1)
	b.lead(0, 0, 0, ids(1), ids(1, 2, 3))
	b.append(0, "e0", 5, 1)
	b.lead(0, 2, 1, ids(1), ids(1, 2, 3))
	b.append(0, "e2", 5, 1)
	b.lead(0, 3, 2, ids(1, 2), ids(1, 2, 3))
	return b, b.partition(0)
}

func followerFetch() FetchArgs {
	return FetchArgs{Replica: 2, TopicID: kafka.TopicID{1}, CurrentLeaderEpoch: 3, LastFetchedEpoch: 2, Offset: 10, MaxBytes: 1 << 20, MinOne: true}
}

// TestL17ChecksInOrder: each case breaks one rule and all later ones, so that the
// order decides.
func TestL17ChecksInOrder(t *testing.T) {
	breakRange := func(a *FetchArgs) { a.Offset = 99 }
	breakDivergence := func(a *FetchArgs) { breakRange(a); a.LastFetchedEpoch = 9 }
	breakID := func(a *FetchArgs) { breakDivergence(a); a.Replica = 7 }
	breakEpoch := func(a *FetchArgs) { breakID(a); a.CurrentLeaderEpoch = 2 }
	breakTopic := func(a *FetchArgs) { breakEpoch(a); a.TopicID = kafka.TopicID{2} }
	for _, c := range []struct {
		name string
		args func(a *FetchArgs)
		want kafka.ErrorCode
	}{
		{"ok", func(*FetchArgs) {}, kafka.None},
		{"topic id", breakTopic, kafka.InconsistentTopicID},
		{"no topic id given", func(a *FetchArgs) { a.TopicID = kafka.TopicID{} }, kafka.None},
		{"older epoch", breakEpoch, kafka.FencedLeaderEpoch},
		{"newer epoch", func(a *FetchArgs) { breakEpoch(a); a.CurrentLeaderEpoch = 4 }, kafka.UnknownLeaderEpoch},
		{"unknown follower, epoch given", breakID, kafka.UnknownLeaderEpoch},
		{"unknown follower, no epoch given", func(a *FetchArgs) { breakID(a); a.CurrentLeaderEpoch = -1 }, kafka.NotLeaderOrFollower},
		{"epoch of the future", breakDivergence, kafka.OffsetOutOfRange},
		{"range", func(a *FetchArgs) { a.LastFetchedEpoch = -1; breakRange(a) }, kafka.OffsetOutOfRange},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, p := twoEpochs(t)
			a := followerFetch()
			c.args(&a)
			res, err := p.Fetch(&a)
			if err != nil || res.Code != c.want {
				t.Fatalf("%v %v, want %v", err, res.Code, c.want)
			}
			if res.Code != kafka.None && (res.HW != -1 || res.LogStart != -1 || res.Records != nil) {
				t.Errorf("an error with data: %+v", res)
			}
		})
	}
}

// TestL17TheEpochIsCheckedBeforeLeadership and followers are for consumers only.
func TestL17TheEpochIsCheckedBeforeLeadership(t *testing.T) {
	b, p := twoEpochs(t)
	b.follow(0, 2, 4, 4, ids(1, 2, 3))
	for _, c := range []struct {
		replica       kafka.NodeID
		epoch         kafka.LeaderEpoch
		allowFollower bool
		want          kafka.ErrorCode
	}{
		{2, 3, false, kafka.FencedLeaderEpoch},
		{2, 4, false, kafka.NotLeaderOrFollower},
		{2, 4, true, kafka.NotLeaderOrFollower},
		{-1, 4, false, kafka.NotLeaderOrFollower},
		{-1, 5, true, kafka.UnknownLeaderEpoch},
		{-1, 4, true, kafka.None},
		{-1, -1, true, kafka.None},
	} {
		a := FetchArgs{Replica: c.replica, CurrentLeaderEpoch: c.epoch, LastFetchedEpoch: -1, Offset: 0, MaxBytes: 1 << 20, AllowFollower: c.allowFollower}
		if res, err := p.Fetch(&a); err != nil || res.Code != c.want {
			t.Errorf("%+v: %v %v", c, err, res.Code)
		}
	}
}

func TestL17OfflineAnswersStorageError(t *testing.T) {
	b, p := twoEpochs(t)
	p.SetOffline(b.input(step.Flushed), b.out)
	a := followerFetch()
	if res, _ := p.Fetch(&a); res.Code != kafka.KafkaStorageError {
		t.Errorf("%v", res.Code)
	}
}

// TestL17DivergenceByCase: (e', end) for the follower's last epoch and offset.
func TestL17DivergenceByCase(t *testing.T) {
	for _, c := range []struct {
		name    string
		last    kafka.LeaderEpoch
		offset  kafka.Offset
		code    kafka.ErrorCode
		diverge bool
		epoch   kafka.LeaderEpoch
		end     kafka.Offset
	}{
		{"agrees at the end", 2, 10, kafka.None, false, -1, -1},
		{"agrees inside", 2, 7, kafka.None, false, -1, -1},
		{"agrees at the end of an older epoch", 0, 5, kafka.None, false, -1, -1},
		{"too long for its epoch", 0, 6, kafka.None, true, 0, 5},
		{"an epoch that the leader never had", 1, 5, kafka.None, true, 0, 5},
		{"too long for the latest", 2, 11, kafka.None, true, 2, 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, p := twoEpochs(t)
			a := followerFetch()
			a.LastFetchedEpoch, a.Offset = c.last, c.offset
			res, err := p.Fetch(&a)
			if err != nil || res.Code != c.code || res.Diverging != c.diverge || res.DivergingEpoch != c.epoch || res.DivergingEnd != c.end {
				t.Errorf("%v %+v", err, res)
			}
			if c.diverge && (res.Records != nil || res.HW != p.HighWatermark()) {
				t.Errorf("diverging with records or without high watermark: %+v", res)
			}
		})
	}
}

// TestL17LogStartComesBeforeDivergence.
func TestL17LogStartComesBeforeDivergence(t *testing.T) {
	b, p := twoEpochs(t)
	b.fetchFrom(2, 10)
	if _, err := p.Log().MaybeIncrementLogStartOffset(7); err != nil {
		t.Fatal(err)
	}
	a := followerFetch()
	a.LastFetchedEpoch, a.Offset = 1, 5
	if res, _ := p.Fetch(&a); res.Code != kafka.OffsetOutOfRange {
		t.Errorf("%+v", res)
	}
}

// TestL18BoundByReader: follower the log end, consumers the high watermark; between
// bound and end a consumer gets nothing, and no error.
func TestL18BoundByReader(t *testing.T) {
	b, p := twoEpochs(t)
	b.append(0, "tail", 3, 1) // 10..12; member 2 has not fetched: hw 10
	expectHW(t, p, 10, "append")
	last := func(res FetchResult) kafka.Offset {
		end := kafka.Offset(-1)
		for buf := res.Records; len(buf) > 0; {
			r, rest, err := record.Next(buf)
			b.check(err)
			end, buf = r.LastOffset(), rest
		}
		return end
	}
	consumer := FetchArgs{Replica: -1, CurrentLeaderEpoch: -1, LastFetchedEpoch: -1, Offset: 5, MaxBytes: 1 << 20}
	res, err := p.Fetch(&consumer)
	if b.check(err); last(res) != 9 || res.HW != 10 || res.LastStable != 10 || res.LEO != 13 {
		t.Errorf("consumer: last %d, %+v", last(res), res)
	}
	for offset := kafka.Offset(10); offset <= 13; offset++ {
		consumer.Offset = offset
		if res, err = p.Fetch(&consumer); err != nil || res.Code != kafka.None || res.Records != nil {
			t.Errorf("consumer at %d: %v %+v", offset, err, res)
		}
	}
	consumer.Offset = 14
	if res, _ = p.Fetch(&consumer); res.Code != kafka.OffsetOutOfRange {
		t.Errorf("consumer beyond the end: %v", res.Code)
	}
	f := followerFetch()
	f.Offset = 5
	if res, err = p.Fetch(&f); err != nil || last(res) != 12 {
		t.Errorf("follower: last %d", last(res))
	}
}

// TestF10AFollowerServesUpToItsOwnHighWatermark.
func TestF10AFollowerServesUpToItsOwnHighWatermark(t *testing.T) {
	w := newWorld(t, "zk-3.9", 2)
	a, b := w.broker(1), w.broker(2)
	a.lead(0, 0, 0, ids(1, 2), ids(1, 2))
	b.follow(0, 1, 0, 0, ids(1, 2))
	a.append(0, "x", 2, 1)
	b.exchange()
	b.exchange()
	args := FetchArgs{Replica: -1, CurrentLeaderEpoch: -1, LastFetchedEpoch: -1, MaxBytes: 1 << 20, AllowFollower: true}
	if res, _ := b.partition(0).Fetch(&args); res.Code != kafka.None || res.HW != 0 || res.Records != nil {
		t.Errorf("before the follower knows: %+v", res)
	}
	b.exchange()
	if res, _ := b.partition(0).Fetch(&args); res.HW != 2 || res.Records == nil {
		t.Errorf("after: %+v", res)
	}
}

// TestL3OnlyAcceptedFetchesUpdate: what L-17 refuses or finds diverging leaves the
// follower's state to the caller's silence; an unknown follower changes nothing.
func TestL3OnlyAcceptedFetchesUpdate(t *testing.T) {
	b, p := twoEpochs(t)
	a := followerFetch()
	a.Replica = 7
	p.UpdateFollower(b.input(step.Request), b.out, &a, 10)
	if p.remote(7) != nil {
		t.Error("an unassigned follower was entered")
	}
	b.follow(0, 2, 4, 4, ids(1, 2, 3))
	a.Replica = 2
	p.UpdateFollower(b.input(step.Request), b.out, &a, 10)
	if p.remote(2) != nil {
		t.Error("a follower keeps followers")
	}
}

// TestL20DelayedFetchByCase.
func TestL20DelayedFetchByCase(t *testing.T) {
	for _, c := range []struct {
		name  string
		setUp func(b *broker, a *FetchArgs)
		bytes bool
		done  bool
	}{
		{"nothing yet", func(*broker, *FetchArgs) {}, false, false},
		{"bytes came", func(b *broker, _ *FetchArgs) { b.append(0, "x", 1, 1) }, true, false},
		{"not leader", func(b *broker, a *FetchArgs) { b.follow(0, 2, 4, 4, ids(1, 2, 3)); a.CurrentLeaderEpoch = -1 }, false, true},
		{"fenced", func(b *broker, _ *FetchArgs) { b.lead(0, 4, 4, ids(1, 2), ids(1, 2, 3)) }, false, true},
		{"offline", func(b *broker, _ *FetchArgs) { b.partition(0).SetOffline(b.input(step.Flushed), b.out) }, false, true},
		{"above the bound", func(_ *broker, a *FetchArgs) { a.Offset = 11 }, false, true},
		{"diverging now", func(_ *broker, a *FetchArgs) { a.LastFetchedEpoch = 1; a.Offset = 6 }, false, true},
		{"epoch undefined now", func(_ *broker, a *FetchArgs) { a.LastFetchedEpoch = 8 }, false, true},
		{"consumer below the high watermark", func(_ *broker, a *FetchArgs) { a.Replica, a.LastFetchedEpoch, a.Offset = -1, -1, 5 }, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, p := twoEpochs(t)
			a := followerFetch()
			c.setUp(b, &a)
			bytes, done := p.CheckDelayedFetch(&a)
			if (bytes > 0) != c.bytes || done != c.done {
				t.Errorf("%d bytes, done %v", bytes, done)
			}
		})
	}
}

// TestL20BytesAreCappedByThePartitionsMaximum.
func TestL20BytesAreCappedByThePartitionsMaximum(t *testing.T) {
	b, p := twoEpochs(t)
	b.append(0, "x", 50, 1)
	a := followerFetch()
	a.MaxBytes = 10
	if bytes, done := p.CheckDelayedFetch(&a); bytes != 10 || done {
		t.Errorf("%d %v", bytes, done)
	}
}

// TestC9ListOffsetsByReaderAndTimestamp.
func TestC9ListOffsetsByReaderAndTimestamp(t *testing.T) {
	b, p := twoEpochs(t)
	b.fetchFrom(2, 10)
	b.append(0, "tail", 3, 1)
	for _, c := range []struct {
		name    string
		replica kafka.NodeID
		epoch   kafka.LeaderEpoch
		ts      kafka.TimestampMs
		want    ListOffsetResult
	}{
		{"latest, client", -1, 3, LatestTimestamp, ListOffsetResult{0, -1, 10, 3}},
		{"latest, replica", 2, 3, LatestTimestamp, ListOffsetResult{0, -1, 13, 3}},
		{"earliest", -1, -1, EarliestTimestamp, ListOffsetResult{0, -1, 0, 0}},
		{"earliest local", -1, -1, EarliestLocalTimestamp, ListOffsetResult{0, -1, 0, 0}},
		{"latest tiered", -1, -1, LatestTieredTimestamp, ListOffsetResult{0, -1, -1, -1}},
		{"by time", -1, -1, 1000, ListOffsetResult{0, 1000, 0, 0}},
		{"by time, none", -1, -1, 1001, ListOffsetResult{0, -1, -1, -1}},
		{"maximum", -1, -1, MaxTimestamp, ListOffsetResult{0, 1000, 0, 0}},
		{"fenced", -1, 2, LatestTimestamp, ListOffsetResult{kafka.FencedLeaderEpoch, -1, -1, -1}},
	} {
		got, err := p.ListOffset(ListOffsetArgs{Replica: c.replica, CurrentLeaderEpoch: c.epoch, Timestamp: c.ts})
		if err != nil || got != c.want {
			t.Errorf("%s: %v %+v, want %+v", c.name, err, got, c.want)
		}
	}
}

// TestC9OffsetNotAvailableWhileTheHighWatermarkLags behind the epoch start, for
// clients of brokers that know the code.
func TestC9OffsetNotAvailableWhileTheHighWatermarkLags(t *testing.T) {
	for _, c := range []struct {
		profile string
		replica kafka.NodeID
		ts      kafka.TimestampMs
		code    kafka.ErrorCode
		offset  kafka.Offset
	}{
		{"zk-3.9", -1, LatestTimestamp, kafka.OffsetNotAvailable, -1},
		{"zk-3.9", -1, 1000, kafka.None, 0},
		{"zk-3.9", -1, 1001, kafka.OffsetNotAvailable, -1},
		{"zk-3.9", -1, EarliestTimestamp, kafka.None, 0},
		{"zk-3.9", 2, LatestTimestamp, kafka.None, 10},
		{"zk-2.0", -1, LatestTimestamp, kafka.None, 5},
		{"zk-2.0", -1, 1001, kafka.None, -1},
	} {
		w := newWorld(t, c.profile, 1)
		b := w.broker(1)
		fill(w, b, 10, 5)
		b.lead(0, 1, 1, ids(1, 2), ids(1, 2))
		got, err := b.partition(0).ListOffset(ListOffsetArgs{Replica: c.replica, CurrentLeaderEpoch: -1, Timestamp: c.ts})
		if err != nil || got.Code != c.code || got.Offset != c.offset {
			t.Errorf("%+v: %v %+v", c, err, got)
		}
	}
}

// TestE2EndOffsetForEpochAtALeader and only there.
func TestE2EndOffsetForEpochAtALeader(t *testing.T) {
	b, p := twoEpochs(t)
	for _, c := range []struct {
		current, ask kafka.LeaderEpoch
		code         kafka.ErrorCode
		epoch        kafka.LeaderEpoch
		end          kafka.Offset
	}{
		{3, 3, kafka.None, 3, 10},
		{-1, 2, kafka.None, 2, 10},
		{3, 1, kafka.None, 0, 5},
		{3, 0, kafka.None, 0, 5},
		{3, 4, kafka.None, -1, -1},
		{3, -1, kafka.None, -1, -1},
		{2, 2, kafka.FencedLeaderEpoch, -1, -1},
		{4, 2, kafka.UnknownLeaderEpoch, -1, -1},
	} {
		code, epoch, end := p.EndOffsetForEpoch(c.current, c.ask)
		if code != c.code || epoch != c.epoch || end != c.end {
			t.Errorf("%+v: %v %d %d", c, code, epoch, end)
		}
	}
	b.follow(0, 2, 4, 4, ids(1, 2, 3))
	if code, _, _ := p.EndOffsetForEpoch(-1, 2); code != kafka.NotLeaderOrFollower {
		t.Errorf("at a follower: %v", code)
	}
}

// TestFetchOfAnIdlePartitionDoesNotAllocate.
func TestFetchOfAnIdlePartitionDoesNotAllocate(t *testing.T) {
	b, p := twoEpochs(t)
	a := followerFetch()
	in := b.input(step.Request)
	b.fetchFrom(2, 10)
	n := testing.AllocsPerRun(100, func() {
		res, _ := p.Fetch(&a)
		p.UpdateFollower(in, b.out, &a, res.LEO)
	})
	if n != 0 || len(b.out.Notes) != 0 {
		t.Errorf("%v allocations, notes %v", n, slices.Clone(b.out.Notes))
	}
}
