package zkcontroller

import (
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
	"github.com/simkafka/simkafka/model/zookeeper"
)

func TestPartitionTransitionsAreThoseOfZ22(t *testing.T) {
	want := map[PartitionState][]PartitionState{
		NewPartition:         {NonExistentPartition},
		OnlinePartition:      {NewPartition, OnlinePartition, OfflinePartition},
		OfflinePartition:     {NewPartition, OnlinePartition, OfflinePartition},
		NonExistentPartition: {OfflinePartition},
	}
	for to := range numPartitionStates {
		for from := range numPartitionStates {
			p := &partition{state: from}
			setPartitions([]*partition{p}, to)
			if valid := slices.Contains(want[to], from); (p.state == to) != (valid || from == to) {
				t.Errorf("%v to %v: valid %t, became %v", from, to, valid, p.state)
			}
		}
	}
}

func TestReplicaTransitionsAreThoseOfZ23(t *testing.T) {
	want := map[ReplicaState][]ReplicaState{
		NewReplica:                {NonExistentReplica},
		OnlineReplica:             {NewReplica, OnlineReplica, OfflineReplica, ReplicaDeletionIneligible},
		OfflineReplica:            {NewReplica, OnlineReplica, OfflineReplica, ReplicaDeletionIneligible},
		ReplicaDeletionStarted:    {OfflineReplica},
		ReplicaDeletionSuccessful: {ReplicaDeletionStarted},
		ReplicaDeletionIneligible: {OfflineReplica, ReplicaDeletionStarted},
		NonExistentReplica:        {ReplicaDeletionSuccessful},
	}
	for to := NewReplica; to < numReplicaStates; to++ {
		for from := NewReplica; from < numReplicaStates; from++ {
			if replicaMoves[to][from] != slices.Contains(want[to], from) {
				t.Errorf("%v to %v: %t", from, to, replicaMoves[to][from])
			}
		}
	}
	if NewReplica != 1 || ReplicaDeletionIneligible != 6 || NonExistentReplica != 7 {
		t.Error("not Kafka's codes")
	}
}

func TestExpiryAnswersQueuedAndRunningEvents(t *testing.T) {
	w := newWorld(profile39())
	n := w.boot(1)
	w.run()
	w.createTopic("a", []kafka.NodeID{1})
	w.run()
	var codes []int16
	ask := func(in *step.Input, out *step.Effects) {
		req := &kmsg.AlterPartitionRequest{Version: 2, BrokerID: 1, BrokerEpoch: w.zk.nodes[zookeeper.BrokerPath(1)].czxid,
			Topics: []kmsg.AlterPartitionRequestTopic{{TopicID: kafka.TopicID{15: 'a'}, Partitions: []kmsg.AlterPartitionRequestTopicPartition{
				{NewISR: []int32{1}, PartitionEpoch: 0, LeaderEpoch: 0, LeaderRecoveryState: 0}}}}}
		n.c.AlterPartition(in, out, req, func(_ *step.Input, _ *step.Effects, resp kmsg.Response) {
			codes = append(codes, resp.(*kmsg.AlterPartitionResponse).ErrorCode)
		})
	}
	n.do(func(in *step.Input, out *step.Effects) { // the first waits for ZooKeeper, the second queues
		n.c.HandleZK(in, out, zookeeper.Event{Type: zookeeper.ChildrenChanged, Path: zookeeper.TopicsPath})
		ask(in, out)
	})
	n.do(ask)
	if len(codes) != 0 {
		t.Fatalf("answered out of turn: %v", codes)
	}
	w.expireSession(1)
	w.run()
	if want := int16(kafka.NotController); len(codes) != 2 || codes[0] != want || codes[1] != want {
		t.Fatalf("codes %v", codes)
	}
	if !n.c.IsActive() || n.c.Epoch() != 2 {
		t.Fatalf("active %t, epoch %d", n.c.IsActive(), n.c.Epoch())
	}
}

func TestTimersAreWithinTheirBase(t *testing.T) {
	w := newWorld(profile39())
	n := w.boot(1)
	w.run()
	if n.c.HandleInput(&step.Input{Kind: step.Timer, Lane: testLane, Timer: testTimer + NumTimers}, step.NewEffects()) {
		t.Error("a timer kind beyond the base is taken")
	}
	for _, s := range n.timers {
		if s.op.Timer < testTimer || s.op.Timer >= testTimer+NumTimers || s.op.Lane != testLane {
			t.Errorf("timer %d on lane %d", s.op.Timer, s.op.Lane)
		}
	}
	if len(n.timers) == 0 {
		t.Error("no timer is set")
	}
}

func TestShutdownResignsAndRefusesFromThenOn(t *testing.T) {
	w := newWorld(profile39())
	n := w.boot(1)
	w.run()
	n.do(n.c.Shutdown)
	own := slices.DeleteFunc(n.timers, func(s *setTimer) bool { return s.op.Timer == testTimer+timerNetwork })
	if n.c.IsActive() || len(own) != 0 || len(n.conns) != 0 {
		t.Fatalf("active %t, %d timers, %d connections", n.c.IsActive(), len(own), len(n.conns))
	}
	code := int16(kafka.None)
	n.do(func(in *step.Input, out *step.Effects) {
		req := &kmsg.AlterPartitionRequest{Version: 2, BrokerID: 1}
		n.c.AlterPartition(in, out, req, func(_ *step.Input, _ *step.Effects, resp kmsg.Response) {
			code = resp.(*kmsg.AlterPartitionResponse).ErrorCode
		})
	})
	w.zk.delete(zookeeper.ControllerPath)
	w.run()
	if code != int16(kafka.NotController) || w.zk.nodes[zookeeper.ControllerPath] != nil {
		t.Fatalf("code %d, or it elected itself again", code)
	}
}
