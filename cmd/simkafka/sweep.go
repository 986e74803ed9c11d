package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/simkafka/simkafka/faults/point"
	"github.com/simkafka/simkafka/report"
	"github.com/simkafka/simkafka/scenarios"
	"github.com/simkafka/simkafka/sim/cluster"
	"github.com/simkafka/simkafka/sim/sweep"
)

// sweepFlags are the flags of sweep.
type sweepFlags struct {
	seeds    uint64
	time     string
	root     uint64
	gen      string
	beyond   bool
	guide    string
	protocol string
	set      []string
	shard    string
	jobs     int
	out      string
	resume   string
	junit    string
	json     bool
	quiet    bool
	failOn   string
	emit     string
	shards   int
	shrink   string
}

func newSweep(a *app) *cobra.Command {
	s := &sweeper{runner: &runner{app: a}}
	f := &s.flags
	cmd := &cobra.Command{
		Use:   "sweep [NAME|FILE]",
		Short: "Run many seeds, on all cores or on many machines",
		Long: `Runs a scenario under many seeds; without one, another drawn scenario for each
seed (--gen). It writes a line for each seed to a file in out/sweep-NAME; with
--protocol, --set or another --root-seed, in a directory of its own beside it.
Failures are grouped: the first ones of each kind leave a directory with scenario, result, trace, charts and the command that repeats
the run. Every failing seed, and one passing seed of twenty, is run twice; runs
that differ are a fault of the simulator, exit code 4.

Ctrl-C ends the seeds that are running and keeps what is done; --resume goes on.

--shard i/N runs the i-th of N parts. The parts need to know nothing of each
other: simkafka merge puts their files together, and the result does not show
how many there were. --shard auto takes i and N from the environment of
Kubernetes, GitLab, Slurm and others, and fails where they are not clear.`,
		Example: `  simkafka sweep --seeds 1000
  simkafka sweep w1 --seeds 1000
  simkafka sweep my-outage.yaml --time 10m --junit sweep.xml
  simkafka sweep w1 --seeds 1000 --shard 3/16 --out parts
  simkafka sweep w1 --seeds 1000 --resume out/sweep-w1/shard-0001-of-0001.jsonl
  simkafka sweep w1 --seeds 1000 --emit github --shards 16 > sweep.yml`,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case f.gen != "" && len(args) > 0:
				return usage("sweep takes a scenario or --gen, not both")
			case len(args) > 1:
				return usage("sweep takes one scenario")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			s.given = cmd.Flags().Changed
			return s.run(args)
		},
	}
	fl := cmd.Flags()
	fl.Uint64Var(&f.seeds, "seeds", defaultSeeds, "how many seeds; with --time alone as many as it allows")
	fl.StringVar(&f.time, "time", "", "stop after this `time` of the clock on the wall, such as 10m")
	fl.Uint64Var(&f.root, "root-seed", defaultRoot, "seed of the seeds")
	addBeyond(fl, &f.beyond)
	fl.StringVar(&f.gen, "gen", "", "draw a scenario for each seed with this `generator` (see scenarios generate); swarm if nothing is named")
	fl.StringVar(&f.guide, "guide", guideMixed, "`how` faults are drawn: uniform, one by one; lineage, along what acknowledged records or a group's assignment rest on; mixed, each in half of the worlds")
	fl.StringVar(&f.protocol, "protocol", "", "run under this `profile` instead of the scenario's")
	fl.StringArrayVar(&f.set, "set", nil, "override a setting, `key=value` (see run); may be repeated")
	fl.StringVar(&f.shard, "shard", "", "run this part, `i/N` from 1/N to N/N, or auto")
	fl.IntVar(&f.jobs, "jobs", runtime.GOMAXPROCS(0), "simulations at once")
	fl.StringVar(&f.out, "out", "", "write to this `directory` instead of out/sweep-NAME")
	fl.StringVar(&f.resume, "resume", "", "go on with this `file`; auto is the one in --out, if it is there")
	fl.StringVar(&f.junit, "junit", "", "write JUnit XML to `file`")
	fl.BoolVar(&f.json, "json", false, "print one JSON document and nothing else on stdout")
	a.addGHA(fl)
	fl.BoolVarP(&f.quiet, "quiet", "q", false, "print the verdict only, no progress")
	fl.StringVar(&f.failOn, "fail-on", failInconclusive, "which `verdicts` fail the command: inconclusive (and violations), violation, never")
	fl.StringVar(&f.shrink, "shrink", "", "shrink the first failure of each kind, for at most this `time` of the clock on the wall each (20s)")
	fl.Lookup("shrink").NoOptDefVal = "20s"
	fl.StringVar(&f.emit, "emit", "", "print a job for this `system` instead: "+strings.Join(emitNames(), ", "))
	fl.IntVar(&f.shards, "shards", 16, "number of parts of the job that --emit prints")
	fl.Lookup("jobs").DefValue = "all cores"
	return cmd
}

