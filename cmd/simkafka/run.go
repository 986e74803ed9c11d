package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/outcome"
	"github.com/simkafka/simkafka/report"
	"github.com/simkafka/simkafka/sim/cluster"
)

// runFlags are the flags of run.
type runFlags struct {
	seed       uint64
	gen        string
	beyond     bool // replaces gen by what is beyond the budget
	protocol   string
	set        []string
	until      string
	out        string
	noOut      bool
	noCharts   bool
	json       bool
	quiet      bool
	trace      string
	traceSteps bool
	failOn     string
	maxEvents  uint64
	checkWire  bool
	at         string
}

func newRun(a *app) *cobra.Command {
	r := &runner{app: a}
	f := &r.flags
	cmd := &cobra.Command{
		Use:   "run NAME|FILE... [--at TIME groups]",
		Short: "Run scenarios and say what was lost, and for how long",
		Long: `Runs each scenario, prints a summary and writes result.json, summary.txt,
timeline.txt, scenario.yaml and the charts to out/NAME-SEED; with --set,
--protocol and other flags that change the run, to a directory of its own beside
it. A scenario is a built-in name (see scenarios list), a file, or - for stdin.

--set takes any setting of simkafka config list. Without a prefix it is a
broker's; producer.KEY and consumer.KEY are those of all clients,
topic:NAME:KEY is that of a topic.

With --at TIME, the last word is what to look at in the middle of the run, instead
of its result: groups, as kafka-consumer-groups --describe prints them. TIME is
virtual, from the start of the run.`,
		Example: `  simkafka run leader-crash --seed 7
  simkafka run leader-crash --set min.insync.replicas=1 --set producer.acks=1
  simkafka run my-outage.yaml --until 41.2s --trace trace.txt
  simkafka run leader-crash --json --no-out
  simkafka run killed-consumer --at 45s groups`,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case f.at != "" && (len(args) == 0 || !shown(args[len(args)-1])):
				hint := ""
				if len(args) > 1 {
					hint = didYouMean(args[len(args)-1], []string{"groups"})
				}
				return usage("--at needs to know of what, as in: simkafka run killed-consumer --at %s groups%s", f.at, hint)
			case f.at != "" && (f.gen == "") != (len(args) == 2):
				return usage("--at looks at one scenario")
			case f.at != "":
				return nil
			case f.gen != "" && len(args) > 0:
				return usage("run takes scenarios or --gen, not both")
			case f.beyond && f.gen == "":
				return usage("--beyond-budget is about drawn scenarios: name a generator with --gen")
			case f.gen == "" && len(args) == 0:
				return usage("name a scenario: a built-in one (see simkafka scenarios list), a file, or -")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) (err error) {
			if f.beyond {
				if f.gen, err = beyondBudget(f.gen); err != nil {
					return err
				}
			}
			if f.at != "" {
				return r.look(args[:len(args)-1])
			}
			return r.run(args)
		},
	}
	fl := cmd.Flags()
	fl.Uint64Var(&f.seed, "seed", 1, "seed of every random draw")
	fl.StringVar(&f.gen, "gen", "", "run what this `generator` draws from the seed (see scenarios generate)")
	addBeyond(fl, &f.beyond)
	fl.StringVar(&f.protocol, "protocol", "", "run under this `profile` instead of the scenario's")
	fl.StringArrayVar(&f.set, "set", nil, "override a setting, `key=value`; may be repeated")
	fl.StringVar(&f.until, "until", "", "stop at this virtual `time`, such as 12.5s; the run is then inconclusive")
	fl.StringVar(&f.at, "at", "", "show the state at this virtual `time`; the last argument says of what: groups")
	fl.StringVar(&f.out, "out", "", "write to this `directory` instead of out/NAME-SEED")
	fl.BoolVar(&f.noOut, "no-out", false, "write no files")
	fl.BoolVar(&f.noCharts, "no-charts", false, "write no pictures")
	fl.BoolVar(&f.json, "json", false, "print one JSON document and nothing else on stdout")
	a.addGHA(fl)
	fl.BoolVarP(&f.quiet, "quiet", "q", false, "print the verdict only, no progress")
	fl.StringVar(&f.trace, "trace", "", "write a text trace to `file` or - (see help trace)")
	fl.BoolVar(&f.traceSteps, "trace-steps", false, "trace every step too")
	fl.StringVar(&f.failOn, "fail-on", failInconclusive, "which `verdicts` fail the command: inconclusive (and violations), violation, never")
	fl.Uint64Var(&f.maxEvents, "max-events", 0, "stop after this many steps, inconclusive; 0 is no limit")
	fl.BoolVar(&f.checkWire, "check-wire", false, "encode, decode and compare every message; slow")
	return cmd
}

