package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/simkafka/simkafka/model/invariant"
	"github.com/simkafka/simkafka/report"
	"github.com/simkafka/simkafka/scenarios"
	"github.com/simkafka/simkafka/sim/shrink"
)

// failing is the run that shrink and explain are about: a scenario and a seed, what a
// generator draws, or the directory that a run or a sweep has left.
type failing struct {
	*runner
	invariant string
	seeded    bool   // --seed was given
	dir       string // "" unless a directory was named
	spec      *scenarios.Spec
	replay    string
}

// addFlags adds the flags that say which run is meant.
func (x *failing) addFlags(cmd *cobra.Command) {
	f := &x.flags
	fl := cmd.Flags()
	fl.Uint64Var(&f.seed, "seed", 1, "seed of the run; a directory says its own")
	fl.StringVar(&f.gen, "gen", "", "the run of what this `generator` draws from the seed (see scenarios generate)")
	fl.StringVar(&f.protocol, "protocol", "", "run under this `profile` instead of the scenario's")
	fl.StringArrayVar(&f.set, "set", nil, "override a setting, `key=value` (see run); may be repeated")
	fl.StringVar(&x.invariant, "invariant", "", "the failure of this `invariant`, not the one that decided the verdict (see invariants list)")
	cmd.Args = func(_ *cobra.Command, args []string) error {
		switch {
		case f.gen != "" && len(args) > 0:
			return usage("%s takes a scenario or --gen, not both", cmd.Name())
		case f.gen == "" && len(args) == 0:
			return usage("name a failing run: a scenario, the directory of a failure, or --gen")
		case len(args) > 1:
			return usage("%s takes one scenario or directory", cmd.Name())
		}
		return nil
	}
}

// load finds the run.
func (x *failing) load(cmd *cobra.Command, args []string) error {
	x.seeded = cmd.Flags().Changed("seed")
	x.flags.noOut, x.flags.failOn = true, failNever
	if err := x.known(); err != nil {
		return err
	}
	if len(args) == 1 {
		if info, err := os.Stat(args[0]); err == nil && info.IsDir() {
			if args, err = x.directory(args[0]); err != nil {
				return err
			}
		}
	}
	if err := x.check(args); err != nil {
		return err
	}
	jobs, err := x.prepare(args)
	if err != nil {
		return err
	}
	x.spec = jobs[0].spec
	x.replay = x.runner.replay(&jobs[0])
	return nil
}

// known refuses the name of an invariant that there is not.
func (x *failing) known() error {
	if x.invariant == "" {
		return nil
	}
	names := invariantNames()
	if slices.Contains(names, x.invariant) {
		return nil
	}
	return usage("there is no invariant %q%s (see simkafka invariants list)", x.invariant, didYouMean(x.invariant, names))
}

// directory takes scenario and seed from what a run or a sweep has left.
func (x *failing) directory(dir string) ([]string, error) {
	file := filepath.Join(dir, report.ScenarioFile)
	if _, err := os.Stat(file); err != nil {
		return nil, usage("%s has no %s: it is not the directory of a run", dir, report.ScenarioFile)
	}
	if x.seeded {
		return nil, usage("%s says its own seed; --seed goes with a scenario", dir)
	}
	seed, err := seedOf(dir)
	if err != nil {
		return nil, err
	}
	x.flags.seed, x.dir = seed, dir
	return []string{file}, nil
}

// seedOf reads the seed of a directory's run: from its replay command, which is there
// even if the simulator failed, or from its result.
func seedOf(dir string) (seed uint64, err error) {
	text, err := os.ReadFile(filepath.Join(dir, report.ReplayFile))
	if err == nil {
		_, rest, _ := strings.Cut(string(text), " --seed ")
		if _, err := fmt.Sscan(rest, &seed); err == nil {
			return seed, nil
		}
		return 0, usage("%s names no seed", filepath.Join(dir, report.ReplayFile))
	}
	text, err = os.ReadFile(filepath.Join(dir, report.ResultFile))
	if err != nil {
		return 0, usage("%s has neither %s nor %s: its seed is not known", dir, report.ReplayFile, report.ResultFile)
	}
	var head struct{ Seed *uint64 }
	if err := json.Unmarshal(text, &head); err != nil || head.Seed == nil {
		return 0, usage("%s names no seed", filepath.Join(dir, report.ResultFile))
	}
	return *head.Seed, nil
}

// wrong is the error of a run that cannot be shrunk or explained.
func wrong(err error) error {
	var fine *shrink.NotFailing
	switch {
	case errors.As(err, &fine):
		return usage("%w", err)
	case errors.Is(err, shrink.ErrNotFrozen):
		return &codeError{exitInconclusive, err}
	}
	return &codeError{exitSimulator, err}
}

// invariantNames are those that a violation may have.
func invariantNames() []string {
	names := []string{"assertion"}
	for _, i := range invariant.All() {
		names = append(names, i.Name)
	}
	return names
}
