// Package effects measures which planned faults of a world change what happens in it: a
// fault matters if the world without it runs another way. It mirrors no Kafka class.
//
// A fault's draws are its own (simulation 6.4), and marks of faults are no steps of actors:
// two runs of which one has a fault that touches nothing have equal fingerprints.
//
// Left out: faults that matter only together. Of two of which each alone has the effect
// of both, neither changes the run by its absence.
package effects

import (
	"slices"

	"github.com/simkafka/simkafka/faults"
	"github.com/simkafka/simkafka/model/outcome"
	"github.com/simkafka/simkafka/scenarios"
	"github.com/simkafka/simkafka/sim/cluster"
)

// Count is what a sweep saw of one row of faults.Rows.
type Count struct {
	Row     string `json:"row"`
	Drawn   int    `json:"drawn"`   // events of scenarios
	Fired   int    `json:"fired"`   // of them, those that hit something
	Changed int    `json:"changed"` // of these, those without which the run is another one
}

// Counts is a Count for each row that an event can be an instance of.
type Counts struct {
	Worlds int     `json:"worlds"`
	Rows   []Count `json:"rows"` // in the order of faults.Rows; rows that were never drawn are absent
	warm   cluster.Warm
}

// Add runs a world, and once more without each of its events that hit something.
func (c *Counts) Add(spec *scenarios.Spec, seed uint64) error {
	whole, err := cluster.Run(spec, cluster.Options{Seed: seed, Warm: &c.warm})
	if err != nil {
		return err
	}
	c.Worlds++
	for i := range spec.Events {
		fired, changed := hit(whole, i), false
		if fired {
			without := *spec
			without.Events = slices.Delete(slices.Clone(spec.Events), i, i+1)
			r, err := cluster.Run(&without, cluster.Options{Seed: seed, Warm: &c.warm})
			if err != nil {
				return err
			}
			changed = r.Fingerprint != whole.Fingerprint
		}
		for _, id := range faults.RowsOf(&spec.Events[i]) {
			c.note(id, fired, changed)
		}
	}
	return nil
}

func hit(r *outcome.Result, event int) bool {
	return slices.ContainsFunc(r.Faults, func(f outcome.Fault) bool { return f.Index == event })
}

func (c *Counts) note(id string, fired, changed bool) {
	i := slices.IndexFunc(c.Rows, func(r Count) bool { return r.Row == id })
	if i < 0 {
		i = len(c.Rows)
		c.Rows = append(c.Rows, Count{Row: id})
	}
	r := &c.Rows[i]
	r.Drawn++
	if fired {
		r.Fired++
	}
	if changed {
		r.Changed++
	}
	slices.SortFunc(c.Rows, func(a, b Count) int { return place(a.Row) - place(b.Row) })
}

func place(id string) int {
	return slices.IndexFunc(faults.Rows, func(r faults.Row) bool { return r.ID == id })
}

// Of returns the count of a row; nil if none of it was drawn.
func (c *Counts) Of(id string) *Count {
	for i := range c.Rows {
		if c.Rows[i].Row == id {
			return &c.Rows[i]
		}
	}
	return nil
}
