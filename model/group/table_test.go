package group

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
)

// member is what a test's client knows of itself.
type member struct {
	id, instance string
	generation   int32
}

// Requests of a test's clients, which say "parked" or what they were answered.

func (l *lab) join(m member, version int16, protocols ...string) string {
	l.t.Helper()
	r := kmsg.NewPtrJoinGroupRequest()
	r.Version, r.Group, r.MemberID, r.ProtocolType = version, "g", m.id, "consumer"
	r.SessionTimeoutMillis, r.RebalanceTimeoutMillis = 10_000, 60_000
	if m.instance != "" {
		r.InstanceID = pointerTo(m.instance)
	}
	if len(protocols) == 0 {
		protocols = []string{"range", "sticky"}
	}
	for _, p := range protocols {
		name, data, _ := strings.Cut(p, "=")
		r.Protocols = append(r.Protocols, kmsg.JoinGroupRequestProtocol{Name: name, Metadata: append(subscription("t"), data...)})
	}
	return l.asks(func(in *step.Input, out *step.Effects, from Caller) { l.c.JoinGroup(in, out, from, r) })
}

func (l *lab) sync(m member, assigned ...string) string {
	l.t.Helper()
	r := kmsg.NewPtrSyncGroupRequest()
	r.Version, r.Group, r.MemberID, r.Generation = 3, "g", m.id, m.generation
	for i := 0; i+1 < len(assigned); i += 2 {
		r.GroupAssignment = append(r.GroupAssignment, kmsg.SyncGroupRequestGroupAssignment{MemberID: assigned[i], MemberAssignment: []byte(assigned[i+1])})
	}
	return l.asks(func(in *step.Input, out *step.Effects, from Caller) { l.c.SyncGroup(in, out, from, r) })
}

func (l *lab) heartbeat(m member) string {
	l.t.Helper()
	r := kmsg.NewPtrHeartbeatRequest()
	r.Version, r.Group, r.MemberID, r.Generation = 4, "g", m.id, m.generation
	return l.asks(func(in *step.Input, out *step.Effects, from Caller) { l.c.Heartbeat(in, out, from, r) })
}

func (l *lab) leave(m member) string {
	l.t.Helper()
	r := kmsg.NewPtrLeaveGroupRequest()
	r.Version, r.Group, r.MemberID = 2, "g", m.id
	return l.asks(func(in *step.Input, out *step.Effects, from Caller) { l.c.LeaveGroup(in, out, from, r) })
}

func (l *lab) commit(m member, offset int64) string {
	l.t.Helper()
	r := kmsg.NewPtrOffsetCommitRequest()
	r.Version, r.Group, r.MemberID, r.Generation = 8, "g", m.id, m.generation
	r.Topics = []kmsg.OffsetCommitRequestTopic{{Topic: "t", Partitions: []kmsg.OffsetCommitRequestTopicPartition{{Offset: offset, LeaderEpoch: -1}}}}
	return l.asks(func(in *step.Input, out *step.Effects, from Caller) { l.c.OffsetCommit(in, out, from, r, known) })
}

func (l *lab) fetch(stable bool) string {
	l.t.Helper()
	r := kmsg.NewPtrOffsetFetchRequest()
	r.Version, r.Group, r.RequireStable = 7, "g", stable
	r.Topics = []kmsg.OffsetFetchRequestTopic{{Topic: "t", Partitions: []int32{0}}}
	return l.asks(func(_ *step.Input, out *step.Effects, from Caller) { l.c.OffsetFetch(out, from, r) })
}

func (l *lab) deleteOffset(topic string) string {
	l.t.Helper()
	r := kmsg.NewPtrOffsetDeleteRequest()
	r.Group, r.Topics = "g", []kmsg.OffsetDeleteRequestTopic{{Topic: topic, Partitions: []kmsg.OffsetDeleteRequestTopicPartition{{}}}}
	return l.asks(func(in *step.Input, out *step.Effects, from Caller) { l.c.OffsetDelete(in, out, from, r, known) })
}

func (l *lab) deleteGroup() string {
	l.t.Helper()
	r := kmsg.NewPtrDeleteGroupsRequest()
	r.Groups = []string{"g"}
	return l.asks(func(in *step.Input, out *step.Effects, from Caller) { l.c.DeleteGroups(in, out, from, r) })
}

