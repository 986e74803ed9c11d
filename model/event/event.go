// Package event holds the facts that actors and the simulator note: what the
// checkers watch, the trace prints and triggers wait for. An event is a plain
// value; noting one never changes what happens.
//
// Which fields a kind fills is said on the kind. Fields that a kind does not
// name are zero. Slices are immutable once noted.
package event

import "github.com/simkafka/simkafka/model/kafka"

// Kind names a fact.
type Kind uint8

// The kinds. "Actor" is always filled by the kernel with the name of the node
// that noted the fact, Time and Seq too; Node is the broker id where the actor
// is a broker.
const (
	None Kind = iota

	// --- world, noted by the simulator itself ---

	NodeBooted   // Incarnation in Count
	NodeCrashed  // Text: kill, power loss, or the process's own reason
	NodeStopped  // the process exited by itself; Text: reason
	NodePaused   //
	NodeResumed  //
	FaultStarted // Text: the fault as the scenario would print it; Index: its number in the plan
	FaultEnded   // Text, Index
	Healed       // the chaos phase is over
	Settled      // the cluster has converged; Text: what it took
	Assertion    // a failed assertion in an actor; Text: message
	Probe        // a named rare state was reached; Text: name

	// --- controller and ZooKeeper ---

	ControllerElected  // Node, ControllerEpoch
	ControllerResigned // Node, ControllerEpoch
	BrokerRegistered   // Node, BrokerEpoch: the registration znode was created (noted by ZooKeeper)
	BrokerUnregistered // Node, BrokerEpoch: it is gone (noted by ZooKeeper)
	SessionExpired     // Text: the session's owner (noted by ZooKeeper)
	TopicCreated       // TP.Topic, Count = partitions, TopicID (noted by ZooKeeper at the commit of the znode)
	// TopicDeletionAsked and TopicDeleted: the controller is asked to delete TP.Topic; its
	// znode is gone, which is when a topic of that name may be created again (noted by
	// ZooKeeper).
	TopicDeletionAsked
	TopicDeleted
	// AssignmentChanged: TP, Replicas (noted by ZooKeeper); none: the topic's znode has the
	// partition no more, though the topic is not deleted.
	AssignmentChanged
	// PartitionChanged: the authoritative state of TP was committed (noted by
	// ZooKeeper when the state znode is written): Leader, LeaderEpoch, ISR,
	// PartitionEpoch, ControllerEpoch (inside the znode), Node = the writing
	// broker, Flag = leader recovery state is RECOVERING.
	PartitionChanged
	// LeaderElected is noted by the controller that chose: TP, Leader,
	// LeaderEpoch, ISR, Text = strategy, Flag = unclean.
	LeaderElected
	// ControlExecuted: a broker carried out a control request: Node, Peer = controller,
	// ControllerEpoch, BrokerEpoch (of the request), Text = API name.
	ControlExecuted
	// ControlWrite: a fenced controller write reached ZooKeeper: Node = writer,
	// ControllerEpoch = epoch whose version it named, Flag = applied (noted by ZooKeeper), TP = of
	// which partition the state was to be written, if any.
	ControlWrite
	ShutdownAnswered // controlled shutdown answered: Node = the broker leaving, Count = partitions it still leads

	// --- replicas ---

	// ReplicaLoaded: a log was opened: Node, TP, LogStart, LEO, HW, Base = of its active
	// segment, Flag = after an unclean stop, First = the offset from which on the epoch file
	// names leader epochs (LEO if it names none).
	ReplicaLoaded
	// OffsetsMissing: recovery found Offset to Last (inclusive) missing between two
	// segments: Node, TP. Each such run is told of, before ReplicaLoaded. Of a compacted log
	// it may be a cleaner that took them.
	OffsetsMissing
	BecameLeader   // Node, TP, LeaderEpoch, Offset = epoch start offset, HW, LEO, ISR
	BecameFollower // Node, TP, LeaderEpoch, Leader, HW, LEO
	ReplicaStopped // Node, TP, LeaderEpoch, Flag = deleted
	// BatchAppended: Node, TP, Base, Last (inclusive), LeaderEpoch (of the batch), CRC,
	// Count, Size, LEO, Flag = as leader, Batch.
	BatchAppended
	Truncated      // Node, TP, Offset = new end, LEO = end before, HW = after, LeaderEpoch = local, Text = rule
	LogStartRaised // Node, TP, LogStart, Text = cause: one of the Start… words
	SegmentRolled  // Node, TP, Base
	SegmentDeleted // Node, TP, Base, Text = retention pass
	IsrProposed    // Node, TP, LeaderEpoch, ISR = target, MaximalISR, PartitionEpoch
	IsrCommitted   // Node, TP, LeaderEpoch, ISR, PartitionEpoch: the leader learned it
	// HighWatermark moved: Node, TP, LeaderEpoch (local), HW, LEO, Flag = as leader,
	// ISR = committed, MaximalISR (leader only; shared, immutable).
	HighWatermark
	LEOPublished // Node, TP, LEO: an append became visible to other lanes
	// DirectoryOffline: Node, Text = path and error.
	DirectoryOffline
	FetcherFailed // Node, TP, LeaderEpoch: the partition is marked failed; Text

	// --- requests as the leader answered them ---

	// ProduceAnswered: Node, TP, Acks, Err, Base, Last (when appended; else -1), LeaderEpoch,
	// HW, MaximalISR.
	ProduceAnswered
	// OffsetAnswered: ListOffsets(latest) to a client: Node, TP, LeaderEpoch, Offset, Err.
	OffsetAnswered

	// --- clients (Actor names the client) ---

	// BatchSent: the first attempt leaves: TP, Producer, First, Count, Size.
	BatchSent
	// RecordAcked: TP, Producer, First (number of the batch's first record), Count,
	// Base (offset, -1 unknown), Last, Acks, Created (Nanos of the oldest record's
	// send call), Attempts in Index, Size = bytes of the batch.
	RecordAcked
	// RecordFailed: TP, Producer, First, Count, Err, Created, Flag = outcome unknown
	// (may be in the log), Text, attempts in Index (0: it never left, no BatchSent).
	RecordFailed
	// RecordDelivered: a consumer handed a batch to the application: TP, Base, Last
	// (first and last delivered offset), CRC of the batch, Node = the broker that
	// served it, Count = records, Producer and First as read from the first
	// record's value (-1 if not ours), Created = send time read from it, Batch. To a member
	// of a group: Group, Member, Generation, Flag = a poll took only the batch's beginning.
	RecordDelivered
	PositionReset // a consumer's position jumped: TP, Offset = from, Base = to, Text = reason
	// MetadataSeen: a client adopted newer metadata for TP: Leader, LeaderEpoch; Flag = they do
	// not have it any more.
	MetadataSeen

	// --- the log cleaner ---

	CleaningBegan  // Node, TP, Base = first dirty offset, Offset = exclusive end of what may be cleaned
	LogCleaned     // Node, TP, Offset = exclusive end of what is clean, Size = bytes that it saved
	CleaningFailed // Node, TP, Text: aborted, or given up until the broker starts again

	// --- groups: see group.go ---

	firstOfGroups
)

