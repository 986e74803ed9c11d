package log

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/record"
	"github.com/simkafka/simkafka/model/vfs/vfstest"
	"pgregory.net/rapid"
)

// vectorLog is a log whose offset index must be R8 of storage 13: the batch with
// the offset of an entry begins at its position, and reached has the newest
// timestamps at the offsets of the time index.
func vectorLog(t testingT, l *Log) {
	const first = kafka.TimestampMs(0x19e451d4126)
	entries := []struct {
		offset kafka.Offset
		pos    int
		ts     kafka.TimestampMs
	}{
		{49, 4131, 0x19e451d4126}, {100, 8279, 0x19e451e8d39}, {151, 12427, 0x19e451fd94b},
		{198, 16566, 0x19e4524561f}, {249, 20714, 0x19e4525a234},
	}
	ts, offset, pos := first-1, kafka.Offset(0), 0
	for _, e := range entries {
		for ; offset < e.offset; offset++ {
			// All batches but the last before an entry have 80 bytes, so that the
			// interval is not passed before it.
			size := 80
			if offset == e.offset-1 {
				size = e.pos - pos
			}
			appendLeader(t, l, sizedBatch(t, size, ts), 0, ts)
			pos += size
		}
		ts = e.ts
		appendLeader(t, l, sizedBatch(t, 80, ts), 0, ts)
		pos, offset = pos+80, offset+1
	}
	for ; offset < 255; offset++ {
		appendLeader(t, l, sizedBatch(t, 80, ts), 0, ts)
	}
	appendLeader(t, l, sizedBatch(t, 80, 0x19e4525c943), 0, ts)
}

const (
	vectorIndex = "0000003100001023" + "0000006400002057" + "000000970000308b" +
		"000000c6000040b6" + "000000f9000050ea"
	vectorTimeIndex = "0000019e451d412600000031" + "0000019e451e8d3900000064" + "0000019e451fd94b00000097" +
		"0000019e4524561f000000c6" + "0000019e4525a234000000f9" + "0000019e4525c943000000ff"
)

func TestIndexesAreThoseOfABrokerVectorR8(t *testing.T) {
	cfg := DefaultConfig()
	l, fs := newLog(t, &cfg)
	vectorLog(t, l)
	check(t, l.Close(true, 0))
	equal(t, "index", hexOf(fileOf(t, fs, segmentFile(0, indexSuffix))), vectorIndex)
	equal(t, "time index", hexOf(fileOf(t, fs, segmentFile(0, timeIndexSuffix))), vectorTimeIndex)
}

func TestRecoveryRebuildsTheIndexesOfVectorR8(t *testing.T) {
	cfg := DefaultConfig()
	l, fs := newLog(t, &cfg)
	vectorLog(t, l)
	l = reopen(t, l, false, OpenParams{})
	equal(t, "index", hexOf(trimZeros(fileOf(t, fs, segmentFile(0, indexSuffix)), 8)), vectorIndex)
	equal(t, "time index", hexOf(trimZeros(fileOf(t, fs, segmentFile(0, timeIndexSuffix)), 12)), vectorTimeIndex)
	equal(t, "end", l.LogEndOffset(), 256)
}

func TestCleanRestartsGiveTheTimeIndexOfVectorR9(t *testing.T) {
	cfg := DefaultConfig()
	l, fs := newLog(t, &cfg)
	session := func(epoch kafka.LeaderEpoch, batches int, ts kafka.TimestampMs) {
		check(t, l.AssignEpoch(epoch, l.LogEndOffset()))
		for i := range batches {
			appendLeader(t, l, batchOf(t, 10, ts-kafka.TimestampMs(batches-1-i)), epoch, ts)
		}
		l = reopen(t, l, true, OpenParams{})
	}
	session(0, 7, 0x19218309a6e)
	session(3, 1, 0x1921a1c0c2f)
	session(6, 1, 0x1921a1deccb)
	session(24, 1, 0x1921a4dc828)
	check(t, l.AssignEpoch(27, 10))
	check(t, l.Close(true, 0))
	equal(t, "time index", hexOf(fileOf(t, fs, segmentFile(0, timeIndexSuffix))),
		"0000019218309a6e00000006"+"000001921a1c0c2f00000007"+"000001921a1deccb00000008"+"000001921a4dc82800000009")
	equal(t, "index", len(fileOf(t, fs, segmentFile(0, indexSuffix))), 0)
	equal(t, "epochs", string(fileOf(t, fs, epochFile)), "0\n5\n0 0\n3 7\n6 8\n24 9\n27 10\n")
}

