package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/simkafka/simkafka/report"
	"github.com/simkafka/simkafka/scenarios"
	"github.com/simkafka/simkafka/sim/diff"
)

// differ compares two runs, each with a runner of its own.
type differ struct {
	*app
	sides [2]runFlags
}

func newDiff(a *app) *cobra.Command {
	d := &differ{app: a}
	cmd := &cobra.Command{
		Use:   "diff A [B]",
		Short: "Find the first event in which two runs differ",
		Long: `Runs two scenarios, or one of them twice with other seeds or settings, and
prints the first event in which they differ with its neighbours, in the lines
of the text trace (see help trace). --seed, --set and --protocol are for both;
--seed-b, --set-b and --protocol-b for the second one alone.

Exit code 0 if the runs are equal, 1 if they differ.`,
		Example: `  simkafka diff leader-crash --seed-b 2
  simkafka diff leader-crash --set-b replica.lag.time.max.ms=10000
  simkafka diff out/a/scenario.yaml out/b/scenario.yaml --seed 7`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 || len(args) > 2 {
				return usage("name one or two scenarios to compare")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return d.run(cmd, args) },
	}
	fl := cmd.Flags()
	fl.Uint64Var(&d.sides[0].seed, "seed", 1, "seed of both runs")
	fl.StringVar(&d.sides[0].protocol, "protocol", "", "run both under this `profile` instead of the scenario's")
	fl.StringArrayVar(&d.sides[0].set, "set", nil, "override a setting of both, `key=value` (see run); may be repeated")
	fl.Uint64Var(&d.sides[1].seed, "seed-b", 0, "seed of the second run")
	fl.StringVar(&d.sides[1].protocol, "protocol-b", "", "`profile` of the second run")
	fl.StringArrayVar(&d.sides[1].set, "set-b", nil, "override a setting of the second run, `key=value`")
	fl.Lookup("seed-b").DefValue = "that of --seed"
	return cmd
}

func (d *differ) run(cmd *cobra.Command, args []string) error {
	if !cmd.Flags().Changed("seed-b") {
		d.sides[1].seed = d.sides[0].seed
	}
	if d.sides[1].protocol == "" {
		d.sides[1].protocol = d.sides[0].protocol
	}
	d.sides[1].set = append(append([]string(nil), d.sides[0].set...), d.sides[1].set...)
	if len(args) == 1 {
		args = append(args, args[0])
	}
	if args[0] == "-" && args[1] == "-" {
		return usage("stdin can be read once only")
	}
	var runs [2]diff.Run
	bad := false
	for i := range runs {
		run, err := d.side(i, args[i])
		var found *scenarios.Diagnostics
		switch {
		case errors.As(err, &found):
			if i == 0 || args[0] != args[1] {
				fmt.Fprintln(d.stderr, d.folded(d.stderr, strings.TrimRight(found.Error(), "\n")))
			}
			bad = true
		case err != nil:
			return err
		}
		runs[i] = run
	}
	if bad {
		return usage("nothing was run")
	}
	found, err := diff.Find(runs[0], runs[1])
	if err != nil {
		return &codeError{exitSimulator, err}
	}
	if found.Event != 0 {
		d.code = worse(d.code, exitViolated)
	}
	return d.print(func(w io.Writer) error { return report.WriteDiff(w, runs[0], runs[1], &found, d.style(w)) })
}

// side loads one of the scenarios.
func (d *differ) side(i int, arg string) (diff.Run, error) {
	r := &runner{app: d.app, flags: d.sides[i]}
	r.flags.noOut, r.flags.failOn = true, failNever
	if err := r.check([]string{arg}); err != nil {
		return diff.Run{}, err
	}
	j, err := r.load(arg, false)
	return diff.Run{Spec: j.spec, Seed: d.sides[i].seed}, err
}
