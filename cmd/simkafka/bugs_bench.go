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
	"github.com/simkafka/simkafka/scenarios"
	"github.com/simkafka/simkafka/sim/cluster"
)

// bench measures how many random worlds it takes to find each bug.
type bench struct {
	*app
	first    int // start, from 0
	starts   int
	quick    bool
	maxSeeds int
	maxCPU   string
	time     string
	gen      string
	out      string
	json     bool

	perStart, total time.Duration
	gens, beyond    []scenarios.Generator // of the worlds of most bugs, and of those beyond the budget
	stop            *interrupt
	file            *benchFile
	warm            cluster.Warm
}

func newBench(a *app) *cobra.Command {
	b := &bench{app: a}
	cmd := &cobra.Command{
		Use:   "bench [KEY...]",
		Short: "Measure how many random worlds it takes to find each bug",
		Long: `Draws worlds with the bug switched on until an invariant fails that holds in
the same world without it, from several independent starts. A start ends without a
find after --max-seeds worlds or --max-cpu processor time. Of several
generators a seed's remainder says which one draws its world. Prints worlds
and processor seconds to the find: median and nine of ten starts. Worlds
depend on the bug, the start and the generator; seconds on this machine.

A bug that takes what no setting promises to survive, such as an unclean
election, is looked for in worlds beyond the budget, as sweep --beyond-budget
draws and judges them, and its line says so.

A rule that no release lacked can be measured, too: mutation/hw-max and others,
which tests take out to try the invariants.

With --out each start leaves a line in a file, and a run that finds the file
there goes on with the starts that it lacks: Ctrl-C and --time lose nothing.`,
		Example: "  simkafka bugs bench --quick\n  simkafka bugs bench KAFKA-727 --starts 30\n  simkafka bugs bench --out bench.jsonl --time 30m",
		RunE:    func(_ *cobra.Command, args []string) error { return b.run(args) },
	}
	fl := cmd.Flags()
	fl.IntVar(&b.starts, "starts", 30, "independent starts for each bug")
	fl.IntVar(&b.first, "first", 0, "`number` of the first start; two runs with other numbers share no world")
	fl.BoolVar(&b.quick, "quick", false, "5 starts, at most 200 worlds each")
	fl.IntVar(&b.maxSeeds, "max-seeds", 5000, "worlds after which a start gives up")
	fl.StringVar(&b.maxCPU, "max-cpu", "1h", "processor `time` after which a start gives up")
	fl.StringVar(&b.time, "time", "", "begin no start after this `time` of the clock on the wall")
	fl.StringVar(&b.gen, "gen", "small,small-groups", "the `generators` (see scenarios generate)")
	fl.StringVar(&b.out, "out", "", "keep the starts in this `file`, and go on with it")
	fl.BoolVar(&b.json, "json", false, "print one JSON document instead of the table")
	return cmd
}

func (b *bench) run(keys []string) error {
	if b.quick {
		b.starts, b.maxSeeds = 5, 200
	}
	if err := b.check(); err != nil {
		return err
	}
	if len(keys) == 0 {
		keys = quirk.Keys()
	}
	var bugs []quirk.Bug
	for _, key := range keys {
		bug, err := findSwitch(key)
		if err != nil {
			return err
		}
		bugs = append(bugs, bug)
	}
	head, err := b.header()
	if err != nil {
		return &codeError{exitSimulator, err}
	}
	if b.file, err = openBench(b.out, head); err != nil {
		return err
	}
	b.stop = catchInterrupt()
	defer b.stop.release()
	defer tuneMemory(1)()
	if err := b.all(bugs); err != nil {
		return err
	}
	if err := b.file.close(); err != nil {
		return environment(err)
	}
	if b.stop.requested() {
		b.code = worse(b.code, exitInterrupted)
	}
	sum := summarize(head, b.file.finds)
	if b.json {
		return b.print(sum.writeJSON)
	}
	return b.print(func(w io.Writer) error { return sum.table().Write(w, b.style(w)) })
}

func (b *bench) check() error {
	if b.starts < 1 || b.maxSeeds < 1 {
		return usage("--starts and --max-seeds are at least 1")
	}
	if b.first < 0 {
		return usage("--first is at least 0")
	}
	for _, name := range strings.Split(b.gen, ",") {
		g, ok := scenarios.GeneratorByName(name)
		if !ok {
			return usage("there is no generator %q%s", name, didYouMean(name, scenarios.GeneratorNames()))
		}
		b.gens = append(b.gens, g)
	}
	b.beyond = beyondOf(b.gens)
	for _, x := range []struct {
		flag, text string
		to         *time.Duration
	}{{"max-cpu", b.maxCPU, &b.perStart}, {"time", b.time, &b.total}} {
		if x.text == "" {
			continue
		}
		d, err := scenarios.ParseDuration(x.text, false)
		if err != nil {
			return usage("--%s: %w", x.flag, err)
		}
		*x.to = time.Duration(d)
	}
	return nil
}

