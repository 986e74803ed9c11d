package report

import (
	"fmt"
	"strings"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/sim/explain"
)

// groupPhrases say the facts of a chain about a consumer group. All are of one group, but
// of several partitions. What they lack is in linkPhrases.
var groupPhrases = [event.NumKinds]func(l *explain.Link) string{
	event.CoordinatorLoaded: func(l *explain.Link) string {
		return because(fmt.Sprintf("is coordinator, epoch %d: %s", l.Event.LeaderEpoch, plural(int64(l.Event.Index), "offset")), l.Event.Text)
	},
	event.CoordinatorUnloaded: func(l *explain.Link) string {
		return fmt.Sprintf("is coordinator no more, epoch %d", l.Event.LeaderEpoch)
	},
	event.GroupChanged: func(l *explain.Link) string {
		if l.Event.State == event.GroupPreparingRebalance { // what it prepares for has no number yet
			return because("rebalances", shortMembers(l.Event.Text))
		}
		text := fmt.Sprintf("%s, generation %d, %s", l.Event.State, l.Event.Generation, plural(int64(l.Event.Count), "member"))
		return text + either(l.Event.Text == "loaded", ", from the log", "") // other reasons follow from the state
	},
	event.MemberJoined: func(l *explain.Link) string {
		text := either(l.Event.Text == event.JoinLoaded, "loads member ", "takes in ") + shortMember(l.Event.Member)
		if l.Event.Text == event.JoinReplaces {
			text += ", static, in the old one's place"
		}
		return fmt.Sprintf("%s, generation %d", text, l.Event.Generation)
	},
	event.MemberRemoved: func(l *explain.Link) string {
		text := fmt.Sprintf("removes %s: %s", shortMember(l.Event.Member), l.Event.Text)
		if l.Event.Text == event.GoneSession && l.Heard >= 0 {
			text += ", last heard at " + moment(l.Heard)
		}
		return text
	},
	event.JoinAnswered: func(l *explain.Link) string {
		if l.Event.Err != kafka.None {
			return fmt.Sprintf("JoinGroup of %s: %s", shortMember(l.Event.Member), l.Event.Err)
		}
		return fmt.Sprintf("all joined: generation %d for %s", l.Event.Generation, members(l))
	},
	event.SyncAnswered: func(l *explain.Link) string {
		if l.Event.Err != kafka.None {
			return fmt.Sprintf("SyncGroup of %s: %s", shortMember(l.Event.Member), l.Event.Err)
		}
		return fmt.Sprintf("gives %s %s part, generation %d", members(l), either(l.More > 0, "their", "its"), l.Event.Generation)
	},
	event.AssignmentStored: func(l *explain.Link) string {
		return fmt.Sprintf("stores the assignment of %s, generation %d", members(l), l.Event.Generation)
	},
	event.OffsetCommitted: func(l *explain.Link) string {
		return fmt.Sprintf("%s committed: %d -> %d, generation %d", parts(l), l.Event.Base, l.Event.Offset, l.Event.Generation)
	},
	event.OffsetLoaded: func(l *explain.Link) string {
		return fmt.Sprintf("loads %d as committed for %s", l.Event.Offset, parts(l))
	},
	event.OffsetRemoved: func(l *explain.Link) string {
		return because(fmt.Sprintf("drops the committed %d of %s", l.Event.Base, parts(l)), l.Event.Text)
	},
	event.CoordinatorSought: func(*explain.Link) string { return "looks for the coordinator" },
	event.CoordinatorFound: func(l *explain.Link) string {
		return fmt.Sprintf("finds its coordinator, %s", broker(l.Event.Node))
	},
	event.CoordinatorLost: func(l *explain.Link) string {
		return because(fmt.Sprintf("gives up its coordinator, %s", broker(l.Event.Node)), l.Event.Text)
	},
	event.MemberChanged: func(l *explain.Link) string {
		return because(fmt.Sprintf("is %s, generation %d%s", l.Event.Detail, l.Event.Generation, either(l.Event.Flag, ", begins anew", "")), l.Event.Text)
	},
	event.PartitionAssigned: func(l *explain.Link) string {
		return fmt.Sprintf("owns %s, generation %d", parts(l), l.Event.Generation)
	},
	event.PartitionRevoked: func(l *explain.Link) string {
		return fmt.Sprintf("gives %s back, generation %d%s", parts(l), l.Event.Generation, atPosition(l))
	},
	event.PartitionLost: func(l *explain.Link) string {
		return fmt.Sprintf("has lost %s, generation %d%s", parts(l), l.Event.Generation, atPosition(l))
	},
	event.CommittedFetched: func(l *explain.Link) string {
		if l.Event.Err != kafka.None {
			return fmt.Sprintf("asks what is committed for %s: %s", parts(l), l.Event.Err)
		}
		return fmt.Sprintf("begins %s at the committed %d", parts(l), l.Event.Offset)
	},
	event.CommitSent: func(l *explain.Link) string {
		return because(fmt.Sprintf("sends the commit of %d for %s", l.Event.Offset, parts(l)), l.Event.Text)
	},
	event.CommitAnswered: func(l *explain.Link) string {
		return fmt.Sprintf("commit of %d for %s: %s%s", l.Event.Offset, parts(l), l.Event.Err, either(l.Event.Flag, ", outcome unknown", ""))
	},
	event.RecordDelivered: func(l *explain.Link) string {
		return fmt.Sprintf("gets %s of %s", shortSpan(l.Event.Base, l.Event.Last), l.Event.TP)
	},
	event.RecordProcessed: func(l *explain.Link) string {
		return fmt.Sprintf("is done with %s of %s", shortSpan(l.Event.Base, l.Event.Last), l.Event.TP)
	},
	event.PositionReset: func(l *explain.Link) string {
		return because(fmt.Sprintf("jumps in %s from %d to %d", l.Event.TP, l.Event.Offset, l.Event.Base), l.Event.Text)
	},
	event.LeaderElected: func(l *explain.Link) string {
		return fmt.Sprintf("elects %s for %s, epoch %d", broker(l.Event.Leader), l.Event.TP, l.Event.LeaderEpoch)
	},
	event.PartitionChanged: func(l *explain.Link) string {
		return fmt.Sprintf("commits leader %s of %s, isr %s", bareID(l.Event.Leader), l.Event.TP, nodes(l.Event.ISR))
	},
	event.BecameLeader: func(l *explain.Link) string {
		return fmt.Sprintf("leads %s, epoch %d, from %d", l.Event.TP, l.Event.LeaderEpoch, l.Event.Offset)
	},
	event.BecameFollower: func(l *explain.Link) string {
		return fmt.Sprintf("follows %s for %s, epoch %d", bareID(l.Event.Leader), l.Event.TP, l.Event.LeaderEpoch)
	},
	event.Truncated: func(l *explain.Link) string {
		return fmt.Sprintf("cuts %s: leo %d -> %d", l.Event.TP, l.Event.LEO, l.Event.Offset)
	},
	event.ReplicaLoaded: func(l *explain.Link) string {
		return fmt.Sprintf("opens %s: leo %d hw %d", l.Event.TP, l.Event.LEO, l.Event.HW)
	},
}

