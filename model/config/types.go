// Package config holds every Kafka setting that simkafka honours: its key, unit,
// scope and default by protocol profile (cluster 9), and the profiles themselves
// (cluster 0.3). Settings keep Kafka's keys and units outside; inside, the typed
// structs of this file hold them converted once.
package config

import (
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/quirk"
	"github.com/simkafka/simkafka/model/record"
)

// Setting is one configuration entry, key and value as Kafka spells them.
type Setting struct{ Key, Value string }

// Truncation is the rule by which a follower cuts its log (cluster 2.2).
type Truncation uint8

// The four rules, oldest first.
const (
	TruncateToHW     Truncation = iota // T-1, before 0.11
	TruncateEpoch101                   // T-2, KIP-101
	TruncateEpoch279                   // T-3, KIP-279
	TruncateOnFetch                    // T-4, KIP-595 for data partitions
)

// Profile is a protocol version: the flags of cluster 0.3.
type Profile struct {
	Name           string // zk-3.9
	Truncation     Truncation
	Fencing320     bool // current leader epoch in Fetch, ListOffsets, OffsetsForLeaderEpoch
	EpochStartGate bool // KAFKA-7128
	AlterPartition bool // KIP-497
	BrokerEpoch    bool // KIP-380
	RecoveryState  bool // KIP-704
	// HaltOnDirFailure: the failure of one log directory ends the process (before KIP-112).
	HaltOnDirFailure bool
	HWMinISRGate     bool // KAFKA-15583
	IndexPerBatch    bool // KAFKA-806: followers index each batch of an append, as leaders do
	// AssignsKnown: a group's leader assigns the partitions that its metadata have, and not as many numbers
	// from 0 on (since 3.5, KIP-881; round robin counts as before).
	AssignsKnown bool
	// DoomedUntold: the controller leaves partitions of topics that are being deleted out of what it tells
	// a broker that starts (since 2.7); before, it tells it that they are being deleted.
	DoomedUntold bool
	// LeaderAsksAnew: a group's leader asks for metadata in each generation in which another member
	// subscribes to a topic that it does not (since 2.3); before, only if the topic is new to it.
	LeaderAsksAnew bool
	// BeatsFromJoin: a member sends heartbeats from the answer to its JoinGroup on, a SyncGroup that
	// fails notwithstanding (since 2.6.1, KAFKA-10134); before, from the answer to its SyncGroup on.
	BeatsFromJoin bool
	// OffsetsFactorOfAlive: __consumer_offsets is made with fewer replicas where fewer
	// brokers are alive than offsets.topic.replication.factor says (before KIP-115).
	OffsetsFactorOfAlive bool
	// StaticMembers: KIP-345; before it a request with a group instance id is refused.
	StaticMembers bool
	// ExpireIdleGroups: offsets expire once their group is empty (KIP-211); before, each
	// expired by the time of its commit.
	ExpireIdleGroups bool
	// AutoRebalanceIgnoresReassignment: KAFKA-10149, 3.4 (cluster Z-26).
	AutoRebalanceIgnoresReassignment bool
	Partitioner                      Partitioner // P-13, P-14
	// Versions are the API versions that this profile's brokers and clients speak.
	Versions APIVersions
	// Quirks are the historical bugs that are put back; see With.
	Quirks quirk.Set
}

// Partitioner is what a producer does with records without a key.
type Partitioner uint8

// The rules of P-13 and P-14.
const (
	RoundRobin     Partitioner = iota // before 2.4
	StickyPerBatch                    // KIP-480, 2.4 to 3.2
	UniformSticky                     // KIP-794, 3.3
)

// APIVersions are the request versions in use, one per API.
type APIVersions struct {
	Produce, Fetch, ListOffsets, Metadata, OffsetForLeaderEpoch int16
	LeaderAndISR, StopReplica, UpdateMetadata                   int16
	ControlledShutdown, AlterPartition                          int16
	FindCoordinator, JoinGroup, SyncGroup, Heartbeat            int16
	LeaveGroup, OffsetCommit, OffsetFetch                       int16
}

