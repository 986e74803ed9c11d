package scenarios

import (
	"fmt"
	"strconv"

	"github.com/simkafka/simkafka/model/kafka"
)

// The phases of a generated world. After the heal the workload goes on for a while;
// then everything must converge within Settle, which is the published bound: a
// ZooKeeper session, two lags, the longest backoffs and a delivery timeout of each
// world are far below it.
const (
	generatedHeal   = 30 * kafka.Second
	generatedEnd    = 36 * kafka.Second
	GeneratedSettle = 3 * kafka.Minute
)

// topology: 3 brokers in half of the worlds, else 1 to 5; one or two topics.
func (w *world) topology() {
	s := w.spec
	s.Protocol = w.pick("protocol", "zk-3.9", "zk-3.9", "zk-3.9", "zk-2.6")
	s.Duration, s.Heal, s.Settle = generatedEnd, generatedHeal, GeneratedSettle
	c := &s.Cluster
	c.Brokers = []int{3, 3, 3, 4, 5, 2, 1}[w.int("brokers", 0, 6)]
	w.replication = min(c.Brokers, []int{3, 3, 2, 1}[w.int("replication", 0, 3)])
	if w.guided { // at a partition that has followers
		c.Brokers = max(c.Brokers, 2)
		w.replication = min(c.Brokers, []int{3, 3, 3, 2}[w.int("replication", 0, 3)])
	}
	if w.m.guide == returning { // one to lead, one to hear less, one to hear more
		c.Brokers = max(c.Brokers, 3)
		w.replication = 3
	}
	w.minISR = max(1, min(w.replication-1, []int{2, 1}[w.int("minISR", 0, 1)]))
	if w.swarm("racks") {
		for i := range c.Brokers {
			c.Racks = append(c.Racks, string(rune('a'+i%3)))
		}
	}
	if w.swarm("zookeeper-endpoints") {
		c.Endpoints = 3
	}
	switch {
	case w.swarm("long-links"):
		c.Network.Latency = Dist{Kind: "uniform", A: 2 * kafka.Millisecond, B: 10 * kafka.Millisecond}
	case w.swarm("heavy-tailed-links"):
		c.Network.Latency = Dist{Kind: "lognormal", A: 300 * kafka.Microsecond, B: 20 * kafka.Millisecond}
	default:
		c.Network.Latency = Dist{Kind: "uniform", A: 200 * kafka.Microsecond, B: 500 * kafka.Microsecond}
	}
	if w.swarm("slow-fsync") {
		c.Disk.Fsync = 20 * kafka.Millisecond
	}
	if w.swarm("early-writeback") {
		c.Disk.Writeback = 500 * kafka.Millisecond
	}
	if w.swarm("other-filesystem") {
		c.Disk.Filesystem = w.pick("filesystem", "xfs", "btrfs", "ext4-journal")
	}
	partitions := []int32{1, 2, 1, 4}
	if w.guided {
		partitions = []int32{1, 1, 1, 3}
	}
	if w.m.guide == returning { // who loses one lead mostly has others: its followers keep their connections
		partitions = []int32{3, 3, 4, 1}
	}
	s.Topics = []Topic{{Name: "t", Partitions: partitions[w.int("partitions", 0, 3)], Replication: w.replication}}
	if w.swarm("second-topic") {
		s.Topics = append(s.Topics, Topic{Name: "u", Partitions: partitions[w.int("partitions-2", 0, 3)],
			Replication: min(c.Brokers, int(w.int("replication-2", 1, 3)))})
	}
}

