package log

import (
	"errors"
	"fmt"
	"slices"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/vfs"
)

// FlushJob is a flush to be done in the background: when all of Files and Dirs
// are synced, everything below UpTo is durable.
type FlushJob struct {
	UpTo  kafka.Offset
	Files []vfs.File
	Dirs  []string

	cuts      uint32     // Log.cuts when it was issued
	snapshots []vfs.File // those of Files that are only for the flush
}

// Release lets go of what a flush that is through held open. FlushDone does so; of a
// log that is gone meanwhile the caller does.
func (j *FlushJob) Release() error {
	var err error
	for _, f := range j.snapshots {
		err = errors.Join(err, f.Close())
	}
	j.snapshots = nil
	return err
}

// Flush syncs everything below upTo, in the foreground (storage 2.4).
func (l *Log) Flush(upTo kafka.Offset, now kafka.TimestampMs) error {
	if err := l.usable(); err != nil {
		return err
	}
	if upTo <= l.recoveryPoint {
		return nil
	}
	return l.flush(upTo, upTo, now)
}

// FlushIfDue flushes a log that was not flushed for flush.ms
// (LogManager.flushDirtyLogs).
func (l *Log) FlushIfDue(now kafka.TimestampMs) error {
	if int64(now-l.lastFlush) < l.cfg.FlushMs {
		return nil
	}
	return l.Flush(l.leo, now)
}

// flushedTo moves the recovery point forward.
func (l *Log) flushedTo(o kafka.Offset, now kafka.TimestampMs) {
	if o > l.recoveryPoint {
		l.recoveryPoint, l.lastFlush = o, now
	}
}

// flush syncs the segments from the one that holds the recovery point to those
// that begin below end, and moves the recovery point to upTo.
func (l *Log) flush(end, upTo kafka.Offset, now kafka.TimestampMs) error {
	files, newFiles, err := l.unflushed(end)
	if err != nil {
		return l.fail(err)
	}
	for _, f := range files {
		if err := f.Sync(); err != nil {
			return l.fail(fmt.Errorf("log: sync %s: %w", f.Name(), err))
		}
	}
	if newFiles {
		if err := l.fs.SyncDir(l.dir); err != nil {
			return l.fail(fmt.Errorf("log: sync directory %s: %w", l.dir, err))
		}
	}
	l.flushedTo(upTo, now)
	return nil
}

// unflushed lists the files of the segments from floor(recovery point) on that
// begin below end, and of those before them that were rolled when all they held was
// flushed already: Kafka leaves the lengths of their indexes to the operating system.
// newFiles tells that one of them may lack a durable directory entry: it begins at the
// recovery point or later.
func (l *Log) unflushed(end kafka.Offset) (files []vfs.File, newFiles bool, err error) {
	i := max(0, l.floorIndex(l.recoveryPoint))
	for i > 0 && l.segments[i-1].trimmed {
		i--
	}
	for ; i < len(l.segments); i++ {
		s := l.segments[i]
		if s.base >= end {
			break
		}
		s.trimmed = false
		if err := s.openIndexes(&l.place); err != nil {
			return nil, false, err
		}
		files = append(files, s.file, s.offsets.file, s.times.file)
		if s.txns != nil {
			files = append(files, s.txns.file)
		}
		newFiles = newFiles || s.base >= l.recoveryPoint
	}
	return files, newFiles, nil
}

// PendingFlush takes the flush that the last rolls have left to do; ok is false if
// there is none. Its end goes to FlushDone. A failure to open a file shows in
// Failure.
func (l *Log) PendingFlush() (job FlushJob, ok bool) {
	if l.flushTo <= l.recoveryPoint && len(l.unsynced) == 0 || l.failure != nil {
		return FlushJob{}, false
	}
	files, newFiles, err := l.unflushed(l.flushTo)
	if err != nil {
		l.fail(err)
		return FlushJob{}, false
	}
	job = FlushJob{UpTo: l.flushTo, Files: slices.Concat(l.unsynced, files), cuts: l.cuts, snapshots: l.unsynced}
	l.unsynced = nil
	if newFiles {
		job.Dirs = []string{l.dir}
	}
	l.flushTo = 0
	return job, true
}

// FlushDone tells that a background flush has ended: the recovery point moves, or
// with an error the log goes offline. If the log was truncated meanwhile, what was
// synced may not be what it holds now: the flush is asked for again.
func (l *Log) FlushDone(job FlushJob, now kafka.TimestampMs, err error) error {
	if releaseErr := job.Release(); err == nil {
		err = releaseErr
	}
	if err != nil {
		return l.fail(fmt.Errorf("log: flush %s: %w", l.dir, err))
	}
	if job.cuts != l.cuts {
		l.flushTo = max(l.flushTo, l.active().base)
		return nil
	}
	l.flushedTo(job.UpTo, now)
	return nil
}

// Close ends the use of the log. A clean close flushes all of it, the active
// segment included, and leaves indexes and log files cut to what they hold, so
// that the next load can trust them (storage 7.1); the recovery point is then the
// log's end. Else only the handles go, as after a failure.
func (l *Log) Close(clean bool, now kafka.TimestampMs) error {
	if !clean || l.failure != nil {
		return l.closeHandles()
	}
	// One past the end, so that an empty active segment is synced too.
	if err := l.flush(l.leo+1, l.leo, now); err != nil {
		return err
	}
	// The next start need not read the log for its producers.
	if err := l.takeSnapshot(&l.producers, true); err != nil {
		return l.fail(err)
	}
	if err := l.closeSnapshots(); err != nil {
		return l.fail(err)
	}
	for _, s := range l.segments {
		if err := s.closeClean(&l.place); err != nil {
			return l.fail(err)
		}
	}
	return nil
}

// closeSnapshots lets go of the snapshots whose background flush has not begun.
func (l *Log) closeSnapshots() error {
	job := FlushJob{snapshots: l.unsynced}
	l.unsynced = nil
	return job.Release()
}

func (l *Log) closeHandles() error {
	first := l.closeSnapshots()
	for _, s := range l.segments {
		if err := s.close(); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// closeClean closes a segment so that the lengths of its files tell what they
// hold. Kafka before 4.3 did not sync the trimmed indexes (KAFKA-20979, storage
// trap 57); here they are.
func (s *segment) closeClean(p *place) error {
	if s.maxTsKnown {
		if err := s.times.load(p, s.base); err != nil {
			return err
		}
		if err := s.times.maybeAppend(p, s.base, s.maxTs, true); err != nil {
			return err
		}
	}
	if err := closeIndex(&s.times.indexFile); err != nil {
		return err
	}
	if err := closeIndex(&s.offsets.indexFile); err != nil {
		return err
	}
	if s.txns != nil {
		if err := s.txns.close(); err != nil {
			return err
		}
	}
	if err := s.trimLog(); err != nil {
		return err
	}
	if err := s.file.Sync(); err != nil {
		return fmt.Errorf("log: sync %s: %w", s.file.Name(), err)
	}
	if err := s.file.Close(); err != nil {
		return fmt.Errorf("log: close %s: %w", s.file.Name(), err)
	}
	return nil
}

// closeIndex trims and closes an index that was used.
func closeIndex(x *indexFile) error {
	if !x.loaded || x.file == nil {
		return x.close()
	}
	if err := x.trim(); err != nil {
		return err
	}
	if err := x.file.Sync(); err != nil {
		return fmt.Errorf("log: sync %s: %w", x.file.Name(), err)
	}
	return x.close()
}
