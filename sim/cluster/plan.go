package cluster

import (
	"fmt"
	"slices"
	"strings"

	"github.com/simkafka/simkafka/faults"
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
	"github.com/simkafka/simkafka/scenarios"
	"github.com/simkafka/simkafka/sim/simdisk"
)

// plan fires the scenario's faults and undoes them. Faults that an event or a disk
// operation triggers are armed from the start of the workload.
type plan struct {
	c       *Cluster
	faults  []planned
	onEvent []int // indexes into faults, by kind below
	kinds   [event.NumKinds]bool
	over    bool // healed: nothing fires any more
}

type planned struct {
	faults.Planned
	draws   step.Draws
	fired   int      // firings so far
	since   []string // actors that have noted what a disk trigger counts from
	seen    int      // matching events or operations so far
	records int64    // of matching events
	active  []active
	miss    misses
	ops     struct { // matching disk operations within one instant
		at kafka.Nanos
		n  int
	}
	strike *faults.DiskTrigger // the disk operation that takes the process down
}

// misses are the firings that hit nothing.
type misses struct {
	n     int
	first kafka.Nanos
	why   string
}

// active is one firing that is not undone yet.
type active struct {
	nth  int
	undo func(faults.Target)
}

func newPlan(c *Cluster, list []faults.Planned) *plan {
	p := &plan{c: c}
	equal := make(map[string]uint64, len(list))
	for i, f := range list {
		name := scenarios.FaultName(&f)
		p.faults = append(p.faults, planned{Planned: f, draws: c.draws.Sub(fmt.Sprintf("%s#%d", name, equal[name]))})
		equal[name]++
		switch t := f.Trigger; {
		case t.On != nil:
			p.onEvent = append(p.onEvent, i)
			p.kinds[t.On.Kind] = true
		case t.Disk != nil: // armed by the disks' hooks
			p.kinds[t.Disk.Since] = true
		case t.Every > 0:
			p.repeat(i, t.From, 0)
		default:
			c.k.At(t.At, func() { p.fire(i, nil) })
		}
	}
	return p
}

func (p *plan) repeat(i int, at kafka.Nanos, n int) {
	t := p.faults[i].Trigger
	if t.Times > 0 && n >= t.Times || at >= p.c.spec.HealAt() {
		return
	}
	p.c.k.At(at, func() {
		p.fire(i, nil)
		p.repeat(i, at+t.Every, n+1)
	})
}

// fire starts fault i now.
func (p *plan) fire(i int, cause *event.Event) {
	if p.over {
		return
	}
	f := &p.faults[i]
	nth := f.fired
	f.fired++
	last := max(f.For, f.RestartAfter)
	until := p.c.spec.HealAt()
	if last > 0 {
		until = min(until, p.c.k.Now()+last)
	}
	tell := p.firing(i, nth, cause)
	hit, undo, err := f.Fault.Start(p.c, faults.Context{Index: i, Nth: nth, Until: until, Event: cause})
	if err == nil {
		tell(hit)
	}
	if err != nil || hit == "" {
		f.missed(p.c.k.Now(), p.whyNothing(f.Fault, faults.Context{Index: i, Nth: nth, Event: cause}, err))
		return
	}
	p.c.k.Note(event.Event{Kind: event.FaultStarted, Actor: hit, Index: int32(i), Text: f.Fault.String()})
	if undo == nil {
		p.c.k.Note(event.Event{Kind: event.FaultEnded, Actor: hit, Index: int32(i), Text: f.Fault.String()})
		return
	}
	f.active = append(f.active, active{nth, undo})
	if last > 0 {
		p.c.k.At(p.c.k.Now()+last, func() { p.end(i, nth) })
	}
}

func (f *planned) missed(at kafka.Nanos, why string) {
	if f.miss.n == 0 {
		f.miss.first, f.miss.why = at, why
	}
	f.miss.n++
}

// whyNothing says why a fault hit nothing: err, or the state of what it selected.
func (p *plan) whyNothing(f faults.Fault, c faults.Context, err error) string {
	if err != nil {
		return err.Error()
	}
	state := "was not running"
	switch f.(type) {
	case faults.Restart:
		state = "was running"
	case faults.Resume:
		state = "was not paused"
	}
	var names []string
	for _, s := range f.Selectors() {
		names = append(names, p.c.Select(s, c)...)
	}
	return strings.Join(names, " ") + " " + state
}

// end undoes one firing.
func (p *plan) end(i, nth int) {
	f := &p.faults[i]
	for j, a := range f.active {
		if a.nth != nth {
			continue
		}
		f.active = append(f.active[:j], f.active[j+1:]...)
		a.undo(p.c)
		p.c.k.Note(event.Event{Kind: event.FaultEnded, Index: int32(i), Text: f.Fault.String()})
		return
	}
}

// heal undoes everything that is active; nothing fires afterwards.
func (p *plan) heal() {
	p.over = true
	for i := range p.faults {
		for len(p.faults[i].active) > 0 {
			p.end(i, p.faults[i].active[0].nth)
		}
	}
}

