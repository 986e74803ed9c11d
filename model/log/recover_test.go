package log

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/vfs"
	"github.com/simkafka/simkafka/model/vfs/vfstest"
)

// tornLog has the positions of the table of storage 7.4: batches at 0, 75, 148,
// 221, 294, 371, 445, 519, length 593.
func tornLog(t testingT) []byte {
	t.Helper()
	cfg := DefaultConfig()
	l, fs := newLog(t, &cfg)
	ends := []int{75, 148, 221, 294, 371, 445, 519, 593}
	pos := 0
	for i, end := range ends {
		appendLeader(t, l, sizedBatch(t, end-pos, kafka.TimestampMs(1000+i)), 0, 1)
		pos = end
	}
	return bytes.Clone(fileOf(t, fs, segmentFile(0, logSuffix)))
}

func TestTornTailTable(t *testing.T) {
	file := tornLog(t)
	equal(t, "length", len(file), 593)
	flip := func(pos int) func([]byte) []byte {
		return func(b []byte) []byte { b[pos] ^= 0x10; return b }
	}
	type row struct {
		name   string
		damage func([]byte) []byte
		valid  int
		leo    kafka.Offset
		cut    bool
	}
	rows := []row{
		{"cut to 592", func(b []byte) []byte { return b[:592] }, 519, 7, true},
		{"17 zero bytes", func(b []byte) []byte { return append(b, make([]byte, 17)...) }, 593, 8, true},
		{"18 zero bytes", func(b []byte) []byte { return append(b, make([]byte, 18)...) }, 593, 8, true},
		{"leader epoch altered", flip(294 + 15), 593, 8, false},
		{"nothing", func(b []byte) []byte { return b }, 593, 8, false},
	}
	for pos := 315; pos <= 370; pos++ {
		rows = append(rows, row{"byte flipped", flip(pos), 294, 4, true})
	}
	for _, r := range rows {
		fs := vfstest.NewMem()
		setFile(t, fs, segmentFile(0, logSuffix), r.damage(bytes.Clone(file)))
		setFile(t, fs, segmentFile(0, indexSuffix), nil)
		next := batchAt(t, 20, 0, 10, 1)
		setFile(t, fs, segmentFile(20, logSuffix), next)
		setFile(t, fs, segmentFile(20, indexSuffix), nil)
		l := openLog(t, fs, smallConfig(), OpenParams{})
		equal(t, r.name+": valid bytes", len(fileOf(t, fs, segmentFile(0, logSuffix))), r.valid)
		// Storage traps 39 and 40: any cut drops the segments behind it.
		want := r.leo
		if !r.cut {
			want = 21
		}
		equal(t, r.name+": end", l.LogEndOffset(), want)
		holes := []Hole{{r.leo, 20}} // the next segment begins at 20
		if r.cut {
			holes = nil
		}
		equal(t, r.name+": holes", fmt.Sprint(l.Holes()), fmt.Sprint(holes))
		equal(t, r.name+": later segments", len(l.Segments())-1, map[bool]int{true: 0, false: 1}[r.cut])
		equal(t, r.name+": files to remove", len(l.TakeDeleted()) > 0, r.cut)
	}
}

func TestRecoveryTellsOfAllOffsetsThatAreMissing(t *testing.T) {
	fs := vfstest.NewMem()
	segment := func(base kafka.Offset, b []byte) {
		setFile(t, fs, segmentFile(base, logSuffix), b)
		setFile(t, fs, segmentFile(base, indexSuffix), nil)
	}
	segment(0, tornLog(t)) // to 7
	segment(10, nil)
	segment(20, batchAt(t, 20, 0, 10, 1))
	segment(21, nil)
	segment(30, batchAt(t, 30, 0, 20, 1))
	l := openLog(t, fs, smallConfig(), OpenParams{})
	equal(t, "holes", fmt.Sprint(l.Holes()), "[{8 20} {21 30}]")
}

func TestRecoveryOfACompactedLogTellsOfThemToo(t *testing.T) {
	fs := vfstest.NewMem()
	for _, base := range []kafka.Offset{0, 20} {
		setFile(t, fs, segmentFile(base, logSuffix), batchAt(t, base, 0, 10, 1))
		setFile(t, fs, segmentFile(base, indexSuffix), nil)
	}
	cfg := smallConfig()
	cfg.Compact = true
	l := openLog(t, fs, cfg, OpenParams{})
	equal(t, "holes", fmt.Sprint(l.Holes()), "[{1 20}]")
}

