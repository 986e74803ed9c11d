package log

import (
	"errors"
	"slices"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/record"
	"github.com/simkafka/simkafka/model/vfs"
)

// Log is one replica's log (UnifiedLog and LocalLog).
//
// Invariant: LogStartOffset <= LastStableOffset <= HighWatermark <= LogEndOffset;
// there is at least one segment, the last is active; recovery point <= LogEndOffset.
type Log struct {
	place
	jitter   Jitter
	limits   *record.Limits // made at the first append as leader
	segments []*segment     // by base offset
	epochs   epochCache
	deleted  []string // files that TakeDeleted hands out
	failure  error    // the error that took the directory offline

	producers producerState
	snapshots []kafka.Offset // producer snapshots that are there, ascending
	unsynced  []vfs.File     // snapshots that wait for a background flush

	logStart      kafka.Offset
	leo           kafka.Offset
	hw            kafka.Offset
	recoveryPoint kafka.Offset
	// flushTo is the base of the newest segment whose predecessors wait for a
	// background flush; 0 if none does.
	flushTo kafka.Offset
	// cleanedTo is the exclusive end of what cleanings have seen, if cleaned.
	cleanedTo kafka.Offset
	cleaned   bool
	// cleanedCut: a truncation has lowered cleanedTo since the checkpoint was written.
	cleanedCut bool
	// lastFlush is when the recovery point last moved, or the log was opened: flush.ms
	// counts from there.
	lastFlush kafka.TimestampMs
	cuts      uint32 // truncations so far
	// holes are the offsets that recovery found missing between segments, ascending and
	// apart; at most one for each segment.
	holes []Hole

	hints hints
}

// Segment describes a segment to reports and to retention.
type Segment struct {
	Base      kafka.Offset
	Size      int64  // bytes of batches
	File      string // path of the .log file
	IndexSize int    // bytes of entries in use; 0 if the index was not read yet
	TimeSize  int
}

func (l *Log) active() *segment { return l.segments[len(l.segments)-1] }

// floorIndex is the index of the last segment with base <= offset, -1 if there is
// none.
func (l *Log) floorIndex(offset kafka.Offset) int { return floorOf(l.segments, offset) }

func floorOf(segments []*segment, offset kafka.Offset) int {
	if n := len(segments); n > 0 && segments[n-1].base <= offset {
		return n - 1
	}
	i, found := slices.BinarySearchFunc(segments, offset, func(s *segment, o kafka.Offset) int {
		return compareOffsets(s.base, o)
	})
	if found {
		return i
	}
	return i - 1
}

func compareOffsets(a, b kafka.Offset) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// Dir is the partition's directory.
func (l *Log) Dir() string { return l.dir }

// Config is the configuration in use; it is shared.
func (l *Log) Config() *Config { return l.cfg }

// SetConfig replaces the configuration, from the next append on.
func (l *Log) SetConfig(c *Config) { l.cfg, l.limits = c, nil }

// LogStartOffset is the first offset that may be read.
func (l *Log) LogStartOffset() kafka.Offset { return l.logStart }

// LogEndOffset is the offset of the next record (exclusive end).
func (l *Log) LogEndOffset() kafka.Offset { return l.leo }

// HighWatermark is the exclusive end of what consumers see.
func (l *Log) HighWatermark() kafka.Offset { return l.hw }

// RecoveryPoint is the offset below which everything is synced.
func (l *Log) RecoveryPoint() kafka.Offset { return l.recoveryPoint }

// LastEpoch is the latest leader epoch, kafka.NoLeaderEpoch if none is known.
func (l *Log) LastEpoch() kafka.LeaderEpoch { return l.epochs.latest() }

// LatestEpoch is LastEpoch.
func (l *Log) LatestEpoch() kafka.LeaderEpoch { return l.epochs.latest() }

// Segments lists the segments in offset order.
func (l *Log) Segments() []Segment {
	out := make([]Segment, 0, len(l.segments))
	for _, s := range l.segments {
		out = append(out, Segment{
			Base: s.base, Size: s.size, File: filePath(l.dir, s.base, logSuffix),
			IndexSize: len(s.offsets.entries), TimeSize: len(s.times.entries),
		})
	}
	return out
}

// Hole is a run of offsets that no segment has; To is exclusive.
type Hole struct{ From, To kafka.Offset }

// Holes are what recovery found missing between segments, also what a cleaner took there.
// The caller does not change it.
func (l *Log) Holes() []Hole { return l.holes }

// ActiveBase is the offset at which the active segment begins.
func (l *Log) ActiveBase() kafka.Offset { return l.active().base }

// Size is the bytes of all batches.
func (l *Log) Size() int64 {
	var n int64
	for _, s := range l.segments {
		n += s.size
	}
	return n
}

// TakeDeleted hands out the files that were renamed to .deleted since the last
// call. They are to be removed file.delete.delay.ms later with RemoveFiles; a load
// before that removes them.
func (l *Log) TakeDeleted() []string {
	files := l.deleted
	l.deleted = nil
	return files
}

// RemoveFiles removes files that TakeDeleted or Manager.Delete handed out, as far
// as they are still there.
func RemoveFiles(fs vfs.FS, files []string) error {
	for _, name := range files {
		if err := removeFile(fs, name); err != nil {
			return err
		}
	}
	return nil
}

// Failure is the error that took the log offline, nil if none did.
func (l *Log) Failure() error { return l.failure }

// fail remembers an error of the file system or a corrupt file: the log is of no
// use afterwards, since memory and files may differ.
func (l *Log) fail(err error) error {
	if err == nil {
		return nil
	}
	err = dirError(parentDir(l.dir), err)
	if l.failure == nil {
		l.failure = err
	}
	return err
}

// failRead is fail for reads: a corrupt batch spoils the answer, not the log.
func (l *Log) failRead(err error) error {
	if corrupt := (*CorruptError)(nil); errors.As(err, &corrupt) {
		return err
	}
	return l.fail(err)
}

// usable is ErrOffline after a failure.
func (l *Log) usable() error {
	if l.failure == nil {
		return nil
	}
	return errors.Join(ErrOffline, l.failure)
}
