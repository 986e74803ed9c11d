package shrink

import (
	"strings"
	"testing"

	"github.com/simkafka/simkafka/faults"
	"github.com/simkafka/simkafka/model/outcome"
	"github.com/simkafka/simkafka/scenarios"
	"github.com/simkafka/simkafka/sim/cluster"
)

func load(t testing.TB, text string) *scenarios.Spec {
	t.Helper()
	s, err := scenarios.Load("test.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func fired(t *testing.T, s *scenarios.Spec, seed uint64) (*outcome.Result, []*cluster.Firing) {
	t.Helper()
	x := &search{seed: seed}
	r, firings, err := x.first(s)
	if err != nil {
		t.Fatal(err)
	}
	return r, firings
}

const drawn = `apiVersion: simkafka/v1
name: drawn
duration: 14s
cluster: {brokers: 4, config: {zookeeper.session.timeout.ms: 3000, min.insync.replicas: 2}}
topics: [{name: orders, partitions: 3, replication: 3}]
producers: [{name: p, count: 2, topic: orders, rate: 40/s, size: 100B}]
consumers: [{name: c, topics: [orders]}]
events:
  - {every: 2s, from: 4s, times: 2, reset: {between: random(clients), and: brokers}}
  - {when: {event: record-acked, records: 90, delay: 1ms..9ms}, for: 2s, pause: leader(orders/1)}
  - {when: {event: leader-elected, after: 5s, delay: 3ms}, for: 1s, cut: {from: followers(orders/2), to: others}}
  - {on_disk: {node: broker-2, op: append, file: "orders-*/*.log", nth: 60}, kill: $node, restart_after: 1s}
chaos:
  from: 8s
  to: 10s
  count: 2
  of:
    - {stop: random(brokers), restart_after: 1s..2s}
    - {for: 500ms, isolate: "leader(orders/*)"}
`

// A frozen run is the run: what was drawn is written down, and nothing else differs.
func TestAFrozenRunIsTheRun(t *testing.T) {
	s := load(t, drawn)
	for _, seed := range []uint64{1, 2, 3} {
		r, firings := fired(t, s, seed)
		for _, how := range []form{byTime, byTrigger} {
			frozen, err := reload(freeze(s, firings, how))
			if err != nil {
				t.Fatal(err)
			}
			again, _ := fired(t, frozen, seed)
			if again.Fingerprint != r.Fingerprint {
				t.Errorf("seed %d, form %d: fingerprint %s, frozen %s\n%s", seed, how, r.Fingerprint, again.Fingerprint, frozen.YAML())
			}
			if how == byTime && (waits(frozen) && !onlyDisk(frozen) || frozen.Chaos != nil) {
				t.Errorf("seed %d: something is left to be drawn\n%s", seed, frozen.YAML())
			}
		}
	}
}

// onlyDisk reports whether what still waits is a disk operation at its own instant.
func onlyDisk(s *scenarios.Spec) bool {
	for i := range s.Events {
		p := &s.Events[i]
		for _, x := range p.Fault.Selectors() {
			if x.Moving() {
				return false
			}
		}
		if p.Trigger.On != nil || p.Trigger.Disk != nil && p.Trigger.Disk.After == 0 {
			return false
		}
	}
	return true
}

// Taking one fault away leaves the lines of the others.
func TestFrozenFaultsStandAlone(t *testing.T) {
	s := load(t, drawn)
	_, firings := fired(t, s, 1)
	frozen := freeze(s, firings, byTime)
	for i := range frozen.Events {
		for _, x := range frozen.Events[i].Fault.Selectors() {
			if x.Moving() {
				t.Errorf("%s depends on the run", frozen.Events[i].Fault)
			}
		}
		if tr := frozen.Events[i].Trigger; tr.On != nil || tr.Every != 0 {
			t.Errorf("%s waits for something", frozen.Events[i].Fault)
		}
	}
}

// nodes is a target that knows who is who.
type nodes struct{ faults.Target }

func (nodes) Select(s faults.Selector, _ faults.Context) []string {
	if s.Role == faults.Followers {
		return []string{"broker-2", "broker-3"}
	}
	return []string{"broker-1"}
}

// Each kind of fault can be addressed by name: the examples of help are the list of all.
func TestEveryFaultCanBeMadeExplicit(t *testing.T) {
	const frame = "apiVersion: simkafka/v1\nname: x\nduration: 60s\ncluster: {brokers: 3}\ntopics: [{name: orders, partitions: 1, replication: 3}]\nproducers: [{name: p, topic: orders}]\nevents:\n  - "
	for _, k := range faults.Table {
		f := load(t, frame+k.Example+"\n").Events[0].Fault
		if len(f.Selectors()) == 0 {
			if same := faults.Explicit(f, nodes{}, faults.Context{}); len(same) != 1 || same[0] != f {
				t.Errorf("%s concerns no node: %v", k.Word, same)
			}
			continue
		}
		role := func(r faults.Role) faults.Fault {
			return faults.Rebind(f, func(faults.Selector) faults.Selector { return faults.Selector{Role: r} })
		}
		one, many := faults.Explicit(role(faults.Leader), nodes{}, faults.Context{}), faults.Explicit(role(faults.Followers), nodes{}, faults.Context{})
		if len(one) != 1 || !strings.Contains(one[0].String(), "broker-1") || strings.Contains(one[0].String(), "leader(") {
			t.Errorf("%s: %v", k.Word, one)
		}
		for _, x := range many {
			if strings.Contains(x.String(), "followers(") {
				t.Errorf("%s: %v", k.Word, many)
			}
		}
		if len(many) == 0 {
			t.Errorf("%s: nobody is left of several", k.Word)
		}
	}
}
