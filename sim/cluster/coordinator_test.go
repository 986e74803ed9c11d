package cluster

import (
	"testing"

	"github.com/simkafka/simkafka/model/config"
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/scenarios"
)

// groupFacts keep what is noted about groups.
type groupFacts struct{ list []event.Event }

func (f *groupFacts) Event(e *event.Event) {
	switch e.Kind {
	case event.GroupChanged, event.MemberJoined, event.MemberRemoved, event.CoordinatorLoaded, event.CoordinatorUnloaded, event.OffsetCommitted:
		f.list = append(f.list, *e)
	}
}

// first is the first of some facts from a time on, nil if there is none.
func (f *groupFacts) first(from kafka.Nanos, want func(*event.Event) bool) *event.Event {
	for i := range f.list {
		if e := &f.list[i]; e.Time >= from && want(e) {
			return e
		}
	}
	return nil
}

// quiet is killed-consumer with few records.
func quiet(t *testing.T) *scenarios.Spec {
	spec := builtin(t, "killed-consumer")
	spec.Producers[0].RatePerMil /= 20
	spec.Expect.Metrics = nil
	return spec
}

// The worked times of groups 6.5, with a session timeout of 10 s: a member that dies at 0
// is evicted at its last heartbeat + 10 s, hence in (7 s, 10 s]; the others hear of it
// within 3 s; one that comes back needs no timeout.
func TestAKilledConsumerIsMissedInTime(t *testing.T) {
	const killed, back = 30 * kafka.Second, 65 * kafka.Second
	const heartbeat, slack = 3 * kafka.Second, 200 * kafka.Millisecond
	for seed := uint64(1); seed <= 3; seed++ {
		var f groupFacts
		if _, err := Run(quiet(t), Options{Seed: seed, Observer: &f}); err != nil {
			t.Fatal(err)
		}
		gone := f.first(killed, func(e *event.Event) bool { return e.Kind == event.MemberRemoved })
		if gone == nil || gone.Text != event.GoneSession {
			t.Fatalf("seed %d: the dead member stays: %+v", seed, gone)
		}
		if after := gone.Time - killed; after <= 10*kafka.Second-heartbeat-slack || after > 10*kafka.Second+slack {
			t.Errorf("seed %d: evicted %v after its death", seed, after)
		}
		stable := func(generation, members int32) func(*event.Event) bool {
			return func(e *event.Event) bool {
				return e.Kind == event.GroupChanged && e.State == event.GroupStable && e.Generation == generation && e.Count == members
			}
		}
		if e := f.first(gone.Time, stable(2, 2)); e == nil || e.Time-gone.Time > heartbeat+slack {
			t.Errorf("seed %d: the others are stable at %+v", seed, e)
		}
		if e := f.first(back, stable(3, 3)); e == nil || e.Time-back > heartbeat+slack {
			t.Errorf("seed %d: all are stable again at %+v", seed, e)
		}
	}
}

// Groups in every profile: no field above its version leaves a broker or a client, and
// members end with a generation.
func TestGroupMessagesFitTheirVersions(t *testing.T) {
	for i, name := range config.ProfileNames() {
		spec := quiet(t)
		spec.Protocol = name
		var f groupFacts
		r, err := Run(spec, Options{Seed: uint64(i + 1), CheckWire: true, Observer: &f})
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range r.Violations {
			t.Errorf("%s: %s", name, v.What)
		}
		last := kafka.Nanos(0)
		for j := range f.list {
			if e := &f.list[j]; e.Kind == event.GroupChanged && e.State == event.GroupStable && e.Count == 3 {
				last = e.Time
			}
		}
		if last < 65*kafka.Second {
			t.Errorf("%s: the group has all members last at %v", name, last)
		}
		if e := f.first(0, func(e *event.Event) bool { return e.Kind == event.OffsetCommitted }); e == nil {
			t.Errorf("%s: nothing was committed", name)
		}
	}
}
