package log

import (
	"slices"
	"strings"
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
)

// threeSegments has segments at 0, 2, 4 with two batches of 400 bytes each, whose
// timestamps are 1000 times their offsets.
func threeSegments(t testingT, cfg *Config) *Log {
	t.Helper()
	l, _ := newLog(t, cfg)
	for i := range 6 {
		appendLeader(t, l, sizedBatch(t, 400, kafka.TimestampMs(1000*i)), 0, 1)
	}
	equal(t, "segments", len(l.Segments()), 3)
	return l
}

func keepForever() *Config {
	c := smallConfig()
	c.RetentionMs = -1
	return c
}

func retain(t testingT, l *Log, now kafka.TimestampMs) (bases []kafka.Offset) {
	t.Helper()
	done, err := l.DeleteOldSegments(now)
	check(t, err)
	for _, d := range done.Deleted {
		bases = append(bases, d.Base)
	}
	return bases
}

func TestStorageTrap43RetentionSparesTheUncommittedAndAnEmptyLastSegment(t *testing.T) {
	cfg := keepForever()
	cfg.RetentionBytes = 0
	l := threeSegments(t, cfg)
	l.SetHighWatermark(3) // inside the second segment
	equal(t, "deleted", slices.Equal(retain(t, l, 1), []kafka.Offset{0}), true)
	equal(t, "log start", l.LogStartOffset(), 2)
	equal(t, "deleted", len(retain(t, l, 1)), 0)
	l.SetHighWatermark(4) // the third segment's base
	equal(t, "deleted", slices.Equal(retain(t, l, 1), []kafka.Offset{2}), true)
	l.SetHighWatermark(6)
	equal(t, "deleted", slices.Equal(retain(t, l, 1), []kafka.Offset{4}), true)
	equal(t, "segments", len(l.Segments()), 1)
	equal(t, "deleted", len(retain(t, l, 1<<60)), 0)
	equal(t, "the empty one stays", l.Segments()[0].Base, 6)
}

func TestStorageTrap44TimeIsStrictAndSizeKeepsTheLimit(t *testing.T) {
	cfg := keepForever()
	cfg.RetentionMs = 500
	l := threeSegments(t, cfg)
	l.SetHighWatermark(6)
	equal(t, "500 ms after the newest of the first segment", len(retain(t, l, 1500)), 0)
	equal(t, "501 ms", slices.Equal(retain(t, l, 1501), []kafka.Offset{0}), true)

	for _, c := range []struct{ limit, deleted int }{{2401, 0}, {2400, 0}, {1601, 0}, {1600, 1}, {801, 1}, {800, 2}, {1, 2}, {0, 3}, {-1, 0}} {
		cfg := keepForever()
		cfg.RetentionBytes = int64(c.limit)
		l := threeSegments(t, cfg)
		l.SetHighWatermark(6)
		equal(t, "deleted", len(retain(t, l, 1<<40)), c.deleted)
		if c.limit > 0 && l.Size() < int64(min(c.limit, 2400)) {
			t.Fatalf("%d bytes left under retention.bytes=%d", l.Size(), c.limit)
		}
	}
}

func TestStorageTrap45WhenAllSegmentsGoANewOneBeginsAtTheEnd(t *testing.T) {
	cfg := keepForever()
	cfg.RetentionMs = 0
	l := threeSegments(t, cfg)
	check(t, l.AssignEpoch(4, 6))
	l.SetHighWatermark(6)
	done, err := l.DeleteOldSegments(1 << 40)
	check(t, err)
	equal(t, "rolled", done.Rolled, true)
	equal(t, "deleted", slices.Equal(done.Deleted, []DeletedSegment{{0, TimeBreach}, {2, TimeBreach}, {4, TimeBreach}}), true)
	equal(t, "log start", l.LogStartOffset(), 6)
	equal(t, "end", l.LogEndOffset(), 6)
	if names := list(t, l.fs); !strings.Contains(names, segmentFile(6, logSuffix)+" ") {
		t.Fatalf("files %s", names)
	}
	equal(t, "bytes", len(fileOf(t, l.fs, segmentFile(6, logSuffix))), 0)
	equal(t, "epochs", string(fileOf(t, l.fs, epochFile)), "0\n1\n4 6\n")
	_, pending := l.PendingFlush()
	equal(t, "flush of the roll", pending, true)
	// The end survives a restart, by the file's name alone.
	for _, clean := range []bool{false, true} {
		l = reopen(t, l, clean, OpenParams{})
		equal(t, "end", l.LogEndOffset(), 6)
		equal(t, "log start", l.LogStartOffset(), 6)
	}
	equal(t, "next", appendLeader(t, l, batchOf(t, 10, 1), 4, 1).Base, 6)
}

