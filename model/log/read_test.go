package log

import (
	"errors"
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/record"
	"github.com/simkafka/simkafka/model/vfs/vfstest"
)

func newMem() *vfstest.Mem { return vfstest.NewMem() }

// mustRead reads up to the log's end.
func mustRead(t testingT, l *Log, start kafka.Offset, maxBytes int) ReadInfo {
	t.Helper()
	info, err := l.Read(start, maxBytes, l.LogEndOffset(), true)
	check(t, err)
	return info
}

func TestStorageTrap51ReadBeginsAtABatchAndMayEndInsideOne(t *testing.T) {
	l, _ := newLog(t, smallConfig())
	a := appendLeader(t, l, batchOf(t, 10, 1, 2, 3), 0, 1).Batch
	b := appendLeader(t, l, batchOf(t, 10, 1, 2, 3), 0, 1).Batch
	info := mustRead(t, l, 4, 1) // in mid-batch; one byte, but a whole batch
	equal(t, "records", string(info.Records), string(b))
	equal(t, "base", info.Base, 3)
	equal(t, "incomplete", info.FirstIncomplete, false)
	info = mustRead(t, l, 1, len(a)+7)
	equal(t, "records", string(info.Records), string(join(a, b[:7])))

	info, err := l.Read(4, 1, l.LogEndOffset(), false)
	check(t, err)
	equal(t, "records", string(info.Records), string(b[:1]))
	equal(t, "incomplete", info.FirstIncomplete, true)
	info, err = l.Read(4, 0, l.LogEndOffset(), false)
	check(t, err)
	equal(t, "records of no bytes", len(info.Records), 0)
	equal(t, "incomplete", info.FirstIncomplete, false)
}

func TestReadOutsideOfTheLogIsOutOfRange(t *testing.T) {
	l, _ := newLog(t, smallConfig())
	appendLeader(t, l, batchOf(t, 10, 1, 2, 3), 0, 1)
	l.SetHighWatermark(3)
	_, err := l.MaybeIncrementLogStartOffset(2)
	check(t, err)
	for _, start := range []kafka.Offset{1, 4, -1} {
		_, err := l.Read(start, 100, 3, true)
		want := (*OffsetOutOfRangeError)(nil)
		if !errors.As(err, &want) || *want != (OffsetOutOfRangeError{start, 2, 3}) {
			t.Fatalf("read at %d: %v", start, err)
		}
	}
	info, err := l.Read(3, 100, 3, true)
	check(t, err)
	equal(t, "at the end", len(info.Records), 0)
	equal(t, "from the log start", mustRead(t, l, 2, 100).Base, 0)
}

func TestReadBelowTheBoundOnly(t *testing.T) {
	l, _ := newLog(t, smallConfig())
	var all []record.Batch
	for range 6 {
		all = append(all, appendLeader(t, l, sizedBatch(t, 300, 1), 0, 1).Batch)
	}
	for upper := range kafka.Offset(7) {
		for start := range kafka.Offset(7) {
			info, err := l.Read(start, 10000, upper, true)
			check(t, err)
			end := min(upper, start/3*3+3) // three batches a segment
			want := ""
			if start < end {
				want = string(join(all[start:end]...))
			}
			equal(t, "records", string(info.Records), want)
		}
	}
}

func TestStorageTrap52BoundWithoutAPositionHidesEverything(t *testing.T) {
	l, _ := newLog(t, smallConfig())
	for range 4 {
		appendLeader(t, l, sizedBatch(t, 300, 1), 0, 1)
	}
	// A number outside of the log, such as a high watermark below the first local
	// segment or one of a log that was longer.
	_, known, err := l.position(5)
	check(t, err)
	equal(t, "placed", known, false)
	info, err := l.Read(0, 10000, 5, true)
	check(t, err)
	equal(t, "records", len(info.Records), 0)
	bytes, older := l.AvailableBytes(0, 5)
	equal(t, "available", bytes, 0)
	equal(t, "answer at once", older, true)

	// A high watermark from the checkpoint is looked up at the first read.
	l = reopen(t, l, false, OpenParams{})
	l.SetHighWatermark(2)
	info, err = l.Read(0, 10000, l.HighWatermark(), true)
	check(t, err)
	equal(t, "records", len(info.Records), 600)
}

func TestBoundInsideABatchHidesTheBatch(t *testing.T) {
	l, _ := newLog(t, smallConfig())
	a := appendLeader(t, l, batchOf(t, 10, 1, 2, 3), 0, 1).Batch
	appendLeader(t, l, batchOf(t, 10, 1, 2, 3), 0, 1)
	l = reopen(t, l, true, OpenParams{})
	info, err := l.Read(0, 1000, 4, true)
	check(t, err)
	equal(t, "records", string(info.Records), string(a))
	info, err = l.Read(3, 1000, 4, true)
	check(t, err)
	equal(t, "records", len(info.Records), 0)
}

func TestAvailableBytesAreWhatAReadWouldFind(t *testing.T) {
	l, _ := newLog(t, smallConfig())
	for range 6 { // segments of 3 batches
		appendLeader(t, l, sizedBatch(t, 300, 1), 0, 1)
	}
	for _, tc := range []struct {
		from, upper kafka.Offset
		bytes       int64
		older       bool
	}{
		{0, 0, 0, false}, {0, 2, 600, false}, {3, 6, 900, false}, {4, 6, 600, false}, {6, 6, 0, false},
		{2, 5, 0, true}, {5, 2, 0, true}, {5, 4, 0, false},
	} {
		bytes, older := l.AvailableBytes(tc.from, tc.upper)
		if bytes != tc.bytes || older != tc.older {
			t.Fatalf("%d to %d: %d, %v", tc.from, tc.upper, bytes, older)
		}
	}
}

