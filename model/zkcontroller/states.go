package zkcontroller

// PartitionState is a state of PartitionStateMachine (Z-22).
type PartitionState uint8

// The partition states. The zero value is the state of what was never seen.
const (
	NonExistentPartition PartitionState = iota
	NewPartition
	OnlinePartition
	OfflinePartition
	numPartitionStates
)

var partitionStateNames = [numPartitionStates]string{"NonExistentPartition", "NewPartition", "OnlinePartition", "OfflinePartition"}

func (s PartitionState) String() string { return partitionStateNames[s] }

// partitionMoves[to][from] says which transitions are valid.
var partitionMoves = [numPartitionStates][numPartitionStates]bool{
	NewPartition:         {NonExistentPartition: true},
	OnlinePartition:      {NewPartition: true, OnlinePartition: true, OfflinePartition: true},
	OfflinePartition:     {NewPartition: true, OnlinePartition: true, OfflinePartition: true},
	NonExistentPartition: {OfflinePartition: true},
}

// ReplicaState is a state of ReplicaStateMachine (Z-23), with Kafka's codes.
type ReplicaState uint8

// The replica states.
const (
	NewReplica ReplicaState = iota + 1
	OnlineReplica
	OfflineReplica
	ReplicaDeletionStarted
	ReplicaDeletionSuccessful
	ReplicaDeletionIneligible
	NonExistentReplica
	numReplicaStates
)

var replicaStateNames = [numReplicaStates]string{"", "NewReplica", "OnlineReplica", "OfflineReplica",
	"ReplicaDeletionStarted", "ReplicaDeletionSuccessful", "ReplicaDeletionIneligible", "NonExistentReplica"}

func (s ReplicaState) String() string { return replicaStateNames[s] }

// replicaMoves[to][from] says which transitions are valid.
var replicaMoves = [numReplicaStates][numReplicaStates]bool{
	NewReplica:                {NonExistentReplica: true},
	OnlineReplica:             {NewReplica: true, OnlineReplica: true, OfflineReplica: true, ReplicaDeletionIneligible: true},
	OfflineReplica:            {NewReplica: true, OnlineReplica: true, OfflineReplica: true, ReplicaDeletionIneligible: true},
	ReplicaDeletionStarted:    {OfflineReplica: true},
	ReplicaDeletionSuccessful: {ReplicaDeletionStarted: true},
	ReplicaDeletionIneligible: {OfflineReplica: true, ReplicaDeletionStarted: true},
	NonExistentReplica:        {ReplicaDeletionSuccessful: true},
}