// settings are Kafka's own, by their own keys; what is not switched on has its
// default, but for the timeouts, which must fit a run of half a minute.
func (w *world) settings() {
	c := &w.spec.Cluster
	set := func(key string, value any) { c.Config = append(c.Config, Setting{Key: key, Value: fmt.Sprint(value)}) }
	w.session, w.lag = 6*kafka.Second, 5*kafka.Second
	if w.m.small {
		w.session = w.millis("session", 1500*kafka.Millisecond, 4*kafka.Second)
		w.lag = w.millis("lag", 500*kafka.Millisecond, 3*kafka.Second)
		if w.odd("long-lag", 20) || w.guided && w.odd("long-lag-guided", 25) { // the in-sync set outlives a change of the leader
			w.lag = w.millis("lag", 3*kafka.Second, 8*kafka.Second)
		}
		if w.movesLead = w.guided && (w.m.guide == returning || w.odd("moving-lead", 40)); w.movesLead {
			w.lag = w.millis("lag-moving", 3*kafka.Second, 8*kafka.Second)
		}
		c.ZooKeeper = []Setting{{Key: "tickTime", Value: "500"}}
		c.Endpoints = max(c.Endpoints, 1)
	}
	set("min.insync.replicas", w.minISR)
	set("unclean.leader.election.enable", w.m.beyond && w.swarm("unclean-election"))
	set("zookeeper.session.timeout.ms", ms(w.session))
	set("replica.lag.time.max.ms", ms(w.lag))
	w.setSizes(set)
	w.setTasks(set)
	if w.swarm("two-fetchers") {
		set("num.replica.fetchers", 2)
	}
	switch {
	case w.m.guide == returning:
		set("leader.imbalance.check.interval.seconds", w.int("imbalance-returning", 2, 3))
	case w.movesLead:
		set("leader.imbalance.check.interval.seconds", w.int("imbalance-moving", 1, 2))
	case w.swarm("rebalance") || w.guided && w.odd("rebalance", 60):
		set("leader.imbalance.check.interval.seconds", w.int("imbalance", 1, 5))
	}
	if (w.swarm("small-fetches") || w.guided && w.odd("small-fetches", 40)) && !w.oneBatch {
		set("replica.fetch.max.bytes", w.int("replica-fetch", 1, 2000))
	}
	if w.swarm("slow-hw") {
		set("replica.fetch.wait.max.ms", min(2000, ms(w.lag)/2))
	}
	if w.swarm("hw-checkpoint") {
		set("replica.high.watermark.checkpoint.interval.ms", w.int("hw-interval", 100, 2000))
	}
	if w.swarm("short-controller-timeout") || w.guided && w.odd("short-controller-timeout", 40) {
		set("controller.socket.timeout.ms", 2000)
	}
	if w.swarm("quick-backoff") {
		set("replica.fetch.backoff.ms", 100)
	}
}

func ms(d kafka.Nanos) int64 { return int64(d / kafka.Millisecond) }

// setSizes draws what the log looks like on disk.
func (w *world) setSizes(set func(string, any)) {
	if w.m.small || w.swarm("small-segments") {
		set("log.segment.bytes", w.int("segment", 300, 8000))
	}
	if w.m.small || w.swarm("dense-index") {
		set("log.index.interval.bytes", 1)
	}
	if w.swarm("small-index") {
		// A follower looks for room in its index once before it enters all batches of a
		// fetch (since KAFKA-806; before, recovery does so), and fails if there is none.
		set("log.index.size.max.bytes", w.int("index", 96, 480))
		set("replica.fetch.max.bytes", 1)
		w.oneBatch = true
	}
	if w.swarm("roll-by-time") {
		set("log.roll.ms", w.int("roll", 500, 5000))
	}
	if w.swarm("preallocate") && w.m.small {
		set("log.preallocate", true)
	}
	switch w.pick("flush", "never", "never", "each", "some", "interval") {
	case "each":
		set("log.flush.interval.messages", 1)
	case "some":
		set("log.flush.interval.messages", w.int("flush-messages", 2, 50))
	case "interval":
		set("log.flush.interval.ms", w.int("flush-ms", 200, 3000))
		set("log.flush.scheduler.interval.ms", 500)
	}
	if w.swarm("checkpoints") {
		set("log.flush.offset.checkpoint.interval.ms", w.int("recovery-point", 500, 5000))
		set("log.flush.start.offset.checkpoint.interval.ms", w.int("start-point", 500, 5000))
	}
}

// setTasks draws retention and compaction.
func (w *world) setTasks(set func(string, any)) {
	t := &w.spec.Topics[0]
	topic := func(key string, value any) { t.Config = append(t.Config, Setting{Key: key, Value: fmt.Sprint(value)}) }
	soon := func() { set("log.initial.task.delay.ms", w.int("task-delay", 500, 4000)) }
	cleanup := w.pick("cleanup", "none", "none", "none", "bytes", "time", "compact")
	if w.guided && cleanup == "compact" {
		// A replica that copies an epoch whose first batches a leader has compacted away takes
		// a later offset for its start (UnifiedLog.append). As a leader it lets a follower keep
		// what a deposed leader wrote in between: Kafka's own flaw, which plans find often.
		cleanup = "none"
	}
	if w.m.guide == returning {
		// A leader whose log retention has emptied knows only its last epoch: a follower
		// keeps what it had of an older one up to the same offset
		// (LeaderEpochFileCache.endOffsetFor). It is Kafka's own flaw, too.
		cleanup = "none"
	}
	switch cleanup {
	case "bytes":
		soon()
		set("log.retention.check.interval.ms", w.int("retention-check", 500, 4000))
		topic("retention.bytes", w.int("retention-bytes", 2000, 40_000))
		topic("file.delete.delay.ms", w.int("delete-delay", 0, 3000))
		topic("segment.bytes", w.int("topic-segment", 500, 8000))
	case "time":
		soon()
		set("log.retention.check.interval.ms", w.int("retention-check", 500, 4000))
		topic("retention.ms", w.int("retention-ms", 3000, 15_000))
		topic("segment.bytes", w.int("topic-segment", 500, 8000))
	case "compact":
		soon()
		set("log.cleaner.backoff.ms", w.int("cleaner-backoff", 200, 3000))
		topic("cleanup.policy", w.pick("policy", "compact", "compact,delete"))
		segment := w.int("topic-segment", 1000, 8000)
		topic("segment.bytes", segment)
		// A cleaning that gives tombstones a horizon makes their batch larger; followers
		// refuse one above segment.bytes (UnifiedLog.append before KAFKA-17375).
		topic("max.message.bytes", segment*2/3)
		topic("min.cleanable.dirty.ratio", "0.01")
		topic("delete.retention.ms", w.int("delete-retention", 0, 10_000))
	}
}

