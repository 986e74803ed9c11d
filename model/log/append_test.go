package log

import (
	"errors"
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/record"
	"github.com/simkafka/simkafka/model/vfs"
)

func TestLeaderAssignsOffsetsAndEpoch(t *testing.T) {
	l, fs := newLog(t, smallConfig())
	client := batchOf(t, 10, 5, 6, 7)
	before := string(client)
	appendLeader(t, l, client, 2, 1)
	info := appendLeader(t, l, client, 2, 1)
	equal(t, "client's batch", string(client), before)
	equal(t, "base", info.Base, 3)
	equal(t, "last", info.Last, 5)
	equal(t, "max timestamp", info.MaxTimestamp, 7)
	equal(t, "size", info.Size, len(client))
	equal(t, "count", info.Count, 3)
	stored := batchesOf(t, l)
	equal(t, "batches", len(stored), 2)
	equal(t, "crc", info.CRC, stored[1].CRC())
	equal(t, "epoch", stored[1].PartitionLeaderEpoch(), 2)
	equal(t, "written", string(info.Batch), string(stored[1]))
	equal(t, "end", l.LogEndOffset(), 6)
	equal(t, "file", len(fileOf(t, fs, segmentFile(0, logSuffix))), 2*len(client))
}

func TestRefusedBatchLeavesTheLogAsItWas(t *testing.T) {
	cfg := smallConfig()
	l, _ := newLog(t, cfg)
	appendLeader(t, l, batchOf(t, 10, 5), 2, 1)
	corrupt := batchOf(t, 10, 5)
	corrupt[len(corrupt)-1] ^= 1
	for _, tc := range []struct {
		batch record.Batch
		code  kafka.ErrorCode
	}{
		{corrupt, kafka.CorruptMessage},
		{batchAt(t, 4, 0, 10, 5), kafka.InvalidRecord},
	} {
		_, verdict, err := l.AppendAsLeader(tc.batch, 3, 1)
		check(t, err)
		equal(t, "code", verdict.Code, tc.code)
		equal(t, "end", l.LogEndOffset(), 1)
		equal(t, "epoch", l.LastEpoch(), 2)
	}
	cfg.MaxMessageBytes = 100
	l.SetConfig(cfg)
	_, verdict, err := l.AppendAsLeader(batchOf(t, 200, 5), 3, 1)
	check(t, err)
	equal(t, "code", verdict.Code, kafka.MessageTooLarge)
}

func TestFollowerStoresTheLeadersBytes(t *testing.T) {
	l, fs := newLog(t, smallConfig())
	a, b := batchAt(t, 0, 1, 10, 5, 6), batchAt(t, 7, 3, 10, 9) // a gap from 2 to 7
	torn := batchAt(t, 8, 3, 10, 9)
	info := appendFollower(t, l, 1, a, b, torn[:len(torn)-1])
	equal(t, "base", info.Base, 0)
	equal(t, "last", info.Last, 7)
	equal(t, "batches", info.Batches, 2)
	equal(t, "end", l.LogEndOffset(), 8)
	equal(t, "file", string(fileOf(t, fs, segmentFile(0, logSuffix))), string(join(a, b)))
	equal(t, "epochs", len(l.EpochEntries()), 2)
	equal(t, "epoch start", l.EpochEntries()[1], EpochEntry{3, 7})

	info = appendFollower(t, l, 1, torn[:20])
	equal(t, "batches of a torn one", info.Batches, 0)
	equal(t, "end", l.LogEndOffset(), 8)
}

func TestFollowerRefusesWhatDoesNotFollow(t *testing.T) {
	l, _ := newLog(t, smallConfig())
	appendFollower(t, l, 1, batchAt(t, 0, 1, 10, 5, 6))
	_, err := l.AppendAsFollower(batchAt(t, 1, 1, 10, 5, 6), 1)
	unexpected := (*UnexpectedAppendOffsetError)(nil)
	if !errors.As(err, &unexpected) {
		t.Fatalf("overlap: %v", err)
	}
	equal(t, "error", *unexpected, UnexpectedAppendOffsetError{First: 1, Last: 2, LogEnd: 2})
	_, err = l.AppendAsFollower(join(batchAt(t, 5, 1, 10, 5), batchAt(t, 4, 1, 10, 5)), 1)
	if !errors.Is(err, record.ErrOffsetsOutOfOrder) {
		t.Fatalf("order: %v", err)
	}
	corrupt := batchAt(t, 2, 1, 10, 5)
	corrupt[len(corrupt)-1] ^= 1
	_, err = l.AppendAsFollower(corrupt, 1)
	if bad := (*record.CorruptError)(nil); !errors.As(err, &bad) {
		t.Fatalf("crc: %v", err)
	}
	cfg := smallConfig()
	cfg.LimitFollowerAppend = true
	l.SetConfig(cfg)
	_, err = l.AppendAsFollower(batchAt(t, 2, 1, 1000, 5), 1)
	if large := (*RecordBatchTooLargeError)(nil); !errors.As(err, &large) {
		t.Fatalf("size: %v", err)
	}
	equal(t, "end", l.LogEndOffset(), 2)
	appendFollower(t, l, 1, batchAt(t, 2, 1, 10, 5))
}

