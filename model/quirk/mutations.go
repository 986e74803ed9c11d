package quirk

import (
	"slices"
	"strings"
)

// Mutation is a rule that no release ever lacked, taken out to test the invariants
// (cluster 10.6). A scenario may name it, as "mutation/hw-max"; lists of bugs do not.
type Mutation struct {
	ID     ID
	Key    string
	Words  string // what goes wrong
	Switch string // the file with the one Has
	// Invariant is one that the mutation violates, together with the switches of With.
	// It is "" where rules that are no switches hide the mutation, as Why says.
	Invariant string
	With      []ID
	Why       string
}

// On is the set that shows the mutation.
func (m *Mutation) On() Set { return Of(append(slices.Clone(m.With), m.ID)...) }

// firstMutation is beyond all bugs.
const firstMutation ID = 64

// The mutations, in the order of the table.
const (
	HWAsMax ID = iota + firstMutation
	HWAsMedian
	JoinIneligible
	AnyLeaderEpoch
	EpochsKeptBehindCut
	StateWrittenBlindly
	AlterByAnyEpoch
	AlterAnyVersion
	UncleanKeepsISR
	FetchAnyEpoch
	endMutations
)

var mutations = [endMutations - firstMutation]Mutation{
	{ID: HWAsMax, Key: "mutation/hw-max", Words: "the high watermark is the largest log end offset of the replicas, which is the leader's",
		Switch: "model/replica/mutation.go", Invariant: "high-watermark-safe"},
	{ID: HWAsMedian, Key: "mutation/hw-median", Words: "the high watermark is the median of the replicas' log end offsets",
		Switch: "model/replica/mutation.go", Invariant: "high-watermark-safe"},
	{ID: JoinIneligible, Key: "mutation/join-ineligible", Words: "a leader proposes a replica for the ISR whose broker is not registered",
		Switch: "model/replica/isr.go", Why: "the controller refuses such a set (KIP-841)"},
	{ID: AnyLeaderEpoch, Key: "mutation/any-leader-epoch", Words: "a broker takes a LeaderAndIsr with an equal or older leader epoch",
		Switch: "model/replica/roles.go", Why: "requests of one controller keep their order, those of an older one are refused by its epoch, and an older partition epoch by the partition"},
	{ID: EpochsKeptBehindCut, Key: "mutation/epochs-kept", Words: "a truncation does not cut the list of leader epochs",
		Switch: "model/log/truncate.go", Invariant: "converges-after-heal", With: []ID{EpochsKeptAtLogEnd}},
	{ID: StateWrittenBlindly, Key: "mutation/blind-writes", Words: "a controller writes a partition's state whatever version it has",
		Switch: "model/zkcontroller/zk.go", Why: "the check of the controller epoch in the same transaction refuses all but the one controller"},
	{ID: AlterByAnyEpoch, Key: "mutation/alter-any-broker-epoch", Words: "the controller takes an AlterPartition of an earlier life of the broker",
		Switch: "model/zkcontroller/alter_partition.go", Why: "the leader epoch has grown when the broker comes back"},
	{ID: AlterAnyVersion, Key: "mutation/alter-any-version", Words: "the controller takes an AlterPartition for an older partition epoch",
		Switch: "model/zkcontroller/alter_partition.go", Why: "a leader has one change on its way, and the controller raises the leader epoch with each of its own"},
	{ID: UncleanKeepsISR, Key: "mutation/unclean-keeps-isr", Words: "an unclean election leaves the ISR as it was, with the leader added",
		Switch: "model/zkcontroller/election.go", Invariant: "metadata-valid"},
	{ID: FetchAnyEpoch, Key: "mutation/fetch-any-epoch", Words: "a leader does not compare the leader epoch of a fetch with its own",
		Switch: "model/replica/fetch.go", Invariant: "log-matching"},
}

// Mutations lists them.
func Mutations() []Mutation { return slices.Clone(mutations[:]) }

// ParseSwitch finds a switch of either kind by its key.
func ParseSwitch(key string) (ID, bool) {
	if id, ok := Parse(key); ok {
		return id, true
	}
	i := slices.IndexFunc(mutations[:], func(m Mutation) bool { return strings.EqualFold(m.Key, key) })
	return firstMutation + ID(max(i, 0)), i >= 0
}

// Row is the row of a switch of either kind; of a mutation it has what a bug's has.
func (id ID) Row() Bug {
	if id < firstMutation {
		return table[id]
	}
	m := &mutations[id-firstMutation]
	return Bug{ID: id, Key: m.Key, Rule: "cluster 10.6", Title: m.Words, Switch: m.Switch, Invariant: m.Invariant}
}

// key is the name of a switch of either kind.
func (id ID) key() string {
	if id >= firstMutation {
		return mutations[id-firstMutation].Key
	}
	return table[id].Key
}
