package replica

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
)

// deadSet is a Cluster in which the listed brokers are dead.
type deadSet []kafka.NodeID

func (d deadSet) IsAlive(n kafka.NodeID) bool    { return !slices.Contains(d, n) }
func (d deadSet) Controller() (step.Addr, bool)  { return step.Addr{}, false }
func (d deadSet) BrokerEpoch() kafka.BrokerEpoch { return -1 }

const testLag = 30 * kafka.Second

func drawRemotes(t *rapid.T) []remote {
	n := rapid.IntRange(0, 5).Draw(t, "remotes")
	list := make([]remote, n)
	for i := range list {
		list[i] = remote{
			id:       kafka.NodeID(i + 2),
			member:   rapid.Bool().Draw(t, "member"),
			leo:      kafka.Offset(rapid.IntRange(-1, 12).Draw(t, "leo")),
			caughtUp: kafka.Nanos(rapid.IntRange(0, 61).Draw(t, "caughtUp")) * kafka.Second,
		}
	}
	return list
}

// slowHighWatermark says L-8 in sets: collect who counts, take the least of their
// log end offsets, and do not go back.
func slowHighWatermark(hw, leo kafka.Offset, remotes []remote, now kafka.Nanos, dead deadSet) kafka.Offset {
	ends := []kafka.Offset{leo}
	for _, r := range remotes {
		inTime := r.leo == leo || now-r.caughtUp <= testLag
		if r.member || inTime && !slices.Contains(dead, r.id) {
			ends = append(ends, r.leo)
		}
	}
	slices.Sort(ends)
	if ends[0] < hw {
		return hw
	}
	return ends[0]
}

// TestL8HighWatermarkIsTheLeastOfThoseThatCount against the obvious twin.
func TestL8HighWatermarkIsTheLeastOfThoseThatCount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		remotes := drawRemotes(t)
		var dead deadSet
		for _, r := range remotes {
			if rapid.Bool().Draw(t, "dead") {
				dead = append(dead, r.id)
			}
		}
		leo := kafka.Offset(rapid.IntRange(0, 12).Draw(t, "leader"))
		hw := kafka.Offset(rapid.IntRange(0, int(leo)).Draw(t, "hw"))
		now := 61 * kafka.Second
		got := nextHighWatermark(hw, leo, remotes, now, testLag, dead)
		if want := slowHighWatermark(hw, leo, remotes, now, dead); got != want {
			t.Fatalf("got %d, want %d for hw %d leo %d %+v dead %v", got, want, hw, leo, remotes, dead)
		}
	})
}

