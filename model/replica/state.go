package replica

import (
	"slices"

	"github.com/simkafka/simkafka/model/kafka"
)

// State is one partition of a LeaderAndIsr request. The slices are immutable and
// may be shared with the request.
type State struct {
	Leader          kafka.NodeID // NoNode: none
	LeaderEpoch     kafka.LeaderEpoch
	ISR             []kafka.NodeID // in the controller's order
	PartitionEpoch  kafka.PartitionEpoch
	ControllerEpoch kafka.ControllerEpoch
	// Replicas is the whole assignment, adding and removing ones included
	// (KIP-455); adding and removing by themselves change no rule here.
	Replicas []kafka.NodeID
	// Recovering: the leader was elected uncleanly (KIP-704). A leader takes itself
	// for recovered at once, so nothing here depends on it.
	Recovering bool
}

// Role is what the broker is for a partition.
type Role uint8

// The roles.
const (
	// None: known, but neither leader nor follower yet, or stopped.
	None Role = iota
	Leader
	Follower
)

func (r Role) String() string { return [...]string{"none", "leader", "follower"}[r] }

// longAgo stands where Kafka has time 0 of the epoch: earlier than any instant of
// a run by more than any limit.
const longAgo kafka.Nanos = -1 << 62

func contains(set []kafka.NodeID, n kafka.NodeID) bool { return slices.Contains(set, n) }

// with is a new slice: set and n at its end. set stays as it is.
func with(set []kafka.NodeID, n kafka.NodeID) []kafka.NodeID {
	grown := make([]kafka.NodeID, len(set), len(set)+1)
	copy(grown, set)
	return append(grown, n)
}

// nodeIDs converts a protocol list.
func nodeIDs(list []int32) []kafka.NodeID {
	ids := make([]kafka.NodeID, len(list))
	for i, n := range list {
		ids[i] = kafka.NodeID(n)
	}
	return ids
}

func int32s(ids []kafka.NodeID) []int32 {
	list := make([]int32, len(ids))
	for i, n := range ids {
		list[i] = int32(n)
	}
	return list
}
