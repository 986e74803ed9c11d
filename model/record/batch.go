package record

import (
	"encoding/binary"
	"math"

	"github.com/simkafka/simkafka/model/kafka"
)

const (
	// HeaderSize is the size in bytes of a batch without records.
	HeaderSize = 61
	// LogOverhead is the size in bytes of base offset and length, which the
	// length field does not count.
	LogOverhead = 12
	// Magic is the one format version that is written and read.
	Magic = 2

	headerSizeUpToMagic = 17
	minLength           = 14 // the length of the smallest batch of any magic
)

// Positions of the header's fields (storage 1.1).
const (
	baseOffsetPos      = 0
	lengthPos          = 8
	leaderEpochPos     = 12
	magicPos           = 16
	crcPos             = 17
	attributesPos      = 21
	lastOffsetDeltaPos = 23
	baseTimestampPos   = 27
	maxTimestampPos    = 35
	producerIDPos      = 43
	producerEpochPos   = 51
	baseSequencePos    = 53
	countPos           = 57
)

// Bits of the attributes (storage 1.2).
const (
	codecMask        = 0x07
	timestampTypeBit = 0x08
	transactionalBit = 0x10
	controlBit       = 0x20
	deleteHorizonBit = 0x40
)

// Values of fields that are not set.
const (
	NoProducerID    int64 = -1
	NoProducerEpoch int16 = -1
	NoSequence      int32 = -1
)

// TimestampType says whose clock a batch's timestamps show
// (message.timestamp.type).
type TimestampType uint8

// The timestamp types.
const (
	CreateTime TimestampType = iota
	LogAppendTime
)

// String is the setting's value.
func (t TimestampType) String() string {
	if t == LogAppendTime {
		return "LogAppendTime"
	}
	return "CreateTime"
}

// Batch is exactly one whole encoded batch: len(b) is its length field + 12 and
// at least HeaderSize. Next and Check establish that; on other bytes the
// accessors may panic. Accessors never allocate.
type Batch []byte

func (b Batch) int16(pos int) int16 { return int16(binary.BigEndian.Uint16(b[pos:])) }
func (b Batch) int32(pos int) int32 { return int32(binary.BigEndian.Uint32(b[pos:])) }
func (b Batch) int64(pos int) int64 { return int64(binary.BigEndian.Uint64(b[pos:])) }

// BaseOffset is the offset of the first record as produced; compaction may have
// dropped that record.
func (b Batch) BaseOffset() kafka.Offset { return kafka.Offset(b.int64(baseOffsetPos)) }

// LastOffset is inclusive. It survives compaction.
func (b Batch) LastOffset() kafka.Offset {
	return b.BaseOffset() + kafka.Offset(b.LastOffsetDelta())
}

// NextOffset is LastOffset + 1.
func (b Batch) NextOffset() kafka.Offset { return b.LastOffset() + 1 }

// LastOffsetDelta is LastOffset - BaseOffset.
func (b Batch) LastOffsetDelta() int32 { return b.int32(lastOffsetDeltaPos) }

// PartitionLeaderEpoch is the epoch of the leader that appended the batch.
func (b Batch) PartitionLeaderEpoch() kafka.LeaderEpoch {
	return kafka.LeaderEpoch(b.int32(leaderEpochPos))
}

// Magic is the format version.
func (b Batch) Magic() int8 { return int8(b[magicPos]) }

// CRC is the stored checksum.
func (b Batch) CRC() uint32 { return binary.BigEndian.Uint32(b[crcPos:]) }

// Attributes are all 16 bits as stored. Kafka looks at the low byte alone.
func (b Batch) Attributes() int16 { return b.int16(attributesPos) }

// Codec is the compression of the record area. Values above Zstd are invalid.
func (b Batch) Codec() Codec { return Codec(b.Attributes() & codecMask) }

// TimestampType tells whether the records' timestamps are the producer's or all
// equal to MaxTimestamp.
func (b Batch) TimestampType() TimestampType {
	if b.Attributes()&timestampTypeBit != 0 {
		return LogAppendTime
	}
	return CreateTime
}

// IsTransactional reports whether the batch is part of a transaction.
func (b Batch) IsTransactional() bool { return b.Attributes()&transactionalBit != 0 }

