package explain

import (
	"slices"

	"github.com/simkafka/simkafka/faults"
	"github.com/simkafka/simkafka/model/quirk"
	"github.com/simkafka/simkafka/scenarios"
	"github.com/simkafka/simkafka/sim/cluster"
	"github.com/simkafka/simkafka/sim/shrink"
)

// Cause is a fault or a historical bug of a run, and what becomes of the violation
// without it.
type Cause struct {
	Quirk string          // key of a historical bug; else a fault
	Fault *faults.Planned // as it struck: its time, the nodes that it hit
	// Needed: without it, the run does not fail like this.
	Needed bool
}

// maxCauses bounds the runs that look for causes.
const maxCauses = 12

// causes runs the frozen scenario without each bug, and without each fault, once those are
// gone that it does not need. There are none if the run cannot be frozen.
func causes(spec *scenarios.Spec, seed uint64, t *shrink.Target) ([]Cause, error) {
	frozen, err := shrink.Freeze(spec, seed, t)
	if err != nil || frozen == nil {
		return nil, err
	}
	frozen.Events = slices.DeleteFunc(frozen.Events, func(p faults.Planned) bool { // came later: they cannot have caused it
		return max(p.Trigger.At, p.Trigger.From) > t.At || p.Trigger.Disk != nil && p.Trigger.Disk.After > t.At
	})
	var out []Cause
	for _, id := range frozen.Quirks.IDs() {
		less := *frozen
		rest := slices.DeleteFunc(frozen.Quirks.IDs(), func(o quirk.ID) bool { return o == id })
		less.Quirks = quirk.Of(rest...)
		needed, err := healed(&less, seed, t)
		if err != nil {
			return nil, err
		}
		out = append(out, Cause{Quirk: id.Bug().Key, Needed: needed})
	}
	return append(out, neededFaults(frozen, seed, t)...), nil
}

// neededFaults takes faults away, the last ones first, for as long as the run still fails
// like this: each one that is left is then needed. What two faults bring about, one as
// well as the other, is so put down to the earlier.
func neededFaults(frozen *scenarios.Spec, seed uint64, t *shrink.Target) []Cause {
	out := make([]Cause, len(frozen.Events))
	kept := slices.Clone(frozen.Events)
	for i := len(frozen.Events) - 1; i >= 0; i-- {
		out[i] = Cause{Fault: &frozen.Events[i], Needed: true}
		if len(frozen.Events)-i > maxCauses {
			continue
		}
		less := *frozen
		less.Events = slices.Delete(slices.Clone(kept), i, i+1)
		if gone, err := healed(&less, seed, t); err == nil && !gone {
			kept, out[i].Needed = less.Events, false
		}
	}
	return out
}

// healed reports whether a run no longer shows the failure.
func healed(spec *scenarios.Spec, seed uint64, t *shrink.Target) (bool, error) {
	r, err := cluster.Run(spec, cluster.Options{Seed: seed})
	if err != nil {
		return false, err
	}
	return !t.In(r, spec), nil
}
