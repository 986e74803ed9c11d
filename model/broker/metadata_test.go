package broker

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
	"github.com/simkafka/simkafka/model/zookeeper"
)

func (w *world) metadata(version int16, auto bool, topics ...string) *kmsg.MetadataRequest {
	req := kmsg.NewPtrMetadataRequest()
	req.Version = version
	req.AllowAutoTopicCreation = auto && version >= 4
	req.Topics = []kmsg.MetadataRequestTopic{}
	for _, name := range topics {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = &name
		req.Topics = append(req.Topics, t)
	}
	return req
}

func TestMetadataNamesLeadersAndController(t *testing.T) {
	for _, version := range []int16{0, 1, 2, 4, 5, 7, 9, 10, 12} {
		w := trio(t, "zk-3.9", nil)
		resp := w.client(2).ask(w.metadata(version, false, "orders", "nothing")).(*kmsg.MetadataResponse)
		if len(resp.Brokers) != 3 || version >= 1 && kafka.NodeID(resp.ControllerID) != w.controller() {
			t.Errorf("v%d: %d brokers, controller %d", version, len(resp.Brokers), resp.ControllerID)
		}
		orders, nothing := &resp.Topics[0], &resp.Topics[1]
		if p := orders.Partitions[0]; p.Leader != 1 || len(p.Replicas) != 3 || len(p.ISR) != 3 || p.ErrorCode != 0 {
			t.Errorf("v%d: %+v", version, p)
		}
		if nothing.ErrorCode != int16(kafka.UnknownTopicOrPartition) {
			t.Errorf("v%d: %v", version, kafka.ErrorCode(nothing.ErrorCode))
		}
	}
}

func TestMetadataOfAllTopics(t *testing.T) {
	w := trio(t, "zk-3.9", nil)
	w.create("a", nil, 2)
	w.run(kafka.Second)
	all := w.metadata(9, false)
	if n := len(w.client(2).ask(all).(*kmsg.MetadataResponse).Topics); n != 0 {
		t.Errorf("an empty list: %d topics", n)
	}
	all.Topics = nil
	resp := w.client(2).ask(all).(*kmsg.MetadataResponse)
	if len(resp.Topics) != 2 || *resp.Topics[0].Topic != "a" || *resp.Topics[1].Topic != "orders" {
		t.Errorf("%v", resp.Topics)
	}
}

func TestMetadataHidesALeaderThatIsNotAlive(t *testing.T) {
	w := newWorld(t, "zk-3.9")
	w.cluster(2)
	w.create("orders", nil, 2)
	w.crash(2)
	w.until("the controller knows", func() bool { return len(w.broker(1).cache.brokers) == 1 })
	p := w.client(1).ask(w.metadata(12, false, "orders")).(*kmsg.MetadataResponse).Topics[0].Partitions[0]
	if kafka.ErrorCode(p.ErrorCode) != kafka.LeaderNotAvailable || p.Leader != -1 || len(p.OfflineReplicas) != 1 {
		t.Fatalf("%+v", p)
	}
}

func TestMetadataCreatesTopicsWhereAllowed(t *testing.T) {
	w := newWorld(t, "zk-3.9").with("num.partitions", "3").with("default.replication.factor", "2")
	w.cluster(3)
	c := w.client(3)
	c.ask(w.metadata(9, false, "never"))
	for range 3 {
		if code := c.ask(w.metadata(9, true, "auto")).(*kmsg.MetadataResponse).Topics[0].ErrorCode; code == 0 {
			break
		}
	}
	w.run(kafka.Second)
	topic := c.ask(w.metadata(9, true, "auto")).(*kmsg.MetadataResponse).Topics[0]
	if topic.ErrorCode != 0 || len(topic.Partitions) != 3 || len(topic.Partitions[0].Replicas) != 2 {
		t.Fatalf("%+v", topic)
	}
	if names := w.store.Children(zookeeper.TopicsPath); len(names) != 1 {
		t.Fatal(names)
	}
	if b := w.broker(3); !b.Idle() {
		t.Fatal("not idle")
	}
}

// newTopicRequest asks for a topic by counts.
func newTopicRequest(name string, partitions int32, factor int16) kmsg.CreateTopicsRequestTopic {
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = name, partitions, factor
	return t
}

