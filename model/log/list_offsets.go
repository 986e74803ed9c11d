package log

import (
	"fmt"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/record"
)

// TimestampOffset answers ListOffsets (storage 3.5). Not found is -1, -1, -1.
type TimestampOffset struct {
	Timestamp kafka.TimestampMs
	Offset    kafka.Offset
	Epoch     kafka.LeaderEpoch
}

func noOffset() TimestampOffset {
	return TimestampOffset{kafka.NoTimestamp, kafka.NoOffset, kafka.NoLeaderEpoch}
}

// EarliestOffset is the log start (timestamp -2), with the epoch of the first
// epoch entry if that begins at or before it.
func (l *Log) EarliestOffset() TimestampOffset {
	t := TimestampOffset{kafka.NoTimestamp, l.logStart, kafka.NoLeaderEpoch}
	if len(l.epochs) > 0 && l.epochs[0].Start <= l.logStart {
		t.Epoch = l.epochs[0].Epoch
	}
	return t
}

// OffsetForTimestamp finds the first record at or after the log start whose
// timestamp is >= ts, in the order of offsets. A record at or after upper is as
// none.
func (l *Log) OffsetForTimestamp(ts kafka.TimestampMs, upper Bound) (TimestampOffset, error) {
	if err := l.usable(); err != nil {
		return noOffset(), err
	}
	for _, s := range l.segments {
		newest, err := s.largestTimestamp(&l.place)
		if err != nil {
			return noOffset(), l.failRead(err)
		}
		if newest >= ts {
			return l.searchTime(s, ts, upper)
		}
	}
	return noOffset(), nil
}

// searchTime scans s, the first segment that may hold a record as new as ts. What
// it does not hold, no later segment is asked for.
func (l *Log) searchTime(s *segment, ts kafka.TimestampMs, upper Bound) (TimestampOffset, error) {
	if err := s.loadIndexes(&l.place); err != nil {
		return noOffset(), l.failRead(err)
	}
	from := max(s.times.lookup(s.base, ts), l.logStart)
	at, err := s.at(s.offsets.lookup(s.base, from))
	for ; err == nil && at.header != nil; at, err = s.at(at.pos + at.size) {
		if at.header.MaxTimestamp() < ts {
			continue
		}
		found, ok, err := s.firstRecord(at, func(r *record.Record) bool {
			return r.Timestamp >= ts && r.Offset >= l.logStart
		})
		if err != nil {
			return noOffset(), l.failRead(err)
		}
		if ok {
			return below(found, upper), nil
		}
	}
	return noOffset(), l.failRead(err)
}

// MaxTimestampOffset finds the newest record (timestamp -3): in the segment with
// the greatest timestamp, the first of equal ones, the first record that has it
// (KIP-734).
func (l *Log) MaxTimestampOffset(upper Bound) (TimestampOffset, error) {
	if err := l.usable(); err != nil {
		return noOffset(), err
	}
	newest := l.segments[0]
	for _, s := range l.segments {
		if err := s.loadMaxTs(&l.place); err != nil {
			return noOffset(), l.failRead(err)
		}
		if s.maxTs.timestamp > newest.maxTs.timestamp {
			newest = s
		}
	}
	if newest.maxTs.timestamp < 0 {
		return noOffset(), nil
	}
	return l.searchNewest(newest, upper)
}

func (l *Log) searchNewest(s *segment, upper Bound) (TimestampOffset, error) {
	if err := s.loadIndexes(&l.place); err != nil {
		return noOffset(), l.failRead(err)
	}
	ts := s.maxTs.timestamp
	at, err := s.at(s.offsets.lookup(s.base, s.maxTs.offset))
	for ; err == nil && at.header != nil; at, err = s.at(at.pos + at.size) {
		if at.header.MaxTimestamp() != ts {
			continue
		}
		found, ok, err := s.firstRecord(at, func(r *record.Record) bool { return r.Timestamp == ts })
		if err != nil {
			return noOffset(), l.failRead(err)
		}
		if ok {
			return below(found, upper), nil
		}
	}
	return noOffset(), l.failRead(err)
}

// firstRecord is the first record of the batch at at that matches.
func (s *segment) firstRecord(at location, match func(*record.Record) bool) (TimestampOffset, bool, error) {
	b, err := s.file.ReadAt(at.pos, int(at.size))
	if err != nil {
		return noOffset(), false, fmt.Errorf("log: read %s: %w", s.file.Name(), err)
	}
	batch := record.Batch(b)
	if err := batch.Check(); err != nil {
		return noOffset(), false, &CorruptError{File: s.file.Name(), Pos: at.pos, Err: err}
	}
	var it record.Iterator
	for it.Reset(batch); it.Next(); {
		if r := it.Record(); match(r) {
			return TimestampOffset{r.Timestamp, r.Offset, batch.PartitionLeaderEpoch()}, true, nil
		}
	}
	if err := it.Err(); err != nil {
		return noOffset(), false, &CorruptError{File: s.file.Name(), Pos: at.pos, Err: err}
	}
	return noOffset(), false, nil
}

// below hides what the reader may not see.
func below(t TimestampOffset, upper Bound) TimestampOffset {
	if t.Offset >= upper {
		return noOffset()
	}
	return t
}
