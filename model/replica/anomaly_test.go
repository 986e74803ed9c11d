package replica

import (
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
)

// The anomaly traces of cluster 10.5 on bare partitions: each with the rule that
// allows it and with the one that ended it.

// TestA1FollowerThatCutsAtItsHighWatermarkLosesAnAckedRecord: T-1 against T-2 to T-4.
func TestA1FollowerThatCutsAtItsHighWatermarkLosesAnAckedRecord(t *testing.T) {
	for profile, want := range map[string]string{
		"zk-0.10": "0..0@0:m0",
		"zk-0.11": "0..0@0:m0 1..1@0:m1",
		"zk-2.0":  "0..0@0:m0 1..1@0:m1",
		"zk-3.9":  "0..0@0:m0 1..1@0:m1",
	} {
		t.Run(profile, func(t *testing.T) {
			w := newWorld(t, profile, 2)
			a, b := w.broker(1), w.broker(2)
			replicas := ids(1, 2)
			a.lead(0, 0, 0, ids(1, 2), replicas)
			b.follow(0, 1, 0, 0, replicas)
			a.append(0, "m0", 1, AllISR)
			for b.partition(0).HighWatermark() < 1 {
				b.exchange()
			}
			a.append(0, "m1", 1, AllISR)
			b.exchange() // B gets m1
			// B's next fetch tells A; the answer, with the new high watermark, is lost.
			a.serve(b.pending())
			if code, done := a.partition(0).CheckDelayedProduce(2); !done || code != kafka.None {
				t.Fatalf("m1 is not acked: %v %v", code, done)
			}
			if hw := b.partition(0).HighWatermark(); hw != 1 {
				t.Fatalf("B's high watermark is %d", hw)
			}

			hw := b.partition(0).HighWatermark()
			b.start() // B restarts with its checkpoint; the controller sends the state again
			b.parts = []*Partition{New(&b.env, tp(0), kafka.TopicID{}, &w.topic)}
			b.partition(0).log = b.openLog(tp(0), b.fs, hw)
			b.follow(0, 1, 0, 0, replicas)
			a.alive = false // before B refetches
			b.exchange()
			b.lead(0, 1, 1, ids(2), replicas)
			if got := b.contents(0); got != want {
				t.Errorf("the new leader has %q, want %q", got, want)
			}
		})
	}
}

// TestA3FastLeaderChangesLeaveADivergentTail: T-2 against T-3 and T-4.
func TestA3FastLeaderChangesLeaveADivergentTail(t *testing.T) {
	for profile, want := range map[string]struct {
		b      string
		agrees bool
	}{
		"zk-0.11": {"0..9@0:old 10..12@2:b 13..14@3:a2", false},
		"zk-2.0":  {"0..9@0:old 10..12@1:a 13..14@3:a2", true},
		"zk-2.6":  {"0..9@0:old 10..12@1:a 13..14@3:a2", true},
		"zk-3.9":  {"0..9@0:old 10..12@1:a 13..14@3:a2", true},
	} {
		t.Run(profile, func(t *testing.T) {
			w := newWorld(t, profile, 2)
			a, b := w.broker(1), w.broker(2)
			replicas := ids(1, 2)
			a.lead(0, 0, 0, ids(1, 2), replicas)
			b.follow(0, 1, 0, 0, replicas)
			a.append(0, "old", 10, 1)
			b.exchange()
			if profile != "zk-3.9" { // its first exchange was about epochs or already a fetch
				b.exchange()
			}
			a.lead(0, 1, 1, ids(1, 2), replicas)
			a.append(0, "a", 3, 1) // A has 0..12, B 0..9
			b.lead(0, 2, 2, ids(1, 2), replicas)
			b.append(0, "b", 3, 1) // 10..12 of epoch 2, alone
			b.append(0, "b", 2, 1) // 13..14
			b.alive = false        // before A's first fetch
			a.lead(0, 3, 3, ids(1), replicas)
			a.append(0, "a2", 2, 1) // 13..14
			b.alive = true
			b.follow(0, 1, 3, 3, replicas)
			for range 4 {
				b.exchange()
			}
			if got := b.contents(0); got != want.b {
				t.Errorf("B has %q, want %q", got, want.b)
			}
			if agrees := a.contents(0) == b.contents(0); agrees != want.agrees {
				t.Errorf("the logs agree: %v", agrees)
			}
		})
	}
}