func TestRetentionGoesByPasses(t *testing.T) {
	cfg := keepForever()
	cfg.RetentionBytes, cfg.RetentionMs = 1600, 500
	l := threeSegments(t, cfg)
	l.SetHighWatermark(6)
	_, code, err := l.DeleteRecords(2)
	check(t, err)
	equal(t, "code", code, kafka.None)
	done, err := l.DeleteOldSegments(3501)
	check(t, err)
	equal(t, "deleted", slices.Equal(done.Deleted, []DeletedSegment{{0, StartBreach}, {2, TimeBreach}}), true)
}

// Without the policy delete only what lies before the log start goes.
func TestRetentionWithoutThePolicyDelete(t *testing.T) {
	cfg := smallConfig()
	cfg.Delete, cfg.RetentionBytes, cfg.RetentionMs = false, 0, 0
	l := threeSegments(t, cfg)
	l.SetHighWatermark(6)
	equal(t, "deleted", len(retain(t, l, 1<<40)), 0)
	_, code, err := l.DeleteRecords(3)
	check(t, err)
	equal(t, "deletion", code, kafka.PolicyViolation)
	_, err = l.MaybeIncrementLogStartOffset(3) // as a follower's leader may say
	check(t, err)
	equal(t, "deleted", slices.Equal(retain(t, l, 1<<40), []kafka.Offset{0}), true)
}

// One record from the future keeps its segment and all that follow.
func TestFutureTimestampKeepsTheLogFromThereOn(t *testing.T) {
	cfg := keepForever()
	cfg.RetentionMs = 10
	l, _ := newLog(t, cfg)
	for _, ts := range []kafka.TimestampMs{1, 1, 1 << 50, 1, 1, 1} {
		appendLeader(t, l, sizedBatch(t, 400, ts), 0, 1)
	}
	l.SetHighWatermark(6)
	equal(t, "deleted", slices.Equal(retain(t, l, 1<<40), []kafka.Offset{0}), true)
	equal(t, "log start", l.LogStartOffset(), 2)
}

// A segment without timestamps is as old as its file.
func TestSegmentWithoutTimestampsAgesByItsFile(t *testing.T) {
	cfg := keepForever()
	cfg.RetentionMs = 10
	l, fs := newLog(t, cfg)
	for range 4 {
		appendLeader(t, l, sizedBatch(t, 400, kafka.NoTimestamp), 0, 1)
	}
	l.SetHighWatermark(4)
	info, err := fs.Stat(l.Segments()[0].File)
	check(t, err)
	equal(t, "deleted", len(retain(t, l, info.ModTime+10)), 0)
	equal(t, "deleted", slices.Equal(retain(t, l, info.ModTime+11), []kafka.Offset{0}), true)
}

