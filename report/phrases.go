package report

import (
	"fmt"
	"strconv"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

// phrases say a fact in words, without its time, node and partition.
var phrases = [event.NumKinds]func(e *event.Event) string{
	event.NodeBooted: func(e *event.Event) string {
		if e.Count > 1 {
			return fmt.Sprintf("boots again (incarnation %d)", e.Count)
		}
		return "boots"
	},
	event.NodeCrashed:  func(e *event.Event) string { return because("crashes", e.Text) },
	event.NodeStopped:  func(e *event.Event) string { return because("exits", e.Text) },
	event.NodePaused:   func(*event.Event) string { return "pauses" },
	event.NodeResumed:  func(*event.Event) string { return "resumes" },
	event.FaultStarted: func(e *event.Event) string { return fault(e, "begins") },
	event.FaultEnded:   func(e *event.Event) string { return fault(e, "ends") },
	event.Healed:       func(*event.Event) string { return "healed: faults are undone, what is down restarts" },
	event.Settled:      func(e *event.Event) string { return because("the cluster has settled", e.Text) },
	event.Assertion:    func(e *event.Event) string { return "assertion failed: " + e.Text },
	event.Probe:        func(e *event.Event) string { return "reaches " + e.Text },

	event.ControllerElected: func(e *event.Event) string {
		return fmt.Sprintf("becomes controller, epoch %d", e.ControllerEpoch)
	},
	event.ControllerResigned: func(e *event.Event) string {
		return fmt.Sprintf("resigns as controller, epoch %d", e.ControllerEpoch)
	},
	event.BrokerRegistered: func(e *event.Event) string {
		return fmt.Sprintf("%s is registered, broker epoch %d", broker(e.Node), e.BrokerEpoch)
	},
	event.BrokerUnregistered: func(e *event.Event) string { return "the registration of " + broker(e.Node) + " is gone" },
	event.SessionExpired:     func(e *event.Event) string { return "expires the session of " + e.Text },
	event.TopicCreated: func(e *event.Event) string {
		return fmt.Sprintf("topic %s is created, %s", e.TP.Topic, plural(int64(e.Count), "partition"))
	},
	event.TopicDeletionAsked: func(e *event.Event) string { return "topic " + e.TP.Topic + " is to be deleted" },
	event.TopicDeleted:       func(e *event.Event) string { return "topic " + e.TP.Topic + " is deleted" },
	event.AssignmentChanged: func(e *event.Event) string {
		if len(e.Replicas) == 0 {
			return "is taken out of its topic"
		}
		return "gets replicas " + nodes(e.Replicas)
	},
	event.PartitionChanged: func(e *event.Event) string {
		text := fmt.Sprintf("leader %s, epoch %d, ISR %s", broker(e.Leader), e.LeaderEpoch, nodes(e.ISR))
		return flagged(text, e.Flag, ", recovering")
	},
	event.LeaderElected: func(e *event.Event) string {
		text := fmt.Sprintf("elects %s, epoch %d, ISR %s", broker(e.Leader), e.LeaderEpoch, nodes(e.ISR))
		if e.Text != "" {
			text += " (" + e.Text + ")"
		}
		return flagged(text, e.Flag, ", unclean")
	},
	event.ControlExecuted: func(e *event.Event) string {
		return fmt.Sprintf("carries out %s of controller %d, epoch %d", e.Text, e.Peer, e.ControllerEpoch)
	},
	event.ControlWrite: func(e *event.Event) string {
		return fmt.Sprintf("a write of %s under controller epoch %d is %s", broker(e.Node), e.ControllerEpoch, either(e.Flag, "applied", "refused"))
	},
	event.ShutdownAnswered: func(e *event.Event) string {
		return fmt.Sprintf("answers the controlled shutdown of %s: it still leads %s", broker(e.Node), plural(int64(e.Count), "partition"))
	},

	event.ReplicaLoaded: func(e *event.Event) string {
		text := fmt.Sprintf("opens the log: start %d, end %d, high watermark %d", e.LogStart, e.LEO, e.HW)
		return flagged(text, e.Flag, ", after an unclean stop")
	},
	event.OffsetsMissing: func(e *event.Event) string {
		return fmt.Sprintf("finds no segment with %s", offsets(e.Offset, e.Last))
	},
	event.BecameLeader: func(e *event.Event) string {
		return fmt.Sprintf("takes office, epoch %d from offset %d (high watermark %d, end %d), ISR %s", e.LeaderEpoch, e.Offset, e.HW, e.LEO, nodes(e.ISR))
	},
	event.BecameFollower: func(e *event.Event) string {
		return fmt.Sprintf("follows %s, epoch %d (high watermark %d, end %d)", broker(e.Leader), e.LeaderEpoch, e.HW, e.LEO)
	},
	event.ReplicaStopped: func(e *event.Event) string {
		return fmt.Sprintf("stops the replica, epoch %d%s", e.LeaderEpoch, either(e.Flag, ", deleted", ""))
	},
	event.BatchAppended: func(e *event.Event) string {
		return fmt.Sprintf("appends %s, epoch %d, as %s; end %d", offsets(e.Base, e.Last), e.LeaderEpoch, either(e.Flag, "leader", "follower"), e.LEO)
	},
	event.Truncated: func(e *event.Event) string {
		text := fmt.Sprintf("truncates from %d to %d; high watermark %d", e.LEO, e.Offset, e.HW)
		if e.Text != "" {
			text += " (" + e.Text + ")"
		}
		return text
	},
	event.LogStartRaised: func(e *event.Event) string { return fmt.Sprintf("log start is %d", e.LogStart) },
	event.SegmentRolled:  func(e *event.Event) string { return fmt.Sprintf("rolls to segment %d", e.Base) },
	event.SegmentDeleted: func(e *event.Event) string {
		return because(fmt.Sprintf("deletes segment %d", e.Base), e.Text)
	},
	event.CleaningBegan: func(e *event.Event) string {
		return fmt.Sprintf("begins to compact offsets %d to %d", e.Base, e.Offset-1)
	},
	event.LogCleaned: func(e *event.Event) string {
		return fmt.Sprintf("has compacted the log up to offset %d, %d bytes less", e.Offset-1, e.Size)
	},
	event.CleaningFailed: func(e *event.Event) string { return because("gives up compacting", e.Text) },
	event.IsrProposed: func(e *event.Event) string {
		return fmt.Sprintf("proposes ISR %s, epoch %d", nodes(e.ISR), e.LeaderEpoch)
	},
	event.IsrCommitted: func(e *event.Event) string {
		return fmt.Sprintf("learns of ISR %s, epoch %d", nodes(e.ISR), e.LeaderEpoch)
	},
	event.HighWatermark: func(e *event.Event) string {
		return fmt.Sprintf("high watermark %d, end %d, epoch %d, as %s", e.HW, e.LEO, e.LeaderEpoch, either(e.Flag, "leader", "follower"))
	},
	event.LEOPublished:     func(e *event.Event) string { return fmt.Sprintf("end %d is visible", e.LEO) },
	event.DirectoryOffline: func(e *event.Event) string { return "log directory offline: " + e.Text },
	event.FetcherFailed: func(e *event.Event) string {
		return because(fmt.Sprintf("gives up fetching in epoch %d", e.LeaderEpoch), e.Text)
	},

	event.ProduceAnswered: func(e *event.Event) string {
		if e.Base < 0 {
			return fmt.Sprintf("answers a produce with acks=%s: %s", acks(e.Acks), e.Err)
		}
		return fmt.Sprintf("answers a produce with acks=%s: %s, %s", acks(e.Acks), offsets(e.Base, e.Last), e.Err)
	},
	event.OffsetAnswered: func(e *event.Event) string {
		return fmt.Sprintf("answers ListOffsets: %d, epoch %d, %s", e.Offset, e.LeaderEpoch, e.Err)
	},
	event.BatchSent: func(e *event.Event) string { return "sends " + records(e) },
	event.RecordAcked: func(e *event.Event) string {
		return fmt.Sprintf("%s acknowledged at %s, acks=%s", records(e), offsets(e.Base, e.Last), acks(e.Acks))
	},
	event.RecordFailed: func(e *event.Event) string {
		text := fmt.Sprintf("%s failed: %s%s", records(e), e.Err, either(e.Flag, ", outcome unknown", ""))
		if e.Text != "" {
			text += " (" + e.Text + ")"
		}
		return text
	},
	event.RecordDelivered: func(e *event.Event) string {
		return fmt.Sprintf("reads %s from %s", offsets(e.Base, e.Last), broker(e.Node))
	},
	event.PositionReset: func(e *event.Event) string {
		return because(fmt.Sprintf("position jumps from %d to %d", e.Offset, e.Base), e.Text)
	},
	event.MetadataSeen: func(e *event.Event) string {
		if e.Flag {
			return "does not know the partition any more"
		}
		return fmt.Sprintf("learns of leader %s, epoch %d", broker(e.Leader), e.LeaderEpoch)
	},
	event.CoordinatorLoaded: func(e *event.Event) string {
		return because(fmt.Sprintf("has loaded %s and %s as coordinator, epoch %d", plural(int64(e.Count), "group"), plural(int64(e.Index), "offset"), e.LeaderEpoch), e.Text)
	},
	event.CoordinatorUnloaded: func(e *event.Event) string {
		return fmt.Sprintf("gives up %s as coordinator, epoch %d", plural(int64(e.Count), "group"), e.LeaderEpoch)
	},
	event.GroupChanged: func(e *event.Event) string {
		if e.State == event.GroupPreparingRebalance {
			return fmt.Sprintf("group %s is %s: %s", e.Group, e.State, e.Text)
		}
		return because(fmt.Sprintf("group %s is %s, generation %d with %s", e.Group, e.State, e.Generation, plural(int64(e.Count), "member")), e.Text)
	},
	event.MemberJoined: func(e *event.Event) string {
		return because(fmt.Sprintf("group %s has member %s", e.Group, e.Member), e.Text)
	},
	event.MemberRemoved: func(e *event.Event) string {
		return because(fmt.Sprintf("group %s loses member %s", e.Group, e.Member), e.Text)
	},
	event.JoinAnswered: func(e *event.Event) string {
		return fmt.Sprintf("answers JoinGroup of %s in group %s: %s, generation %d%s", e.Member, e.Group, e.Err, e.Generation, either(e.Flag, ", leader", ""))
	},
	event.SyncAnswered: func(e *event.Event) string {
		return fmt.Sprintf("answers SyncGroup of %s in group %s: %s, generation %d", e.Member, e.Group, e.Err, e.Generation)
	},
	event.AssignmentStored: func(e *event.Event) string {
		return fmt.Sprintf("group %s: the assignment of %s is persisted, generation %d", e.Group, e.Member, e.Generation)
	},
	event.OffsetCommitted: func(e *event.Event) string {
		return fmt.Sprintf("group %s commits %d (before: %d)", e.Group, e.Offset, e.Base)
	},
	event.OffsetLoaded: func(e *event.Event) string {
		return fmt.Sprintf("group %s: committed offset %d comes with the log", e.Group, e.Offset)
	},
	event.OffsetRemoved: func(e *event.Event) string {
		return because(fmt.Sprintf("group %s loses the committed offset %d", e.Group, e.Base), e.Text)
	},
	event.CoordinatorSought: func(e *event.Event) string { return "looks for the coordinator of group " + e.Group },
	event.CoordinatorFound: func(e *event.Event) string {
		return fmt.Sprintf("finds %s as coordinator of group %s", broker(e.Node), e.Group)
	},
	event.CoordinatorLost: func(e *event.Event) string {
		return because(fmt.Sprintf("gives up %s as coordinator of group %s", broker(e.Node), e.Group), e.Text)
	},
	event.MemberChanged: func(e *event.Event) string {
		return because(fmt.Sprintf("is %s in group %s, generation %d%s", e.Detail, e.Group, e.Generation, either(e.Flag, ", begins anew", "")), e.Text)
	},
	event.PartitionAssigned: func(e *event.Event) string {
		return fmt.Sprintf("is assigned the partition, generation %d", e.Generation)
	},
	event.PartitionRevoked: func(e *event.Event) string {
		return fmt.Sprintf("gives the partition back at %d, generation %d", e.Offset, e.Generation)
	},
	event.PartitionLost: func(e *event.Event) string {
		return fmt.Sprintf("has lost the partition at %d, generation %d", e.Offset, e.Generation)
	},
	event.CommittedFetched: func(e *event.Event) string {
		return fmt.Sprintf("fetches the committed offset: %d, %s", e.Offset, e.Err)
	},
	event.Polled: func(e *event.Event) string { return "polls " + plural(int64(e.Count), "record") },
	event.RecordProcessed: func(e *event.Event) string {
		return "has processed " + offsets(e.Base, e.Last)
	},
	event.CommitSent: func(e *event.Event) string {
		return because(fmt.Sprintf("commits %d", e.Offset), e.Text)
	},
	event.CommitAnswered: func(e *event.Event) string {
		return because(fmt.Sprintf("commit of %d: %s%s", e.Offset, e.Err, either(e.Flag, ", outcome unknown", "")), e.Text)
	},
}

// phrase says a fact in words.
func phrase(e *event.Event) string {
	if e.Kind < event.NumKinds && phrases[e.Kind] != nil {
		return phrases[e.Kind](e)
	}
	return e.Kind.String()
}

// who is the node that a fact happened on or to.
func who(e *event.Event) string {
	if e.Actor == "" || isFault(e) {
		return "simulator"
	}
	return e.Actor
}

// isFault: the actor is then what the fault hit, in words.
func isFault(e *event.Event) bool { return e.Kind == event.FaultStarted || e.Kind == event.FaultEnded }

func fault(e *event.Event, what string) string {
	if e.Actor != "" {
		what += " on " + e.Actor
	}
	return fmt.Sprintf("fault %d %s: %s", e.Index+1, what, e.Text)
}

// offsetsTopic is where groups are kept: which of its partitions says little.
const offsetsTopic = "__consumer_offsets"

// subject is the partition of a fact; "" where it concerns none.
func subject(e *event.Event) string {
	if e.TP.Topic == "" || e.Kind == event.TopicCreated || e.Kind == event.TopicDeletionAsked || e.Kind == event.TopicDeleted || e.Group != "" && e.TP.Topic == offsetsTopic {
		return ""
	}
	return e.TP.String()
}

// sentence is phrase with the partition before it.
func sentence(e *event.Event) string {
	if tp := subject(e); tp != "" {
		return tp + ": " + phrase(e)
	}
	return phrase(e)
}

func because(what, reason string) string {
	if reason == "" {
		return what
	}
	return what + ": " + reason
}

func flagged(text string, flag bool, suffix string) string {
	if flag {
		return text + suffix
	}
	return text
}

func either(flag bool, yes, no string) string {
	if flag {
		return yes
	}
	return no
}

// acks prints the producer's setting as Kafka spells it.
func acks(a int8) string {
	if a < 0 {
		return "all"
	}
	return strconv.Itoa(int(a))
}

// offsets prints an inclusive range.
func offsets(base, last kafka.Offset) string {
	switch {
	case base < 0:
		return "an unknown offset"
	case base == last:
		return fmt.Sprintf("offset %d", base)
	}
	return fmt.Sprintf("offsets %d to %d", base, last)
}

// records prints which of a producer's records an event is about.
func records(e *event.Event) string {
	if e.Count <= 1 {
		return fmt.Sprintf("record #%d", e.First)
	}
	return fmt.Sprintf("records #%d to #%d", e.First, e.First+int64(e.Count)-1)
}
