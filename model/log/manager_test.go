package log

import (
	"strings"
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/vfs"
	"github.com/simkafka/simkafka/model/vfs/vfstest"
)

func startManager(t testingT, fs vfs.FS, dir string, cfg *Config) *Manager {
	t.Helper()
	m := NewManager(fs, dir, func(string) *Config { return cfg }, nil)
	check(t, m.Start())
	return m
}

func loadManager(t testingT, fs vfs.FS, dir string, cfg *Config) *Manager {
	t.Helper()
	m := startManager(t, fs, dir, cfg)
	for {
		if _, done, err := m.LoadStep(1); err != nil || done {
			check(t, err)
			return m
		}
	}
}

func stop(t testingT, m *Manager) {
	t.Helper()
	check(t, m.WriteHighWatermarks())
	for {
		if done, err := m.StopStep(17, 1); err != nil || done {
			check(t, err)
			return
		}
	}
}

func TestManagerReturnsWhatWasStopped(t *testing.T) {
	fs := vfstest.NewMem()
	m := loadManager(t, fs, "data", smallConfig())
	id := kafka.TopicID{1, 2, 3}
	for _, p := range []kafka.TopicPartition{tp("b", 1), tp("a", 10), tp("a", 9)} {
		l, err := m.Create(p, id, 1)
		check(t, err)
		for range p.Partition {
			appendLeader(t, l, sizedBatch(t, 300, 5), 4, 1)
		}
		l.SetHighWatermark(1)
	}
	stop(t, m)
	marker, err := readFile(fs, "data/"+cleanShutdownFile)
	check(t, err)
	equal(t, "marker", string(marker), `{"version":0,"brokerEpoch":17}`)
	b, err := readFile(fs, "data/"+RecoveryPointCheckpoint)
	check(t, err)
	equal(t, "recovery points", string(b), "0\n3\na 9 9\na 10 10\nb 1 1\n")

	m = loadManager(t, fs, "data", smallConfig())
	equal(t, "clean", m.CleanStart(), true)
	equal(t, "replicas", len(m.Replicas()), 3)
	for _, r := range m.Replicas() {
		equal(t, "id", r.TopicID, id)
		equal(t, "end", r.Log.LogEndOffset(), kafka.Offset(r.TP.Partition))
		equal(t, "high watermark", r.Log.HighWatermark(), 1)
		equal(t, "recovery point", r.Log.RecoveryPoint(), r.Log.LogEndOffset())
		equal(t, "epoch", r.Log.LastEpoch(), 4)
	}
}

func TestStorageTrap37MarkerGoesBeforeTheLogsLoad(t *testing.T) {
	fs := vfstest.NewMem()
	m := loadManager(t, fs, "data", smallConfig())
	_, err := m.Create(tp("a", 0), kafka.TopicID{}, 1)
	check(t, err)
	stop(t, m)
	m = startManager(t, fs, "data", smallConfig())
	equal(t, "first start", m.CleanStart(), true)
	there, err := vfs.Exists(fs, "data/"+cleanShutdownFile)
	check(t, err)
	equal(t, "marker", there, false)
	// It dies here, before the logs are loaded.
	equal(t, "second start", startManager(t, fs, "data", smallConfig()).CleanStart(), false)
}

func TestStopWhileLoadingLeavesAMarkerOnlyAfterACleanStart(t *testing.T) {
	for _, clean := range []bool{true, false} {
		fs := vfstest.NewMem()
		m := loadManager(t, fs, "data", smallConfig())
		for i := range 2 {
			_, err := m.Create(tp("a", int32(i)), kafka.TopicID{}, 1)
			check(t, err)
		}
		if clean {
			stop(t, m)
		}
		m = startManager(t, fs, "data", smallConfig())
		for loaded := (*Replica)(nil); loaded == nil; {
			var err error
			loaded, _, err = m.LoadStep(1)
			check(t, err)
		}
		equal(t, "loaded", m.Loaded(), false)
		stop(t, m)
		there, err := vfs.Exists(fs, "data/"+cleanShutdownFile)
		check(t, err)
		equal(t, "marker", there, clean)
	}
}

