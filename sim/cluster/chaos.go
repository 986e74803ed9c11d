package cluster

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/simkafka/simkafka/faults"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
	"github.com/simkafka/simkafka/scenarios"
	"github.com/simkafka/simkafka/sim/kernel/dist"
)

// drawChaos adds the faults that the seed draws to those that the scenario names,
// in order of time, so that a run can be written out with all of them explicit.
func (c *Cluster) drawChaos(events []faults.Planned) []faults.Planned {
	ch := c.spec.Chaos
	if ch == nil {
		return events
	}
	d := c.draws.Sub("chaos")
	n := step.Between(d.Draw("count", 0), int64(ch.Min), int64(ch.Max))
	var drawn []faults.Planned
	for i := range uint64(n) {
		cand := &ch.Of[step.Below(d.Draw("which", i), uint64(len(ch.Of)))]
		p := cand.Planned
		p.Trigger = faults.Trigger{At: kafka.Nanos(step.Between(d.Draw("at", i), int64(ch.From), int64(ch.To)-1))}
		p.For = spread(d.Draw("for", i), cand.For, cand.ForMax)
		p.RestartAfter = spread(d.Draw("restart", i), cand.RestartAfter, cand.RestartAfterMax)
		p.Fault = faults.Rebind(p.Fault, func(s faults.Selector) faults.Selector { return c.anyPartition(s, d.Draw("partition", i)) })
		drawn = append(drawn, p)
	}
	slices.SortStableFunc(drawn, func(a, b faults.Planned) int { return cmp.Compare(a.Trigger.At, b.Trigger.At) })
	return append(slices.Clone(events), drawn...)
}

// spread draws from [lo, hi] in whole milliseconds.
func spread(draw uint64, lo, hi kafka.Nanos) kafka.Nanos {
	if hi <= lo {
		return lo
	}
	return lo + kafka.Millisecond*kafka.Nanos(step.Between(draw, 0, int64((hi-lo)/kafka.Millisecond)))
}

// anyPartition replaces partition -1 (topic/*) by a drawn one.
func (c *Cluster) anyPartition(s faults.Selector, draw uint64) faults.Selector {
	if s.TP.Partition >= 0 {
		return s
	}
	for _, t := range c.spec.Topics {
		if t.Name == s.TP.Topic {
			s.TP.Partition = int32(step.Below(draw, uint64(t.Partitions)))
		}
	}
	return s
}

func distribution(d scenarios.Dist) (dist.Dist, error) {
	switch d.Kind {
	case "":
		return dist.Dist{}, nil
	case "constant":
		return dist.Constant(d.A), nil
	case "uniform":
		return dist.Uniform(d.A, d.B), nil
	case "exponential":
		return dist.Exponential(d.A), nil
	case "lognormal":
		sigma, err := sigmaOf(d.A, d.B)
		return dist.LogNormal(d.A, sigma), err
	}
	return dist.Dist{}, fmt.Errorf("unknown distribution %q", d.Kind)
}

// sigmaOf finds the sigma (in millionths) of the log-normal distribution with this
// median and 99th percentile: ln(p99/median) / 2.326. The logarithm is taken by
// repeated square roots of the ratio in fixed point, to stay with integers.
func sigmaOf(median, p99 kafka.Nanos) (ppm int64, err error) {
	if median <= 0 || p99 < median || p99/median > 10_000 {
		return 0, errors.New("a log-normal delay needs 0 < median <= p99 <= 10000 times median")
	}
	// ln(x) = sum over the binary digits of log2(x), times ln 2.
	const one = 1 << 30
	x := uint64(p99/median)*one + uint64(p99%median)*one/uint64(median)
	log2 := uint64(0) // in units of 2^-30
	for x >= 2*one {
		x >>= 1
		log2 += one
	}
	for bit := uint64(one / 2); bit > 0; bit >>= 1 {
		x = x * x >> 30
		if x >= 2*one {
			x >>= 1
			log2 += bit
		}
	}
	const ln2, z99 = 693_147, 2_326_348 // both in millionths
	return int64(log2 * ln2 / one * 1_000_000 / z99), nil
}
