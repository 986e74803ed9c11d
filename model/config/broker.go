package config

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/record"
)

const (
	maxInt32 = 1<<31 - 1
	maxInt64 = 1<<63 - 1
)

// brokerKeys are cluster 9.1 to 9.3, as far as the model honours them.
var brokerKeys = []key[Broker]{
	number("num.io.threads", "threads", "8", 1, 1024, func(b *Broker) *int { return &b.NumIOThreads }),
	number("num.network.threads", "threads", "3", 1, 1024, func(b *Broker) *int { return &b.NumNetworkThreads }),
	number("queued.max.requests", "requests", "500", 1, maxInt32, func(b *Broker) *int { return &b.QueuedMaxRequests }),
	millis("replica.lag.time.max.ms", "30000", 1, func(b *Broker) *kafka.Nanos { return &b.ReplicaLagTimeMax }).older("zk-2.6", "10000"),
	number("replica.fetch.max.bytes", "bytes", "1048576", 0, maxInt32, func(b *Broker) *int32 { return &b.ReplicaFetchMaxBytes }),
	number("replica.fetch.response.max.bytes", "bytes", "10485760", 0, maxInt32, func(b *Broker) *int32 { return &b.ReplicaFetchResponseMax }),
	millis("replica.fetch.wait.max.ms", "500", 0, func(b *Broker) *kafka.Nanos { return &b.ReplicaFetchWaitMax }),
	number("replica.fetch.min.bytes", "bytes", "1", 0, maxInt32, func(b *Broker) *int32 { return &b.ReplicaFetchMinBytes }),
	millis("replica.fetch.backoff.ms", "1000", 0, func(b *Broker) *kafka.Nanos { return &b.ReplicaFetchBackoff }),
	millis("replica.socket.timeout.ms", "30000", 1, func(b *Broker) *kafka.Nanos { return &b.ReplicaSocketTimeout }),
	number("num.replica.fetchers", "threads", "1", 1, 64, func(b *Broker) *int { return &b.NumReplicaFetchers }),
	millis("replica.high.watermark.checkpoint.interval.ms", "5000", 1, func(b *Broker) *kafka.Nanos { return &b.HWCheckpointInterval }),
	number("fetch.max.bytes", "bytes", "57671680", 1024, maxInt32, func(b *Broker) *int32 { return &b.FetchMaxBytes }),
	millis("request.timeout.ms", "30000", 1, func(b *Broker) *kafka.Nanos { return &b.RequestTimeout }),
	millis("controller.socket.timeout.ms", "30000", 1, func(b *Broker) *kafka.Nanos { return &b.ControllerSocketTimeout }),
	boolean("controlled.shutdown.enable", "true", func(b *Broker) *bool { return &b.ControlledShutdown }),
	number("controlled.shutdown.max.retries", "attempts", "3", 0, maxInt32, func(b *Broker) *int { return &b.ControlledShutdownRetries }),
	millis("controlled.shutdown.retry.backoff.ms", "5000", 0, func(b *Broker) *kafka.Nanos { return &b.ControlledShutdownBackoff }),

	boolean("auto.leader.rebalance.enable", "true", func(b *Broker) *bool { return &b.AutoLeaderRebalance }),
	duration("leader.imbalance.check.interval.seconds", "s", "300", 1, kafka.Second, func(b *Broker) *kafka.Nanos { return &b.LeaderImbalanceCheck }),
	number("leader.imbalance.per.broker.percentage", "percent", "10", 0, 100, func(b *Broker) *int { return &b.LeaderImbalancePercent }),
	boolean("unclean.leader.election.enable", "false", func(b *Broker) *bool { return &b.UncleanLeaderElection }).older("zk-0.11", "true"),
	number("min.insync.replicas", "replicas", "1", 1, maxInt32, func(b *Broker) *int { return &b.MinInsyncReplicas }),
	number("default.replication.factor", "replicas", "1", 1, 32767, func(b *Broker) *int { return &b.DefaultReplicationFactor }),
	number("num.partitions", "partitions", "1", 1, maxInt32, func(b *Broker) *int32 { return &b.NumPartitions }),
	boolean("auto.create.topics.enable", "true", func(b *Broker) *bool { return &b.AutoCreateTopics }),
	boolean("delete.topic.enable", "true", func(b *Broker) *bool { return &b.DeleteTopics }),

	millis("zookeeper.session.timeout.ms", "18000", 1, func(b *Broker) *kafka.Nanos { return &b.ZKSessionTimeout }).older("zk-2.6", "6000"),
	millis("zookeeper.connection.timeout.ms", "", 1, func(b *Broker) *kafka.Nanos { return &b.ZKConnectionTimeout }),
	number("zookeeper.max.in.flight.requests", "requests", "10", 1, maxInt32, func(b *Broker) *int { return &b.ZKMaxInFlight }),

	directories("log.dir"),
	directories("log.dirs"),
	millis("log.flush.interval.ms", "", 0, func(b *Broker) *kafka.Nanos { return &b.LogFlushInterval }),
	millis("log.flush.scheduler.interval.ms", "9223372036854775807", 1, func(b *Broker) *kafka.Nanos { return &b.LogFlushSchedulerInterval }),
	millis("log.flush.offset.checkpoint.interval.ms", "60000", 1, func(b *Broker) *kafka.Nanos { return &b.FlushOffsetCheckpointInterval }),
	millis("log.flush.start.offset.checkpoint.interval.ms", "60000", 1, func(b *Broker) *kafka.Nanos { return &b.FlushStartOffsetCheckpoint }),
	millis("log.initial.task.delay.ms", "30000", 0, func(b *Broker) *kafka.Nanos { return &b.LogInitialTaskDelay }),
	millis("log.retention.check.interval.ms", "300000", 1, func(b *Broker) *kafka.Nanos { return &b.LogRetentionCheckInterval }),
	number("producer.id.expiration.ms", "ms", "86400000", 1, maxInt32, func(b *Broker) *int64 { return &b.ProducerExpirationMs }),
	millis("producer.id.expiration.check.interval.ms", "600000", 1, func(b *Broker) *kafka.Nanos { return &b.ProducerExpirationCheck }),
	number("num.recovery.threads.per.data.dir", "threads", "1", 1, 64, func(b *Broker) *int { return &b.RecoveryThreads }),

	number("log.segment.bytes", "bytes", "1073741824", 14, maxInt32, func(b *Broker) *int32 { return &b.LogDefaults.SegmentBytes }),
	hours("log.roll.hours", "168", func(b *Broker) *int64 { return &b.LogDefaults.SegmentMs }),
	number("log.roll.ms", "ms", "", 1, maxInt64, func(b *Broker) *int64 { return &b.LogDefaults.SegmentMs }),
	hours("log.roll.jitter.hours", "0", func(b *Broker) *int64 { return &b.LogDefaults.SegmentJitterMs }),
	number("log.roll.jitter.ms", "ms", "", 0, maxInt64, func(b *Broker) *int64 { return &b.LogDefaults.SegmentJitterMs }),
	number("log.index.interval.bytes", "bytes", "4096", 0, maxInt32, func(b *Broker) *int32 { return &b.LogDefaults.IndexIntervalBytes }),
	number("log.index.size.max.bytes", "bytes", "10485760", 4, maxInt32, func(b *Broker) *int32 { return &b.LogDefaults.SegmentIndexBytes }),
	number("log.flush.interval.messages", "records", "9223372036854775807", 1, maxInt64, func(b *Broker) *int64 { return &b.LogDefaults.FlushMessages }),
	retention("log.retention.hours", "h", "168", 3_600_000, func(b *Broker) *int64 { return &b.LogDefaults.RetentionMs }),
	retention("log.retention.minutes", "min", "", 60_000, func(b *Broker) *int64 { return &b.LogDefaults.RetentionMs }),
	retention("log.retention.ms", "ms", "", 1, func(b *Broker) *int64 { return &b.LogDefaults.RetentionMs }),
	number("log.retention.bytes", "bytes", "-1", -1, maxInt64, func(b *Broker) *int64 { return &b.LogDefaults.RetentionBytes }),
	cleanupPolicy("log.cleanup.policy", "delete", func(b *Broker) *string { return &b.LogDefaults.CleanupPolicy }),
	boolean("log.cleaner.enable", "true", func(b *Broker) *bool { return &b.CleanerEnable }),
	millis("log.cleaner.backoff.ms", "15000", 0, func(b *Broker) *kafka.Nanos { return &b.CleanerBackoff }),
	number("log.cleaner.threads", "threads", "1", 0, maxCleanerThreads, func(b *Broker) *int { return &b.CleanerThreads }),
	number("log.cleaner.dedupe.buffer.size", "bytes", "134217728", 1<<20, maxInt64, func(b *Broker) *int64 { return &b.CleanerDedupeBuffer }),
	number("log.cleaner.io.buffer.size", "bytes", "524288", 0, maxInt32, func(b *Broker) *int32 { return &b.CleanerIOBuffer }),
	share("log.cleaner.io.buffer.load.factor", "0.9", func(b *Broker) *int64 { return &b.CleanerLoadFactor }),
	rate("log.cleaner.io.max.bytes.per.second", "1.7976931348623157E308", func(b *Broker) *int64 { return &b.CleanerIORate }),
	share("log.cleaner.min.cleanable.ratio", "0.5", func(b *Broker) *int64 { return &b.LogDefaults.MinCleanableRatio }),
	number("log.cleaner.delete.retention.ms", "ms", "86400000", 0, maxInt64, func(b *Broker) *int64 { return &b.LogDefaults.DeleteRetentionMs }),
	number("log.cleaner.min.compaction.lag.ms", "ms", "0", 0, maxInt64, func(b *Broker) *int64 { return &b.LogDefaults.MinCompactionLagMs }),
	number("log.cleaner.max.compaction.lag.ms", "ms", "9223372036854775807", 1, maxInt64, func(b *Broker) *int64 { return &b.LogDefaults.MaxCompactionLagMs }),
	number("log.segment.delete.delay.ms", "ms", "60000", 0, maxInt64, func(b *Broker) *int64 { return &b.LogDefaults.FileDeleteDelayMs }),
	number("message.max.bytes", "bytes", "1048588", 0, maxInt32, func(b *Broker) *int32 { return &b.LogDefaults.MaxMessageBytes }),
	words("log.message.timestamp.type", "CreateTime", timestampTypes, func(b *Broker, v string) { b.LogDefaults.setTimestampType(v) }),
	number("log.message.timestamp.before.max.ms", "ms", "9223372036854775807", 0, maxInt64, func(b *Broker) *int64 { return &b.LogDefaults.TimestampBeforeMaxMs }),
	number("log.message.timestamp.after.max.ms", "ms", "9223372036854775807", 0, maxInt64, func(b *Broker) *int64 { return &b.LogDefaults.TimestampAfterMaxMs }),
	words("compression.type", "producer", brokerCodecs, func(b *Broker, v string) { b.LogDefaults.setCodec(v) }),
	boolean("log.preallocate", "false", func(b *Broker) *bool { return &b.LogDefaults.Preallocate }),

	// Groups (cluster 9.4, groups 0.1).
	millis("group.initial.rebalance.delay.ms", "3000", 0, func(b *Broker) *kafka.Nanos { return &b.GroupInitialDelay }).older("zk-0.11", "0"),
	millis("group.min.session.timeout.ms", "6000", 0, func(b *Broker) *kafka.Nanos { return &b.GroupMinSession }),
	millis("group.max.session.timeout.ms", "1800000", 0, func(b *Broker) *kafka.Nanos { return &b.GroupMaxSession }).older("zk-2.6", "300000"),
	number("group.max.size", "members", "2147483647", 1, maxInt32, func(b *Broker) *int { return &b.GroupMaxSize }),
	number("offsets.topic.num.partitions", "partitions", "50", 1, maxInt32, func(b *Broker) *int32 { return &b.OffsetsPartitions }),
	number("offsets.topic.replication.factor", "replicas", "3", 1, 32767, func(b *Broker) *int { return &b.OffsetsReplication }),
	number("offsets.topic.segment.bytes", "bytes", "104857600", 14, maxInt32, func(b *Broker) *int32 { return &b.OffsetsSegmentBytes }),
	// 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd.
	number("offsets.topic.compression.codec", "number of the codec", "0", 0, 4, func(b *Broker) *int32 { return &b.OffsetsCodec }),
	duration("offsets.retention.minutes", "min", "10080", 1, kafka.Minute, func(b *Broker) *kafka.Nanos { return &b.OffsetsRetention }).older("zk-2.0", "1440"),
	millis("offsets.retention.check.interval.ms", "600000", 1, func(b *Broker) *kafka.Nanos { return &b.OffsetsRetentionCheck }),
	millis("offsets.commit.timeout.ms", "5000", 1, func(b *Broker) *kafka.Nanos { return &b.OffsetsCommitTimeout }),
	number("offsets.commit.required.acks", "acks", "-1", -1, 1, func(b *Broker) *int32 { return &b.OffsetsAcks }),
	number("offset.metadata.max.bytes", "bytes", "4096", 0, maxInt32, func(b *Broker) *int { return &b.OffsetMetadataMax }),
	number("offsets.load.buffer.size", "bytes", "5242880", 1, maxInt32, func(b *Broker) *int { return &b.OffsetsLoadBuffer }),
}