// asks is the error code of the answer, or "parked".
func (l *lab) asks(call func(in *step.Input, out *step.Effects, from Caller)) string {
	l.t.Helper()
	l.last = nil
	from := l.from("x", "c")
	l.do(func(in *step.Input, out *step.Effects) { call(in, out, from) })
	if _, waits := l.names[from.Conn]; waits {
		return "parked"
	}
	code := int16(0)
	switch r := l.last.(type) {
	case *kmsg.JoinGroupResponse:
		code = r.ErrorCode
	case *kmsg.SyncGroupResponse:
		code = r.ErrorCode
	case *kmsg.HeartbeatResponse:
		code = r.ErrorCode
	case *kmsg.LeaveGroupResponse:
		code = r.ErrorCode
	case *kmsg.OffsetCommitResponse:
		code = r.Topics[0].Partitions[0].ErrorCode
	case *kmsg.OffsetFetchResponse:
		code = max(r.ErrorCode, r.Topics[0].Partitions[0].ErrorCode)
	case *kmsg.DeleteGroupsResponse:
		code = r.Groups[0].ErrorCode
	case *kmsg.OffsetDeleteResponse:
		if code = r.ErrorCode; code == 0 {
			code = r.Topics[0].Partitions[0].ErrorCode
		}
	}
	return kafka.ErrorCode(code).String()
}

func (l *lab) state() State {
	if g := l.c.Group("g"); g != nil {
		return g.state
	}
	return event.NoGroup
}

// table is groups 2.4 in one state: a leader a, a follower b, an id p that was handed out
// and a static member s, as far as the state has them.
type table struct {
	*lab
	a, b, p, s member
}

// in brings a new group to a state.
func tableIn(t *testing.T, state string) *table {
	l := newLab(t, "zk-3.9", 1)
	l.elect(0, 0)
	l.work()
	x := &table{lab: l, a: member{id: "a"}, b: member{id: "b"}, p: member{id: "p"}, s: member{instance: "s"}}
	if state == "no group" {
		return x
	}
	// A joins alone, then b and s: generation 2 has all three.
	l.join(member{}, 3)
	l.run(5 * kafka.Second)
	x.a.id = l.c.Group("g").members[0].id
	l.sync(member{x.a.id, "", 1})
	l.join(member{}, 3)
	l.join(member{instance: "s"}, 9)
	l.join(x.a, 3)
	g := l.c.Group("g")
	x.b.id, x.s.id = g.members[1].id, g.members[2].id
	x.a.generation, x.b.generation, x.s.generation = 2, 2, 2
	switch state {
	case "Stable", "Preparing", "Empty", "Dead":
		l.sync(x.a, x.a.id, "A", x.b.id, "B", x.s.id, "S")
		l.sync(x.b)
		l.sync(x.s)
	}
	switch state {
	case "Preparing":
		l.join(member{}, 3)
	case "Empty", "Dead":
		l.leave(x.a)
		l.leave(x.b)
		l.leave(x.s)
	}
	if state == "Empty" || state == "Dead" {
		l.commit(member{"", "", -1}, 7) // else nothing keeps the group
	}
	if state == "Dead" {
		g.state = Dead // as while its partition is offline
	} else {
		l.join(member{}, 4)
		x.p.id = l.last.(*kmsg.JoinGroupResponse).MemberID
	}
	l.notes = nil
	return x
}

