package log

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/record"
	"github.com/simkafka/simkafka/model/vfs"
	"github.com/simkafka/simkafka/model/vfs/vfstest"
	"github.com/simkafka/simkafka/sim/simdisk"
	"pgregory.net/rapid"
)

// producersLife is the life of a log with producers and transactions: it rolls, is
// truncated, loses old segments, stops and starts. It ends at the first error.
func producersLife(t testingT, fs vfs.FS) error {
	cfg := smallConfig()
	cfg.SegmentBytes, cfg.RetentionBytes = 600, 1400
	l, err := OpenNow(fs, testDir, cfg, OpenParams{Clean: true, Now: 1})
	var next [2]int32
	do := func(what func() error) {
		if err == nil {
			err = what()
		}
	}
	put := func(b record.Batch, origin Origin) {
		do(func() error {
			_, v, err := l.Append(b, &LeaderAppend{Now: 1, Origin: origin})
			if err == nil && v.Code != kafka.None {
				t.Fatalf("refused: %s", v.Message)
			}
			return err
		})
	}
	work := func(rounds int32) {
		for i := range rounds {
			put(plainOf(t, 0, 0, next[0], 20), Client)
			put(txnOf(t, 1, 0, next[1], 10), Client)
			next[0], next[1] = next[0]+20, next[1]+10
			if i%2 == 1 {
				put(markerOf(t, 1, 0, i%4 == 1, 0), Coordinator)
			}
			do(func() error {
				if job, ok := l.PendingFlush(); ok {
					return l.FlushDone(job, 1, nil)
				}
				return l.Failure()
			})
		}
	}
	work(6)
	do(func() error {
		_, err := l.TruncateTo(l.LogEndOffset()-35, 1)
		next = [2]int32{l.lastSequenceOf(0), l.lastSequenceOf(1)}
		return err
	})
	do(func() error { return RemoveFiles(fs, l.TakeDeleted()) })
	work(4)
	do(func() error { return l.Close(true, 1) })
	do(func() error {
		l, err = OpenNow(fs, testDir, cfg, OpenParams{Clean: true, Now: 1})
		return err
	})
	work(3)
	do(func() error {
		l.SetHighWatermark(l.LogEndOffset())
		_, err := l.DeleteOldSegments(1)
		return err
	})
	do(func() error { return RemoveFiles(fs, l.TakeDeleted()) })
	work(2)
	return err
}

// lastSequenceOf is the sequence number with which a producer goes on.
func (l *Log) lastSequenceOf(id int64) int32 {
	for _, p := range l.Producers() {
		if p.ID == id {
			return p.LastSequence + 1
		}
	}
	return 0
}

// onlyLogs is a copy of a partition that has its batches alone.
func onlyLogs(t testingT, fs vfs.FS) vfs.FS {
	t.Helper()
	out := vfstest.NewMem()
	names, err := fs.List(testDir)
	check(t, err)
	for _, name := range names {
		if isLogFile(name) {
			setFile(t, out, name, fileOf(t, fs, name))
		}
	}
	return out
}

// agreesWithItsBatches compares a recovered log with one that is recovered from the
// batches alone. What retention took away only the snapshots know.
func agreesWithItsBatches(t testingT, l *Log) {
	t.Helper()
	fresh := openLog(t, onlyLogs(t, l.fs), l.cfg, OpenParams{Now: 1})
	equal(t, "end", l.LogEndOffset(), fresh.LogEndOffset())
	whole := l.segments[0].base == 0
	for _, p := range fresh.Producers() {
		i := slices.IndexFunc(l.Producers(), func(q Producer) bool { return q.ID == p.ID })
		if i < 0 {
			t.Fatalf("producer %d is forgotten", p.ID)
		}
		if got := l.Producers()[i]; whole && got != p {
			t.Fatalf("producer %+v, by its batches %+v", got, p)
		}
	}
	if !whole {
		return
	}
	equal(t, "producers", l.ProducerCount(), fresh.ProducerCount())
	for i, s := range l.segments {
		if got, want := s.txnEntries(), fresh.segments[i].txnEntries(); !slices.Equal(got, want) {
			t.Fatalf("transaction index of %d: %+v, by its batches %+v", s.base, got, want)
		}
	}
}

