package conformance

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/log"
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
	stopClean(t, m, 0)
	c.k.do(0, "stop")
	c.k.sameFiles(mem, false)
	return true
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
