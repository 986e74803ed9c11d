package shrink

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/simkafka/simkafka/model/outcome"
	"github.com/simkafka/simkafka/model/quirk"
	"github.com/simkafka/simkafka/scenarios"
	"github.com/simkafka/simkafka/sim/cluster"
)

func bug(t testing.TB, b quirk.Bug) *scenarios.Spec {
	t.Helper()
	e, ok := scenarios.BugScenario(b)
	if !ok {
		t.Fatalf("%s has no scenario", b.Key)
	}
	return load(t, e.Text)
}

// checkShrunk runs a shrunk scenario from its own text.
func checkShrunk(t testing.TB, s *Shrunk) {
	t.Helper()
	again := load(t, s.Spec.YAML())
	r, err := cluster.Run(again, cluster.Options{Seed: s.Seed})
	if err != nil {
		t.Fatal(err)
	}
	if r.Fingerprint != s.Result.Fingerprint {
		t.Errorf("%s: its text runs otherwise", s.Spec.Name)
	}
	if !s.Target.In(r, again) {
		t.Errorf("%s: %s does not fail", s.Spec.Name, s.Target)
	}
}

// checkWithout: what is left is the work of the bug, not of what shrinking made of the
// scenario.
func checkWithout(t testing.TB, s *Shrunk) {
	t.Helper()
	off := s.Spec.WithoutQuirks()
	r, err := cluster.Run(off, cluster.Options{Seed: s.Seed})
	if err != nil || s.Target.In(r, off) {
		t.Errorf("%s: %s fails without the bug, too (error %v)", s.Spec.Name, s.Target, err)
	}
}

// Historical bugs shrink within the targets of simulation G10, and what is left is the
// same failure. TestAllBugsShrink has all of them.
func TestBugsShrinkToSmallScenarios(t *testing.T) {
	for _, id := range []quirk.ID{quirk.EmptyISR, quirk.ReadToLogEnd, quirk.TruncateToHW} {
		b := id.Bug()
		s, err := Run(bug(t, b), 1, Options{})
		if err != nil {
			t.Errorf("%s: %v", b.Key, err)
			continue
		}
		checkShrunk(t, s)
		checkWithout(t, s)
		if s.Target.Invariant != b.Invariant {
			t.Errorf("%s: shrunk to %s, the bug is known by %s", b.Key, s.Target, b.Invariant)
		}
		if !s.To.small() || s.Runs > DefaultRuns {
			t.Errorf("%s: %+v after %d runs\n%s", b.Key, s.To, s.Runs, s.Spec.YAML())
		}
		if s.Result.Verdict != outcome.Pass {
			t.Errorf("%s: its scenario expects the violation, the shrunk one does not: %s", b.Key, s.Result.Why)
		}
	}
}

func TestWhatDoesNotFailIsNotShrunk(t *testing.T) {
	s := load(t, strings.Replace(drawn, "chaos:\n", "expect: {metrics: [records.sent > 1]}\nchaos:\n", 1))
	s.Events, s.Chaos = nil, nil
	_, err := Run(s, 1, Options{})
	var fine *NotFailing
	if !asNotFailing(err, &fine) {
		t.Errorf("error %v", err)
	}
	if _, err := Run(bug(t, quirk.EmptyISR.Bug()), 1, Options{Invariant: "no-phantom"}); !asNotFailing(err, &fine) {
		t.Errorf("another invariant: error %v", err)
	}
}

func asNotFailing(err error, to **NotFailing) bool {
	e, ok := err.(*NotFailing)
	*to = e
	return ok
}

// A metric that fails is a failure like any other.
func TestAFailedMetricIsShrunk(t *testing.T) {
	s := load(t, `apiVersion: simkafka/v1
name: metric
duration: 20s
cluster: {brokers: 3, config: {zookeeper.session.timeout.ms: 4000}}
topics: [{name: orders, partitions: 2, replication: 3}]
producers: [{name: shop, topic: orders, rate: 50/s, size: 200B}]
events:
  - {at: 5s, for: 1s, pause: broker-3}
  - {at: 8s, kill: leader(orders/0), restart_after: 3s}
expect: {metrics: [elections(orders/0) < 1, records.sent > 0]}
`)
	got, err := Run(s, 1, Options{})
	if err != nil {
		t.Fatal(err)
	}
	checkShrunk(t, got)
	if got.Target.Metric != "elections(orders/0) < 1" || got.To.Faults != 1 || got.Result.Verdict != outcome.Violated {
		t.Errorf("%s: %+v, %s\n%s", got.Target, got.To, got.Result.Verdict, got.Spec.YAML())
	}
}

