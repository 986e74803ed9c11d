package broker

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/group"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/replica"
)

// groupsWorld has three brokers, topic t with one partition on each, and two partitions
// of __consumer_offsets.
func groupsWorld(t *testing.T, profile string) *world {
	w := newWorld(t, profile).with("offsets.topic.num.partitions", "2").with("group.initial.rebalance.delay.ms", "0")
	for id := kafka.NodeID(1); id <= 3; id++ {
		w.start(id)
		w.run(kafka.Second)
	}
	w.create("t", nil, 1, 2, 3)
	w.run(kafka.Second)
	return w
}

// coordinatorOf asks until a broker is told.
func (w *world) coordinatorOf(id string) kafka.NodeID {
	w.t.Helper()
	c := w.client(w.alive())
	for range 100 {
		r := kmsg.NewPtrFindCoordinatorRequest()
		r.Version = min(w.profile.Versions.FindCoordinator, 3)
		r.CoordinatorKey = id
		resp := c.ask(r).(*kmsg.FindCoordinatorResponse)
		switch kafka.ErrorCode(resp.ErrorCode) {
		case kafka.None:
			if resp.Host != kafka.BrokerHost(kafka.NodeID(resp.NodeID)) || resp.Port != 9092 {
				w.t.Fatalf("the coordinator is %d at %s:%d", resp.NodeID, resp.Host, resp.Port)
			}
			return kafka.NodeID(resp.NodeID)
		case kafka.CoordinatorNotAvailable:
			w.run(100 * kafka.Millisecond)
		default:
			w.t.Fatal(kafka.ErrorCode(resp.ErrorCode))
		}
	}
	w.t.Fatal("no coordinator")
	return 0
}

// alive is the first broker that is up.
func (w *world) alive() kafka.NodeID {
	for id := kafka.NodeID(1); id <= 3; id++ {
		if w.parties[kafka.BrokerHost(id)].up {
			return id
		}
	}
	w.t.Fatal("no broker is up")
	return 0
}

func (w *world) joinRequest(id, member string) *kmsg.JoinGroupRequest {
	r := kmsg.NewPtrJoinGroupRequest()
	r.Version, r.Group, r.MemberID, r.ProtocolType = w.profile.Versions.JoinGroup, id, member, "consumer"
	r.SessionTimeoutMillis, r.RebalanceTimeoutMillis = 10_000, 60_000
	if r.Version < 1 {
		r.RebalanceTimeoutMillis = -1
	}
	m := kmsg.NewConsumerMemberMetadata()
	m.Topics = []string{"t"}
	r.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range", Metadata: m.AppendTo(nil)}}
	return r
}

// joined is the answer of a member that joins, with the id that it gets first.
func (c *testClient) joined(id string) *kmsg.JoinGroupResponse {
	c.w.t.Helper()
	r := c.ask(c.w.joinRequest(id, "")).(*kmsg.JoinGroupResponse)
	if kafka.ErrorCode(r.ErrorCode) == kafka.MemberIDRequired {
		r = c.ask(c.w.joinRequest(id, r.MemberID)).(*kmsg.JoinGroupResponse)
	}
	if r.ErrorCode != 0 {
		c.w.t.Fatal(kafka.ErrorCode(r.ErrorCode))
	}
	return r
}

func (c *testClient) synced(id string, j *kmsg.JoinGroupResponse) string {
	c.w.t.Helper()
	r := kmsg.NewPtrSyncGroupRequest()
	r.Version, r.Group, r.MemberID, r.Generation = c.w.profile.Versions.SyncGroup, id, j.MemberID, j.Generation
	if r.Version >= 5 {
		r.ProtocolType, r.Protocol = j.ProtocolType, j.Protocol
	}
	for i := range j.Members {
		r.GroupAssignment = append(r.GroupAssignment, kmsg.SyncGroupRequestGroupAssignment{
			MemberID: j.Members[i].MemberID, MemberAssignment: []byte(fmt.Sprint("part ", i))})
	}
	resp := c.ask(r).(*kmsg.SyncGroupResponse)
	if resp.ErrorCode != 0 {
		c.w.t.Fatal(kafka.ErrorCode(resp.ErrorCode))
	}
	return string(resp.MemberAssignment)
}