func TestAlteredLeaderEpochIsLearned(t *testing.T) {
	file := tornLog(t)
	file[294+15] = 9 // not covered by the CRC
	fs := vfstest.NewMem()
	setFile(t, fs, segmentFile(0, logSuffix), file)
	l := openLog(t, fs, smallConfig(), OpenParams{})
	equal(t, "epochs", string(fileOf(t, fs, epochFile)), "0\n2\n0 0\n9 4\n")
	equal(t, "latest", l.LatestEpoch(), 9)
}

func TestAlteredBaseOffsetIsNotNoticed(t *testing.T) {
	file := tornLog(t)
	file[519+7] = 70 // the last batch, 7, says 70
	fs := vfstest.NewMem()
	setFile(t, fs, segmentFile(0, logSuffix), file)
	equal(t, "end", openLog(t, fs, smallConfig(), OpenParams{}).LogEndOffset(), 71)
}

func TestIndexThatCannotBeBuiltEmptiesTheSegment(t *testing.T) {
	file := tornLog(t)
	file[445+7] = 1 // batch 6 says 1: at an index entry offsets go back
	fs := vfstest.NewMem()
	setFile(t, fs, segmentFile(0, logSuffix), file)
	l := openLog(t, fs, smallConfig(), OpenParams{RecoveryPoint: 0})
	equal(t, "end", l.LogEndOffset(), 0)
	equal(t, "size", l.Size(), 0)
}

func TestStorageTrap38RecoveryDoesNotMoveTheRecoveryPoint(t *testing.T) {
	l, _ := newLog(t, smallConfig())
	for range 7 {
		appendLeader(t, l, sizedBatch(t, 300, 1), 0, 1)
	}
	check(t, l.Flush(3, 1))
	for range 2 {
		l = reopen(t, l, false, OpenParams{RecoveryPoint: 3})
		equal(t, "recovery point", l.RecoveryPoint(), 3)
		equal(t, "end", l.LogEndOffset(), 7)
	}
	equal(t, "capped", reopen(t, l, false, OpenParams{RecoveryPoint: 50}).RecoveryPoint(), 7)
	equal(t, "after a clean stop", reopen(t, l, true, OpenParams{RecoveryPoint: 3}).RecoveryPoint(), 7)
}

func TestSegmentsBelowTheRecoveryPointAreNotScanned(t *testing.T) {
	l, fs := newLog(t, smallConfig())
	for range 7 { // segments at 0, 3, 6
		appendLeader(t, l, sizedBatch(t, 300, 1), 0, 1)
	}
	damage := func(base kafka.Offset) {
		b := bytes.Clone(fileOf(t, fs, segmentFile(base, logSuffix)))
		b[400] ^= 1
		setFile(t, fs, segmentFile(base, logSuffix), b)
	}
	damage(0)
	l = reopen(t, l, false, OpenParams{RecoveryPoint: 3})
	equal(t, "end", l.LogEndOffset(), 7)
	damage(3) // storage trap 40
	l = reopen(t, l, false, OpenParams{RecoveryPoint: 5})
	equal(t, "end", l.LogEndOffset(), 4)
	equal(t, "segments", len(l.Segments()), 2)
	if names := list(t, fs); !strings.Contains(names, segmentFile(6, logSuffix)+deletedSuffix) {
		t.Fatalf("files: %s", names)
	}
}

