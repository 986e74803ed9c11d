package shrink

import (
	"slices"

	"github.com/simkafka/simkafka/faults"
	"github.com/simkafka/simkafka/scenarios"
	"github.com/simkafka/simkafka/sim/cluster"
)

// form says how the faults of a frozen scenario find their moment.
type form uint8

const (
	byTime    form = iota // at the times at which they struck, on the nodes that they hit
	byTrigger             // as the scenario says, with every draw written out
)

// freeze writes a run down as a scenario that draws nothing: events instead of chaos,
// each fault that struck and no other. firings are those of the run, in order.
func freeze(spec *scenarios.Spec, firings []*cluster.Firing, how form) *scenarios.Spec {
	out := *spec
	out.Chaos, out.Events = nil, nil
	for _, f := range firings {
		switch {
		case f.Hit == "":
		case how == byTime || f.Index >= len(spec.Events):
			out.Events = append(out.Events, atTimes(f)...)
		case f.Nth == 0:
			out.Events = append(out.Events, triggered(f))
		}
	}
	return &out
}

// Freeze runs a scenario and writes it down with every fault at the time at which it
// struck, or where it then fails otherwise, by its triggers. nil: neither fails like that.
func Freeze(spec *scenarios.Spec, seed uint64, t *Target) (*scenarios.Spec, error) {
	s := &search{seed: seed, target: *t, opts: Options{MaxRuns: 10}, bound: 10, seen: make(map[string]bool)}
	r, firings, err := s.first(spec)
	if err != nil {
		return nil, err
	}
	s.limit = wild(r)
	for _, how := range []form{byTime, byTrigger} {
		if s.try(s.base(freeze(spec, firings, how)), func(*scenarios.Spec) bool { return true }) {
			return s.cur.spec, nil
		}
	}
	return nil, nil
}

// atTimes is a firing as events with a time and names.
func atTimes(f *cluster.Firing) (events []faults.Planned) {
	p := f.Line
	p.Line, p.Trigger = 0, faults.Trigger{At: f.At}
	switch {
	case f.Disk != nil:
		p.Trigger = faults.Trigger{At: -1, Disk: f.Disk}
	case f.Behind:
		p.Trigger.At++ // behind the step that noted what triggered it
	}
	for _, x := range f.Faults {
		p.Fault = x
		events = append(events, p)
	}
	return events
}

// triggered is a firing's own line without draws.
func triggered(f *cluster.Firing) faults.Planned {
	p := f.Line
	p.Line = 0
	if on := p.Trigger.On; on != nil {
		t := *on
		t.DelayMin, t.DelayMax = f.Delay, f.Delay
		p.Trigger.On = &t
	}
	drawn := slices.ContainsFunc(p.Fault.Selectors(), func(s faults.Selector) bool { return s.Role == faults.Random })
	if drawn && len(f.Faults) == 1 && p.Trigger.Every == 0 {
		p.Fault = f.Faults[0]
	}
	return p
}

// waits reports whether any fault waits for more than a time, or is meant for whoever has
// a role then: a scenario whose two forms differ.
func waits(spec *scenarios.Spec) bool {
	role := func(x faults.Selector) bool { return x.Moving() && x.Role != faults.Random }
	return slices.ContainsFunc(spec.Events, func(p faults.Planned) bool {
		return p.Trigger.On != nil || p.Trigger.Disk != nil || p.Trigger.Every > 0 || slices.ContainsFunc(p.Fault.Selectors(), role)
	})
}
