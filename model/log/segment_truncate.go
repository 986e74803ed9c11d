package log

import (
	"fmt"
	"strings"

	"github.com/simkafka/simkafka/model/kafka"
)

// truncateTo drops the batches that hold offset or a later one and their index
// entries, and makes the segment fit to be active (storage 3.4). It returns how
// many bytes of batches were cut.
func (s *segment) truncateTo(p *place, offset kafka.Offset, now kafka.TimestampMs) (int64, error) {
	at, err := s.locate(p, offset, 0)
	if err != nil {
		return 0, err
	}
	if err := s.loadIndexes(p); err != nil {
		return 0, err
	}
	s.offsets.truncateTo(s.base, offset)
	s.times.truncateTo(s.base, offset)
	if s.txns != nil {
		if err := s.txns.truncateTo(p, s.base, offset); err != nil {
			return 0, err
		}
	}
	if err := s.growIndexes(p); err != nil {
		return 0, err
	}
	cut := s.size - at.pos
	if err := s.cutLog(at.pos, now); err != nil {
		return 0, err
	}
	return cut, s.rereadMaxTs(p)
}

// cutLog ends the batches at pos.
func (s *segment) cutLog(pos int64, now kafka.TimestampMs) error {
	if pos < s.size {
		if err := s.file.Truncate(pos); err != nil {
			return fmt.Errorf("log: truncate segment: %w", err)
		}
		s.preallocated = false
	}
	s.size, s.sinceIndex = pos, 0
	if pos == 0 {
		s.created, s.rollTsKnown = now, false
	}
	return nil
}

// rereadMaxTs finds the newest timestamp of what is left, if one was known: that
// of the last time index entry, or of a batch after it.
func (s *segment) rereadMaxTs(p *place) error {
	if err := s.loadMaxTs(p); err != nil || s.maxTs.timestamp < 0 {
		return err
	}
	s.maxTs = s.times.last(s.base)
	pos := s.offsets.lookup(s.base, s.maxTs.offset)
	for {
		h, size, err := s.header(pos)
		if err != nil || h == nil {
			return err
		}
		if h.MaxTimestamp() > s.maxTs.timestamp {
			s.maxTs = timestampOffset{h.MaxTimestamp(), h.LastOffset()}
		}
		pos += size
	}
}

// markDeleted renames the segment's files so that no load will see them, and
// appends the new names to list; they are removed later (storage 8). The handles
// are closed.
func (s *segment) markDeleted(p *place, list []string) ([]string, error) {
	stem := filePath(p.dir, s.base, "")
	for _, suffix := range segmentSuffixes {
		deleted := stem + suffix + deletedSuffix
		there, err := renameFile(p.fs, strings.TrimSuffix(deleted, deletedSuffix), deleted)
		if err != nil {
			return list, err
		}
		if there {
			list = append(list, deleted)
		}
	}
	return list, s.close()
}

// close lets go of all handles.
func (s *segment) close() error {
	err := s.closeIndexes()
	if closeErr := s.file.Close(); closeErr != nil && err == nil {
		err = fmt.Errorf("log: close segment: %w", closeErr)
	}
	return err
}