func TestStorageTrap11EntryNamesLastOffsetAndStartPosition(t *testing.T) {
	cfg := DefaultConfig()
	cfg.IndexIntervalBytes = 202
	l, fs := newLog(t, &cfg)
	for range 4 { // batches of 2 records; the third begins at 202: not above the interval
		b := batchOf(t, 8, 1, 1)
		for size := 8; len(b) < 101; size++ {
			b = batchOf(t, size, 1, 1)
		}
		equal(t, "size", len(b), 101)
		appendLeader(t, l, b, 0, 1)
	}
	got := trimZeros(fileOf(t, fs, segmentFile(0, indexSuffix)), 8)
	equal(t, "index", hexOf(got), "000000070000012f") // offset 7, position 303
}

func TestStorageTrap12IntervalStartsAnewOnRestartAndTruncation(t *testing.T) {
	cfg := DefaultConfig()
	cfg.IndexIntervalBytes = 150
	for _, how := range []string{"clean", "truncate"} {
		l, _ := newLog(t, &cfg)
		for range 2 {
			appendLeader(t, l, sizedBatch(t, 100, 1), 0, 1)
		}
		switch how {
		case "clean":
			l = reopen(t, l, true, OpenParams{})
		case "truncate":
			appendLeader(t, l, sizedBatch(t, 100, 1), 0, 1) // indexed at 200
			_, err := l.TruncateTo(2, 0)
			check(t, err)
		}
		for range 2 { // at 200 and 300: 0 and 100 bytes since the restart
			appendLeader(t, l, sizedBatch(t, 100, 1), 0, 1)
		}
		equal(t, how+": entries in use", l.Segments()[0].IndexSize, 0)
		appendLeader(t, l, sizedBatch(t, 100, 1), 0, 1)
		equal(t, how+": entries in use", l.Segments()[0].IndexSize, 8)
	}
}

func TestStorageTrap13CleanCloseAddsATimeIndexEntry(t *testing.T) {
	cfg := DefaultConfig()
	l, fs := newLog(t, &cfg)
	for i := range 3 {
		appendLeader(t, l, batchOf(t, 10, kafka.TimestampMs(100+i)), 0, 1)
		l = reopen(t, l, true, OpenParams{})
	}
	l = reopen(t, l, true, OpenParams{}) // nothing newer: no entry
	check(t, l.Close(true, 0))
	equal(t, "time index bytes", len(fileOf(t, fs, segmentFile(0, timeIndexSuffix))), 3*timeEntrySize)
	equal(t, "index bytes", len(fileOf(t, fs, segmentFile(0, indexSuffix))), 0)
}

func TestStorageTrap14TieKeepsTheEarlierBatch(t *testing.T) {
	cfg := DefaultConfig()
	l, fs := newLog(t, &cfg)
	appendLeader(t, l, batchOf(t, 10, 5, 7), 0, 1)
	appendLeader(t, l, batchOf(t, 10, 7), 0, 1)
	check(t, l.Close(true, 0))
	equal(t, "time index", hexOf(fileOf(t, fs, segmentFile(0, timeIndexSuffix))), "0000000000000007"+"00000001")
}

func TestStorageTrap15TimeIndexKeepsASlotAndFullIndexRolls(t *testing.T) {
	cfg := DefaultConfig()
	cfg.SegmentIndexBytes, cfg.IndexIntervalBytes = 24, 50 // 3 offset entries, 2 time entries
	l, fs := newLog(t, &cfg)
	for i := range 2 { // the second is indexed: time index full at 1
		appendLeader(t, l, sizedBatch(t, 100, kafka.TimestampMs(i)), 0, 1)
	}
	info := appendLeader(t, l, sizedBatch(t, 100, 9), 0, 1)
	equal(t, "rolled", info.Rolled, true)
	equal(t, "segments", len(l.Segments()), 2)
	equal(t, "index of the rolled segment", hexOf(fileOf(t, fs, segmentFile(0, indexSuffix))), "0000000100000064")

	cfg.SegmentIndexBytes = 16 // 2 offset entries; the time index is full from the start
	l, _ = newLog(t, &cfg)
	appendLeader(t, l, sizedBatch(t, 100, 1), 0, 1)
	equal(t, "rolled with one entry", appendLeader(t, l, sizedBatch(t, 100, 9), 0, 1).Rolled, true)
}

func TestStorageTrap16CrashedIndexIsRebuiltNotSearched(t *testing.T) {
	l, fs := newLog(t, smallConfig())
	for i := range 6 {
		appendLeader(t, l, sizedBatch(t, 100, kafka.TimestampMs(i)), 0, 1)
	}
	equal(t, "length before", len(fileOf(t, fs, segmentFile(0, indexSuffix))), 1200)
	l = reopen(t, l, false, OpenParams{})
	index, times := slowIndexes(t, 0, fileOf(t, fs, segmentFile(0, logSuffix)), 150)
	equal(t, "entries", string(l.active().offsets.entries), string(index))
	equal(t, "time entries", string(l.active().times.entries), string(times))
	equal(t, "length after", len(fileOf(t, fs, segmentFile(0, indexSuffix))), 1200)
}

