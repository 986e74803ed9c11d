// Package quirk has a switch for each real Kafka bug that a run can put back into
// the model. A switch removes exactly one rule. It is either a policy of the protocol
// profile (config.Profile.With) or one Has at the place of the rule; its row says
// which. All are off unless a scenario names them (quirks: [KAFKA-727]); they measure
// the simulator: each has a scenario in which a named invariant fails with the switch
// and holds without it.
//
// The rows come from Kafka's issue tracker and its improvement proposals. Left out are
// the bugs of actors that do not exist yet: quorum, groups of KIP-848, transactions,
// idempotent clients, reassignment.
package quirk

import (
	"slices"
	"strings"
)

// ID is one switch.
type ID uint8

// The switches, in the order of the table.
const (
	TruncateToHW ID = iota
	TruncateByNextEpoch
	JoinBelowEpochStart
	NoFetchFencing
	HWBelowMinISR
	BounceUnseen
	ReadToLogEnd
	HWIgnoresJoining
	HWIgnoresLeaving
	NoMinISRBeforeAppend
	NoMinISRBeforeAck
	LatestStepsBack
	EpochsKeptAtLogEnd
	HWKeptOnRestart
	OldControllerObeyed
	EmptyISR
	RolesBeforeMetadata
	RepeatedISRRefused
	MarkerOutlivesCrash
	EpochFileUnsynced
	NoRecovery
	StaleIndexTrusted
	RetentionPastHW
	CleanedPreallocated
	TimeIndexUntrimmed
	TombstonesByRecordTime
	SendsOvertake
	OldBrokerEpochObeyed
	OwnNodeAwaited
	ExpiryDeadlock
	CorruptCheckpointFatal
	BatchMustFit
	// Clients of groups.
	CommitsUnreturned
	JoinCommitUnbounded
	JoinFutureKept
	LookupFutureLeaks
	StickyTrustsAll
	LostNotDropped
	CooperativeTrustsAll
	NewestClaimsOnly
	NoGenerationClaimed
	RawClaims
	ReadsWhileRevoking
	IDLostOnRetry
	PositionUnchecked
	// Of group coordinators.
	RawAppendErrors
	LoadByChunk
	ExpireByCommit
	ExpireUnstable
	StaticUnsaved
	StaticKeptCompleting
	NewNotTimed
	NoSyncTimer
	UnloadUnordered
	SizeOfUnknown
	EpochOnFirstWrite
	UndefinedEndsAtHW
	// Clients of topics that are created again.
	EpochsOverIDs
	IDLostUnknown
	// Of fetchers.
	LateFetchTaken
	NumIDs // not a switch
)

// Set is a set of switches; the zero value has none.
type Set struct{ bits [2]uint64 }

// Of makes a set.
func Of(ids ...ID) (s Set) {
	for _, id := range ids {
		s = s.With(id)
	}
	return s
}

// Has reports whether a switch is on.
func (s Set) Has(id ID) bool { return s.bits[id>>6]>>(id&63)&1 != 0 }

// Empty reports that none is on.
func (s Set) Empty() bool { return s == Set{} }

// With is s with one more.
func (s Set) With(id ID) Set {
	s.bits[id>>6] |= 1 << (id & 63)
	return s
}

// IDs lists the switches that are on, in the order of the table.
func (s Set) IDs() (ids []ID) {
	for id := range endMutations {
		if s.Has(id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// Names lists their keys.
func (s Set) Names() (names []string) {
	for _, id := range s.IDs() {
		names = append(names, id.key())
	}
	return names
}

// String lists the keys with commas.
func (s Set) String() string { return strings.Join(s.Names(), ", ") }

// Parse finds a switch by its key.
func Parse(key string) (ID, bool) {
	i := slices.IndexFunc(table[:], func(b Bug) bool { return strings.EqualFold(b.Key, key) })
	return ID(max(i, 0)), i >= 0
}

// Keys lists all keys in the order of the table.
func Keys() []string {
	keys := make([]string, len(table))
	for i := range table {
		keys[i] = table[i].Key
	}
	return keys
}

// Bug is a row: one bug with its switch.
type Bug struct {
	ID        ID
	Key       string // of Kafka's issue tracker, or the proposal whose rule is removed
	Rule      string // id of the rules' catalogue
	Title     string
	Mechanism string // what goes wrong, step by step
	Versions  string // that had it
	Switch    string // where: a profile's policy, or the file with the one Has
	Invariant string // that fails first in the bug's scenario
	// Masked: another rule hides the lack of this one; With names the switches that
	// must be on, too. Alone it must stay silent.
	Masked bool
	With   []ID
	// Beyond: it takes what no setting promises to survive, such as an unclean election.
	// Random worlds that are to show it are drawn, and judged, beyond the budget.
	Beyond bool
}

// On is the set that shows the bug: its switch and those that it needs.
func (b *Bug) On() Set { return Of(append(slices.Clone(b.With), b.ID)...) }

// All lists the bugs.
func All() []Bug { return slices.Clone(table[:]) }

// Bug is the row of a switch.
func (id ID) Bug() Bug { return table[id] }