// Broker is the configuration of one broker process.
type Broker struct {
	NodeID  kafka.NodeID
	Rack    string // broker.rack, "" = none
	Profile *Profile

	NumIOThreads      int // num.io.threads
	NumNetworkThreads int
	QueuedMaxRequests int

	ReplicaLagTimeMax         kafka.Nanos // replica.lag.time.max.ms
	ReplicaFetchMaxBytes      int32
	ReplicaFetchResponseMax   int32
	ReplicaFetchWaitMax       kafka.Nanos
	ReplicaFetchMinBytes      int32
	ReplicaFetchBackoff       kafka.Nanos
	ReplicaSocketTimeout      kafka.Nanos
	NumReplicaFetchers        int
	HWCheckpointInterval      kafka.Nanos
	FetchMaxBytes             int32 // broker cap
	RequestTimeout            kafka.Nanos
	ControllerSocketTimeout   kafka.Nanos
	ControlledShutdown        bool
	ControlledShutdownRetries int
	ControlledShutdownBackoff kafka.Nanos

	AutoLeaderRebalance      bool
	LeaderImbalanceCheck     kafka.Nanos // leader.imbalance.check.interval.seconds
	LeaderImbalancePercent   int         // leader.imbalance.per.broker.percentage
	UncleanLeaderElection    bool        // default for topics
	MinInsyncReplicas        int         // default for topics
	DefaultReplicationFactor int
	NumPartitions            int32
	AutoCreateTopics         bool
	DeleteTopics             bool

	ZKSessionTimeout    kafka.Nanos
	ZKConnectionTimeout kafka.Nanos
	ZKMaxInFlight       int

	// LogDirs are the data directories (log.dirs, else log.dir); empty if neither is set.
	LogDirs []string

	LogDefaults                   Topic       // what a topic without overrides gets
	LogFlushInterval              kafka.Nanos // log.flush.interval.ms; Forever = unset
	LogFlushSchedulerInterval     kafka.Nanos
	FlushOffsetCheckpointInterval kafka.Nanos
	FlushStartOffsetCheckpoint    kafka.Nanos
	LogInitialTaskDelay           kafka.Nanos
	LogRetentionCheckInterval     kafka.Nanos // log.retention.check.interval.ms
	CleanerEnable                 bool
	CleanerBackoff                kafka.Nanos
	CleanerThreads                int
	CleanerDedupeBuffer           int64 // of all threads
	CleanerLoadFactor             int64 // of the dedupe buffer, in millionths
	CleanerIORate                 int64 // bytes a second, of all threads; maxInt64 = without limit
	CleanerIOBuffer               int32
	RecoveryThreads               int

	GroupInitialDelay     kafka.Nanos // group.initial.rebalance.delay.ms
	GroupMinSession       kafka.Nanos // group.min.session.timeout.ms
	GroupMaxSession       kafka.Nanos
	GroupMaxSize          int   // members
	OffsetsPartitions     int32 // offsets.topic.num.partitions
	OffsetsReplication    int
	OffsetsSegmentBytes   int32
	OffsetsCodec          int32       // offsets.topic.compression.codec
	OffsetsRetention      kafka.Nanos // offsets.retention.minutes
	OffsetsRetentionCheck kafka.Nanos
	OffsetsCommitTimeout  kafka.Nanos
	OffsetsAcks           int32 // offsets.commit.required.acks
	OffsetMetadataMax     int   // offset.metadata.max.bytes
	OffsetsLoadBuffer     int   // bytes

	ProducerExpirationMs    int64       // producer.id.expiration.ms
	ProducerExpirationCheck kafka.Nanos // producer.id.expiration.check.interval.ms

	// Set by simkafka, not Kafka keys: time that handling costs.
	RequestServiceTime kafka.Nanos // per request, 20 us by default
	FetchPartitionCost kafka.Nanos // per partition of a fetch or produce
}

