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
)

// overflowed is a partition with one segment at 0 whose later batches do not fit it
// (KAFKA-6264): it ends at 2^32 + 8.
func overflowed(t testingT, damage func([]byte) []byte) (*vfstest.Mem, []record.Batch) {
	t.Helper()
	fs := vfstest.NewMem()
	var batches []record.Batch
	for _, base := range []kafka.Offset{3, 1<<31 - 1, 1<<31 + 5, 1<<32 + 5, 1<<32 + 7} {
		batches = append(batches, batchAt(t, base, 1, 30, 1))
	}
	file := join(batches...)
	if damage != nil {
		file = damage(file)
	}
	setFile(t, fs, segmentFile(0, logSuffix), file)
	setFile(t, fs, segmentFile(0, indexSuffix), nil)
	return fs, batches
}

func TestSegmentWhoseOffsetsOverflowIsSplit(t *testing.T) {
	for _, clean := range []bool{false, true} {
		fs, batches := overflowed(t, nil)
		if clean { // found because its index is missing
			check(t, fs.Remove(testDir+"/"+segmentFile(0, indexSuffix)))
		}
		l := openLog(t, fs, smallConfig(), OpenParams{Clean: clean, Now: 1})
		var bases []kafka.Offset
		for _, s := range l.Segments() {
			bases = append(bases, s.Base)
		}
		// A part begins with its first batch; 2^31 - 1 is the largest distance that fits.
		if !slices.Equal(bases, []kafka.Offset{3, 1<<31 + 5, 1<<32 + 5}) {
			t.Fatalf("segments %v", bases)
		}
		equal(t, "batches", string(join(batchesOf(t, l)...)), string(join(batches...)))
		equal(t, "end", l.LogEndOffset(), 1<<32+8)
		appendLeader(t, l, batchOf(t, 10, 1), 1, 1)
		l = reopen(t, l, true, OpenParams{Now: 1})
		equal(t, "end after a restart", l.LogEndOffset(), 1<<32+9)
		if names := list(t, fs); strings.Contains(names, cleanedSuffix) || strings.Contains(names, swapSuffix) {
			t.Fatalf("files %s", names)
		}
	}
}

func TestSegmentThatCannotBeSplitStopsTheLoad(t *testing.T) {
	torn := func(b []byte) []byte { return b[:len(b)-1] }
	fs, _ := overflowed(t, torn)
	_, err := OpenNow(fs, testDir, smallConfig(), OpenParams{})
	if corrupt := (*CorruptError)(nil); !errors.As(err, &corrupt) {
		t.Fatalf("error %v", err)
	}
}

// TestSplitSurvivesADeathAtAnyCall: no batch is lost, and none is there twice.
func TestSplitSurvivesADeathAtAnyCall(t *testing.T) {
	for at := 1; ; at++ {
		fs, batches := overflowed(t, nil)
		_, err := OpenNow(&crashing{FS: fs, at: at, err: vfs.ErrCrashed}, testDir, smallConfig(), OpenParams{})
		if err == nil {
			if at < 20 {
				t.Fatalf("only %d calls", at)
			}
			return
		}
		l := openLog(t, fs, smallConfig(), OpenParams{Now: 1})
		if got := string(join(batchesOf(t, l)...)); got != string(join(batches...)) {
			t.Fatalf("call %d: %d bytes of %d", at, len(got), len(join(batches...)))
		}
	}
}
