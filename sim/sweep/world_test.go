package sweep

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/outcome"
	"github.com/simkafka/simkafka/scenarios"
	"github.com/simkafka/simkafka/sim/cluster"
)

// paper is a source whose runs are made up by fake.
type paper struct{ name string }

func (p paper) Name() string   { return p.name }
func (p paper) Digest() Digest { return sha256.Sum256([]byte(p.name)) }
func (p paper) Spec(seed uint64) (*scenarios.Spec, error) {
	return &scenarios.Spec{Name: p.name}, nil
}

// fake is a run that costs nothing: one seed in seven has the first bug, one in
// eleven the second, one in thirteen does not end.
func fake(_ *scenarios.Spec, o cluster.Options) (*outcome.Result, error) {
	r := &outcome.Result{Seed: o.Seed, Verdict: outcome.Pass, Fingerprint: fmt.Sprintf("%032x", o.Seed), Events: o.Seed % 1000,
		End: kafka.Nanos(o.Seed % 100), Probes: []outcome.Count{{Name: fmt.Sprint("p", o.Seed%3), N: 1}}}
	r.Faults = []outcome.Fault{{Text: "kill: broker-1"}, {Text: fmt.Sprintf("fault%d: broker-2", o.Seed%4)}}
	fail := func(name, what string) {
		r.Verdict = outcome.Violated
		r.Violations = append(r.Violations, outcome.Violation{Invariant: name, What: what, At: 5})
		r.Why = append(r.Why, name+" is violated")
	}
	if o.Seed%7 == 0 {
		fail("no-acked-loss", fmt.Sprintf("record %d of orders-%d is gone from {%d,2,3}", o.Seed%97, o.Seed%12, o.Seed%3))
	}
	if o.Seed%11 == 0 {
		fail("log-matching", fmt.Sprintf("offset %d differs", o.Seed%1000))
	}
	if r.Verdict == outcome.Pass && o.Seed%13 == 0 {
		r.Verdict, r.Why = outcome.Inconclusive, []string{fmt.Sprintf("limit of %d events", o.Seed%50)}
	}
	return r, nil
}

func papers(count uint64, shard Shard) *Plan {
	return &Plan{Source: paper{"made-up"}, Root: 1, Count: count, Shard: shard, Replay: "simkafka run made-up"}
}

// sweepInto runs a plan into a file of the directory and returns the file's name.
func sweepInto(t testing.TB, dir string, plan *Plan, opts Options) (name, state string) {
	t.Helper()
	name = filepath.Join(dir, plan.Shard.File())
	f, err := Create(name, plan)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if opts.Simulate == nil {
		opts.Simulate = fake
	}
	state, err = Run(plan, f, opts)
	if err != nil {
		t.Fatal(err)
	}
	return name, state
}

func parts(t testing.TB, names ...string) []Part {
	t.Helper()
	var out []Part
	for _, n := range names {
		f, err := ReadFile(n)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, Part{filepath.Base(n), f})
	}
	return out
}

func merged(t testing.TB, names ...string) []byte {
	t.Helper()
	m, err := Merge(parts(t, names...))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := m.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func contents(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
