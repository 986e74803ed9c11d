package explain

import (
	"regexp"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/group"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
	"github.com/simkafka/simkafka/scenarios"
	"github.com/simkafka/simkafka/sim/kernel"
	"github.com/simkafka/simkafka/sim/shrink"
)

// groupIn finds the group in the words of a violation or a metric.
var groupIn = regexp.MustCompile(`^group (\S+): |(?:in|of) group (\S+)|\bgroup\.\w+\((\S+?)\)`)

// consumerIn finds the consumer that has not caught up.
var consumerIn = regexp.MustCompile(`\bconsumer (\S+) is at`)

// groupOf is the consumer group that a violation is about; "" if it is about none.
func groupOf(t *shrink.Target, spec *scenarios.Spec) string {
	for _, text := range []string{t.What, t.Metric} {
		if m := groupIn.FindStringSubmatch(text); m != nil {
			return m[1] + m[2] + m[3]
		}
	}
	m := consumerIn.FindStringSubmatch(t.What)
	if m == nil {
		return ""
	}
	for i := range spec.Consumers {
		c := &spec.Consumers[i]
		rest, ok := strings.CutPrefix(m[1], c.Name)
		if ok && (rest == "" || c.Count > 1 && rest[0] == '-') {
			return c.Group
		}
	}
	return ""
}

// ofLog are the facts about a partition's log that the story of a group has: who leads it,
// and what became of it.
var ofLog = [event.NumKinds]bool{event.LeaderElected: true, event.PartitionChanged: true, event.BecameLeader: true, event.BecameFollower: true,
	event.ReplicaLoaded: true, event.ReplicaStopped: true, event.Truncated: true, event.PositionReset: true, event.CoordinatorLoaded: true,
	event.CoordinatorUnloaded: true}

// perPartition are the facts of a group that each partition has its own of.
var perPartition = [event.NumKinds]bool{event.OffsetCommitted: true, event.OffsetLoaded: true, event.OffsetRemoved: true, event.PartitionAssigned: true,
	event.PartitionRevoked: true, event.PartitionLost: true, event.CommittedFetched: true, event.RecordProcessed: true, event.CommitSent: true,
	event.CommitAnswered: true, event.RecordDelivered: true, event.PositionReset: true}

// concerns reports whether a fact may be part of the story.
func (h *history) concerns(e *event.Event) bool {
	if h.group == "" {
		return (e.TP.Topic == "" && e.Group == "") || e.TP.Topic != "" && e.TP == h.target.TP
	}
	one := h.target.TP.Topic != ""
	switch {
	case e.Group == h.group:
		if e.Kind == event.Polled || (e.Kind == event.RecordDelivered || e.Kind == event.RecordProcessed) && !one {
			return false
		}
		return !one || !perPartition[e.Kind] || e.TP == h.target.TP
	case e.Group != "":
		return false
	case e.TP.Topic == "":
		return true
	}
	return ofLog[e.Kind] && (e.TP == h.target.TP || e.TP.Topic == group.OffsetsTopic)
}

// ofGroup leaves of the facts about __consumer_offsets those of the group's partition, and
// makes one of those that a step noted of several partitions, or members, at once.
func (h *history) ofGroup() {
	seat := kafka.TopicPartition{Partition: -1}
	for i := range h.facts {
		if f := &h.facts[i]; f.Group != "" && f.TP.Topic == group.OffsetsTopic {
			seat = f.TP
			break
		}
	}
	h.facts = slices.DeleteFunc(h.facts, func(f fact) bool {
		return f.TP.Topic == group.OffsetsTopic && f.TP != seat && f.TP != h.target.TP
	})
	kept := h.facts[:0]
	for i := range h.facts {
		f := h.facts[i]
		if n := len(kept); n > 0 && h.alike(&kept[n-1], &f) {
			kept[n-1].more++
			continue
		}
		kept = append(kept, f)
	}
	h.facts = kept
}

// alike reports whether the second fact says of another partition, or member, what the first
// said in the same step.
func (h *history) alike(a, b *fact) bool {
	if a.Seq != b.Seq || a.Kind != b.Kind || a.Actor != b.Actor || a.Err != b.Err || a.Text != b.Text && !answers[a.Kind] {
		return false
	}
	if answers[a.Kind] {
		return a.Err == kafka.None && !h.says(a.Member) && !h.says(b.Member)
	}
	return perPartition[a.Kind] && a.Kind != event.RecordDelivered
}

