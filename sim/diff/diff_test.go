package diff

import (
	"errors"
	"testing"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/scenarios"
	"github.com/simkafka/simkafka/sim/kernel"
)

const text = `apiVersion: simkafka/v1
name: diff
duration: 12s
cluster: {brokers: 3, config: {zookeeper.session.timeout.ms: 3000}}
topics: [{name: orders, partitions: 2, replication: 3}]
producers: [{name: p, topic: orders, rate: 40/s, size: 100B}]
consumers: [{name: c, topics: [orders]}]
events:
  - {at: 6s, kill: broker-2, restart_after: 2s}
`

func load(t *testing.T) *scenarios.Spec {
	t.Helper()
	s, err := scenarios.Load("diff.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// steps keeps the whole event stream: the obvious twin.
type steps struct{ sums []kernel.Fingerprint }

func (s *steps) Record(r *kernel.Record) { s.sums = append(s.sums, r.Sum) }
func (s *steps) Event(*event.Event)      {}

func stream(t *testing.T, r Run) []kernel.Fingerprint {
	t.Helper()
	var s steps
	if err := Window(r, 1, 1<<62, &s, nil); err != nil {
		t.Fatal(err)
	}
	return s.sums
}

func TestEqualRunsAreEqual(t *testing.T) {
	a, b := load(t), load(t)
	b.Name, b.Why = "other", "the name of a scenario is for people"
	d, err := Find(Run{a, 3}, Run{b, 3})
	if err != nil || d.Event != 0 {
		t.Errorf("event %d, error %v", d.Event, err)
	}
}

// The first difference is the one that comparing every event finds, early, late and in
// the last events.
func TestTheFirstDifferenceIsTheFirst(t *testing.T) {
	a := load(t)
	other := load(t)
	other.Events[0].Trigger.At += 3_000_000_000
	longer := load(t)
	longer.Duration += 1_000_000_000
	for name, b := range map[string]Run{"another seed": {a, 2}, "another time of the fault": {other, 1}, "a longer run": {longer, 1}} {
		d, err := Find(Run{a, 1}, b)
		if err != nil {
			t.Fatal(err)
		}
		x, y := stream(t, Run{a, 1}), stream(t, b)
		want := min(len(x), len(y))
		for i := range want {
			if x[i] != y[i] {
				want = i
				break
			}
		}
		if d.Event != uint64(want)+1 {
			t.Errorf("%s: event %d, want %d", name, d.Event, want+1)
		}
	}
}

func TestAWindowBeyondTheEndIsEmpty(t *testing.T) {
	var s steps
	if err := Window(Run{load(t), 1}, 1<<40, 1<<40+3, &s, nil); !errors.Is(err, ErrNone) || len(s.sums) > 0 {
		t.Errorf("%d events, error %v", len(s.sums), err)
	}
}
