package log

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/vfs"
)

const (
	lockFile        = ".lock"
	deleteDirSuffix = "-delete"
	futureDirSuffix = "-future"
	strayDirSuffix  = "-stray"

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
	if _, err := readOrCreate(m.fs, m.dir+"/"+lockFile); err != nil {
		return err
	}
	var err error
	if m.clean, err = takeCleanShutdown(m.fs, m.dir); err != nil {
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
		return err
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

// readLeniently takes a checkpoint that cannot be parsed for empty (storage 5.2).
func (m *Manager) readLeniently(name string) ([]OffsetEntry, error) {
	entries, err := ReadOffsetCheckpoint(m.fs, m.dir, name)
	if corrupt := (*CorruptError)(nil); errors.As(err, &corrupt) {
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
	slices.SortFunc(m.load.partitions, func(a, b kafka.TopicPartition) int { return b.Compare(a) })
	return nil
}

// noteDir decides what a directory is by its name (storage 0).
func (m *Manager) noteDir(name, path string) error {
	switch {
	case name == remoteLogIndexCache:
		return nil
	case strings.HasSuffix(name, futureDirSuffix), strings.HasSuffix(name, strayDirSuffix):
		return nil
	case strings.HasSuffix(name, deleteDirSuffix):
		if !isDeleteDir(name) {
			return &CorruptError{File: path, Err: errDirName}
		}
		m.deletes = append(m.deletes, path)
		return nil
	}
	tp, err := kafka.ParseTopicPartition(name)
	if err != nil {
		return &CorruptError{File: path, Err: err}
	}
	if tp.Topic != clusterMetadata {
		m.load.partitions = append(m.load.partitions, tp)
	}
	return nil
}

var errDirName = errors.New("not the name of a partition's directory")

// isDeleteDir checks topic-partition.<32 hex digits>-delete.
func isDeleteDir(name string) bool {
	name = strings.TrimSuffix(name, deleteDirSuffix)
	dot := strings.LastIndexByte(name, '.')
	if dot < 0 || len(name)-dot-1 != 32 {
		return false
	}
	_, err := kafka.ParseTopicPartition(name[:dot])
	return err == nil
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
	tp := m.load.partitions[n-1]
	if m.load.loader == nil {
		if m.load.loader, err = m.open(tp, now); err != nil {
			return nil, false, err
		}
	}
	finished, err := m.load.loader.Step()
	if err != nil || !finished {
		return nil, false, err
	}
	loaded, err = m.enter(tp, m.load.loader.Log())
	if err != nil {
		return nil, false, err
	}
	m.load.loader = nil
	if m.load.partitions = m.load.partitions[:n-1]; n == 1 {
		m.load = nil
	}
	return loaded, m.load == nil, nil
}

func (m *Manager) open(tp kafka.TopicPartition, now kafka.TimestampMs) (*Loader, error) {
	return Open(m.fs, m.path(tp), m.configFor(tp.Topic), OpenParams{
		RecoveryPoint: findOffset(m.load.recoveryPoints, tp),
		LogStart:      findOffset(m.load.logStart, tp),
		Clean:         m.clean,
		Now:           now,
		Jitter:        m.jitter,
	})
}

func (m *Manager) enter(tp kafka.TopicPartition, l *Log) (*Replica, error) {
	id, err := ReadTopicID(m.fs, l.dir)
	if err != nil {
		return nil, err
	}
	l.SetHighWatermark(findOffset(m.load.highWatermarks, tp))
	l.cleanedTo, l.cleaned = lookupOffset(m.load.cleaned, tp)
	i, _ := m.find(tp)
	m.replicas = slices.Insert(m.replicas, i, Replica{tp, id, l})
	return &m.replicas[i], nil
}
