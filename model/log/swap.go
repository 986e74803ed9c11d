package log

import (
	"errors"
	"fmt"
	"slices"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/quirk"
	"github.com/simkafka/simkafka/model/vfs"
)

// The segments of a cleaning and how they take the place of others (storage 9.5).
// What a crash leaves of it the loader completes or discards (loader_swap.go).

// groupSegments puts consecutive segments together as long as one segment can hold
// them (groupSegmentsBySize).
func (l *Log) groupSegments(segments []*segment, uncleanable kafka.Offset) (groups [][]*segment, err error) {
	for first := 0; first < len(segments); {
		n := first
		var logBytes, indexBytes, timeBytes int64
		for ; n < len(segments); n++ {
			s := segments[n]
			if err := s.loadIndexes(&l.place); err != nil {
				return nil, err
			}
			logBytes += s.size
			indexBytes += int64(len(s.offsets.entries))
			timeBytes += int64(len(s.times.entries))
			last := uncleanable - 1
			if n+1 < len(segments) {
				last = segments[n+1].base - 1
			}
			limit := int64(l.cfg.SegmentIndexBytes)
			if n > first && (logBytes > int64(l.cfg.SegmentBytes) || indexBytes > limit || timeBytes > limit ||
				s.size > 0 && last-segments[first].base > maxRelativeOffset) {
				break
			}
		}
		groups = append(groups, segments[first:n:n])
		first = n
	}
	return groups, nil
}

// endOf is where the segment after s begins, or what follows the last record of s.
func (l *Log) endOf(s *segment) (kafka.Offset, error) {
	if i := l.floorIndex(s.base); i >= 0 && i+1 < len(l.segments) {
		return l.segments[i+1].base, nil
	}
	return s.nextOffset(&l.place)
}

// has tells that the segments are the log's, one after the other.
func (l *Log) has(segments []*segment) bool {
	i := l.floorIndex(segments[0].base)
	return i >= 0 && i+len(segments) < len(l.segments) && slices.Equal(l.segments[i:i+len(segments)], segments)
}

// cleanedPath is where a file of a new segment is before it is swapped in.
func (l *Log) cleanedPath(base kafka.Offset, suffix string) string {
	return markedPath(l.dir, base, suffix, cleanedSuffix)
}

func (l *Log) removeCleanedFiles(base kafka.Offset) error {
	return removeSegmentFiles(l.fs, filePath(l.dir, base, ""), cleanedSuffix)
}

// createCleaned makes an empty segment in files named .cleaned, which it holds open:
// until it is swapped in, its names are not those that a segment has.
func (l *Log) createCleaned(base kafka.Offset, now kafka.TimestampMs) (*segment, error) {
	if err := l.removeCleanedFiles(base); err != nil {
		return nil, err
	}
	f, err := l.fs.Create(l.cleanedPath(base, logSuffix))
	if err != nil {
		return nil, fmt.Errorf("log: create cleaned segment: %w", err)
	}
	s := &segment{base: base, file: f, created: now, jitterMs: l.cfg.rollJitterMs(l.jitter, l.dir, base)}
	s.maxTs, s.maxTsKnown = timestampOffset{kafka.NoTimestamp, base}, true
	if err := s.offsets.create(&l.place, l.cleanedPath(base, indexSuffix), offsetEntrySize); err != nil {
		return s, err
	}
	return s, s.times.create(&l.place, l.cleanedPath(base, timeIndexSuffix), timeEntrySize)
}

// noteCleanedTxn enters an aborted transaction into a segment that is not swapped in.
func (l *Log) noteCleanedTxn(s *segment, a AbortedTxn) error {
	if s.txns == nil {
		f, err := l.fs.Create(l.cleanedPath(s.base, txnIndexSuffix))
		if err != nil {
			return fmt.Errorf("log: create cleaned transaction index: %w", err)
		}
		s.txns = &txnIndex{file: f}
	}
	return s.txns.append(&l.place, s.base, a)
}

// finishCleaned closes the indexes of a new segment and makes its files durable, not
// their names.
func (l *Log) finishCleaned(s *segment) error {
	if err := s.deactivate(&l.place); err != nil {
		return err
	}
	if l.cfg.Preallocate && l.cfg.Quirks.Has(quirk.CleanedPreallocated) {
		if err := s.file.Truncate(max(s.size, int64(l.cfg.SegmentBytes))); err != nil {
			return fmt.Errorf("log: preallocate cleaned segment: %w", err)
		}
	}
	err := errors.Join(s.file.Sync(), s.offsets.file.Sync(), s.times.file.Sync())
	if s.txns != nil {
		err = errors.Join(err, s.txns.file.Sync())
	}
	if err != nil {
		return fmt.Errorf("log: sync cleaned segment %s: %w", s.file.Name(), err)
	}
	return nil
}

// copyModTime gives the files of a new segment, which are named .cleaned, the time of the
// last one that it replaces: that of records without a timestamp.
func (l *Log) copyModTime(s, last *segment) error {
	fs, ok := l.fs.(vfs.ModTimer)
	if !ok {
		return nil
	}
	info, err := l.fs.Stat(filePath(l.dir, last.base, logSuffix))
	if err != nil {
		return fmt.Errorf("log: stat segment: %w", err)
	}
	for _, suffix := range [...]string{logSuffix, indexSuffix, timeIndexSuffix} {
		if err := fs.SetModTime(l.cleanedPath(s.base, suffix), info.ModTime); err != nil {
			return fmt.Errorf("log: time of cleaned segment: %w", err)
		}
	}
	return nil
}

// swapIn puts s into the place of old, which are consecutive segments of the log, the
// first with the same base (LocalLog.replaceSegments). After an error the log is of no
// use.
func (l *Log) swapIn(s *segment, old []*segment) error {
	if err := l.renameSegment(s.base, cleanedSuffix, swapSuffix); err != nil {
		return err
	}
	i := l.floorIndex(s.base)
	l.segments = slices.Replace(l.segments, i, i+len(old), s)
	l.hints.clear()
	for _, o := range old {
		var err error
		if l.deleted, err = o.markDeleted(&l.place, l.deleted); err != nil {
			return err
		}
	}
	if err := l.renameSegment(s.base, swapSuffix, ""); err != nil {
		return err
	}
	if err := l.fs.SyncDir(l.dir); err != nil {
		return fmt.Errorf("log: sync directory %s: %w", l.dir, err)
	}
	for _, o := range old[1:] {
		if err := l.markSnapshotDeleted(o.base); err != nil {
			return err
		}
	}
	return l.reopen(s)
}

func (l *Log) renameSegment(base kafka.Offset, from, to string) error {
	stem := filePath(l.dir, base, "")
	for _, suffix := range segmentSuffixes {
		if _, err := renameFile(l.fs, stem+suffix+from, stem+suffix+to); err != nil {
			return err
		}
	}
	return nil
}

// reopen lets go of the handles that s was written with, so that later ones have the
// names of its files.
func (l *Log) reopen(s *segment) error {
	f, err := l.fs.Open(filePath(l.dir, s.base, logSuffix))
	if err != nil {
		return fmt.Errorf("log: open cleaned segment: %w", err)
	}
	if err := s.close(); err != nil {
		return err
	}
	s.file = f
	return nil
}

// CleanedTo is the exclusive end of what cleanings have seen, the log's line of
// cleaner-offset-checkpoint; found is false if there was none yet.
func (l *Log) CleanedTo() (o kafka.Offset, found bool) { return l.cleanedTo, l.cleaned }
