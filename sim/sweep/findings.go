package sweep

import (
	"cmp"
	"math"
	"slices"

	"github.com/simkafka/simkafka/model/outcome"
)

// Finding is all failures of one signature.
type Finding struct {
	Signature string
	Verdict   outcome.Verdict
	Runs      uint64
	First     uint64 // the lowest k
	// Shortest is the run to look at: with the fewest kinds of faults, then the fewest
	// events, then the lowest k.
	Shortest Line
	// Always are the kinds of faults that all its runs have in common.
	Always []string
	Change Change
}

// Change is how a finding compares with a baseline.
type Change string

// The changes.
const (
	New      Change = "new"      // not in the baseline
	Ongoing  Change = "ongoing"  // in both
	Resolved Change = "resolved" // in the baseline only, and would most likely have shown
	Rare     Change = "rare"     // in the baseline only, but so rare there that its absence says little
)

// rareChance is how likely a finding of the baseline may be to stay away by chance
// and still count as resolved.
const rareChance = 0.05

// Findings groups the failures by signature, in the order of their first k. With a
// baseline each has its Change, and those of the baseline that are not there any
// more follow.
func (m *Merged) Findings(baseline *Merged) []Finding {
	found := m.group()
	if baseline == nil {
		return found
	}
	before := baseline.group()
	for i := range found {
		found[i].Change = New
		if slices.ContainsFunc(before, func(b Finding) bool { return b.Signature == found[i].Signature }) {
			found[i].Change = Ongoing
		}
	}
	now := len(found)
	for _, b := range before {
		if slices.ContainsFunc(found[:now], func(f Finding) bool { return f.Signature == b.Signature }) {
			continue
		}
		b.Change = Resolved
		rate := float64(b.Runs) / float64(len(baseline.Lines))
		if math.Pow(1-rate, float64(len(m.Lines))) > rareChance {
			b.Change = Rare
		}
		found = append(found, b)
	}
	return found
}

func (m *Merged) group() []Finding {
	var found []Finding
	at := make(map[string]int)
	for i := range m.Lines {
		l := &m.Lines[i]
		if !l.failed() {
			continue
		}
		j, known := at[l.Signature]
		if !known {
			at[l.Signature] = len(found)
			found = append(found, Finding{Signature: l.Signature, Verdict: l.Verdict, Runs: 1, First: l.K, Shortest: *l, Always: slices.Clone(l.Faults)})
			continue
		}
		f := &found[j]
		f.Runs++
		f.Always = slices.DeleteFunc(f.Always, func(w string) bool { return !slices.Contains(l.Faults, w) })
		if shorter(l, &f.Shortest) < 0 {
			f.Shortest = *l
		}
	}
	return found
}

func shorter(a, b *Line) int {
	return cmp.Or(cmp.Compare(len(a.Faults), len(b.Faults)), cmp.Compare(a.Events, b.Events), cmp.Compare(a.K, b.K))
}

// Point of the saturation curve: after Runs runs, Findings signatures were known.
type Point struct{ Runs, Findings uint64 }

// Saturation is how the number of findings grew: a point for each first one, between
// (0, 0) and the end. A curve that is still rising says that more seeds find more.
func (m *Merged) Saturation() []Point {
	curve := []Point{{0, 0}}
	seen := make(map[string]bool)
	for i := range m.Lines {
		if l := &m.Lines[i]; l.failed() && !seen[l.Signature] {
			seen[l.Signature] = true
			curve = append(curve, Point{uint64(i) + 1, uint64(len(seen))})
		}
	}
	return append(curve, Point{uint64(len(m.Lines)), uint64(len(seen))})
}
