package client

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/config"
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
)

// member makes a GroupConsumer of group g that subscribes to orders.
func (a args) member() GroupConfig {
	settings := []config.Setting{{Key: "auto.offset.reset", Value: "earliest"}}
	for _, key := range []string{"partition.assignment.strategy", "session.timeout.ms", "heartbeat.interval.ms", "max.poll.interval.ms",
		"max.poll.records", "auto.commit.interval.ms", "enable.auto.commit"} {
		if a.d.HasArg(key) {
			for _, v := range a.d.CmdArgs {
				if v.Key == key {
					settings = append(settings, config.Setting{Key: key, Value: strings.Join(v.Vals, ",")})
				}
			}
		}
	}
	cfg, errs := config.NewConsumer(labProfile(a.string("profile", "zk-3.9")), settings)
	if len(errs) > 0 {
		a.d.Fatalf(a.t, "%v", errs)
	}
	modes := map[string]CommitMode{"auto": CommitAuto, "sync": CommitSync, "async": CommitAsync, "before": CommitBefore}
	return GroupConfig{Consumer: cfg, Bootstrap: []step.Addr{addrOf(1)}, Group: "g", Topics: []string{"orders"},
		InstanceID: a.string("instance", ""), Processing: a.millis("processing", 0), Revoke: a.millis("revoke", 0), Commit: modes[a.string("commit", "auto")]}
}

// playGroup plays the commands that stand for the coordinator. False: it is none of them.
func (s *script) playGroup(a args) bool {
	l := s.lab
	switch a.d.Cmd {
	case "found":
		answerTo(l, func(r *kmsg.FindCoordinatorRequest, resp *kmsg.FindCoordinatorResponse) {
			id, at := int32(a.int("broker", 2)), addrOf(int32(a.int("broker", 2)))
			resp.ErrorCode, resp.NodeID, resp.Host, resp.Port = int16(a.code()), id, at.Host, at.Port
			if r.Version >= coordinatorListFrom {
				c := kmsg.NewFindCoordinatorResponseCoordinator()
				c.Key, c.ErrorCode, c.NodeID, c.Host, c.Port = r.CoordinatorKeys[0], int16(a.code()), id, at.Host, at.Port
				resp.Coordinators = append(resp.Coordinators, c)
			}
		})
	case "joined":
		answerTo(l, func(r *kmsg.JoinGroupRequest, resp *kmsg.JoinGroupResponse) { s.joined(a, r, resp) })
	case "synced":
		answerTo(l, func(r *kmsg.SyncGroupRequest, resp *kmsg.SyncGroupResponse) {
			resp.ErrorCode = int16(a.code())
			g := l.node.(*GroupConsumer)
			var owns []kafka.TopicPartition
			for _, v := range a.list("owns") {
				tp, err := kafka.ParseTopicPartition(v)
				if err != nil {
					a.d.Fatalf(a.t, "%v", err)
				}
				owns = append(owns, tp)
			}
			resp.MemberAssignment = g.encodeAssignment(owns)
		})
	case "beat":
		answerTo(l, func(_ *kmsg.HeartbeatRequest, resp *kmsg.HeartbeatResponse) { resp.ErrorCode = int16(a.code()) })
	case "left":
		answerTo(l, func(_ *kmsg.LeaveGroupRequest, resp *kmsg.LeaveGroupResponse) { resp.ErrorCode = int16(a.code()) })
	case "committed":
		answerTo(l, func(r *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse) {
			for _, t := range r.Topics {
				x := kmsg.NewOffsetCommitResponseTopic()
				x.Topic = t.Topic
				for _, p := range t.Partitions {
					y := kmsg.NewOffsetCommitResponseTopicPartition()
					y.Partition, y.ErrorCode = p.Partition, int16(a.code())
					x.Partitions = append(x.Partitions, y)
				}
				resp.Topics = append(resp.Topics, x)
			}
		})
	case "offsets":
		answerTo(l, func(r *kmsg.OffsetFetchRequest, resp *kmsg.OffsetFetchResponse) { s.offsets(a, r, resp) })
	default:
		return false
	}
	return true
}

// answerTo answers the oldest request of a kind, if it is the first on its connection.
func answerTo[Q, R any, PQ interface {
	*Q
	kmsg.Request
}, PR interface {
	*R
	kmsg.Response
}](l *lab, fill func(PQ, PR)) {
	l.t.Helper()
	for _, c := range l.conns {
		if len(c.requests) == 0 {
			continue
		}
		if q, ok := c.requests[0].req.(PQ); ok {
			r := c.requests[0]
			c.requests = c.requests[1:]
			resp := q.ResponseKind().(PR)
			fill(q, resp)
			l.answer(c, r, resp)
			return
		}
	}
	l.t.Fatalf("no %T waits for an answer", PQ(nil))
}

