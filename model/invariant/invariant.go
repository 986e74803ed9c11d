// Package invariant holds the checkers: each watches the facts of a run and says
// where one of Kafka's guarantees (cluster 10, bugs 6b) does not hold.
//
// # How it works
//
// Suite.Observe takes every noted fact in order. The ghost (ghost*.go) is computed
// from it once: per partition the committed state, a tree of the batches that
// leaders wrote, every replica's log as a position in that tree, the committed
// prefix, what was acknowledged, and the incidents that may excuse a loss. No actor
// reads it. The checkers, one a file, then look at the ghost and at what the fact
// changed. The final read of every partition and the end of the run are looked at in
// the same way.
//
// # Found, excused, lost
//
// A condition that does not hold is a violation unless a fact of the run excuses it
// (cluster 10.2): an allowed unclean election on that partition, or a power loss that
// took unsynced records from a replica concerned; then it is suspended, with the
// reason. Old protocol profiles excuse nothing: where their rules break a guarantee,
// the invariant is violated. Under many faults zk-0.11 shows two of Kafka's own bugs
// so: logs that part after fast changes of leader (A-3; with the truncation of KIP-279
// the same seeds hold), and a broker whose restart the controller does not see, so that
// its partitions have no leader in office (KAFKA-1120; with the broker epochs of KIP-380
// they converge). Losing an acknowledged record is judged for each record
// by the budget rule (bugs 2.4), see loss.go: within what the configuration allows it
// is expected loss, else a violation of no-acked-loss.
//
// # Limits
//
// A crash inside an append or a truncation can leave bytes on a disk that no event
// tells of; such a stretch of a log is "blank" and is not compared. After a power
// loss, offsets above the lowest truncation since the last time the log was surely on
// the medium are blank, too. Of a partition's older batches only a hash per chunk is
// kept (keptChunks), which the final read checks. What a broker had flushed is known
// only by what a clean stop or a power loss left.
//
// Of compacted topics every record's key is kept for the whole run, so that what a
// cleaner may take is known (ghost_keys.go, compaction_safe.go). What a cleaner left on a
// disk is judged when a follower, a consumer or the final read reads it; a replica that
// nobody reads any more is not looked at. That a tombstone or a replaced record must go
// in time is not judged. If a topic becomes a compacted one during the run, the keys of
// its older records are not known: then the invariants that compare contents are
// suspended for its partitions (compaction.go).
//
// What retention or DeleteRecords took below a log start is neither lost nor judged;
// whether it was allowed to go is retention-as-configured's to say (retention.go).
//
// Of groups the ghost keeps the present members and assignments of each coordinator, the
// last commits of each partition and what each client owns (ghost_group*.go); older
// states are bounded, and what they are needed for is then not judged.
//
// Left out, as their actors do not exist yet: quorum and images (INV-09, INV-10),
// indexes (INV-12), idempotence, transactions (INV-15 to INV-19, groups VI-7), groups of
// KIP-848 (groups VI-10, VI-11), mirrors (INV-21), reassignment (INV-23).
package invariant

import (
	"strings"

	"github.com/simkafka/simkafka/model/event"
)

// Info describes an invariant.
type Info struct {
	Name   string // word
	Rules  string // ids: INV-xx, I-x, V-x; groups VI-x
	Words  string // the rule in a sentence
	When   string // when it must hold
	Broken string // when Kafka legitimately breaks it; see Causes
}

// causeEnd divides the causes of Info.Broken.
const causeEnd = "; "

// causes is a text for Info.Broken.
func causes(list ...string) string { return strings.Join(list, causeEnd) }

// Causes are those for which Kafka legitimately breaks the invariant, each for itself. A
// text that begins with never is a single one, with what might be taken for a cause.
func (i Info) Causes() []string {
	if strings.HasPrefix(i.Broken, "never") {
		return []string{i.Broken}
	}
	return strings.Split(i.Broken, causeEnd)
}

// rule is an invariant with its checker.
type rule struct {
	Info
	kinds []event.Kind // that the checker observes
	build func(*findings) checker
}

// maxInvariants bounds the table.
const maxInvariants = 56

// All lists the invariants in the order of reports.
func All() []Info {
	table := rules()
	infos := make([]Info, len(table))
	for i := range table {
		infos[i] = table[i].Info
	}
	return infos
}

// Names lists their words, in the same order.
func Names() []string {
	var names []string
	for _, r := range rules() {
		names = append(names, r.Name)
	}
	return names
}

// rules is the table of invariants.
func rules() []rule {
	return []rule{
		noAckedLoss(),
		repeatableRead(),
		logMatching(),
		electableReplicasComplete(),
		highWatermarkSafe(),
		ackedByMinISR(),
		offsetSanity(),
		latestOffsetMonotonic(),
		metadataValid(),
		singleLeaderPerEpoch(),
		epochsGrow(),
		maximalISRCovers(),
		controlFenced(),
		rejectedMeansAbsent(),
		recoveryKeepsPrefix(),
		epochCacheAgrees(),
		consumerPositionMovesForward(),
		truncationNoticed(),
		noPhantom(),
		orderPreserved(),
		acks1Survives(),
		retentionAsConfigured(),
		compactionKeepsLatest(),
		groupStatesLegal(),
		groupMembersJoined(),
		groupOneAssignment(),
		staticRejoinQuiet(),
		assignmentValid(),
		assignmentFair(),
		assignmentSticks(),
		cooperativeGrantsFree(),
		cooperativeRoundsEnd(),
		oneOwner(),
		callbacksAlternate(),
		noGhostMember(),
		takesWhatItJoined(),
		commitByMember(),
		commitsAPosition(),
		lastCommitWins(),
		committedMovesForward(),
		committedOffsetsKept(),
		atLeastOnce(),
		offsetsRemovedForCause(),
		groupSettles(),
		membersCarryOn(),
		deletedStaysDeleted(),
		convergesAfterHeal(),
	}
}