const (
	defaultSeeds = 100
	defaultRoot  = 1 // --root-seed
	// keepEach and keepAll bound the directories that failures leave.
	keepEach = 3
	keepAll  = 100
)

// sweeper runs one sweep. Its runner loads the scenario and repeats runs.
type sweeper struct {
	*runner
	flags  sweepFlags
	given  func(flag string) bool // on the command line
	plan   sweep.Plan
	job    *job // nil of drawn scenarios
	budget time.Duration
	dir    string // --out, or its default
	touch  string // a file that the system wants to see touched
	failed map[uint64]string
	canary sweep.Canary
	// perShrink is --shrink; shrunk are the signatures that have been shrunk.
	perShrink time.Duration
	shrunk    []string
}

func (s *sweeper) run(args []string) error {
	if err := s.check(); err != nil {
		return err
	}
	if err := s.source(args); err != nil {
		return err
	}
	if s.flags.emit != "" {
		return s.emit(args)
	}
	if err := s.part(); err != nil {
		return err
	}
	file, name, err := s.open()
	if err != nil {
		return err
	}
	s.stop = catchInterrupt()
	defer s.stop.release()
	s.canary = sweep.RunCanary(&s.plan, nil)
	state, err := s.sweep(file)
	err = errors.Join(err, file.Close())
	if err != nil {
		return environment(err)
	}
	return s.finish(name, state)
}

func (s *sweeper) check() error {
	f := &s.flags
	if err := point.CheckEnv(); err != nil {
		return usage("%w", err)
	}
	if err := checkFailOn(f.failOn); err != nil {
		return err
	}
	if f.time != "" {
		d, err := scenarios.ParseDuration(f.time, false)
		if err != nil {
			return usage("--time: %w", err)
		}
		s.budget = time.Duration(d)
		if d == 0 {
			return usage("--time 0 leaves nothing to run")
		}
	}
	if f.shrink != "" {
		d, err := scenarios.ParseDuration(f.shrink, false)
		if err != nil {
			return usage("--shrink: %w", err)
		}
		if d == 0 {
			return usage("--shrink 0 leaves no time to shrink")
		}
		s.perShrink = time.Duration(d)
	}
	switch {
	case s.given("seeds") && f.seeds == 0:
		return usage("--seeds 0 leaves nothing to run")
	case f.jobs < 1 || f.jobs > maxJobs:
		return usage("--jobs is 1 to %d", maxJobs)
	case f.resume != "" && f.resume != resumeAuto && f.out != "":
		return usage("--resume FILE writes beside that file; --out goes with --resume auto")
	}
	return nil
}

const (
	maxJobs    = 4096
	resumeAuto = "auto"
)

// source fills the plan but for its shard.
func (s *sweeper) source(args []string) error {
	f := &s.flags
	s.plan = sweep.Plan{Root: f.root, Count: f.seeds}
	if s.budget > 0 && !s.given("seeds") {
		s.plan.Count = 0
	}
	gen, err := f.generator(len(args) > 0)
	if err != nil {
		return err
	}
	r := s.runner
	r.flags = runFlags{gen: gen, seed: 1, protocol: f.protocol, set: f.set, failOn: f.failOn, noOut: true, quiet: f.quiet, json: f.json}
	if err := r.check(args); err != nil {
		return err
	}
	jobs, err := r.prepare(args)
	if err != nil {
		return err
	}
	j := &jobs[0]
	if _, err := cluster.New(j.spec, cluster.Options{Seed: 1}); err != nil {
		return usage("%s: %w", j.source.file, err)
	}
	s.plan.Replay = r.command(j)
	if r.flags.gen != "" {
		s.plan.Source, err = sweep.Drawn(r.flags.gen, r.draw)
		return err
	}
	s.plan.Source, s.job = sweep.Scenario(j.spec), j
	return nil
}

// part takes the shard from --shard.
func (s *sweeper) part() error {
	s.plan.Shard = sweep.Whole()
	switch s.flags.shard {
	case "":
		return nil
	case "auto":
		d, err := sweep.Detect(os.Getenv)
		if err != nil {
			return usage("--shard auto: %w", err)
		}
		s.plan.Shard, s.touch = d.Shard, d.Touch
		if !s.flags.quiet {
			fmt.Fprintf(s.stderr, "shard %s, of %s\n", d.Shard, d.System)
		}
		return nil
	}
	shard, err := sweep.ParseShard(s.flags.shard)
	if err != nil {
		return usage("--shard: %w", err)
	}
	s.plan.Shard = shard
	return nil
}

