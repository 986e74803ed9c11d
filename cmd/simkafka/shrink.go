package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/simkafka/simkafka/report"
	"github.com/simkafka/simkafka/scenarios"
	"github.com/simkafka/simkafka/sim/explain"
	"github.com/simkafka/simkafka/sim/shrink"
)

// shrinker shrinks one failing run.
type shrinker struct {
	failing
	maxRuns int
	time    string
	budget  time.Duration
}

func newShrink(a *app) *cobra.Command {
	s := &shrinker{failing: failing{runner: &runner{app: a}}}
	cmd := &cobra.Command{
		Use:   "shrink NAME|FILE|DIR",
		Short: "Make a small scenario of a failing run",
		Long: `Runs a scenario that fails, writes its faults down as they struck, and removes
whatever the failure does not need: faults, clients, records, brokers,
partitions, settings. What is left fails the same invariant on the same kind of
object, with the same seed. It is written as a scenario with a comment on top
that says what happens.

DIR is the directory of a failing seed, or of a run.`,
		Example: `  simkafka shrink my-outage.yaml --seed 7
  simkafka shrink --gen swarm --seed 43
  simkafka shrink bugs/KAFKA-727
  simkafka shrink out/sweep-w1/failures/k17`,
		RunE: func(cmd *cobra.Command, args []string) error { return s.run(cmd, args) },
	}
	s.addFlags(cmd)
	fl := cmd.Flags()
	fl.StringVar(&s.flags.out, "out", "", "write the scenario to this `file`, - is stdout; else to DIR/shrunk.yaml or out/NAME-SEED-shrunk.yaml")
	fl.IntVar(&s.maxRuns, "max-runs", shrink.DefaultRuns, "simulations at most")
	fl.StringVar(&s.time, "time", "60s", "end the search after this `time` of the clock on the wall")
	fl.BoolVarP(&s.flags.quiet, "quiet", "q", false, "print no progress")
	return cmd
}

// minRuns are the run itself, the frozen one, and those that are left for the end.
const minRuns = 4

func (s *shrinker) run(cmd *cobra.Command, args []string) error {
	out := s.flags.out
	s.flags.out = ""
	d, err := scenarios.ParseDuration(s.time, false)
	switch {
	case err != nil:
		return usage("--time: %w", err)
	case d == 0 || s.maxRuns < minRuns:
		return usage("--time is longer than 0 and --max-runs at least %d", minRuns)
	}
	s.budget = time.Duration(d)
	if err := s.load(cmd, args); err != nil {
		return err
	}
	if out == "" {
		out = s.place()
	}
	if out != "-" {
		if err := (&outDir{path: out}).writable(); err != nil {
			return err
		}
	}
	s.stop = catchInterrupt()
	defer s.stop.release()
	found, err := s.search()
	if err != nil {
		return wrong(err)
	}
	if s.stop.requested() {
		s.code = worse(s.code, exitInterrupted)
	}
	return s.write(found, out)
}

// place is where the scenario goes if nothing is said.
func (s *shrinker) place() string {
	if s.dir != "" {
		return filepath.Join(s.dir, report.ShrunkFile)
	}
	return filepath.Join("out", s.outName(s.spec)+"-shrunk.yaml")
}

func (s *shrinker) search() (*shrink.Shrunk, error) {
	deadline := time.Now().Add(s.budget)
	line := s.newStatus(s.flags.quiet)
	defer line.clear()
	show := func(x shrink.Progress) {
		if line.due() {
			line.show(fmt.Sprintf("shrinking: %d of %d runs, at %d faults, %d brokers, %d records, trying %s", x.Runs, x.MaxRuns,
				x.Size.Faults, x.Size.Brokers, x.Size.Operations, x.Doing))
		}
	}
	return shrink.Run(s.spec, s.flags.seed, shrink.Options{Invariant: s.invariant, MaxRuns: s.maxRuns, Progress: show,
		Stop: func() bool { return s.stop.requested() || time.Now().After(deadline) }})
}

// write writes the scenario and says what was done.
func (s *shrinker) write(found *shrink.Shrunk, out string) error {
	story, err := explain.Explain(found.Spec, found.Seed, explain.Options{Invariant: found.Target.Invariant, Lines: report.ShrunkStory, NoCauses: true})
	if err != nil {
		return wrong(err)
	}
	file := out
	if out == "-" {
		file = "shrunk.yaml"
	}
	replay := fmt.Sprintf("simkafka run %s --seed %d", quote(filepath.ToSlash(relative(file))), found.Seed)
	var text bytes.Buffer
	inside := fmt.Sprintf("simkafka run %s --seed %d", quote(filepath.Base(file)), found.Seed)
	if err := report.WriteShrunk(&text, found, story, inside); err != nil {
		return err
	}
	if out == "-" {
		_, err := s.stdout.Write(text.Bytes())
		return err
	}
	err = os.MkdirAll(filepath.Dir(out), 0o777)
	if err == nil {
		err = writeTo(out, func(w io.Writer) error {
			_, err := w.Write(text.Bytes())
			return err
		})
	}
	if err != nil {
		return environment(err)
	}
	return s.print(func(w io.Writer) error {
		return report.WriteShrinking(w, found, filepath.ToSlash(relative(out)), replay, s.style(w))
	})
}
