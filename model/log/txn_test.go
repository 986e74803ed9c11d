package log

import (
	"encoding/hex"
	"errors"
	"slices"
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/record"
)

func (s *segment) txnEntries() []AbortedTxn {
	if s.txns == nil {
		return nil
	}
	return s.txns.entries
}

func unhex(t testingT, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	check(t, err)
	return b
}

// The markers S2 and S3 of storage 13.
const (
	vectorS2 = "0000000000000007000000420000000302f4d55a9c0030000000000000018bcfe568090000018bcfe568090000000000000fa00002ffffffff000000012000000008000000010c00000000000b00"
	vectorS3 = "000000000000000800000042000000030200eb8cd40030000000000000018bcfe568090000018bcfe568090000000000000fa00002ffffffff000000012000000008000000000c00000000000b00"
)

func TestMarkersS2AndS3EndTheirTransactions(t *testing.T) {
	for _, v := range []struct {
		hex     string
		base    kafka.Offset
		aborted bool
	}{{vectorS2, 7, false}, {vectorS3, 8, true}} {
		cfg := smallConfig()
		l, fs := newLog(t, cfg)
		check(t, l.TruncateFullyAndStartAt(v.base-1, 1))
		b := txnOf(t, 4000, 2, 0, 1)
		b.SetBaseOffset(v.base - 1)
		b.SetPartitionLeaderEpoch(3)
		appendFollower(t, l, 1, b, record.Batch(unhex(t, v.hex)))
		l.SetHighWatermark(v.base + 1)
		equal(t, "last stable offset", l.LastStableOffset(), v.base+1)
		p := l.Producers()[0]
		equal(t, "coordinator epoch", p.CoordinatorEpoch, 11)
		equal(t, "timestamp", p.LastTimestamp, 1700000000009)
		equal(t, "aborted", len(l.active().txnEntries()) == 1, v.aborted)
		if v.aborted {
			entry := "0000" + "0000000000000fa0" + "0000000000000007" + "0000000000000008" + "0000000000000009"
			equal(t, "entry", hexOf(fileOf(t, fs, segmentFile(v.base-1, txnIndexSuffix))), entry)
		}
	}
}

// S7 of storage 13: producer 4000, 120 to 135, last stable offset 131.
func TestAbortedTransactionHasTheBytesOfS7(t *testing.T) {
	const s7 = "00000000000000000fa0000000000000007800000000000000870000000000000083"
	a := AbortedTxn{ProducerID: 4000, FirstOffset: 120, LastOffset: 135, LastStableOffset: 131}
	equal(t, "bytes", hexOf(a.appendTo(nil)), s7)
	got, ok := parseAbortedTxn(unhex(t, s7))
	equal(t, "ok", ok, true)
	equal(t, "entry", got, a)

	l, fs := newLog(t, smallConfig())
	check(t, l.TruncateFullyAndStartAt(120, 1))
	appendLeader(t, l, txnOf(t, 4000, 2, 0, 11), 0, 1) // 120 to 130
	appendLeader(t, l, txnOf(t, 1, 0, 0, 1), 0, 1)     // 131
	appendLeader(t, l, txnOf(t, 4000, 2, 11, 3), 0, 1) // to 134
	equal(t, "marker", appendMarker(t, l, 4000, 2, false, 11).Base, 135)
	equal(t, "file", hexOf(fileOf(t, fs, segmentFile(120, txnIndexSuffix))), s7)
}

func TestStorageTrap27LastStableOffsetWaitsForTheMarkersReplication(t *testing.T) {
	l, _ := newLog(t, smallConfig())
	appendLeader(t, l, batchOf(t, 10, 1, 1), 0, 1) // 0, 1
	appendLeader(t, l, txnOf(t, 1, 0, 0, 2), 0, 1) // 2, 3
	l.SetHighWatermark(1)
	equal(t, "below the transaction", l.LastStableOffset(), 1)
	l.SetHighWatermark(4)
	equal(t, "open", l.LastStableOffset(), 2)
	appendMarker(t, l, 1, 0, true, 0) // 4
	equal(t, "marker not replicated", l.LastStableOffset(), 2)
	l.SetHighWatermark(4)
	equal(t, "marker at the high watermark", l.LastStableOffset(), 2)
	_, moved := l.MaybeIncrementHighWatermark(5)
	equal(t, "moved", moved, true)
	equal(t, "marker below the high watermark", l.LastStableOffset(), 5)
}

func TestStorageTrap28RecordedStableOffsetExcludesTheOwnProducer(t *testing.T) {
	l, _ := newLog(t, smallConfig())
	appendLeader(t, l, txnOf(t, 1, 0, 0, 2), 0, 1) // 0, 1
	appendLeader(t, l, txnOf(t, 2, 0, 0, 1), 0, 1) // 2
	appendMarker(t, l, 1, 0, false, 0)             // 3
	appendMarker(t, l, 2, 0, false, 0)             // 4
	want := []AbortedTxn{{1, 0, 3, 2}, {2, 2, 4, 5}}
	equal(t, "entries", slices.Equal(l.active().txnEntries(), want), true)
}