func (c *testClient) heartbeat(id string, j *kmsg.JoinGroupResponse) kafka.ErrorCode {
	c.w.t.Helper()
	r := kmsg.NewPtrHeartbeatRequest()
	r.Version, r.Group, r.MemberID, r.Generation = c.w.profile.Versions.Heartbeat, id, j.MemberID, j.Generation
	return kafka.ErrorCode(c.ask(r).(*kmsg.HeartbeatResponse).ErrorCode)
}

func (w *world) commitRequest(id, member string, generation int32, offset int64) *kmsg.OffsetCommitRequest {
	r := kmsg.NewPtrOffsetCommitRequest()
	r.Version, r.Group, r.MemberID, r.Generation = w.profile.Versions.OffsetCommit, id, member, generation
	r.RetentionTimeMillis = -1
	p := kmsg.NewOffsetCommitRequestTopicPartition()
	p.Offset = offset
	text := ""
	p.Metadata = &text
	r.Topics = []kmsg.OffsetCommitRequestTopic{{Topic: "t", Partitions: []kmsg.OffsetCommitRequestTopicPartition{p}}}
	return r
}

func (c *testClient) commits(id, member string, generation int32, offset int64) kafka.ErrorCode {
	c.w.t.Helper()
	return committed(c.ask(c.w.commitRequest(id, member, generation, offset)))
}