func TestHighWatermarkOfALoadedLogIsClamped(t *testing.T) {
	fs := vfstest.NewMem()
	m := loadManager(t, fs, "data", smallConfig())
	l, err := m.Create(tp("a", 0), kafka.TopicID{}, 1)
	check(t, err)
	appendLeader(t, l, batchOf(t, 10, 1, 1), 0, 1)
	check(t, WriteOffsetCheckpoint(fs, "data", HighWatermarkCheckpoint, []OffsetEntry{{tp("a", 0), 99}}))
	m = loadManager(t, fs, "data", smallConfig())
	equal(t, "high watermark", m.Get(tp("a", 0)).HighWatermark(), 2) // cluster L-10
}

func TestDeletedPartitionsAreRenamedThenRemoved(t *testing.T) {
	fs := vfstest.NewMem()
	m := loadManager(t, fs, "data", smallConfig())
	long := strings.Repeat("x", 249)
	for _, topic := range []string{"a", long} {
		l, err := m.Create(tp(topic, 0), kafka.TopicID{1}, 1)
		check(t, err)
		appendLeader(t, l, batchOf(t, 10, 1), 0, 1)
	}
	dir, err := m.Delete(tp("a", 0), [16]byte{0xab, 15: 0x01})
	check(t, err)
	equal(t, "name", dir, "data/a-0.ab000000000000000000000000000001-delete")
	longDir, err := m.Delete(tp(long, 0), [16]byte{})
	check(t, err)
	equal(t, "length of a long name", len(longDir)-len("data/"), 255)
	equal(t, "log", m.Get(tp("a", 0)), nil)
	b, err := readFile(fs, "data/"+RecoveryPointCheckpoint)
	check(t, err)
	equal(t, "recovery points", string(b), "0\n0\n")

	m = loadManager(t, fs, "data", smallConfig()) // dies before they are removed
	equal(t, "marked", len(m.MarkedForDeletion()), 2)
	for _, dir := range m.MarkedForDeletion() {
		check(t, m.RemoveDir(dir))
		check(t, m.RemoveDir(dir))
	}
	names, err := fs.List("data")
	check(t, err)
	equal(t, "left", strings.Join(names, " "),
		".lock log-start-offset-checkpoint recovery-point-offset-checkpoint replication-offset-checkpoint")
	_, err = m.Create(tp("a", 0), kafka.TopicID{2}, 1)
	check(t, err)
}

func TestUnknownDirectoriesStopTheLoad(t *testing.T) {
	for name, bad := range map[string]bool{
		"nodash": true, "a-x": true, "a-0-delete": true, "a-0.-delete": true, "a-0.xyz-delete": false,
		"a-0.00000000000000000000000000000000-delete": false, "a-0.00-future": false, "a-0.00-stray": false,
		"remote-log-index-cache": false, "__cluster_metadata-0": false, "a-b-1": false,
	} {
		fs := dataDir(t)
		check(t, fs.MkdirAll("data/"+name))
		m := NewManager(fs, "data", func(string) *Config { return smallConfig() }, nil)
		if err := m.Start(); (err != nil) != bad {
			t.Fatalf("%s: %v", name, err)
		}
	}
}

func TestUnreadableRecoveryCheckpointCountsAsEmpty(t *testing.T) {
	fs := dataDir(t)
	check(t, writeFile(fs, "data/"+RecoveryPointCheckpoint, []byte("rubbish")))
	loadManager(t, fs, "data", smallConfig())
	check(t, writeFile(fs, "data/"+HighWatermarkCheckpoint, []byte("rubbish")))
	m := NewManager(fs, "data", func(string) *Config { return smallConfig() }, nil)
	if m.Start() == nil {
		t.Fatal("an unreadable high watermark checkpoint was taken")
	}
}

func TestIdleReplicaHasTheFilesOfABroker(t *testing.T) {
	fs := vfstest.NewMem()
	m := loadManager(t, fs, "data", smallConfig())
	l, err := m.Create(tp("orders", 0), kafka.TopicID{1}, 1)
	check(t, err)
	check(t, l.AssignEpoch(0, 0))
	const zero = "00000000000000000000"
	equal(t, "files", list(t, fs), zero+".index "+zero+".log "+zero+".timeindex "+
		"leader-epoch-checkpoint partition.metadata")
	equal(t, "index length", len(fileOf(t, fs, zero+".index")), 1200)
	stop(t, m)
	equal(t, "index length after the stop", len(fileOf(t, fs, zero+".index")), 0)
}