// observe looks for events that trigger a fault. The fault fires in a call of its
// own, never inside the step that noted the event.
func (p *plan) observe(e *event.Event) {
	if p.over || !p.kinds[e.Kind] {
		return
	}
	p.noteSince(e)
	for _, i := range p.onEvent {
		f := &p.faults[i]
		t := f.Trigger.On
		if f.fired > 0 || t.Kind != e.Kind || e.Time < t.After || !p.matches(t, e, i) {
			continue
		}
		if !f.counts(t, e) {
			continue
		}
		cause := *e
		d := step.Between(p.c.Draw(i, "trigger.delay", 0), int64(t.DelayMin), int64(t.DelayMax))
		p.c.k.At(e.Time+kafka.Nanos(d), func() { p.fire(i, &cause) })
	}
}

// noteSince remembers who has noted what a disk trigger counts from.
func (p *plan) noteSince(e *event.Event) {
	for i := range p.faults {
		f := &p.faults[i]
		if t := f.Trigger.Disk; t != nil && t.Since == e.Kind && e.Time >= t.After && !slices.Contains(f.since, e.Actor) {
			f.since = append(f.since, e.Actor)
		}
	}
}

// counts adds a matching event and reports whether it is the one waited for.
func (f *planned) counts(t *faults.EventTrigger, e *event.Event) bool {
	if t.Records == 0 {
		f.seen++
		return f.seen == max(t.Nth, 1)
	}
	before := f.records
	f.records += int64(e.Count)
	return before < t.Records && f.records >= t.Records
}

func (p *plan) matches(t *faults.EventTrigger, e *event.Event, i int) bool {
	if t.TP.Topic != "" && (t.TP.Topic != e.TP.Topic || t.TP.Partition >= 0 && t.TP.Partition != e.TP.Partition) {
		return false
	}
	if t.Text != "" && !strings.Contains(e.Text, t.Text) || t.Acks != "" && t.Acks != acksWord(e.Acks) ||
		t.ISR > 0 && t.ISR != len(e.ISR) || t.Group != "" && t.Group != e.Group || t.State != "" && t.State != e.State.String() && t.State != e.Detail {
		return false
	}
	if t.Actor == nil {
		return true
	}
	for _, n := range p.c.Select(*t.Actor, faults.Context{Index: i, Event: e}) {
		if n == e.Actor {
			return true
		}
	}
	return false
}

func acksWord(acks int8) string {
	switch acks {
	case 0:
		return "0"
	case 1:
		return "1"
	}
	return "all"
}

// diskOp looks for a disk operation that triggers a fault. Where the fault takes
// the process down, it dies before the operation has any effect; every other fault
// starts at this instant, behind the running step.
func (p *plan) diskOp(actor string, op simdisk.Op) (a simdisk.Action) {
	if p.over {
		return a
	}
	for i := range p.faults {
		f := &p.faults[i]
		t := f.Trigger.Disk
		if t == nil || f.fired > 0 || t.Op != op.Kind.String() || p.c.k.Now() < t.After ||
			t.Since != event.None && !slices.Contains(f.since, actor) {
			continue
		}
		if !simdisk.MatchName(t.Match, op.Name) || !p.selects(t.Node, actor, i) {
			continue
		}
		if f.ops.at != p.c.k.Now() {
			f.ops.at, f.ops.n = p.c.k.Now(), 0
		}
		f.ops.n++
		if f.seen++; f.seen != max(t.Nth, 1) {
			continue
		}
		cause := event.Event{Kind: event.Probe, Actor: actor, Text: "disk operation"}
		p.c.k.At(p.c.k.Now(), func() { p.fire(i, &cause) })
		if p.strikes(f.Fault, actor, i, &cause) {
			a.Kind = simdisk.CrashBefore
			f.strike = &faults.DiskTrigger{Node: faults.Selector{Name: actor}, Op: t.Op, Match: t.Match, Nth: f.ops.n, After: p.c.k.Now()}
		}
	}
	return a
}

// strikes reports whether a fault takes this actor's process down.
func (p *plan) strikes(f faults.Fault, actor string, i int, cause *event.Event) bool {
	switch f.(type) {
	case faults.Kill, faults.PowerLoss, faults.Damage, faults.Wipe:
		return slices.Contains(p.c.Select(f.Selectors()[0], faults.Context{Index: i, Event: cause}), actor)
	}
	return false
}

func (p *plan) selects(s faults.Selector, actor string, i int) bool {
	for _, n := range p.c.Select(s, faults.Context{Index: i}) {
		if n == actor {
			return true
		}
	}
	return false
}

// idle lists faults that never found their moment or hit nothing, for warnings.
func (p *plan) idle() []string {
	var out []string
	for i := range p.faults {
		f := &p.faults[i]
		name := fmt.Sprintf("fault %d (%s)", i+1, f.Fault)
		switch m := &f.miss; {
		case f.fired == 0:
			out = append(out, name+" never struck: its trigger was not met")
		case m.n == 1 && f.fired == 1:
			out = append(out, fmt.Sprintf("%s hit nothing at %s: %s", name, clock(m.first), m.why))
		case m.n > 0:
			out = append(out, fmt.Sprintf("%s hit nothing %d times of %d, first at %s: %s", name, m.n, f.fired, clock(m.first), m.why))
		}
	}
	return append(append(out, p.c.refusedCommands()...), p.c.idleFaults...)
}

// clock prints a time of the run in seconds with three digits.
func clock(t kafka.Nanos) string {
	return fmt.Sprintf("%d.%03ds", t/kafka.Second, t%kafka.Second/kafka.Millisecond)
}