// TestProducersSurviveADeathAtAnyCall: whatever call the process dies at, the next
// start has the producers and aborted transactions of the batches that are there.
func TestProducersSurviveADeathAtAnyCall(t *testing.T) {
	for at := 1; ; at++ {
		disk := newMem()
		fs := &crashing{FS: disk, at: at, err: vfs.ErrCrashed}
		err := producersLife(t, fs)
		if err == nil {
			if at < 200 {
				t.Fatalf("only %d calls", at)
			}
			return
		}
		if !errors.Is(err, fs.err) {
			t.Fatalf("call %d: %v", at, err)
		}
		cfg := smallConfig()
		cfg.SegmentBytes = 600
		l, err := OpenNow(disk, testDir, cfg, OpenParams{Now: 1})
		if err != nil {
			t.Fatalf("call %d: %v", at, err)
		}
		agreesWithItsBatches(t, l)
		check(t, l.Close(true, 1))
		again := openLog(t, disk, cfg, OpenParams{Clean: true, Now: 1})
		equal(t, "producers after a clean stop", slices.Equal(again.Producers(), l.Producers()), true)
		if names := list(t, disk); strings.Contains(names, ".deleted") {
			t.Fatalf("call %d: files %s", at, names)
		}
	}
}

// TestProducersSurviveAPowerLoss: snapshots may be lost or torn; what they say is
// never wrong. After a hole in the log (storage 7.2 step 5) they know more than the
// batches that are left.
func TestProducersSurviveAPowerLoss(t *testing.T) {
	torn := 0
	// A check in sixty tears none.
	for tries := 0; tries < 10 && torn == 0; tries++ {
		rapid.Check(t, func(t *rapid.T) { torn += producersAfterPowerLoss(t) })
	}
	if torn == 0 {
		t.Fatal("no snapshot was torn")
	}
}

// producersAfterPowerLoss counts the torn snapshots that a random life left.
func producersAfterPowerLoss(t *rapid.T) (torn int) {
	disk := simdisk.New(simdisk.Config{}, seededDraws(rapid.Uint64().Draw(t, "seed")))
	check(t, disk.MkdirAll(testDir))
	check(t, disk.SyncDir(""))
	check(t, disk.SyncDir("data"))
	cfg := smallConfig()
	cfg.SegmentBytes = 600
	l := openLog(t, disk, cfg, OpenParams{Clean: true, Now: 1})
	var next int32
	for i := range rapid.Int32Range(1, 30).Draw(t, "batches") {
		appendLeader(t, l, txnOf(t, 1, 0, next, 10), 0, 1)
		next += 10
		if i%3 == 2 {
			appendMarker(t, l, 1, 0, i%2 == 0, 0)
		}
		if rapid.IntRange(0, 4).Draw(t, "flush") > 0 {
			continue
		}
		if job, ok := l.PendingFlush(); ok {
			for _, f := range job.Files {
				check(t, f.Sync())
			}
			check(t, l.FlushDone(job, 1, nil))
		}
	}
	point := l.RecoveryPoint()
	disk.Crash(simdisk.PowerLoss, 0)
	names, err := disk.List(testDir)
	if errors.Is(err, vfs.ErrNotExist) {
		return torn
	}
	check(t, err)
	for _, name := range names {
		if isSnapshotFile(name) {
			if _, err := decodeSnapshot(name, fileOf(t, disk, name)); err != nil {
				torn++
			}
		}
	}
	l = openLog(t, disk, cfg, OpenParams{RecoveryPoint: point, Now: 1})
	end := kafka.Offset(0)
	for _, b := range batchesOf(t, l) {
		if b.BaseOffset() != end {
			return torn
		}
		end = b.NextOffset()
	}
	agreesWithItsBatches(t, l)
	return torn
}
