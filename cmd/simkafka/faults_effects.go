package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/simkafka/simkafka/faults"
	"github.com/simkafka/simkafka/report"
	"github.com/simkafka/simkafka/scenarios"
	"github.com/simkafka/simkafka/sim/effects"
	"github.com/simkafka/simkafka/sim/sweep"
)

func newFaultsEffects(a *app) *cobra.Command {
	gens, seeds, root, asJSON := "swarm,groups", 100, uint64(1), false
	cmd := &cobra.Command{
		Use:   "effects",
		Short: "Count which faults of random worlds fire, and which matter",
		Long: `Draws worlds, runs each, and runs it once more without each of its faults that
hit something. A fault mattered if the run without it is another one. Prints,
for each kind of fault (see README, "Every kind of fault"), how many events of
it were drawn, fired and mattered. A fault that many kinds describe counts in
each of them.`,
		Example: "  simkafka faults effects --seeds 20\n  simkafka faults effects --gen small-groups --seeds 500 --json > effects.json",
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			c, err := a.effects(gens, seeds, root)
			if err != nil {
				return err
			}
			if asJSON {
				return a.print(func(w io.Writer) error {
					return json.NewEncoder(w).Encode(effectsJSON{effectsSchema, gens, root, *c})
				})
			}
			return a.print(func(w io.Writer) error { return effectsTable(c).Write(w, a.style(w)) })
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&gens, "gen", gens, "the `generators`, a world of each in turn (see scenarios generate)")
	fl.IntVar(&seeds, "seeds", seeds, "how many worlds")
	fl.Uint64Var(&root, "root-seed", root, "seed of the worlds' seeds")
	fl.BoolVar(&asJSON, "json", false, "print one JSON document instead of the table")
	return cmd
}

// effectsSchema is that of the document of --json.
const effectsSchema = "simkafka.fault-effects/v1"

type effectsJSON struct {
	Schema     string `json:"schema"`
	Generators string `json:"generators"`
	Root       uint64 `json:"root"`
	effects.Counts
}

// effects measures worlds of generators in turn. Ctrl-C ends it between two worlds.
func (a *app) effects(gens string, seeds int, root uint64) (*effects.Counts, error) {
	if seeds < 1 {
		return nil, usage("--seeds is at least 1")
	}
	var sources []sweep.Source
	for _, name := range strings.Split(gens, ",") {
		g, ok := scenarios.GeneratorByName(name)
		if !ok {
			return nil, usage("there is no generator %q%s", name, didYouMean(name, scenarios.GeneratorNames()))
		}
		source, err := sweep.Drawn(g.Name, g.Draw)
		if err != nil {
			return nil, &codeError{exitSimulator, err}
		}
		sources = append(sources, source)
	}
	stop := catchInterrupt()
	defer stop.release()
	defer tuneMemory(1)()
	var c effects.Counts
	for k := range seeds {
		if stop.requested() {
			a.code = worse(a.code, exitInterrupted)
			break
		}
		source := sources[k%len(sources)]
		seed := sweep.Seed(root, source.Digest(), uint64(k))
		spec, err := source.Spec(seed)
		if err == nil {
			err = c.Add(spec, seed)
		}
		if err != nil {
			return nil, &codeError{exitSimulator, fmt.Errorf("seed %d: %w", seed, err)}
		}
	}
	return &c, nil
}

func effectsTable(c *effects.Counts) report.Table {
	t := report.Table{Columns: []report.Column{{Name: "id"}, {Name: "fault"}, {Name: "drawn", Right: true}, {Name: "fired", Right: true}, {Name: "mattered", Right: true}}}
	for _, r := range faults.Rows {
		if n := c.Of(r.ID); n != nil {
			t.Rows = append(t.Rows, []string{r.ID, r.Name, fmt.Sprint(n.Drawn), fmt.Sprint(n.Fired), fmt.Sprint(n.Changed)})
		}
	}
	return t
}
