package conformance

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/log"
	"github.com/simkafka/simkafka/model/record"
	"github.com/simkafka/simkafka/model/vfs"
)

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// copyIn puts a directory of the operating system into a file system, under to.
func copyIn(t testing.TB, from string, fs vfs.FS, to string) {
	t.Helper()
	check(t, fs.MkdirAll(to))
	entries, err := os.ReadDir(from)
	check(t, err)
	for _, e := range entries {
		source, target := filepath.Join(from, e.Name()), to+"/"+e.Name()
		if e.IsDir() {
			copyIn(t, source, fs, target)
			continue
		}
		b, err := os.ReadFile(source)
		check(t, err)
		f, err := fs.Create(target)
		check(t, err)
		check(t, f.Append(b))
		check(t, f.Close())
	}
}

// copyOut is the reverse.
func copyOut(t testing.TB, fs vfs.FS, from, to string) {
	t.Helper()
	check(t, os.MkdirAll(to, 0o755))
	names, err := fs.List(from)
	check(t, err)
	for _, name := range names {
		path, target := from+"/"+name, filepath.Join(to, name)
		info, err := fs.Stat(path)
		check(t, err)
		if info.IsDir {
			copyOut(t, fs, path, target)
			continue
		}
		check(t, os.WriteFile(target, read(t, fs, path), 0o644))
	}
}

// copyTree copies a directory from one file system to another.
func copyTree(t testing.TB, from vfs.FS, source string, to vfs.FS, target string) {
	t.Helper()
	check(t, to.MkdirAll(target))
	names, err := from.List(source)
	check(t, err)
	for _, name := range names {
		f, err := to.Create(target + "/" + name)
		check(t, err)
		check(t, f.Append(read(t, from, source+"/"+name)))
		check(t, f.Close())
	}
}

func read(t testing.TB, fs vfs.FS, path string) []byte {
	t.Helper()
	f, err := fs.Open(path)
	check(t, err)
	b, err := f.ReadAt(0, int(f.Size()))
	check(t, err)
	check(t, f.Close())
	return b
}

// sameFiles compares the files of a partition's directory with those of a golden one.
func sameFiles(t testing.TB, fs vfs.FS, dir, golden string) {
	t.Helper()
	for _, d := range differences(t, fs, dir, golden) {
		t.Error(d)
	}
}

// differences tells what differs between a partition's directory and a golden one, but
// for the files to skip.
func differences(t testing.TB, fs vfs.FS, dir, golden string, skip ...string) (out []string) {
	t.Helper()
	entries, err := os.ReadDir(golden)
	check(t, err)
	var want, wantSizes, sizes []string
	skipped := func(name string) bool { return slices.Contains(skip, name) }
	for _, e := range entries {
		if skipped(e.Name()) {
			continue
		}
		info, err := e.Info()
		check(t, err)
		want, wantSizes = append(want, e.Name()), append(wantSizes, fmt.Sprint(e.Name(), ":", info.Size()))
	}
	got, err := fs.List(dir)
	check(t, err)
	got = slices.DeleteFunc(slices.Clone(got), skipped)
	for _, name := range got {
		info, err := fs.Stat(dir + "/" + name)
		check(t, err)
		sizes = append(sizes, fmt.Sprint(name, ":", info.Size))
	}
	if !slices.Equal(got, want) {
		return []string{fmt.Sprintf("%s: files are\n%s\nwant\n%s", dir, strings.Join(sizes, " "), strings.Join(wantSizes, " "))}
	}
	for _, name := range want {
		b, err := os.ReadFile(filepath.Join(golden, name))
		check(t, err)
		ours := read(t, fs, dir+"/"+name)
		if strings.HasSuffix(name, ".snapshot") {
			ours, b = sortedSnapshot(ours), sortedSnapshot(b)
		}
		if !bytes.Equal(ours, b) {
			out = append(out, fmt.Sprintf("%s/%s differs from Kafka's:\nours  %s\nKafka %s", dir, name, show(name, ours), show(name, b)))
		}
	}
	return out
}

// The layout of a producer snapshot (storage 4.5): version, CRC, count, entries.
const (
	snapshotCRC   = 2
	snapshotCount = 6
	snapshotHead  = 10
	producerEntry = 46
)

func validSnapshot(b []byte) bool {
	return len(b) >= snapshotHead && (len(b)-snapshotHead)%producerEntry == 0 &&
		binary.BigEndian.Uint32(b[snapshotCRC:]) == crc32.Checksum(b[snapshotCount:], crc32.MakeTable(crc32.Castagnoli))
}

