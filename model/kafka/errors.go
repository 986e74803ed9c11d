package kafka

import "strconv"

// ErrorCode is a protocol error code (common.protocol.Errors). Codes are values
// in responses, not Go errors.
type ErrorCode int16

// The codes that the model uses, with Kafka's names.
const (
	UnknownServerError           ErrorCode = -1
	None                         ErrorCode = 0
	OffsetOutOfRange             ErrorCode = 1
	CorruptMessage               ErrorCode = 2
	UnknownTopicOrPartition      ErrorCode = 3
	InvalidFetchSize             ErrorCode = 4
	LeaderNotAvailable           ErrorCode = 5
	NotLeaderOrFollower          ErrorCode = 6
	RequestTimedOut              ErrorCode = 7
	BrokerNotAvailable           ErrorCode = 8
	ReplicaNotAvailable          ErrorCode = 9
	MessageTooLarge              ErrorCode = 10
	StaleControllerEpoch         ErrorCode = 11
	OffsetMetadataTooLarge       ErrorCode = 12
	NetworkException             ErrorCode = 13
	CoordinatorLoadInProgress    ErrorCode = 14
	CoordinatorNotAvailable      ErrorCode = 15
	NotCoordinator               ErrorCode = 16
	InvalidTopicException        ErrorCode = 17
	RecordListTooLarge           ErrorCode = 18
	NotEnoughReplicas            ErrorCode = 19
	NotEnoughReplicasAfterAppend ErrorCode = 20
	InvalidRequiredAcks          ErrorCode = 21
	IllegalGeneration            ErrorCode = 22
	InconsistentGroupProtocol    ErrorCode = 23
	InvalidGroupID               ErrorCode = 24
	UnknownMemberID              ErrorCode = 25
	InvalidSessionTimeout        ErrorCode = 26
	RebalanceInProgress          ErrorCode = 27
	InvalidCommitOffsetSize      ErrorCode = 28
	GroupAuthorizationFailed     ErrorCode = 30
	InvalidTimestamp             ErrorCode = 32
	UnsupportedVersion           ErrorCode = 35
	TopicAlreadyExists           ErrorCode = 36
	InvalidPartitions            ErrorCode = 37
	InvalidReplicationFactor     ErrorCode = 38
	InvalidReplicaAssignment     ErrorCode = 39
	InvalidConfig                ErrorCode = 40
	NotController                ErrorCode = 41
	InvalidRequest               ErrorCode = 42
	PolicyViolation              ErrorCode = 44
	OutOfOrderSequenceNumber     ErrorCode = 45
	DuplicateSequenceNumber      ErrorCode = 46
	InvalidProducerEpoch         ErrorCode = 47
	InvalidTxnState              ErrorCode = 48
	TransactionCoordinatorFenced ErrorCode = 52
	OperationNotAttempted        ErrorCode = 55
	KafkaStorageError            ErrorCode = 56
	UnknownProducerID            ErrorCode = 59
	ReassignmentInProgress       ErrorCode = 60
	NonEmptyGroup                ErrorCode = 68
	GroupIDNotFound              ErrorCode = 69
	FetchSessionIDNotFound       ErrorCode = 70
	InvalidFetchSessionEpoch     ErrorCode = 71
	ListenerNotFound             ErrorCode = 72
	TopicDeletionDisabled        ErrorCode = 73
	FencedLeaderEpoch            ErrorCode = 74
	UnknownLeaderEpoch           ErrorCode = 75
	StaleBrokerEpoch             ErrorCode = 77
	OffsetNotAvailable           ErrorCode = 78
	MemberIDRequired             ErrorCode = 79
	PreferredLeaderNotAvailable  ErrorCode = 80
	GroupMaxSizeReached          ErrorCode = 81
	FencedInstanceID             ErrorCode = 82
	EligibleLeadersNotAvailable  ErrorCode = 83
	ElectionNotNeeded            ErrorCode = 84
	GroupSubscribedToTopic       ErrorCode = 86
	InvalidRecord                ErrorCode = 87
	UnstableOffsetCommit         ErrorCode = 88
	InvalidUpdateVersion         ErrorCode = 95
	UnknownTopicID               ErrorCode = 100
	InconsistentTopicID          ErrorCode = 103
	IneligibleReplica            ErrorCode = 107
	NewLeaderElected             ErrorCode = 108
)

