package cluster

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/outcome"
	"github.com/simkafka/simkafka/scenarios"
	"github.com/simkafka/simkafka/sim/kernel"
)

// G16: a change of the scenario changes what it concerns and nothing else.

const perturbed = `apiVersion: simkafka/v1
name: perturbed
protocol: zk-3.9
duration: 20s
cluster:
  brokers: 4
  config: {min.insync.replicas: 2, zookeeper.session.timeout.ms: 3000, replica.lag.time.max.ms: 2000}
  network: {latency: 200us..500us}
topics:
  - {name: orders, partitions: 4, replication: 3}
producers:
  - {name: p, count: 2, topic: orders, rate: 40/s, arrival: exponential, size: 100B, keys: 50, config: {acks: all, linger.ms: 0}}
  IDLE_PRODUCER
consumers:
  - {name: c, topics: [orders], config: {auto.offset.reset: earliest}}
  IDLE_CONSUMER
events:
  - {at: 5s, kill: random(brokers), restart_after: 4s}
  - {at: 12s, for: 2s, isolate: random(brokers)}
  - {at: 15s, for: 1s, slow_disk: {node: random(brokers), factor: 20x}}
  - {at: 15s, for: 1s, slow_disk: {node: random(brokers), factor: 20x}}
`

func perturb(t *testing.T, changes ...string) *scenarios.Spec {
	t.Helper()
	text := perturbed
	for i := 0; i < len(changes); i += 2 {
		text = strings.ReplaceAll(text, changes[i], changes[i+1])
	}
	for _, mark := range []string{"IDLE_PRODUCER", "IDLE_CONSUMER"} {
		text = strings.ReplaceAll(text, "  "+mark+"\n", "")
	}
	return parse(t, "perturbed.yaml", text)
}

// history keeps what the tests compare of each step and fact.
type history struct {
	c       *Cluster
	steps   []string
	at      []kafka.Nanos
	sums    []kernel.Fingerprint
	created map[string]kafka.Nanos // send calls of the records that open a batch
}

// Record implements kernel.Recorder.
func (h *history) Record(r *kernel.Record) {
	from := ""
	if r.From != kernel.NoActor {
		from = h.c.k.Name(r.From)
	}
	h.steps = append(h.steps, fmt.Sprint(r.Time, h.c.k.Name(r.Actor), r.Kind, r.Lane, r.Worker, r.Took, r.Conn,
		r.Correlation, r.Timer, r.Arg, from, r.Err, r.Digest))
	h.at, h.sums = append(h.at, r.Time), append(h.sums, r.Sum)
}

// Event implements kernel.Observer.
func (h *history) Event(e *event.Event) {
	if e.Kind == event.RecordAcked || e.Kind == event.RecordFailed {
		h.created[fmt.Sprintf("%s %s record %d", e.Actor, e.TP, e.First)] = e.Created
	}
}

func follow(t *testing.T, s *scenarios.Spec, seed uint64) (*history, *outcome.Result) {
	t.Helper()
	h := &history{created: make(map[string]kafka.Nanos)}
	c, err := New(s, Options{Seed: seed, Recorder: h, Observer: h})
	if err != nil {
		t.Fatal(err)
	}
	h.c = c
	return h, c.Run()
}

// until counts the steps before a time.
func (h *history) until(at kafka.Nanos) int {
	n, _ := slices.BinarySearch(h.at, at)
	return n
}

func without(s *scenarios.Spec, i int) *scenarios.Spec {
	less := *s
	less.Events = slices.Delete(slices.Clone(s.Events), i, i+1)
	return &less
}

func TestPerturbationRemovingAFaultLeavesWhatIsBeforeIt(t *testing.T) {
	s := perturb(t)
	all, _ := follow(t, s, 1)
	for i, e := range s.Events {
		less, _ := follow(t, without(s, i), 1)
		n := all.until(e.Trigger.At)
		if n == 0 || n != less.until(e.Trigger.At) || all.sums[n-1] != less.sums[n-1] {
			t.Errorf("fault %d at %s: %d steps before it, %d without it", i+1, e.Trigger.At, n, less.until(e.Trigger.At))
		}
	}
}

