package broker

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/vfs"
)

// state is a partition of LeaderAndIsr with all replicas in sync.
func state(leader int32, epoch kafka.LeaderEpoch, replicas ...int32) kmsg.LeaderAndISRRequestTopicPartition {
	s := kmsg.NewLeaderAndISRRequestTopicPartition()
	s.Leader, s.LeaderEpoch, s.ISR, s.Replicas = leader, int32(epoch), replicas, replicas
	return s
}

func (w *world) leaderAndISR(to kafka.NodeID, controllerEpoch int32, states ...kmsg.LeaderAndISRRequestTopicPartition) *kmsg.LeaderAndISRRequest {
	req := kmsg.NewPtrLeaderAndISRRequest()
	req.Version, req.ControllerID, req.ControllerEpoch = w.profile.Versions.LeaderAndISR, 9, controllerEpoch
	req.BrokerEpoch = int64(w.broker(to).BrokerEpoch())
	t := kmsg.NewLeaderAndISRRequestTopicState()
	t.Topic, t.PartitionStates = "orders", states
	if p := w.part(to, "orders"); p != nil {
		t.TopicID = p.TopicID
	}
	req.TopicStates = append(req.TopicStates, t)
	return req
}

// control sends a control request and returns the answer's codes: of the whole and
// of the first partition.
func (w *world) control(to kafka.NodeID, req kmsg.Request) (top, part kafka.ErrorCode) {
	w.t.Helper()
	switch r := w.client(to).ask(req).(type) {
	case *kmsg.LeaderAndISRResponse:
		top = kafka.ErrorCode(r.ErrorCode)
		if len(r.Topics) > 0 {
			part = kafka.ErrorCode(r.Topics[0].Partitions[0].ErrorCode)
		}
	case *kmsg.StopReplicaResponse:
		top = kafka.ErrorCode(r.ErrorCode)
		if len(r.Partitions) > 0 {
			part = kafka.ErrorCode(r.Partitions[0].ErrorCode)
		}
	case *kmsg.UpdateMetadataResponse:
		top = kafka.ErrorCode(r.ErrorCode)
	}
	return top, part
}

func TestL28LeaderAndISRIsCheckedBeforeItCounts(t *testing.T) {
	w := trio(t, "zk-3.9", nil)
	w.run(kafka.Second)
	known := int32(w.broker(1).controllerEpoch)
	epoch := w.part(1, "orders").LeaderEpoch()
	foreign := w.leaderAndISR(1, known, state(1, epoch+1, 1, 2, 3))
	foreign.TopicStates[0].TopicID[0] ^= 1
	stale := w.leaderAndISR(1, known+5, state(1, epoch+1, 1, 2, 3))
	stale.BrokerEpoch--
	for _, x := range []struct {
		name      string
		req       *kmsg.LeaderAndISRRequest
		top, part kafka.ErrorCode
	}{
		{"earlier life", stale, kafka.StaleBrokerEpoch, 0},
		{"deposed controller", w.leaderAndISR(1, known-1, state(1, epoch+1, 1, 2, 3)), kafka.StaleControllerEpoch, 0},
		{"other topic of that name", foreign, kafka.None, kafka.InconsistentTopicID},
		{"same leader epoch", w.leaderAndISR(1, known, state(1, epoch, 1, 2, 3)), kafka.None, kafka.StaleControllerEpoch},
		{"older leader epoch", w.leaderAndISR(1, known, state(1, epoch-1, 1, 2, 3)), kafka.None, kafka.StaleControllerEpoch},
		{"not a replica", w.leaderAndISR(1, known, state(2, epoch+1, 2, 3)), kafka.None, kafka.UnknownTopicOrPartition},
	} {
		if top, part := w.control(1, x.req); top != x.top || part != x.part {
			t.Errorf("%s: %v, %v", x.name, top, part)
		}
		if got := int32(w.broker(1).controllerEpoch); got != known {
			t.Errorf("%s: controller epoch %d is remembered", x.name, got)
		}
	}
	if p := w.part(1, "orders"); p.LeaderEpoch() != epoch || !p.IsLeader() {
		t.Error("the partition has changed")
	}
	if top, part := w.control(1, w.leaderAndISR(1, known+1, state(1, epoch+1, 1, 2, 3))); top != 0 || part != 0 {
		t.Fatal(top, part)
	}
	if p := w.part(1, "orders"); p.LeaderEpoch() != epoch+1 || int32(w.broker(1).controllerEpoch) != known+1 {
		t.Error("the good request did not count")
	}
}

