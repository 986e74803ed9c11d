package shrink

import (
	"slices"

	"github.com/simkafka/simkafka/faults"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/scenarios"
)

// remove takes parts of a list away, first all, then chunks that get smaller, from the
// end to the beginning.
func (s *search) remove(count func(*scenarios.Spec) int, cut func(c *scenarios.Spec, from, to int)) {
	for size := count(s.cur.spec); size > 0; size /= 2 {
		for to := count(s.cur.spec); to > 0 && !s.over(); to -= size {
			s.change(func(c *scenarios.Spec) bool {
				cut(c, max(0, to-size), to)
				return true
			})
		}
	}
}

func (s *search) faults() {
	s.remove(func(c *scenarios.Spec) int { return len(c.Events) },
		func(c *scenarios.Spec, from, to int) { c.Events = slices.Delete(c.Events, from, to) })
}

// end lets the run end soon after the failure, or after the last fault.
func (s *search) end() {
	shorten := func(duration, heal kafka.Nanos) bool {
		return s.change(func(c *scenarios.Spec) bool {
			if duration >= c.Duration || duration <= c.WorkloadStart() {
				return false
			}
			c.Duration, c.Heal = duration, heal
			return true
		})
	}
	c := s.cur.spec
	if at := s.cur.target.At; at < c.Duration {
		shorten(seconds(at)+kafka.Second, 0)
		return
	}
	over := max(lastFault(c), c.WorkloadStart())
	for _, more := range []kafka.Nanos{kafka.Second, 5 * kafka.Second, 10 * kafka.Second} {
		if shorten(seconds(over)+more, 0) {
			return
		}
	}
}

// seconds rounds up.
func seconds(t kafka.Nanos) kafka.Nanos {
	return (t + kafka.Second - 1) / kafka.Second * kafka.Second
}

// lastFault is when the last fault with a time begins, or ends by itself.
func lastFault(c *scenarios.Spec) (last kafka.Nanos) {
	for i := range c.Events {
		p := &c.Events[i]
		t := p.Trigger
		at := max(t.At, t.From+t.Every*kafka.Nanos(max(t.Times-1, 0)))
		if t.On != nil {
			at = t.On.After
		} else if t.Disk != nil {
			at = t.Disk.After
		}
		last = max(last, at+max(p.For, p.RestartAfter))
	}
	return last
}

// sides takes nodes out of the lists of faults that have two sides.
func (s *search) sides() {
	for i := range s.cur.spec.Events {
		for side := range 2 {
			for n := len(sidesOf(s.cur.spec.Events[i].Fault)[side]) - 1; n >= 0; n-- {
				s.change(func(c *scenarios.Spec) bool {
					lists := sidesOf(c.Events[i].Fault)
					if len(lists[side]) < 2 {
						return false
					}
					lists[side] = slices.Delete(slices.Clone(lists[side]), n, n+1)
					c.Events[i].Fault = withSides(c.Events[i].Fault, lists)
					return true
				})
			}
		}
	}
}

func sidesOf(f faults.Fault) (lists [2][]faults.Selector) {
	switch f := f.(type) {
	case faults.Cut:
		return [2][]faults.Selector{f.From, f.To}
	case faults.Message:
		return [2][]faults.Selector{f.From, f.To}
	case faults.Clog:
		return [2][]faults.Selector{f.From, f.To}
	case faults.Link:
		return [2][]faults.Selector{f.A, f.B}
	case faults.Reset:
		return [2][]faults.Selector{f.A, f.B}
	case faults.HalfOpen:
		return [2][]faults.Selector{f.A, f.B}
	case faults.Flap:
		return [2][]faults.Selector{f.A, f.B}
	case faults.Isolate:
		return [2][]faults.Selector{nil, f.Except}
	}
	return lists
}

func withSides(f faults.Fault, lists [2][]faults.Selector) faults.Fault {
	switch f := f.(type) {
	case faults.Cut:
		f.From, f.To = lists[0], lists[1]
		return f
	case faults.Message:
		f.From, f.To = lists[0], lists[1]
		return f
	case faults.Clog:
		f.From, f.To = lists[0], lists[1]
		return f
	case faults.Link:
		f.A, f.B = lists[0], lists[1]
		return f
	case faults.Reset:
		f.A, f.B = lists[0], lists[1]
		return f
	case faults.HalfOpen:
		f.A, f.B = lists[0], lists[1]
		return f
	case faults.Flap:
		f.A, f.B = lists[0], lists[1]
		return f
	case faults.Isolate:
		f.Except = lists[1]
		return f
	}
	return f
}
