// Package scenarios is the scenario file: its format (load.go, schema.go), the
// built-in library (*.yaml, embedded) and the value that a run is made from. A
// Spec is complete: with a seed it decides every byte of a run.
package scenarios

import (
	"github.com/simkafka/simkafka/faults"
	"github.com/simkafka/simkafka/model/config"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/quirk"
)

// Setting is one configuration entry, key and value as Kafka spells them.
type Setting = config.Setting

// Spec is a scenario.
type Spec struct {
	Name     string
	Why      string // what it shows, for people
	Look     string // what to expect to see
	Protocol string // profile name, such as zk-3.9
	// Quirks are historical bugs that the run has; the invariants expect a model without.
	Quirks quirk.Set
	// Heal ends the chaos phase: faults are undone, what is down restarts (0 = at
	// Duration). The workload goes on until Duration; then the cluster must settle
	// within Settle, and everything is read back.
	Heal     kafka.Nanos
	Duration kafka.Nanos
	Settle   kafka.Nanos

	Cluster   Cluster
	Hardware  *Hardware // nil: the built-in costs
	Topics    []Topic
	Producers []Producer
	Consumers []Consumer
	Events    []faults.Planned
	Chaos     *Chaos // faults drawn from the seed
	Expect    Expect

	File string // where it came from, for messages
	// NotModelled lists the keys of a server.properties that simkafka does not honour.
	NotModelled []Setting
	Warnings    []string
}

// HealAt is the end of the chaos phase.
func (s *Spec) HealAt() kafka.Nanos {
	if s.Heal > 0 {
		return s.Heal
	}
	return s.Duration
}

// SettleBound is how long after Duration the cluster may take to converge.
func (s *Spec) SettleBound() kafka.Nanos {
	if s.Settle > 0 {
		return s.Settle
	}
	return defaultSettle
}

// defaultSettle covers delivery.timeout.ms, a ZooKeeper session and one and a half
// lag limits at Kafka's defaults, with room.
const defaultSettle = 5 * kafka.Minute

// WorkloadStart is when producers begin: the cluster has booted, topics exist.
func (s *Spec) WorkloadStart() kafka.Nanos { return 3 * kafka.Second }

// Cluster is the machines.
type Cluster struct {
	Brokers   int      // ids 1 to Brokers
	Racks     []string // rack of broker i at [i-1]; nil = none
	Endpoints int      // ZooKeeper endpoints
	// Config is broker-level settings of all brokers; PerBroker overrides by id.
	Config    []Setting
	PerBroker []BrokerSettings
	ZooKeeper []Setting // tickTime, minSessionTimeout, maxSessionTimeout
	Network   Network
	Disk      Disk
	// ServiceTime is the CPU time of one request at a broker (20 us).
	ServiceTime kafka.Nanos
}

// BrokerSettings are the overrides of one broker.
type BrokerSettings struct {
	Node     kafka.NodeID
	Settings []Setting
}

// Dist is a delay distribution.
type Dist struct {
	Kind string // constant, uniform, exponential, lognormal
	A, B kafka.Nanos
	// constant: A. uniform: [A, B]. exponential: mean A. lognormal: median A, B = p99.
}

// Network is every link.
type Network struct {
	Latency   Dist  // one way
	Bandwidth int64 // bytes per second, 0 = unlimited
}

// Disk is every broker's disk. Zero fields take the built-in profile.
type Disk struct {
	Append    kafka.Nanos // per call into the page cache
	Fsync     kafka.Nanos // base
	Bandwidth int64       // bytes per second to the device
	Capacity  int64       // bytes, 0 = unlimited
	Writeback kafka.Nanos // age at which dirty pages reach the device
	// Filesystem is one of Filesystems: what a power loss and a failed sync leave. "" is ext4.
	Filesystem string
}

// Filesystems are the words for a disk's file system.
func Filesystems() []string { return []string{"ext4", "ext4-journal", "xfs", "btrfs", "posix"} }

// Topic is created before the workload starts.
type Topic struct {
	Name        string
	Partitions  int32
	Replication int
	Assignment  [][]kafka.NodeID // by partition; nil = Kafka's placement
	Config      []Setting
	// DefaultPartitions, DefaultReplication: the file does not say, so that num.partitions
	// and default.replication.factor do.
	DefaultPartitions, DefaultReplication bool
}

// Producer is a group of equal producers: Name, or Name-1.. if Count > 1.
type Producer struct {
	Name       string
	Count      int
	Topic      string
	Partition  int32  // -1 = by partitioner
	RatePerMil int64  // records a second of each, in thousandths
	Arrival    string // constant or exponential
	Size       int32  // bytes of a value
	Keys       int64  // number of distinct keys, 0 = no key
	Tombstones int64  // share of records without a value, in millionths
	Records    int64  // stop after, 0 = no limit
	Start      kafka.Nanos
	Stop       kafka.Nanos // 0 = end of the chaos phase
	Config     []Setting
}

// Consumer is a number of equal consumers. Without Group they share the partitions
// of their topics by index (assigned partitions, no group protocol).
type Consumer struct {
	Name   string
	Count  int
	Topics []string
	Start  kafka.Nanos
	// Group is the consumer group (group.id) that assigns the partitions; "" = none.
	Group string
	// EndOffsets is how often the application asks for the end offsets of its partitions, as
	// lag monitors do; 0 = never. Not of a group's member.
	EndOffsets kafka.Nanos
	// Processing is how long the application takes for a record.
	Processing kafka.Nanos
	// Revoke is how long its callback takes when partitions are revoked or lost.
	Revoke kafka.Nanos
	// OnStop says what the application does at SIGTERM with the records in hand: finish or
	// drop. "" = finish.
	OnStop string
	// Commit says when the application of a group's member commits: auto, sync, async or
	// before (the records are processed). "" = auto.
	Commit string
	Config []Setting
}

// Chaos draws faults: between Min and Max of them, each one of Of, at times drawn
// from [From, To). Range fields of the entries are drawn too.
type Chaos struct {
	From, To kafka.Nanos
	Min, Max int
	Of       []Candidate
}

// Candidate is a fault that chaos may draw. A topic/* in a selector stands for a
// drawn partition of that topic.
type Candidate struct {
	faults.Planned
	ForMax          kafka.Nanos // For is drawn from [For, ForMax]; 0 = For itself
	RestartAfterMax kafka.Nanos
}

// Expect is what must hold.
type Expect struct {
	// Loss demands expected loss: the run must lose acknowledged records for a
	// reason that its configuration allows.
	Loss bool
	// Violated demands that this invariant fails (anomaly traces in old profiles, bugs).
	Violated []string
	// BeyondBudget: the faults go beyond what the settings promise to survive. Only what
	// must hold even then decides the verdict (sim/cluster/beyond.go).
	BeyondBudget bool
	Metrics      []Metric
}

// Metric is one assertion, such as "produce.latency.p99 < 250ms after 55s".
type Metric struct {
	Source string
	Name   string
	Arg    string // glob in parentheses, such as orders/*
	Op     string // < <= > >= ==
	Value  int64  // ns, records, bytes/s or percent in thousandths, by metric
	From   kafka.Nanos
	To     kafka.Nanos // 0 = end
	Line   int
}