// The bound on runs holds, and what there is by then is given out.
func TestTheSearchEndsWhenItMust(t *testing.T) {
	s, err := Run(bug(t, quirk.ReadToLogEnd.Bug()), 1, Options{MaxRuns: 12})
	if err != nil {
		t.Fatal(err)
	}
	checkShrunk(t, s)
	if s.Runs > 12 || s.Ended == "" {
		t.Errorf("%d runs, ended %q", s.Runs, s.Ended)
	}
	n := 0
	if s, err = Run(bug(t, quirk.ReadToLogEnd.Bug()), 1, Options{Stop: func() bool { n++; return n > 5 }}); err != nil || s.Ended != "out of time" {
		t.Errorf("stopped: %v", err)
	}
}

// TestAGroupKeepsItsCoordinator: with fewer brokers than __consumer_offsets has replicas, no
// consumer ever joins, which is not the failure.
func TestAGroupKeepsItsCoordinator(t *testing.T) {
	id, _ := quirk.Parse("KAFKA-9140")
	b := id.Bug()
	spec, seed := failingRun(t, b, "bugs")
	s, err := Run(spec, seed, Options{Invariant: b.Invariant})
	if err != nil {
		t.Fatal(err)
	}
	if why := s.Spec.WithoutCoordinators(); why != "" {
		t.Error(why)
	}
	checkWithout(t, s)
}

// TestAllBugsShrink is the table over all historical bugs, as their scenarios have them and
// as random worlds show them. It takes minutes:
//
//	SIMKAFKA_SHRINK=bugs go test ./sim/shrink -run TestAllBugsShrink -v
func TestAllBugsShrink(t *testing.T) {
	what := os.Getenv("SIMKAFKA_SHRINK")
	if what == "" {
		t.Skip("SIMKAFKA_SHRINK is not set: bugs, small or swarm")
	}
	var rows []*Shrunk
	var took []time.Duration
	for _, b := range quirk.All() {
		spec, seed := failingRun(t, b, what)
		if spec == nil {
			t.Logf("%-20s not found", b.Key)
			continue
		}
		began := time.Now()
		opts := Options{}
		if what == "bugs" {
			opts.Invariant = b.Invariant
		}
		s, err := Run(spec, seed, opts)
		d := time.Since(began)
		if err != nil {
			t.Errorf("%-20s %v", b.Key, err)
			continue
		}
		checkShrunk(t, s)
		checkWithout(t, s)
		rows, took = append(rows, s), append(took, d)
		t.Logf("%-20s seed %-15d %-30s faults %2d -> %d, brokers %d -> %d, partitions %3d -> %d, clients %d -> %d, records %6d -> %3d, settings %2d -> %2d, %3d runs, %5.1f s %s",
			b.Key, seed, s.Target, s.From.Faults, s.To.Faults, s.From.Brokers, s.To.Brokers, s.From.Partitions, s.To.Partitions, s.From.Clients, s.To.Clients,
			s.From.Operations, s.To.Operations, s.From.Settings, s.To.Settings, s.Runs, d.Seconds(), s.Ended)
		if os.Getenv("SIMKAFKA_SHRINK_YAML") != "" {
			t.Logf("\n%s", s.Spec.YAML())
		}
	}
	median := func(of func(i int) int64) int64 {
		var all []int64
		for i := range rows {
			all = append(all, of(i))
		}
		slices.Sort(all)
		return all[len(all)/2]
	}
	if len(rows) > 0 {
		t.Logf("%d bugs, medians: %d faults, %d brokers, %d records, %d runs, %d ms", len(rows),
			median(func(i int) int64 { return int64(rows[i].To.Faults) }), median(func(i int) int64 { return int64(rows[i].To.Brokers) }),
			median(func(i int) int64 { return rows[i].To.Operations }), median(func(i int) int64 { return int64(rows[i].Runs) }),
			median(func(i int) int64 { return took[i].Milliseconds() }))
	}
}

// worlds is how many random worlds are looked at for a bug.
const worlds = 60

// failingRun is a failing run of a bug: its own scenario, or the first random world that fails
// with the bug and not without.
func failingRun(t *testing.T, b quirk.Bug, what string) (*scenarios.Spec, uint64) {
	t.Helper()
	if what == "bugs" {
		return bug(t, b), 1
	}
	g, ok := scenarios.GeneratorByName(what)
	if !ok {
		t.Fatalf("no generator %q", what)
	}
	for seed := uint64(1); seed <= worlds; seed++ {
		spec, err := g.Draw(seed)
		if err != nil {
			t.Fatal(err)
		}
		spec.Quirks = b.On()
		if r, err := cluster.Run(spec, cluster.Options{Seed: seed}); err != nil || r.Verdict != outcome.Violated {
			continue
		}
		if r, err := cluster.Run(spec.WithoutQuirks(), cluster.Options{Seed: seed}); err == nil && r.Verdict == outcome.Pass {
			return spec, seed
		}
	}
	return nil, 0
}
