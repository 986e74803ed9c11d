package replica

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
)

// led is a broker that leads with ISR {1,2} of {1,2,3}, 10 records of epoch 0 and
// all of them committed.
func led(t *testing.T, profile string) (*world, *broker, *Partition) {
	t.Helper()
	w := newWorld(t, profile, 3)
	b := w.broker(1)
	fill(w, b, 10, 0)
	b.lead(0, 1, 1, ids(1, 2), ids(1, 2, 3))
	b.fetchFrom(2, 10)
	w.notes = nil
	b.moved = 0
	return w, b, b.partition(0)
}

// TestL22ExpandNeedsEachOfItsConditions one at a time.
func TestL22ExpandNeedsEachOfItsConditions(t *testing.T) {
	for _, c := range []struct {
		name  string
		setUp func(b *broker)
		at    kafka.Offset
		want  bool
	}{
		{"all hold", func(*broker) {}, 10, true},
		{"below the high watermark", func(*broker) {}, 9, false},
		{"not alive", func(b *broker) { b.broken[3] = true }, 10, false},
		{"no time condition", func(b *broker) { b.w.now += kafka.Hour }, 10, true},
		{"a change in flight", func(b *broker) {
			b.append(0, "x", 1, 1)
			b.w.now += 40 * kafka.Second
			b.partition(0).MaybeShrinkISR(b.input(step.Timer), b.out)
			b.changes = nil
		}, 11, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, b, _ := led(t, "zk-3.9")
			c.setUp(b)
			b.fetchFrom(3, c.at)
			if got := len(b.changes) == 1; got != c.want {
				t.Errorf("expands: %v", got)
			}
		})
	}
}

// TestL22ExpandNeedsTheHighWatermarkAlsoWithoutTheGate.
func TestL22ExpandNeedsTheHighWatermarkAlsoWithoutTheGate(t *testing.T) {
	for at, want := range map[kafka.Offset]bool{9: false, 10: true} {
		_, b, _ := led(t, noGate)
		b.fetchFrom(3, at)
		if got := len(b.changes) == 1; got != want {
			t.Errorf("at %d: expands %v", at, got)
		}
	}
}

// TestL22AMemberDoesNotJoinAgain.
func TestL22AMemberDoesNotJoinAgain(t *testing.T) {
	_, b, _ := led(t, "zk-3.9")
	b.fetchFrom(2, 10)
	if len(b.changes) != 0 {
		t.Error("a member was proposed again")
	}
}

// TestL2ExpandCountsAtOnceAndShrinkOnlyWhenCommitted: the maximal ISR is what HW
// and acks look at.
func TestL2ExpandCountsAtOnceAndShrinkOnlyWhenCommitted(t *testing.T) {
	w, b, p := led(t, "zk-3.9")
	b.fetchFrom(3, 10)
	if !slices.Equal(p.MaximalISR(), ids(1, 2, 3)) || !slices.Equal(p.ISR(), ids(1, 2)) {
		t.Fatalf("pending expand: isr %v maximal %v", p.ISR(), p.MaximalISR())
	}
	b.append(0, "x", 1, 1)
	w.now += 40 * kafka.Second // so that only membership makes 3 count
	b.fetchFrom(2, 11)
	expectHW(t, p, 10, "member 2 got it, pending 3 not")
	b.fetchFrom(3, 11)
	expectHW(t, p, 11, "pending 3 got it")
	b.commitISR(p)

	b.append(0, "x", 1, 1)
	w.now += 40 * kafka.Second
	b.fetchFrom(2, 12)
	p.MaybeShrinkISR(b.input(step.Timer), b.out)
	b.settle()
	if !slices.Equal(p.MaximalISR(), ids(1, 2, 3)) || !slices.Equal(p.ISR(), ids(1, 2, 3)) || !p.ISRInFlight() {
		t.Fatalf("pending shrink: isr %v maximal %v", p.ISR(), p.MaximalISR())
	}
	expectHW(t, p, 11, "3 leaves, not yet confirmed")
	b.commitISR(p)
	expectHW(t, p, 12, "3 left")
	if !slices.Equal(p.ISR(), ids(1, 2)) || p.ISRInFlight() {
		t.Errorf("isr %v", p.ISR())
	}
}

// TestL1OneChangeInFlight: neither expand nor shrink while one is pending.
func TestL1OneChangeInFlight(t *testing.T) {
	w, b, p := led(t, "zk-3.9")
	b.fetchFrom(3, 10)
	b.append(0, "x", 1, 1)
	w.now += kafka.Hour
	p.MaybeShrinkISR(b.input(step.Timer), b.out)
	b.settle()
	if len(b.changes) != 1 {
		t.Errorf("%d changes", len(b.changes))
	}
}

