package event

// names are the words of traces, scenario triggers and invariant examples.
var names = [NumKinds]string{
	None:               "none",
	NodeBooted:         "node-booted",
	NodeCrashed:        "node-crashed",
	NodeStopped:        "node-stopped",
	NodePaused:         "node-paused",
	NodeResumed:        "node-resumed",
	FaultStarted:       "fault-started",
	FaultEnded:         "fault-ended",
	Healed:             "healed",
	Settled:            "settled",
	Assertion:          "assertion",
	Probe:              "probe",
	ControllerElected:  "controller-elected",
	ControllerResigned: "controller-resigned",
	BrokerRegistered:   "broker-registered",
	BrokerUnregistered: "broker-unregistered",
	SessionExpired:     "session-expired",
	TopicCreated:       "topic-created",
	TopicDeletionAsked: "topic-deletion-asked",
	TopicDeleted:       "topic-deleted",
	AssignmentChanged:  "assignment-changed",
	PartitionChanged:   "partition-changed",
	LeaderElected:      "leader-elected",
	ControlExecuted:    "control-executed",
	ControlWrite:       "control-write",
	ShutdownAnswered:   "shutdown-answered",
	ReplicaLoaded:      "replica-loaded",
	OffsetsMissing:     "offsets-missing",
	BecameLeader:       "became-leader",
	BecameFollower:     "became-follower",
	ReplicaStopped:     "replica-stopped",
	BatchAppended:      "batch-appended",
	Truncated:          "truncated",
	LogStartRaised:     "log-start-raised",
	SegmentRolled:      "segment-rolled",
	SegmentDeleted:     "segment-deleted",
	IsrProposed:        "isr-proposed",
	IsrCommitted:       "isr-committed",
	HighWatermark:      "high-watermark",
	LEOPublished:       "leo-published",
	DirectoryOffline:   "directory-offline",
	FetcherFailed:      "fetcher-failed",
	ProduceAnswered:    "produce-answered",
	OffsetAnswered:     "offset-answered",
	BatchSent:          "batch-sent",
	RecordAcked:        "record-acked",
	RecordFailed:       "record-failed",
	RecordDelivered:    "record-delivered",
	PositionReset:      "position-reset",
	MetadataSeen:       "metadata-seen",
	CleaningBegan:      "cleaning-began",
	LogCleaned:         "log-cleaned",
	CleaningFailed:     "cleaning-failed",

	CoordinatorLoaded:   "coordinator-loaded",
	CoordinatorUnloaded: "coordinator-unloaded",
	GroupChanged:        "group-changed",
	MemberJoined:        "member-joined",
	MemberRemoved:       "member-removed",
	JoinAnswered:        "join-answered",
	SyncAnswered:        "sync-answered",
	AssignmentStored:    "assignment-stored",
	OffsetCommitted:     "offset-committed",
	OffsetLoaded:        "offset-loaded",
	OffsetRemoved:       "offset-removed",

	CoordinatorSought: "coordinator-sought",
	CoordinatorFound:  "coordinator-found",
	CoordinatorLost:   "coordinator-lost",
	MemberChanged:     "member-changed",
	PartitionAssigned: "partition-assigned",
	PartitionRevoked:  "partition-revoked",
	PartitionLost:     "partition-lost",
	CommittedFetched:  "committed-fetched",
	Polled:            "polled",
	RecordProcessed:   "record-processed",
	CommitSent:        "commit-sent",
	CommitAnswered:    "commit-answered",
}

func (k Kind) String() string {
	if k < NumKinds {
		return names[k]
	}
	return "unknown"
}

// ParseKind finds a kind by its word.
func ParseKind(word string) (Kind, bool) {
	for k, n := range names {
		if n == word && k != 0 {
			return Kind(k), true
		}
	}
	return None, false
}

// Kinds lists all words in order, for suggestions and documentation.
func Kinds() []string { return names[1:] }