func (a args) list(key string) []string {
	for _, v := range a.d.CmdArgs {
		if v.Key == key {
			return v.Vals
		}
	}
	return nil
}

// joined answers JoinGroup. Members other than the asking one subscribe to orders, or to the
// topics that are named, and own nothing.
func (s *script) joined(a args, r *kmsg.JoinGroupRequest, resp *kmsg.JoinGroupResponse) {
	resp.ErrorCode, resp.Generation, resp.MemberID = int16(a.code()), int32(a.int("generation", 1)), a.string("member", r.MemberID)
	resp.LeaderID = a.string("leader", resp.MemberID)
	resp.SkipAssignment = a.int("skip", 0) == 1
	name := a.string("protocol", r.Protocols[0].Name)
	resp.Protocol = &name
	if resp.ErrorCode != 0 || resp.LeaderID != resp.MemberID {
		return
	}
	at := slices.IndexFunc(r.Protocols, func(p kmsg.JoinGroupRequestProtocol) bool { return p.Name == name })
	for _, id := range append([]string{resp.MemberID}, a.list("others")...) {
		m := kmsg.NewJoinGroupResponseMember()
		m.MemberID, m.ProtocolMetadata = id, r.Protocols[at].Metadata
		if id != resp.MemberID {
			topics := a.list("topics")
			if topics == nil {
				topics = []string{"orders"}
			}
			m.ProtocolMetadata = (&kmsg.ConsumerMemberMetadata{Version: 3, Topics: topics, Generation: -1}).AppendTo(nil)
		}
		resp.Members = append(resp.Members, m)
	}
}

// offsets answers OffsetFetch: every partition alike.
func (s *script) offsets(a args, r *kmsg.OffsetFetchRequest, resp *kmsg.OffsetFetchResponse) {
	if r.Version < committedGroupsFrom {
		for _, t := range r.Topics {
			x := kmsg.NewOffsetFetchResponseTopic()
			x.Topic = t.Topic
			for _, p := range t.Partitions {
				y := kmsg.NewOffsetFetchResponseTopicPartition()
				y.Partition, y.Offset, y.LeaderEpoch, y.ErrorCode = p, a.int("offset", -1), int32(a.int("epoch", -1)), int16(a.code())
				x.Partitions = append(x.Partitions, y)
			}
			resp.Topics = append(resp.Topics, x)
		}
		return
	}
	g := kmsg.NewOffsetFetchResponseGroup()
	g.Group, g.ErrorCode = r.Groups[0].Group, int16(a.code())
	for _, t := range r.Groups[0].Topics {
		x := kmsg.NewOffsetFetchResponseGroupTopic()
		x.Topic = t.Topic
		for _, p := range t.Partitions {
			y := kmsg.NewOffsetFetchResponseGroupTopicPartition()
			y.Partition, y.Offset, y.LeaderEpoch = p, a.int("offset", -1), int32(a.int("epoch", -1))
			x.Partitions = append(x.Partitions, y)
		}
		g.Topics = append(g.Topics, x)
	}
	resp.Groups = append(resp.Groups, g)
}

// isOfGroup: the request is one to a coordinator, or for one.
func isOfGroup(req kmsg.Request) bool {
	switch req.(type) {
	case *kmsg.FindCoordinatorRequest, *kmsg.JoinGroupRequest, *kmsg.SyncGroupRequest, *kmsg.HeartbeatRequest, *kmsg.LeaveGroupRequest,
		*kmsg.OffsetCommitRequest, *kmsg.OffsetFetchRequest:
		return true
	}
	return false
}

