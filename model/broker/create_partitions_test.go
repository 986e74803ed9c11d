package broker

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/zookeeper"
)

// grow asks a broker for more partitions of topics.
func (w *world) grow(broker kafka.NodeID, topics ...kmsg.CreatePartitionsRequestTopic) (codes []kafka.ErrorCode) {
	req := kmsg.NewPtrCreatePartitionsRequest()
	req.Version, req.TimeoutMillis, req.Topics = 3, 10_000, topics
	resp := w.client(broker).ask(req).(*kmsg.CreatePartitionsResponse)
	for i := range resp.Topics {
		codes = append(codes, kafka.ErrorCode(resp.Topics[i].ErrorCode))
	}
	return codes
}

func growth(topic string, count int32, replicas ...[]int32) kmsg.CreatePartitionsRequestTopic {
	t := kmsg.CreatePartitionsRequestTopic{Topic: topic, Count: count}
	for _, r := range replicas {
		t.Assignment = append(t.Assignment, kmsg.CreatePartitionsRequestTopicAssignment{Replicas: r})
	}
	return t
}

// Z-32: the answer comes when the new partitions have leaders; the old ones keep their
// replicas and their topic's id.
func TestZ32PartitionsAreAdded(t *testing.T) {
	w := newWorld(t, "zk-3.9")
	w.cluster(3)
	w.create("t", nil, 2, 3)
	before, _, _ := w.store.Get(zookeeper.TopicPath("t"))
	was, _ := zookeeper.DecodeTopic(before)
	if codes := w.grow(w.controller(), growth("t", 4)); codes[0] != kafka.None {
		t.Fatal(codes)
	}
	for n := range int32(4) {
		if p := w.broker(w.controller()).cache.partition("t", n); p == nil || p.leader == kafka.NoNode {
			t.Errorf("partition %d has no leader", n)
		}
	}
	after, _, _ := w.store.Get(zookeeper.TopicPath("t"))
	now, err := zookeeper.DecodeTopic(after)
	if err != nil || now.TopicID != was.TopicID || len(now.Partitions) != 4 {
		t.Fatalf("%+v %v", now, err)
	}
	// Section 5: the first replica of partition 0 is broker 2, of index 1; partition 3 of
	// three brokers begins another round, whose followers are one place on: 2, and then 3.
	for n, want := range [][2]kafka.NodeID{{2, 3}, {3, 2}, {1, 3}, {2, 3}} {
		if r := now.Partitions[n].Replicas; len(r) != 2 || [2]kafka.NodeID(r) != want {
			t.Errorf("partition %d is on %v, want %v", n, r, want)
		}
	}
}

func TestZ32AddedPartitionsAreChecked(t *testing.T) {
	w := newWorld(t, "zk-3.9")
	w.cluster(3)
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		w.create(name, nil, 1, 2)
	}
	codes := w.grow(w.controller(), growth("a", 1), growth("b", 0), growth("none", 3), growth("c", 3, []int32{1, 2}),
		growth("d", 2, []int32{1, 1}), growth("e", 2, []int32{1, 9}), growth("f", 2, []int32{3, 1}), growth("f", 3))
	want := []kafka.ErrorCode{kafka.InvalidPartitions, kafka.InvalidPartitions, kafka.UnknownTopicOrPartition, kafka.InvalidReplicaAssignment,
		kafka.InvalidReplicaAssignment, kafka.InvalidReplicaAssignment, kafka.None, kafka.InvalidRequest}
	for i := range want {
		if codes[i] != want[i] {
			t.Errorf("%d: %v, want %v", i, codes[i], want[i])
		}
	}
	other := kafka.NodeID(1)
	if w.controller() == other {
		other = 2
	}
	if codes := w.grow(other, growth("a", 2)); codes[0] != kafka.NotController {
		t.Error(codes)
	}
}