func TestZ32TopicCreationIsChecked(t *testing.T) {
	w := trio(t, "zk-3.9", nil)
	w.create("a.b", nil, 1)
	both := newTopicRequest("both", 1, 1)
	both.ReplicaAssignment = []kmsg.CreateTopicsRequestTopicReplicaAssignment{{Replicas: []int32{1}}}
	assigned := func(name string, replicas ...[]int32) kmsg.CreateTopicsRequestTopic {
		t := newTopicRequest(name, -1, -1)
		for i, r := range replicas {
			t.ReplicaAssignment = append(t.ReplicaAssignment, kmsg.CreateTopicsRequestTopicReplicaAssignment{Partition: int32(i), Replicas: r})
		}
		return t
	}
	gap := assigned("gap", []int32{1}, []int32{1})
	gap.ReplicaAssignment[1].Partition = 2
	setting := newTopicRequest("setting", 1, 1)
	value := "many"
	setting.Configs = []kmsg.CreateTopicsRequestTopicConfig{{Name: "min.insync.replicas", Value: &value}}
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version, req.TimeoutMillis = 7, 10_000
	var want []kafka.ErrorCode
	add := func(code kafka.ErrorCode, t kmsg.CreateTopicsRequestTopic) {
		req.Topics, want = append(req.Topics, t), append(want, code)
	}
	add(kafka.None, newTopicRequest("good", 4, 2))
	add(kafka.TopicAlreadyExists, newTopicRequest("orders", 1, 1))
	add(kafka.InvalidTopicException, newTopicRequest("a_b", 1, 1))
	add(kafka.InvalidTopicException, newTopicRequest("", 1, 1))
	add(kafka.InvalidTopicException, newTopicRequest("..", 1, 1))
	add(kafka.InvalidTopicException, newTopicRequest("sp ace", 1, 1))
	add(kafka.InvalidTopicException, newTopicRequest(strings.Repeat("x", 250), 1, 1))
	add(kafka.InvalidPartitions, newTopicRequest("none", 0, 1))
	add(kafka.InvalidReplicationFactor, newTopicRequest("wide", 1, 4))
	add(kafka.InvalidReplicationFactor, newTopicRequest("flat", 1, 0))
	add(kafka.InvalidRequest, both)
	add(kafka.InvalidRequest, newTopicRequest("twin", 1, 1))
	add(kafka.InvalidRequest, newTopicRequest("twin", 1, 1))
	add(kafka.InvalidReplicaAssignment, assigned("twice", []int32{1, 1}))
	add(kafka.InvalidReplicaAssignment, assigned("uneven", []int32{1, 2}, []int32{1}))
	add(kafka.InvalidReplicaAssignment, gap)
	add(kafka.InvalidConfig, setting)
	resp := w.client(w.controller()).ask(req).(*kmsg.CreateTopicsResponse)
	for i := range resp.Topics {
		if got := kafka.ErrorCode(resp.Topics[i].ErrorCode); got != want[i] {
			t.Errorf("%q: %v, want %v", resp.Topics[i].Topic, got, want[i])
		}
	}
	if names := w.store.Children(zookeeper.TopicsPath); len(names) != 3 {
		t.Error(names)
	}
	if data, _, _ := w.store.Get(zookeeper.TopicPath("good")); !strings.Contains(string(data), `"topic_id":"`) {
		t.Error(string(data))
	}
}

func TestTopicsAreCreatedByTheControllerOnly(t *testing.T) {
	w := trio(t, "zk-3.9", nil)
	other := kafka.NodeID(1)
	if w.controller() == other {
		other = 2
	}
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version, req.Topics = 1, []kmsg.CreateTopicsRequestTopic{newTopicRequest("t", 1, 1)}
	if got := w.client(other).ask(req).(*kmsg.CreateTopicsResponse).Topics[0].ErrorCode; kafka.ErrorCode(got) != kafka.NotController {
		t.Fatal(kafka.ErrorCode(got))
	}
}

func TestCreationTimesOutWithoutALeader(t *testing.T) {
	w := newWorld(t, "zk-3.9")
	w.cluster(2)
	w.crash(2)
	w.until("the controller knows", func() bool { return len(w.broker(1).cache.brokers) == 1 })
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version, req.TimeoutMillis = 1, 500
	asked := newTopicRequest("t", -1, -1)
	asked.ReplicaAssignment = []kmsg.CreateTopicsRequestTopicReplicaAssignment{{Replicas: []int32{2}}}
	req.Topics = append(req.Topics, asked)
	if got := w.client(w.controller()).ask(req).(*kmsg.CreateTopicsResponse).Topics[0].ErrorCode; kafka.ErrorCode(got) != kafka.RequestTimedOut {
		t.Fatal(kafka.ErrorCode(got))
	}
}

func TestTopicSettingsApplyToNewAndRunningPartitions(t *testing.T) {
	w := trio(t, "zk-3.9", map[string]string{"min.insync.replicas": "2", "segment.bytes": "1048576"})
	settings := func(id kafka.NodeID) (int, int32) {
		h := w.broker(id).topics.get("orders", 0)
		return h.topic.settings.MinInsyncReplicas, h.p.Log().Config().SegmentBytes
	}
	for id := range kafka.NodeID(3) {
		if minISR, segment := settings(id + 1); minISR != 2 || segment != 1048576 {
			t.Fatalf("broker %d: %d, %d", id+1, minISR, segment)
		}
	}
	w.onZK(1, func(in *step.Input, out *step.Effects) {
		data := zookeeper.EncodeConfig([]zookeeper.ConfigEntry{{Key: "min.insync.replicas", Value: "3"}})
		w.broker(1).zk.Do(in, out, []zookeeper.Request{
			{{Type: zookeeper.OpSetData, Path: zookeeper.TopicConfigPath("orders"), Data: data, Version: zookeeper.AnyVersion}},
			{{Type: zookeeper.OpCreate, Path: zookeeper.ConfigChangePrefix, Data: zookeeper.EncodeConfigChange("topics/orders"), Sequential: true}},
		}, nil)
	})
	w.run(kafka.Second)
	for id := range kafka.NodeID(3) {
		if minISR, segment := settings(id + 1); minISR != 3 || segment != 1<<30 {
			t.Fatalf("broker %d: %d, %d", id+1, minISR, segment)
		}
	}
}