// overThreeSegments is a transaction of producer 1 over the segments at 0, 10 and 20
// that is aborted in the third.
func overThreeSegments(t testingT, cfg *Config) *Log {
	t.Helper()
	cfg.SegmentBytes, cfg.IndexIntervalBytes = 700, 100
	l, _ := newLog(t, cfg)
	for i := range int32(5) {
		appendLeader(t, l, txnOf(t, 1, 0, 5*i, 5), 0, 1)
		appendLeader(t, l, batchOf(t, 180, 1), 0, 1)
	}
	appendMarker(t, l, 1, 0, false, 0)
	appendLeader(t, l, batchOf(t, 500, 1), 0, 1)
	l.SetHighWatermark(l.LogEndOffset())
	return l
}

func TestStorageTrap29AbortedSearchCrossesSegmentsAndStops(t *testing.T) {
	l := overThreeSegments(t, smallConfig())
	n := len(l.segments)
	if n < 4 || l.segments[n-2].txns == nil || l.segments[0].txns != nil {
		t.Fatalf("%d segments", n)
	}
	for from := kafka.Offset(0); from < 12; from++ {
		found := mustRead(t, l, from, 100)
		got, err := l.AbortedTransactions(nil, from, &found)
		check(t, err)
		equal(t, "aborted", len(got), 1)
		equal(t, "first offset", got[0].FirstOffset, 0)
	}
	// Once an entry says that everything below the range was decided, no later
	// segment is asked, whatever it holds.
	marker := l.segments[n-2].txns.entries[0].LastOffset
	l.active().txns = &txnIndex{entries: []AbortedTxn{{9, 0, 1 << 40, 1 << 40}}}
	found := mustRead(t, l, 0, 100)
	got, err := l.AbortedTransactions(nil, 0, &found)
	check(t, err)
	equal(t, "aborted", len(got), 1)
	// Behind the marker only the made-up one reaches.
	found = mustRead(t, l, marker+1, 100)
	got, err = l.AbortedTransactions(got[:0], marker+1, &found)
	check(t, err)
	equal(t, "aborted", len(got), 1)
	equal(t, "producer", got[0].ProducerID, 9)
}

func TestStorageTrap30UpperBoundComesFromThePositionColumn(t *testing.T) {
	cfg := smallConfig()
	cfg.SegmentBytes, cfg.IndexIntervalBytes = 100_000, 100
	l, _ := newLog(t, cfg)
	appendLeader(t, l, batchOf(t, 10, 1), 0, 1)    // 0
	appendLeader(t, l, batchOf(t, 150, 1), 0, 1)   // 1
	appendLeader(t, l, batchOf(t, 150, 1), 0, 1)   // 2: indexed
	appendLeader(t, l, txnOf(t, 1, 0, 0, 1), 0, 1) // 3: indexed
	appendMarker(t, l, 1, 0, false, 0)             // 4
	l.SetHighWatermark(5)
	lookup := func(from kafka.Offset, size int) int {
		t.Helper()
		found := mustRead(t, l, from, size)
		got, err := l.AbortedTransactions(nil, from, &found)
		check(t, err)
		return len(got)
	}
	equal(t, "index entries", l.active().offsets.count(), 2)
	equal(t, "ends before the entry of offset 2: bound 2", lookup(0, 80), 0)
	equal(t, "ends before the entry of offset 3: bound 3, which the transaction does not reach below", lookup(1, 200), 0)
	equal(t, "ends behind the last entry: the log's end", lookup(2, 10_000), 1)

	// A fetch smaller than an index interval, with no entry behind it in its segment:
	// the next segment's base.
	cfg.SegmentBytes = 500
	appendLeader(t, l, batchOf(t, 400, 1), 0, 1) // 5, rolls
	l.SetHighWatermark(6)
	equal(t, "segments", len(l.Segments()), 2)
	equal(t, "next segment's base", lookup(3, 10), 1)
}

func TestAbortedSearchHasExactBounds(t *testing.T) {
	x := txnIndex{entries: []AbortedTxn{{1, 10, 20, 15}, {2, 15, 30, 31}, {3, 40, 50, 51}}}
	for _, c := range []struct {
		from, upper kafka.Offset
		found       int
		complete    bool
	}{
		{0, 10, 0, true},  // begins at the bound; 15 >= 10
		{0, 11, 1, true},  //
		{0, 15, 1, true},  // everything below 15 was decided
		{0, 16, 2, true},  //
		{20, 16, 2, true}, // the marker itself reaches in
		{21, 16, 1, true},
		{31, 40, 0, true},
		{31, 51, 1, true},
		{31, 52, 1, false},
	} {
		got, complete := x.collect(nil, c.from, c.upper)
		if len(got) != c.found || complete != c.complete {
			t.Errorf("%d to %d: %d entries, complete %v; want %d, %v", c.from, c.upper, len(got), complete, c.found, c.complete)
		}
	}
}