// TestL23ShrinkTakesThoseNotCaughtUp and leaves the rest in order.
func TestL23ShrinkTakesThoseNotCaughtUp(t *testing.T) {
	w, b, p := led(t, "zk-3.9")
	b.fetchFrom(3, 10)
	b.commitISR(p)
	b.append(0, "x", 1, 1)
	w.now += testLag
	p.MaybeShrinkISR(b.input(step.Timer), b.out)
	if b.settle(); len(b.changes) != 0 {
		t.Fatal("shrank at the limit itself")
	}
	w.now++
	b.fetchFrom(3, 11)
	p.MaybeShrinkISR(b.input(step.Timer), b.out)
	b.settle()
	if c := b.takeChange(); !slices.Equal(c.ISR, ids(1, 3)) {
		t.Errorf("target %v", c.ISR)
	}
	e := w.all(event.IsrProposed)
	if last := e[len(e)-1]; !slices.Equal(last.ISR, ids(1, 3)) || !slices.Equal(last.MaximalISR, ids(1, 2, 3)) || last.PartitionEpoch != 2 || last.LeaderEpoch != 1 {
		t.Errorf("%+v", last)
	}
}

// TestL23AnIdleMemberAtTheEndStays even if it is dead.
func TestL23AnIdleMemberAtTheEndStays(t *testing.T) {
	w, b, p := led(t, "zk-3.9")
	w.now += kafka.Hour
	b.broken[2] = true
	p.MaybeShrinkISR(b.input(step.Timer), b.out)
	if b.settle(); len(b.changes) != 0 {
		t.Error("an idle member was removed")
	}
}

// TestL23AFreshLeaderGivesItsMembersTheLagLimit before it removes them (L-5).
func TestL23AFreshLeaderGivesItsMembersTheLagLimit(t *testing.T) {
	w := newWorld(t, "zk-3.9", 1)
	b := w.broker(1)
	fill(w, b, 10, 0)
	b.lead(0, 1, 1, ids(1, 2), ids(1, 2))
	for _, c := range []struct {
		wait kafka.Nanos
		want int
	}{{0, 0}, {testLag, 0}, {1, 1}} {
		w.now += c.wait
		b.partition(0).MaybeShrinkISR(b.input(step.Timer), b.out)
		if b.settle(); len(b.changes) != c.want {
			t.Fatalf("%v later: %d changes", c.wait, len(b.changes))
		}
	}
}

// TestL24TheLeaderStays alone.
func TestL24TheLeaderStays(t *testing.T) {
	w, b, p := led(t, "zk-3.9")
	b.append(0, "x", 1, 1)
	w.now += kafka.Hour
	p.MaybeShrinkISR(b.input(step.Timer), b.out)
	b.settle()
	if c := b.takeChange(); !slices.Equal(c.ISR, ids(1)) {
		t.Errorf("target %v", c.ISR)
	}
}

// TestL23ShrinkAgainstTwin: the kept ones are those who are caught up, by a filter.
func TestL23ShrinkAgainstTwin(t *testing.T) {
	b := newWorld(t, "zk-3.9", 1).broker(1)
	rapid.Check(t, func(t *rapid.T) {
		p := New(&b.env, tp(0), kafka.TopicID{}, &b.w.topic)
		p.published = 12
		p.remotes = drawRemotes(t)
		all := ids(1)
		for _, r := range p.remotes {
			all = append(all, r.id)
		}
		all = append(all, 77) // in the ISR but not assigned
		p.isr = rapid.Permutation(all).Draw(t, "isr")[:rapid.IntRange(1, len(all)).Draw(t, "size")]
		now := 61 * kafka.Second
		var want []kafka.NodeID
		for _, id := range p.isr {
			r := p.remote(id)
			if id == 1 || r != nil && (r.leo == 12 || now-r.caughtUp <= testLag) {
				want = append(want, id)
			}
		}
		before := slices.Clone(p.isr)
		if got := p.inSync(now); !slices.Equal(got, want) {
			t.Fatalf("kept %v of %v, want %v", got, p.isr, want)
		}
		if !slices.Equal(p.isr, before) {
			t.Fatal("the shared ISR slice was written to")
		}
	})
}