// UnifiedLog.append enters the epochs before it compares the size with segment.bytes.
func TestAnAppendAboveSegmentBytesLeavesItsEpoch(t *testing.T) {
	cfg := smallConfig()
	cfg.LimitFollowerAppend = true
	l, _ := newLog(t, cfg)
	large := batchAt(t, 0, 1, 1000, 5)
	large.SetPartitionLeaderEpoch(3)
	if _, err := l.AppendAsFollower(large, 1); err == nil {
		t.Fatal("it was appended")
	}
	equal(t, "epoch", l.LastEpoch(), 3)
	_, v, err := l.AppendAsLeader(sizedBatch(t, 1001, 1), 4, 1)
	check(t, err)
	equal(t, "code", v.Code, kafka.RecordListTooLarge)
	equal(t, "epoch", l.LastEpoch(), 4)
	equal(t, "end", l.LogEndOffset(), 0)
}

func TestFollowerMayExceedSegmentBytesSinceKAFKA17375(t *testing.T) {
	l, _ := newLog(t, smallConfig())
	info := appendFollower(t, l, 1, batchAt(t, 0, 1, 2000, 5))
	equal(t, "rolled", info.Rolled, false)
	equal(t, "rolled next", appendFollower(t, l, 1, batchAt(t, 1, 1, 10, 5)).Rolled, true)
}

func TestStorageTrap17ExactlyFullSegmentDoesNotRoll(t *testing.T) {
	l, _ := newLog(t, smallConfig())
	appendLeader(t, l, sizedBatch(t, 500, 1), 0, 1)
	equal(t, "rolled at the limit", appendLeader(t, l, sizedBatch(t, 500, 1), 0, 1).Rolled, false)
	l, _ = newLog(t, smallConfig())
	appendLeader(t, l, sizedBatch(t, 500, 1), 0, 1)
	equal(t, "rolled above it", appendLeader(t, l, sizedBatch(t, 501, 1), 0, 1).Rolled, true)
}

func TestStorageTrap18SegmentAgesByRecordTimestamps(t *testing.T) {
	cfg := smallConfig()
	cfg.SegmentMs = 1000
	l, _ := newLog(t, cfg)
	appendLeader(t, l, batchOf(t, 10, 5000), 0, 1)
	equal(t, "rolled by the wall clock", appendLeader(t, l, batchOf(t, 10, 5000), 0, 1e9).Rolled, false)
	equal(t, "rolled at the limit", appendLeader(t, l, batchOf(t, 10, 6000), 0, 1).Rolled, false)
	equal(t, "rolled above it", appendLeader(t, l, batchOf(t, 10, 6001), 0, 1).Rolled, true)
}

func TestAgeCountsFromTheFirstBatchSinceKAFKA806(t *testing.T) {
	for _, perBatch := range []bool{true, false} {
		cfg := smallConfig()
		cfg.SegmentMs, cfg.IndexPerBatch = 1000, perBatch
		l, _ := newLog(t, cfg)
		appendFollower(t, l, 1, batchAt(t, 0, 1, 10, 5000), batchAt(t, 1, 1, 10, 7000))
		equal(t, "rolled", appendFollower(t, l, 1, batchAt(t, 2, 1, 10, 7500)).Rolled, perBatch)
	}
}

func TestStorageTrap18AgeSurvivesARestart(t *testing.T) {
	cfg := smallConfig()
	cfg.SegmentMs = 1000
	l, _ := newLog(t, cfg)
	appendLeader(t, l, batchOf(t, 10, 5000), 0, 1)
	appendLeader(t, l, batchOf(t, 10, 5900), 0, 1)
	l = reopen(t, l, true, OpenParams{})
	equal(t, "rolled", appendLeader(t, l, batchOf(t, 10, 6001), 0, 1).Rolled, true)
}

