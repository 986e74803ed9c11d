package config

import (
	"fmt"
	"slices"
	"strings"

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

// consumerKeys are cluster 9.6 and groups 0.1.
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

	// Of members of a group.
	word("group.instance.id", "a name", func(c *Consumer, v string) error { c.GroupInstanceID = v; return nil }),
	assignors("partition.assignment.strategy", "range,cooperative-sticky").older("zk-3.9", "range"),
	millis("session.timeout.ms", "45000", 1, func(c *Consumer) *kafka.Nanos { return &c.SessionTimeout }).older("zk-3.9", "10000"),
	millis("heartbeat.interval.ms", "3000", 1, func(c *Consumer) *kafka.Nanos { return &c.HeartbeatInterval }),
	millis("max.poll.interval.ms", "300000", 1, func(c *Consumer) *kafka.Nanos { return &c.MaxPollInterval }),
	boolean("enable.auto.commit", "true", func(c *Consumer) *bool { return &c.AutoCommit }),
	millis("auto.commit.interval.ms", "5000", 0, func(c *Consumer) *kafka.Nanos { return &c.AutoCommitInterval }),
	millis("default.api.timeout.ms", "60000", 0, func(c *Consumer) *kafka.Nanos { return &c.APITimeout }),
	boolean("internal.leave.group.on.close", "true", func(c *Consumer) *bool { return &c.LeaveOnClose }),
}

// OfGroups reports whether a consumer setting means something only to a member of a
// group.
func OfGroups(key string) bool {
	switch key {
	case "group.instance.id", "partition.assignment.strategy", "session.timeout.ms", "heartbeat.interval.ms", "max.poll.interval.ms",
		"max.poll.records", "enable.auto.commit", "auto.commit.interval.ms", "default.api.timeout.ms", "internal.leave.group.on.close":
		return true
	}
	return false
}

// assignorClasses are the assignors by their protocol names, with Kafka's classes and the
// first profile whose clients have them (KIP-54: 0.11, KIP-429: 2.4).
var assignorClasses = [...]struct{ name, class, first string }{
	{"range", "RangeAssignor", "zk-0.10"},
	{"roundrobin", "RoundRobinAssignor", "zk-0.10"},
	{"sticky", "StickyAssignor", "zk-0.11"},
	{"cooperative-sticky", "CooperativeStickyAssignor", "zk-2.6"},
}

// HasAssignor reports whether the clients of the profile's release have an assignor, by its
// protocol name.
func (p *Profile) HasAssignor(name string) bool {
	for _, a := range assignorClasses {
		if a.name == name {
			first, _ := ProfileByName(a.first)
			return p.age() >= first.age()
		}
	}
	return false
}

// assignors is a list of assignors, by protocol name or class.
func assignors(name, def string) key[Consumer] {
	return key[Consumer]{Key{Name: name, Unit: "a list of range, roundrobin, sticky, cooperative-sticky", Default: def}, func(c *Consumer, v string) error {
		var list []string
		for item := range strings.SplitSeq(v, ",") {
			item = strings.TrimSpace(item)
			name := ""
			for _, a := range assignorClasses {
				if item == a.name || item == "org.apache.kafka.clients.consumer."+a.class {
					name = a.name
				}
			}
			switch {
			case name == "":
				return fmt.Errorf("%q is not one of range, roundrobin, sticky, cooperative-sticky or their classes", item)
			case slices.Contains(list, name):
				return fmt.Errorf("%s stands twice", name)
			}
			list = append(list, name)
		}
		c.Assignors = list
		return nil
	}}
}

// NewConsumer makes a consumer's configuration. It keeps p.
func NewConsumer(p *Profile, settings []Setting) (*Consumer, []error) {
	c := &Consumer{Profile: p}
	errs := apply(c, p, consumerKeys, settings)
	if len(errs) == 0 && c.HeartbeatInterval >= c.SessionTimeout {
		errs = append(errs, &SettingError{Setting: lastOf(settings, "heartbeat.interval.ms"), Reason: fmt.Sprintf(
			"must be below session.timeout.ms, which is %d", c.SessionTimeout/kafka.Millisecond)})
	}
	return c, errs
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
