package log

import (
	"bytes"
	"errors"
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/record"
	"github.com/simkafka/simkafka/model/vfs/vfstest"
)

// FuzzTextFiles: parsers of small files answer or say corrupt; what they accept
// they return again when it is written.
func FuzzTextFiles(f *testing.F) {
	f.Add([]byte("0\n1\na 0 5\n"))
	f.Add([]byte("0\n2\n0 0\n2 159\n"))
	f.Add([]byte("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ"))
	f.Add([]byte("#\n#date\nversion=0\nbroker.id=1\ncluster.id=x\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		mustBeCorrupt := func(err error) {
			if corrupt := (*CorruptError)(nil); err != nil && !errors.As(err, &corrupt) {
				t.Fatalf("error %v", err)
			}
		}
		entries, err := parseOffsetCheckpoint("f", b)
		mustBeCorrupt(err)
		if err == nil {
			fs := dataDir(t)
			check(t, WriteOffsetCheckpoint(fs, "data", "c", entries))
			again, err := ReadOffsetCheckpoint(fs, "data", "c")
			check(t, err)
			equal(t, "entries", len(again), len(entries))
		}
		epochs, err := parseEpochCache("f", b)
		mustBeCorrupt(err)
		for i := 1; i < len(epochs); i++ {
			if epochs[i-1].Epoch >= epochs[i].Epoch || epochs[i-1].Start >= epochs[i].Start {
				t.Fatalf("epochs %v", epochs)
			}
		}
		_, _, err = parseTopicID("f", b)
		mustBeCorrupt(err)
		_, err = parseMetaProperties("f", b)
		mustBeCorrupt(err)
	})
}

// damage is a list of changes: position, new byte, pairs of three bytes.
func damage(b, changes []byte) []byte {
	b = bytes.Clone(b)
	for ; len(changes) >= 3 && len(b) > 0; changes = changes[3:] {
		at := (int(changes[0])<<8 | int(changes[1])) % len(b)
		b[at] ^= changes[2]
	}
	return b
}

// FuzzLoader: whatever the files of a partition hold, the load ends, and the log
// either is refused or can be read, appended to and loaded again.
func FuzzLoader(f *testing.F) {
	l, fs := newLog(f, smallConfig())
	for i := range 6 {
		appendLeader(f, l, sizedBatch(f, 300, kafka.TimestampMs(i)), 1, 1)
	}
	check(f, l.Close(true, 1))
	files := map[string][]byte{}
	names, err := fs.List(testDir)
	check(f, err)
	for _, name := range names {
		files[name] = fileOf(f, fs, name)
	}
	f.Add([]byte{}, []byte{}, []byte{}, []byte{}, uint16(0), uint8(0), false)
	f.Add([]byte{1, 10, 3}, []byte{0, 5, 0xff}, []byte{0, 3, 0x80}, []byte{0, 0, 1}, uint16(3), uint8(2), true)
	f.Fuzz(func(t *testing.T, log, index, times, epochs []byte, cut uint16, rename uint8, clean bool) {
		fs := vfstest.NewMem()
		for _, name := range names {
			b := files[name]
			switch name {
			case segmentFile(3, logSuffix):
				b = damage(b, log)
				b = b[:len(b)-int(cut)%(len(b)+1)]
			case segmentFile(3, indexSuffix), segmentFile(0, indexSuffix):
				b = damage(b, index)
			case segmentFile(3, timeIndexSuffix):
				b = damage(b, times)
			case epochFile:
				b = damage(b, epochs)
			}
			suffixes := [...]string{"", swapSuffix, cleanedSuffix, deletedSuffix}
			if rename > 0 && name == names[int(rename)%len(names)] {
				name += suffixes[int(rename)/len(names)%len(suffixes)]
			}
			setFile(t, fs, name, b)
		}
		useLoaded(t, fs, clean)
	})
}

func useLoaded(t *testing.T, fs *vfstest.Mem, clean bool) {
	l, err := OpenNow(fs, testDir, smallConfig(), OpenParams{Clean: clean, RecoveryPoint: 3, LogStart: 1})
	if err != nil {
		return
	}
	batches := 0
	_ = l.Batches(0, func(record.Batch) bool { batches++; return batches < 1000 })
	if batches == 1000 {
		t.Fatal("the walk has no end")
	}
	for start := l.LogStartOffset(); start <= min(l.LogEndOffset(), l.LogStartOffset()+20); start++ {
		_, _ = l.Read(start, 100, l.LogEndOffset(), true)
	}
	_, _ = l.OffsetForTimestamp(3, l.LogEndOffset())
	_, _ = l.MaxTimestampOffset(l.LogEndOffset())
	end := l.LogEndOffset()
	if _, _, err := l.AppendAsLeader(batchOf(t, 10, 9), 5, 1); err != nil {
		return
	}
	if _, err := l.TruncateTo(end, 1); err != nil || l.Close(true, 1) != nil {
		return
	}
	if _, err := OpenNow(fs, testDir, smallConfig(), OpenParams{Clean: true}); err != nil && !clean {
		t.Fatalf("a recovered and closed log cannot be loaded: %v", err)
	}
}