func TestDeletedSegmentsKeepTheirFilesForTheDelay(t *testing.T) {
	cfg := keepForever()
	cfg.RetentionBytes = 800
	l := threeSegments(t, cfg)
	l.SetHighWatermark(6)
	found := mustRead(t, l, 0, 100)
	retain(t, l, 1)
	equal(t, "bytes handed out before", len(found.Records), 400)
	if _, err := l.Read(0, 100, 6, true); err == nil {
		t.Fatal("offset 0 is gone")
	}
	files := strings.Join(l.TakeDeleted(), " ")
	want := strings.ReplaceAll("D0.log.deleted D0.index.deleted D0.timeindex.deleted D2.log.deleted D2.index.deleted D2.timeindex.deleted D2.snapshot.deleted",
		"D", testDir+"/0000000000000000000")
	equal(t, "files", files, want)
	check(t, RemoveFiles(l.fs, strings.Fields(files)))
	if names := list(t, l.fs); strings.Contains(names, ".deleted") {
		t.Fatalf("files %s", names)
	}
	// A restart within the delay removes them.
	retain(t, l, 1)
	l = reopen(t, l, true, OpenParams{})
	if names := list(t, l.fs); strings.Contains(names, ".deleted") {
		t.Fatalf("files %s", names)
	}
	equal(t, "log start", l.LogStartOffset(), 4)
}

func TestDeleteRecordsRaisesTheLogStart(t *testing.T) {
	l := threeSegments(t, keepForever())
	check(t, l.AssignEpoch(2, 6))
	l.SetHighWatermark(5)
	for _, c := range []struct {
		before, requested kafka.Offset
		code              kafka.ErrorCode
		start             kafka.Offset
	}{
		{-2, -2, kafka.OffsetOutOfRange, 0},
		{6, 6, kafka.OffsetOutOfRange, 0},
		{0, 0, kafka.None, 0},
		{3, 3, kafka.None, 3},
		{1, 1, kafka.None, 3},
		{ToHighWatermark, 5, kafka.None, 5},
	} {
		requested, code, err := l.DeleteRecords(c.before)
		check(t, err)
		equal(t, "code", code, c.code)
		equal(t, "requested", requested, c.requested)
		equal(t, "log start", l.LogStartOffset(), c.start)
	}
	equal(t, "recovery point", l.RecoveryPoint(), 5)
	equal(t, "epochs", string(fileOf(t, l.fs, epochFile)), "0\n2\n0 5\n2 6\n")
	equal(t, "files stay for now", len(l.Segments()), 3)
	equal(t, "deleted", slices.Equal(retain(t, l, 1), []kafka.Offset{0, 2}), true)
	// An unsynced start is lost with the process: the log begins at its first file.
	l = reopen(t, l, false, OpenParams{})
	equal(t, "log start", l.LogStartOffset(), 4)
}

// A log start inside a batch: the batch stays, reads from the start on return it.
func TestLogStartInsideABatch(t *testing.T) {
	l, _ := newLog(t, keepForever())
	appendLeader(t, l, batchOf(t, 10, 1, 2, 3, 4), 0, 1)
	l.SetHighWatermark(4)
	_, code, err := l.DeleteRecords(2)
	check(t, err)
	equal(t, "code", code, kafka.None)
	found := mustRead(t, l, 2, 1000)
	equal(t, "base", found.Base, 0)
	if _, err := l.Read(1, 1000, 4, true); err == nil {
		t.Fatal("offset 1 is gone")
	}
}

func TestFlushIfDueCountsFromTheLastFlush(t *testing.T) {
	cfg := smallConfig()
	cfg.FlushMs = 100
	l := openLog(t, newMem(), cfg, OpenParams{Clean: true, Now: 1000})
	appendLeader(t, l, batchOf(t, 10, 1), 0, 1000)
	check(t, l.FlushIfDue(1099))
	equal(t, "recovery point", l.RecoveryPoint(), 0)
	check(t, l.FlushIfDue(1100))
	equal(t, "recovery point", l.RecoveryPoint(), 1)
	appendLeader(t, l, batchOf(t, 10, 1), 0, 1100)
	check(t, l.Flush(2, 1150))
	appendLeader(t, l, batchOf(t, 10, 1), 0, 1160)
	check(t, l.FlushIfDue(1249))
	equal(t, "recovery point", l.RecoveryPoint(), 2)
	check(t, l.FlushIfDue(1250))
	equal(t, "recovery point", l.RecoveryPoint(), 3)
}
