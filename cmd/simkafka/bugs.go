package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/simkafka/simkafka/model/outcome"
	"github.com/simkafka/simkafka/model/quirk"
	"github.com/simkafka/simkafka/report"
	"github.com/simkafka/simkafka/scenarios"
	"github.com/simkafka/simkafka/sim/cluster"
)

func newBugs(a *app) *cobra.Command {
	cmd := group(&cobra.Command{
		Use:   "bugs",
		Short: "Historical Kafka bugs that can be put back",
		Long: `Real Kafka bugs, each a switch of the model. A scenario turns one on with
"quirks: [KAFKA-727]"; the invariants go on expecting a Kafka without it. Each
bug has a scenario of its own, bugs/KEY, in which an invariant fails with the
switch and everything holds without it.`,
	})
	seeds := 3
	run := &cobra.Command{
		Use:     "run KEY...|all",
		Short:   "Run the scenario of a bug with the bug and without",
		Example: "  simkafka bugs run KAFKA-727\n  simkafka run bugs/KAFKA-727        # the same scenario, the whole story",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("name bugs, or all (see simkafka bugs list)")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return a.runBugs(args, seeds) },
	}
	run.Flags().IntVar(&seeds, "seeds", seeds, "run seeds 1 to this")
	cmd.AddCommand(
		&cobra.Command{Use: "list", Short: "List the bugs", Args: noArgs, RunE: func(*cobra.Command, []string) error { return a.listBugs() }},
		&cobra.Command{Use: "show KEY", Short: "Tell about a bug and print its scenario", Args: oneArg("the key of a bug"),
			RunE: func(_ *cobra.Command, args []string) error { return a.showBug(args[0]) }},
		run, newBench(a))
	return cmd
}

func (a *app) listBugs() error {
	t := report.Table{Columns: []report.Column{{Name: "bug"}, {Name: "versions"}, {Name: "what goes wrong"}}}
	for _, b := range quirk.All() {
		t.Rows = append(t.Rows, []string{b.Key, b.Versions, b.Title})
	}
	return a.print(func(w io.Writer) error { return t.Write(w, a.style(w)) })
}

func findBug(key string) (quirk.Bug, error) {
	id, ok := quirk.Parse(key)
	if !ok {
		return quirk.Bug{}, usage("there is no bug %q%s (see simkafka bugs list)", key, didYouMean(key, quirk.Keys()))
	}
	return id.Bug(), nil
}

// findSwitch also finds mutations, which are no bugs of Kafka.
func findSwitch(key string) (quirk.Bug, error) {
	if id, ok := quirk.ParseSwitch(key); ok {
		return id.Row(), nil
	}
	return findBug(key)
}

func (a *app) showBug(key string) error {
	b, err := findBug(key)
	if err != nil {
		return err
	}
	e, ok := scenarios.BugScenario(b)
	lines := []string{b.Mechanism, "versions: " + b.Versions, "switch: " + b.Switch, "first to fail: " + b.Invariant}
	if b.Masked {
		lines = append(lines, "hidden by other rules; shows with "+quirk.Of(b.With...).String())
	}
	if b.Beyond {
		lines = append(lines, "random worlds: beyond the budget")
	}
	return a.print(func(w io.Writer) error {
		if err := paragraph(w, b.Key+": "+b.Title, lines...); err != nil || !ok {
			return err
		}
		_, err := fmt.Fprintf(w, "\n%s", e.Text)
		return err
	})
}

// runBugs runs both variants of each bug's scenario.
func (a *app) runBugs(keys []string, seeds int) error {
	if slices.Equal(keys, []string{"all"}) {
		keys = quirk.Keys()
	}
	t := report.Table{Columns: []report.Column{{Name: "bug"}, {Name: "seed"}, {Name: "with it"}, {Name: "without"}}}
	bad := 0
	for _, key := range keys {
		b, err := findBug(key)
		if err != nil {
			return err
		}
		spec, err := bugSpec(b)
		if err != nil {
			return err
		}
		for seed := uint64(1); seed <= uint64(seeds); seed++ {
			on, off, err := bothVariants(spec, seed)
			if err != nil {
				return &codeError{exitSimulator, err}
			}
			if !slices.Contains(violated(on), b.Invariant) || off.Verdict != outcome.Pass {
				bad++
			}
			t.Rows = append(t.Rows, []string{b.Key, fmt.Sprint(seed), told(on), told(off)})
		}
	}
	if err := a.print(func(w io.Writer) error { return t.Write(w, a.style(w)) }); err != nil {
		return err
	}
	if bad > 0 {
		return &codeError{exitViolated, fmt.Errorf("in %d cases the bug was not seen, or its absence was", bad)}
	}
	return nil
}

func bugSpec(b quirk.Bug) (*scenarios.Spec, error) {
	e, ok := scenarios.BugScenario(b)
	if !ok {
		return nil, usage("%s has no scenario", b.Key)
	}
	spec, err := scenarios.Load(e.File, []byte(e.Text), scenarios.LibrarySource)
	if err != nil {
		return nil, &codeError{exitSimulator, err} // the library is ours
	}
	return spec, nil
}

func bothVariants(spec *scenarios.Spec, seed uint64) (on, off *outcome.Result, err error) {
	if on, err = cluster.Run(spec, cluster.Options{Seed: seed}); err != nil {
		return nil, nil, err
	}
	off, err = cluster.Run(spec.WithoutQuirks(), cluster.Options{Seed: seed})
	return on, off, err
}

// violated lists the invariants that a run violates, in the order of discovery.
func violated(r *outcome.Result) (names []string) {
	for i := range r.Violations {
		if n := r.Violations[i].Invariant; !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	return names
}

func told(r *outcome.Result) string {
	if names := violated(r); len(names) > 0 {
		return strings.Join(names, ", ")
	}
	if r.Verdict != outcome.Pass {
		return strings.Join(r.Why, "; ")
	}
	return "all hold"
}