// answers are what a coordinator tells, or stores for, all members in one step.
var answers = [event.NumKinds]bool{event.JoinAnswered: true, event.SyncAnswered: true, event.AssignmentStored: true}

// says reports whether the violation names a member.
func (h *history) says(member string) bool {
	return member != "" && strings.Contains(h.target.What, member)
}

// hear remembers when a coordinator last heard of a member.
func (h *history) hear(r *kernel.Record) {
	if h.group == "" || r.Kind != step.Request {
		return
	}
	id, member := "", ""
	switch m := r.Body.(type) {
	case *kmsg.HeartbeatRequest:
		id, member = m.Group, m.MemberID
	case *kmsg.JoinGroupRequest:
		id, member = m.Group, m.MemberID
	case *kmsg.SyncGroupRequest:
		id, member = m.Group, m.MemberID
	case *kmsg.OffsetCommitRequest:
		id, member = m.Group, m.MemberID
	}
	if id == h.group && member != "" {
		h.heard[member] = r.Time
	}
}

// groupEnds are the facts that a violation of a group is made of: what was noted at its
// moment, what was last of each member and each coordinator, and the life of the partition
// in the group.
func (h *history) groupEnds() (out []int) {
	last := make(map[key]int)
	for i := range h.facts {
		f := &h.facts[i]
		if f.Time == h.target.At && f.Kind != event.FaultEnded && (f.Group != "" || f.Actor == "") || h.ofPartition(f) {
			out = append(out, i)
		}
		if f.Group != "" && !frequent[f.Kind] || f.Kind == event.CoordinatorLoaded || f.Kind == event.CoordinatorUnloaded {
			last[key{f.Actor, event.None}] = i
		}
		if h.mentions(f.Actor) {
			last[key{f.Actor, f.Kind}] = i
		}
	}
	for i := range h.facts {
		f := &h.facts[i]
		if last[key{f.Actor, event.None}] == i && i > 0 || last[key{f.Actor, f.Kind}] == i && h.mentions(f.Actor) {
			out = append(out, i)
		}
	}
	return out
}

// ofPartition reports whether a fact is about whose the partition is, or what is committed
// for it.
func (h *history) ofPartition(f *fact) bool {
	if h.target.TP.Topic == "" || f.TP != h.target.TP || f.Group == "" {
		return false
	}
	switch f.Kind {
	case event.PartitionAssigned, event.PartitionRevoked, event.PartitionLost, event.OffsetLoaded, event.OffsetRemoved:
		return true
	case event.OffsetCommitted:
		return f.Offset < f.Base
	}
	return false
}

// groupRank is rank in the story of a group.
func (h *history) groupRank(i int) int {
	f := &h.facts[i]
	if f.Time == h.target.At && (f.Group != "" || f.TP == h.target.TP) {
		return rankTurn
	}
	switch f.Kind {
	case event.FaultStarted, event.NodeCrashed, event.NodeStopped, event.Assertion, event.DirectoryOffline, event.FetcherFailed, event.PositionReset,
		event.MemberRemoved, event.OffsetRemoved, event.CoordinatorLoaded, event.PartitionLost:
		return rankTurn
	case event.PartitionAssigned, event.PartitionRevoked:
		if f.TP == h.target.TP {
			return rankTurn
		}
		return rankChange
	case event.GroupChanged:
		switch f.State {
		case event.GroupDead:
			return rankRoutine
		case event.GroupCompletingRebalance:
			return rankRecord
		}
		return rankTurn
	case event.JoinAnswered, event.SyncAnswered, event.CommitAnswered:
		if f.Err != kafka.None {
			return rankRecord
		}
		return rankRoutine
	case event.MemberJoined:
		if f.Text == event.JoinLoaded {
			return rankRoutine
		}
		return rankRecord
	case event.CoordinatorLost, event.CoordinatorUnloaded, event.LeaderElected, event.Truncated, event.NodeBooted, event.NodePaused, event.NodeResumed:
		return rankRecord
	case event.OffsetCommitted:
		if f.Offset < f.Base {
			return rankTurn
		}
		return rankChange
	case event.CommitSent, event.CommittedFetched, event.RecordDelivered, event.RecordProcessed:
		return rankChange // the last ones: see frequent
	case event.MemberChanged:
		if f.Flag && f.Text != kafka.MemberIDRequired.String() { // it begins anew
			return rankRecord
		}
		return rankChange
	case event.OffsetLoaded, event.SessionExpired, event.BecameLeader:
		return rankChange
	case event.ControlExecuted:
		return rankNone
	}
	return rankRoutine
}
