package conformance

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/log"
	"github.com/simkafka/simkafka/model/record"
	"github.com/simkafka/simkafka/model/vfs"
	"github.com/simkafka/simkafka/model/vfs/vfstest"
	"github.com/simkafka/simkafka/sim/simdisk"
)

const (
	crashSeeds = 16
	crashOps   = 25 // of a topic before the power fails
)

// Kafka's own loader recovers what a power failure leaves of random histories, with
// retention and compaction, as ours does: the same offsets, epochs and bytes, right
// after the load and after a clean stop (storage 7.1 to 7.4). Where it does not start,
// ours knows.
func TestKafkaRecoversOurCrashStates(t *testing.T) {
	eachRelease(t, func(t *testing.T, r release) {
		needKafka(t, r)
		k, dir := startKafkaLogs(t, r), ramDir(t)
		recovered, refused := 0, 0
		for seed := range uint64(crashSeeds) {
			w := prepareTwin(t, r, 1000+seed)
			w.begin()
			for range crashOps * len(w.topics) {
				w.stepBoth(w.topics[w.rand.IntN(len(w.topics))].Name)
			}
			w.disk.Crash(simdisk.PowerLoss, 0)
			for _, topic := range w.topics {
				c := crashState{k: k, topic: topic, configs: w.configs, dir: filepath.Join(dir, fmt.Sprint(seed, topic.Name))}
				if c.recover(t, w.disk) {
					recovered++
				} else {
					refused++
				}
				check(t, os.RemoveAll(c.dir))
				if t.Failed() {
					t.Fatalf("seed %d, topic %v", seed, topic)
				}
			}
		}
		t.Logf("Kafka %s recovers %d crash states as we do, and does not start on %d", r.version, recovered, refused)
		if recovered < crashSeeds*twinTopics*9/10 {
			t.Error("that is too little")
		}
	})
}

// The same for every disk of a simulated cluster after trouble.
func TestKafkaRecoversASimulatedCluster(t *testing.T) {
	eachRelease(t, func(t *testing.T, r release) {
		needKafka(t, r)
		k, dir := startKafkaLogs(t, r), ramDir(t)
		c, _ := troubled(t, 1)
		topics := simulatedTopics(r)
		for i := range topics {
			topics[i].ID = kafka.TopicID{byte(i + 1)}.String()
		}
		configs := (&manifest{Topics: topics}).configs(t)
		for b := kafka.NodeID(1); b <= simulatedBrokers; b++ {
			for _, topic := range topics {
				if there, err := vfs.Exists(c.Disk(b), "data/"+topic.Name+"-0"); err != nil || !there {
					check(t, err)
					continue
				}
				s := crashState{k: k, topic: topic, configs: configs, dir: filepath.Join(dir, fmt.Sprint(b, topic.Name))}
				if !s.recover(t, c.Disk(b)) {
					t.Errorf("Kafka does not start on %s of broker %d", topic.Name, b)
				}
			}
		}
	})
}

// crashState is one topic of a disk, to be recovered by both.
type crashState struct {
	k       *kafkaLogs
	topic   goldenTopic
	configs func(string) *log.Config
	dir     string // for Kafka
	// times: offsets are looked up for the timestamps from 1 to this one. untimed counts
	// where they are not, since Kafka left a stale index (k.uncut) or a file's time decides.
	times   kafka.TimestampMs
	untimed int
}

// recover reports whether Kafka starts.
func (c *crashState) recover(t *testing.T, disk vfs.FS) bool {
	t.Helper()
	mem := vfstest.NewMem()
	check(t, mem.MkdirAll("data"))
	takeTopic(t, disk, mem, c.topic.Name)
	refuses := stopsKafka(t, mem, "data/"+c.topic.Name+"-0")
	copyOut(t, mem, "data", c.dir)
	c.k.configure(c.dir, []goldenTopic{c.topic})
	c.k.uncut = true
	c.k.at(0)
	_, err := c.k.d.try("load", c.dir)
	if err != nil || refuses {
		if err == nil || !refuses || !strings.Contains(err.Error(), "CorruptRecordException") {
			t.Errorf("%s: Kafka's loader says %v; that it does not start is expected: %t", c.topic.Name, err, refuses)
		}
		if err == nil {
			c.k.do(0, "kill")
		}
		return false
	}
	m := load(t, mem, "data", c.configs, 0)
	c.k.loaded(m)
	c.tasks(t, m, mem)
	c.k.sameFiles(mem, false)
	c.lookups(t, m, mem)
	stopClean(t, m, 0)
	c.k.do(0, "stop")
	c.k.sameFiles(mem, false)
	return true
}