// parts are the partitions of a fact that stands for several.
func parts(l *explain.Link) string {
	if l.More == 0 {
		return l.Event.TP.String()
	}
	return fmt.Sprintf("%s and %d more", l.Event.TP, l.More)
}

// members are those of a fact that stands for several.
func members(l *explain.Link) string {
	if l.More == 0 {
		return shortMember(l.Event.Member)
	}
	return plural(int64(l.More)+1, "member")
}

func atPosition(l *explain.Link) string {
	if l.Event.Offset < 0 || l.More > 0 {
		return ""
	}
	return fmt.Sprintf(", at %d", l.Event.Offset)
}

// shortMember is a member id without most of its digits: the client's name, or the static
// member's, and enough to tell two lives apart.
func shortMember(id string) string {
	const digits, kept = 32, 4
	at := len(id) - digits
	if at < 2 || id[at-1] != '-' || strings.Trim(id[at:], "0123456789abcdef") != "" {
		return id
	}
	return id[:at+kept]
}

// shortMembers shortens the ids in a text.
func shortMembers(text string) string {
	words := strings.Fields(text)
	for i, w := range words {
		bare := strings.Trim(w, ",:;()")
		words[i] = strings.Replace(w, bare, shortMember(bare), 1)
	}
	return strings.Join(words, " ")
}