// TestL8CountsExactlyTheGroupsOfTheRule by example: neither maximum nor median,
// members however slow, joiners only if in time and alive.
func TestL8CountsExactlyTheGroupsOfTheRule(t *testing.T) {
	now := 100 * kafka.Second
	late, fresh := now-testLag-1, now-testLag
	for _, c := range []struct {
		name    string
		remotes []remote
		dead    deadSet
		want    kafka.Offset
	}{
		{"alone", nil, nil, 10},
		{"members", []remote{{id: 2, member: true, leo: 7, caughtUp: late}, {id: 3, member: true, leo: 9, caughtUp: late}}, nil, 7},
		{"a member of unknown end pins", []remote{{id: 2, member: true, leo: -1}, {id: 3, member: true, leo: 10}}, nil, 3},
		{"outside and late", []remote{{id: 2, leo: 4, caughtUp: late}}, nil, 10},
		{"outside and in time", []remote{{id: 2, leo: 4, caughtUp: fresh}}, nil, 4},
		{"outside, in time, dead", []remote{{id: 2, leo: 4, caughtUp: fresh}}, deadSet{2}, 10},
		{"never back", []remote{{id: 2, member: true, leo: 1, caughtUp: fresh}}, nil, 3},
	} {
		if got := nextHighWatermark(3, 10, c.remotes, now, testLag, c.dead); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

func TestL8DoesNotAllocate(t *testing.T) {
	remotes := []remote{{id: 2, member: true, leo: 7}, {id: 3, leo: 9}}
	var c Cluster = deadSet{}
	if n := testing.AllocsPerRun(100, func() { nextHighWatermark(0, 10, remotes, 0, testLag, c) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkL8(b *testing.B) {
	remotes := []remote{{id: 2, member: true, leo: 7}, {id: 3, member: true, leo: 9}}
	var c Cluster = deadSet{}
	b.ReportAllocs()
	for b.Loop() {
		nextHighWatermark(0, 10, remotes, 0, testLag, c)
	}
}

// TestL7EffectiveMinISRIsBoundByTheAssignment and the gate of L-8 compares with it.
func TestL7EffectiveMinISRIsBoundByTheAssignment(t *testing.T) {
	w := newWorld(t, "zk-3.9", 1)
	w.topic.MinInsyncReplicas = 3
	b := w.broker(1)
	b.lead(0, 0, 0, ids(1, 2), ids(1, 2))
	if got := b.partition(0).effectiveMinISR(); got != 2 {
		t.Errorf("min isr 3 with 2 replicas: %d", got)
	}
}

// TestL8GateFreezesBelowMinISR: KAFKA-15583, only in its profile.
func TestL8GateFreezesBelowMinISR(t *testing.T) {
	for profile, want := range map[string]kafka.Offset{"zk-3.9": 0, "zk-2.6": 4} {
		w := newWorld(t, profile, 1)
		w.topic.MinInsyncReplicas = 2
		b := w.broker(1)
		b.lead(0, 0, 0, ids(1), ids(1, 2))
		b.append(0, "x", 4, 1)
		if got := b.partition(0).HighWatermark(); got != want {
			t.Errorf("%s: high watermark %d with 1 of 2 in sync, want %d", profile, got, want)
		}
	}
}

// TestL9HighWatermarkMovesInEachOfItsPlaces: append, follower fetch, ISR change,
// becoming leader.
func TestL9HighWatermarkMovesInEachOfItsPlaces(t *testing.T) {
	w := newWorld(t, "zk-3.9", 2)
	b := w.broker(1)
	fill(w, b, 5, 2)
	b.lead(0, 1, 1, ids(1), ids(1, 2))
	p := b.partition(0)
	expectHW(t, p, 5, "becoming leader")
	b.append(0, "x", 2, 1)
	expectHW(t, p, 7, "append")
	b.lead(0, 2, 2, ids(1, 2), ids(1, 2))
	b.append(0, "x", 2, 1)
	expectHW(t, p, 7, "append with an unknown member")
	b.fetchFrom(2, 9)
	expectHW(t, p, 9, "fetch")
	b.append(0, "x", 1, 1)
	w.now += 40 * kafka.Second
	p.MaybeShrinkISR(b.input(step.Timer), b.out)
	b.settle()
	expectHW(t, p, 9, "shrink proposed")
	b.commitISR(p)
	expectHW(t, p, 10, "shrink committed")
}

func expectHW(t *testing.T, p *Partition, want kafka.Offset, when string) {
	t.Helper()
	if got := p.HighWatermark(); got != want {
		t.Errorf("after %s: high watermark %d, want %d", when, got, want)
	}
}

// TestL8HighWatermarkEventNamesItsGroup for the checkers of I-1 and I-2.
func TestL8HighWatermarkEventNamesItsGroup(t *testing.T) {
	w := newWorld(t, "zk-3.9", 2)
	b := w.broker(1)
	b.lead(0, 0, 0, ids(1, 2), ids(1, 2))
	b.append(0, "x", 3, 1)
	w.notes = nil
	b.fetchFrom(2, 2)
	e := w.only(event.HighWatermark)
	if e.HW != 2 || e.LEO != 3 || !e.Flag || !slices.Equal(e.ISR, ids(1, 2)) || !slices.Equal(e.MaximalISR, ids(1, 2)) || e.Node != 1 || e.TP != tp(0) {
		t.Errorf("%+v", e)
	}
}
