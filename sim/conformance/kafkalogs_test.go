package conformance

import (
	"bytes"
	"encoding/base64"
	"fmt"
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

// kafkaLogs is Kafka's own log layer in one JVM (Logs), with the logs of ours that live
// the same life. The nil kafkaLogs does nothing.
type kafkaLogs struct {
	t    testing.TB
	r    release
	d    *driver
	dir  string // of the logs it has now
	now  kafka.TimestampMs
	ours *log.Manager
	// uncut: after a power failure Kafka may leave an index longer than its entries where
	// we cut it (storage trap 57).
	uncut bool
	// ops tells the last changes when something differs.
	ops []string
}

// ramDir is a directory of the test, in memory where there is such a place: Kafka syncs.
func ramDir(t testing.TB) string {
	t.Helper()
	const shm = "/dev/shm"
	if _, err := os.Stat(shm); err != nil {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp(shm, "simkafka-conformance-")
	check(t, err)
	t.Cleanup(func() { check(t, os.RemoveAll(dir)) })
	return dir
}

func startKafkaLogs(t *testing.T, r release) *kafkaLogs {
	t.Helper()
	major := "kafka3"
	if r.kraft {
		major = "kafka4"
	}
	cmd := r.java(t, "256m", "simkafka.Logs", major)
	k := &kafkaLogs{t: t, r: r, d: drive(t, cmd, filepath.Join(t.TempDir(), "logs.out")), now: -1}
	return k
}

// configure tells the topics' settings, in place of those before. Directories are made
// or exist in dir.
func (k *kafkaLogs) configure(dir string, topics []goldenTopic) {
	k.t.Helper()
	k.dir, k.ours, k.ops = dir, nil, nil
	check(k.t, os.MkdirAll(dir, 0o755))
	k.d.do("forget")
	k.d.do("defaults", "segment.index.bytes=4096")
	for _, topic := range topics {
		words := []string{"topic", topic.Name}
		for key, value := range topic.Settings {
			words = append(words, key+"="+value)
		}
		k.d.do(words...)
	}
}

// do runs a command at a time.
func (k *kafkaLogs) do(now kafka.TimestampMs, words ...any) string {
	if k == nil {
		return ""
	}
	k.t.Helper()
	k.at(now)
	line := strings.TrimSpace(fmt.Sprintln(words...))
	k.ops = append(k.ops, line[:min(len(line), 60)])
	a, err := k.d.try(line)
	if err != nil {
		k.t.Fatalf("%s: %v\nafter\n%s", k.r.version, err, k.story())
	}
	k.ops[len(k.ops)-1] += " = " + a.words
	return a.words
}

// at sets Kafka's clock.
func (k *kafkaLogs) at(now kafka.TimestampMs) {
	k.t.Helper()
	if now != k.now {
		k.d.do("now", strconv.FormatInt(int64(now), 10))
		k.now = now
	}
}

func (k *kafkaLogs) story() string { return strings.Join(k.ops[max(0, len(k.ops)-40):], "\n") }

// change changes a log of Kafka's, after which it must be where ours is.
func (k *kafkaLogs) change(now kafka.TimestampMs, verb, topic string, words ...any) {
	if k == nil {
		return
	}
	k.t.Helper()
	state := k.do(now, append([]any{verb, topic}, words...)...)
	k.sameState(topic, state)
}

func (k *kafkaLogs) sameState(topic, state string) {
	k.t.Helper()
	l := k.ours.Get(tp(topic))
	if ours := stateOf(l, l.LastStableOffset()); ours != state && stateOf(l, k.stableOffset(l)) != state {
		k.t.Fatalf("%s: %s: start, end, high watermark, last stable offset, recovery point, epoch, segments\nours  %s\nKafka %s\nafter\n%s",
			k.r.version, topic, ours, state, k.story())
	}
}

// stableOffset is the last stable offset in Kafka's words, where it lies in a hole: the
// end of the log if nothing follows; in 4.1 the base of the first batch that reaches so far,
// which may also be one that holds it.
func (k *kafkaLogs) stableOffset(l *log.Log) kafka.Offset {
	lso, end := l.LastStableOffset(), l.LogEndOffset()
	if lso >= l.HighWatermark() && !k.r.kraft {
		return lso
	}
	check(k.t, l.Batches(lso, func(b record.Batch) bool {
		if end = lso; k.r.kraft {
			end = b.BaseOffset()
		}
		return false
	}))
	return min(end, l.HighWatermark())
}

func stateOf(l *log.Log, lso kafka.Offset) string {
	return fmt.Sprint(l.LogStartOffset(), l.LogEndOffset(), l.HighWatermark(), lso, l.RecoveryPoint(), l.LastEpoch(), len(l.Segments()))
}

// load loads the directory, as ours was just loaded by m.
func (k *kafkaLogs) load(m *log.Manager) {
	if k == nil {
		return
	}
	k.t.Helper()
	k.do(0, "load", k.dir)
	k.loaded(m)
}

// loaded compares what Kafka has loaded with what m has.
func (k *kafkaLogs) loaded(m *log.Manager) {
	k.t.Helper()
	k.ours = m
	for _, r := range m.Replicas() {
		// Of the replica manager's checkpoint Kafka's log layer knows nothing.
		k.change(0, "high-watermark", r.TP.Topic, r.Log.HighWatermark())
	}
}

func (k *kafkaLogs) encode(b []byte) string {
	if k == nil {
		return ""
	}
	return base64.StdEncoding.EncodeToString(b)
}

// epochFile is one that Kafka writes in the background after a truncation.
const epochFile = "/leader-epoch-checkpoint "

// sameFiles compares all files of the two data directories. Kafka may be behind with the
// epoch files.
func (k *kafkaLogs) sameFiles(fs vfs.FS, behind bool) {
	k.t.Helper()
	for _, r := range k.ours.Replicas() {
		dir := r.TP.String()
		for _, d := range differences(k.t, fs, "data/"+dir, filepath.Join(k.dir, dir), append(k.unused(r.TP), k.stale(fs, r.TP)...)...) {
			if !behind || !strings.Contains(d, epochFile) {
				k.t.Errorf("%s: %s", k.r.version, d)
			}
		}
	}
	for _, name := range []string{log.RecoveryPointCheckpoint, log.LogStartOffsetCheckpoint, log.CleanerOffsetCheckpoint} {
		there, err := vfs.Exists(fs, "data/"+name)
		check(k.t, err)
		ours := ""
		if there {
			ours = string(read(k.t, fs, "data/"+name))
		}
		theirs, err := os.ReadFile(filepath.Join(k.dir, name))
		if err != nil && !os.IsNotExist(err) {
			k.t.Fatal(err)
		}
		if got, want := checkpointText(ours), checkpointText(string(theirs)); got != want {
			k.t.Errorf("%s: %s\nours\n%s\nKafka\n%s", k.r.version, name, got, want)
		}
	}
	if k.t.Failed() {
		if keep := os.Getenv("SIMKAFKA_KEEP"); keep != "" { // a directory for people to look at
			copyOut(k.t, fs, "data", filepath.Join(keep, "ours"))
			check(k.t, os.CopyFS(filepath.Join(keep, "Kafka"), os.DirFS(k.dir)))
		}
		k.t.Fatalf("after\n%s", k.story())
	}
}

// unused are the index files of an empty active segment: each is made when somebody
// looks at it, and holds nothing; and a piece of an epoch file, which a start of Kafka
// writes anew even if it has not changed.
func (k *kafkaLogs) unused(p kafka.TopicPartition) []string {
	segments := k.ours.Get(p).Segments()
	last := segments[len(segments)-1]
	piece := "leader-epoch-checkpoint.tmp"
	if last.Size > 0 {
		return []string{piece}
	}
	return []string{piece, fmt.Sprintf("%020d.index", last.Base), fmt.Sprintf("%020d.timeindex", last.Base)}
}

// stale are the indexes that differ from Kafka's by zeros at their end alone, if uncut.
func (k *kafkaLogs) stale(fs vfs.FS, p kafka.TopicPartition) (names []string) {
	if !k.uncut {
		return nil
	}
	for _, s := range k.ours.Get(p).Segments() {
		for _, suffix := range []string{"index", "timeindex"} {
			name := fmt.Sprintf("%020d.%s", s.Base, suffix)
			theirs, err := os.ReadFile(filepath.Join(k.dir, p.String(), name))
			if there, _ := vfs.Exists(fs, "data/"+p.String()+"/"+name); err != nil || !there {
				continue
			}
			ours := read(k.t, fs, "data/"+p.String()+"/"+name)
			if !bytes.Equal(ours, theirs) && bytes.Equal(bytes.TrimRight(ours, "\x00"), bytes.TrimRight(theirs, "\x00")) {
				names = append(names, name)
			}
		}
	}
	return names
}

// checkpointText is a checkpoint with its lines in order; one without lines is as none.
func checkpointText(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) <= 2 {
		return ""
	}
	slices.Sort(lines[2:])
	return strings.Join(lines, "\n")
}
