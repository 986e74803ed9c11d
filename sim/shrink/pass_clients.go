package shrink

import (
	"slices"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/scenarios"
)

func (s *search) consumers() {
	s.remove(func(c *scenarios.Spec) int { return len(c.Consumers) },
		func(c *scenarios.Spec, from, to int) { c.Consumers = slices.Delete(c.Consumers, from, to) })
	for i := range s.cur.spec.Consumers {
		s.fewer(func(c *scenarios.Spec) *int { return &c.Consumers[i].Count })
	}
}

func (s *search) producers() {
	s.remove(func(c *scenarios.Spec) int { return len(c.Producers) },
		func(c *scenarios.Spec, from, to int) { c.Producers = slices.Delete(c.Producers, from, to) })
	for i := range s.cur.spec.Producers {
		s.fewer(func(c *scenarios.Spec) *int { return &c.Producers[i].Count })
	}
}

// fewer brings a count down to one, or halves it as often as that goes.
func (s *search) fewer(count func(*scenarios.Spec) *int) {
	if s.change(func(c *scenarios.Spec) bool {
		n := count(c)
		was := *n
		*n = 1
		return was > 1
	}) {
		return
	}
	for *count(s.cur.spec) > 2 && s.change(func(c *scenarios.Spec) bool {
		*count(c) /= 2
		return true
	}) {
	}
}

// records makes producers send as little as the failure needs: fewer a second, only
// around it, or a fixed number.
func (s *search) records() {
	for i := range s.cur.spec.Producers {
		s.sparse(i)
		if s.operations() > 1 {
			s.later(i)
			s.sooner(i)
			s.slower(i)
			s.numbered(i)
		}
	}
}

func (s *search) operations() int64 { return s.cur.result.Records.Sent }

// sparse spreads a handful of records over the run.
func (s *search) sparse(i int) {
	for _, n := range []int64{3, 8, 20} {
		if n >= s.operations() {
			return
		}
		if s.change(func(c *scenarios.Spec) bool {
			p := &c.Producers[i]
			from, to := span(c, p)
			rate := n * 1000 * int64(kafka.Second) / int64(max(to-from, kafka.Millisecond)) / int64(max(p.Count, 1))
			if rate < 1 || rate >= p.RatePerMil {
				return false
			}
			p.RatePerMil = rate
			return true
		}) {
			return
		}
	}
}

// span is when a producer sends.
func span(c *scenarios.Spec, p *scenarios.Producer) (from, to kafka.Nanos) {
	from, to = max(p.Start, c.WorkloadStart()), c.Duration
	if p.Stop > 0 {
		to = min(to, p.Stop)
	}
	return from, to
}

// grain is how exactly the beginning and the end of a producer are searched.
const grain = 100 * kafka.Millisecond

// later finds the latest start, sooner the earliest end, by halving.
func (s *search) later(i int) {
	good, bad := span(s.cur.spec, &s.cur.spec.Producers[i])
	bad = min(bad, s.cur.target.At)
	for bad-good > grain && !s.over() {
		mid := (good + (bad-good)/2) / grain * grain
		if mid <= good {
			return
		}
		if s.change(func(c *scenarios.Spec) bool {
			c.Producers[i].Start = mid
			return true
		}) {
			good = mid
		} else {
			bad = mid
		}
	}
}

func (s *search) sooner(i int) {
	bad, good := span(s.cur.spec, &s.cur.spec.Producers[i])
	good = min(good, (s.cur.target.At+grain)/grain*grain)
	for good-bad > grain && !s.over() {
		mid := (bad + (good-bad)/2 + grain - 1) / grain * grain
		if mid >= good {
			return
		}
		if s.change(func(c *scenarios.Spec) bool {
			c.Producers[i].Stop = mid
			return true
		}) {
			good = mid
		} else {
			bad = mid
		}
	}
}

// slower halves the rate as often as that goes.
func (s *search) slower(i int) {
	for s.operations() > 1 && s.change(func(c *scenarios.Spec) bool {
		c.Producers[i].RatePerMil /= 2
		return c.Producers[i].RatePerMil > 0
	}) {
	}
}

// numbered lets a producer stop after a number of records.
func (s *search) numbered(i int) {
	for n := int64(1); n < s.operations(); n *= 2 {
		if s.change(func(c *scenarios.Spec) bool {
			p := &c.Producers[i]
			if p.Records > 0 && p.Records <= n {
				return false
			}
			p.Records = n
			return true
		}) {
			return
		}
	}
}
