package scenarios

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/simkafka/simkafka/model/step"
)

// Variants of worlds that paid, as a fuzzer keeps the inputs that reach most for their
// time. The corpus is seeds whose worlds, without any bug, reached many rare states (the
// probes of sim/cluster) for the events that they took; how it is made is written there,
// in corpus_test.go. As each choice has a name, a variant can keep nearly all choices of
// a seed of the corpus and take the others from its own.

// corpusText is the corpus: a line "GENERATOR SEED" each.
//
//go:embed corpus.txt
var corpusText string

var corpus = parseCorpus(corpusText)

// CorpusEntry is a world of another generator.
type CorpusEntry struct {
	Generator string
	Seed      uint64
}

// Corpus is the worlds of which small-covered draws variants. It is the caller's.
func Corpus() []CorpusEntry { return append([]CorpusEntry(nil), corpus...) }

// parseCorpus panics if a line is wrong: the text is part of the program.
func parseCorpus(text string) (list []CorpusEntry) {
	for line := range strings.Lines(text) {
		var e CorpusEntry
		if _, err := fmt.Sscanf(line, "%s %d\n", &e.Generator, &e.Seed); err != nil {
			panic(fmt.Sprintf("corpus.txt: %q: %v", line, err))
		}
		list = append(list, e)
	}
	return list
}

const coveredName = "small-covered"

// changed is the share of choices, in percent, in which a variant differs from its
// original. Without any it is the same scenario, run with another seed.
var changed = [...]uint64{0, 10}

// varied takes each choice from the original, but some from another source.
type varied struct {
	original, other Chooser
	coin            step.Draws
	percent         uint64 // of the names
}

func (v varied) Int(name string, lo, hi int64) int64 {
	if step.Below(v.coin.Draw(name, 0), 100) < v.percent {
		return v.other.Int(name, lo, hi)
	}
	return v.original.Int(name, lo, hi)
}

// variantOf is the mode and the choices of the variant that a seed draws.
func variantOf(seed uint64) (mode, Chooser) {
	d := step.NewDraws(seed).Sub("variant")
	e := corpus[step.Below(d.Draw("entry", 0), uint64(len(corpus)))]
	m, ok := modeByName(e.Generator)
	if !ok {
		panic("corpus.txt: there is no generator " + e.Generator)
	}
	percent := changed[step.Below(d.Draw("changed", 0), uint64(len(changed)))]
	return m, varied{m.chooser(e.Seed), m.chooser(seed), d.Sub("coin"), percent}
}

func covered() Generator {
	return Generator{Name: coveredName, Summary: "variants of worlds of small and small-groups that reached many rare states for the time that they took",
		Draw: func(seed uint64) (*Spec, error) {
			m, c := variantOf(seed)
			return finish(drawWorld(c, m), fmt.Sprintf("%s-%d", coveredName, seed))
		}}
}
