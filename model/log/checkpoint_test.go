package log

import (
	"errors"
	"slices"
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/vfs"
	"github.com/simkafka/simkafka/model/vfs/vfstest"
)

func tp(topic string, partition int32) kafka.TopicPartition {
	return kafka.TopicPartition{Topic: topic, Partition: partition}
}

func dataDir(t testingT) *vfstest.Mem {
	t.Helper()
	fs := vfstest.NewMem()
	check(t, fs.MkdirAll("data"))
	return fs
}

func TestStorageTrap36EmptyCheckpointIsLegal(t *testing.T) {
	fs := dataDir(t)
	entries, err := ReadOffsetCheckpoint(fs, "data", LogStartOffsetCheckpoint)
	check(t, err)
	equal(t, "entries", len(entries), 0)
	b, err := readFile(fs, "data/"+LogStartOffsetCheckpoint)
	check(t, err)
	equal(t, "made empty", len(b), 0)
	check(t, WriteOffsetCheckpoint(fs, "data", LogStartOffsetCheckpoint, nil))
	b, err = readFile(fs, "data/"+LogStartOffsetCheckpoint)
	check(t, err)
	equal(t, "text", string(b), "0\n0\n")
	entries, err = ReadOffsetCheckpoint(fs, "data", LogStartOffsetCheckpoint)
	check(t, err)
	equal(t, "entries", len(entries), 0)
}

func TestStorageTrap36LogStartCheckpointListsOnlyRaisedStarts(t *testing.T) {
	fs := vfstest.NewMem()
	m := loadManager(t, fs, "data", smallConfig())
	for _, name := range []string{"a", "b"} {
		l, err := m.Create(tp(name, 0), kafka.TopicID{}, 1)
		check(t, err)
		appendLeader(t, l, batchOf(t, 10, 1, 2), 0, 1)
		l.SetHighWatermark(2)
	}
	_, err := m.Get(tp("b", 0)).MaybeIncrementLogStartOffset(1)
	check(t, err)
	check(t, m.WriteLogStartOffsets())
	b, err := readFile(fs, "data/"+LogStartOffsetCheckpoint)
	check(t, err)
	equal(t, "text", string(b), "0\n1\nb 0 1\n")
}

func TestOffsetCheckpointReturnsWhatWasWritten(t *testing.T) {
	fs := dataDir(t)
	in := []OffsetEntry{{tp("b", 1), 7}, {tp("a-b", 0), 1 << 40}, {tp("a", 12), 0}}
	check(t, WriteOffsetCheckpoint(fs, "data", HighWatermarkCheckpoint, in))
	b, err := readFile(fs, "data/"+HighWatermarkCheckpoint)
	check(t, err)
	equal(t, "text", string(b), "0\n3\nb 1 7\na-b 0 1099511627776\na 12 0\n")
	out, err := ReadOffsetCheckpoint(fs, "data", HighWatermarkCheckpoint)
	check(t, err)
	if !slices.Equal(out, []OffsetEntry{in[2], in[1], in[0]}) {
		t.Fatalf("read %v", out)
	}
	equal(t, "found", findOffset(out, tp("b", 1)), 7)
	equal(t, "not found", findOffset(out, tp("b", 2)), 0)
	names, err := fs.List("data")
	check(t, err)
	equal(t, "files", len(names), 1) // no .tmp is left
}

func TestMalformedCheckpointsAreCorrupt(t *testing.T) {
	for _, text := range []string{
		"1\n0\n", "x\n0\n", "\n", "0\nx\n", "0\n1\n", "0\n1\na 0\n", "0\n1\na 0 1 2\n", "0\n1\na x 1\n",
		"0\n1\na 0 x\n", "0\n2\na 0 1\n", "0\n0\na 0 1\n", "0\n1\na 99999999999 1\n", "0\n1\n\n",
	} {
		_, err := parseOffsetCheckpoint("f", []byte(text))
		if corrupt := (*CorruptError)(nil); !errors.As(err, &corrupt) {
			t.Fatalf("%q: %v", text, err)
		}
	}
	for _, text := range []string{"0", "0\n", "0\n0\n", "", "0\n1\na \t 0   5\n"} {
		if _, err := parseOffsetCheckpoint("f", []byte(text)); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
	}
}