func TestStorageTrap19WithoutTimestampsTheWallClockCounts(t *testing.T) {
	cfg := smallConfig()
	cfg.SegmentMs = 1000
	l, _ := newLog(t, cfg)
	appendLeader(t, l, batchOf(t, 10, -1), 0, 100)
	equal(t, "rolled at the limit", appendLeader(t, l, batchOf(t, 10, -1), 0, 1000).Rolled, false)
	l = reopen(t, l, true, OpenParams{Now: 900})
	equal(t, "rolled 1000 ms after the restart", appendLeader(t, l, batchOf(t, 10, -1), 0, 1900).Rolled, false)
	equal(t, "rolled after that", appendLeader(t, l, batchOf(t, 10, -1), 0, 1901).Rolled, true)
}

func TestJitterShortensASegmentsLife(t *testing.T) {
	cfg := smallConfig()
	cfg.SegmentMs, cfg.SegmentJitterMs = 1000, 500
	draw := func(dir string, base kafka.Offset) uint64 {
		equal(t, "dir", dir, testDir)
		return 1<<32 - 700 // int32 -700: 700 mod 500
	}
	l := openLog(t, newMem(), cfg, OpenParams{Clean: true, Jitter: draw})
	appendLeader(t, l, batchOf(t, 10, 0), 0, 1)
	equal(t, "rolled at the limit", appendLeader(t, l, batchOf(t, 10, 800), 0, 1).Rolled, false)
	equal(t, "rolled above it", appendLeader(t, l, batchOf(t, 10, 801), 0, 1).Rolled, true)
}

func TestFarOffsetRollsTheSegment(t *testing.T) {
	l, _ := newLog(t, smallConfig())
	appendFollower(t, l, 1, batchAt(t, 0, 1, 10, 5))
	appendFollower(t, l, 1, batchAt(t, maxRelativeOffset, 1, 10, 5))
	equal(t, "segments", len(l.Segments()), 1)
	info := appendFollower(t, l, 1, batchAt(t, maxRelativeOffset+10, 1, 10, 5))
	equal(t, "rolled", info.Rolled, true)
	equal(t, "base", l.Segments()[1].Base, maxRelativeOffset+10)
	equal(t, "end", l.LogEndOffset(), maxRelativeOffset+11)
	equal(t, "read over the gap", mustRead(t, l, maxRelativeOffset+1, 1000).Base, maxRelativeOffset+10)
}

func TestRollTrimsAndLeavesAFlush(t *testing.T) {
	l, fs := newLog(t, smallConfig())
	for i := range 3 {
		appendLeader(t, l, sizedBatch(t, 400, kafka.TimestampMs(i)), 0, 1)
	}
	index, times := slowIndexes(t, 0, fileOf(t, fs, segmentFile(0, logSuffix)), 150)
	equal(t, "index", string(fileOf(t, fs, segmentFile(0, indexSuffix))), string(index))
	equal(t, "time index", string(fileOf(t, fs, segmentFile(0, timeIndexSuffix))), string(times))
	names := list(t, fs)
	equal(t, "the first append makes the indexes of the new segment", names,
		"00000000000000000000.index 00000000000000000000.log 00000000000000000000.timeindex "+
			"00000000000000000002.index 00000000000000000002.log 00000000000000000002.snapshot 00000000000000000002.timeindex leader-epoch-checkpoint")
	equal(t, "recovery point", l.RecoveryPoint(), 0)
	job, ok := l.PendingFlush()
	equal(t, "pending", ok, true)
	equal(t, "up to", job.UpTo, 2)
	equal(t, "files, the snapshot first", len(job.Files), 4)
	equal(t, "snapshot", job.Files[0].Name(), testDir+"/"+segmentFile(2, snapshotSuffix))
	equal(t, "directories", len(job.Dirs), 1)
	_, again := l.PendingFlush()
	equal(t, "pending twice", again, false)
	check(t, l.FlushDone(job, 1, nil))
	equal(t, "recovery point", l.RecoveryPoint(), 2)
}

func TestTruncationVoidsAFlushInProgress(t *testing.T) {
	l, _ := newLog(t, smallConfig())
	for range 3 {
		appendLeader(t, l, sizedBatch(t, 400, 1), 0, 1)
	}
	job, _ := l.PendingFlush()
	_, err := l.TruncateTo(1, 1)
	check(t, err)
	for range 3 {
		appendLeader(t, l, sizedBatch(t, 300, 1), 0, 1)
	}
	check(t, l.FlushDone(job, 1, nil))
	equal(t, "recovery point", l.RecoveryPoint(), 0)
	job, ok := l.PendingFlush()
	equal(t, "asked for again", ok, true)
	check(t, l.FlushDone(job, 1, nil))
	equal(t, "recovery point", l.RecoveryPoint(), l.Segments()[1].Base)
}

