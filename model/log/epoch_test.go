package log

import (
	"slices"
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/vfs/vfstest"
	"pgregory.net/rapid"
)

func TestStorageTrap33AssignDropsConflictingEntries(t *testing.T) {
	c := epochCache{{5, 100}, {6, 120}}
	equal(t, "changed", c.assign(7, 110), true)
	if !slices.Equal(c, epochCache{{5, 100}, {7, 110}}) {
		t.Fatalf("got %v", c)
	}
	equal(t, "same epoch later", c.assign(7, 130), false)
	equal(t, "same epoch earlier", c.assign(7, 105), true)
	if !slices.Equal(c, epochCache{{5, 100}, {7, 105}}) {
		t.Fatalf("got %v", c)
	}
	equal(t, "lower epoch", c.assign(4, 90), true)
	if !slices.Equal(c, epochCache{{4, 90}}) {
		t.Fatalf("got %v", c)
	}
	mustPanic(t, func() { c.assign(-1, 0) })
	mustPanic(t, func() { c.assign(1, -1) })
}

func TestStorageTrap34TruncateFromStartMovesTheFirstEntry(t *testing.T) {
	for _, tc := range []struct {
		in    epochCache
		start kafka.Offset
		want  epochCache
	}{
		{epochCache{{2, 0}, {3, 50}}, 30, epochCache{{2, 30}, {3, 50}}},
		{epochCache{{2, 0}, {3, 50}}, 60, epochCache{{3, 60}}},
		{epochCache{{2, 0}, {3, 50}}, 50, epochCache{{3, 50}}},
		{epochCache{{2, 10}}, 5, epochCache{{2, 10}}},
		{epochCache{{2, 10}}, 10, epochCache{{2, 10}}},
		{nil, 10, nil},
	} {
		got := slices.Clone(tc.in)
		changed := got.truncateFromStart(tc.start)
		if !slices.Equal(got, tc.want) || changed == slices.Equal(tc.in, tc.want) {
			t.Fatalf("%v at %d: %v, changed %v", tc.in, tc.start, got, changed)
		}
	}
}

func TestClusterE2EndOffsetForEpoch(t *testing.T) {
	c := epochCache{{2, 10}, {4, 20}, {7, 50}}
	const leo = 80
	for _, tc := range []struct {
		query, epoch kafka.LeaderEpoch
		end          kafka.Offset
	}{
		{-1, -1, -1}, {7, 7, leo}, {8, -1, -1}, {1, 1, 10}, {0, 0, 10},
		{2, 2, 20}, {3, 2, 20}, {4, 4, 50}, {6, 4, 50},
	} {
		epoch, end := c.endOffsetFor(tc.query, leo)
		if epoch != tc.epoch || end != tc.end {
			t.Fatalf("epoch %d: (%d, %d), want (%d, %d)", tc.query, epoch, end, tc.epoch, tc.end)
		}
	}
	epoch, end := epochCache(nil).endOffsetFor(0, leo)
	if epoch != -1 || end != -1 {
		t.Fatalf("empty: (%d, %d)", epoch, end)
	}
}

func TestEpochsMatchALinearTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c epochCache
		twin := map[kafka.Offset]kafka.LeaderEpoch{} // epoch of each offset in the log
		end := kafka.Offset(0)
		epoch := kafka.LeaderEpoch(0)
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "append") {
				epoch += kafka.LeaderEpoch(rapid.IntRange(0, 2).Draw(t, "bump"))
				c.assign(epoch, end)
				for range rapid.IntRange(1, 3).Draw(t, "records") {
					twin[end] = epoch
					end++
				}
				continue
			}
			end = kafka.Offset(rapid.Int64Range(0, int64(end)).Draw(t, "cut"))
			c.truncateFromEnd(end)
			if epoch = c.latest(); epoch < 0 {
				epoch = 0
			}
		}
		for o := range end {
			equal(t, "epoch", c.forOffset(o), twin[o])
		}
		for q := range epoch + 1 {
			wantEpoch, wantEnd := kafka.LeaderEpoch(-1), kafka.Offset(0)
			for o := range end {
				if twin[o] <= q {
					wantEpoch, wantEnd = twin[o], o+1
				}
			}
			gotEpoch, gotEnd := c.endOffsetFor(q, end)
			if wantEpoch >= 0 && len(c) > 0 && (gotEpoch != wantEpoch || gotEnd != wantEnd) {
				t.Fatalf("epoch %d of %v: (%d, %d), want (%d, %d)", q, c, gotEpoch, gotEnd, wantEpoch, wantEnd)
			}
		}
	})
}

func TestEpochFileHoldsEveryAssignment(t *testing.T) {
	cfg := DefaultConfig()
	l, fs := newLog(t, &cfg)
	equal(t, "made empty at load", string(fileOf(t, fs, epochFile)), "")
	check(t, l.AssignEpoch(3, 0))
	equal(t, "file", string(fileOf(t, fs, epochFile)), "0\n1\n3 0\n")
	appendFollower(t, l, 1, batchAt(t, 0, 3, 5, 1), batchAt(t, 1, 5, 5, 1))
	equal(t, "file", string(fileOf(t, fs, epochFile)), "0\n2\n3 0\n5 1\n")
	epoch, end := l.EndOffsetForEpoch(3)
	equal(t, "epoch", epoch, 3)
	equal(t, "end", end, 1)
	equal(t, "of record 1", l.EpochForOffset(1), 5)
	again, err := readEpochCache(&place{fs, testDir, &cfg})
	check(t, err)
	if !slices.Equal(again, epochCache(l.EpochEntries())) {
		t.Fatalf("read %v", again)
	}
}

func TestEpochFileVectorR8(t *testing.T) {
	c, err := parseEpochCache("f", []byte("0\n2\n0 0\n2 159\n"))
	check(t, err)
	if !slices.Equal(c, epochCache{{0, 0}, {2, 159}}) {
		t.Fatalf("got %v", c)
	}
	p := &place{vfstest.NewMem(), testDir, smallConfig()}
	check(t, p.fs.MkdirAll(testDir))
	check(t, c.write(p))
	equal(t, "written", string(fileOf(t, p.fs, epochFile)), "0\n2\n0 0\n2 159\n")
}