func TestStorageTrap35PartitionMetadataHasNoFinalNewline(t *testing.T) {
	fs := dataDir(t)
	id := kafka.TopicID{15: 1}
	check(t, WriteTopicID(fs, "data", id))
	b, err := readFile(fs, "data/"+partitionMetadataFile)
	check(t, err)
	equal(t, "text", string(b), "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ")
	equal(t, "size", len(b), 43)
	got, err := ReadTopicID(fs, "data")
	check(t, err)
	equal(t, "id", got, id)
}

// PartitionMetadataReadBuffer.read: for a line that it cannot read it throws what takes the directory
// offline, and NullPointerException or IllegalArgumentException else, which LogManager.loadLogs lets through.
func TestADirectoryIsBlamedForALineOfPartitionMetadataAndNotForAMissingOne(t *testing.T) {
	const id = "topic_id: AAAAAAAAAAAAAAAAAAAAAQ"
	for _, c := range []struct {
		text           string
		fails, offline bool
	}{
		{text: "version: 0\n" + id}, {text: "version: 0\n" + id + "\n"}, {text: "version: 7\n" + id + "\nmore"}, {text: "v:  0\nid: AAAAAAAAAAAAAAAAAAAAAQ"},
		{text: "", fails: true}, {text: "version: 0", fails: true}, {text: "version: 0\n", fails: true},
		{text: "version: 0\ntopic_id: x", fails: true}, {text: "version: 0\n" + id + "A", fails: true},
		{text: "\n", offline: true}, {text: "version: -1\n" + id, offline: true}, {text: "version: x\n" + id, offline: true}, {text: "version 0\n" + id, offline: true},
		{text: "version: 0: 0\n" + id, offline: true},
		{text: "version: 0\n\n", offline: true}, {text: "version: 0\ntopic_id: ", offline: true}, {text: "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA", offline: true},
	} {
		fs := dataDir(t)
		check(t, fs.MkdirAll("data/orders-0"))
		check(t, writeFile(fs, "data/orders-0/"+partitionMetadataFile, []byte(c.text)))
		_, err := ReadTopicID(fs, "data/orders-0")
		if (err != nil) != (c.fails || c.offline) || err != nil && endsStart(err) != c.fails {
			t.Errorf("%q: %v", c.text, err)
		}
		var failed *DirError
		if errors.As(err, &failed) != c.offline || c.offline && failed.Dir != "data" {
			t.Errorf("%q: %v", c.text, err)
		}
	}
}

func TestMetaPropertiesReturnWhatWasWritten(t *testing.T) {
	fs := dataDir(t)
	_, found, err := ReadMetaProperties(fs, "data")
	check(t, err)
	equal(t, "found before", found, false)
	in := MetaProperties{BrokerID: 3, ClusterID: "x1Y_-z"}
	check(t, WriteMetaProperties(fs, "data", in, "Tue Nov 14 22:13:20 UTC 2023"))
	out, found, err := ReadMetaProperties(fs, "data")
	check(t, err)
	equal(t, "found", found, true)
	equal(t, "properties", out, in)
	if _, err := parseMetaProperties("f", []byte("version=1\nnode.id=1\n")); err == nil {
		t.Fatal("version 1 was read")
	}
}

// syncCounter tells what a replacement of a file does, in order.
type syncCounter struct {
	vfs.FS
	calls []string
}

type syncFile struct {
	vfs.File
	fs *syncCounter
}

func (c *syncCounter) note(call string) { c.calls = append(c.calls, call) }

func (c *syncCounter) Create(name string) (vfs.File, error) {
	c.note("create " + name)
	f, err := c.FS.Create(name)
	return syncFile{f, c}, err
}

func (c *syncCounter) Rename(old, new string) error {
	c.note("rename " + old + " " + new)
	return c.FS.Rename(old, new)
}

func (c *syncCounter) SyncDir(dir string) error {
	c.note("syncdir " + dir)
	return c.FS.SyncDir(dir)
}

func (f syncFile) Sync() error {
	f.fs.note("sync " + f.Name())
	return f.File.Sync()
}

func TestCheckpointsReplaceTheFileDurably(t *testing.T) {
	fs := &syncCounter{FS: dataDir(t)}
	check(t, WriteOffsetCheckpoint(fs, "data", "c", nil))
	want := []string{"create data/c.tmp", "sync data/c.tmp", "rename data/c.tmp data/c", "syncdir data"}
	if !slices.Equal(fs.calls, want) {
		t.Fatalf("calls %v", fs.calls)
	}
}
