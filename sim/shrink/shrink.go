package shrink

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/outcome"
	"github.com/simkafka/simkafka/scenarios"
	"github.com/simkafka/simkafka/sim/cluster"
)

// Options bound a search.
type Options struct {
	// Invariant is what must go on failing; "" is the one that decided the verdict.
	Invariant string
	MaxRuns   int         // simulations, at least 4; 0 is DefaultRuns
	Stop      func() bool // asked before each simulation; nil never stops
	Progress  func(Progress)
}

// DefaultRuns is the bound that nearly every failure needs less than.
const DefaultRuns = 200

// Progress is how far a search is.
type Progress struct {
	Runs, MaxRuns int
	Doing         string // what is being removed
	Size          Size   // of the smallest so far
}

// Shrunk is a small failing scenario.
type Shrunk struct {
	Spec   *scenarios.Spec
	Seed   uint64
	Target Target          // as the small one shows it
	Result *outcome.Result // of the small one, complete
	Before outcome.Result  // of what was shrunk
	From   Size
	To     Size
	Runs   int    // simulations that the search took
	Ended  string // why it ended before nothing could be removed any more; "" if it did not
}

// ErrNotFrozen says that a run could not be written down: with every fault at the time
// at which it struck, and even with its triggers, it does not fail again.
var ErrNotFrozen = errors.New("the run fails otherwise when its faults are written down")

// Run shrinks a failing run. The scenario is not changed. An error says that the run
// does not fail, or not again.
func Run(spec *scenarios.Spec, seed uint64, opts Options) (*Shrunk, error) {
	if opts.MaxRuns == 0 {
		opts.MaxRuns = DefaultRuns
	}
	s := &search{opts: opts, seed: seed}
	first, firings, err := s.first(spec)
	if err != nil {
		return nil, err
	}
	if s.target, err = Find(spec, first, opts.Invariant); err != nil {
		return nil, err
	}
	s.limit = wild(first)
	struck := 0
	for _, f := range firings {
		if f.Hit != "" {
			struck++
		}
	}
	out := &Shrunk{Seed: seed, Before: *first, From: sizeOf(spec, first, struck)}
	best := s.smallest(spec, firings)
	if best == nil {
		return nil, ErrNotFrozen
	}
	out.Runs, out.Ended = s.runs, s.ended
	return out, s.finish(out, best, spec)
}

// search is one shrinking.
type search struct {
	opts   Options
	seed   uint64
	target Target
	limit  uint64 // steps of a candidate: one that runs wild is none
	runs   int
	bound  int    // of runs, in this phase
	ended  string // why no more runs begin
	doing  string
	seen   map[string]bool

	cur *found
}

// found is a candidate that fails as wanted.
type found struct {
	spec   *scenarios.Spec
	result *outcome.Result // possibly of a run that was stopped when the failure showed
	target Target
}

func (f *found) size() Size { return sizeOf(f.spec, f.result, len(f.spec.Events)) }

// first runs what is to be shrunk and keeps what its faults did.
func (s *search) first(spec *scenarios.Spec) (*outcome.Result, []*cluster.Firing, error) {
	var firings []*cluster.Firing
	var r *outcome.Result
	err := guarded(func() (err error) {
		r, err = cluster.Run(spec, cluster.Options{Seed: s.seed, Fired: func(f *cluster.Firing) { firings = append(firings, f) }})
		return err
	})
	s.runs++
	return r, firings, err
}

// wild is how many steps of a candidate show that it runs wild.
func wild(first *outcome.Result) uint64 { return 4*first.Events + 1_000_000 }

// guarded turns a panic of the simulator into an error.
func guarded(run func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the simulator failed: %v\n%s", p, debug.Stack())
		}
	}()
	return run()
}

// smallest shrinks the run frozen by time, and if that leaves it large, by trigger.
func (s *search) smallest(spec *scenarios.Spec, firings []*cluster.Firing) *found {
	var best *found
	for _, how := range []form{byTime, byTrigger} {
		if how == byTrigger && (!waits(spec) || best != nil && best.size().small()) {
			break
		}
		s.bound = s.opts.MaxRuns - spared
		if how == byTime && waits(spec) {
			s.bound = s.opts.MaxRuns * 3 / 5
		}
		s.cur, s.seen, s.doing = nil, make(map[string]bool), "freezing the faults"
		if !s.try(s.base(freeze(spec, firings, how)), func(*scenarios.Spec) bool { return true }) {
			continue
		}
		s.reduce()
		if best == nil || s.cur.size().weight() < best.size().weight() {
			best = s.cur
		}
	}
	return best
}

// base leaves nothing that the scenario expects but the failure.
func (s *search) base(spec *scenarios.Spec) *scenarios.Spec {
	x := scenarios.Expect{BeyondBudget: spec.Expect.BeyondBudget}
	for _, m := range spec.Expect.Metrics {
		if m.Source == s.target.Metric {
			x.Metrics = []scenarios.Metric{m}
		}
	}
	spec.Expect, spec.Why, spec.Look, spec.NotModelled = x, "", "", nil
	return spec
}

