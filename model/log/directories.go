package log

import (
	"errors"
	"slices"
	"strings"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/vfs"
)

// Directories keeps the logs of all data directories of a broker (LogManager; log.dirs).
// A directory that fails takes its partitions with it, not those of the others.
type Directories struct {
	fs       vfs.FS
	all      []*Manager // as configured
	replicas replicas   // of those that are online, sorted by TP
	// failed is told of the failure of a directory that was online. What it returns goes
	// up: nil lets the others carry on.
	failed func(*DirError) error
}

// NewDirectories is the manager of data directories, which are given as configured.
// configFor and jitter are as for NewManager. failed hears of each failure of a directory
// within one of the methods here; it may call Fail. Those of logs come back from them, as
// a *DirError.
func NewDirectories(fs vfs.FS, dirs []string, configFor func(topic string) *Config, jitter Jitter, failed func(*DirError) error) *Directories {
	d := &Directories{fs: fs, failed: failed}
	for _, dir := range dirs {
		d.all = append(d.all, NewManager(fs, dir, configFor, jitter))
	}
	return d
}

// All lists the directories, as configured.
func (d *Directories) All() []*Manager { return d.all }

// Online is the number of directories that have not failed.
func (d *Directories) Online() (n int) {
	for _, m := range d.all {
		if !m.offline {
			n++
		}
	}
	return n
}

// Of is the directory that holds a path; nil if none does.
func (d *Directories) Of(path string) *Manager {
	for _, m := range d.all {
		if path == m.dir || strings.HasPrefix(path, m.dir) && path[len(m.dir)] == '/' {
			return m
		}
	}
	return nil
}

// check adds the directory to an error and asks what to make of it.
func (d *Directories) check(m *Manager, err error) error {
	var failed *DirError
	if err = dirError(m.dir, err); !errors.As(err, &failed) {
		return err
	}
	return d.failed(failed)
}

// Fail takes a directory offline (handleLogDirFailure): nothing is written to it any more,
// and no partition is made in it. TakeOffline takes its partitions out. It reports whether
// the directory was online.
func (d *Directories) Fail(dir string) bool {
	m := d.Of(dir)
	if m == nil || m.offline {
		return false
	}
	m.offline = true
	return true
}

// TakeOffline takes the partitions of the directories that have failed out, which it
// returns; their files are closed, as far as that is possible.
func (d *Directories) TakeOffline() (gone []Replica) {
	for _, m := range d.all {
		if !m.offline {
			continue
		}
		gone = append(gone, m.replicas...)
		for _, list := range [...][]Replica{m.replicas, m.futures} {
			for _, r := range list {
				_ = r.Log.closeHandles() // the directory has failed already
			}
		}
		_ = m.unlock()
		m.replicas, m.futures, m.deletes, m.load = nil, nil, nil, nil
	}
	if len(gone) > 0 {
		d.replicas = slices.DeleteFunc(d.replicas, func(r Replica) bool { return d.Of(r.Log.dir).offline })
	}
	return gone
}

// Start is Manager.Start for one directory. A *CorruptError that is not in a *DirError is as that of LoadStep.
func (d *Directories) Start(m *Manager) error {
	err := m.Start()
	if err != nil && endsStart(err) {
		return err
	}
	return d.check(m, err)
}

// LoadStep does a bounded piece of the loading, directory by directory. loaded is the
// partition that it has finished, if any, and in is where it lies; done tells that all
// are loaded. A *DuplicateError, or a *CorruptError that is not in a *DirError, ends the start
// of the broker; it is no failure of a directory.
func (d *Directories) LoadStep(now kafka.TimestampMs) (loaded *Replica, in *Manager, done bool, err error) {
	for _, m := range d.all {
		if m.offline || m.load == nil {
			continue
		}
		loaded, _, err = m.LoadStep(now)
		switch {
		case err != nil && !endsStart(err):
			return nil, m, false, d.check(m, err)
		case err != nil:
			return nil, m, false, err
		case loaded != nil:
			loaded, err = d.replicas.enter(*loaded)
		}
		return loaded, m, err == nil && d.loaded(), err
	}
	return nil, nil, true, nil
}

func endsStart(err error) bool {
	var failed *DirError
	if errors.As(err, &failed) {
		return false
	}
	var corrupt *CorruptError
	var duplicate *DuplicateError
	return errors.As(err, &corrupt) || errors.As(err, &duplicate)
}

func (d *Directories) loaded() bool {
	return !slices.ContainsFunc(d.all, func(m *Manager) bool { return !m.offline && m.load != nil })
}

// Replicas lists the partitions by topic and number; valid until one is made or
// deleted, or a directory fails, and not to be written to.
func (d *Directories) Replicas() []Replica { return d.replicas }

// Get is the partition's log; nil if there is none.
func (d *Directories) Get(tp kafka.TopicPartition) *Log { return d.replicas.get(tp) }

// next is the directory for a new partition: that with the fewest, future ones included;
// of equals the first as configured (nextLogDirs). nil if all have failed.
func (d *Directories) next() (best *Manager) {
	for _, m := range d.all {
		if !m.offline && (best == nil || m.count() < best.count()) {
			best = m
		}
	}
	return best
}

func (m *Manager) count() int { return len(m.replicas) + len(m.futures) }

