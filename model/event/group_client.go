package event

// The facts of the members of a group (groups 3, 7.3). In all of them Actor names the
// client, Group the group's id, Member the id that it has at that time ("" = none) and
// Generation its generation (-1 = none).
const (
	// CoordinatorSought: FindCoordinator was sent.
	CoordinatorSought Kind = endOfCoordinator + iota
	CoordinatorFound       // Node = the broker
	CoordinatorLost        // Node, Text = why
	// MemberChanged: the member's state changed: Detail = one of the Member… words,
	// Text = why, Flag = generation or id were reset, Index = 1 for a member that keeps
	// partitions while it rebalances.
	MemberChanged
	// PartitionAssigned, PartitionRevoked, PartitionLost: the application was told, TP;
	// Offset of the latter two = the position that it had (-1 = none), Created = when it was
	// decided which of the two, before the callback (0 = just now). Between the first
	// and one of the others the member owns the partition. Generation of the first is the
	// one that it was assigned in, though it may be given up by now.
	PartitionAssigned
	PartitionRevoked
	PartitionLost
	CommittedFetched // TP, Offset = what the group has committed (-1 = nothing), Err
	Polled           // Count = records that poll returned
	// RecordProcessed: the application is done with records: TP, Base, Last (inclusive),
	// Count.
	RecordProcessed
	// CommitSent: TP, Offset, First = number of the request at this client, Text = one of
	// the Commit… words. One for each partition of the request.
	CommitSent
	// CommitAnswered: TP, Offset, First, Text as in CommitSent; Err, Flag = the outcome is
	// unknown.
	CommitAnswered

	endOfMembers
)

// NumKinds is how many kinds there are, None included.
const NumKinds = endOfMembers

// The states of a member (MemberChanged).
const (
	MemberUnjoined   = "unjoined"   // neither is: the membership was given up, or JoinGroup or SyncGroup failed
	MemberPreparing  = "preparing"  // JoinGroup is on its way
	MemberCompleting = "completing" // SyncGroup is on its way
	MemberStable     = "stable"
)

// Why offsets were committed (CommitSent).
const (
	CommitAuto    = "auto"    // enable.auto.commit
	CommitPrepare = "prepare" // the automatic one before a rebalance
	CommitSync    = "sync"
	CommitAsync   = "async"
	CommitBefore  = "before"  // before the records are processed
	CommitRevoked = "revoked" // in the callback
	CommitClose   = "close"
)

// ResetCommitted is the Text of a PositionReset to the committed offset.
const ResetCommitted = "committed"
