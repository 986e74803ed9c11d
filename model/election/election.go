// Package election holds the leader and ISR rules of the ZooKeeper-mode
// controller as pure functions (cluster Z-22, Z-24, Z-25).
//
// It mirrors kafka.controller.Election and PartitionLeaderElectionAlgorithms and
// the ISR arithmetic of ZkReplicaStateMachine. Epochs, znode versions and writing
// are the controller's business. KRaft's rules (ELR, KIP-966) are not here yet.
package election

import "github.com/simkafka/simkafka/model/kafka"

// Strategy is the reason for an election, which decides who may win.
type Strategy uint8

// The strategies of Z-25.
const (
	// Offline: a partition without a live leader.
	Offline Strategy = iota
	// Reassign: the leader is not among the target replicas (Z-30 B3).
	Reassign
	// Preferred: back to the first replica of the assignment.
	Preferred
	// ControlledShutdown: leadership leaves brokers that are going (Z-27).
	ControlledShutdown
	numStrategies
)

var strategyNames = [numStrategies]string{"offline", "reassign", "preferred", "controlled-shutdown"}

func (s Strategy) String() string { return strategyNames[s] }

// Input is what an election looks at. The slices are only read.
type Input struct {
	// Assignment is the replicas in order; the target replicas for Reassign.
	Assignment []kafka.NodeID
	// ISR is the last committed in-sync set.
	ISR []kafka.NodeID
	// Online are the replicas whose broker is registered and whose log directory is
	// online, those on brokers that are shutting down included.
	Online []kafka.NodeID
	// ShuttingDown are the brokers in controlled shutdown.
	ShuttingDown []kafka.NodeID
	// UncleanAllowed is unclean.leader.election.enable of the topic; only Offline
	// looks at it.
	UncleanAllowed bool
}

// Outcome is the new state. Without a winner (Ok false) the leader is NoNode and
// nothing is to be written.
type Outcome struct {
	Leader kafka.NodeID
	// ISR is a new slice, or the input's ISR itself where the strategy keeps it.
	ISR []kafka.NodeID
	// Unclean: the leader was not in the ISR; with leader recovery (KIP-704) the
	// partition becomes RECOVERING.
	Unclean bool
	Ok      bool
}

// Elect chooses a leader and the ISR that is written with it (Z-25, corrected).
func Elect(s Strategy, in Input) Outcome {
	switch s {
	case Offline:
		return electOffline(in)
	case Reassign:
		return keepISR(in, firstEligible(in, in.Assignment))
	case Preferred:
		return keepISR(in, firstEligible(in, in.Assignment[:min(1, len(in.Assignment))]))
	case ControlledShutdown:
		return electForShutdown(in)
	}
	panic("election: unknown strategy")
}

// electOffline takes the first live replica of the ISR, or, where data loss is
// allowed, the first live replica.
func electOffline(in Input) Outcome {
	if leader := firstEligible(in, in.Assignment); leader != kafka.NoNode {
		return Outcome{Leader: leader, ISR: in.liveOf(in.ISR), Ok: true}
	}
	if !in.UncleanAllowed {
		return nobody()
	}
	for _, r := range in.Assignment {
		if in.live(r) {
			return Outcome{Leader: r, ISR: []kafka.NodeID{r}, Unclean: true, Ok: true}
		}
	}
	return nobody()
}

// electForShutdown drops the leaving brokers from the ISR but keeps dead ones: their
// removal is the broker-failure path's.
func electForShutdown(in Input) Outcome {
	leader := firstEligible(in, in.Assignment)
	if leader == kafka.NoNode {
		return nobody()
	}
	isr := make([]kafka.NodeID, 0, len(in.ISR))
	for _, r := range in.ISR {
		if !contains(in.ShuttingDown, r) {
			isr = append(isr, r)
		}
	}
	return Outcome{Leader: leader, ISR: isr, Ok: true}
}

func nobody() Outcome { return Outcome{Leader: kafka.NoNode} }

func keepISR(in Input, leader kafka.NodeID) Outcome {
	if leader == kafka.NoNode {
		return nobody()
	}
	return Outcome{Leader: leader, ISR: in.ISR, Ok: true}
}

// firstEligible is the first candidate that is live and in the ISR. It serves
// ControlledShutdown too: that strategy counts leaving brokers as live but
// excludes them as leader, which comes to the same.
func firstEligible(in Input, candidates []kafka.NodeID) kafka.NodeID {
	for _, r := range candidates {
		if in.live(r) && contains(in.ISR, r) {
			return r
		}
	}
	return kafka.NoNode
}

// live is Z-25's corrected notion: online and not shutting down.
func (in *Input) live(r kafka.NodeID) bool {
	return contains(in.Online, r) && !contains(in.ShuttingDown, r)
}

func (in *Input) liveOf(rs []kafka.NodeID) []kafka.NodeID {
	out := make([]kafka.NodeID, 0, len(rs))
	for _, r := range rs {
		if in.live(r) {
			out = append(out, r)
		}
	}
	return out
}

// Initial is the first state of a new partition (Z-22): the first live replica of
// the assignment leads, every live one is in sync. ok is false if none is live.
func Initial(assignment, live []kafka.NodeID) (leader kafka.NodeID, isr []kafka.NodeID, ok bool) {
	for _, r := range assignment {
		if contains(live, r) {
			isr = append(isr, r)
		}
	}
	if len(isr) == 0 {
		return kafka.NoNode, nil, false
	}
	return isr[0], isr, true
}

// RemoveFromISR is the state after replica r left (Z-24): a leader that leaves is
// replaced by none, and the last member stays, so that an ISR is never emptied.
// changed is false if r is not in the ISR; then nothing is to be written. newISR
// is a new slice unless it equals isr.
func RemoveFromISR(r, leader kafka.NodeID, isr []kafka.NodeID) (newLeader kafka.NodeID, newISR []kafka.NodeID, changed bool) {
	if !contains(isr, r) {
		return leader, isr, false
	}
	newLeader, newISR = leader, isr
	if leader == r {
		newLeader = kafka.NoNode
	}
	if len(isr) > 1 {
		newISR = make([]kafka.NodeID, 0, len(isr)-1)
		for _, m := range isr {
			if m != r {
				newISR = append(newISR, m)
			}
		}
	}
	return newLeader, newISR, true
}

// contains is linear: replica sets have a handful of members.
func contains(set []kafka.NodeID, r kafka.NodeID) bool {
	for _, m := range set {
		if m == r {
			return true
		}
	}
	return false
}
