package scenarios

import (
	"fmt"
	"slices"
	"strings"

	"github.com/simkafka/simkafka/faults"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
)

// Generator draws worlds: topology, settings, workload and a plan of faults.
type Generator struct {
	Name    string
	Summary string
	// Draw is a pure function of the seed, on every machine. What it returns is an
	// ordinary scenario: it was loaded from its own text, so that YAML prints it and
	// Load reads it back equal, and nothing in it is left to be drawn but what its
	// events' delays and random(...) selectors say. It is meant to be run with the same
	// seed. An error is a fault of the generator.
	Draw func(seed uint64) (*Spec, error)
}

// modes are the generators by what distinguishes them. Faults are drawn uniformly, or
// along the lineage of records (generate_lineage.go) or of a group's assignment
// (generate_groups_lineage.go), or each way in half of the worlds, or so that a lead comes
// back (generate_returns.go).
var modes = [...]struct {
	mode
	summary string
}{
	{mode{name: "swarm", guide: mixed}, "each seed switches a random subset of settings, features and faults on"},
	{mode{name: "small", guide: mixed, small: true}, "as swarm, with tiny segments, an index entry for each batch, short lags and timeouts"},
	{mode{name: "swarm-beyond", beyond: true}, "as swarm, beyond the budget: no divergence, no phantom, no disorder, and it ends"},
	{mode{name: "small-beyond", small: true, beyond: true}, "as small, beyond the budget"},
	{mode{name: "groups", guide: mixed, groups: true}, "as swarm, in each world consumers in groups, with faults aimed at the states of these"},
	{mode{name: "small-groups", guide: mixed, small: true, groups: true}, "as small, with groups as in groups"},
	{mode{name: "swarm-uniform"}, "as swarm, with faults drawn one by one only"},
	{mode{name: "small-uniform", small: true}, "as small, with faults as in swarm-uniform"},
	{mode{name: "swarm-lineage", guide: alongLineage}, "as swarm, with faults that strike, one after the other, what an acknowledged record of one partition rests on"},
	{mode{name: "small-lineage", guide: alongLineage, small: true}, "as small, with faults as in swarm-lineage"},
	{mode{name: "groups-uniform", groups: true}, "as groups, with faults drawn one by one only"},
	{mode{name: "small-groups-uniform", small: true, groups: true}, "as small-groups, with faults as in groups-uniform"},
	{mode{name: "groups-lineage", guide: alongLineage, groups: true}, "as groups, with faults that strike what the assignment and the offsets of one group rest on, and members to whom they matter"},
	{mode{name: "small-groups-lineage", guide: alongLineage, small: true, groups: true}, "as small-groups, with faults as in groups-lineage"},
	{mode{name: "small-returns", guide: returning, small: true}, "as small, with plans in which a lead goes and comes back while what its leader had sent is on its way"},
}

// Generators are all of them, by name. Each stays within the
// budget: no more faults at once than what its settings promise to survive, so that
// whatever an invariant says is a bug (see budget). But those that end in -beyond do not,
// and demand only what must hold even then (Expect.BeyondBudget).
var Generators = generators()

func generators() (list []Generator) {
	for _, m := range modes {
		list = append(list, generator(m.mode, m.summary))
	}
	return append(list, covered())
}

func modeByName(name string) (mode, bool) {
	for i := range modes {
		if modes[i].name == name {
			return modes[i].mode, true
		}
	}
	return mode{}, false
}

// GeneratorByName finds a generator.
func GeneratorByName(name string) (Generator, bool) {
	i := slices.IndexFunc(Generators, func(g Generator) bool { return g.Name == name })
	if i < 0 {
		return Generator{}, false
	}
	return Generators[i], true
}

// GeneratorNames lists them.
func GeneratorNames() []string {
	names := make([]string, len(Generators))
	for i := range Generators {
		names[i] = Generators[i].Name
	}
	return names
}

// Chooser makes the grammar's choices. Each choice has a name of its own within one
// world, so that a choice does not depend on how many came before it. rapid is one,
// too: what it finds it can shrink.
type Chooser interface {
	// Int is in [lo, hi], both inclusive; lo is the plainest choice.
	Int(name string, lo, hi int64) int64
}

// keyed chooses from the seed's own stream of draws.
type keyed struct{ draws step.Draws }

func (k keyed) Int(name string, lo, hi int64) int64 {
	return step.Between(k.draws.Draw(name, 0), lo, hi)
}

// mode is what distinguishes the generators.
type mode struct {
	name   string
	small  bool // tiny segments, short lags
	beyond bool // more faults than the settings promise to survive
	// groups: consumers are in groups, at whose states some faults are aimed.
	groups bool
	guide  guide
}

// guide says how faults are drawn.
type guide uint8

const (
	uniform      guide = iota // each for itself
	alongLineage              // one after the other at what a record, or a group's assignment, rests on
	mixed                     // one or the other
	returning                 // at a lead that comes back
)

