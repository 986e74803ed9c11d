// Package placement chooses the replicas of new partitions: Kafka's two
// algorithms as pure functions (cluster 5).
//
// It mirrors org.apache.kafka.admin.AdminUtils (ZooKeeper mode) and
// org.apache.kafka.metadata.placement.StripedReplicaPlacer (KRaft). Randomness
// comes in as arguments. Limits of the cluster (Z-32) and writing are the
// caller's.
package placement

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/simkafka/simkafka/model/kafka"
)

// ErrReplicationFactor is INVALID_REPLICATION_FACTOR.
var ErrReplicationFactor = errors.New("invalid replication factor")

// ErrRacks: some brokers have a rack and some have none (AdminOperationException).
var ErrRacks = errors.New("not all brokers have rack information")

// Broker is a broker that may get replicas. Rack "" is none.
type Broker struct {
	ID   kafka.NodeID
	Rack string
}

// AssignToBrokers places partitions [firstPartition, firstPartition+partitions)
// with rf replicas each (cluster 5.1, 5.2). start and shift are both random in
// [0, len(brokers)) when a topic is created and both FixedStart when partitions are added.
// brokers may come in any order and is not changed. The result holds one replica list per
// partition, the preferred leader first. Errors: ErrReplicationFactor, ErrRacks.
func AssignToBrokers(brokers []Broker, partitions int32, rf, start, shift int, firstPartition int32) ([][]kafka.NodeID, error) {
	if rf <= 0 || rf > len(brokers) {
		return nil, fmt.Errorf("%w: %d of %d brokers", ErrReplicationFactor, rf, len(brokers))
	}
	list, racks, err := arrange(brokers)
	if err != nil {
		return nil, err
	}
	out := make([][]kafka.NodeID, 0, partitions)
	for p := firstPartition; p < firstPartition+partitions; p++ {
		if p > 0 && int(p)%len(list) == 0 {
			shift++
		}
		first := (int(p) + start) % len(list)
		if racks == 0 {
			out = append(out, unaware(list, first, shift, rf))
		} else {
			out = append(out, aware(list, racks, first, shift, rf))
		}
	}
	return out, nil
}

// FixedStart is the start and shift for adding partitions: the index of the first
// broker, by id, that is not before the first replica of partition 0; 0 if none.
func FixedStart(brokers []Broker, firstReplicaOfPartition0 kafka.NodeID) int {
	start := 0
	for _, b := range brokers {
		if b.ID < firstReplicaOfPartition0 {
			start++
		}
	}
	if start == len(brokers) {
		return 0
	}
	return start
}

// arrange orders the brokers: by id without racks (racks is then 0), else taking
// one broker of each rack in turn.
func arrange(brokers []Broker) (list []Broker, racks int, err error) {
	list = slices.Clone(brokers)
	slices.SortFunc(list, func(a, b Broker) int {
		if c := strings.Compare(a.Rack, b.Rack); c != 0 {
			return c
		}
		return int(a.ID) - int(b.ID)
	})
	if list[len(list)-1].Rack == "" {
		return list, 0, nil
	}
	if list[0].Rack == "" {
		return nil, 0, ErrRacks
	}
	list, racks = alternate(list)
	return list, racks, nil
}

// alternate reorders brokers sorted by rack and id: the first of each rack, then
// the second of each, and so on.
func alternate(sorted []Broker) (list []Broker, racks int) {
	for round := 0; len(list) < len(sorted); round++ {
		place := 0 // within its rack
		for i, b := range sorted {
			if i > 0 && sorted[i-1].Rack == b.Rack {
				place++
			} else {
				place = 0
			}
			if place == round {
				list = append(list, b)
			}
		}
		if round == 0 {
			racks = len(list)
		}
	}
	return list, racks
}

// replicaIndex is where the j-th further replica goes: never on the first one.
func replicaIndex(first, shift, j, brokers int) int {
	return (first + 1 + (shift+j)%(brokers-1)) % brokers
}

func unaware(list []Broker, first, shift, rf int) []kafka.NodeID {
	replicas := make([]kafka.NodeID, 0, rf)
	replicas = append(replicas, list[first].ID)
	for j := 0; j < rf-1; j++ {
		replicas = append(replicas, list[replicaIndex(first, shift, j, len(list))].ID)
	}
	return replicas
}

// aware prefers racks without a replica until each has one. The walk visits every
// broker but the first within len(list)-1 candidates, so it ends.
func aware(list []Broker, racks, first, shift, rf int) []kafka.NodeID {
	chosen := make([]Broker, 0, rf)
	chosen = append(chosen, list[first])
	usedRacks := 1
	for k := 0; len(chosen) < rf; k++ {
		b := list[replicaIndex(first, shift*racks, k, len(list))]
		newRack := !slices.ContainsFunc(chosen, func(c Broker) bool { return c.Rack == b.Rack })
		if !newRack && usedRacks < racks || slices.Contains(chosen, b) {
			continue
		}
		if newRack {
			usedRacks++
		}
		chosen = append(chosen, b)
	}
	replicas := make([]kafka.NodeID, rf)
	for i, b := range chosen {
		replicas[i] = b.ID
	}
	return replicas
}