func TestMissingIndexIsRebuiltEvenAfterACleanStop(t *testing.T) {
	l, fs := newLog(t, smallConfig())
	for range 7 {
		appendLeader(t, l, sizedBatch(t, 300, 1), 0, 1)
	}
	check(t, l.Close(true, 1))
	want := string(fileOf(t, fs, segmentFile(0, indexSuffix)))
	check(t, fs.Remove(testDir+"/"+segmentFile(0, indexSuffix)))
	check(t, fs.Remove(testDir+"/"+segmentFile(3, timeIndexSuffix)))
	setFile(t, fs, segmentFile(99, indexSuffix), []byte("an index without its log"))
	l = openLog(t, fs, smallConfig(), OpenParams{Clean: true})
	equal(t, "index", string(fileOf(t, fs, segmentFile(0, indexSuffix))), want)
	equal(t, "time index", len(fileOf(t, fs, segmentFile(3, timeIndexSuffix))), 0)
	equal(t, "end", l.LogEndOffset(), 7)
	if names := list(t, fs); strings.Contains(names, "99.index") {
		t.Fatalf("files: %s", names)
	}
}

// A segment without an offset index is recovered while the segments are loaded. What
// that cuts off takes no later segment with it: 3.9.1 and 4.1.1 leave the same hole.
func TestSegmentWithoutAnIndexIsCutAlone(t *testing.T) {
	l, fs := newLog(t, smallConfig())
	for range 7 { // segments at 0, 3, 6
		appendLeader(t, l, sizedBatch(t, 300, 1), 0, 1)
	}
	b := bytes.Clone(fileOf(t, fs, segmentFile(3, logSuffix)))
	b[400] ^= 1
	setFile(t, fs, segmentFile(3, logSuffix), b)
	check(t, fs.Remove(testDir+"/"+segmentFile(3, indexSuffix)))
	l = reopen(t, l, false, OpenParams{})
	equal(t, "end", l.LogEndOffset(), 7)
	equal(t, "batches", len(batchesOf(t, l)), 5)
}

// Kafka does not start here; we recover the segments in order.
func TestSegmentWithoutAnIndexWaitsForATornOneBeforeIt(t *testing.T) {
	l, fs := newLog(t, smallConfig())
	for range 7 {
		appendLeader(t, l, sizedBatch(t, 300, 1), 0, 1)
	}
	b := bytes.Clone(fileOf(t, fs, segmentFile(0, logSuffix)))
	clear(b[300:])
	setFile(t, fs, segmentFile(0, logSuffix), b)
	check(t, fs.Remove(testDir+"/"+segmentFile(3, indexSuffix)))
	for _, base := range []kafka.Offset{3, 6} {
		check(t, fs.Remove(testDir+"/"+segmentFile(base, snapshotSuffix)))
	}
	l = reopen(t, l, false, OpenParams{})
	equal(t, "end", l.LogEndOffset(), 1)
	equal(t, "segments", len(l.Segments()), 1)
}

func TestLogThatEndsBeforeItsStartIsEmptied(t *testing.T) {
	l, fs := newLog(t, smallConfig())
	appendLeader(t, l, batchOf(t, 10, 1), 3, 1)
	l = reopen(t, l, false, OpenParams{LogStart: 10})
	equal(t, "start", l.LogStartOffset(), 10)
	equal(t, "end", l.LogEndOffset(), 10)
	equal(t, "high watermark", l.HighWatermark(), 10)
	equal(t, "epochs", string(fileOf(t, fs, epochFile)), "0\n0\n")
}

func TestEpochsBeyondTheEndAreDroppedAtLoad(t *testing.T) {
	l, fs := newLog(t, smallConfig())
	appendLeader(t, l, batchOf(t, 10, 1, 1, 1), 3, 1)
	check(t, l.AssignEpoch(4, 3))
	l = reopen(t, l, false, OpenParams{LogStart: 1})
	equal(t, "epochs", string(fileOf(t, fs, epochFile)), "0\n1\n3 1\n")
	equal(t, "start", l.LogStartOffset(), 1)
}