// hours keeps a setting in hours as milliseconds.
func hours[T any](name, def string, field func(*T) *int64) key[T] {
	return key[T]{Key{Name: name, Unit: "h", Default: def}, func(c *T, v string) error {
		n, err := parseNumber(v, "h", 0, maxInt64/3_600_000)
		if err == nil {
			*field(c) = n * 3_600_000
		}
		return err
	}}
}

// retention is a time in units of scale ms, kept in ms; any negative one is for ever.
func retention[T any](name, unit, def string, scale int64, field func(*T) *int64) key[T] {
	return key[T]{Key{Name: name, Unit: unit, Default: def}, func(c *T, v string) error {
		n, err := parseNumber(v, unit, -maxInt64/scale, maxInt64/scale)
		switch {
		case err != nil:
			return err
		case n == 0:
			return errors.New("0 is neither for ever (-1) nor at least 1")
		}
		*field(c) = max(n*scale, -1)
		return nil
	}}
}

// cleanupPolicy is a list of the words delete and compact, in any order; what is kept
// is "delete", "compact" or "compact,delete".
func cleanupPolicy[T any](name, def string, field func(*T) *string) key[T] {
	return key[T]{Key{Name: name, Unit: "delete, compact or both with a comma", Default: def}, func(c *T, v string) error {
		var compact, del bool
		for _, word := range strings.Split(v, ",") {
			switch word = strings.TrimSpace(word); word {
			case "delete":
				del = true
			case "compact":
				compact = true
			default:
				return fmt.Errorf("%q is neither delete nor compact", word)
			}
		}
		switch {
		case compact && del:
			*field(c) = CompactAndDelete
		case compact:
			*field(c) = Compact
		default:
			*field(c) = Delete
		}
		return nil
	}}
}

