package log

import (
	"errors"
	"fmt"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/record"
)

// Splitting a segment whose offsets do not fit its indexes, as brokers before 0.11 may
// have left one (LocalLog.splitOverflowedSegment, storage 9.6, KAFKA-6264). What a crash
// leaves of it the loader completes or discards, as for a cleaning.

// maxSplits bounds how many segments of a log are split in one load.
const maxSplits = 10_000

// split puts several segments, each of which holds its offsets, into the place of the one
// that is being recovered; then the load begins anew. It does so in one step. A batch that
// cannot be read, or whose offset is not above those before, ends the load.
func (l *Loader) split() error {
	old := l.scan.seg
	if l.splits++; l.splits > maxSplits {
		return &CorruptError{File: old.file.Name(), Err: errOffsetOverflow}
	}
	parts, err := l.log.copySplit(old, l.p.Now)
	if err == nil {
		err = l.log.swapSplit(old, parts)
	}
	for _, s := range parts {
		err = errors.Join(err, s.close())
	}
	for _, s := range l.log.segments {
		if s != old {
			err = errors.Join(err, s.close())
		}
	}
	if err != nil {
		return err
	}
	splits := l.splits
	*l = newLoader(l.log.place, l.p)
	l.splits = splits
	return nil
}

// copySplit writes the parts of a segment, in files named .cleaned.
func (l *Log) copySplit(old *segment, now kafka.TimestampMs) (parts []*segment, err error) {
	for pos := int64(0); pos < old.size; {
		b, err := old.batchAt(pos)
		if err != nil {
			return parts, err
		}
		n := len(parts)
		if n == 0 || !parts[n-1].fits(b.LastOffset()) {
			if n > 0 && (b.BaseOffset() <= parts[n-1].base || parts[n-1].size == 0) || b.LastOffset() < b.BaseOffset() {
				return parts, &CorruptError{File: old.file.Name(), Pos: pos, Err: errOffsetOverflow}
			}
			if n > 0 {
				if err := l.finishCleaned(parts[n-1]); err != nil {
					return parts, err
				}
			}
			s, err := l.createCleaned(b.BaseOffset(), now)
			if s != nil {
				parts = append(parts, s)
			}
			if err != nil {
				return parts, err
			}
		}
		a := spanOf(b)
		if err := parts[len(parts)-1].append(&l.place, &a); err != nil {
			return parts, err
		}
		pos += int64(len(b))
	}
	return parts, l.finishCleaned(parts[len(parts)-1])
}

// batchAt is a whole, valid batch.
func (s *segment) batchAt(pos int64) (record.Batch, error) {
	h, size, err := s.header(pos)
	if err != nil {
		return nil, err
	}
	if h == nil {
		return nil, &CorruptError{File: s.file.Name(), Pos: pos, Err: errShortFile}
	}
	buf, err := s.file.ReadAt(pos, int(size))
	if err != nil {
		return nil, fmt.Errorf("log: split %s: %w", s.file.Name(), err)
	}
	if int64(len(buf)) < size {
		return nil, &CorruptError{File: s.file.Name(), Pos: pos, Err: errShortFile}
	}
	b := record.Batch(buf)
	if err := b.Check(); err != nil {
		return nil, &CorruptError{File: s.file.Name(), Pos: pos, Err: err}
	}
	return b, nil
}

// swapSplit is LocalLog.replaceSegments of one segment by several.
func (l *Log) swapSplit(old *segment, parts []*segment) error {
	for i := len(parts) - 1; i >= 0; i-- {
		if err := l.renameSegment(parts[i].base, cleanedSuffix, swapSuffix); err != nil {
			return err
		}
	}
	if _, err := old.markDeleted(&l.place, nil); err != nil {
		return err
	}
	for _, s := range parts {
		if err := l.renameSegment(s.base, swapSuffix, ""); err != nil {
			return err
		}
	}
	if err := l.fs.SyncDir(l.dir); err != nil {
		return fmt.Errorf("log: sync directory %s: %w", l.dir, err)
	}
	return nil
}
