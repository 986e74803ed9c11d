package log

import (
	"fmt"
	"strings"
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/record"
)

// TestStorageTrap46DirtyRatioIsStrictAndTheEndIsASegmentBase: half dirty is not
// dirtier than a ratio of a half.
func TestStorageTrap46DirtyRatioIsStrictAndTheEndIsASegmentBase(t *testing.T) {
	cfg := compactConfig()
	l, _ := newLog(t, cfg)
	put(t, l, 1, "a=1", "b=1")
	rollNow(t, l, 1)
	check1 := func(due bool, uncleanable kafka.Offset) {
		t.Helper()
		r, err := l.CleanRange(10)
		check(t, err)
		equal(t, "due", r.Due(cfg), due)
		equal(t, "uncleanable", r.Uncleanable, uncleanable)
	}
	check1(true, 2)
	cleanNow(t, l, 10)
	check1(false, 2)
	put(t, l, 2, "a=1", "b=1") // as large as the clean part
	rollNow(t, l, 2)
	r, err := l.CleanRange(10)
	check(t, err)
	equal(t, "clean", r.CleanBytes, r.CleanableBytes)
	check1(false, 4)
	cfg.MinCleanableRatio = 499_999
	check1(true, 4)
	// The last stable offset lies inside of the second segment.
	l.hw = 3
	check1(false, 2)
	l.hw = 4
	// A lag: the second segment is too young; of equal age it is not.
	cfg.MinCompactionLagMs = 9
	check1(false, 2)
	cfg.MinCompactionLagMs = 8
	check1(true, 4)
	// Records that have waited too long are cleaned whatever the ratio.
	cfg.MinCleanableRatio, cfg.MinCompactionLagMs, cfg.MaxCompactionLagMs = 1_000_000, 0, 8
	check1(false, 4)
	cfg.MaxCompactionLagMs = 7
	check1(true, 4)
}

// TestStorageTrap47TombstonesGoWithTheSecondCleaning: the first sets the horizon.
func TestStorageTrap47TombstonesGoWithTheSecondCleaning(t *testing.T) {
	l, _ := newLog(t, compactConfig())
	put(t, l, 1, "a=1", "b=1", "a")
	rollNow(t, l, 1)
	cleanNow(t, l, 5000)
	wantRecords(t, l, "1:b=1", "2:a")
	b := batchesOf(t, l)[0]
	horizon, found := b.DeleteHorizon()
	equal(t, "horizon", horizon, 6000)
	equal(t, "set", found, true)
	equal(t, "time of the record", fmt.Sprint(b.BaseTimestamp(), b.MaxTimestamp()), "6000 1")
	equal(t, "last offset", b.LastOffset(), 2)
	again := func(now kafka.TimestampMs) {
		put(t, l, 2, "z=1")
		rollNow(t, l, 2)
		cleanNow(t, l, now)
	}
	again(5999)
	wantRecords(t, l, "1:b=1", "2:a", "3:z=1")
	kept, _ := batchesOf(t, l)[0].DeleteHorizon()
	equal(t, "horizon after another cleaning", kept, 6000)
	again(6000)
	wantRecords(t, l, "1:b=1", "4:z=1")
}

// TestStorageTrap48LastBatchesLeaveTheirHeader: of a producer and of the range.
func TestStorageTrap48LastBatchesLeaveTheirHeader(t *testing.T) {
	l, _ := newLog(t, compactConfig())
	o := record.ClientOptions()
	o.ProducerID, o.ProducerEpoch, o.BaseSequence = 4000, 2, 10
	appendLeader(t, l, keyedBatch(t, o, 1, "a=1", "b=1"), 1, 1)
	put(t, l, 2, "c=1")
	put(t, l, 3, "a=2", "b=2", "c=2")
	_, verdict, err := l.AppendAsLeader(batchOf(t, 3, 4), 1, 4)
	check(t, err)
	equal(t, "a record without a key", verdict.Code, kafka.InvalidRecord)
	appendFollower(t, l, 4, batchAt(t, 6, 1, 3, 4)) // from before the topic was compacted
	l.SetHighWatermark(l.LogEndOffset())
	rollNow(t, l, 4)
	cleanNow(t, l, 9)
	var got []string
	for _, b := range batchesOf(t, l) {
		got = append(got, fmt.Sprintf("%d-%d:%d/%d", b.BaseOffset(), b.LastOffset(), b.Count(), len(b)))
	}
	equal(t, "batches", strings.Join(got, " "), "0-1:0/61 3-5:3/"+fmt.Sprint(len(batchesOf(t, l)[1]))+" 6-6:0/61")
	l = reopen(t, l, false, OpenParams{})
	_, verdict, err = l.AppendAsLeader(keyedBatch(t, o, 1, "a=1", "b=1"), 1, 9)
	check(t, err)
	equal(t, "the sequence after a start", verdict.Code, kafka.None)
	equal(t, "end: the batch is known", l.LogEndOffset(), 7)
}