// The cells of groups 2.4: the answer, and the state after it where one is named. "" is a
// cell that the table leaves out. The generation of "no group" requests is what a member
// of generation 2 would send.
func TestEveryCellOfTheStateTable(t *testing.T) {
	states := [...]string{"no group", "Empty", "Preparing", "Completing", "Stable", "Dead"}
	const dead = "COORDINATOR_NOT_AVAILABLE"
	const unknown = "UNKNOWN_MEMBER_ID"
	const again = "REBALANCE_IN_PROGRESS"
	const parked = "parked PreparingRebalance"
	other := func(m member) member { m.generation++; return m }
	for _, row := range []struct {
		request string
		ask     func(x *table) string
		cells   [len(states)]string
	}{
		{"join without id, v9", func(x *table) string { return x.join(member{}, 9) },
			[...]string{"MEMBER_ID_REQUIRED Empty", "MEMBER_ID_REQUIRED Empty", "MEMBER_ID_REQUIRED PreparingRebalance", "MEMBER_ID_REQUIRED CompletingRebalance", "MEMBER_ID_REQUIRED Stable", dead}},
		{"join without id, v3", func(x *table) string { return x.join(member{}, 3) },
			[...]string{parked, parked, parked, parked, parked, dead}},
		{"join with a pending id", func(x *table) string { return x.join(x.p, 9) },
			[...]string{unknown, parked, parked, parked, parked, dead}},
		{"join of a new instance", func(x *table) string { return x.join(member{instance: "new"}, 9) },
			[...]string{parked, parked, parked, parked, parked, dead}},
		{"join of a known instance, same vote", func(x *table) string { return x.join(member{instance: "s"}, 9) },
			[...]string{"", "", parked, parked, "NONE Stable", dead}},
		{"join of a known instance, other vote", func(x *table) string { return x.join(member{instance: "s"}, 9, "sticky") },
			[...]string{"", "", parked, parked, parked, dead}},
		{"join of a known follower, same bytes", func(x *table) string { return x.join(x.b, 9) },
			[...]string{unknown, unknown, parked, "NONE CompletingRebalance", "NONE Stable", dead}},
		{"join of the leader, same bytes", func(x *table) string { return x.join(x.a, 9) },
			[...]string{unknown, unknown, parked, "NONE CompletingRebalance", parked, dead}},
		{"join of a known follower, other bytes", func(x *table) string { return x.join(x.b, 9, "range=x", "sticky") },
			[...]string{unknown, unknown, parked, parked, parked, dead}},
		{"join with a protocol that is not shared", func(x *table) string { return x.join(member{}, 9, "own") },
			[...]string{"", "", "INCONSISTENT_GROUP_PROTOCOL PreparingRebalance", "INCONSISTENT_GROUP_PROTOCOL CompletingRebalance", "INCONSISTENT_GROUP_PROTOCOL Stable", ""}},
		{"sync of the leader", func(x *table) string { return x.sync(x.a, x.a.id, "A") },
			[...]string{unknown, unknown, again, "NONE Stable", "NONE Stable", dead}},
		{"sync of a follower", func(x *table) string { return x.sync(x.b) },
			[...]string{unknown, unknown, again, "parked CompletingRebalance", "NONE Stable", dead}},
		{"sync of another generation", func(x *table) string { return x.sync(other(x.b)) },
			[...]string{unknown, unknown, "ILLEGAL_GENERATION", "ILLEGAL_GENERATION", "ILLEGAL_GENERATION", dead}},
		{"heartbeat", func(x *table) string { return x.heartbeat(x.b) },
			[...]string{unknown, unknown, again, "NONE CompletingRebalance", "NONE Stable", dead}},
		{"heartbeat of another generation", func(x *table) string { return x.heartbeat(other(x.b)) },
			[...]string{unknown, unknown, "ILLEGAL_GENERATION", "ILLEGAL_GENERATION", "ILLEGAL_GENERATION", dead}},
		{"leave", func(x *table) string { return x.leave(x.b) },
			[...]string{unknown, unknown, "NONE PreparingRebalance", "NONE PreparingRebalance", "NONE PreparingRebalance", dead}},
		{"leave of a pending id", func(x *table) string { return x.leave(x.p) },
			[...]string{unknown, "NONE Empty", "NONE PreparingRebalance", "NONE CompletingRebalance", "NONE Stable", dead}},
		{"commit", func(x *table) string { return x.commit(x.b, 8) },
			[...]string{"ILLEGAL_GENERATION", unknown, "NONE PreparingRebalance", again, "NONE Stable", dead}},
		{"commit of another generation", func(x *table) string { return x.commit(other(x.b), 8) },
			[...]string{"ILLEGAL_GENERATION", unknown, "ILLEGAL_GENERATION", "ILLEGAL_GENERATION", "ILLEGAL_GENERATION", dead}},
		{"commit without a member", func(x *table) string { return x.commit(member{generation: -1}, 8) },
			[...]string{"NONE Empty", "NONE Empty", unknown, unknown, unknown, dead}},
		{"fetch", func(x *table) string { return x.fetch(false) },
			[...]string{"NONE", "NONE", "NONE", "NONE", "NONE", "NONE"}},
		{"offset delete, subscribed", func(x *table) string { return x.deleteOffset("t") },
			[...]string{"GROUP_ID_NOT_FOUND", "NONE", "GROUP_SUBSCRIBED_TO_TOPIC", "GROUP_SUBSCRIBED_TO_TOPIC", "GROUP_SUBSCRIBED_TO_TOPIC", "GROUP_ID_NOT_FOUND"}},
		{"offset delete, not subscribed", func(x *table) string { return x.deleteOffset("u") },
			[...]string{"GROUP_ID_NOT_FOUND", "NONE", "NONE", "NONE", "NONE", "GROUP_ID_NOT_FOUND"}},
		{"delete", func(x *table) string { return x.deleteGroup() },
			[...]string{"GROUP_ID_NOT_FOUND", "NONE", "NON_EMPTY_GROUP", "NON_EMPTY_GROUP", "NON_EMPTY_GROUP", "GROUP_ID_NOT_FOUND"}},
	} {
		for i, state := range states {
			if row.cells[i] == "" {
				continue
			}
			x := tableIn(t, state)
			got := row.ask(x)
			want, after, _ := strings.Cut(row.cells[i], " ")
			if got != want || after != "" && x.state().String() != after {
				t.Errorf("%s in %s: %s, then %v; want %s", row.request, state, got, x.state(), row.cells[i])
			}
		}
	}
}