// sortedSnapshot puts the entries of a producer snapshot, which come in the order of a
// hash map, into the order of their bytes. What a crash has damaged is compared as it is.
func sortedSnapshot(b []byte) []byte {
	if !validSnapshot(b) {
		return b
	}
	entries := slices.Collect(slices.Chunk(b[snapshotHead:], producerEntry))
	slices.SortFunc(entries, bytes.Compare)
	return append(append(slices.Clone(b[:snapshotCRC]), b[snapshotCount:snapshotHead]...), bytes.Join(entries, nil)...)
}

// show prints the content of a file for people.
func show(name string, b []byte) string {
	var out strings.Builder
	width := 16
	switch {
	case strings.HasSuffix(name, ".index"):
		width = 8
	case strings.HasSuffix(name, ".timeindex"):
		width = 12
	case strings.HasSuffix(name, ".txnindex"):
		width = 34
	case strings.HasSuffix(name, ".snapshot"):
		width = 46
		fmt.Fprintf(&out, "%x", b[:min(len(b), 6)])
		b = b[min(len(b), 6):]
	case !strings.HasSuffix(name, ".log"):
		return strconv.Quote(string(b))
	}
	fmt.Fprintf(&out, "%d bytes:", len(b))
	for chunk := range slices.Chunk(b, width) {
		fmt.Fprintf(&out, " %x", chunk)
		if out.Len() > 2000 {
			break
		}
	}
	return out.String()
}

// logConfig is a topic's configuration as model/log wants it.
func (g goldenTopic) logConfig(t testing.TB) *log.Config {
	t.Helper()
	c := log.DefaultConfig()
	for key, value := range g.Settings {
		number, err := strconv.ParseInt(value, 10, 64)
		switch key {
		case "segment.bytes", "internal.segment.bytes":
			c.SegmentBytes = int32(number)
		case "segment.ms":
			c.SegmentMs = number
		case "segment.index.bytes":
			c.SegmentIndexBytes = int32(number)
		case "index.interval.bytes":
			c.IndexIntervalBytes = int32(number)
		case "flush.messages":
			c.FlushMessages = number
		case "preallocate":
			c.Preallocate, err = value == "true", nil
		case "max.message.bytes":
			c.MaxMessageBytes = int32(number)
		case "message.timestamp.before.max.ms":
			c.TimestampBeforeMaxMs = number
		case "message.timestamp.after.max.ms":
			c.TimestampAfterMaxMs = number
		case "message.timestamp.type":
			if err = nil; value == "LogAppendTime" {
				c.TimestampType = record.LogAppendTime
			}
		case "compression.type":
			var ok bool
			c.Codec, ok = record.ParseCodec(strings.Replace(value, "uncompressed", "none", 1))
			c.KeepCodec, err = false, nil
			if !ok {
				t.Fatalf("codec %q", value)
			}
		case "cleanup.policy":
			c.Compact, c.Delete, err = strings.Contains(value, "compact"), strings.Contains(value, "delete"), nil
		case "min.cleanable.dirty.ratio":
			var ratio float64
			ratio, err = strconv.ParseFloat(value, 64)
			c.MinCleanableRatio = int64(math.Round(ratio * 1e6))
		case "delete.retention.ms":
			c.DeleteRetentionMs = number
		case "min.compaction.lag.ms":
			c.MinCompactionLagMs = number
		case "max.compaction.lag.ms":
			c.MaxCompactionLagMs = number
		case "retention.ms":
			c.RetentionMs = number
		case "retention.bytes":
			c.RetentionBytes = number
		default:
			t.Fatalf("setting %s is not known to this test", key)
		}
		check(t, err)
	}
	return &c
}

// configs answers for all topics; those that Kafka made itself have index files as
// the generator's brokers had by default.
func (m *manifest) configs(t testing.TB) func(topic string) *log.Config {
	other := log.DefaultConfig()
	other.SegmentIndexBytes = 4096
	byName := make(map[string]*log.Config)
	for _, topic := range m.Topics {
		byName[topic.Name] = topic.logConfig(t)
	}
	return func(topic string) *log.Config {
		if c := byName[topic]; c != nil {
			return c
		}
		return &other
	}
}

func (g goldenTopic) compacted() bool { return g.Settings["cleanup.policy"] == "compact" }

func tp(topic string) kafka.TopicPartition { return kafka.TopicPartition{Topic: topic} }

func topicID(t testing.TB, text string) kafka.TopicID {
	t.Helper()
	id, err := kafka.ParseTopicID(text)
	check(t, err)
	return id
}