// workload: one to three groups of producers, one or two of consumers.
func (w *world) workload() {
	for i := range w.int("producers", 1, 3) {
		w.path = fmt.Sprintf("producer/%d/", i)
		w.producer(i)
	}
	for i := range w.int("consumers", 1, 2) {
		w.path = fmt.Sprintf("consumer/%d/", i)
		w.consumer(i)
	}
	w.path = ""
	w.groups()
	w.idleTimes()
	w.monitors()
}

func (w *world) producer(i int64) {
	p := Producer{Name: fmt.Sprintf("p%d", i), Count: int(w.int("count", 1, 3)), Topic: w.anyTopic(), Partition: -1, Arrival: "exponential"}
	p.RatePerMil = []int64{10_000, 5_000, 1_000, 30_000}[w.int("rate", 0, 3)]
	if w.m.guide == returning { // so few records that two terms often have equally many
		p.RatePerMil = []int64{2_000, 1_000, 5_000}[w.int("rate-of-terms", 0, 2)]
	}
	p.Size = int32(w.int("size", 30, 400))
	for _, s := range w.spec.Topics[0].Config {
		if s.Key == "cleanup.policy" {
			p.Keys = 20
			if w.odd("tombstones", 50) {
				p.Tombstones = 10_000 * w.int("tombstones-percent", 2, 40)
			}
		}
	}
	if w.odd("keyed", 30) {
		p.Keys = w.int("keys", 1, 50)
	}
	set := func(key string, value any) { p.Config = append(p.Config, Setting{Key: key, Value: fmt.Sprint(value)}) }
	set("acks", w.acks())
	set("max.in.flight.requests.per.connection", w.pick("in-flight", "1", "1", "5"))
	set("linger.ms", w.pick("linger", "0", "5", "50"))
	set("retries", w.pick("retries", "2147483647", "2147483647", "0", "3"))
	set("request.timeout.ms", w.pick("timeout", "5000", "2000"))
	set("delivery.timeout.ms", w.pick("delivery", "40000", "31000"))
	if w.odd("metadata-age", 30) {
		set("metadata.max.age.ms", w.int("metadata-age-ms", 300, 5000))
	}
	if w.odd("compressed", 30) {
		set("compression.type", w.pick("codec", "gzip", "snappy", "lz4", "zstd"))
	}
	w.spec.Producers = append(w.spec.Producers, p)
}

// acks are all in most cases. A leader that nobody hears gets no more records of producers
// that wait for acks=all: where leaders are to be unheard, others are drawn more often.
func (w *world) acks() string {
	if w.m.guide == returning && w.odd("acks-of-leader", 40) {
		return "1"
	}
	return w.pick("acks", "all", "all", "all", "all", "1")
}

func (w *world) consumer(i int64) {
	c := Consumer{Name: fmt.Sprintf("c%d", i), Count: int(w.int("count", 1, 2)), Topics: []string{"t"}}
	if len(w.spec.Topics) > 1 {
		c.Topics = append(c.Topics, "u")
	}
	if w.odd("late", 20) {
		c.Start = w.millis("start", 5*kafka.Second, 25*kafka.Second)
	}
	set := func(key string, value any) { c.Config = append(c.Config, Setting{Key: key, Value: fmt.Sprint(value)}) }
	set("auto.offset.reset", w.pick("reset", "earliest", "earliest", "latest"))
	if w.odd("small", 20) {
		set("max.partition.fetch.bytes", w.int("fetch", 1, 2000))
	}
	w.spec.Consumers = append(w.spec.Consumers, c)
}

func (w *world) anyTopic() string {
	return w.spec.Topics[w.int("topic", 0, int64(len(w.spec.Topics)-1))].Name
}

// anyPartition is a partition of any topic, as selectors spell it.
func (w *world) anyPartition() kafka.TopicPartition {
	t := &w.spec.Topics[w.int("topic", 0, int64(len(w.spec.Topics)-1))]
	return kafka.TopicPartition{Topic: t.Name, Partition: int32(w.int("partition", 0, int64(t.Partitions-1)))}
}

func (w *world) setting(key string) int64 {
	for _, s := range w.spec.Cluster.Config {
		if s.Key == key {
			n, _ := strconv.ParseInt(s.Value, 10, 64)
			return n
		}
	}
	return 0
}