// TestStorageTrap49AbortedDataGoesWhateverItsKey: the map must not hold it.
func TestStorageTrap49AbortedDataGoesWhateverItsKey(t *testing.T) {
	l, _ := newLog(t, compactConfig())
	put(t, l, 1, "k=a")
	appendLeader(t, l, keyedBatch(t, txnOptions(9, 0, 0), 1, "k=b", "only=1"), 1, 1)
	endTxn(t, l, 9, 0, false, 1)
	appendLeader(t, l, keyedBatch(t, txnOptions(9, 0, 2), 1, "m=1"), 1, 1)
	endTxn(t, l, 9, 0, true, 1)
	rollNow(t, l, 1)
	shape := func() string {
		var out []string
		for _, b := range batchesOf(t, l) {
			_, horizon := b.DeleteHorizon()
			out = append(out, fmt.Sprintf("%d/%d/%v/%v", b.LastOffset(), b.Count(), b.IsControl(), horizon))
		}
		return strings.Join(out, " ")
	}
	// Pass 1 removes the data, pass 2 stamps the marker, pass 3 removes it.
	cleanNow(t, l, 100)
	wantRecords(t, l, "0:k=a", "4:m=1")
	equal(t, "after pass 1", shape(), "0/1/false/false 3/1/true/false 4/1/false/false 5/1/true/false")
	equal(t, "index", len(l.segments[0].txns.entries), 1)
	more := func(now kafka.TimestampMs) {
		put(t, l, 1, "z=1")
		rollNow(t, l, 1)
		cleanNow(t, l, now)
	}
	more(200)
	equal(t, "after pass 2", shape(), "0/1/false/false 3/1/true/true 4/1/false/false 5/1/true/false 6/1/false/false")
	more(1199)
	equal(t, "before the horizon", shape(), "0/1/false/false 3/1/true/true 4/1/false/false 5/1/true/false 7/1/false/false")
	more(1200)
	equal(t, "after pass 3", shape(), "0/1/false/false 4/1/false/false 5/1/true/false 8/1/false/false")
}

// TestStorageTrap50RecordsBehindTheMapStay, but a tombstone among them is stamped.
func TestStorageTrap50RecordsBehindTheMapStay(t *testing.T) {
	l, _ := newLog(t, compactConfig())
	put(t, l, 1, "a=1", "b=1", "a=2", "c=1", "b", "c=2")
	rollNow(t, l, 1)
	p := cleanParams(t, l, 50)
	p.MapBytes = 24 * 3 // floor(3 * 0.9) = 2 keys
	equal(t, "keys", cleanWith(t, l, p).Keys, 2)
	// Full after "b=1": known keys are not updated either.
	wantRecords(t, l, "0:a=1", "1:b=1", "2:a=2", "3:c=1", "4:b", "5:c=2")
	end, _ := l.CleanedTo()
	equal(t, "end", end, 2)
	b := batchesOf(t, l)[0]
	horizon, found := b.DeleteHorizon()
	equal(t, "horizon", horizon, 1050)
	equal(t, "set", found, true)
	check(t, b.Check())
	// The next cleaning goes on there.
	p = cleanParams(t, l, 60)
	equal(t, "first dirty", p.Range.FirstDirty, 2)
	cleanWith(t, l, p)
	wantRecords(t, l, "2:a=2", "4:b", "5:c=2")
}

// TestStorageTrap48EmptyBatchAtTheEndOfTheRange: since Kafka 4.0 the last batch of what
// was cleaned leaves its header; before it left nothing.
func TestStorageTrap48EmptyBatchAtTheEndOfTheRange(t *testing.T) {
	for _, drops := range []bool{false, true} {
		cfg := compactConfig()
		cfg.CleanerDropsEnd = drops
		l, _ := newLog(t, cfg)
		put(t, l, 1, "a=1")
		appendLeader(t, l, keyedBatch(t, txnOptions(9, 0, 0), 1, "b=aborted"), 1, 1)
		rollNow(t, l, 1)
		endTxn(t, l, 9, 0, false, 1)
		appendLeader(t, l, keyedBatch(t, txnOptions(9, 0, 1), 1, "b=later"), 1, 1) // the producer's last
		endTxn(t, l, 9, 0, true, 1)
		cleanNow(t, l, 2)
		second := batchesOf(t, l)[1]
		equal(t, "the next batch begins at", second.BaseOffset(), map[bool]kafka.Offset{false: 1, true: 2}[drops])
		equal(t, "records", second.Count(), map[bool]int32{false: 0, true: 1}[drops])
	}
}
