package log

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/vfs"
)

// Replica is a partition in a data directory.
type Replica struct {
	TP      kafka.TopicPartition
	TopicID kafka.TopicID // zero if the directory has no partition.metadata
	Log     *Log
}

// Manager keeps the logs of one data directory (LogManager, for one log.dir): it
// loads them at start, makes and deletes them, writes the checkpoints and stops
// them. Its work comes in bounded steps; who calls them decides when.
//
// Left out: moves between data directories (-future) and strays (-stray), whose
// directories are skipped. A directory marked -delete is not loaded before it is
// removed. The lock on the .lock file is not taken.
type Manager struct {
	fs        vfs.FS
	dir       string
	configFor func(topic string) *Config
	jitter    Jitter

	replicas []Replica // sorted by TP
	clean    bool      // the marker of a clean stop was there

	load    *loading // nil when all logs are loaded
	deletes []string // directories marked for deletion
	stopped int      // logs closed by Stop
	scratch []byte   // of the last checkpoint written
}

// loading is what only the start needs.
type loading struct {
	partitions                               []kafka.TopicPartition // still to load, last first
	highWatermarks, recoveryPoints, logStart []OffsetEntry
	cleaned                                  []OffsetEntry
	loader                                   *Loader
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

func (m *Manager) find(tp kafka.TopicPartition) (int, bool) {
	return slices.BinarySearchFunc(m.replicas, tp, func(r Replica, tp kafka.TopicPartition) int {
		return r.TP.Compare(tp)
	})
}

// Get is the partition's log; nil if there is none.
func (m *Manager) Get(tp kafka.TopicPartition) *Log {
	if i, found := m.find(tp); found {
		return m.replicas[i].Log
	}
	return nil
}

func (m *Manager) path(tp kafka.TopicPartition) string { return m.dir + "/" + tp.String() }

// Create makes a partition's log with its directory and partition.metadata. With a
// zero id that file is left out. The partition must not be there.
func (m *Manager) Create(tp kafka.TopicPartition, id kafka.TopicID, now kafka.TimestampMs) (*Log, error) {
	i, found := m.find(tp)
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
	i, found := m.find(tp)
	if !found || m.replicas[i].TopicID == id {
		return nil
	}
	if err := WriteTopicID(m.fs, m.path(tp), id); err != nil {
		return err
	}
	m.replicas[i].TopicID = id
	return nil
}

// maxDirName bounds the name of a directory marked for deletion.
const maxDirName = 255

// deleteDirName is topic-partition.<32 hex digits>-delete, with the topic cut so
// that the whole fits (storage 0).
func deleteDirName(tp kafka.TopicPartition, unique [16]byte) string {
	const digits = "0123456789abcdef"
	tail := append(make([]byte, 0, 64), '-')
	tail = strconv.AppendInt(tail, int64(tp.Partition), 10)
	tail = append(tail, '.')
	for _, b := range unique {
		tail = append(tail, digits[b>>4], digits[b&15])
	}
	tail = append(tail, deleteDirSuffix...)
	topic := tp.Topic
	if room := maxDirName - len(tail); len(topic) > room {
		topic = topic[:room]
	}
	return topic + string(tail)
}

// Delete takes a partition out and renames its directory, which is returned and is
// to be removed file.delete.delay.ms later with RemoveDir. unique makes the name
// unique; it is drawn. The checkpoints are written without the partition.
func (m *Manager) Delete(tp kafka.TopicPartition, unique [16]byte) (dir string, err error) {
	i, found := m.find(tp)
	if !found {
		return "", nil
	}
	l := m.replicas[i].Log
	m.replicas = slices.Delete(m.replicas, i, i+1)
	if err := l.Close(false, 0); err != nil {
		return "", err
	}
	dir = m.dir + "/" + deleteDirName(tp, unique)
	if err := m.fs.Rename(m.path(tp), dir); err != nil {
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
