package assignor

import (
	"slices"
	"strings"

	"github.com/simkafka/simkafka/model/kafka"
)

// NoGeneration is the generation of a member that has none.
const NoGeneration = -1

// Member is one subscription as the group's leader, or the coordinator, sees it.
type Member struct {
	ID         string
	InstanceID string   // group.instance.id; "" = dynamic
	Topics     []string // subscribed
	// Owned is what the member says it owns (for Uniform: its previous target).
	Owned      []kafka.TopicPartition
	Generation int32  // of Owned; NoGeneration = none
	Rack       string // "" = none
	UserData   []byte // as the assignor's own UserData made it on the member
}

// Topic is a topic that exists.
type Topic struct {
	Name       string
	Partitions int32
	// Numbers are those of the partitions, ascending; nil = from 0 on. Client-side assignors
	// share out these since 3.5, all but round robin (AbstractPartitionAssignor.assignPartitions);
	// those before, and round robin, the first numbers.
	Numbers []int32
	// Racks are by partition, in the order of Numbers, the racks that hold a replica; nil = no racks known.
	Racks [][]string
}

// Assignment is one member's share, its partitions sorted by topic and number.
type Assignment struct {
	Member     string
	Partitions []kafka.TopicPartition
}

// Assignor is a client-side assignor. Its methods are pure functions and keep none
// of their arguments.
type Assignor interface {
	// Name is the word in partition.assignment.strategy's short form, which is the
	// protocol name in JoinGroup.
	Name() string
	// Cooperative reports whether members may keep partitions while they rebalance
	// (KIP-429).
	Cooperative() bool
	// UserData is what a client puts into its subscription: owned and generation are
	// those of its last assignment, NoGeneration before the first. Nil when there is
	// nothing to say.
	UserData(owned []kafka.TopicPartition, generation int32) []byte
	// Assign shares the partitions of the subscribed topics out. Topics that a member
	// names but are not listed are ignored. Every member gets an Assignment; they are
	// sorted by member.
	Assign(topics []Topic, members []Member) []Assignment
}

// assignors are Kafka's, in the order of its documentation.
var assignors = [...]Assignor{rangeAssignor{}, roundRobin{}, sticky{}, cooperativeSticky{}}

// ByName finds a client-side assignor by its protocol name.
func ByName(name string) (Assignor, bool) {
	for _, a := range assignors {
		if a.Name() == name {
			return a, true
		}
	}
	return nil, false
}

// Names lists the client-side assignors.
func Names() []string {
	names := make([]string, len(assignors))
	for i, a := range assignors {
		names[i] = a.Name()
	}
	return names
}

// byID is the members sorted by id; the argument is left alone.
func byID(members []Member) []Member {
	before := func(a, b Member) int { return strings.Compare(a.ID, b.ID) }
	if slices.IsSortedFunc(members, before) {
		return members
	}
	sorted := slices.Clone(members)
	slices.SortFunc(sorted, before)
	return sorted
}
