package conformance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/log"
	"github.com/simkafka/simkafka/model/vfs"
	"github.com/simkafka/simkafka/model/vfs/vfstest"
)

// load starts a manager on a data directory at the time now and loads all of it.
func load(t testing.TB, fs vfs.FS, dir string, configs func(string) *log.Config, now kafka.TimestampMs) *log.Manager {
	t.Helper()
	m := log.NewManager(fs, dir, configs, nil)
	check(t, m.Start())
	for {
		if _, done, err := m.LoadStep(now); err != nil || done {
			check(t, err)
			return m
		}
	}
}

func stopClean(t testing.TB, m *log.Manager, now kafka.TimestampMs) {
	t.Helper()
	check(t, m.WriteHighWatermarks())
	for {
		if done, err := m.StopStep(-1, now); err != nil || done {
			check(t, err)
			return
		}
	}
}

// clockOf is the wall clock of the generator, about: the newest LogAppendTime.
func clockOf(t testing.TB, r release) kafka.TimestampMs {
	t.Helper()
	batches := batchesIn(t, filepath.Join(r.golden(), recoveredDir, "append-time-0"))
	return batches[len(batches)-1].MaxTimestamp()
}

// A broker that Kafka stopped cleanly is loaded without touching a byte of its logs,
// and our clean stop leaves what Kafka's had left, but for the producer snapshots of
// earlier clean stops, which the load of storage 4.5 takes away.
func TestCleanDirectoryOfKafkaLoadsUnchanged(t *testing.T) {
	eachRelease(t, func(t *testing.T, r release) {
		m, now := readManifest(t, r), clockOf(t, r)
		fs := vfstest.NewMem()
		copyIn(t, filepath.Join(r.golden(), cleanDir), fs, "data")
		manager := load(t, fs, "data", m.configs(t), now)
		if !manager.CleanStart() {
			t.Error("the marker of the clean stop was not seen")
		}
		end := m.Lives[len(m.Lives)-3].End
		records := readRecords(t, r, cleanDir)
		for _, topic := range m.Topics {
			l := manager.Get(tp(topic.Name))
			// The load drops an epoch without records; the leader had entered it.
			check(t, l.AssignEpoch(kafka.LeaderEpoch(end[topic.Name].Epoch), l.LogEndOffset()))
			sameEnds(t, topic, l, end[topic.Name])
			if hw := l.HighWatermark(); hw != l.LogEndOffset() {
				t.Errorf("%s: high watermark is %d, want %d", topic.Name, hw, l.LogEndOffset())
			}
			sameRecords(t, topic.Name, consumed(t, topic.Name, l, 300), records[topic.Name])
		}
		for _, replica := range manager.Replicas() {
			if want := m.topic(replica.TP.Topic).ID; want != "" && replica.TopicID.String() != want {
				t.Errorf("%s: topic id is %s, want %s", replica.TP, replica.TopicID, want)
			}
		}
		stopClean(t, manager, now)
		for _, topic := range m.Topics {
			golden := t.TempDir()
			check(t, os.CopyFS(golden, os.DirFS(filepath.Join(r.golden(), cleanDir, topic.Name+"-0"))))
			removeStraySnapshots(t, golden)
			sameFiles(t, fs, "data/"+topic.Name+"-0", golden)
		}
	})
}

// removeStraySnapshots removes those that name no segment, but for the newest.
func removeStraySnapshots(t testing.TB, dir string) {
	t.Helper()
	snapshots, err := filepath.Glob(filepath.Join(dir, "*.snapshot"))
	check(t, err)
	for i, name := range snapshots {
		_, err := os.Stat(strings.TrimSuffix(name, ".snapshot") + ".log")
		if os.IsNotExist(err) && i < len(snapshots)-1 {
			check(t, os.Remove(name))
		}
	}
}

func sameEnds(t testing.TB, topic goldenTopic, l *log.Log, want offsets) {
	t.Helper()
	if got := (offsets{int64(l.LogStartOffset()), int64(l.LogEndOffset()), int32(l.LastEpoch())}); got != want {
		t.Errorf("%s: start, end, epoch are %v, want %v", topic.Name, got, want)
	}
}

// What a killed broker left, with torn tails, rot and lost indexes, we recover to what
// Kafka's own recovery made of it, file by file (storage 7.2 to 7.4).
func TestKilledDirectoryOfKafkaRecoversToItsBytes(t *testing.T) {
	eachRelease(t, func(t *testing.T, r release) {
		m, now := readManifest(t, r), clockOf(t, r)
		fs := vfstest.NewMem()
		copyIn(t, filepath.Join(r.golden(), killedDir), fs, "data")
		manager := load(t, fs, "data", m.configs(t), now)
		if manager.CleanStart() {
			t.Error("a killed broker's directory is taken for a clean one")
		}
		want := m.Lives[len(m.Lives)-1].End
		records := readRecords(t, r, recoveredDir)
		for _, topic := range m.Topics {
			l := manager.Get(tp(topic.Name))
			check(t, l.AssignEpoch(kafka.LeaderEpoch(want[topic.Name].Epoch), l.LogEndOffset())) // as it became leader
			sameEnds(t, topic, l, want[topic.Name])
			check(t, log.RemoveFiles(fs, l.TakeDeleted()))
			if !topic.compacted() { // the cleaner has gone on after the recovery
				sameRecords(t, topic.Name, consumed(t, topic.Name, l, 300), records[topic.Name])
			}
		}
		stopClean(t, manager, now)
		for _, topic := range m.Topics {
			if !topic.compacted() {
				sameFiles(t, fs, "data/"+topic.Name+"-0", filepath.Join(r.golden(), recoveredDir, topic.Name+"-0"))
			}
		}
	})
}