// The values of a cleanup policy.
const (
	Delete           = "delete"
	Compact          = "compact"
	CompactAndDelete = "compact,delete"
)

// maxCleanerThreads bounds log.cleaner.threads; Kafka has no bound.
const maxCleanerThreads = 64

// directories is a list of paths, separated by commas.
func directories(name string) key[Broker] {
	return key[Broker]{Key{Name: name, Unit: "paths with commas between"}, func(b *Broker, v string) error {
		var list []string
		for _, path := range strings.Split(v, ",") {
			path = strings.Trim(strings.TrimSpace(path), "/")
			switch {
			case path == "" || strings.HasPrefix(path, "..") || strings.Contains(path, "/.."):
				return fmt.Errorf("%q is not a list of paths", v)
			case slices.Contains(list, path):
				return fmt.Errorf("%s comes twice", path)
			}
			list = append(list, path)
		}
		b.LogDirs = list
		return nil
	}}
}

// rate is a positive number, kept as a whole one.
func rate[T any](name, def string, field func(*T) *int64) key[T] {
	return key[T]{Key{Name: name, Unit: "bytes a second", Default: def}, func(c *T, v string) error {
		f, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
		switch {
		case err != nil || f != f:
			return fmt.Errorf("%q is not a number", v)
		case f < 1:
			return fmt.Errorf("%s is below 1", v)
		case f >= maxInt64:
			*field(c) = maxInt64
		default:
			*field(c) = int64(f)
		}
		return nil
	}}
}

