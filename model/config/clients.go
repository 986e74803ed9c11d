package config

import (
	"fmt"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/record"
)

var codecs = []string{"none", "gzip", "snappy", "lz4", "zstd"}

var acksWords = []string{"all", "-1", "0", "1"}

// producerKeys are cluster 9.5.
var producerKeys = []key[Producer]{
	words("acks", "all", acksWords, func(p *Producer, v string) {
		p.Acks = map[string]int8{"all": -1, "-1": -1, "0": 0, "1": 1}[v]
	}).older("zk-3.9", "1"),
	number("retries", "attempts", "2147483647", 0, maxInt32, func(p *Producer) *int32 { return &p.Retries }).older("zk-2.6", "0"),
	millis("linger.ms", "0", 0, func(p *Producer) *kafka.Nanos { return &p.Linger }),
	number("batch.size", "bytes", "16384", 0, maxInt32, func(p *Producer) *int32 { return &p.BatchSize }),
	number("buffer.memory", "bytes", "33554432", 0, maxInt64, func(p *Producer) *int64 { return &p.BufferMemory }),
	number("max.request.size", "bytes", "1048576", 0, maxInt32, func(p *Producer) *int32 { return &p.MaxRequestSize }),
	millis("max.block.ms", "60000", 0, func(p *Producer) *kafka.Nanos { return &p.MaxBlock }),
	millis("request.timeout.ms", "30000", 0, func(p *Producer) *kafka.Nanos { return &p.RequestTimeout }),
	millis("delivery.timeout.ms", "120000", 0, func(p *Producer) *kafka.Nanos { return &p.DeliveryTimeout }),
	number("max.in.flight.requests.per.connection", "requests", "5", 1, maxInt32, func(p *Producer) *int { return &p.MaxInFlight }),
	millis("retry.backoff.ms", "100", 0, func(p *Producer) *kafka.Nanos { return &p.RetryBackoff }),
	// Before KIP-580 (3.7) the backoff did not grow.
	millis("retry.backoff.max.ms", "1000", 0, func(p *Producer) *kafka.Nanos { return &p.RetryBackoffMax }).older("zk-3.9", "100"),
	millis("reconnect.backoff.ms", "50", 0, func(p *Producer) *kafka.Nanos { return &p.ReconnectBackoff }),
	millis("reconnect.backoff.max.ms", "1000", 0, func(p *Producer) *kafka.Nanos { return &p.ReconnectMax }),
	millis("metadata.max.age.ms", "300000", 0, func(p *Producer) *kafka.Nanos { return &p.MetadataMaxAge }),
	words("compression.type", "none", codecs, func(p *Producer, v string) { p.Codec, _ = record.ParseCodec(v) }),
	boolean("partitioner.ignore.keys", "false", func(p *Producer) *bool { return &p.IgnoreKeys }),
	boolean("partitioner.adaptive.partitioning.enable", "true", func(p *Producer) *bool { return &p.Adaptive }),
	millis("partitioner.availability.timeout.ms", "0", 0, func(p *Producer) *kafka.Nanos { return &p.AvailabilityLimit }),
	millis("socket.connection.setup.timeout.ms", "10000", 1, func(p *Producer) *kafka.Nanos { return &p.ConnectionSetup }),
}

// NewProducer makes a producer's configuration. It keeps p.
func NewProducer(p *Profile, settings []Setting) (*Producer, []error) {
	c := &Producer{Profile: p, Partitioner: p.Partitioner}
	errs := apply(c, p, producerKeys, settings)
	if len(errs) == 0 && c.DeliveryTimeout < c.Linger+c.RequestTimeout {
		errs = append(errs, &SettingError{Setting: lastOf(settings, "delivery.timeout.ms"), Reason: fmt.Sprintf(
			"must be at least linger.ms + request.timeout.ms, which is %d", (c.Linger+c.RequestTimeout)/kafka.Millisecond)})
	}
	return c, errs
}

// lastOf is the setting in force for a key; its default has no value.
func lastOf(settings []Setting, name string) Setting {
	for i := len(settings) - 1; i >= 0; i-- {
		if settings[i].Key == name {
			return settings[i]
		}
	}
	return Setting{Key: name, Value: "(default)"}
}