// lookups compares what is found at each offset, and for each timestamp.
func (c *crashState) lookups(t *testing.T, m *log.Manager, fs vfs.FS) {
	t.Helper()
	l := m.Get(tp(c.topic.Name))
	var want []string
	for o := l.LogStartOffset(); o < l.LogEndOffset(); o++ {
		info, err := l.Read(o, 1, l.LogEndOffset(), true)
		check(t, err)
		if len(info.Records) == 0 {
			want = append(want, "none")
			continue
		}
		b := record.Batch(info.Records)
		want = append(want, fmt.Sprint(b.BaseOffset(), ":", b.CRC()))
	}
	got := c.k.do(0, "reads", c.topic.Name, l.LogStartOffset(), l.LogEndOffset())
	c.same(t, "fetches at each offset", got, want)
	if len(c.k.stale(fs, tp(c.topic.Name))) > 0 || agesByFile(t, fs, c.topic.Name, l) {
		c.untimed++
		return
	}
	want = nil
	for ts := kafka.TimestampMs(1); ts <= c.times; ts++ {
		found, err := l.OffsetForTimestamp(ts, math.MaxInt64)
		check(t, err)
		want = append(want, fmt.Sprint(found.Offset))
	}
	got = c.k.do(0, "times", c.topic.Name, 1, c.times+1)
	c.same(t, "lookups by time", got, want)
}

// agesByFile: a segment without an entry in its time index is as old as its file, by
// another clock in Kafka.
func agesByFile(t *testing.T, fs vfs.FS, topic string, l *log.Log) bool {
	t.Helper()
	return slices.ContainsFunc(l.Segments(), func(s log.Segment) bool {
		name := fmt.Sprintf("data/%s-0/%020d.timeindex", topic, s.Base)
		there, err := vfs.Exists(fs, name)
		check(t, err)
		return !there || len(bytes.Trim(read(t, fs, name), "\x00")) == 0
	})
}

func (c *crashState) same(t *testing.T, what, got string, want []string) {
	t.Helper()
	if ours := strings.Join(want, " "); got != ours {
		indexes, err := filepath.Glob(filepath.Join(c.dir, "*-0", "*index"))
		check(t, err)
		for _, name := range indexes {
			b, err := os.ReadFile(name)
			check(t, err)
			t.Logf("%s: %s", filepath.Base(name), show(name, b))
		}
		t.Errorf("%s: %s:\nours  %s\nKafka %s\nafter\n%s", c.topic.Name, what, ours, got, c.k.story())
	}
}

// tasks does what the load has left to the scheduler.
func (c *crashState) tasks(t *testing.T, m *log.Manager, fs vfs.FS) {
	t.Helper()
	for _, r := range m.Replicas() {
		check(t, log.RemoveFiles(fs, r.Log.TakeDeleted()))
	}
	c.k.do(0, "tasks")
}

// takeTopic copies a topic's directory and its lines of the checkpoints.
func takeTopic(t testing.TB, from, to vfs.FS, topic string) {
	t.Helper()
	copyTree(t, from, "data/"+topic+"-0", to, "data/"+topic+"-0")
	for _, name := range []string{log.HighWatermarkCheckpoint, log.RecoveryPointCheckpoint, log.LogStartOffsetCheckpoint, log.CleanerOffsetCheckpoint} {
		entries, err := log.ReadOffsetCheckpoint(from, "data", name)
		check(t, err)
		var own []log.OffsetEntry
		for _, e := range entries {
			if e.TP == tp(topic) {
				own = append(own, e)
			}
		}
		check(t, log.WriteOffsetCheckpoint(to, "data", name, own))
	}
}