func TestReadWithoutRecordsHasNoAbortedTransactions(t *testing.T) {
	l := overThreeSegments(t, smallConfig())
	found, err := l.Read(3, 100, 3, true) // at its bound
	check(t, err)
	got, err := l.AbortedTransactions(nil, 3, &found)
	check(t, err)
	equal(t, "aborted", len(got), 0)
}

func TestTransactionIndexIsTruncatedWithItsSegment(t *testing.T) {
	l, fs := newLog(t, smallConfig())
	for i := range int32(3) { // data, marker: 0 to 5
		appendLeader(t, l, txnOf(t, 1, 0, i, 1), 0, 1)
		appendMarker(t, l, 1, 0, false, 0)
	}
	equal(t, "entries", len(l.active().txnEntries()), 3)
	_, err := l.TruncateTo(3, 1)
	check(t, err)
	equal(t, "entries", len(l.active().txnEntries()), 1)
	equal(t, "file", len(fileOf(t, fs, segmentFile(0, txnIndexSuffix))), abortedTxnSize)
	equal(t, "the transaction is open again", l.HasOngoingTransaction(1), true)
	l.SetHighWatermark(3)
	equal(t, "last stable offset", l.LastStableOffset(), 2)
	appendMarker(t, l, 1, 0, false, 0)
	equal(t, "entries", len(l.active().txnEntries()), 2)
}

// Recovery writes the index anew, byte for byte.
func TestRecoveryRebuildsTheTransactionIndex(t *testing.T) {
	l := overThreeSegments(t, smallConfig())
	base := l.segments[len(l.segments)-2].base
	name := segmentFile(base, txnIndexSuffix)
	before := string(fileOf(t, l.fs, name))
	setFile(t, l.fs, name, nil)
	l = reopen(t, l, false, OpenParams{})
	equal(t, "index", string(fileOf(t, l.fs, name)), before)
	l.SetHighWatermark(l.LogEndOffset())
	found := mustRead(t, l, 0, 100)
	got, err := l.AbortedTransactions(nil, 0, &found)
	check(t, err)
	equal(t, "aborted", len(got), 1)
}

func TestInsaneTransactionIndexIsRebuiltAndUnknownVersionRefused(t *testing.T) {
	l := overThreeSegments(t, smallConfig())
	end := l.LogEndOffset()
	base := l.segments[len(l.segments)-2].base
	name := segmentFile(base, txnIndexSuffix)
	check(t, l.Close(true, 1))
	good := fileOf(t, l.fs, name)
	low := AbortedTxn{1, 0, base - 1, base}
	setFile(t, l.fs, name, low.appendTo(nil))
	l = openLog(t, l.fs, l.cfg, OpenParams{Clean: true})
	equal(t, "end", l.LogEndOffset(), end)
	equal(t, "index", string(fileOf(t, l.fs, name)), string(good))

	check(t, l.Close(true, 1))
	bad := append([]byte(nil), good...)
	bad[0] = 1
	setFile(t, l.fs, name, bad)
	_, err := OpenNow(l.fs, testDir, l.cfg, OpenParams{Clean: true})
	if corrupt := (*CorruptError)(nil); !errors.As(err, &corrupt) {
		t.Fatalf("error %v", err)
	}
}

// In one append of a follower all transactions begin before any of them ends, so
// that its index may name a later stable offset than the leader's.
func TestFollowersStableOffsetIsThatOfTheWholeAppend(t *testing.T) {
	at := func(b record.Batch, base kafka.Offset) record.Batch {
		b.SetBaseOffset(base)
		b.SetPartitionLeaderEpoch(0)
		return b
	}
	l, _ := newLog(t, smallConfig())
	appendFollower(t, l, 1, at(txnOf(t, 1, 0, 0, 1), 0), at(markerOf(t, 1, 0, false, 0), 1),
		at(plainOf(t, 3, 0, 0, 1), 2), at(txnOf(t, 2, 0, 0, 1), 3))
	equal(t, "entry", l.active().txnEntries()[0], AbortedTxn{1, 0, 1, 3})
}

func TestLastStableOffsetIsNeverBelowTheLogStart(t *testing.T) {
	l, _ := newLog(t, smallConfig())
	appendLeader(t, l, txnOf(t, 1, 0, 0, 3), 0, 1)
	appendLeader(t, l, batchOf(t, 10, 1, 1, 1), 0, 1)
	l.SetHighWatermark(6)
	equal(t, "last stable offset", l.LastStableOffset(), 0)
	_, err := l.MaybeIncrementLogStartOffset(4)
	check(t, err)
	equal(t, "last stable offset", l.LastStableOffset(), 4) // the transaction is still open
	appendMarker(t, l, 1, 0, true, 0)
	l.SetHighWatermark(7)
	equal(t, "last stable offset", l.LastStableOffset(), 7)
}
