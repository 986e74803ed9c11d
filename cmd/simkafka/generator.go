package main

import (
	"strings"

	"github.com/spf13/pflag"

	"github.com/simkafka/simkafka/scenarios"
)

// defaultGenerator draws where neither a scenario nor --gen is named.
const defaultGenerator = "swarm"

// The words of --guide.
const (
	guideMixed   = "mixed"
	guideUniform = "uniform"
	guideLineage = "lineage"
)

// generator is the name of the generator that the flags ask for, "" with a scenario.
func (f *sweepFlags) generator(scenario bool) (string, error) {
	switch {
	case f.guide != guideMixed && f.guide != guideUniform && f.guide != guideLineage:
		return "", usage("--guide is %s, %s or %s", guideMixed, guideUniform, guideLineage)
	case scenario && (f.beyond || f.guide != guideMixed):
		return "", usage("--beyond-budget and --guide are about drawn scenarios, not about a given one")
	case scenario:
		return "", nil
	case f.beyond && f.guide != guideMixed:
		return "", usage("--guide is about draws within the budget; leave --beyond-budget out")
	}
	name := f.gen
	if name == "" {
		name = defaultGenerator
	}
	switch {
	case f.beyond:
		return beyondBudget(name)
	case f.guide != guideMixed:
		return guided(name, f.guide)
	}
	return name, nil
}

// guided is the generator that draws faults in one way where the named one draws them in both.
func guided(gen, guide string) (string, error) {
	if strings.HasSuffix(gen, "-"+guide) {
		return gen, nil
	}
	name := gen + "-" + guide
	_, known := scenarios.GeneratorByName(gen)
	if _, ok := scenarios.GeneratorByName(name); !ok && known {
		return "", usage("--guide %s: %s draws its faults in one way only", guide, gen)
	}
	return name, nil
}

// addBeyond adds --beyond-budget.
func addBeyond(fl *pflag.FlagSet, to *bool) {
	fl.BoolVar(to, "beyond-budget", false, "draw more faults than the settings promise to survive, and judge only what must hold even then; as --gen small-beyond does")
}

// beyond ends the names of generators that go beyond the budget.
const beyond = "-beyond"

// beyondBudget is the generator that goes beyond the budget where one of this name does not.
func beyondBudget(gen string) (string, error) {
	name := strings.TrimSuffix(gen, beyond) + beyond
	_, known := scenarios.GeneratorByName(gen)
	if _, ok := scenarios.GeneratorByName(name); !ok && known {
		return "", usage("--beyond-budget: %s draws within the budget only; %s have a generator beyond it", gen, strings.Join(withBeyond(), " and "))
	}
	if !known {
		return gen, nil // which is said where it is drawn
	}
	return name, nil
}

func withBeyond() (names []string) {
	for _, g := range scenarios.Generators {
		if name, ok := strings.CutSuffix(g.Name, beyond); ok {
			names = append(names, name)
		}
	}
	return names
}