func TestFlushMessagesSyncsInTheAppend(t *testing.T) {
	cfg := smallConfig()
	cfg.FlushMessages = 3
	l, _ := newLog(t, cfg)
	appendLeader(t, l, batchOf(t, 10, 1, 1), 0, 1)
	equal(t, "recovery point", l.RecoveryPoint(), 0)
	appendLeader(t, l, batchOf(t, 10, 1), 0, 1)
	equal(t, "recovery point", l.RecoveryPoint(), 3)
}

func TestPreallocatedSegmentIsTrimmedOnRollAndClose(t *testing.T) {
	cfg := smallConfig()
	cfg.Preallocate = true
	l, fs := newLog(t, cfg)
	equal(t, "size when made", len(fileOf(t, fs, segmentFile(0, logSuffix))), 1000)
	appendLeader(t, l, sizedBatch(t, 600, 1), 0, 1)
	equal(t, "read", len(mustRead(t, l, 0, 5000).Records), 600)
	appendLeader(t, l, sizedBatch(t, 600, 1), 0, 1)
	equal(t, "size after the roll", len(fileOf(t, fs, segmentFile(0, logSuffix))), 600)
	equal(t, "size of the active", len(fileOf(t, fs, segmentFile(1, logSuffix))), 1000)
	l = reopen(t, l, false, OpenParams{}) // recovery cuts the zeros
	equal(t, "end", l.LogEndOffset(), 2)
	appendLeader(t, l, sizedBatch(t, 100, 1), 0, 1)
	check(t, l.Close(true, 1))
	equal(t, "size after the close", len(fileOf(t, fs, segmentFile(1, logSuffix))), 700)
}

// failing is a file system whose calls fail from a moment on.
type failing struct {
	vfs.FS
	err error
}

type failingFile struct {
	vfs.File
	fs *failing
}

func (f *failing) Create(name string) (vfs.File, error) {
	file, err := f.FS.Create(name)
	return failingFile{file, f}, err
}

func (f failingFile) Append(b []byte) error {
	if f.fs.err != nil {
		_ = f.File.Append(b[:len(b)/2])
		return f.fs.err
	}
	return f.File.Append(b)
}

func (f failingFile) Sync() error {
	if f.fs.err != nil {
		return f.fs.err
	}
	return f.File.Sync()
}

func TestFailedWriteTakesTheLogOffline(t *testing.T) {
	fs := &failing{FS: newMem()}
	l := openLog(t, fs, smallConfig(), OpenParams{Clean: true})
	appendLeader(t, l, sizedBatch(t, 100, 1), 0, 1)
	fs.err = vfs.ErrNoSpace
	_, _, err := l.AppendAsLeader(sizedBatch(t, 100, 1), 0, 1)
	if !errors.Is(err, vfs.ErrNoSpace) {
		t.Fatalf("error %v", err)
	}
	equal(t, "end", l.LogEndOffset(), 1)
	fs.err = nil
	_, err = l.AppendAsFollower(batchAt(t, 1, 0, 10, 1), 1)
	if !errors.Is(err, ErrOffline) || !errors.Is(err, vfs.ErrNoSpace) {
		t.Fatalf("error %v", err)
	}
	check(t, l.Close(true, 1))
	l = openLog(t, fs.FS, smallConfig(), OpenParams{}) // the torn batch is cut
	equal(t, "end", l.LogEndOffset(), 1)
	equal(t, "size", l.Size(), 100)
}

func TestFailedFlushTakesTheLogOffline(t *testing.T) {
	l, _ := newLog(t, smallConfig())
	for range 3 {
		appendLeader(t, l, sizedBatch(t, 400, 1), 0, 1)
	}
	job, _ := l.PendingFlush()
	if err := l.FlushDone(job, 1, vfs.ErrIO); !errors.Is(err, vfs.ErrIO) {
		t.Fatalf("error %v", err)
	}
	equal(t, "recovery point", l.RecoveryPoint(), 0)
	if _, err := l.Read(0, 100, 3, true); !errors.Is(err, ErrOffline) {
		t.Fatalf("error %v", err)
	}
}
