package log

import (
	"math/bits"

	"github.com/simkafka/simkafka/model/kafka"
)

// CleanRange is what a cleaning of a log would do (LogToClean, storage 9.1).
type CleanRange struct {
	// FirstDirty is where the records begin that no cleaning has seen.
	FirstDirty kafka.Offset
	// Uncleanable is the exclusive end of what may be cleaned: a segment's base. It
	// may lie below FirstDirty.
	Uncleanable kafka.Offset
	// CleanBytes are the segments that begin below FirstDirty, CleanableBytes those
	// between the two; the segment that holds FirstDirty counts as both.
	CleanBytes, CleanableBytes int64
	// MustNow: a record has waited for more than max.compaction.lag.ms.
	MustNow bool
	// Reset: the checkpoint was outside of the log and begins at its start again
	// (ResetCleanedTo).
	Reset bool
}

// ratioScale is the unit of Config.MinCleanableRatio.
const ratioScale = 1_000_000

// Due tells that the log should be cleaned: its dirty share is above
// min.cleanable.dirty.ratio, strictly (storage trap 46), or it must be.
func (r *CleanRange) Due(c *Config) bool {
	total := r.CleanBytes + r.CleanableBytes
	if total == 0 || r.CleanableBytes == 0 {
		return false
	}
	return r.MustNow || compareRatios(r.CleanableBytes, total, c.MinCleanableRatio, ratioScale) > 0
}

// Dirtier tells that the log has a larger dirty share than another that is due.
func (r *CleanRange) Dirtier(other *CleanRange) bool {
	return compareRatios(r.CleanableBytes, r.CleanBytes+r.CleanableBytes,
		other.CleanableBytes, other.CleanBytes+other.CleanableBytes) > 0
}

// compareRatios compares a/b with c/d exactly; none is negative, b and d are not 0.
func compareRatios(a, b, c, d int64) int {
	leftHi, leftLo := bits.Mul64(uint64(a), uint64(d))
	rightHi, rightLo := bits.Mul64(uint64(c), uint64(b))
	switch {
	case leftHi != rightHi && leftHi < rightHi, leftHi == rightHi && leftLo < rightLo:
		return -1
	case leftHi == rightHi && leftLo == rightLo:
		return 0
	}
	return 1
}

// CleanRange says what a cleaning would do now. An error is that of a read.
func (l *Log) CleanRange(now kafka.TimestampMs) (CleanRange, error) {
	if err := l.usable(); err != nil {
		return CleanRange{}, err
	}
	r, err := l.cleanRange(now)
	return r, l.failRead(err)
}

// ResetCleanedTo enters what CleanRange has just found if r.Reset, and reports whether
// it did: then the checkpoint is to be written (grabFilthiestCompactedLog does so for
// each log that it looks at).
func (l *Log) ResetCleanedTo(r *CleanRange) bool {
	if r.Reset {
		l.cleanedTo = r.FirstDirty
	}
	return r.Reset
}

func (l *Log) cleanRange(now kafka.TimestampMs) (r CleanRange, err error) {
	r.FirstDirty = l.logStart
	if o, found := l.CleanedTo(); found {
		r.FirstDirty = o
		if o < l.logStart || o > l.leo {
			r.FirstDirty, r.Reset = l.logStart, true
		}
	}
	r.Uncleanable = min(l.LastStableOffset(), l.active().base)
	for i := max(0, l.floorIndex(r.FirstDirty)); i < len(l.segments)-1; i++ {
		s := l.segments[i]
		if r.Uncleanable, err = l.limitByLag(r.Uncleanable, s, now); err != nil {
			return r, err
		}
		first, known, err := s.firstTimestamp()
		if err != nil {
			return r, err
		}
		if until := now - kafka.TimestampMs(max(0, l.cfg.MaxCompactionLagMs)); known && first > 0 && first < until {
			r.MustNow = true
		}
	}
	r.Uncleanable = l.segments[max(0, l.floorIndex(max(r.FirstDirty, r.Uncleanable)))].base
	from := max(0, l.floorIndex(min(r.FirstDirty, r.Uncleanable)))
	for i, s := range l.segments {
		if s.base < r.FirstDirty {
			r.CleanBytes += s.size
		}
		if i >= from && s.base < r.Uncleanable {
			r.CleanableBytes += s.size
		}
	}
	return r, nil
}

// limitByLag ends the cleanable range before a segment with a record that is not
// min.compaction.lag.ms old.
func (l *Log) limitByLag(upper kafka.Offset, s *segment, now kafka.TimestampMs) (kafka.Offset, error) {
	if l.cfg.MinCompactionLagMs <= 0 || s.base >= upper {
		return upper, nil
	}
	newest, err := s.largestTimestamp(&l.place)
	if err == nil && newest > now-kafka.TimestampMs(l.cfg.MinCompactionLagMs) {
		upper = s.base
	}
	return upper, err
}

// firstTimestamp is the maximum timestamp of the first batch; known is false if there
// is none or it has no time.
func (s *segment) firstTimestamp() (first kafka.TimestampMs, known bool, err error) {
	if !s.rollTsKnown {
		h, _, err := s.header(0)
		if err != nil || h == nil {
			return 0, false, err
		}
		s.rollTs, s.rollTsKnown = h.MaxTimestamp(), true
	}
	return s.rollTs, s.rollTs >= 0, nil
}
