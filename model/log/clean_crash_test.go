package log

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/vfs"
	"github.com/simkafka/simkafka/sim/simdisk"
)

// cleanedLife fills a log on fs, flushes it and cleans it on a file system made by
// wrap; nil is fs itself, and then it returns what the log holds before the cleaning
// and after each group.
func cleanedLife(t testingT, fs vfs.FS, wrap func(vfs.FS) vfs.FS) (states []string, err error) {
	cfg := compactConfig()
	cfg.SegmentBytes = 400
	l := openLog(t, fs, cfg, OpenParams{Clean: true})
	for i := range 12 {
		put(t, l, 1, fmt.Sprintf("k%d=%s", i%5, strings.Repeat("v", 20+i)), fmt.Sprintf("k%d", i%3))
		if i%4 == 0 {
			appendLeader(t, l, keyedBatch(t, txnOptions(9, 0, int32(i/4)), 1, "k1=aborted"), 1, 1)
			endTxn(t, l, 9, 0, i == 4, 1)
		}
	}
	rollNow(t, l, 1)
	put(t, l, 1, "k0=end")
	check(t, l.Flush(l.leo, 1))
	check(t, l.Close(false, 1))
	p := OpenParams{RecoveryPoint: l.leo, Now: 1}
	l = openLog(t, fs, cfg, p)
	l.SetHighWatermark(l.leo)
	states = []string{string(join(batchesOf(t, l)...))}

	if wrap != nil {
		l.fs = wrap(fs)
	}
	for i, s := range l.segments { // handles that go through it
		if l.segments[i].file, err = l.fs.Open(filePath(l.dir, s.base, logSuffix)); err != nil {
			return states, err
		}
		check(t, s.closeIndexes())
	}
	r, err := l.CleanRange(50)
	if err != nil {
		return states, err
	}
	c := l.BeginCleaning(CleanParams{Range: r, Now: 50, MapBytes: 1 << 20, ReadBytes: 256})
	for done := false; !done; {
		if done, err = c.Step(); err != nil {
			return states, err
		}
		if wrap != nil {
			continue
		}
		if now := string(join(batchesOf(t, l)...)); now != states[len(states)-1] {
			states = append(states, now)
		}
	}
	return states, RemoveFiles(l.fs, l.TakeDeleted())
}

// afterCleanCrash loads what a crash left, twice. Without states anything may be there.
func afterCleanCrash(t testingT, fs vfs.FS, states []string, what string) {
	cfg := compactConfig()
	cfg.SegmentBytes = 400
	var before string
	for n := range 2 {
		l := openLog(t, fs, cfg, OpenParams{RecoveryPoint: 30, Now: 1})
		got := string(join(batchesOf(t, l)...))
		if states != nil && !slices.Contains(states, got) {
			t.Fatalf("%s: start %d finds neither what was before nor what is after a group: %s\n%s", what, n, strings.Join(recordsIn(t, l), " "), list(t, fs))
		}
		if names := list(t, fs); strings.Contains(names, cleanedSuffix) || strings.Contains(names, swapSuffix) || strings.Contains(names, deletedSuffix) {
			t.Fatalf("%s: left behind: %s", what, names)
		}
		if n == 1 && got != before {
			t.Fatalf("%s: a second start changes something", what)
		}
		before = got
		check(t, l.Close(false, 1))
	}
}

func cleanStates(t testingT) []string {
	states, err := cleanedLife(t, newMem(), nil)
	check(t, err)
	if len(states) < 3 {
		t.Fatalf("only %d groups change anything", len(states)-1)
	}
	return states
}

// TestProcessMayDieAtAnyCallOfACleaning, or the disk may fail: the next start finds
// each group of segments as it was or cleaned, and nothing else.
func TestProcessMayDieAtAnyCallOfACleaning(t *testing.T) {
	states := cleanStates(t)
	for at := 1; ; at++ {
		disk := newMem()
		fail := vfs.ErrCrashed
		if at%2 == 0 {
			fail = vfs.ErrNoSpace
		}
		_, err := cleanedLife(t, disk, func(fs vfs.FS) vfs.FS { return &crashing{FS: fs, at: at, err: fail} })
		if err == nil {
			if at < 60 {
				t.Fatalf("only %d calls", at)
			}
			return
		}
		if !errors.Is(err, fail) {
			t.Fatalf("call %d: %v", at, err)
		}
		afterCleanCrash(t, disk, states, fmt.Sprint("call ", at))
	}
}

// TestPowerMayFailAtAnyCallOfACleaning: the same with what the disk did not sync lost
// or kept as drawn. Where changes of a directory survive in any order, segments may be
// lost, as in Kafka, which syncs it only after the last rename; the start still ends
// well, and another changes nothing.
func TestPowerMayFailAtAnyCallOfACleaning(t *testing.T) {
	states := cleanStates(t)
	calls := 0
	for seed := uint64(0); seed < 6; seed++ {
		for at := 1; ; at++ {
			personality, allowed := simdisk.Ext4Ordered, states
			if seed%3 == 2 {
				personality, allowed = simdisk.PosixMinimum, nil
			}
			disk := simdisk.New(simdisk.Config{Personality: personality}, seededDraws(seed*1000+uint64(at)))
			check(t, disk.MkdirAll(testDir))
			check(t, disk.SyncDir(""))
			check(t, disk.SyncDir("data"))
			_, err := cleanedLife(t, disk, func(fs vfs.FS) vfs.FS { return &crashing{FS: fs, at: at, err: vfs.ErrCrashed} })
			disk.Crash(simdisk.PowerLoss, kafka.Nanos(1))
			afterCleanCrash(t, disk, allowed, fmt.Sprintf("seed %d, call %d", seed, at))
			if calls++; err == nil {
				break
			}
		}
	}
	if calls < 300 {
		t.Fatalf("only %d crashes", calls)
	}
}
