package cluster

import (
	"testing"

	"github.com/simkafka/simkafka/model/outcome"
	"github.com/simkafka/simkafka/scenarios"
)

func builtin(t testing.TB, name string) *scenarios.Spec {
	t.Helper()
	e, ok := scenarios.Builtin(name)
	if !ok {
		t.Fatalf("no scenario %q", name)
	}
	return parse(t, e.File, e.Text)
}

func parse(t testing.TB, file, text string) *scenarios.Spec {
	t.Helper()
	s, err := scenarios.Load(file, []byte(text), scenarios.LibrarySource)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func run(t testing.TB, name string, opts Options) *outcome.Result {
	t.Helper()
	r, err := Run(builtin(t, name), opts)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestLeaderCrashLosesNothing(t *testing.T) {
	r := run(t, "leader-crash", Options{Seed: 1, Series: true})
	if r.Verdict != outcome.Pass {
		t.Error(r.Verdict, r.Why)
	}
	if r.Records.Acked == 0 || r.Records.Acked != r.Records.Delivered || r.Settled < 0 {
		t.Errorf("%+v settled %s", r.Records, r.Settled)
	}
}

// Same scenario and seed, same run; another seed, another run.
func TestSeedDecidesTheRun(t *testing.T) {
	a, b, c := run(t, "w1", Options{Seed: 1}), run(t, "w1", Options{Seed: 2}), run(t, "w1", Options{Seed: 1})
	if a.Fingerprint != c.Fingerprint || a.Events != c.Events {
		t.Error("seed 1 gave two runs")
	}
	if a.Fingerprint == b.Fingerprint {
		t.Error("seeds 1 and 2 gave the same run")
	}
}

// A latency that a scenario expects is checked whether or not plots are wanted.
func TestExpectedLatencyNeedsNoPlots(t *testing.T) {
	with, without := run(t, "leader-crash", Options{Seed: 1, Series: true}), run(t, "leader-crash", Options{Seed: 1})
	for i, m := range with.Metrics {
		if m != without.Metrics[i] {
			t.Errorf("%s is %s with plots, %s without", m.Source, m.Value, without.Metrics[i].Value)
		}
	}
}