// Create makes a partition's log in the directory with the fewest partitions. With isNew
// false the replica should have a log: ErrDirsOffline, if a directory is offline that may
// have it. A directory that fails at this is left out, as long as there is another. The
// partition must not be there.
func (d *Directories) Create(tp kafka.TopicPartition, id kafka.TopicID, isNew bool, now kafka.TimestampMs) (*Log, error) {
	if !isNew && d.Online() < len(d.all) {
		return nil, ErrDirsOffline
	}
	for m := d.next(); m != nil; m = d.next() {
		l, err := m.Create(tp, id, now)
		if err == nil {
			i, _ := d.replicas.find(tp)
			d.replicas = slices.Insert(d.replicas, i, Replica{tp, id, l})
			return l, nil
		}
		if err := d.check(m, err); err != nil {
			return nil, err
		}
	}
	return nil, ErrDirsOffline
}

// SetTopicID writes partition.metadata for a partition that had none.
func (d *Directories) SetTopicID(tp kafka.TopicPartition, id kafka.TopicID) error {
	i, found := d.replicas.find(tp)
	if !found || d.replicas[i].TopicID == id {
		return nil
	}
	m := d.Of(d.replicas[i].Log.dir)
	if err := m.SetTopicID(tp, id); err != nil {
		return dirError(m.dir, err)
	}
	d.replicas[i].TopicID = id
	return nil
}

// Delete takes a partition out, and its future log, as Manager.Delete and DeleteFuture
// do. unique draws what makes a name unique. A partition that is not there is
// ErrDirsOffline if a directory is offline.
func (d *Directories) Delete(tp kafka.TopicPartition, unique func() [16]byte) (dirs []string, err error) {
	i, found := d.replicas.find(tp)
	if !found && d.Online() < len(d.all) {
		return nil, ErrDirsOffline
	}
	if found {
		m := d.Of(d.replicas[i].Log.dir)
		d.replicas = slices.Delete(d.replicas, i, i+1)
		dir, err := m.Delete(tp, unique())
		if dir != "" {
			dirs = append(dirs, dir)
		}
		if err != nil {
			return dirs, dirError(m.dir, err)
		}
	}
	for _, m := range d.all {
		if m.offline || !slices.ContainsFunc(m.futures, func(r Replica) bool { return r.TP == tp }) {
			continue
		}
		dir, err := m.DeleteFuture(tp, unique())
		if err != nil {
			return dirs, dirError(m.dir, err)
		}
		dirs = append(dirs, dir)
	}
	return dirs, nil
}

// MarkedForDeletion lists the directories that an earlier life had marked.
func (d *Directories) MarkedForDeletion() (dirs []string) {
	for _, m := range d.all {
		dirs = append(dirs, m.deletes...)
	}
	return dirs
}

// RemoveDir removes a directory that was marked for deletion. It may be gone already.
func (d *Directories) RemoveDir(dir string) error {
	m := d.Of(dir)
	if m.offline {
		return nil
	}
	return d.check(m, m.RemoveDir(dir))
}

// RemoveFiles removes files that Log.TakeDeleted handed out, all of one log.
func (d *Directories) RemoveFiles(files []string) error {
	if len(files) == 0 {
		return nil
	}
	m := d.Of(files[0])
	if m.offline {
		return nil
	}
	return d.check(m, RemoveFiles(d.fs, files))
}

func (d *Directories) each(do func(*Manager) error) error {
	for _, m := range d.all {
		if m.offline {
			continue
		}
		if err := d.check(m, do(m)); err != nil {
			return err
		}
	}
	return nil
}

// WriteRecoveryPoints is Manager.WriteRecoveryPoints for each directory.
func (d *Directories) WriteRecoveryPoints() error { return d.each((*Manager).WriteRecoveryPoints) }

// WriteLogStartOffsets is Manager.WriteLogStartOffsets for each directory.
func (d *Directories) WriteLogStartOffsets() error { return d.each((*Manager).WriteLogStartOffsets) }

// WriteHighWatermarks is Manager.WriteHighWatermarks for each directory.
func (d *Directories) WriteHighWatermarks() error { return d.each((*Manager).WriteHighWatermarks) }

// WriteCleanerOffsets is Manager.WriteCleanerOffsets for the directory of a log.
func (d *Directories) WriteCleanerOffsets(l *Log) error {
	m := d.Of(l.dir)
	if m.offline {
		return nil
	}
	return d.check(m, m.WriteCleanerOffsets())
}

// WriteRecoveryPointsOf is Manager.WriteRecoveryPoints for the directory of a log.
func (d *Directories) WriteRecoveryPointsOf(l *Log) error {
	m := d.Of(l.dir)
	if m.offline {
		return nil
	}
	return d.check(m, m.WriteRecoveryPoints())
}

// StopStep is Manager.StopStep, directory by directory. One that fails gets no marker.
func (d *Directories) StopStep(broker kafka.BrokerEpoch, now kafka.TimestampMs) (done bool, err error) {
	for _, m := range d.all {
		if m.offline || m.ended {
			continue
		}
		_, err = m.StopStep(broker, now)
		if err = d.check(m, err); err != nil {
			return false, err
		}
		break
	}
	return !slices.ContainsFunc(d.all, func(m *Manager) bool { return !m.offline && !m.ended }), nil
}
