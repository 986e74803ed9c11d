package report

import (
	"fmt"
	"strings"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/sim/explain"
)

// linkPhrases say the facts of a chain in few words: its lines have half the room of a
// timeline's, and all of them are about one partition. What they lack is in phrases.
var linkPhrases = [event.NumKinds]func(l *explain.Link) string{
	event.FaultStarted: func(l *explain.Link) string {
		if strings.Contains(l.Event.Text, l.Event.Actor) || strings.ContainsRune(l.Event.Actor, ' ') { // said already, or many
			return fmt.Sprintf("fault %d: %s", l.Event.Index+1, l.Event.Text)
		}
		return fmt.Sprintf("fault %d on %s: %s", l.Event.Index+1, l.Event.Actor, l.Event.Text)
	},
	event.FaultEnded:  func(l *explain.Link) string { return fmt.Sprintf("fault %d ends", l.Event.Index+1) },
	event.NodeCrashed: func(l *explain.Link) string { return "crashes, " + l.Event.Text + tail(l) },
	event.NodeStopped: func(l *explain.Link) string { return because("exits", l.Event.Text) },
	event.NodeBooted:  func(l *explain.Link) string { return fmt.Sprintf("boots, life %d", l.Event.Count) },
	event.SessionExpired: func(l *explain.Link) string {
		return "expires the session of " + l.Event.Text
	},
	event.BrokerUnregistered: func(l *explain.Link) string { return broker(l.Event.Node) + " is gone" },
	event.BrokerRegistered: func(l *explain.Link) string {
		return fmt.Sprintf("%s is there, broker epoch %d", broker(l.Event.Node), l.Event.BrokerEpoch)
	},
	event.LeaderElected: func(l *explain.Link) string {
		return flagged(fmt.Sprintf("elects %s, epoch %d, isr %s", broker(l.Event.Leader), l.Event.LeaderEpoch, nodes(l.Event.ISR)), l.Event.Flag, ", unclean")
	},
	event.PartitionChanged: func(l *explain.Link) string {
		return fmt.Sprintf("commits leader %s, epoch %d, isr %s", bareID(l.Event.Leader), l.Event.LeaderEpoch, nodes(l.Event.ISR))
	},
	event.ReplicaLoaded: func(l *explain.Link) string {
		return fmt.Sprintf("opens its log%s: leo %d hw %d", either(l.Event.Flag, ", unclean", ""), l.Event.LEO, l.Event.HW)
	},
	event.OffsetsMissing: func(l *explain.Link) string {
		return fmt.Sprintf("finds no segment with %s", bareSpan(l.Event.Offset, l.Event.Last))
	},
	event.BecameLeader: func(l *explain.Link) string {
		return fmt.Sprintf("leads epoch %d from %d: leo %d hw %d", l.Event.LeaderEpoch, l.Event.Offset, l.Event.LEO, l.Event.HW)
	},
	event.BecameFollower: func(l *explain.Link) string {
		return fmt.Sprintf("follows %s, epoch %d: leo %d hw %d", bareID(l.Event.Leader), l.Event.LeaderEpoch, l.Event.LEO, l.Event.HW)
	},
	event.BatchAppended: func(l *explain.Link) string {
		return fmt.Sprintf("%s %s, epoch %d: %s", either(l.Event.Flag, "appends", "copies"), bareSpan(l.Event.Base, l.Event.Last), l.Event.LeaderEpoch, had(l.Event.LEO, l.HW))
	},
	event.Truncated: func(l *explain.Link) string {
		text := fmt.Sprintf("cuts its log: leo %d -> %d hw %d", l.Event.LEO, l.Event.Offset, l.Event.HW)
		if l.Event.Text != "" {
			text += " (" + l.Event.Text + ")"
		}
		return text
	},
	event.IsrProposed: func(l *explain.Link) string {
		return fmt.Sprintf("asks for isr %s%s", nodes(l.Event.ISR), tail(l))
	},
	event.IsrCommitted: func(l *explain.Link) string {
		return fmt.Sprintf("learns of isr %s%s", nodes(l.Event.ISR), tail(l))
	},
	event.HighWatermark: func(l *explain.Link) string {
		if l.Event.Flag {
			return fmt.Sprintf("hw %d leo %d, counts on %s", l.Event.HW, l.Event.LEO, nodes(l.Event.MaximalISR))
		}
		return fmt.Sprintf("hw %d leo %d, epoch %d", l.Event.HW, l.Event.LEO, l.Event.LeaderEpoch)
	},
	event.ProduceAnswered: func(l *explain.Link) string {
		if l.Event.Base < 0 {
			return fmt.Sprintf("answers acks=%s: %s", acks(l.Event.Acks), l.Event.Err)
		}
		return fmt.Sprintf("acks=%s for %s: %s", acks(l.Event.Acks), shortSpan(l.Event.Base, l.Event.Last), had(l.LEO, l.HW))
	},
	event.RecordAcked: func(l *explain.Link) string {
		return fmt.Sprintf("%s: acknowledged at %s", records(&l.Event), shortSpan(l.Event.Base, l.Event.Last))
	},
	event.RecordDelivered: func(l *explain.Link) string {
		text := fmt.Sprintf("reads %s from %s", shortSpan(l.Event.Base, l.Event.Last), broker(l.Event.Node))
		if l.HW >= 0 {
			text += fmt.Sprintf(", hw %d", l.HW)
		}
		return text
	},
	event.OffsetAnswered: func(l *explain.Link) string {
		return fmt.Sprintf("names %d as the end, epoch %d%s", l.Event.Offset, l.Event.LeaderEpoch, tail(l))
	},
	event.ControlExecuted: func(l *explain.Link) string {
		return fmt.Sprintf("obeys %s, epoch %d: %s", broker(l.Event.Peer), l.Event.ControllerEpoch, l.Event.Text)
	},
	event.ControllerElected: func(l *explain.Link) string {
		return fmt.Sprintf("is controller, epoch %d", l.Event.ControllerEpoch)
	},
	event.ShutdownAnswered: func(l *explain.Link) string {
		return fmt.Sprintf("lets %s go, which leads %d", broker(l.Event.Node), l.Event.Count)
	},
}

func linkPhrase(l *explain.Link) string {
	if say := linkPhrases[l.Event.Kind]; say != nil {
		return say(l)
	}
	return phrase(&l.Event)
}

// tail is what the noting replica has, behind a fact that does not say it.
func tail(l *explain.Link) string {
	if text := had(l.LEO, l.HW); text != "" {
		return ": " + text
	}
	return ""
}

func bareID(id kafka.NodeID) string { return strings.TrimPrefix(broker(id), "broker-") }

// shortSpan is an inclusive range of offsets.
func shortSpan(base, last kafka.Offset) string {
	switch {
	case base < 0:
		return "an unknown offset"
	case base == last:
		return "offset " + bareSpan(base, last)
	}
	return "offsets " + bareSpan(base, last)
}

func bareSpan(base, last kafka.Offset) string {
	if base == last {
		return fmt.Sprint(base)
	}
	return fmt.Sprintf("%d-%d", base, last)
}
