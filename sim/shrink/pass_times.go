package shrink

import (
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/scenarios"
)

// units are what times are rounded to, the roundest first.
var units = [...]kafka.Nanos{kafka.Second, 100 * kafka.Millisecond, 10 * kafka.Millisecond, kafka.Millisecond}

// times lets faults last until the heal, rounds their times and moves everything
// forward.
func (s *search) times() {
	s.lasting()
	s.forward()
	for _, u := range units {
		if s.change(func(c *scenarios.Spec) bool { return roundAll(c, u) }) {
			break
		}
	}
	for i := range timesOf(s.cur.spec) {
		for _, u := range units {
			if s.change(func(c *scenarios.Spec) bool { return rounded(timesOf(c)[i], u) }) {
				break
			}
		}
	}
}

// lasting removes the ends of faults, or makes them come after whole seconds.
func (s *search) lasting() {
	each := func(pick func(c *scenarios.Spec, i int) *kafka.Nanos) {
		for i := range s.cur.spec.Events {
			if s.change(func(c *scenarios.Spec) bool {
				d := pick(c, i)
				was := *d
				*d = 0
				return was > 0
			}) {
				continue
			}
			s.change(func(c *scenarios.Spec) bool {
				d := pick(c, i)
				was := *d
				*d = seconds(was)
				return *d != was
			})
		}
	}
	each(func(c *scenarios.Spec, i int) *kafka.Nanos { return &c.Events[i].For })
	each(func(c *scenarios.Spec, i int) *kafka.Nanos { return &c.Events[i].RestartAfter })
}

// timesOf are the points of time that a scenario names.
func timesOf(c *scenarios.Spec) (out []*kafka.Nanos) {
	for i := range c.Events {
		t := &c.Events[i].Trigger
		switch {
		case t.On != nil:
			out = append(out, &t.On.After)
		case t.Disk != nil:
			out = append(out, &t.Disk.After)
		case t.Every > 0:
			out = append(out, &t.From)
		default:
			out = append(out, &t.At)
		}
	}
	for i := range c.Producers {
		out = append(out, &c.Producers[i].Start, &c.Producers[i].Stop)
	}
	for i := range c.Consumers {
		out = append(out, &c.Consumers[i].Start)
	}
	return out
}

func rounded(t *kafka.Nanos, unit kafka.Nanos) bool {
	was := *t
	*t = (was + unit/2) / unit * unit
	return *t != was
}

// roundAll rounds every time, and the delays of triggers.
func roundAll(c *scenarios.Spec, unit kafka.Nanos) (changed bool) {
	for _, t := range timesOf(c) {
		if rounded(t, unit) {
			changed = true
		}
	}
	for i := range c.Events {
		if on := c.Events[i].Trigger.On; on != nil && rounded(&on.DelayMax, unit) {
			on.DelayMin, changed = on.DelayMax, true
		}
	}
	return changed
}

// forward makes everything happen earlier, by whole seconds, so that the first thing
// comes soon after the start of the workload.
func (s *search) forward() {
	c := s.cur.spec
	first := c.Duration
	for _, t := range timesOf(c) {
		if *t > c.WorkloadStart() {
			first = min(first, *t)
		}
	}
	for _, from := range []kafka.Nanos{c.WorkloadStart() + kafka.Second, c.WorkloadStart() + 5*kafka.Second} {
		by := (first - from) / kafka.Second * kafka.Second
		if by > 0 && s.change(func(c *scenarios.Spec) bool { return move(c, by) }) {
			return
		}
	}
}

func move(c *scenarios.Spec, by kafka.Nanos) bool {
	for _, t := range timesOf(c) {
		if *t > c.WorkloadStart() {
			*t -= by
		}
	}
	c.Duration -= by
	if c.Heal > 0 {
		c.Heal -= by
	}
	return c.Duration > c.WorkloadStart()
}