// The others hit the same nodes at the same time, and clients send at the same
// times, whatever became of their requests.
func TestPerturbationRemovingAFaultLeavesUnrelatedDraws(t *testing.T) {
	s := perturb(t)
	for seed := range uint64(2) {
		all, want := follow(t, s, seed)
		if len(want.Faults) != len(s.Events) {
			t.Fatalf("seed %d: %d faults in the result, there are %d", seed, len(want.Faults), len(s.Events))
		}
		for i := range s.Events {
			less, got := follow(t, without(s, i), seed)
			for j, f := range slices.Delete(slices.Clone(want.Faults), i, i+1) {
				// The last two are equal lines: either of them may be called the first.
				if g := got.Faults[j]; i < 2 && (f.Hit != g.Hit || f.Text != g.Text || f.From != g.From) {
					t.Errorf("seed %d without fault %d: %s hits %s at %s, with it %s at %s", seed, i+1, g.Text, g.Hit, g.From, f.Hit, f.From)
				}
			}
			sameSends(t, all.created, less.created)
		}
	}
}

// sameSends compares the records that open a batch in both runs: with keys, a
// record's number in its partition does not depend on what else happened.
func sameSends(t *testing.T, a, b map[string]kafka.Nanos) {
	t.Helper()
	both := 0
	for record, at := range a {
		other, ok := b[record]
		if !ok {
			continue
		}
		both++
		if at != other {
			t.Errorf("%s is sent at %s, in the other run at %s", record, at, other)
		}
	}
	if both < len(a)/2 {
		t.Errorf("%d records in one run, %d in the other: only %d to compare", len(a), len(b), both)
	}
}

// An actor that does nothing yet is not noticed by anybody.
func TestPerturbationIdleActorChangesNothing(t *testing.T) {
	const start = 19 * kafka.Second
	plain, _ := follow(t, perturb(t), 7)
	more, _ := follow(t, perturb(t, "IDLE_CONSUMER", "- {name: idle, topics: [orders], start: 19s}"), 7)
	a, b := plain.steps[:plain.until(start)], more.steps[:more.until(start)]
	if len(a) == 0 || !slices.Equal(a, b) {
		for i := range min(len(a), len(b)) {
			if a[i] != b[i] {
				t.Fatalf("step %d differs:\n%s, without the idle consumer\n%s", i+1, b[i], a[i])
			}
		}
		t.Errorf("%d steps with the idle consumer, %d without it", len(b), len(a))
	}
	if len(plain.steps) == len(more.steps) {
		t.Error("the added consumer never ran")
	}
}

// A client that does run takes its share of the brokers' time, but shifts nobody's draws.
func TestPerturbationAnotherClientLeavesDraws(t *testing.T) {
	plain, want := follow(t, perturb(t), 7)
	more, got := follow(t, perturb(t, "IDLE_PRODUCER", "- {name: q, topic: orders, rate: 30/s, size: 100B}"), 7)
	for i, f := range want.Faults {
		if g := got.Faults[i]; f.Hit != g.Hit || f.From != g.From {
			t.Errorf("%s hits %s, it hit %s", f.Text, g.Hit, f.Hit)
		}
	}
	if got.Records.Acked < want.Records.Acked+300 {
		t.Errorf("the added producer hardly sent: %d records acknowledged, %d without it", got.Records.Acked, want.Records.Acked)
	}
	sameSends(t, plain.created, more.created)
}

// A chaos run is the run of its faults written out (bisecting and shrinking start
// from there).
func TestChaosWrittenOutIsTheSameRun(t *testing.T) {
	for seed := range uint64(3) {
		chaos := builtin(t, "w1")
		c, err := New(chaos, Options{Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		explicit := builtin(t, "w1")
		explicit.Chaos = nil
		for i := range c.plan.faults {
			explicit.Events = append(explicit.Events, c.plan.faults[i].Planned)
		}
		loaded, err := scenarios.Load("w1.yaml", []byte(explicit.YAML()), nil)
		if err != nil {
			t.Fatalf("%v\n%s", err, explicit.YAML())
		}
		want := c.Run()
		got, err := Run(loaded, Options{Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		if got.Fingerprint != want.Fingerprint || len(got.Faults) == 0 {
			t.Errorf("seed %d: %d faults written out give another run:\n%s", seed, len(got.Faults), faultLines(got.Faults))
		}
	}
}

func faultLines(list []outcome.Fault) string {
	var b strings.Builder
	for _, f := range list {
		fmt.Fprintf(&b, "%s %s hits %s\n", f.From, f.Text, f.Hit)
	}
	return b.String()
}