func TestStorageTrap57StaleIndexLengthAfterCleanStopIsDetected(t *testing.T) {
	l, fs := newLog(t, smallConfig())
	for i := range 6 {
		appendLeader(t, l, sizedBatch(t, 100, kafka.TimestampMs(i)), 0, 1)
	}
	want := l.Segments()[0].IndexSize
	check(t, l.Close(true, 0))
	for suffix, width := range map[string]int{indexSuffix: 8, timeIndexSuffix: 12} {
		b := fileOf(t, fs, segmentFile(0, suffix))
		setFile(t, fs, segmentFile(0, suffix), append(b, make([]byte, 1200/width*width-len(b))...))
	}
	l = openLog(t, fs, smallConfig(), OpenParams{Clean: true})
	equal(t, "end", l.LogEndOffset(), 6)
	equal(t, "index size", l.Segments()[0].IndexSize, want)
}

func TestIndexLookupIsLargestLowerBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 3000).Draw(t, "n")
		step := rapid.IntRange(1, 4).Draw(t, "step")
		p := &place{vfstest.NewMem(), testDir, smallConfig()}
		p.cfg.SegmentIndexBytes = 1 << 20
		check(t, p.fs.MkdirAll(testDir))
		base := kafka.Offset(rapid.Int64Range(0, 1<<40).Draw(t, "base"))
		x := offsetIndex{indexFile{loaded: true}}
		var keys []kafka.Offset
		for i := range n {
			keys = append(keys, base+kafka.Offset(i*step+1))
			check(t, x.append(p, base, keys[i], int64(i+1)))
		}
		for range 20 {
			target := base + kafka.Offset(rapid.IntRange(-2, n*step+3).Draw(t, "target"))
			want := int64(0)
			for i, k := range keys {
				if k <= target {
					want = int64(i + 1)
				}
			}
			equal(t, "position", x.lookup(base, target), want)
		}
		cut := base + kafka.Offset(rapid.IntRange(0, n*step+1).Draw(t, "cut"))
		x.truncateTo(base, cut)
		keys = slices.DeleteFunc(keys, func(k kafka.Offset) bool { return k >= cut })
		equal(t, "entries after truncation", x.count(), len(keys))
		reread := offsetIndex{}
		check(t, x.open(p, base))
		check(t, x.trim())
		check(t, reread.load(p, base))
		equal(t, "entries in the file", string(reread.entries), string(x.entries))
	})
}

func TestTimeIndexRefusesToGoBack(t *testing.T) {
	p := &place{vfstest.NewMem(), testDir, smallConfig()}
	check(t, p.fs.MkdirAll(testDir))
	x := timeIndex{indexFile{loaded: true}}
	check(t, x.maybeAppend(p, 10, timestampOffset{100, 15}, false))
	check(t, x.maybeAppend(p, 10, timestampOffset{100, 20}, false)) // not newer: nothing
	equal(t, "entries", x.count(), 1)
	for _, bad := range []timestampOffset{{99, 20}, {101, 14}} {
		if err := x.maybeAppend(p, 10, bad, false); !isInvalidOffset(err) {
			t.Fatalf("%v: %v", bad, err)
		}
	}
	equal(t, "lookup before", x.lookup(10, 99), 10)
	equal(t, "lookup at", x.lookup(10, 100), 15)
}

func TestLeaderAndFollowerIndexAgreeSinceKAFKA806(t *testing.T) {
	for _, perBatch := range []bool{true, false} {
		cfg := smallConfig()
		cfg.SegmentBytes, cfg.IndexPerBatch = 1<<20, perBatch
		leader, _ := newLog(t, cfg)
		follower, _ := newLog(t, cfg)
		var all []record.Batch
		for i := range 20 {
			info := appendLeader(t, leader, sizedBatch(t, 100, kafka.TimestampMs(i)), 1, 1)
			all = append(all, info.Batch)
		}
		appendFollower(t, follower, 1, all...)
		same := string(leader.active().offsets.entries) == string(follower.active().offsets.entries)
		equal(t, "equal", same, perBatch) // storage trap 60: before, the follower has none
		equal(t, "follower end", follower.LogEndOffset(), leader.LogEndOffset())
	}
}

// Both searches of an offset index find the same entry, with and without a warm section.
func TestFloorOffsetIsFloor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 3*warmBytes/offsetEntrySize).Draw(t, "entries")
		step := rapid.Uint32Range(1, 5).Draw(t, "step")
		first := rapid.Uint32Range(0, 9).Draw(t, "first")
		var table entryTable
		for i := range n {
			table = binary.BigEndian.AppendUint32(table, first+uint32(i)*step)
			table = binary.BigEndian.AppendUint32(table, uint32(i))
		}
		target := rapid.Int64Range(-1, int64(first)+int64(n+2)*int64(step)).Draw(t, "target")
		if got, want := table.floorOffset(target), table.floor(target, offsetColumn()); got != want {
			t.Errorf("entry %d, want %d", got, want)
		}
	})
}