// spared are the runs that are left for the end.
const spared = 2

// maxRounds bounds how often all passes are gone through.
const maxRounds = 3

// reduce goes through the passes until none finds anything.
func (s *search) reduce() {
	for range maxRounds {
		before := s.cur.spec.Digest()
		for _, p := range []struct {
			doing string
			run   func()
		}{
			{"faults", s.faults}, {"the end", s.end}, {"consumers", s.consumers}, {"producers", s.producers}, {"topics", s.topics},
			{"partitions", s.partitions}, {"brokers", s.brokers}, {"faults", s.faults}, {"records", s.records}, {"settings", s.settings},
			{"values", s.values}, {"faults' sides", s.sides}, {"times", s.times},
		} {
			s.doing = p.doing
			p.run()
		}
		if s.over() || s.cur.spec.Digest() == before {
			return
		}
	}
}

// over reports whether no more candidates may be run.
func (s *search) over() bool {
	switch {
	case s.ended != "":
		return true
	case s.runs >= s.opts.MaxRuns-spared:
		s.ended = fmt.Sprintf("after %d runs", s.opts.MaxRuns)
		return true
	case s.opts.Stop != nil && s.opts.Stop():
		s.ended = "out of time"
		return true
	}
	return s.runs >= s.bound
}

// change tries the current scenario with an edit, which reports whether it changed
// anything.
func (s *search) change(edit func(*scenarios.Spec) bool) bool {
	return s.try(s.cur.spec, edit)
}

// try runs an edited copy of a scenario and takes it over if it fails as wanted.
func (s *search) try(from *scenarios.Spec, edit func(*scenarios.Spec) bool) bool {
	if s.over() {
		return false
	}
	c, err := reload(from)
	if err != nil || !edit(c) {
		return false
	}
	if c, err = reload(c); err != nil || c.WithoutCoordinators() != "" && from.WithoutCoordinators() == "" {
		return false // it lacks what something else in it needs
	}
	d := c.Digest()
	if s.seen[d] {
		return false
	}
	s.seen[d] = true
	r := s.run(c)
	if r == nil {
		return false
	}
	t, same := s.target.in(r, c)
	if same {
		s.cur = &found{c, r, t}
	}
	if s.opts.Progress != nil && s.cur != nil {
		s.opts.Progress(Progress{s.runs, s.opts.MaxRuns, s.doing, s.cur.size()})
	}
	return same
}

// reload makes a deep copy through the scenario's own text: a candidate is what its file
// will say.
func reload(spec *scenarios.Spec) (*scenarios.Spec, error) {
	out, err := scenarios.Load(spec.Name+".yaml", []byte(spec.YAML()), nil)
	if err != nil {
		return nil, err
	}
	for i := range out.Events {
		out.Events[i].Line = 0
	}
	if out.Cluster.Endpoints == 1 { // the default, which need not be said
		out.Cluster.Endpoints = 0
	}
	out.File, out.Warnings = "", nil
	return out, nil
}

// run simulates a candidate until the failure shows; nil if it cannot be run.
func (s *search) run(spec *scenarios.Spec) (r *outcome.Result) {
	s.runs++
	err := guarded(func() error {
		var c *cluster.Cluster
		opts := cluster.Options{Seed: s.seed, MaxEvents: s.limit}
		opts.Progress = func(kafka.Nanos, uint64) {
			if s.target.among(c.Violations(), spec) != nil {
				c.Kernel().Halt()
			}
		}
		var err error
		if c, err = cluster.New(spec, opts); err == nil {
			r = c.Run()
		}
		return err
	})
	if err != nil {
		return nil
	}
	return r
}

// suffix tells a shrunk scenario's name from that of what it was made of.
const suffix = "-shrunk"

// finish runs the small scenario to its end and names it.
func (s *search) finish(out *Shrunk, best *found, spec *scenarios.Spec) error {
	out.Spec = best.spec
	if len(spec.Name) < 90 && !strings.HasSuffix(spec.Name, suffix) {
		out.Spec.Name = spec.Name + suffix
	}
	if err := s.whole(out); err != nil {
		return err
	}
	if slices.Contains(spec.Expect.Violated, s.target.Invariant) { // the scenario of a bug, which passes if it shows it
		for i := range out.Result.Violations {
			if n := out.Result.Violations[i].Invariant; !slices.Contains(out.Spec.Expect.Violated, n) {
				out.Spec.Expect.Violated = append(out.Spec.Expect.Violated, n)
			}
		}
		if err := s.whole(out); err != nil {
			return err
		}
	}
	t, same := s.target.in(out.Result, out.Spec)
	if !same {
		return errors.New("the shrunk scenario does not fail when it is run to its end")
	}
	out.Target, out.To = t, sizeOf(out.Spec, out.Result, len(out.Spec.Events))
	return nil
}

// whole runs what was found to its end.
func (s *search) whole(out *Shrunk) error {
	out.Runs++
	return guarded(func() (err error) {
		out.Result, err = cluster.Run(out.Spec, cluster.Options{Seed: s.seed, Series: true})
		return err
	})
}