// TestL26AnswersByCode: the whole table.
func TestL26AnswersByCode(t *testing.T) {
	for _, c := range []struct {
		name     string
		res      ISRResult
		inFlight bool
		isr      []kafka.NodeID
		maximal  []kafka.NodeID
		resent   bool
	}{
		{"none", ISRResult{LeaderEpoch: 1, PartitionEpoch: 2, ISR: ids(1, 2, 3)}, false, ids(1, 2, 3), ids(1, 2, 3), false},
		{"none, same partition epoch", ISRResult{LeaderEpoch: 1, PartitionEpoch: 1, ISR: ids(1, 2, 3)}, false, ids(1, 2, 3), ids(1, 2, 3), false},
		{"none, other isr", ISRResult{LeaderEpoch: 1, PartitionEpoch: 3, ISR: ids(1)}, false, ids(1), ids(1), false},
		{"none, other leader epoch", ISRResult{LeaderEpoch: 2, PartitionEpoch: 2, ISR: ids(1)}, true, ids(1, 2), ids(1, 2, 3), false},
		{"none, older partition epoch", ISRResult{LeaderEpoch: 1, PartitionEpoch: 0, ISR: ids(1)}, true, ids(1, 2), ids(1, 2, 3), false},
		{"not attempted", ISRResult{Code: kafka.OperationNotAttempted}, false, ids(1, 2), ids(1, 2), false},
		{"ineligible", ISRResult{Code: kafka.IneligibleReplica}, false, ids(1, 2), ids(1, 2), false},
		{"unknown topic", ISRResult{Code: kafka.UnknownTopicOrPartition}, true, ids(1, 2), ids(1, 2, 3), false},
		{"unknown topic id", ISRResult{Code: kafka.UnknownTopicID}, true, ids(1, 2), ids(1, 2, 3), false},
		{"fenced", ISRResult{Code: kafka.FencedLeaderEpoch}, true, ids(1, 2), ids(1, 2, 3), false},
		{"version", ISRResult{Code: kafka.InvalidUpdateVersion}, true, ids(1, 2), ids(1, 2, 3), false},
		{"invalid", ISRResult{Code: kafka.InvalidRequest}, true, ids(1, 2), ids(1, 2, 3), false},
		{"new leader", ISRResult{Code: kafka.NewLeaderElected}, true, ids(1, 2), ids(1, 2, 3), false},
		{"anything else", ISRResult{Code: kafka.UnknownServerError}, true, ids(1, 2), ids(1, 2, 3), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, b, p := led(t, "zk-3.9")
			b.fetchFrom(3, 10)
			change := b.takeChange()
			p.HandleISR(b.input(step.Response), b.out, change, c.res)
			b.settle()
			if p.ISRInFlight() != c.inFlight || !slices.Equal(p.ISR(), c.isr) || !slices.Equal(p.MaximalISR(), c.maximal) {
				t.Errorf("in flight %v, isr %v, maximal %v", p.ISRInFlight(), p.ISR(), p.MaximalISR())
			}
			if resent := len(b.changes) == 1; resent != c.resent || resent && b.changes[0].Number != change.Number {
				t.Errorf("resent %v", b.changes)
			}
			committed := c.res.Code == kafka.None && !c.inFlight
			if got := len(w.all(event.IsrCommitted)) == 1; got != committed {
				t.Errorf("noted as committed: %v", got)
			}
			if committed && p.PartitionEpoch() != c.res.PartitionEpoch {
				t.Errorf("partition epoch %d", p.PartitionEpoch())
			}
		})
	}
}

// TestL26AnAnswerToAnotherChangeIsIgnored: the state that sent it is gone.
func TestL26AnAnswerToAnotherChangeIsIgnored(t *testing.T) {
	_, b, p := led(t, "zk-3.9")
	b.fetchFrom(3, 10)
	change := b.takeChange()
	b.lead(0, 2, 2, ids(1, 2), ids(1, 2, 3))
	p.HandleISR(b.input(step.Response), b.out, change, ISRResult{LeaderEpoch: 2, PartitionEpoch: 9, ISR: ids(1)})
	if !slices.Equal(p.ISR(), ids(1, 2)) || p.PartitionEpoch() != 2 {
		t.Errorf("isr %v at %d", p.ISR(), p.PartitionEpoch())
	}
	b.fetchFrom(3, 10) // proposes anew
	p.HandleISR(b.input(step.Response), b.out, change, ISRResult{Code: kafka.OperationNotAttempted})
	if !p.ISRInFlight() {
		t.Error("an old answer took the new change back")
	}
}

// TestL26CommitRechecksThePurgatories even when the high watermark stays.
func TestL26CommitRechecksThePurgatories(t *testing.T) {
	_, b, p := led(t, "zk-3.9")
	b.fetchFrom(3, 10)
	b.moved = 0
	b.commitISR(p)
	if b.moved&MovedISR == 0 {
		t.Error("the watcher heard nothing")
	}
}
