package outcome

import "github.com/simkafka/simkafka/model/kafka"

// Group is the story of a consumer group, over the measured time.
type Group struct {
	ID         string
	Members    []GroupMember // by client
	Rebalances []Rebalance   // in order of From
	Partitions []GroupPartition
	// Processed counts records by their first time, Duplicates every later time. Skipped
	// are below what the group has committed, or passed over, and nobody processed them
	// (groups 7.3).
	Processed, Duplicates, Skipped int64
	// Refused are commits of clients that were no members of the generation any more;
	// Regressions commits below the one before; Expired the committed offsets that
	// offsets.retention.minutes took.
	Refused, Regressions, Expired int64
}

// Rebalance lasts from when the coordinator asks the members to join again until the
// assignment is persisted, or the group is empty; To is -1 if neither happened, and
// the end of the coordinator if that came before.
type Rebalance struct {
	Interval
	Coordinator kafka.NodeID
	Generation  int32 // that it made; -1 = it was not completed
	Members     int
	Cause       string
	// Moved counts the partitions that went to another client than had them before.
	Moved int
	// Unowned is the longest time that a partition had no owner before it came to one in
	// this rebalance.
	Unowned kafka.Nanos
	// Find, Join and Sync are the longest that a member waited for the answers to
	// FindCoordinator, JoinGroup and SyncGroup.
	Find, Join, Sync kafka.Nanos
}

// GroupMember is the story of a client in its group.
type GroupMember struct {
	Client string
	Owned  []OwnedSpan
	Phases []MemberPhase
	Away   []Interval // its process did not run or stood still
}

// OwnedSpan is a stretch in which a client owned the same partitions.
type OwnedSpan struct {
	Interval
	Generation int32
	Partitions []kafka.TopicPartition // sorted
}

// The phases of a member in a rebalance.
const (
	PhaseFind = "FindCoordinator"
	PhaseJoin = "JoinGroup"
	PhaseSync = "SyncGroup"
)

// MemberPhase is one wait of a member for its coordinator.
type MemberPhase struct {
	Interval
	Name string
}

// GroupPartition is a partition in a group.
type GroupPartition struct {
	TP        kafka.TopicPartition
	Owner     string       // client, at the end; "" = none
	Committed kafka.Offset // -1 = none
	HW        kafka.Offset
	// Unowned are the stretches after its first owner in which no running client owned
	// it, Overlaps those in which several did.
	Unowned, Overlaps []Interval

	Processed, Duplicates, Skipped int64
}

// GroupLag is how far a group is behind the high watermarks of its partitions, in sum.
type GroupLag struct {
	Group  string
	Points []GroupLagPoint
}

// GroupLagPoint is a sample.
type GroupLagPoint struct {
	At                     kafka.Nanos
	Committed, Unprocessed int64 // records above what is committed, and not processed
}

// GroupState is a group as its coordinator has it at one moment.
type GroupState struct {
	ID          string
	Coordinator kafka.NodeID
	State       string
	Generation  int32
	Protocol    string
	Rows        []GroupRow // as kafka-consumer-groups --describe orders them
}

// GroupRow is a partition of a group, or a member without one (TP.Topic is "").
type GroupRow struct {
	TP                     kafka.TopicPartition
	Committed, LogEnd      kafka.Offset // -1 = none
	MemberID, Host, Client string
}
