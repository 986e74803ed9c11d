package log

import (
	"strings"
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/record"
)

func TestStorageTrap31TruncationInsideABatchDropsIt(t *testing.T) {
	l, fs := newLog(t, smallConfig())
	a := appendFollower(t, l, 1, batchAt(t, 0, 1, 10, 1, 2, 3, 4, 5)).Batch
	appendFollower(t, l, 1, batchAt(t, 5, 1, 10, 1, 2, 3, 4, 5))
	l.SetHighWatermark(9)
	shorter, err := l.TruncateTo(7, 1)
	check(t, err)
	equal(t, "shorter", shorter, true)
	equal(t, "end", l.LogEndOffset(), 7)
	equal(t, "high watermark", l.HighWatermark(), 7)
	equal(t, "file", string(fileOf(t, fs, segmentFile(0, logSuffix))), string(a))
	equal(t, "next base", appendLeader(t, l, batchOf(t, 10, 1), 2, 1).Base, 7)
}

func TestStorageTrap32TruncationAtTheEndTrimsEpochs(t *testing.T) {
	l, fs := newLog(t, smallConfig())
	appendLeader(t, l, batchOf(t, 10, 1, 2), 1, 1)
	check(t, l.AssignEpoch(7, 2))
	shorter, err := l.TruncateTo(5, 1) // above the end: cut at the end (T-5, corrected)
	check(t, err)
	equal(t, "shorter", shorter, false)
	equal(t, "end", l.LogEndOffset(), 2)
	equal(t, "epochs", string(fileOf(t, fs, epochFile)), "0\n1\n1 0\n")
}

func TestTruncationDropsLaterSegments(t *testing.T) {
	l, fs := newLog(t, smallConfig())
	for i := range 9 { // segments at 0, 3, 6
		appendLeader(t, l, sizedBatch(t, 300, kafka.TimestampMs(i)), kafka.LeaderEpoch(i/4), 1)
	}
	check(t, l.Flush(9, 1))
	shorter, err := l.TruncateTo(4, 1)
	check(t, err)
	equal(t, "shorter", shorter, true)
	equal(t, "recovery point", l.RecoveryPoint(), 4)
	equal(t, "segments", len(l.Segments()), 2)
	equal(t, "size", l.Size(), 1200)
	equal(t, "index length", len(fileOf(t, fs, segmentFile(3, indexSuffix))), 1200)
	equal(t, "epochs", string(fileOf(t, fs, epochFile)), "0\n1\n0 0\n")
	got, err := l.MaxTimestampOffset(4)
	check(t, err)
	equal(t, "newest", got.Offset, 3)

	deleted := l.TakeDeleted()
	equal(t, "deleted", strings.Join(deleted, " "), strings.ReplaceAll(
		"D6.log.deleted D6.index.deleted D6.timeindex.deleted D6.snapshot.deleted", "D", testDir+"/0000000000000000000"))
	equal(t, "deleted twice", len(l.TakeDeleted()), 0)
	check(t, RemoveFiles(fs, deleted))
	check(t, RemoveFiles(fs, deleted))
	if names := list(t, fs); strings.Contains(names, ".deleted") {
		t.Fatalf("left: %s", names)
	}
}

func TestTruncationToASegmentsBaseEmptiesIt(t *testing.T) {
	l, _ := newLog(t, smallConfig())
	for range 5 {
		appendLeader(t, l, sizedBatch(t, 300, 1), 0, 1)
	}
	_, err := l.TruncateTo(3, 1)
	check(t, err)
	equal(t, "segments", len(l.Segments()), 2)
	equal(t, "active", l.Segments()[1].Size, 0)
	appendLeader(t, l, sizedBatch(t, 300, 1), 0, 1)
	equal(t, "read", mustRead(t, l, 3, 1000).Base, 3)
}

func TestTruncateFullyStartsAnewAtTheOffset(t *testing.T) {
	for _, start := range []kafka.Offset{0, 3, 100, 2} { // the base of one segment or another, or none
		l, fs := newLog(t, smallConfig())
		for range 5 {
			appendLeader(t, l, sizedBatch(t, 300, 1), 4, 1)
		}
		l.SetHighWatermark(2)
		check(t, l.TruncateFullyAndStartAt(start, 1))
		for _, o := range []kafka.Offset{l.LogStartOffset(), l.LogEndOffset(), l.HighWatermark()} {
			equal(t, "offsets", o, start)
		}
		equal(t, "recovery point, which only a flush moves forward", l.RecoveryPoint(), 0)
		equal(t, "segments", len(l.Segments()), 1)
		equal(t, "epochs", string(fileOf(t, fs, epochFile)), "0\n0\n")
		appendFollower(t, l, 1, batchAt(t, start, 5, 10, 1))
		again := reopen(t, l, false, OpenParams{LogStart: start, RecoveryPoint: start})
		equal(t, "end after a restart", again.LogEndOffset(), start+1)
		equal(t, "start after a restart", again.LogStartOffset(), start)
	}
}

func TestTruncationBelowTheFirstSegmentStartsAnew(t *testing.T) {
	l, _ := newLog(t, smallConfig())
	check(t, l.TruncateFullyAndStartAt(50, 1))
	appendFollower(t, l, 1, batchAt(t, 50, 5, 10, 1))
	shorter, err := l.TruncateTo(20, 1)
	check(t, err)
	equal(t, "shorter", shorter, true)
	equal(t, "start", l.LogStartOffset(), 20)
	equal(t, "end", l.LogEndOffset(), 20)
}

// TestStorageTrap53 is the log's part of KAFKA-6975: what a follower needs to know
// for its retry is in the error.
func TestStorageTrap53AppendFromInsideABatchNamesTheOffsets(t *testing.T) {
	l, _ := newLog(t, smallConfig())
	check(t, l.TruncateFullyAndStartAt(15, 1)) // the leader's log start lies inside 10 to 19
	ts := make([]kafka.TimestampMs, 10)
	b := batchAt(t, 10, 1, 5, ts...)
	_, err := l.AppendAsFollower(b, 1)
	unexpected, ok := err.(*UnexpectedAppendOffsetError)
	if !ok {
		t.Fatalf("error %v", err)
	}
	equal(t, "error", *unexpected, UnexpectedAppendOffsetError{First: 10, Last: 19, LogEnd: 15, LogStart: 15})
	check(t, l.TruncateFullyAndStartAt(unexpected.First, 1))
	appendFollower(t, l, 1, b)
	equal(t, "end", l.LogEndOffset(), 20)
}

func TestBatchesStopWhenTold(t *testing.T) {
	l, _ := newLog(t, smallConfig())
	for range 7 {
		appendLeader(t, l, sizedBatch(t, 300, 1), 0, 1)
	}
	var bases []kafka.Offset
	check(t, l.Batches(2, func(b record.Batch) bool {
		bases = append(bases, b.BaseOffset())
		return len(bases) < 3
	}))
	equal(t, "first", bases[0], 2)
	equal(t, "count", len(bases), 3)
}