// all does the starts that the file lacks, a start of each bug in turn, so that a run
// that is cut short has measured every bug.
func (b *bench) all(bugs []quirk.Bug) error {
	began := time.Now()
	for start := b.first; start < b.first+b.starts; start++ {
		for _, bug := range bugs {
			if b.file.has(bug.Key, start) {
				continue
			}
			if b.stop.requested() || b.total > 0 && time.Since(began) >= b.total {
				return nil
			}
			f, err := b.one(bug, uint64(start))
			if err != nil {
				return &codeError{exitSimulator, err}
			}
			if f.Ended == "" {
				return nil // interrupted
			}
			if err := b.file.add(f); err != nil {
				return environment(err)
			}
			fmt.Fprintf(b.stderr, "%s start %d: %s\n", bug.Key, start+1, f)
		}
	}
	return nil
}

// beyondOf are the generators that go beyond the budget in worlds of the same size.
func beyondOf(gens []scenarios.Generator) (list []scenarios.Generator) {
	for i := range gens {
		name := "swarm-beyond"
		if strings.HasPrefix(gens[i].Name, "small") {
			name = "small-beyond"
		}
		if g, ok := scenarios.GeneratorByName(name); ok && !slices.ContainsFunc(list, func(l scenarios.Generator) bool { return l.Name == name }) {
			list = append(list, g)
		}
	}
	return list
}

// generatorsOf draw the worlds for a bug.
func (b *bench) generatorsOf(bug *quirk.Bug) []scenarios.Generator {
	if bug.Beyond {
		return b.beyond
	}
	return b.gens
}

// ofSeed is the generator that draws the world of a seed.
func ofSeed(gens []scenarios.Generator, seed uint64) scenarios.Generator {
	return gens[seed%uint64(len(gens))]
}

// benchDraws gives the seeds of a start.
func benchDraws(bug string, start uint64) step.Draws {
	return step.NewDraws(start).Sub("bench").Sub(bug)
}

// benchSeed is that of world k.
func benchSeed(d step.Draws, k int) uint64 { return d.At(uint64(k)) >> 16 }

// one draws worlds until the bug is found.
func (b *bench) one(bug quirk.Bug, start uint64) (find, error) {
	draws := benchDraws(bug.Key, start)
	began := cpuTime()
	f := find{Bug: bug.Key, Start: int(start)}
	for k := range b.maxSeeds {
		if b.stop.requested() {
			return f, nil
		}
		f.Worlds = k + 1
		seed := benchSeed(draws, k)
		invariant, err := b.shows(bug, seed)
		if err != nil {
			return find{}, err
		}
		f.CPU = cpuTime() - began
		switch {
		case invariant != "":
			f.Ended, f.Seed, f.Generator, f.Invariant = foundIt, seed, ofSeed(b.generatorsOf(&bug), seed).Name, invariant
			return f, nil
		case f.CPU > b.perStart && b.perStart > 0:
			f.Ended = outOfCPU
			return f, nil
		}
	}
	f.Ended = outOfSeeds
	return f, nil
}

// benchEvents ends a world in which a bug makes nodes answer each other without end; a
// usual one has less than a tenth of it. It counts as one that does not show the bug.
const benchEvents = 1_500_000

// shows is the invariant that fails first in a world with the bug, "" if none does that
// holds without it: what fails without the bug, too, is not its work.
func (b *bench) shows(bug quirk.Bug, seed uint64) (invariant string, err error) {
	spec, err := ofSeed(b.generatorsOf(&bug), seed).Draw(seed)
	if err != nil {
		return "", err
	}
	return b.showsIn(spec, bug, seed)
}

func (b *bench) showsIn(spec *scenarios.Spec, bug quirk.Bug, seed uint64) (invariant string, err error) {
	spec.Quirks = bug.On()
	r, err := cluster.Run(spec, cluster.Options{Seed: seed, MaxEvents: benchEvents, Warm: &b.warm})
	if err != nil || r.Verdict != outcome.Violated {
		return "", err
	}
	off, err := cluster.Run(spec.WithoutQuirks(), cluster.Options{Seed: seed, Warm: &b.warm})
	if err != nil || off.Verdict != outcome.Pass {
		return "", err
	}
	return firstThatDecides(r, spec), nil
}

// firstThatDecides leaves out what is no fault in a world beyond the budget, as the loss
// of records: it decides neither verdict, and so proves nothing about the bug.
func firstThatDecides(r *outcome.Result, spec *scenarios.Spec) string {
	for _, name := range violated(r) {
		if cluster.Decides(spec, name) {
			return name
		}
	}
	return ""
}
