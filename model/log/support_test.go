package log

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/record"
	"github.com/simkafka/simkafka/model/vfs"
	"github.com/simkafka/simkafka/model/vfs/vfstest"
)

const testDir = "data/orders-0"

// testingT is what the helpers need of a *testing.T or a *rapid.T.
type testingT interface {
	Helper()
	Fatalf(format string, args ...any)
}

func check(t testingT, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%v", err)
	}
}

func equal[T comparable](t testingT, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Fatalf("%s = %v, want %v", what, got, want)
	}
}

// smallConfig rolls and indexes early.
func smallConfig() *Config {
	c := DefaultConfig()
	c.SegmentBytes, c.IndexIntervalBytes, c.SegmentIndexBytes = 1000, 150, 1200
	return &c
}

func openLog(t testingT, fs vfs.FS, cfg *Config, p OpenParams) *Log {
	t.Helper()
	l, err := OpenNow(fs, testDir, cfg, p)
	check(t, err)
	return l
}

// newLog is an empty log in memory, as after a clean stop.
func newLog(t testingT, cfg *Config) (*Log, *vfstest.Mem) {
	t.Helper()
	fs := vfstest.NewMem()
	return openLog(t, fs, cfg, OpenParams{Clean: true}), fs
}

// reopen is a start on the files that l leaves: closed cleanly, or killed.
func reopen(t testingT, l *Log, clean bool, p OpenParams) *Log {
	t.Helper()
	if clean {
		check(t, l.Close(true, p.Now))
	}
	p.Clean = clean
	return openLog(t, l.fs, l.cfg, p)
}

// batchOf is what a client sends: one record a timestamp, with values of size bytes.
func batchOf(t testingT, size int, timestamps ...kafka.TimestampMs) record.Batch {
	t.Helper()
	return batchAt(t, 0, kafka.NoLeaderEpoch, size, timestamps...)
}

// batchAt is a batch as a leader stores it.
func batchAt(t testingT, base kafka.Offset, epoch kafka.LeaderEpoch, size int, timestamps ...kafka.TimestampMs) record.Batch {
	t.Helper()
	o := record.ClientOptions()
	o.BaseOffset, o.LeaderEpoch = base, epoch
	var bd record.Builder
	bd.Reset(o)
	for i, ts := range timestamps {
		bd.Append(ts, nil, bytes.Repeat([]byte{byte('a' + i%26)}, size), nil)
	}
	b, err := bd.Build()
	check(t, err)
	return b
}

// sizedBatch has one record and exactly size bytes.
func sizedBatch(t testingT, size int, ts kafka.TimestampMs) record.Batch {
	t.Helper()
	for value := max(0, size-80); value < size; value++ {
		if b := batchOf(t, value, ts); len(b) == size {
			return b
		}
	}
	t.Fatalf("no batch of %d bytes", size)
	return nil
}

func appendLeader(t testingT, l *Log, b record.Batch, epoch kafka.LeaderEpoch, now kafka.TimestampMs) AppendInfo {
	t.Helper()
	info, verdict, err := l.AppendAsLeader(b, epoch, now)
	check(t, err)
	equal(t, "verdict", verdict.Code, kafka.None)
	return info
}

func appendFollower(t testingT, l *Log, now kafka.TimestampMs, batches ...record.Batch) AppendInfo {
	t.Helper()
	info, err := l.AppendAsFollower(join(batches...), now)
	check(t, err)
	return info
}

func join(batches ...record.Batch) []byte {
	var buf []byte
	for _, b := range batches {
		buf = append(buf, b...)
	}
	return buf
}

func fileOf(t testingT, fs vfs.FS, name string) []byte {
	t.Helper()
	b, err := readFile(fs, testDir+"/"+name)
	check(t, err)
	return b
}

func setFile(t testingT, fs vfs.FS, name string, content []byte) {
	t.Helper()
	check(t, fs.MkdirAll(testDir))
	check(t, writeFile(fs, testDir+"/"+name, bytes.Clone(content)))
}

func segmentFile(base kafka.Offset, suffix string) string { return fileName(base, suffix) }

func list(t testingT, fs vfs.FS) string {
	t.Helper()
	names, err := fs.List(testDir)
	check(t, err)
	return strings.Join(names, " ")
}

// batchesOf decodes all that a log holds.
func batchesOf(t testingT, l *Log) []record.Batch {
	t.Helper()
	var out []record.Batch
	check(t, l.Batches(0, func(b record.Batch) bool { out = append(out, b); return true }))
	return out
}

// slowIndexes derives both indexes from the bytes of a segment by the per-batch
// rule of storage 3.2, closing entry included.
func slowIndexes(t testingT, base kafka.Offset, file []byte, interval int) (index, times []byte) {
	t.Helper()
	since, pos := 0, 0
	maxTs, maxOffset := kafka.NoTimestamp, base
	lastTs := kafka.NoTimestamp
	entry := func() {
		if maxTs > lastTs {
			times = binary.BigEndian.AppendUint64(times, uint64(maxTs))
			times = binary.BigEndian.AppendUint32(times, uint32(maxOffset-base))
			lastTs = maxTs
		}
	}
	for pos < len(file) {
		b, _, err := record.Next(file[pos:])
		check(t, err)
		if b.MaxTimestamp() > maxTs {
			maxTs, maxOffset = b.MaxTimestamp(), b.LastOffset()
		}
		if since > interval {
			index = binary.BigEndian.AppendUint32(index, uint32(b.LastOffset()-base))
			index = binary.BigEndian.AppendUint32(index, uint32(pos))
			entry()
			since = 0
		}
		since += len(b)
		pos += len(b)
	}
	entry()
	return index, times
}

func hexOf(b []byte) string { return fmt.Sprintf("%x", b) }

func trimZeros(b []byte, width int) []byte {
	for len(b) >= width && bytes.Count(b[len(b)-width:], []byte{0}) == width {
		b = b[:len(b)-width]
	}
	return b
}

func mustPanic(t *testing.T, f func()) {
	t.Helper()
	defer func() {
		if recover() == nil {
			t.Fatalf("no panic")
		}
	}()
	f()
}

// immutable remembers what was handed to the files, which must not change any more.
type immutable struct {
	vfs.FS
	given []given
}

type given struct{ bytes, copied []byte }

type immutableFile struct {
	vfs.File
	fs *immutable
}

func (m *immutable) keep(b []byte) { m.given = append(m.given, given{b, bytes.Clone(b)}) }

func (m *immutable) Create(name string) (vfs.File, error) {
	f, err := m.FS.Create(name)
	return immutableFile{f, m}, err
}

func (m *immutable) Open(name string) (vfs.File, error) {
	f, err := m.FS.Open(name)
	return immutableFile{f, m}, err
}

func (f immutableFile) Append(b []byte) error {
	f.fs.keep(b)
	return f.File.Append(b)
}

func (f immutableFile) WriteAt(pos int64, b []byte) error {
	f.fs.keep(b)
	return f.File.WriteAt(pos, b)
}

func (m *immutable) verify(t testingT) {
	t.Helper()
	for _, g := range m.given {
		if !bytes.Equal(g.bytes, g.copied) {
			t.Fatalf("%d bytes were changed after they were written", len(g.bytes))
		}
	}
}
