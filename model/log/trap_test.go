package log

import (
	"bytes"
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/record"
	"github.com/simkafka/simkafka/model/vfs/vfstest"
)

// TestStorageTrap39AnIncompleteTailIsSilentYetDropsWhatFollows: fewer than 18 bytes,
// or a batch that would pass the end, end the scan without an error; they are cut off
// all the same, and a cut takes the later segments with it (table of storage 7.4).
func TestStorageTrap39AnIncompleteTailIsSilentYetDropsWhatFollows(t *testing.T) {
	for _, c := range []struct {
		name   string
		damage func([]byte) []byte
		size   int
		end    int64
	}{
		{"one byte short", func(b []byte) []byte { return b[:592] }, 519, 7},
		{"17 zeros behind", func(b []byte) []byte { return append(b, make([]byte, 17)...) }, 593, 8},
		{"half a header behind", func(b []byte) []byte { return append(b, b[:30]...) }, 593, 8},
	} {
		fs := vfstest.NewMem()
		setFile(t, fs, segmentFile(0, logSuffix), c.damage(tornLog(t)))
		setFile(t, fs, segmentFile(0, indexSuffix), nil)
		setFile(t, fs, segmentFile(8, logSuffix), batchAt(t, 8, 0, 10, 1))
		setFile(t, fs, segmentFile(8, indexSuffix), nil)
		l := openLog(t, fs, smallConfig(), OpenParams{})
		equal(t, c.name+": bytes", len(fileOf(t, fs, segmentFile(0, logSuffix))), c.size)
		equal(t, c.name+": end", int64(l.LogEndOffset()), c.end)
		equal(t, c.name+": segments", len(l.Segments()), 1)
	}
}

// TestStorageTrap40ACutDeletesAllLaterSegments: of five unflushed segments the third is
// corrupt; the last two are whole and go nevertheless, with their indexes and
// snapshots. What lies below the recovery point is not read.
func TestStorageTrap40ACutDeletesAllLaterSegments(t *testing.T) {
	l, fs := newLog(t, smallConfig())
	for range 15 { // segments at 0, 3, 6, 9, 12
		appendLeader(t, l, sizedBatch(t, 300, 1), 0, 1)
	}
	for _, base := range []kafka.Offset{0, 6} {
		b := bytes.Clone(fileOf(t, fs, segmentFile(base, logSuffix)))
		b[400] ^= 1 // in the second batch
		setFile(t, fs, segmentFile(base, logSuffix), b)
	}
	l = reopen(t, l, false, OpenParams{RecoveryPoint: 3})
	equal(t, "end", l.LogEndOffset(), 7)
	equal(t, "segments", len(l.Segments()), 3)
	check(t, RemoveFiles(fs, l.TakeDeleted()))
	for _, base := range []kafka.Offset{9, 12} {
		for _, suffix := range []string{logSuffix, indexSuffix, timeIndexSuffix, snapshotSuffix} {
			if _, err := fs.Stat(testDir + "/" + segmentFile(base, suffix)); err == nil {
				t.Fatalf("%s is still there", segmentFile(base, suffix))
			}
		}
	}
}

// TestStorageTrap60AFollowerIndexesAnAppendOnceBeforeKAFKA806: a leader appends each
// batch by itself, a follower the fetched set at once. Up to 3.9.0 only the leader's index
// has an entry for a batch inside of it; since KAFKA-806 both files are the same.
func TestStorageTrap60AFollowerIndexesAnAppendOnceBeforeKAFKA806(t *testing.T) {
	for _, perBatch := range []bool{false, true} {
		cfg := DefaultConfig()
		cfg.IndexIntervalBytes, cfg.IndexPerBatch = 150, perBatch
		leader, leaderFiles := newLog(t, &cfg)
		follower, followerFiles := newLog(t, &cfg)
		var fetched []record.Batch
		for range 9 { // of 100 bytes: every second is behind more than 150
			fetched = append(fetched, appendLeader(t, leader, sizedBatch(t, 100, 1), 0, 1).Batch)
		}
		appendFollower(t, follower, 1, fetched[:1]...)
		appendFollower(t, follower, 1, fetched[1:7]...)
		appendFollower(t, follower, 1, fetched[7:]...)
		leads := hexOf(trimZeros(fileOf(t, leaderFiles, segmentFile(0, indexSuffix)), 8))
		follows := hexOf(trimZeros(fileOf(t, followerFiles, segmentFile(0, indexSuffix)), 8))
		// The third, fifth ... batch: its last offset, the position where it begins.
		equal(t, "leader", leads, "00000002000000c8"+"0000000400000190"+"0000000600000258"+"0000000800000320")
		want := leads
		if !perBatch {
			want = "00000008000002bc" // the third append: its last offset, where it begins
		}
		equal(t, "follower", follows, want)
	}
}
