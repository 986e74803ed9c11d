package replica

import (
	"slices"
	"testing"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
)

// TestL28LeaderAndISRVerdicts.
func TestL28LeaderAndISRVerdicts(t *testing.T) {
	_, b, p := led(t, "zk-3.9") // leader epoch 1
	for _, c := range []struct {
		epoch    kafka.LeaderEpoch
		replicas []kafka.NodeID
		id       kafka.TopicID
		want     kafka.ErrorCode
	}{
		{2, ids(1, 2), kafka.TopicID{1}, kafka.None},
		{2, ids(1, 2), kafka.TopicID{}, kafka.None},
		{2, ids(1, 2), kafka.TopicID{9}, kafka.InconsistentTopicID},
		{1, ids(1, 2), kafka.TopicID{1}, kafka.StaleControllerEpoch},
		{0, ids(1, 2), kafka.TopicID{1}, kafka.StaleControllerEpoch},
		{2, ids(2, 3), kafka.TopicID{1}, kafka.UnknownTopicOrPartition},
	} {
		if got := p.CheckLeaderAndISR(&State{LeaderEpoch: c.epoch, Replicas: c.replicas}, c.id); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
	p.SetOffline(b.input(step.Flushed), b.out)
	if got := p.CheckLeaderAndISR(&State{LeaderEpoch: 2, Replicas: ids(1)}, kafka.TopicID{1}); got != kafka.KafkaStorageError {
		t.Errorf("offline: %v", got)
	}
}

// TestL28TheFirstStateOfAPartitionIsAccepted: leader epoch 0 after -1.
func TestL28TheFirstStateOfAPartitionIsAccepted(t *testing.T) {
	b := newWorld(t, "zk-3.9", 1).broker(1)
	if got := b.partition(0).CheckLeaderAndISR(&State{LeaderEpoch: 0, Replicas: ids(1)}, kafka.TopicID{1}); got != kafka.None {
		t.Errorf("%v", got)
	}
}

// TestL29MakeLeaderSetsEverything and notes it.
func TestL29MakeLeaderSetsEverything(t *testing.T) {
	w := newWorld(t, "zk-3.9", 3)
	b := w.broker(1)
	fill(w, b, 10, 4)
	w.notes = nil
	b.lead(0, 7, 3, ids(1, 2), ids(1, 2, 3))
	p := b.partition(0)
	if p.Role() != Leader || p.Leader() != 1 || p.LeaderEpoch() != 7 || p.PartitionEpoch() != 3 || p.epochStart != 10 || p.PublishedLEO() != 10 {
		t.Errorf("%+v", p)
	}
	if len(p.remotes) != 2 || p.remotes[0].leo != -1 || !p.remotes[0].member || p.remotes[1].member {
		t.Errorf("remotes %+v", p.remotes)
	}
	if epoch, end := p.Log().EndOffsetForEpoch(7); epoch != 7 || end != 10 || p.Log().LatestEpoch() != 7 {
		t.Errorf("epoch cache (%d, %d)", epoch, end)
	}
	e := w.only(event.BecameLeader)
	if e.Node != 1 || e.LeaderEpoch != 7 || e.Offset != 10 || e.HW != 4 || e.LEO != 10 || !slices.Equal(e.ISR, ids(1, 2)) {
		t.Errorf("%+v", e)
	}
	if b.moved&MovedRole == 0 {
		t.Error("the watcher heard nothing")
	}
}

// TestL29AnOlderPartitionEpochIsRefused, an equal one is not.
func TestL29AnOlderPartitionEpochIsRefused(t *testing.T) {
	_, b, p := led(t, "zk-3.9")
	b.lead(0, 5, 0, ids(1), ids(1))
	if p.LeaderEpoch() != 1 || !slices.Equal(p.ISR(), ids(1, 2)) {
		t.Errorf("epoch %d isr %v", p.LeaderEpoch(), p.ISR())
	}
	b.follow(0, 2, 5, 0, ids(1, 2))
	if p.Role() != Leader {
		t.Errorf("an old state made it %v", p.Role())
	}
	b.lead(0, 5, 1, ids(1), ids(1, 2))
	if p.LeaderEpoch() != 5 {
		t.Errorf("epoch %d", p.LeaderEpoch())
	}
}

// TestL29SameLeaderNewerEpochKeepsWhatItKnows: reassignment adds 4, drops 3.
func TestL29SameLeaderNewerEpochKeepsWhatItKnows(t *testing.T) {
	w, b, p := led(t, "zk-3.9")
	w.notes = nil
	b.lead(0, 2, 2, ids(1, 2), ids(1, 2, 4))
	if p.remote(3) != nil || p.remote(2).leo != 10 || p.remote(4) == nil || p.remote(4).leo != -1 {
		t.Errorf("remotes %+v", p.remotes)
	}
	if len(w.all(event.BecameLeader)) != 1 {
		t.Error("the new epoch was not noted")
	}
	expectHW(t, p, 10, "re-election")
}

// TestL29SameLeaderEpochRenewsAssignmentOnly: nothing is reset, nothing noted.
func TestL29SameLeaderEpochRenewsAssignmentOnly(t *testing.T) {
	w, b, p := led(t, "zk-3.9")
	start := p.epochStart
	b.append(0, "x", 1, 1)
	w.notes = nil
	b.lead(0, 1, 4, ids(1, 2), ids(1, 2))
	if p.epochStart != start || p.remote(2).leo != 10 || p.PartitionEpoch() != 4 || len(w.all(event.BecameLeader)) != 0 {
		t.Errorf("%+v, notes %v", p, w.notes)
	}
}

// TestL30MakeFollowerForgetsWhatLeadersKnow.
func TestL30MakeFollowerForgetsWhatLeadersKnow(t *testing.T) {
	w, b, p := led(t, "zk-3.9")
	b.fetchFrom(3, 10) // a change in flight
	change := b.takeChange()
	b.follow(0, 3, 2, 2, ids(1, 2, 3))
	if p.Role() != Follower || p.Leader() != 3 || p.LeaderEpoch() != 2 || p.PartitionEpoch() != 2 || len(p.ISR()) != 0 || len(p.MaximalISR()) != 0 ||
		len(p.remotes) != 0 || p.epochStart != kafka.NoOffset || p.ISRInFlight() {
		t.Errorf("%+v", p)
	}
	e := w.only(event.BecameFollower)
	if e.Leader != 3 || e.LeaderEpoch != 2 || e.HW != 10 || e.LEO != 10 {
		t.Errorf("%+v", e)
	}
	p.HandleISR(b.input(step.Response), b.out, change, ISRResult{LeaderEpoch: 2, PartitionEpoch: 5, ISR: ids(1)})
	if len(p.ISR()) != 0 {
		t.Error("an answer reached a follower")
	}
}

// TestL30OnlyANewLeaderEpochRestartsTheFetcher.
func TestL30OnlyANewLeaderEpochRestartsTheFetcher(t *testing.T) {
	w := newWorld(t, "zk-3.9", 2)
	b := w.broker(2)
	b.follow(0, 1, 1, 1, ids(1, 2))
	p := b.partition(0)
	in := b.input(step.Request)
	st := State{Leader: 1, LeaderEpoch: 1, PartitionEpoch: 2, Replicas: ids(1, 2)}
	if p.MakeFollower(in, b.out, &st, p.Log()) || p.PartitionEpoch() != 2 {
		t.Error("a partition epoch restarts the fetcher, or is not taken")
	}
	st.LeaderEpoch, st.PartitionEpoch = 2, 3
	if !p.MakeFollower(in, b.out, &st, p.Log()) {
		t.Error("the same leader in a new epoch does not restart the fetcher")
	}
}

// TestL32StopReplicaEpochs: -2 deletes, -1 is an old controller, else not older
// than the local one.
func TestL32StopReplicaEpochs(t *testing.T) {
	w, b, p := led(t, "zk-3.9")
	b.lead(0, 5, 5, ids(1), ids(1, 2))
	for epoch, want := range map[kafka.LeaderEpoch]kafka.ErrorCode{-2: kafka.None, -1: kafka.None, 4: kafka.FencedLeaderEpoch, 5: kafka.None, 6: kafka.None} {
		if got := p.CheckStop(epoch); got != want {
			t.Errorf("epoch %d: %v", epoch, got)
		}
	}
	b.moved = 0
	p.Stop(b.input(step.Request), b.out, 6, false)
	if !p.IsLeader() || b.moved&MovedRole == 0 {
		t.Error("a stop without deletion took the role, or was not told")
	}
	b.settle()
	w.notes = nil
	p.Stop(b.input(step.Request), b.out, 6, true)
	b.settle()
	if e := w.only(event.ReplicaStopped); !e.Flag || e.LeaderEpoch != 6 || p.Role() != None || p.IsLeader() {
		t.Errorf("%+v", e)
	}
}
