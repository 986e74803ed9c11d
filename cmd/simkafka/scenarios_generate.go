package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/simkafka/simkafka/report"
	"github.com/simkafka/simkafka/scenarios"
)

func newGenerate(a *app) *cobra.Command {
	seed := uint64(1)
	cmd := &cobra.Command{
		Use:   "generate [NAME]",
		Short: "Print the scenario that a generator draws from a seed",
		Long: `Prints the scenario that a generator draws from a seed: a file as you would
write it, to be run with the same seed. Without a name, lists the generators.`,
		Example: `  simkafka scenarios generate swarm --seed 7 > world.yaml
  simkafka run world.yaml --seed 7`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return a.listGenerators()
			}
			return a.generate(args[0], seed)
		},
	}
	cmd.Flags().Uint64Var(&seed, "seed", 1, "what to draw from")
	return cmd
}

func (a *app) listGenerators() error {
	t := report.Table{Columns: []report.Column{{Name: "generator"}, {Name: "what it draws"}}}
	for _, g := range scenarios.Generators {
		t.Rows = append(t.Rows, []string{g.Name, g.Summary})
	}
	return a.print(func(w io.Writer) error { return t.Write(w, a.style(w)) })
}

func (a *app) generate(name string, seed uint64) error {
	g, ok := scenarios.GeneratorByName(name)
	if !ok {
		return usage("there is no generator %q%s (see simkafka scenarios generate)", name, didYouMean(name, scenarios.GeneratorNames()))
	}
	spec, err := g.Draw(seed)
	if err != nil {
		return &codeError{exitSimulator, err}
	}
	return a.print(func(w io.Writer) error {
		_, err := io.WriteString(w, spec.YAML())
		return err
	})
}