// streams names the draws. The guided generators have those of the mixed one, so that
// seeds compare.
func (m mode) streams() string {
	return strings.TrimSuffix(strings.TrimSuffix(m.name, "-lineage"), "-uniform")
}

func (m mode) chooser(seed uint64) Chooser {
	return keyed{step.NewDraws(seed).Sub("generate").Sub(m.streams())}
}

// Guided reports whether the faults of a seed's world follow a plan. It is false if there
// is no such generator.
func Guided(name string, seed uint64) bool {
	if name == coveredName {
		m, c := variantOf(seed)
		return newWorld(c, m).guided
	}
	m, ok := modeByName(name)
	return ok && newWorld(m.chooser(seed), m).guided
}

func generator(m mode, summary string) Generator {
	return Generator{Name: m.name, Summary: summary, Draw: func(seed uint64) (*Spec, error) {
		return finish(drawWorld(m.chooser(seed), m), fmt.Sprintf("%s-%d", m.name, seed))
	}}
}

func finish(w *world, name string) (*Spec, error) {
	w.spec.Name = name
	return reload(w.spec)
}

// DrawWorld draws one world of a generator from any source of choices. Of small-covered
// it is one of the generator of its first original.
func DrawWorld(name string, c Chooser) (*Spec, error) {
	of := name
	if name == coveredName {
		of = corpus[0].Generator
	}
	m, ok := modeByName(of)
	if !ok {
		return nil, fmt.Errorf("there is no generator %q; there are %s", name, strings.Join(GeneratorNames(), ", "))
	}
	return finish(drawWorld(c, m), name+"-drawn")
}

// reload makes the scenario what its text says. It has no lines: nobody wrote it.
func reload(s *Spec) (*Spec, error) {
	out, err := Load(s.Name+".yaml", []byte(s.YAML()), nil)
	if err != nil {
		return nil, fmt.Errorf("the generated scenario cannot be loaded: %w", err)
	}
	for i := range out.Events {
		out.Events[i].Line = 0
	}
	out.Warnings, out.File = nil, ""
	return out, nil
}

// world is a scenario in the making.
type world struct {
	c    Chooser
	m    mode
	spec *Spec
	on   []string // the switches of the swarm that are on, for people
	odds int64    // of a switch, in percent
	path string   // prefix of the choices' names
	// minISR and replication are those of the first topic.
	minISR, replication int
	session             kafka.Nanos          // zookeeper.session.timeout.ms
	lag                 kafka.Nanos          // replica.lag.time.max.ms
	lossy               []string             // brokers that may lose unsynced data
	oneBatch            bool                 // followers fetch one batch at a time
	guided              bool                 // faults go along the lineage of records
	movesLead           bool                 // a lead goes back to the first replica before others are out of sync
	cause               *faults.EventTrigger // of the fault in the making, nil if it has none
}

func (w *world) int(name string, lo, hi int64) int64 { return w.c.Int(w.path+name, lo, hi) }

// pick chooses one of the words; the first is the plainest.
func (w *world) pick(name string, words ...string) string {
	return words[w.int(name, 0, int64(len(words)-1))]
}

// odd is true in percent of all cases.
func (w *world) odd(name string, percent int64) bool { return w.int(name, 0, 99) >= 100-percent }

// swarm reports whether a switch is on: a feature, a setting away from its default,
// or a kind of fault (simulation 4.2). The scenario says which ones are.
func (w *world) swarm(name string) bool {
	if !w.odd("swarm/"+name, w.odds) {
		return false
	}
	w.on = append(w.on, name)
	return true
}

// millis draws a time in whole milliseconds.
func (w *world) millis(name string, lo, hi kafka.Nanos) kafka.Nanos {
	return kafka.Millisecond * kafka.Nanos(w.int(name, int64(lo/kafka.Millisecond), int64(hi/kafka.Millisecond)))
}

// newWorld draws what all else depends on.
func newWorld(c Chooser, m mode) *world {
	w := &world{c: c, m: m, spec: &Spec{}}
	w.odds = []int64{20, 5, 50}[w.int("odds", 0, 2)]
	w.guided = m.guide == alongLineage || m.guide == returning || m.guide == mixed && w.odd("guided", 50)
	return w
}

// drawWorld draws everything: first what there is, then what happens to it.
func drawWorld(c Chooser, m mode) *world {
	w := newWorld(c, m)
	w.topology()
	w.settings()
	w.workload()
	w.easeDisk()
	switch {
	case m.guide == returning:
		w.planReturn()
	case w.guided && m.groups:
		w.planGroups()
	case w.guided:
		w.planLineage()
	default:
		w.faults()
	}
	w.topicEvents()
	w.easeLongPolls()
	w.spec.Expect.BeyondBudget = m.beyond
	w.spec.Why = w.why()
	return w
}

func (w *world) why() string {
	mask := "nothing"
	if len(w.on) > 0 {
		mask = strings.Join(w.on, ", ")
	}
	return fmt.Sprintf("Drawn by the generator %s. Switched on, each with %d%%: %s.", w.m.name, w.odds, mask)
}
