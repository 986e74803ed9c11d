package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/simkafka/simkafka/model/outcome"
	"github.com/simkafka/simkafka/model/quirk"
	"github.com/simkafka/simkafka/model/step"
	"github.com/simkafka/simkafka/report"
	"github.com/simkafka/simkafka/scenarios"
	"github.com/simkafka/simkafka/sim/cluster"
)

// bench measures how many random worlds it takes to find each bug.
type bench struct {
	*app
	starts   int
	quick    bool
	maxSeeds int
	gen      string
	draw     func(seed uint64) (*scenarios.Spec, error)
}

func newBench(a *app) *cobra.Command {
	b := &bench{app: a}
	cmd := &cobra.Command{
		Use:   "bench [KEY...]",
		Short: "Measure how many random worlds it takes to find each bug",
		Long: `Draws worlds with the bug switched on until an invariant fails that holds in
the same world without it, from several independent starts. A start that has
not found the bug after --max-seeds worlds counts as not found. Prints worlds
and processor seconds to the find: median and nine of ten starts. Worlds
depend on the bug, the start and the generator; seconds on this machine.`,
		Example: "  simkafka bugs bench --quick\n  simkafka bugs bench KAFKA-727 --starts 30",
		RunE:    func(_ *cobra.Command, args []string) error { return b.run(args) },
	}
	fl := cmd.Flags()
	fl.IntVar(&b.starts, "starts", 30, "independent starts for each bug")
	fl.BoolVar(&b.quick, "quick", false, "5 starts, at most 200 worlds each")
	fl.IntVar(&b.maxSeeds, "max-seeds", 5000, "worlds after which a start gives up")
	fl.StringVar(&b.gen, "gen", "small", "the generator (see scenarios generate)")
	return cmd
}

func (b *bench) run(keys []string) error {
	if b.quick {
		b.starts, b.maxSeeds = 5, 200
	}
	if b.starts < 1 || b.maxSeeds < 1 {
		return usage("--starts and --max-seeds are at least 1")
	}
	g, ok := scenarios.GeneratorByName(b.gen)
	if !ok {
		return usage("there is no generator %q%s", b.gen, didYouMean(b.gen, scenarios.GeneratorNames()))
	}
	b.draw = g.Draw
	if len(keys) == 0 {
		keys = quirk.Keys()
	}
	var bugs []quirk.Bug
	for _, key := range keys {
		bug, err := findBug(key)
		if err != nil {
			return err
		}
		bugs = append(bugs, bug)
	}
	t := report.Table{Columns: []report.Column{{Name: "bug"}, {Name: "found"}, {Name: "worlds p50"}, {Name: "worlds p90"},
		{Name: "cpu s p50"}, {Name: "first to fail"}}}
	for _, bug := range bugs {
		var finds []find
		for start := range b.starts {
			f, err := b.one(bug, uint64(start))
			if err != nil {
				return &codeError{exitSimulator, err}
			}
			finds = append(finds, f)
			fmt.Fprintf(b.stderr, "%s start %d: %s\n", bug.Key, start+1, f)
		}
		t.Rows = append(t.Rows, benchRow(bug, finds))
	}
	return b.print(func(w io.Writer) error { return t.Write(w, b.style(w)) })
}

// find is how one start ended.
type find struct {
	seeds     int // worlds drawn
	seconds   time.Duration
	invariant string // that failed first; "" = not found
	seed      uint64 // of the world
}

func (f find) String() string {
	if f.invariant == "" {
		return fmt.Sprintf("not found in %d worlds", f.seeds)
	}
	return fmt.Sprintf("%s after %d worlds, seed %d", f.invariant, f.seeds, f.seed)
}

// one draws worlds until the bug is found.
func (b *bench) one(bug quirk.Bug, start uint64) (find, error) {
	draws := step.NewDraws(start).Sub("bench").Sub(bug.Key)
	began := cpuTime()
	for k := range b.maxSeeds {
		seed := draws.At(uint64(k)) >> 16
		spec, err := b.draw(seed)
		if err != nil {
			return find{}, err
		}
		spec.Quirks = bug.On()
		r, err := cluster.Run(spec, cluster.Options{Seed: seed})
		if err != nil {
			return find{}, err
		}
		if r.Verdict != outcome.Violated {
			continue
		}
		// What fails without the bug, too, is not its work.
		off, err := cluster.Run(spec.WithoutQuirks(), cluster.Options{Seed: seed})
		if err != nil {
			return find{}, err
		}
		if off.Verdict == outcome.Pass {
			return find{k + 1, cpuTime() - began, violated(r)[0], seed}, nil
		}
	}
	return find{seeds: b.maxSeeds, seconds: cpuTime() - began}, nil
}

// benchRow sums the starts up. One that did not find the bug counts as later than any
// that did.
func benchRow(bug quirk.Bug, finds []find) []string {
	slices.SortStableFunc(finds, func(a, c find) int {
		switch {
		case (a.invariant == "") != (c.invariant == ""):
			if a.invariant == "" {
				return 1
			}
			return -1
		case a.seeds != c.seeds:
			return a.seeds - c.seeds
		}
		return 0
	})
	found := 0
	var names []string
	for _, f := range finds {
		if f.invariant != "" {
			found++
			if !slices.Contains(names, f.invariant) {
				names = append(names, f.invariant)
			}
		}
	}
	rank := func(percent int) find { return finds[(len(finds)*percent+99)/100-1] }
	seeds := func(f find) string {
		if f.invariant == "" {
			return fmt.Sprintf("> %d", f.seeds)
		}
		return fmt.Sprint(f.seeds)
	}
	seconds := fmt.Sprintf("%.1f", rank(50).seconds.Seconds())
	if rank(50).invariant == "" {
		seconds = "> " + seconds
	}
	return []string{bug.Key, fmt.Sprintf("%d of %d", found, len(finds)), seeds(rank(50)), seeds(rank(90)), seconds, strings.Join(names, ", ")}
}
