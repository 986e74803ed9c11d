package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/simkafka/simkafka/report"
	"github.com/simkafka/simkafka/sim/explain"
)

func newExplain(a *app) *cobra.Command {
	x := &failing{runner: &runner{app: a}}
	quick := false
	cmd := &cobra.Command{
		Use:   "explain NAME|FILE|DIR",
		Short: "Say step by step why a run fails",
		Long: `Repeats a failing run and goes back from its violation to the faults that brought
it about: at most 40 lines. First comes what is violated, then the faults and
historical bugs without which it does not happen, each found by running
without it. Then comes a chain of facts, one a line: the lines that it follows
from, virtual time, number of the event, node, and what happened, with leader
epochs, log ends (leo) and high watermarks (hw). Of a failure of a consumer group
it tells members, rebalances, generations, coordinators and commits.

The numbers of events are those of a trace (run --trace).`,
		Example: `  simkafka explain my-outage.yaml --seed 7
  simkafka explain bugs/KAFKA-1211
  simkafka explain out/sweep-w1/failures/k17`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := x.load(cmd, args); err != nil {
				return err
			}
			story, err := explain.Explain(x.spec, x.flags.seed, explain.Options{Invariant: x.invariant, NoCauses: quick})
			if err != nil {
				return wrong(err)
			}
			return x.print(func(w io.Writer) error { return report.WriteExplanation(w, story, x.style(w)) })
		},
	}
	x.addFlags(cmd)
	cmd.Flags().BoolVar(&quick, "no-causes", false, "do not find out which faults are needed, which takes a run without each")
	return cmd
}
