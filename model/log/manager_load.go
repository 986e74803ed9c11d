package log

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/quirk"
	"github.com/simkafka/simkafka/model/vfs"
)

const (
	lockFile            = ".lock"
	remoteLogIndexCache = "remote-log-index-cache"
	clusterMetadata     = "__cluster_metadata"
)

// Start makes the directory if it is missing, takes the marker of a clean stop
// away, reads the checkpoints and lists the partitions (storage 7.1). LoadStep then
// loads them.
func (m *Manager) Start() error {
	if err := m.fs.MkdirAll(m.dir); err != nil {
		return fmt.Errorf("log: make directory %s: %w", m.dir, err)
	}
	if err := m.takeLock(); err != nil {
		return err
	}
	var err error
	if m.configFor("").Quirks.Has(quirk.MarkerOutlivesCrash) {
		m.clean, err = vfs.Exists(m.fs, m.dir+"/"+cleanShutdownFile)
	} else {
		m.clean, err = takeCleanShutdown(m.fs, m.dir)
	}
	if err != nil {
		return err
	}
	m.load = new(loading)
	if m.load.recoveryPoints, err = m.readLeniently(RecoveryPointCheckpoint); err != nil {
		return err
	}
	if m.load.logStart, err = m.readLeniently(LogStartOffsetCheckpoint); err != nil {
		return err
	}
	if m.load.highWatermarks, err = ReadOffsetCheckpoint(m.fs, m.dir, HighWatermarkCheckpoint); err != nil {
		return dirError(m.dir, err)
	}
	// Without the file no log was ever cleaned; it comes with the first cleaning.
	if there, err := vfs.Exists(m.fs, m.dir+"/"+CleanerOffsetCheckpoint); err != nil {
		return err
	} else if there {
		if m.load.cleaned, err = m.readLeniently(CleanerOffsetCheckpoint); err != nil {
			return err
		}
	}
	return m.listPartitions()
}

// ErrLocked: another process uses the data directory.
var ErrLocked = errors.New("log: another process uses the directory")

// takeLock makes the .lock file and locks it, where that can be done.
func (m *Manager) takeLock() error {
	path := m.dir + "/" + lockFile
	if _, err := readOrCreate(m.fs, path); err != nil {
		return err
	}
	fs, ok := m.fs.(vfs.Locker)
	if !ok {
		return nil
	}
	lock, err := fs.TryLock(path)
	if err == nil && lock == nil {
		err = ErrLocked
	}
	if err != nil {
		return fmt.Errorf("log: lock %s: %w", path, err)
	}
	m.lock = lock
	return nil
}

// unlock gives the directory up.
func (m *Manager) unlock() error {
	if m.lock == nil {
		return nil
	}
	lock := m.lock
	m.lock = nil
	return lock.Unlock()
}

// readLeniently takes a checkpoint that cannot be parsed for empty (storage 5.2).
func (m *Manager) readLeniently(name string) ([]OffsetEntry, error) {
	entries, err := ReadOffsetCheckpoint(m.fs, m.dir, name)
	if corrupt := (*CorruptError)(nil); errors.As(err, &corrupt) && !m.configFor("").Quirks.Has(quirk.CorruptCheckpointFatal) {
		return nil, nil
	}
	return entries, err
}

func (m *Manager) listPartitions() error {
	names, err := m.fs.List(m.dir)
	if err != nil {
		return fmt.Errorf("log: list %s: %w", m.dir, err)
	}
	for _, name := range names {
		path := m.dir + "/" + name
		info, err := m.fs.Stat(path)
		if err != nil {
			return fmt.Errorf("log: stat %s: %w", path, err)
		}
		if info.IsDir {
			if err := m.noteDir(name, path); err != nil {
				return err
			}
		}
	}
	slices.SortFunc(m.load.partitions, func(a, b partitionDir) int {
		return cmp.Or(b.tp.Compare(a.tp), strings.Compare(b.path, a.path))
	})
	return nil
}

// noteDir decides what a directory is by its name (storage 0). One that is none of a partition ends the
// start of a broker (UnifiedLog.parseTopicPartitionName's KafkaException), and no directory is blamed.
func (m *Manager) noteDir(name, path string) error {
	if name == remoteLogIndexCache {
		return nil
	}
	tp, kind, err := ParseDirName(name)
	if err != nil {
		return &CorruptError{File: path, Err: err}
	}
	switch {
	case tp.Topic == clusterMetadata:
	case kind == StrayDir:
		m.strays = append(m.strays, path)
	case kind == DeleteDir:
		m.deletes = append(m.deletes, path)
	default:
		m.load.partitions = append(m.load.partitions, partitionDir{tp, path, kind == FutureDir})
	}
	return nil
}

// LoadStep does a bounded piece of the loading. loaded is the partition that it
// has finished, if any, with its high watermark from the checkpoint (cluster
// L-10); done tells that all are loaded.
func (m *Manager) LoadStep(now kafka.TimestampMs) (loaded *Replica, done bool, err error) {
	if m.load == nil {
		return nil, true, nil
	}
	n := len(m.load.partitions)
	if n == 0 {
		m.load = nil
		return nil, true, nil
	}
	d := &m.load.partitions[n-1]
	if m.load.loader == nil {
		if m.load.loader, err = m.open(d, now); err != nil {
			return nil, false, err
		}
	}
	finished, err := m.load.loader.Step()
	if err != nil || !finished {
		return nil, false, err
	}
	loaded, err = m.enter(d, m.load.loader.Log())
	if err != nil {
		return nil, false, err
	}
	m.load.loader = nil
	if m.load.partitions = m.load.partitions[:n-1]; n == 1 {
		m.load = nil
	}
	return loaded, m.load == nil, nil
}

func (m *Manager) open(d *partitionDir, now kafka.TimestampMs) (*Loader, error) {
	return Open(m.fs, d.path, m.configFor(d.tp.Topic), OpenParams{
		RecoveryPoint: findOffset(m.load.recoveryPoints, d.tp),
		LogStart:      findOffset(m.load.logStart, d.tp),
		Clean:         m.clean,
		Now:           now,
		Jitter:        m.jitter,
	})
}

// enter takes a loaded log over; of a future one it returns nil.
func (m *Manager) enter(d *partitionDir, l *Log) (*Replica, error) {
	id, err := ReadTopicID(m.fs, l.dir)
	if err != nil {
		return nil, err
	}
	l.SetHighWatermark(findOffset(m.load.highWatermarks, d.tp))
	if d.future {
		m.futures = append(m.futures, Replica{d.tp, id, l})
		return nil, nil
	}
	l.cleanedTo, l.cleaned = lookupOffset(m.load.cleaned, d.tp)
	return m.replicas.enter(Replica{d.tp, id, l})
}
