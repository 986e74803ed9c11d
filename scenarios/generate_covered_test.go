package scenarios

import (
	"strings"
	"testing"
)

// counted notes how many choices two choosers make alike.
type counted struct {
	a, b        Chooser
	all, differ *int
}

func (c counted) Int(name string, lo, hi int64) int64 {
	a, b := c.a.Int(name, lo, hi), c.b.Int(name, lo, hi)
	*c.all++
	if a != b {
		*c.differ++
	}
	return a
}

// A variant differs from its original in the share of its choices that it draws, and
// with none of them it is the same scenario.
func TestVariantKeepsMostChoicesOfItsOriginal(t *testing.T) {
	same, all, differ := 0, 0, 0
	for seed := range uint64(60) {
		m, c := variantOf(seed)
		v := c.(varied)
		n := 0
		got := drawWorld(counted{v, v.original, &all, &n}, m)
		differ += n
		if v.percent > 0 {
			continue
		}
		same++
		if n > 0 || got.spec.YAML() != drawWorld(v.original, m).spec.YAML() {
			t.Errorf("seed %d: nothing is changed, and yet it is another scenario", seed)
		}
	}
	if same < 15 || same > 45 {
		t.Errorf("%d of 60 variants change nothing", same)
	}
	if changed := float64(differ) / float64(all); changed < 0.01 || changed > 0.1 {
		t.Errorf("%d of %d choices differ", differ, all)
	}
}

func TestCorpusIsOfGeneratorsWithinTheBudget(t *testing.T) {
	seen := make(map[CorpusEntry]bool)
	for _, e := range Corpus() {
		if m, ok := modeByName(e.Generator); !ok || m.beyond || !m.small || seen[e] {
			t.Errorf("%v: known %v, mode %+v, there before %v", e, ok, m, seen[e])
		}
		seen[e] = true
	}
	if len(seen) < 100 {
		t.Errorf("%d worlds", len(seen))
	}
}

// What the draw says about plans is true of the world.
func TestGuidedKnowsVariants(t *testing.T) {
	plans := 0
	for seed := range uint64(60) {
		m, c := variantOf(seed)
		if w := drawWorld(c, m); w.guided != Guided(coveredName, seed) {
			t.Errorf("seed %d: a plan %v", seed, w.guided)
		} else if w.guided {
			plans++
		}
	}
	if plans == 0 || plans == 60 || !strings.HasPrefix(coveredName, "small") { // bench chooses what goes beyond by the prefix
		t.Errorf("%d of 60 worlds have a plan", plans)
	}
}