type errorTraits struct {
	name      string
	retriable bool
	refresh   bool // the client also refreshes its metadata
}

// errorTable is derived from the exception classes of Errors.java (cluster 6.7).
var errorTable = map[ErrorCode]errorTraits{
	UnknownServerError:           {"UNKNOWN_SERVER_ERROR", false, false},
	None:                         {"NONE", false, false},
	OffsetOutOfRange:             {"OFFSET_OUT_OF_RANGE", false, false},
	CorruptMessage:               {"CORRUPT_MESSAGE", true, false},
	UnknownTopicOrPartition:      {"UNKNOWN_TOPIC_OR_PARTITION", true, true},
	InvalidFetchSize:             {"INVALID_FETCH_SIZE", false, false},
	LeaderNotAvailable:           {"LEADER_NOT_AVAILABLE", true, true},
	NotLeaderOrFollower:          {"NOT_LEADER_OR_FOLLOWER", true, true},
	RequestTimedOut:              {"REQUEST_TIMED_OUT", true, false},
	BrokerNotAvailable:           {"BROKER_NOT_AVAILABLE", false, false},
	ReplicaNotAvailable:          {"REPLICA_NOT_AVAILABLE", true, true},
	MessageTooLarge:              {"MESSAGE_TOO_LARGE", false, false},
	StaleControllerEpoch:         {"STALE_CONTROLLER_EPOCH", false, false},
	OffsetMetadataTooLarge:       {"OFFSET_METADATA_TOO_LARGE", false, false},
	NetworkException:             {"NETWORK_EXCEPTION", true, true},
	CoordinatorLoadInProgress:    {"COORDINATOR_LOAD_IN_PROGRESS", true, false},
	CoordinatorNotAvailable:      {"COORDINATOR_NOT_AVAILABLE", true, false},
	NotCoordinator:               {"NOT_COORDINATOR", true, false},
	InvalidTopicException:        {"INVALID_TOPIC_EXCEPTION", false, false},
	RecordListTooLarge:           {"RECORD_LIST_TOO_LARGE", false, false},
	NotEnoughReplicas:            {"NOT_ENOUGH_REPLICAS", true, false},
	NotEnoughReplicasAfterAppend: {"NOT_ENOUGH_REPLICAS_AFTER_APPEND", true, false},
	InvalidRequiredAcks:          {"INVALID_REQUIRED_ACKS", false, false},
	IllegalGeneration:            {"ILLEGAL_GENERATION", false, false},
	InconsistentGroupProtocol:    {"INCONSISTENT_GROUP_PROTOCOL", false, false},
	InvalidGroupID:               {"INVALID_GROUP_ID", false, false},
	UnknownMemberID:              {"UNKNOWN_MEMBER_ID", false, false},
	InvalidSessionTimeout:        {"INVALID_SESSION_TIMEOUT", false, false},
	RebalanceInProgress:          {"REBALANCE_IN_PROGRESS", false, false},
	InvalidCommitOffsetSize:      {"INVALID_COMMIT_OFFSET_SIZE", false, false},
	GroupAuthorizationFailed:     {"GROUP_AUTHORIZATION_FAILED", false, false},
	InvalidTimestamp:             {"INVALID_TIMESTAMP", false, false},
	UnsupportedVersion:           {"UNSUPPORTED_VERSION", false, false},
	TopicAlreadyExists:           {"TOPIC_ALREADY_EXISTS", false, false},
	InvalidPartitions:            {"INVALID_PARTITIONS", false, false},
	InvalidReplicationFactor:     {"INVALID_REPLICATION_FACTOR", false, false},
	InvalidReplicaAssignment:     {"INVALID_REPLICA_ASSIGNMENT", false, false},
	InvalidConfig:                {"INVALID_CONFIG", false, false},
	NotController:                {"NOT_CONTROLLER", true, false},
	InvalidRequest:               {"INVALID_REQUEST", false, false},
	PolicyViolation:              {"POLICY_VIOLATION", false, false},
	OutOfOrderSequenceNumber:     {"OUT_OF_ORDER_SEQUENCE_NUMBER", false, false},
	DuplicateSequenceNumber:      {"DUPLICATE_SEQUENCE_NUMBER", false, false},
	InvalidProducerEpoch:         {"INVALID_PRODUCER_EPOCH", false, false},
	InvalidTxnState:              {"INVALID_TXN_STATE", false, false},
	TransactionCoordinatorFenced: {"TRANSACTION_COORDINATOR_FENCED", false, false},
	OperationNotAttempted:        {"OPERATION_NOT_ATTEMPTED", false, false},
	KafkaStorageError:            {"KAFKA_STORAGE_ERROR", true, true},
	UnknownProducerID:            {"UNKNOWN_PRODUCER_ID", false, false},
	ReassignmentInProgress:       {"REASSIGNMENT_IN_PROGRESS", false, false},
	NonEmptyGroup:                {"NON_EMPTY_GROUP", false, false},
	GroupIDNotFound:              {"GROUP_ID_NOT_FOUND", false, false},
	FetchSessionIDNotFound:       {"FETCH_SESSION_ID_NOT_FOUND", true, false},
	InvalidFetchSessionEpoch:     {"INVALID_FETCH_SESSION_EPOCH", true, false},
	ListenerNotFound:             {"LISTENER_NOT_FOUND", true, true},
	TopicDeletionDisabled:        {"TOPIC_DELETION_DISABLED", false, false},
	FencedLeaderEpoch:            {"FENCED_LEADER_EPOCH", true, true},
	UnknownLeaderEpoch:           {"UNKNOWN_LEADER_EPOCH", true, false},
	StaleBrokerEpoch:             {"STALE_BROKER_EPOCH", false, false},
	OffsetNotAvailable:           {"OFFSET_NOT_AVAILABLE", true, false},
	MemberIDRequired:             {"MEMBER_ID_REQUIRED", false, false},
	PreferredLeaderNotAvailable:  {"PREFERRED_LEADER_NOT_AVAILABLE", true, true},
	GroupMaxSizeReached:          {"GROUP_MAX_SIZE_REACHED", false, false},
	FencedInstanceID:             {"FENCED_INSTANCE_ID", false, false},
	EligibleLeadersNotAvailable:  {"ELIGIBLE_LEADERS_NOT_AVAILABLE", true, true},
	ElectionNotNeeded:            {"ELECTION_NOT_NEEDED", true, true},
	GroupSubscribedToTopic:       {"GROUP_SUBSCRIBED_TO_TOPIC", false, false},
	InvalidRecord:                {"INVALID_RECORD", false, false},
	UnstableOffsetCommit:         {"UNSTABLE_OFFSET_COMMIT", true, false},
	InvalidUpdateVersion:         {"INVALID_UPDATE_VERSION", false, false},
	UnknownTopicID:               {"UNKNOWN_TOPIC_ID", true, true},
	InconsistentTopicID:          {"INCONSISTENT_TOPIC_ID", true, true},
	IneligibleReplica:            {"INELIGIBLE_REPLICA", false, false},
	NewLeaderElected:             {"NEW_LEADER_ELECTED", false, false},
}

// String is Kafka's name, or the number of a code that the model does not use.
func (c ErrorCode) String() string {
	if t, ok := errorTable[c]; ok {
		return t.name
	}
	return strconv.Itoa(int(c))
}

// Retriable reports whether clients may retry (RetriableException).
func (c ErrorCode) Retriable() bool { return errorTable[c].retriable }

// RefreshesMetadata reports whether clients refresh metadata on it
// (InvalidMetadataException).
func (c ErrorCode) RefreshesMetadata() bool { return c != None && errorTable[c].refresh }