func TestReadWithoutHintsEqualsReadWithThem(t *testing.T) {
	l, _ := newLog(t, smallConfig())
	for i := range 30 {
		appendLeader(t, l, batchOf(t, 7*i%50, 1, 2), 0, 1)
		for back := range kafka.Offset(9) {
			start := max(0, l.LogEndOffset()-back)
			with := mustRead(t, l, start, 100)
			hints := l.hints
			l.hints.clear()
			without := mustRead(t, l, start, 100)
			l.hints = hints
			equal(t, "records", string(with.Records), string(without.Records))
			equal(t, "position", with.Pos, without.Pos)
		}
	}
}

func TestOffsetForTimestampFindsTheFirstRecordSoNew(t *testing.T) {
	l, _ := newLog(t, smallConfig())
	for i := range 20 { // timestamps 0 10 20 | 100 110 120 | ...
		ts := kafka.TimestampMs(100 * i)
		appendLeader(t, l, batchOf(t, 60, ts, ts+10, ts+20), 2, 1)
	}
	find := func(ts kafka.TimestampMs, upper kafka.Offset) TimestampOffset {
		got, err := l.OffsetForTimestamp(ts, upper)
		check(t, err)
		return got
	}
	for i := range kafka.Offset(60) {
		ts := kafka.TimestampMs(100*(i/3) + 10*(i%3))
		equal(t, "at", find(ts, 60), TimestampOffset{ts, i, 2})
		equal(t, "before", find(ts-1, 60).Offset, i)
		equal(t, "above the bound", find(ts, i), noOffset())
	}
	equal(t, "after all", find(1921, 60), noOffset())
	l.SetHighWatermark(60)
	_, err := l.MaybeIncrementLogStartOffset(2)
	check(t, err)
	equal(t, "from the log start", find(0, 60).Offset, 2)
	equal(t, "earliest", l.EarliestOffset(), TimestampOffset{-1, 2, 2})
	// Only the first segment that is new enough is asked, as in a broker, even if
	// the log start has left it and retention has not yet come by.
	_, err = l.MaybeIncrementLogStartOffset(31)
	check(t, err)
	equal(t, "behind the log start", find(0, 60), noOffset())
}

func TestStorageTrap54MaxTimestampIsTheRecordsOwnOffset(t *testing.T) {
	l, _ := newLog(t, smallConfig())
	got, err := l.MaxTimestampOffset(0)
	check(t, err)
	equal(t, "of an empty log", got, noOffset())
	appendLeader(t, l, batchOf(t, 10, 1, 2), 1, 1)
	appendLeader(t, l, batchOf(t, 10, 5, 9, 7), 1, 1)
	appendLeader(t, l, batchOf(t, 10, 9), 1, 1)
	for _, clean := range []bool{true, false} {
		got, err = l.MaxTimestampOffset(6)
		check(t, err)
		equal(t, "newest", got, TimestampOffset{9, 3, 1})
		got, err = l.MaxTimestampOffset(3)
		check(t, err)
		equal(t, "above the bound", got, noOffset())
		l = reopen(t, l, clean, OpenParams{})
	}
}

func TestHighWatermarkRules(t *testing.T) {
	l, _ := newLog(t, smallConfig())
	appendLeader(t, l, batchOf(t, 10, 1, 2, 3), 0, 1)
	equal(t, "clamped to the end", l.SetHighWatermark(9), 3)
	equal(t, "a follower's goes back", l.SetHighWatermark(1), 1)
	previous, moved := l.MaybeIncrementHighWatermark(2)
	equal(t, "previous", previous, 1)
	equal(t, "moved", moved, true)
	_, moved = l.MaybeIncrementHighWatermark(1)
	equal(t, "a leader's goes back", moved, false)
	mustPanic(t, func() { l.MaybeIncrementHighWatermark(4) })
	_, err := l.MaybeIncrementLogStartOffset(3)
	if out := (*OffsetOutOfRangeError)(nil); !errors.As(err, &out) { // cluster L-11, corrected
		t.Fatalf("log start above the high watermark: %v", err)
	}
	moved, err = l.MaybeIncrementLogStartOffset(2)
	check(t, err)
	equal(t, "log start moved", moved, true)
	equal(t, "recovery point", l.RecoveryPoint(), 2)
	equal(t, "clamped to the start", l.SetHighWatermark(0), 2)
}

func TestBoundBeforeAGapHidesWhatComesAfterIt(t *testing.T) {
	l, _ := newLog(t, smallConfig())
	appendFollower(t, l, 1, batchAt(t, 0, 1, 100, 1, 2, 3, 4, 5))
	appendFollower(t, l, 1, batchAt(t, 5, 1, 10, 1, 2, 3, 4, 5))
	_, err := l.TruncateTo(7, 1) // 5 and 6 go too, the log ends at 7
	check(t, err)
	l.SetHighWatermark(7)
	info := appendFollower(t, l, 1, batchAt(t, 9, 1, 600, 1))
	equal(t, "rolled", info.Rolled, true)
	got, err := l.Read(5, 1000, 7, true)
	check(t, err)
	equal(t, "records", len(got.Records), 0)
	equal(t, "up to the end", mustRead(t, l, 5, 1000).Base, 9)
}
