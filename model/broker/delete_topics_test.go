package broker

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/zookeeper"
)

func deletionOf(version int16, topics ...string) *kmsg.DeleteTopicsRequest {
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.Version, req.TimeoutMillis = version, 10_000
	for _, name := range topics {
		if version < deleteTopicsIDVersion {
			req.TopicNames = append(req.TopicNames, name)
		} else {
			req.Topics = append(req.Topics, kmsg.DeleteTopicsRequestTopic{Topic: &name})
		}
	}
	return req
}

func (w *world) drop(broker kafka.NodeID, req *kmsg.DeleteTopicsRequest) (codes []kafka.ErrorCode) {
	resp := w.client(broker).ask(req).(*kmsg.DeleteTopicsResponse)
	for i := range resp.Topics {
		codes = append(codes, kafka.ErrorCode(resp.Topics[i].ErrorCode))
	}
	return codes
}

// topicDirs lists the directories of a topic's partitions on a broker.
func (w *world) topicDirs(broker kafka.NodeID, topic string) (dirs []string) {
	w.t.Helper()
	names, err := w.broker(broker).params.FS.List(w.broker(broker).params.DataDir)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, n := range names {
		if strings.HasPrefix(n, topic+"-") {
			dirs = append(dirs, n)
		}
	}
	return dirs
}

// Z-33: who asks hears of it when the metadata have forgotten the topic; then the replicas
// are renamed, ZooKeeper is emptied, and after file.delete.delay.ms the disks are.
func TestZ33TopicIsDeletedEverywhere(t *testing.T) {
	for _, profile := range []string{"zk-3.9", "zk-2.6"} {
		w := newWorld(t, profile)
		w.cluster(3)
		w.create("t", map[string]string{"retention.ms": "100000"}, 2, 3)
		w.create("other", nil, 2, 3)
		if codes := w.drop(w.controller(), deletionOf(3, "t", "none")); codes[0] != kafka.None || codes[1] != kafka.UnknownTopicOrPartition {
			t.Fatal(profile, codes)
		}
		w.run(kafka.Second)
		if names := w.store.Children(zookeeper.TopicsPath); len(names) != 1 || names[0] != "other" {
			t.Errorf("%s: topics %v", profile, names)
		}
		if names := w.store.Children(zookeeper.DeleteTopicsPath); len(names) != 0 {
			t.Errorf("%s: still to be deleted: %v", profile, names)
		}
		if _, _, there := w.store.Get(zookeeper.TopicConfigPath("t")); there {
			t.Errorf("%s: the settings are there", profile)
		}
		for id := kafka.NodeID(1); id <= 3; id++ {
			if w.broker(id).cache.byName["t"] != nil || w.broker(id).topics.get("t", 0) != nil {
				t.Errorf("%s: broker %d knows the topic", profile, id)
			}
		}
		if dirs := w.topicDirs(2, "t"); len(dirs) != 1 || !strings.HasSuffix(dirs[0], "-delete") {
			t.Errorf("%s: directories %v", profile, dirs)
		}
		w.run(2 * kafka.Minute)
		if dirs := w.topicDirs(2, "t"); len(dirs) != 0 {
			t.Errorf("%s: directories %v after file.delete.delay.ms", profile, dirs)
		}
		if dirs := w.topicDirs(2, "other"); len(dirs) != 1 {
			t.Errorf("%s: directories %v of the other topic", profile, dirs)
		}
	}
}

// A topic with a replica that is away is gone for clients at once, and from ZooKeeper when
// its broker has come back.
func TestZ33DeletionWaitsForAReplicaThatIsAway(t *testing.T) {
	w := newWorld(t, "zk-3.9")
	w.cluster(3)
	away := kafka.NodeID(1)
	if w.controller() == away {
		away = 2
	}
	w.create("t", nil, int32(away), 3)
	w.crash(away)
	w.until("the controller knows", func() bool { return len(w.broker(w.controller()).cache.brokers) == 2 })
	if codes := w.drop(w.controller(), deletionOf(6, "t")); codes[0] != kafka.None {
		t.Fatal(codes)
	}
	w.run(10 * kafka.Second)
	if names := w.store.Children(zookeeper.TopicsPath); len(names) != 1 {
		t.Fatalf("topics %v", names)
	}
	if codes := w.grow(w.controller(), growth("t", 4)); codes[0] != kafka.InvalidTopicException {
		t.Errorf("partitions are added to it: %v", codes)
	}
	w.start(away)
	w.until("the topic is gone", func() bool { return len(w.store.Children(zookeeper.TopicsPath)) == 0 })
	if dirs := w.topicDirs(away, "t"); len(dirs) != 1 || !strings.HasSuffix(dirs[0], "-delete") {
		t.Errorf("directories %v", dirs)
	}
}

func TestDeletionIsForTheControllerAndMayBeOff(t *testing.T) {
	w := newWorld(t, "zk-3.9").with("delete.topic.enable", "false")
	w.cluster(2)
	w.create("t", nil, 1, 2)
	for version, want := range map[int16]kafka.ErrorCode{1: kafka.InvalidRequest, 3: kafka.TopicDeletionDisabled} {
		if codes := w.drop(w.controller(), deletionOf(version, "t")); codes[0] != want {
			t.Errorf("version %d: %v, want %v", version, codes[0], want)
		}
	}
	if codes := w.drop(3-w.controller(), deletionOf(3, "t")); codes[0] != kafka.NotController {
		t.Error(codes)
	}
}
