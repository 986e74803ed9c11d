package log

import (
	"bytes"
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/record"
	"github.com/simkafka/simkafka/model/vfs"
	"github.com/simkafka/simkafka/sim/osfs"
	"github.com/simkafka/simkafka/sim/simdisk"
)

// The optional interfaces of a file system (vfs.Copier, vfs.Mapper) change no byte: the
// same history on the operating system and on the simulated disk leaves equal files.
func TestARealDiskHoldsTheSameBytes(t *testing.T) {
	real, simulated := osfs.New(t.TempDir()), simdisk.New(simdisk.Config{}, seededDraws(1))
	for _, fs := range []vfs.FS{real, simulated} {
		history(t, fs)
	}
	sameDir(t, real, simulated)
	// Once more after an unclean stop: both are recovered.
	for _, fs := range []vfs.FS{real, simulated} {
		l, err := OpenNow(fs, "p-0", historyConfig(), OpenParams{Now: 9})
		check(t, err)
		check(t, l.Close(true, 9))
	}
	sameDir(t, real, simulated)
}

func historyConfig() *Config {
	c := DefaultConfig()
	c.SegmentBytes, c.SegmentIndexBytes, c.IndexIntervalBytes = 6000, 120, 300
	return &c
}

// history appends, rolls, truncates, flushes and compacts; it does not close.
func history(t *testing.T, fs vfs.FS) {
	t.Helper()
	l, err := OpenNow(fs, "p-0", historyConfig(), OpenParams{Clean: true, Now: 1})
	check(t, err)
	var bd record.Builder
	for i := range 60 {
		bd.Reset(record.ClientOptions())
		for j := range 3 {
			bd.Append(kafka.TimestampMs(1000+10*i+j), []byte{byte('a' + (i*3+j)%7)}, bytes.Repeat([]byte{byte(i)}, 40+i), nil)
		}
		b, err := bd.Build()
		check(t, err)
		appendLeader(t, l, b, kafka.LeaderEpoch(i/20), 1)
		if i == 30 {
			_, err := l.TruncateTo(l.LogEndOffset()-20, 2)
			check(t, err)
		}
	}
	l.SetHighWatermark(l.LogEndOffset())
	check(t, l.Flush(l.LogEndOffset()-10, 3))
	r, err := l.CleanRange(4)
	check(t, err)
	cleanWith(t, l, CleanParams{Range: r, Now: 4, MapBytes: 1 << 20, ReadBytes: 700})
	check(t, RemoveFiles(fs, l.TakeDeleted()))
	check(t, l.Close(false, 5))
}

func sameDir(t *testing.T, a, b vfs.FS) {
	t.Helper()
	names, err := a.List("p-0")
	check(t, err)
	others, err := b.List("p-0")
	check(t, err)
	if len(names) != len(others) {
		t.Fatalf("files are %v and %v", names, others)
	}
	for i, name := range names {
		x, y := whole(t, a, "p-0/"+name), whole(t, b, "p-0/"+others[i])
		if name != others[i] || !bytes.Equal(x, y) {
			t.Errorf("%s (%d bytes) differs from %s (%d bytes)", name, len(x), others[i], len(y))
		}
	}
}

func whole(t *testing.T, fs vfs.FS, name string) []byte {
	t.Helper()
	f, err := fs.Open(name)
	check(t, err)
	b, err := f.ReadAt(0, int(f.Size()))
	check(t, err)
	check(t, f.Close())
	return b
}
