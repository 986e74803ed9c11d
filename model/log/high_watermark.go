package log

import (
	"strconv"

	"github.com/simkafka/simkafka/model/kafka"
)

// SetHighWatermark sets the high watermark to o, clamped to [LogStartOffset,
// LogEndOffset], and returns what it became. It may go back: that is the
// follower's rule, and the load's (cluster L-10, F-6).
func (l *Log) SetHighWatermark(o kafka.Offset) kafka.Offset {
	l.hw = min(max(o, l.logStart), l.leo)
	l.producers.dropReplicated(l.hw)
	return l.hw
}

// MaybeIncrementHighWatermark is the leader's rule: the high watermark only grows.
// It returns its value before and whether it moved. An o above the log's end is a
// program error.
func (l *Log) MaybeIncrementHighWatermark(o kafka.Offset) (previous kafka.Offset, moved bool) {
	if o > l.leo {
		panic("log: high watermark " + strconv.FormatInt(int64(o), 10) + " of " + l.dir +
			" above its end " + strconv.FormatInt(int64(l.leo), 10))
	}
	previous = l.hw
	if o <= previous {
		return previous, false
	}
	l.hw = o
	l.producers.dropReplicated(o)
	return previous, true
}

// AssignEpoch enters that the leader epoch begins at start and writes the epoch
// file; on return it is durable (cluster E-1, L-29).
func (l *Log) AssignEpoch(epoch kafka.LeaderEpoch, start kafka.Offset) error {
	if err := l.usable(); err != nil {
		return err
	}
	if !l.epochs.assign(epoch, start) {
		return nil
	}
	return l.fail(l.epochs.write(&l.place))
}

// EndOffsetForEpoch is the largest known epoch <= epoch and its exclusive end;
// (-1, -1) if undefined (cluster E-2).
func (l *Log) EndOffsetForEpoch(epoch kafka.LeaderEpoch) (kafka.LeaderEpoch, kafka.Offset) {
	return l.epochs.endOffsetFor(epoch, l.leo)
}

// EpochForOffset is the leader epoch of the record at o, -1 if unknown.
func (l *Log) EpochForOffset(o kafka.Offset) kafka.LeaderEpoch { return l.epochs.forOffset(o) }

// EpochEntries is the list of epochs, valid until the next change; not to be
// written to.
func (l *Log) EpochEntries() []EpochEntry { return l.epochs }