func TestStorageTrap41SwapFilesReplaceWhatTheyCover(t *testing.T) {
	fs := vfstest.NewMem()
	for _, base := range []kafka.Offset{0, 50, 100} {
		setFile(t, fs, segmentFile(base, logSuffix), batchAt(t, base, 0, 10, 1))
		setFile(t, fs, segmentFile(base, indexSuffix), nil)
		setFile(t, fs, segmentFile(base, ".snapshot"), []byte{0})
	}
	swap := join(batchAt(t, 0, 0, 20, 1), batchAt(t, 99, 0, 20, 1))
	setFile(t, fs, segmentFile(0, logSuffix)+swapSuffix, swap)
	setFile(t, fs, segmentFile(0, indexSuffix)+swapSuffix, nil)
	setFile(t, fs, segmentFile(0, timeIndexSuffix)+swapSuffix, nil)
	l := openLog(t, fs, smallConfig(), OpenParams{Clean: true})
	equal(t, "segments", len(l.Segments()), 2)
	equal(t, "end", l.LogEndOffset(), 101)
	equal(t, "swapped in", string(fileOf(t, fs, segmentFile(0, logSuffix))), string(swap))
	names := list(t, fs)
	for _, gone := range []string{".swap", "0000.snapshot", "50."} {
		if strings.Contains(strings.ReplaceAll(names, "0100.snapshot", ""), gone) {
			t.Fatalf("%s is left: %s", gone, names)
		}
	}
}

func TestStorageTrap42CleanedFilesVoidLaterSwaps(t *testing.T) {
	fs := vfstest.NewMem()
	for _, base := range []kafka.Offset{0, 100, 150} {
		setFile(t, fs, segmentFile(base, logSuffix), batchAt(t, base, 0, 10, 1))
		setFile(t, fs, segmentFile(base, indexSuffix), nil)
	}
	setFile(t, fs, segmentFile(100, logSuffix)+cleanedSuffix, batchAt(t, 100, 0, 30, 1))
	swap := batchAt(t, 0, 0, 30, 1)
	setFile(t, fs, segmentFile(0, logSuffix)+swapSuffix, swap)
	setFile(t, fs, segmentFile(0, indexSuffix)+swapSuffix, nil)
	setFile(t, fs, segmentFile(150, logSuffix)+swapSuffix, batchAt(t, 150, 0, 30, 1))
	setFile(t, fs, segmentFile(7, logSuffix)+deletedSuffix, nil)
	setFile(t, fs, "00000000000000000007-0000000001"+raftDeletedSuffix, nil)
	l := openLog(t, fs, smallConfig(), OpenParams{Clean: true})
	equal(t, "segments", len(l.Segments()), 3)
	equal(t, "0 completed", string(fileOf(t, fs, segmentFile(0, logSuffix))), string(swap))
	equal(t, "150 dropped", string(fileOf(t, fs, segmentFile(150, logSuffix))), string(batchAt(t, 150, 0, 10, 1)))
	names := list(t, fs)
	for _, gone := range []string{".swap", ".cleaned", ".log.deleted"} {
		if strings.Contains(names, gone) {
			t.Fatalf("%s is left: %s", gone, names)
		}
	}
	if !strings.Contains(names, raftDeletedSuffix) {
		t.Fatalf("a metadata snapshot was removed: %s", names)
	}
}

// countingFS counts what a step of the loader does to the disk.
type countingFS struct {
	vfs.FS
	bytes, calls int
}

type countingFile struct {
	vfs.File
	fs *countingFS
}

func (c *countingFS) Open(name string) (vfs.File, error) {
	c.calls++
	f, err := c.FS.Open(name)
	return countingFile{f, c}, err
}

func (f countingFile) ReadAt(pos int64, n int) ([]byte, error) {
	b, err := f.File.ReadAt(pos, n)
	f.fs.bytes += len(b)
	return b, err
}

func TestLoadGoesInBoundedSteps(t *testing.T) {
	cfg := DefaultConfig()
	l, fs := newLog(t, &cfg)
	for range 80 {
		appendLeader(t, l, sizedBatch(t, 100_000, 1), 0, 1)
	}
	counting := &countingFS{FS: fs}
	loader, err := Open(counting, testDir, &cfg, OpenParams{})
	check(t, err)
	steps := 0
	for done := false; !done; steps++ {
		counting.bytes, counting.calls = 0, 0
		if loader.Log() != nil {
			t.Fatal("the log is there too early")
		}
		done, err = loader.Step()
		check(t, err)
		if counting.bytes > recoveryStep+2*recoveryRead || counting.calls > 6 {
			t.Fatalf("step %d read %d bytes, opened %d files", steps, counting.bytes, counting.calls)
		}
	}
	equal(t, "end", loader.Log().LogEndOffset(), 80)
	if steps < 8 {
		t.Fatalf("8 MB were recovered in %d steps", steps)
	}
}