// runner runs the scenarios of one command.
type runner struct {
	*app
	flags     runFlags
	until     kafka.Nanos
	overrides []override
	stop      *interrupt
	results   []*outcome.Result
	cluster   *cluster.Cluster // of the last run
}

func (r *runner) run(args []string) error {
	if err := r.check(args); err != nil {
		return err
	}
	jobs, err := r.prepare(args)
	if err != nil {
		return err
	}
	r.stop = catchInterrupt()
	defer r.stop.release()
	for i := range jobs {
		if i > 0 && !r.flags.json && !r.flags.quiet {
			fmt.Fprintln(r.human())
		}
		if err := r.one(&jobs[i]); err != nil {
			r.fail(err)
		}
		if r.stop.requested() {
			r.code = worse(r.code, exitInterrupted)
			break
		}
	}
	if r.flags.json {
		return r.printJSON()
	}
	return nil
}

// human is where text for people goes: a trace or JSON on stdout has it alone.
func (r *runner) human() io.Writer {
	if r.flags.trace == "-" {
		return r.stderr
	}
	return r.stdout
}

// one runs a job, writes its files and prints it.
func (r *runner) one(j *job) error {
	res, err := r.simulate(j)
	if err != nil {
		return err
	}
	r.results = append(r.results, res)
	r.code = worse(r.code, verdictCode(res.Verdict, r.flags.failOn))
	r.annotateRun(res, j, r.flags.failOn, r.replay(j))
	out := ""
	if j.out != nil {
		if err := j.out.write(res, j.spec, report.DirOptions{Replay: r.replay(j), NoCharts: r.flags.noCharts}); err != nil {
			r.fail(environment(err))
		} else {
			out = filepath.ToSlash(relative(j.out.path))
		}
	}
	w := r.human()
	switch {
	case r.flags.json:
		return nil
	case r.flags.quiet:
		err = report.WriteVerdict(w, res, r.style(w))
	default:
		err = report.WriteSummary(w, res, report.SummaryOptions{Style: r.style(w), Replay: r.replay(j), Out: out})
	}
	if err != nil {
		return environment(err)
	}
	return nil
}

// simulate runs the cluster. A panic outside of an actor is the simulator's fault.
func (r *runner) simulate(j *job) (res *outcome.Result, err error) {
	defer collectAt(runGarbage)()
	defer func() {
		if p := recover(); p != nil {
			err = &codeError{exitSimulator, fmt.Errorf("the simulator failed: %v\nreplay: %s\n%s", p, r.replay(j), debug.Stack())}
		}
	}()
	opts := cluster.Options{Seed: r.flags.seed, Until: r.until, Series: true, MaxEvents: r.flags.maxEvents, CheckWire: r.flags.checkWire}
	trace, err := r.openTrace(j)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, trace.close()) }()
	trace.attach(&opts)
	show := r.newProgress(j.spec)
	defer show.done()
	var c *cluster.Cluster
	opts.Progress = func(now kafka.Nanos, events uint64) {
		show.update(now, events)
		if r.stop.requested() {
			c.Kernel().Halt()
		}
	}
	if c, err = cluster.New(j.spec, opts); err != nil {
		return nil, usage("%s: %w", j.source.file, err)
	}
	trace.name(c.Kernel().Name)
	res = c.Run()
	r.cluster = c
	if r.stop.requested() {
		res.Why = append([]string{"interrupted"}, res.Why...)
	}
	return res, nil
}
