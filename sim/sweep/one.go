package sweep

import (
	"fmt"
	"runtime/debug"

	"github.com/simkafka/simkafka/model/outcome"
	"github.com/simkafka/simkafka/scenarios"
	"github.com/simkafka/simkafka/sim/cluster"
	"github.com/simkafka/simkafka/sim/kernel"
)

// Simulate runs a scenario; it is cluster.Run, or a twin of it in tests.
type Simulate func(*scenarios.Spec, cluster.Options) (*outcome.Result, error)

// Try runs one seed of a source as a sweep would, twice where that is due. failure is
// nil if it passed.
func Try(source Source, seed uint64) (line Line, failure *Failure) {
	s := &sweep{plan: &Plan{Source: source}, opts: Options{Simulate: cluster.Run}}
	line = s.seed(0, seed, nil)
	if line.failed() {
		failure = s.failure(line)
	}
	return line, failure
}

// one runs k.
func (s *sweep) one(k uint64, warm *cluster.Warm) Line {
	return s.seed(k, Seed(s.plan.Root, s.digest, k), warm)
}

// seed runs a seed, and once more where that is due, and says what came out. The second
// run gets no warm memory, so that one that depends on it is found out, too.
func (s *sweep) seed(k, seed uint64, warm *cluster.Warm) Line {
	line := Line{K: k, Seed: seed, Runs: 1}
	spec, err := s.plan.Source.Spec(seed)
	if err != nil {
		return line.broken(fmt.Sprintf("no scenario for seed %d: %v", seed, err))
	}
	r, trouble := s.run(spec, cluster.Options{Seed: seed, Warm: warm})
	if trouble != nil {
		return line.broken(trouble.what)
	}
	line.Verdict, line.Fingerprint, line.Events, line.End, line.Loss = r.Verdict, r.Fingerprint, r.Events, r.End, r.Loss.Records
	for _, p := range r.Probes {
		if line.Probes == nil {
			line.Probes = make(map[string]int64, len(r.Probes))
		}
		line.Probes[p.Name] = p.N
	}
	line.describe(r, spec)
	if !line.failed() && !Repeated(seed) {
		return line
	}
	line.Runs = 2
	again, trouble := s.run(spec, cluster.Options{Seed: seed})
	if trouble != nil {
		return line.broken("its second run: " + trouble.what)
	}
	if d := differ(r, again); d != "" {
		return line.broken(d)
	}
	return line
}

// broken is the line of a run in which the simulator itself failed.
func (l Line) broken(what string) Line {
	return Line{K: l.K, Seed: l.Seed, Runs: l.Runs, Verdict: outcome.Error, What: what, Signature: "error: " + Pattern(what)}
}

// trouble is a run without a result.
type trouble struct{ what, stack string }

// run simulates; a panic outside of an actor is the simulator's fault, and this run's
// alone.
func (s *sweep) run(spec *scenarios.Spec, o cluster.Options) (r *outcome.Result, t *trouble) {
	defer func() {
		if p := recover(); p != nil {
			if o.Warm != nil {
				*o.Warm = cluster.Warm{}
			}
			r, t = nil, &trouble{fmt.Sprintf("the simulator failed: %v", p), string(debug.Stack())}
		}
	}()
	r, err := s.opts.Simulate(spec, o)
	if err != nil {
		return nil, &trouble{what: fmt.Sprintf("the scenario cannot be run: %v", err)}
	}
	return r, nil
}

// Failure is a failing run that is worth keeping: the first few of each signature.
type Failure struct {
	Line
	Spec *scenarios.Spec // nil if the source gave none
	s    *sweep
}

func (s *sweep) failure(l Line) *Failure {
	f := &Failure{Line: l, s: s}
	f.Spec, _ = s.plan.Source.Spec(l.Seed) // without one the line says why
	return f
}

// Run runs it again, with everything that reports want; observer may be nil. If there
// is no result, err says why and stack where. A result that is not the one of the
// first run is an error too, beside the result.
func (f *Failure) Run(observer kernel.Observer) (r *outcome.Result, stack string, err error) {
	if f.Spec == nil {
		return nil, "", fmt.Errorf("%s", f.What)
	}
	r, t := f.s.run(f.Spec, cluster.Options{Seed: f.Seed, Series: true, Observer: observer})
	if t != nil {
		return nil, t.stack, fmt.Errorf("%s", t.what)
	}
	if f.Fingerprint != "" && r.Fingerprint != f.Fingerprint {
		err = fmt.Errorf("seed %d gave fingerprint %s, now %s", f.Seed, f.Fingerprint, r.Fingerprint)
	}
	return r, "", err
}