// sweep runs what is left to run.
func (s *sweeper) sweep(file *sweep.File) (state string, err error) {
	defer collectAt(sweepGarbage)()
	defer tuneMemory(s.flags.jobs)()
	deadline := time.Now().Add(s.budget)
	show := s.newBar(deadline)
	defer show.done()
	if s.touch != "" {
		if err := os.WriteFile(s.touch, nil, 0o666); err != nil {
			return "", err
		}
	}
	return sweep.Run(&s.plan, file, sweep.Options{Jobs: s.flags.jobs, Keep: s.keep, KeepEach: keepEach, KeepAll: keepAll, Progress: show.update,
		Stop: func() string {
			switch {
			case s.stop.requested():
				return sweep.Interrupted
			case s.budget == 0 || time.Now().Before(deadline):
				return ""
			case s.plan.Count == 0:
				return sweep.Complete
			}
			return sweep.OutOfTime
		}})
}

// finish reads the file again, as merge would, and reports it.
func (s *sweeper) finish(name, state string) error {
	file, err := sweep.ReadFile(name)
	if err != nil {
		return &codeError{exitSimulator, err}
	}
	m := &sweep.Merged{Header: file.Header, Lines: file.Lines, State: state}
	files := []string{filepath.ToSlash(relative(name))}
	if s.plan.Shard == sweep.Whole() && state == sweep.Complete {
		if m, err = sweep.Merge([]sweep.Part{{Name: name, File: file}}); err != nil {
			return &codeError{exitSimulator, err}
		}
		if err := writeMerged(s.dir, m, nil); err != nil {
			return environment(err)
		}
		files = []string{filepath.ToSlash(relative(s.dir))}
	}
	if s.flags.junit != "" {
		if err := writeTo(s.flags.junit, func(w io.Writer) error { return report.WriteJUnit(w, m) }); err != nil {
			return environment(err)
		}
	}
	s.code = worse(s.code, worse(sweepCode(m, s.flags.failOn, false), canaryCode(&s.canary)))
	if state == sweep.Interrupted {
		s.code = worse(s.code, exitInterrupted)
	}
	if (state == sweep.Interrupted || state == sweep.OutOfTime) && !s.flags.quiet {
		fmt.Fprintf(s.stderr, "to go on, the same command with --resume %s\n", cmp.Or(s.flags.resume, resumeAuto))
	}
	if s.canary.Missed != "" {
		fmt.Fprintf(s.stderr, "the canary %s was missed: this sweep would not see a bug that is there\n", s.canary.Bug)
	}
	o := report.SweepOptions{Kept: func(k uint64) string { return s.failed[k] }, Files: files, Canary: &s.canary}
	s.annotateSweep(m, s.job, sweepCode(m, s.flags.failOn, false), o)
	return s.printSweep(m, o, s.flags.json, s.flags.quiet)
}

// printSweep prints a sweep as the flags say.
func (a *app) printSweep(m *sweep.Merged, o report.SweepOptions, asJSON, quiet bool) error {
	return a.print(func(w io.Writer) error {
		o.Style = a.style(w)
		switch {
		case asJSON:
			return report.WriteSweepJSON(w, m, o.Baseline)
		case quiet:
			return report.WriteSweepVerdict(w, m, o.Style)
		}
		return report.WriteSweep(w, m, o)
	})
}

// sweepCode is the exit code of a sweep. partial allows it to lack runs.
func sweepCode(m *sweep.Merged, failOn string, partial bool) int {
	t := m.Totals()
	code := exitPass
	if t.Errors > 0 {
		code = worse(code, exitSimulator)
	}
	if t.Violated > 0 && failOn != failNever {
		code = worse(code, exitViolated)
	}
	if (t.Inconclusive > 0 || m.State != sweep.Complete && !partial) && failOn == failInconclusive {
		code = worse(code, exitInconclusive)
	}
	return code
}

// canaryCode is the exit code of a sweep that passes, by its canary: one that sees no bug
// has shown nothing (interface 4.3.8). --fail-on does not demote it, as a part that only
// collects would then tell nobody.
func canaryCode(c *sweep.Canary) int {
	if c.Missed != "" {
		return exitInconclusive
	}
	return exitPass
}
