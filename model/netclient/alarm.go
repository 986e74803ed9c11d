package netclient

import (
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
)

// Alarm is one timer that is set again as seldom as possible. It is left alone
// while it is early enough; when it fires too early its owner sets it again. So
// deadlines that mostly pass unused cost no timer each. Lane and Kind are set
// once, by its owner; no other timer of that lane may have that kind.
type Alarm struct {
	Lane step.Lane
	Kind step.TimerKind
	ref  step.TimerRef
	at   kafka.Nanos // valid while ref is set
	seq  int64       // names the timer last set
}

// Set makes sure that the alarm fires at or before at; Forever is never.
func (a *Alarm) Set(out *step.Effects, at kafka.Nanos) {
	if at == kafka.Forever || (a.ref.IsSet() && a.at <= at) {
		return
	}
	out.CancelTimer(&a.ref)
	a.seq++
	a.ref = out.SetTimer(a.Lane, at, a.Kind, a.seq, nil)
	a.at = at
}

// Owns reports whether an input is a firing of this alarm, stale or not.
func (a *Alarm) Owns(in *step.Input) bool {
	return in.Kind == step.Timer && in.Timer == a.Kind && in.Lane == a.Lane
}

// Fired takes a firing that Owns recognised. It is false for one that was already
// on its way when its timer was replaced.
func (a *Alarm) Fired(in *step.Input) bool {
	if in.Arg != a.seq {
		return false
	}
	a.ref = step.TimerRef{}
	return true
}