// ProducerKeys documents the honoured producer settings.
func ProducerKeys() []Key { return documentation(producerKeys) }

// consumerKeys are cluster 9.6, without groups.
var consumerKeys = []key[Consumer]{
	number("fetch.min.bytes", "bytes", "1", 0, maxInt32, func(c *Consumer) *int32 { return &c.FetchMinBytes }),
	millis("fetch.max.wait.ms", "500", 0, func(c *Consumer) *kafka.Nanos { return &c.FetchMaxWait }),
	number("fetch.max.bytes", "bytes", "52428800", 0, maxInt32, func(c *Consumer) *int32 { return &c.FetchMaxBytes }),
	number("max.partition.fetch.bytes", "bytes", "1048576", 0, maxInt32, func(c *Consumer) *int32 { return &c.MaxPartitionBytes }),
	number("max.poll.records", "records", "500", 1, maxInt32, func(c *Consumer) *int { return &c.MaxPollRecords }),
	words("auto.offset.reset", "latest", []string{"latest", "earliest", "none"}, func(c *Consumer, v string) {
		c.AutoOffsetReset = map[string]ResetPolicy{"latest": ResetLatest, "earliest": ResetEarliest, "none": ResetNone}[v]
	}),
	millis("request.timeout.ms", "30000", 0, func(c *Consumer) *kafka.Nanos { return &c.RequestTimeout }),
	millis("retry.backoff.ms", "100", 0, func(c *Consumer) *kafka.Nanos { return &c.RetryBackoff }),
	millis("retry.backoff.max.ms", "1000", 0, func(c *Consumer) *kafka.Nanos { return &c.RetryBackoffMax }).older("zk-3.9", "100"),
	millis("reconnect.backoff.ms", "50", 0, func(c *Consumer) *kafka.Nanos { return &c.ReconnectBackoff }),
	millis("reconnect.backoff.max.ms", "1000", 0, func(c *Consumer) *kafka.Nanos { return &c.ReconnectMax }),
	millis("metadata.max.age.ms", "300000", 0, func(c *Consumer) *kafka.Nanos { return &c.MetadataMaxAge }),
	boolean("check.crcs", "true", func(c *Consumer) *bool { return &c.CheckCRCs }),
	millis("socket.connection.setup.timeout.ms", "10000", 1, func(c *Consumer) *kafka.Nanos { return &c.ConnectionSetup }),
}

// NewConsumer makes a consumer's configuration. It keeps p.
func NewConsumer(p *Profile, settings []Setting) (*Consumer, []error) {
	c := &Consumer{Profile: p}
	return c, apply(c, p, consumerKeys, settings)
}

// ConsumerKeys documents the honoured consumer settings.
func ConsumerKeys() []Key { return documentation(consumerKeys) }

// zookeeperKeys are the server's own settings (cluster 9.2, Z-1).
var zookeeperKeys = []key[ZooKeeper]{
	millis("tickTime", "3000", 1, func(z *ZooKeeper) *kafka.Nanos { return &z.TickTime }),
	millis("minSessionTimeout", "", 1, func(z *ZooKeeper) *kafka.Nanos { return &z.MinSessionTimeout }),
	millis("maxSessionTimeout", "", 1, func(z *ZooKeeper) *kafka.Nanos { return &z.MaxSessionTimeout }),
}

// NewZooKeeper makes the ensemble's configuration.
func NewZooKeeper(settings []Setting) (*ZooKeeper, []error) {
	z := &ZooKeeper{ReadServiceTime: 50 * kafka.Microsecond, WriteServiceTime: 2 * kafka.Millisecond}
	errs := apply(z, &profiles[len(profiles)-1], zookeeperKeys, settings)
	if z.MinSessionTimeout == 0 {
		z.MinSessionTimeout = 2 * z.TickTime
	}
	if z.MaxSessionTimeout == 0 {
		z.MaxSessionTimeout = 20 * z.TickTime
	}
	return z, errs
}

// ZooKeeperKeys documents the honoured ensemble settings.
func ZooKeeperKeys() []Key { return documentation(zookeeperKeys) }
