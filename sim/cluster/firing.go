package cluster

import (
	"github.com/simkafka/simkafka/faults"
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

// Firing is a fault at the moment when it strikes: what a scenario would have to say to
// have the same again without a draw or a trigger.
type Firing struct {
	Index int // of its line: the scenario's events, then what chaos drew
	Nth   int // which firing of that line, from 0
	At    kafka.Nanos
	// Behind: a fact that was noted at this very instant triggered it, so that the step
	// which noted the fact comes first. Delay is the time since that fact.
	Behind bool
	Delay  kafka.Nanos
	// Disk is set where the process dies at a disk operation, in the middle of a step: the
	// same operation, counted from this instant on.
	Disk *faults.DiskTrigger
	Line faults.Planned // with its ranges drawn
	// Faults are the line's fault, addressed to the nodes that were meant.
	Faults []faults.Fault
	Hit    string // what it hit, in words; "" is nothing
}

// firing prepares to tell about a firing before it changes what its selectors stand for.
func (p *plan) firing(i, nth int, cause *event.Event) (tell func(hit string)) {
	if p.c.opts.Fired == nil {
		return func(string) {}
	}
	f := &p.faults[i]
	x := &Firing{Index: i, Nth: nth, At: p.c.k.Now(), Disk: f.strike, Line: f.Planned,
		Faults: faults.Explicit(f.Fault, p.c, faults.Context{Index: i, Nth: nth, Event: cause})}
	if cause != nil && f.Trigger.On != nil {
		x.Delay = x.At - cause.Time
	}
	x.Behind = cause != nil && x.Delay == 0
	return func(hit string) {
		x.Hit = hit
		p.c.opts.Fired(x)
	}
}