// IsControl reports whether the records are control records, which consume
// offsets and never reach applications.
func (b Batch) IsControl() bool { return b.Attributes()&controlBit != 0 }

// DeleteHorizon is the time from which compaction may drop the batch's
// tombstones, if it is set (KIP-534).
func (b Batch) DeleteHorizon() (kafka.TimestampMs, bool) {
	if b.Attributes()&deleteHorizonBit == 0 {
		return kafka.NoTimestamp, false
	}
	return b.BaseTimestamp(), true
}

// BaseTimestamp is what timestamp deltas count from: the first record's time, or
// the delete horizon.
func (b Batch) BaseTimestamp() kafka.TimestampMs { return kafka.TimestampMs(b.int64(baseTimestampPos)) }

// MaxTimestamp is the largest timestamp of the records, or the time of the
// append (LogAppendTime).
func (b Batch) MaxTimestamp() kafka.TimestampMs { return kafka.TimestampMs(b.int64(maxTimestampPos)) }

// ProducerID is NoProducerID for a batch of a plain producer.
func (b Batch) ProducerID() int64 { return b.int64(producerIDPos) }

// HasProducerID reports whether the batch carries producer state.
func (b Batch) HasProducerID() bool { return b.ProducerID() > NoProducerID }

// ProducerEpoch is NoProducerEpoch for a batch of a plain producer.
func (b Batch) ProducerEpoch() int16 { return b.int16(producerEpochPos) }

// BaseSequence is NoSequence for a plain producer and for control batches.
func (b Batch) BaseSequence() int32 { return b.int32(baseSequencePos) }

// LastSequence is inclusive and wraps from 2^31-1 to 0; it survives compaction.
func (b Batch) LastSequence() int32 {
	base := b.BaseSequence()
	if base == NoSequence {
		return NoSequence
	}
	return IncrementSequence(base, b.LastOffsetDelta())
}

// Count is the number of records that the header claims.
func (b Batch) Count() int32 { return b.int32(countPos) }

// Size is the size in bytes by the length field.
func (b Batch) Size() int { return LogOverhead + int(b.int32(lengthPos)) }

// SetBaseOffset writes into b, which the caller must own. The CRC does not
// cover it.
func (b Batch) SetBaseOffset(o kafka.Offset) {
	binary.BigEndian.PutUint64(b[baseOffsetPos:], uint64(o))
}

// SetPartitionLeaderEpoch writes into b, which the caller must own. The CRC
// does not cover it.
func (b Batch) SetPartitionLeaderEpoch(e kafka.LeaderEpoch) {
	binary.BigEndian.PutUint32(b[leaderEpochPos:], uint32(e))
}

// setTimestamps writes type and maximum into b, which the caller must own. If
// one of them changes, the high attribute byte is cleared and the CRC computed
// anew, as DefaultRecordBatch.setMaxTimestamp does (storage 1.8, trap 8).
func (b Batch) setTimestamps(t TimestampType, maxTimestamp kafka.TimestampMs) {
	if b.TimestampType() == t && b.MaxTimestamp() == maxTimestamp {
		return
	}
	attributes := b[attributesPos+1] &^ timestampTypeBit & 0x7f
	if t == LogAppendTime {
		attributes |= timestampTypeBit
	}
	b[attributesPos], b[attributesPos+1] = 0, attributes
	binary.BigEndian.PutUint64(b[maxTimestampPos:], uint64(maxTimestamp))
	b.stampCRC()
}

func (b Batch) stampCRC() { binary.BigEndian.PutUint32(b[crcPos:], b.computeCRC()) }

// IncrementSequence adds n to a sequence number; 0 follows 2^31-1 (storage 4.4).
func IncrementSequence(sequence, n int32) int32 {
	if sequence > math.MaxInt32-n {
		return n - (math.MaxInt32 - sequence) - 1
	}
	return sequence + n
}

// DecrementSequence subtracts n from a sequence number; 2^31-1 precedes 0.
func DecrementSequence(sequence, n int32) int32 {
	if sequence < n {
		return math.MaxInt32 - (n - sequence) + 1
	}
	return sequence - n
}
