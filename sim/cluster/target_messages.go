package cluster

import (
	"slices"

	"github.com/simkafka/simkafka/faults"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/sim/simnet"
)

// Messages implements faults.Target.
func (c *Cluster) Messages(m faults.Messages, lose bool) func() {
	key, one := faults.APIKey(m.API)
	var held []uint64
	seen := 0
	remove := c.net.OnDeliver(func(x *simnet.Message) (a simnet.Action) {
		switch {
		case x.Response && !m.Responses, !x.Response && !m.Requests, one && x.Key() != key,
			m.Count > 0 && seen >= m.Count, !slices.Contains(m.From, x.From), !slices.Contains(m.To, x.To):
			return a
		}
		seen++
		if lose {
			a.Verb = simnet.Lose
			return a
		}
		held = append(held, x.ID)
		a.Verb = simnet.Hold
		return a
	})
	return func() {
		remove()
		for _, id := range held {
			c.net.Release(id)
		}
	}
}

// Clog implements faults.Target.
func (c *Cluster) Clog(from, to []string) func() { return c.net.Clog(from, to) }

// Flap implements faults.Target.
func (c *Cluster) Flap(a, b []string, down, up, until kafka.Nanos) func() {
	return c.net.Flap(a, b, down, up, until)
}

// HalfOpen implements faults.Target.
func (c *Cluster) HalfOpen(a, b []string) int { return c.net.HalfOpen(a, b) }