// Topic is the configuration of one topic.
type Topic struct {
	SegmentBytes          int32
	SegmentMs             int64
	SegmentJitterMs       int64
	IndexIntervalBytes    int32
	SegmentIndexBytes     int32
	FlushMessages         int64
	FlushMs               int64
	RetentionMs           int64  // -1: for ever
	RetentionBytes        int64  // -1: without limit
	CleanupPolicy         string // Delete, Compact or CompactAndDelete
	MinCleanableRatio     int64  // in millionths
	DeleteRetentionMs     int64
	MinCompactionLagMs    int64
	MaxCompactionLagMs    int64
	FileDeleteDelayMs     int64
	MaxMessageBytes       int32
	MinInsyncReplicas     int
	UncleanLeaderElection bool
	TimestampType         record.TimestampType
	TimestampBeforeMaxMs  int64
	TimestampAfterMaxMs   int64
	Codec                 record.Codec
	KeepCodec             bool // compression.type=producer
	Preallocate           bool
}

// Producer is the configuration of one producer.
type Producer struct {
	Profile           *Profile
	Acks              int8 // -1 = all
	Retries           int32
	Linger            kafka.Nanos
	BatchSize         int32
	BufferMemory      int64
	MaxRequestSize    int32
	MaxBlock          kafka.Nanos
	RequestTimeout    kafka.Nanos
	DeliveryTimeout   kafka.Nanos
	MaxInFlight       int // max.in.flight.requests.per.connection
	RetryBackoff      kafka.Nanos
	RetryBackoffMax   kafka.Nanos
	ReconnectBackoff  kafka.Nanos
	ReconnectMax      kafka.Nanos
	MetadataMaxAge    kafka.Nanos
	Codec             record.Codec
	Partitioner       Partitioner
	IgnoreKeys        bool
	Adaptive          bool
	AvailabilityLimit kafka.Nanos // partitioner.availability.timeout.ms; 0 = off
	ConnectionSetup   kafka.Nanos // socket.connection.setup.timeout.ms
}

// ResetPolicy is auto.offset.reset.
type ResetPolicy uint8

// The policies.
const (
	ResetLatest ResetPolicy = iota
	ResetEarliest
	ResetNone
)

// Consumer is the configuration of one consumer.
type Consumer struct {
	Profile           *Profile
	FetchMinBytes     int32
	FetchMaxWait      kafka.Nanos
	FetchMaxBytes     int32
	MaxPartitionBytes int32
	MaxPollRecords    int
	AutoOffsetReset   ResetPolicy
	RequestTimeout    kafka.Nanos
	RetryBackoff      kafka.Nanos
	RetryBackoffMax   kafka.Nanos
	ReconnectBackoff  kafka.Nanos
	ReconnectMax      kafka.Nanos
	MetadataMaxAge    kafka.Nanos
	CheckCRCs         bool
	ConnectionSetup   kafka.Nanos

	// Of members of a group.
	GroupInstanceID    string // "" = dynamic
	Assignors          []string
	SessionTimeout     kafka.Nanos
	HeartbeatInterval  kafka.Nanos
	MaxPollInterval    kafka.Nanos // is also the rebalance timeout
	AutoCommit         bool
	AutoCommitInterval kafka.Nanos
	APITimeout         kafka.Nanos // default.api.timeout.ms
	LeaveOnClose       bool        // internal.leave.group.on.close
}

// ZooKeeper is the configuration of the ensemble.
type ZooKeeper struct {
	TickTime          kafka.Nanos // 3000 ms in server code (cluster Z-1)
	MinSessionTimeout kafka.Nanos // 2 ticks
	MaxSessionTimeout kafka.Nanos // 20 ticks
	ReadServiceTime   kafka.Nanos // simkafka's own: cost of a read, a write (with its fsync)
	WriteServiceTime  kafka.Nanos
}