func TestL29RefusedLeaderHasLostItsFetcher(t *testing.T) {
	w := trio(t, "zk-3.9", nil)
	w.run(kafka.Second)
	p := w.part(2, "orders")
	newer := state(1, p.LeaderEpoch()+1, 1, 2, 3)
	newer.ZKVersion = 9
	w.control(2, w.leaderAndISR(2, 50, newer))
	if w.broker(2).topics.get("orders", 0).fetcher == nil || p.PartitionEpoch() != 9 {
		t.Fatal("no follower")
	}
	older := state(2, p.LeaderEpoch()+1, 1, 2, 3)
	older.ZKVersion = 8
	w.control(2, w.leaderAndISR(2, 50, older))
	if p.IsLeader() || w.broker(2).topics.get("orders", 0).fetcher != nil {
		t.Fatal("a leader, or still fetching")
	}
}

func TestL30FollowerOfABrokerThatIsNotAliveOnlyGetsALog(t *testing.T) {
	w := trio(t, "zk-3.9", nil)
	req := w.leaderAndISR(2, 50, state(7, 0, 7, 2))
	req.TopicStates[0].Topic, req.TopicStates[0].TopicID = "new", [16]byte{1}
	if _, part := w.control(2, req); part != kafka.None {
		t.Fatal(part)
	}
	h := w.broker(2).topics.get("new", 0)
	if h.fetcher != nil || h.p.LeaderEpoch() != kafka.NoLeaderEpoch {
		t.Fatal("it follows")
	}
	if ok, _ := vfs.Exists(w.parties["broker-2"].fs, "data/new-0/partition.metadata"); !ok {
		t.Fatal("no log")
	}
}

func (w *world) stop(to kafka.NodeID, controllerEpoch int32, epoch kafka.LeaderEpoch, remove bool) *kmsg.StopReplicaRequest {
	req := kmsg.NewPtrStopReplicaRequest()
	req.Version, req.ControllerEpoch, req.BrokerEpoch = w.profile.Versions.StopReplica, controllerEpoch, -1
	p := kmsg.NewStopReplicaRequestTopicPartitionState()
	p.LeaderEpoch, p.Delete = int32(epoch), remove
	t := kmsg.NewStopReplicaRequestTopic()
	t.Topic, t.PartitionStates = "orders", []kmsg.StopReplicaRequestTopicPartitionState{p}
	req.Topics = append(req.Topics, t)
	return req
}

func TestL32StopReplicaIsFencedByTheLeaderEpoch(t *testing.T) {
	w := trio(t, "zk-3.9", nil)
	w.run(kafka.Second)
	w.control(2, w.leaderAndISR(2, 50, state(1, 5, 1, 2, 3)))
	if top, _ := w.control(2, w.stop(2, 49, 5, false)); top != kafka.StaleControllerEpoch {
		t.Error(top)
	}
	if _, part := w.control(2, w.stop(2, 50, 4, false)); part != kafka.FencedLeaderEpoch {
		t.Error(part)
	}
	if w.broker(2).topics.get("orders", 0).fetcher == nil {
		t.Fatal("stopped by a fenced request")
	}
	for _, epoch := range []kafka.LeaderEpoch{5, 6, -1} {
		if _, part := w.control(2, w.stop(2, 50, epoch, false)); part != kafka.None {
			t.Error(epoch, part)
		}
	}
	if w.broker(2).topics.get("orders", 0).fetcher != nil {
		t.Error("still fetching")
	}
}

func TestL32DeletionRenamesTheDirectoryAndRemovesItLater(t *testing.T) {
	w := trio(t, "zk-3.9", nil)
	w.run(kafka.Second)
	if _, part := w.control(3, w.stop(3, 50, -2, true)); part != kafka.None {
		t.Fatal(part)
	}
	fs := w.parties["broker-3"].fs
	if w.part(3, "orders") != nil {
		t.Error("still hosted")
	}
	if ok, _ := vfs.Exists(fs, "data/orders-0"); ok {
		t.Error("the directory is there")
	}
	before, _ := fs.List("data")
	w.run(61 * kafka.Second)
	after, _ := fs.List("data")
	if len(after) != len(before)-1 {
		t.Errorf("%v, later %v", before, after)
	}
}

func TestL33UpdateMetadataOfADeposedControllerIsRefused(t *testing.T) {
	w := trio(t, "zk-3.9", nil)
	w.run(kafka.Second)
	known := int32(w.broker(1).controllerEpoch)
	req := kmsg.NewPtrUpdateMetadataRequest()
	req.Version, req.ControllerID, req.ControllerEpoch, req.BrokerEpoch = w.profile.Versions.UpdateMetadata, 9, known-1, -1
	if top, _ := w.control(1, req); top != kafka.StaleControllerEpoch || len(w.broker(1).cache.brokers) != 3 {
		t.Fatal(top)
	}
	executed := w.noted(event.ControlExecuted, 1)
	again := *req
	again.ControllerEpoch = known
	if top, _ := w.control(1, &again); top != kafka.None || len(w.broker(1).cache.brokers) != 0 {
		t.Fatal(top)
	}
	if w.noted(event.ControlExecuted, 1) != executed+1 {
		t.Fatal("not noted")
	}
}