func committed(r kmsg.Response) kafka.ErrorCode {
	return kafka.ErrorCode(r.(*kmsg.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode)
}

func (c *testClient) fetchesOffset(id string) (int64, kafka.ErrorCode) {
	c.w.t.Helper()
	r := kmsg.NewPtrOffsetFetchRequest()
	r.Version, r.Group = min(7, c.w.profile.Versions.OffsetFetch), id
	r.Topics = []kmsg.OffsetFetchRequestTopic{{Topic: "t", Partitions: []int32{0}}}
	resp := c.ask(r).(*kmsg.OffsetFetchResponse)
	if resp.ErrorCode != 0 {
		return -1, kafka.ErrorCode(resp.ErrorCode)
	}
	return resp.Topics[0].Partitions[0].Offset, kafka.ErrorCode(resp.Topics[0].Partitions[0].ErrorCode)
}

// LK-3: the first question makes __consumer_offsets with the settings of groups.
func TestTheFirstFindCoordinatorMakesTheOffsetsTopic(t *testing.T) {
	for _, profile := range []string{"zk-0.10", "zk-0.11", "zk-2.0", "zk-2.6", "zk-3.9"} {
		w := groupsWorld(t, profile)
		node := w.coordinatorOf("g")
		partition := group.PartitionFor("g", 2)
		for _, p := range w.order {
			if p.broker == nil {
				continue
			}
			found := 0
			p.broker.Partitions(func(r *replica.Partition) bool {
				if r.TP.Topic == group.OffsetsTopic {
					found++
					if !r.Log().Config().Compact {
						t.Errorf("%s: %v is not compacted", profile, r.TP)
					}
					if r.TP.Partition == partition && r.IsLeader() != (p.name == kafka.BrokerHost(node)) {
						t.Errorf("%s: %s leads: %v, the coordinator is %d", profile, p.name, r.IsLeader(), node)
					}
				}
				return true
			})
			if found != 2 {
				t.Errorf("%s: %s hosts %d partitions", profile, p.name, found)
			}
		}
	}
}

// A group lives through the crash of its coordinator: the generation, the members and the
// offsets come from the log (LD-1 to LD-6); commits wait for the replicas (RS-2).
func TestAGroupSurvivesItsCoordinator(t *testing.T) {
	for _, profile := range []string{"zk-0.10", "zk-2.0", "zk-2.6", "zk-3.9"} {
		w := groupsWorld(t, profile)
		first := w.coordinatorOf("g")
		w.run(kafka.Second)
		c := w.client(first)
		j := c.joined("g")
		if got := c.synced("g", j); got != "part 0" || j.Generation != 1 {
			t.Fatalf("%s: generation %d has %q", profile, j.Generation, got)
		}
		for offset := range int64(5) {
			if code := c.commits("g", j.MemberID, 1, offset); code != kafka.None {
				t.Fatal(profile, code)
			}
		}
		if got, code := c.fetchesOffset("g"); got != 4 || code != kafka.None {
			t.Fatalf("%s: %d, %v", profile, got, code)
		}
		if code := c.heartbeat("g", j); code != kafka.None {
			t.Fatal(profile, code)
		}
		w.crash(first)
		w.run(9 * kafka.Second)
		second := kafka.NoNode
		w.until("another coordinator", func() bool { second = w.coordinatorOf("g"); return second != first })
		d := w.client(second)
		w.until("loaded", func() bool { return d.heartbeat("g", j) == kafka.None })
		if got, code := d.fetchesOffset("g"); got != 4 || code != kafka.None {
			t.Errorf("%s: the next coordinator has %d, %v", profile, got, code)
		}
		if code := d.commits("g", j.MemberID, 1, 7); code != kafka.None {
			t.Error(profile, code)
		}
		if code := d.commits("g", j.MemberID, 2, 8); code != kafka.IllegalGeneration {
			t.Error(profile, code)
		}
		// The first one comes back as a follower, without the group.
		w.start(first)
		w.run(5 * kafka.Second)
		if code := w.client(first).heartbeat("g", j); code != kafka.NotCoordinator && code != kafka.UnknownMemberID {
			t.Errorf("%s: the old coordinator says %v", profile, code)
		}
	}
}

// An isolated leader answers heartbeats and accepts commits, which fail by timeout only
// (LD-10, RS-3).
func TestAnIsolatedCoordinatorCommitsNothing(t *testing.T) {
	w := groupsWorld(t, "zk-3.9")
	first := w.coordinatorOf("g")
	w.run(kafka.Second)
	c := w.client(first)
	j := c.joined("g")
	c.synced("g", j)
	if code := c.commits("g", j.MemberID, 1, 3); code != kafka.None {
		t.Fatal(code)
	}
	for _, p := range w.order {
		if p.name != kafka.BrokerHost(first) {
			w.cut(kafka.BrokerHost(first), p.name)
		}
	}
	begin := w.now
	if code := c.commits("g", j.MemberID, 1, 4); code != kafka.RequestTimedOut {
		t.Errorf("the isolated coordinator says %v", code)
	}
	if d := w.now - begin; d < 5*kafka.Second || d > 5*kafka.Second+100*kafka.Millisecond {
		t.Errorf("it took %v, offsets.commit.timeout.ms is 5 s", d)
	}
	if code := c.heartbeat("g", j); code != kafka.None {
		t.Errorf("heartbeat: %v", code)
	}
	if got, _ := c.fetchesOffset("g"); got != 3 {
		t.Errorf("it shows %d", got)
	}
}

// A broker that has nothing to do with groups keeps nothing for them.
func TestABrokerWithoutGroupsHasNoCoordinator(t *testing.T) {
	w := newWorld(t, "zk-3.9")
	b := w.start(1)
	w.run(20 * kafka.Minute)
	if b.Groups() != nil {
		t.Error("there is a coordinator")
	}
}

// Offsets are looked after in the rhythm that began with the broker
// (offsets.retention.check.interval.ms).
func TestOffsetsExpireInARhythm(t *testing.T) {
	w := newWorld(t, "zk-3.9").with("offsets.topic.num.partitions", "1").with("offsets.topic.replication.factor", "1").
		with("offsets.retention.minutes", "1").with("offsets.retention.check.interval.ms", "60000")
	w.start(1)
	w.run(kafka.Second)
	w.create("t", nil, 1)
	w.run(30 * kafka.Second)
	w.coordinatorOf("g")
	w.run(kafka.Second)
	if code := w.client(1).commits("g", "", -1, 5); code != kafka.None {
		t.Fatal(code)
	}
	w.run(3 * kafka.Minute)
	removed := kafka.Nanos(0)
	for i := range w.notes {
		if w.notes[i].Kind == event.OffsetRemoved {
			removed = w.notes[i].Time
		}
	}
	// Committed at about 32 s: due at 92 s, met at the third look, 120 s after the start.
	if removed < 120*kafka.Second || removed > 121*kafka.Second {
		t.Errorf("removed at %v", removed)
	}
}
