package log

import (
	"math"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/quirk"
	"github.com/simkafka/simkafka/model/record"
)

// Config is what a log needs to know of its topic's settings. Logs of one topic
// share it; it is not changed while a log uses it (SetConfig replaces it).
type Config struct {
	SegmentBytes    int32 // segment.bytes
	SegmentMs       int64 // segment.ms
	SegmentJitterMs int64 // segment.jitter.ms

	IndexIntervalBytes int32 // index.interval.bytes
	SegmentIndexBytes  int32 // segment.index.bytes

	FlushMessages   int64 // flush.messages
	FlushMs         int64 // flush.ms
	MaxMessageBytes int32 // max.message.bytes

	Delete         bool  // cleanup.policy has delete
	RetentionMs    int64 // retention.ms, -1 is for ever
	RetentionBytes int64 // retention.bytes, -1 is without limit
	// FileDeleteDelayMs is for those who remove what TakeDeleted hands out
	// (file.delete.delay.ms).
	FileDeleteDelayMs int64

	Compact            bool  // cleanup.policy has compact
	DeleteRetentionMs  int64 // delete.retention.ms
	MinCompactionLagMs int64 // min.compaction.lag.ms
	MaxCompactionLagMs int64 // max.compaction.lag.ms
	MinCleanableRatio  int64 // min.cleanable.dirty.ratio in millionths

	ProducerExpirationMs int64 // producer.id.expiration.ms
	// VerifyTransactions: the first batch of a transaction needs the guard of its
	// verification (transaction.partition.verification.enable, KIP-890).
	VerifyTransactions bool

	TimestampType        record.TimestampType // message.timestamp.type
	TimestampBeforeMaxMs int64                // message.timestamp.before.max.ms
	TimestampAfterMaxMs  int64                // message.timestamp.after.max.ms

	Codec     record.Codec // compression.type, unless KeepCodec
	KeepCodec bool         // compression.type=producer
	Level     int          // compression.<codec>.level; 0 is Kafka's default
	// Scratch is memory of the codecs that a broker's logs share; nil is allowed.
	Scratch *record.Scratch

	Preallocate bool // preallocate

	Quirks quirk.Set // bugs put back

	// IndexPerBatch is the index rule since KAFKA-806: each batch of an append is
	// offered to the indexes, and the first batch's timestamp starts the roll
	// timer. Before, an append counted as a whole, so that followers indexed less
	// than their leader (storage 14).
	IndexPerBatch bool
	// CleanerDropsEnd: the cleaner leaves no header of an empty batch for being the last
	// of its range, as before Kafka 4.0 (storage trap 48).
	CleanerDropsEnd bool
	// LimitFollowerAppend refuses a follower's append above SegmentBytes, as
	// brokers did before KAFKA-17375 (storage 1.8 rule 13).
	LimitFollowerAppend bool
}

// DefaultConfig has the defaults of storage 0.1, with the index rule of 4.x.
func DefaultConfig() Config {
	const never = 1<<63 - 1
	return Config{
		SegmentBytes:         1 << 30,
		SegmentMs:            604_800_000,
		IndexIntervalBytes:   4096,
		SegmentIndexBytes:    10 << 20,
		FlushMessages:        never,
		FlushMs:              never,
		Delete:               true,
		RetentionMs:          604_800_000,
		RetentionBytes:       -1,
		FileDeleteDelayMs:    60_000,
		DeleteRetentionMs:    86_400_000,
		MaxCompactionLagMs:   never,
		MinCleanableRatio:    500_000,
		ProducerExpirationMs: 86_400_000,
		MaxMessageBytes:      1<<20 + 12,
		TimestampType:        record.CreateTime,
		TimestampBeforeMaxMs: never,
		TimestampAfterMaxMs:  never,
		KeepCodec:            true,
		IndexPerBatch:        true,
	}
}

// checked is what is known of batches that other logs have written.
func (c *Config) checked() *record.Checked {
	if c.Scratch == nil {
		return nil
	}
	return c.Scratch.Checked
}

// limits is what the validation of a produced batch reads.
func (c *Config) limits() *record.Limits {
	return &record.Limits{
		MaxMessageBytes: int(c.MaxMessageBytes),
		SegmentBytes:    math.MaxInt, // the log asks when it knows the epochs
		TimestampType:   c.TimestampType,
		Compacted:       c.Compact,
		BeforeMaxMs:     c.TimestampBeforeMaxMs,
		AfterMaxMs:      c.TimestampAfterMaxMs,
		Codec:           c.Codec,
		KeepCodec:       c.KeepCodec,
		Level:           c.Level,
		Scratch:         c.Scratch,
	}
}

// maxSegmentMs is the age at which a segment is rolled: of a compacted log no more than
// max.compaction.lag.ms, since the active segment is never cleaned (KIP-354).
func (c *Config) maxSegmentMs() int64 {
	if c.Compact && c.MaxCompactionLagMs > 0 {
		return min(c.MaxCompactionLagMs, c.SegmentMs)
	}
	return c.SegmentMs
}

// Jitter draws the random part of a new segment's life: any number, keyed by the
// log's directory and the segment's base offset. It is asked only if
// SegmentJitterMs is not 0; nil stands for 0.
type Jitter func(dir string, base kafka.Offset) uint64

// rollJitterMs is LogConfig.randomSegmentJitter (storage 2.2).
func (c *Config) rollJitterMs(draw Jitter, dir string, base kafka.Offset) int64 {
	limit := min(c.SegmentJitterMs, c.SegmentMs)
	if limit <= 0 || draw == nil {
		return 0
	}
	random := int32(draw(dir, base))
	if random == -1<<31 {
		return 0 // Utils.abs of the one int32 without an opposite
	}
	return int64(max(random, -random)) % limit
}