// The causes of a LogStartRaised.
const (
	StartByRetention  = "retention"
	StartByDeletion   = "delete records"  // KIP-107, on the leader
	StartByLeader     = "leader"          // a follower goes after its leader
	StartByTruncation = "full truncation" // a follower begins anew where its leader's log does
)

// Event is one fact.
type Event struct {
	Time kafka.Nanos
	Seq  uint64 // event number of the step that noted it
	// Actor is the kernel's name of the noting node; "" for the simulator.
	Actor string

	Kind            Kind
	Flag            bool
	Acks            int8
	State           GroupState // of a group
	Err             kafka.ErrorCode
	Node            kafka.NodeID
	Peer            kafka.NodeID
	Leader          kafka.NodeID
	TP              kafka.TopicPartition
	TopicID         kafka.TopicID
	LeaderEpoch     kafka.LeaderEpoch
	PartitionEpoch  kafka.PartitionEpoch
	ControllerEpoch kafka.ControllerEpoch
	BrokerEpoch     kafka.BrokerEpoch

	Base, Last kafka.Offset // inclusive
	Offset     kafka.Offset
	LogStart   kafka.Offset
	LEO, HW    kafka.Offset // exclusive ends
	CRC        uint32
	Count      int32
	Size       int32
	Index      int32
	Producer   int32 // number of the producing client
	Generation int32 // of a group
	First      int64 // number of a record within (producer, partition)
	Created    kafka.Nanos
	ISR        []kafka.NodeID
	MaximalISR []kafka.NodeID
	Replicas   []kafka.NodeID
	Text       string

	// Of the facts about groups (group.go).
	Group  string // group id
	Member string // member id
	Detail string

	// Batch is the batch of a BatchAppended or RecordDelivered, or what the facts about
	// groups say, unchanged and lent while the run goes on: who keeps an event clears it.
	Batch []byte
}
