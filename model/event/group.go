package event

// The facts of the group coordinator (groups 2, 6.1, 6.4). In all of them Node is the
// coordinator's broker, LeaderEpoch the coordinator epoch, Group the group's id.
// Where TP is not said to be the partition of a committed offset, it is that of
// __consumer_offsets in which the group is.
const (
	// CoordinatorLoaded: the groups of TP are there: Count = groups, Index = offsets,
	// Offset = how far the log was read, Text = why not to its end ("" = it was).
	CoordinatorLoaded   Kind = firstOfGroups + iota
	CoordinatorUnloaded      // TP, Count = groups that were given up

	// GroupChanged: TP, State = the new one, Generation, Count = members, Member = the
	// leader, Detail = the protocol that was voted for, Text = reason.
	GroupChanged
	// MemberJoined: TP, Member, Generation (of the group), Detail = group instance id,
	// Text = one of the Join… words; of a loaded one also CRC and Size of its assignment
	// and Batch = its subscription.
	MemberJoined
	// MemberRemoved: TP, Member, Generation, Detail = group instance id, Text = one of
	// the Gone… words.
	MemberRemoved
	// JoinAnswered: a JoinGroup request was answered: TP, Member, Generation, Err, Detail =
	// protocol, Flag = it is the leader, Count = members told; with Err none also Text = the
	// protocols that the member supports, by commas, Batch = its metadata for the one that
	// was voted for.
	JoinAnswered
	// SyncAnswered: TP, Member, Generation, Err, CRC and Size of the assignment, Batch = it.
	SyncAnswered
	// AssignmentStored: the leader's assignment was persisted: TP, Member = whose part,
	// Generation, CRC and Size of it, Batch = it, First = offset of its record in
	// __consumer_offsets.
	AssignmentStored

	// OffsetCommitted: a commit was published: TP = of which partition, Offset, Base = the
	// one before (-1 = none), First = offset of its batch in __consumer_offsets, Index =
	// partition there, Member, Generation and Detail = group instance id as the request gave
	// them, Created = when the request was accepted.
	OffsetCommitted
	// OffsetLoaded: a committed offset came with the log: TP = of which partition, Offset,
	// First, Index as above.
	OffsetLoaded
	// OffsetRemoved: TP = of which partition, Base = the offset that it had, Index, Text =
	// one of the Removed… words.
	OffsetRemoved

	endOfCoordinator
)

// How a member came (MemberJoined).
const (
	JoinNew      = "new"      // by its first JoinGroup, or that with the id it was given
	JoinReplaces = "replaces" // a static member that comes back under another id
	JoinLoaded   = "from log" // with the log of __consumer_offsets
)

// Why a member is gone (MemberRemoved).
const (
	GoneLeft      = "left"            // LeaveGroup
	GoneSession   = "session timeout" //
	GoneNew       = "join timeout"    // a new member that was parked too long
	GoneRebalance = "rebalance timeout"
	GoneSync      = "sync timeout"
	GoneSize      = "group.max.size"
	GoneReplaced  = "replaced" // a static member that came back under another id
	GoneUnsaved   = "unsaved"  // the other id could not be persisted
)

// Why an offset is gone (OffsetRemoved).
const (
	RemovedExpired = "expired"
	RemovedOffset  = "deleted"       // OffsetDelete
	RemovedGroup   = "group deleted" // DeleteGroups
	RemovedTopic   = "topic deleted"
)

// GroupState is the state of a classic group (groups 2.1); 0 is none.
type GroupState uint8

// The states.
const (
	NoGroup GroupState = iota
	GroupEmpty
	GroupPreparingRebalance
	GroupCompletingRebalance
	GroupStable
	GroupDead
)

var groupStates = [...]string{"", "Empty", "PreparingRebalance", "CompletingRebalance", "Stable", "Dead"}

// String is Kafka's name, "" for none.
func (s GroupState) String() string { return groupStates[s] }

// ParseGroupState finds a state by its name.
func ParseGroupState(name string) (GroupState, bool) {
	for i, n := range groupStates {
		if n == name && i > 0 {
			return GroupState(i), true
		}
	}
	return NoGroup, false
}