// share is a number from 0 to 1, kept in millionths.
func share[T any](name, def string, field func(*T) *int64) key[T] {
	return key[T]{Key{Name: name, Unit: "0 to 1", Default: def}, func(c *T, v string) error {
		f, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
		switch {
		case err != nil || f != f:
			return fmt.Errorf("%q is not a number", v)
		case f < 0 || f > 1:
			return fmt.Errorf("%s is not between 0 and 1", v)
		}
		*field(c) = int64(f*1_000_000 + 0.5)
		return nil
	}}
}

// NewBroker makes a broker's configuration from a profile's defaults and settings.
// It keeps p. Every error is a *SettingError.
func NewBroker(p *Profile, id kafka.NodeID, rack string, settings []Setting) (*Broker, []error) {
	b := &Broker{NodeID: id, Rack: rack, Profile: p, LogFlushInterval: kafka.Forever,
		RequestServiceTime: 20 * kafka.Microsecond, FetchPartitionCost: 200}
	errs := apply(b, p, brokerKeys, settings)
	if b.ZKConnectionTimeout == 0 {
		b.ZKConnectionTimeout = b.ZKSessionTimeout
	}
	d := &b.LogDefaults
	d.MinInsyncReplicas, d.UncleanLeaderElection = b.MinInsyncReplicas, b.UncleanLeaderElection
	d.FlushMs = maxInt64
	if b.LogFlushInterval == kafka.Forever { // as long as the flusher's period
		b.LogFlushInterval = b.LogFlushSchedulerInterval
	}
	if b.LogFlushInterval != kafka.Forever {
		d.FlushMs = int64(b.LogFlushInterval / kafka.Millisecond)
	}
	return b, errs
}

// BrokerKeys documents the honoured broker settings.
func BrokerKeys() []Key { return documentation(brokerKeys) }

var timestampTypes = []string{"CreateTime", "LogAppendTime"}
var brokerCodecs = []string{"producer", "uncompressed", "gzip", "snappy", "lz4", "zstd"}

func (t *Topic) setTimestampType(v string) {
	t.TimestampType = record.CreateTime
	if v == "LogAppendTime" {
		t.TimestampType = record.LogAppendTime
	}
}

func (t *Topic) setCodec(v string) {
	t.KeepCodec = v == "producer"
	t.Codec = record.None
	if c, ok := record.ParseCodec(v); ok {
		t.Codec = c
	}
}
