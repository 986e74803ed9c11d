package log

import (
	"fmt"
	"slices"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/vfs"
)

// Manager keeps the logs of one data directory (LogManager, for one log.dir): it
// loads them at start, makes and deletes them, writes the checkpoints and stops
// them. Its work comes in bounded steps; who calls them decides when.
//
// A partition that an earlier life was moving here from another data directory
// (-future) is loaded and kept, but not moved on. Strays (-stray) and directories
// marked for deletion (-delete) are not loaded; the latter are to be removed. The
// .lock file is made, and locked where the file system can do that (vfs.Locker).
type Manager struct {
	fs        vfs.FS
	dir       string
	configFor func(topic string) *Config
	jitter    Jitter

	replicas replicas  // sorted by TP
	futures  []Replica // moves that were under way, sorted by TP
	strays   []string  // directories named -stray
	lock     vfs.Lock  // nil if the file system has none
	offline  bool
	clean    bool // the marker of a clean stop was there

	load    *loading // nil when all logs are loaded
	deletes []string // directories marked for deletion
	stopped int      // logs closed by Stop
	ended   bool     // by the last StopStep
	scratch []byte   // of the last checkpoint written
}

// loading is what only the start needs.
type loading struct {
	partitions                               []partitionDir // still to load, last first
	highWatermarks, recoveryPoints, logStart []OffsetEntry
	cleaned                                  []OffsetEntry
	loader                                   *Loader
}

// partitionDir is a directory that holds a partition.
type partitionDir struct {
	tp     kafka.TopicPartition
	path   string
	future bool
}

// NewManager is a manager of the data directory dir. configFor gives the
// configuration of a topic's logs; jitter may be nil.
func NewManager(fs vfs.FS, dir string, configFor func(topic string) *Config, jitter Jitter) *Manager {
	return &Manager{fs: fs, dir: dir, configFor: configFor, jitter: jitter, load: new(loading)}
}

// Dir is the data directory.
func (m *Manager) Dir() string { return m.dir }

// CleanStart reports whether the last stop of the directory was clean.
func (m *Manager) CleanStart() bool { return m.clean }

// Loaded reports whether all logs are loaded.
func (m *Manager) Loaded() bool { return m.load == nil }

// Replicas lists the partitions by topic and number; valid until one is made or
// deleted, and not to be written to.
func (m *Manager) Replicas() []Replica { return m.replicas }

// Futures lists the partitions that an earlier life was moving to this directory
// (futureLogs). Their logs are in the checkpoints; nothing else is done with them
// until Delete.
func (m *Manager) Futures() []Replica { return m.futures }

// Strays lists the directories that an earlier life has set aside. They are left alone.
func (m *Manager) Strays() []string { return m.strays }

// Online tells that the directory has not failed.
func (m *Manager) Online() bool { return !m.offline }

// Get is the partition's log; nil if there is none.
func (m *Manager) Get(tp kafka.TopicPartition) *Log { return m.replicas.get(tp) }

func (m *Manager) path(tp kafka.TopicPartition) string { return m.dir + "/" + tp.String() }

// Create makes a partition's log with its directory and partition.metadata. With a
// zero id that file is left out. The partition must not be there.
func (m *Manager) Create(tp kafka.TopicPartition, id kafka.TopicID, now kafka.TimestampMs) (*Log, error) {
	i, found := m.replicas.find(tp)
	if found {
		panic("log: creation of " + tp.String() + ", which exists")
	}
	dir := m.path(tp)
	// A new log counts as cleanly stopped.
	l, err := OpenNow(m.fs, dir, m.configFor(tp.Topic), OpenParams{Clean: true, Now: now, Jitter: m.jitter})
	if err != nil {
		return nil, err
	}
	if !id.IsZero() {
		if err := WriteTopicID(m.fs, dir, id); err != nil {
			return nil, err
		}
	}
	m.replicas = slices.Insert(m.replicas, i, Replica{tp, id, l})
	return l, nil
}

// SetTopicID writes partition.metadata for a partition that had none.
func (m *Manager) SetTopicID(tp kafka.TopicPartition, id kafka.TopicID) error {
	i, found := m.replicas.find(tp)
	if !found || m.replicas[i].TopicID == id {
		return nil
	}
	if err := WriteTopicID(m.fs, m.path(tp), id); err != nil {
		return err
	}
	m.replicas[i].TopicID = id
	return nil
}

// Delete takes a partition out and renames its directory, which is
// returned and is to be removed file.delete.delay.ms later with RemoveDir. unique makes
// the name unique; it is drawn. The checkpoints are written without the partition.
func (m *Manager) Delete(tp kafka.TopicPartition, unique [16]byte) (dir string, err error) {
	i, found := m.replicas.find(tp)
	if !found {
		return "", nil
	}
	l := m.replicas[i].Log
	m.replicas = slices.Delete(m.replicas, i, i+1)
	return m.markDeleted(l, tp, unique)
}

// DeleteFuture is Delete for the future log of a partition.
func (m *Manager) DeleteFuture(tp kafka.TopicPartition, unique [16]byte) (dir string, err error) {
	i := slices.IndexFunc(m.futures, func(r Replica) bool { return r.TP == tp })
	if i < 0 {
		return "", nil
	}
	l := m.futures[i].Log
	m.futures = slices.Delete(m.futures, i, i+1)
	return m.markDeleted(l, tp, unique)
}

func (m *Manager) markDeleted(l *Log, tp kafka.TopicPartition, unique [16]byte) (dir string, err error) {
	if err := l.Close(false, 0); err != nil {
		return "", err
	}
	dir = m.dir + "/" + deleteDirName(tp, unique)
	if err := m.fs.Rename(l.dir, dir); err != nil {
		return "", fmt.Errorf("log: mark %s for deletion: %w", tp, err)
	}
	if err := m.WriteRecoveryPoints(); err != nil {
		return dir, err
	}
	if err := m.WriteLogStartOffsets(); err != nil || !l.cleaned {
		return dir, err
	}
	return dir, m.WriteCleanerOffsets()
}

// MarkedForDeletion lists the directories that an earlier life had marked; they are
// to be removed with RemoveDir.
func (m *Manager) MarkedForDeletion() []string { return m.deletes }

// RemoveDir removes a directory that was marked for deletion, with its files. It
// may be gone already.
func (m *Manager) RemoveDir(dir string) error {
	there, err := vfs.Exists(m.fs, dir)
	if err != nil || !there {
		return err
	}
	names, err := m.fs.List(dir)
	if err != nil {
		return fmt.Errorf("log: list %s: %w", dir, err)
	}
	for _, name := range names {
		if err := removeFile(m.fs, dir+"/"+name); err != nil {
			return err
		}
	}
	return removeFile(m.fs, dir)
}