// TestA4LaggardJoinsBeforeTheEpochStart: KAFKA-7128, L-22 without and with its gate.
func TestA4LaggardJoinsBeforeTheEpochStart(t *testing.T) {
	for profile, joins := range map[string]bool{noGate: true, "zk-2.6": false} {
		t.Run(profile, func(t *testing.T) {
			w := newWorld(t, profile, 3)
			l, g := w.broker(2), w.broker(3)
			replicas := ids(1, 2, 3)
			fill(w, l, 10, 5) // L: all that is committed, with a stale high watermark
			fill(w, g, 6, 5)  // G lags
			// Broker 1 is in the ISR and has not fetched: L's high watermark stays.
			l.lead(0, 3, 6, ids(1, 2), replicas)
			if hw := l.partition(0).HighWatermark(); hw != 5 {
				t.Fatalf("hw %d", hw)
			}
			args := FetchArgs{Replica: 3, CurrentLeaderEpoch: 3, LastFetchedEpoch: kafka.NoLeaderEpoch, Offset: 6, MaxBytes: 1, MinOne: true}
			res, err := l.partition(0).Fetch(&args)
			l.check(err)
			l.partition(0).UpdateFollower(l.input(0), l.out, &args, res.LEO)
			l.settle()
			if got := len(l.changes) == 1; got != joins {
				t.Fatalf("G joins at 6 with hw 5 and epoch start 10: %v, want %v", got, joins)
			}
			if joins {
				return // G may be elected now, and 6..9 are gone
			}
			args.Offset = 10
			l.partition(0).UpdateFollower(l.input(0), l.out, &args, 10)
			l.settle()
			if len(l.changes) != 1 {
				t.Fatal("G at the epoch start does not join")
			}
		})
	}
}

// fill gives the broker a log of n records of epoch 0 and a high watermark, as
// after a start.
func fill(w *world, b *broker, n int, hw kafka.Offset) {
	b.lead(0, 0, 0, ids(b.env.Node), ids(b.env.Node))
	b.append(0, "old", n, 1)
	b.parts = nil
	p := b.partition(0)
	p.log = b.openLog(p.TP, b.fs, hw)
}

// TestL5HazardALeaderThatMissedAnEpochTrustsWhatItKnew: a leader of epoch 1 that
// never heard of epoch 2, in which its follower was cut by another leader, keeps
// the follower's old end into epoch 3, and commits on it. Kafka does so: the reset
// of a broker that "stays leader" keeps the ends. In ZooKeeper mode it takes a
// controller that lost the message of epoch 2, since its queue is in order (Z-18).
func TestL5HazardALeaderThatMissedAnEpochTrustsWhatItKnew(t *testing.T) {
	w := newWorld(t, "zk-3.9", 3)
	b := w.broker(1)
	b.lead(0, 1, 1, ids(1, 2, 3), ids(1, 2, 3))
	b.append(0, "x", 8, 1)
	b.fetchFrom(2, 8)
	expectHW(t, b.partition(0), 0, "member 3 has not fetched")
	b.lead(0, 3, 3, ids(1, 2), ids(1, 2, 3))
	expectHW(t, b.partition(0), 8, "epoch 3, in which member 2 has not fetched")

	b.follow(0, 3, 4, 4, ids(1, 2, 3)) // what should have happened in epoch 2
	b.append2Uncommitted(t)
	b.lead(0, 5, 5, ids(1, 2), ids(1, 2, 3))
	expectHW(t, b.partition(0), 8, "epoch 5, in which member 2 has not fetched")
}
