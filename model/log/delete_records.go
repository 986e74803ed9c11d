package log

import "github.com/simkafka/simkafka/model/kafka"

// ToHighWatermark asks DeleteRecords to delete up to the high watermark.
const ToHighWatermark kafka.Offset = -1

// DeleteRecords raises the log start to before (exclusive end of what goes; KIP-107,
// storage 6.5) and returns the offset that was meant. A code other than None means
// that nothing has changed: POLICY_VIOLATION without the cleanup policy delete,
// OFFSET_OUT_OF_RANGE for a negative offset or one above the high watermark. An
// offset at or below the log start is fine. It may lie inside a batch. Files go with
// the next DeleteOldSegments; the new start is durable with the next checkpoint, up
// to a minute later.
func (l *Log) DeleteRecords(before kafka.Offset) (requested kafka.Offset, code kafka.ErrorCode, err error) {
	if err := l.usable(); err != nil {
		return before, kafka.KafkaStorageError, err
	}
	if !l.cfg.Delete {
		return before, kafka.PolicyViolation, nil
	}
	if before == ToHighWatermark {
		before = l.hw
	}
	if before < 0 || before > l.hw {
		return before, kafka.OffsetOutOfRange, nil
	}
	_, err = l.MaybeIncrementLogStartOffset(before)
	return before, kafka.None, err
}

// MaybeIncrementLogStartOffset raises the log start (DeleteRecords, retention, and
// followers after their leader, storage 6.5) and reports whether it moved. An o above
// the high watermark is an *OffsetOutOfRangeError. Files go with the next retention.
func (l *Log) MaybeIncrementLogStartOffset(o kafka.Offset) (bool, error) {
	if err := l.usable(); err != nil {
		return false, err
	}
	if o > l.hw {
		return false, &OffsetOutOfRangeError{o, l.logStart, l.hw}
	}
	return l.raiseStart(o)
}

func (l *Log) raiseStart(o kafka.Offset) (bool, error) {
	if o <= l.logStart {
		return false, nil
	}
	l.logStart = o
	l.recoveryPoint = max(l.recoveryPoint, o)
	l.startRaised(&l.producers, o)
	if l.epochs.truncateFromStart(o) {
		return true, l.fail(l.epochs.write(&l.place))
	}
	return true, nil
}