// describeGroup says what is asked of a coordinator; "" for other requests.
func describeGroup(req kmsg.Request) string {
	var b strings.Builder
	switch r := req.(type) {
	case *kmsg.FindCoordinatorRequest:
		fmt.Fprintf(&b, "FindCoordinator %s%s", r.CoordinatorKey, strings.Join(r.CoordinatorKeys, " "))
	case *kmsg.JoinGroupRequest:
		fmt.Fprintf(&b, "JoinGroup member %q", r.MemberID)
		if r.InstanceID != nil {
			fmt.Fprintf(&b, " instance %q", *r.InstanceID)
		}
		for _, p := range r.Protocols {
			var m kmsg.ConsumerMemberMetadata
			if err := m.ReadFrom(p.Metadata); err != nil {
				return err.Error()
			}
			fmt.Fprintf(&b, " %s v%d %v", p.Name, m.Version, m.Topics)
			for _, o := range m.OwnedPartitions {
				fmt.Fprintf(&b, " owns %s%v of generation %d", o.Topic, o.Partitions, m.Generation)
			}
			if len(m.UserData) > 0 {
				fmt.Fprintf(&b, " user data %x", m.UserData)
			}
		}
	case *kmsg.SyncGroupRequest:
		fmt.Fprintf(&b, "SyncGroup member %q generation %d", r.MemberID, r.Generation)
		for _, x := range r.GroupAssignment {
			var m kmsg.ConsumerMemberAssignment
			if err := m.ReadFrom(x.MemberAssignment); err != nil {
				return err.Error()
			}
			fmt.Fprintf(&b, " %s:", x.MemberID)
			for _, t := range m.Topics {
				fmt.Fprintf(&b, "%s%v", t.Topic, t.Partitions)
			}
		}
	case *kmsg.HeartbeatRequest:
		fmt.Fprintf(&b, "Heartbeat member %q generation %d", r.MemberID, r.Generation)
	case *kmsg.LeaveGroupRequest:
		fmt.Fprintf(&b, "LeaveGroup %s", r.MemberID)
		for _, m := range r.Members {
			fmt.Fprintf(&b, "member %q", m.MemberID)
		}
	case *kmsg.OffsetCommitRequest:
		fmt.Fprintf(&b, "OffsetCommit member %q generation %d", r.MemberID, r.Generation)
		for _, t := range r.Topics {
			for _, p := range t.Partitions {
				fmt.Fprintf(&b, " %s-%d@%d(epoch %d)", t.Topic, p.Partition, p.Offset, p.LeaderEpoch)
			}
		}
	case *kmsg.OffsetFetchRequest:
		fmt.Fprintf(&b, "OffsetFetch")
		for _, t := range r.Topics {
			fmt.Fprintf(&b, " %s%v", t.Topic, t.Partitions)
		}
		for _, g := range r.Groups {
			for _, t := range g.Topics {
				fmt.Fprintf(&b, " %s%v", t.Topic, t.Partitions)
			}
		}
	}
	return b.String()
}

// noteGroup says a fact about a member. False: it is none.
func (l *lab) noteGroup(e *event.Event) bool {
	switch e.Kind {
	case event.CoordinatorSought:
	case event.CoordinatorFound:
		l.say("coordinator is broker-%d", e.Node)
	case event.CoordinatorLost:
		l.say("gives coordinator broker-%d up: %s", e.Node, e.Text)
	case event.MemberChanged:
		reset := ""
		if e.Flag {
			reset = ", membership reset"
		}
		l.say("member is %s, id %q generation %d%s: %s", e.Detail, e.Member, e.Generation, reset, e.Text)
	case event.PartitionAssigned:
		l.say("assigned %v", e.TP)
	case event.PartitionRevoked:
		l.say("revoked %v at %d: %s", e.TP, e.Offset, e.Text)
	case event.PartitionLost:
		l.say("lost %v at %d: %s", e.TP, e.Offset, e.Text)
	case event.CommittedFetched:
		l.say("committed offset of %v is %d %v", e.TP, e.Offset, e.Err)
	case event.Polled:
		l.say("poll returns %d records", e.Count)
	case event.RecordProcessed:
		l.say("processed %v: %d-%d, %d records", e.TP, e.Base, e.Last, e.Count)
	case event.CommitSent:
		l.say("commit %d (%s) of %v: %d", e.First, e.Text, e.TP, e.Offset)
	case event.CommitAnswered:
		unknown := ""
		if e.Flag {
			unknown = ", outcome unknown"
		}
		l.say("commit %d (%s) of %v: %d ended with %v%s", e.First, e.Text, e.TP, e.Offset, e.Err, unknown)
	default:
		return false
	}
	return true
}

func TestEqualSubscriptionsAreEqualBytes(t *testing.T) { // KAFKA-12898
	g := NewGroupConsumer(GroupConfig{Consumer: labConsumerConfig(), Group: "g", Topics: []string{"b", "a"}})
	for _, tp := range []kafka.TopicPartition{{Topic: "b", Partition: 1}, {Topic: "a"}, {Topic: "b", Partition: 0}} {
		g.parts = append(g.parts, &assigned{tp: tp})
	}
	before := fmt.Sprintf("%x", g.subscription("range"))
	slices.Reverse(g.parts)
	if after := fmt.Sprintf("%x", g.subscription("range")); after != before {
		t.Errorf("%s, then %s", before, after)
	}
}

// The golden bytes of groups 1.3.
func TestSubscriptionAndAssignmentAreKafkasBytes(t *testing.T) {
	g := NewGroupConsumer(GroupConfig{Consumer: labConsumerConfig(), Group: "g", Topics: []string{"t"}})
	if got := fmt.Sprintf("%x", g.subscription("range")); got != "000300000001000174ffffffff00000000ffffffffffff" {
		t.Error("subscription ", got)
	}
	got := fmt.Sprintf("%x", g.encodeAssignment([]kafka.TopicPartition{{Topic: "t"}, {Topic: "t", Partition: 1}}))
	if got != "000300000001000174000000020000000000000001ffffffff" {
		t.Error("assignment ", got)
	}
}
