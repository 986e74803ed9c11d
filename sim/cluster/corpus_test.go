package cluster

import (
	"cmp"
	"flag"
	"fmt"
	"math/bits"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/simkafka/simkafka/scenarios"
)

var updateCorpus = flag.Bool("update-corpus", false, "choose scenarios/corpus.txt anew, from 1200 worlds: two minutes")

// The corpus is the best tenth of so many worlds of these generators in turn. No world
// has a bug: what the corpus is good at must not depend on what is looked for.
const (
	corpusFrom   = 1200
	corpusSize   = corpusFrom / 10
	corpusFirst  = 9_000_000 // seed
	corpusStride = 7919
)

var corpusGenerators = [...]string{"small", "small-groups"}

func corpusCandidate(i int) scenarios.CorpusEntry {
	return scenarios.CorpusEntry{Generator: corpusGenerators[i%len(corpusGenerators)], Seed: uint64(corpusFirst + i*corpusStride)}
}

// worth is how much a world reached, in bits of its probes' hits, for a million events.
func worth(t *testing.T, e scenarios.CorpusEntry, warm *Warm) uint64 {
	g, ok := scenarios.GeneratorByName(e.Generator)
	if !ok {
		t.Fatalf("there is no generator %s", e.Generator)
	}
	spec, err := g.Draw(e.Seed)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Run(spec, Options{Seed: e.Seed, Warm: warm})
	if err != nil {
		t.Fatal(err)
	}
	reached := 0
	for _, p := range r.Probes {
		reached += bits.Len64(uint64(p.N))
	}
	return uint64(reached) * 1_000_000 / max(r.Events, 1)
}

// The worlds of the corpus are what they were chosen for. Where this fails after the
// generators have changed, they draw other worlds from these seeds: choose anew.
func TestCorpusReachesMoreRareStatesForItsTime(t *testing.T) {
	var warm Warm
	if *updateCorpus {
		chooseCorpus(t, &warm)
		return
	}
	const sample = 10
	best, rest := make([]uint64, sample), make([]uint64, sample)
	all := scenarios.Corpus()
	for i := range sample {
		best[i] = worth(t, all[i*len(all)/sample], &warm)
		rest[i] = worth(t, corpusCandidate(i), &warm)
	}
	slices.Sort(best)
	slices.Sort(rest)
	if best[sample/2] < 2*rest[sample/2] {
		t.Errorf("worlds of the corpus: %d, others: %d; run this test with -update-corpus", best, rest)
	}
}

func chooseCorpus(t *testing.T, warm *Warm) {
	type candidate struct {
		scenarios.CorpusEntry
		worth uint64
	}
	list := make([]candidate, corpusFrom)
	for i := range list {
		e := corpusCandidate(i)
		list[i] = candidate{e, worth(t, e, warm)}
	}
	slices.SortStableFunc(list, func(a, b candidate) int { return cmp.Compare(b.worth, a.worth) })
	var out strings.Builder
	for _, c := range list[:corpusSize] {
		fmt.Fprintf(&out, "%s %d\n", c.Generator, c.Seed)
	}
	if err := os.WriteFile("../../scenarios/corpus.txt", []byte(out.String()), 0o666); err != nil {
		t.Fatal(err)
	}
}
