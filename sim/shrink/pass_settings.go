package shrink

import (
	"slices"

	"github.com/simkafka/simkafka/model/quirk"
	"github.com/simkafka/simkafka/scenarios"
)

// setting is one thing that a scenario sets and that has a default.
type setting func(c *scenarios.Spec) // takes it away

// settingsOf lists everything that is not left at its default: Kafka's settings, by their
// owners, then the simulated machines'. A setting finds its key again in a copy, so that
// several can be taken away in any order.
func settingsOf(spec *scenarios.Spec) (all []setting) {
	list := func(of func(*scenarios.Spec) *[]scenarios.Setting) {
		for _, x := range *of(spec) {
			all = append(all, func(c *scenarios.Spec) {
				l := of(c)
				*l = slices.DeleteFunc(*l, func(y scenarios.Setting) bool { return y.Key == x.Key })
			})
		}
	}
	list(func(c *scenarios.Spec) *[]scenarios.Setting { return &c.Cluster.Config })
	list(func(c *scenarios.Spec) *[]scenarios.Setting { return &c.Cluster.ZooKeeper })
	for i := range spec.Cluster.PerBroker {
		list(func(c *scenarios.Spec) *[]scenarios.Setting { return &c.Cluster.PerBroker[i].Settings })
	}
	for i := range spec.Topics {
		list(func(c *scenarios.Spec) *[]scenarios.Setting { return &c.Topics[i].Config })
	}
	for i := range spec.Producers {
		list(func(c *scenarios.Spec) *[]scenarios.Setting { return &c.Producers[i].Config })
	}
	for i := range spec.Consumers {
		list(func(c *scenarios.Spec) *[]scenarios.Setting { return &c.Consumers[i].Config })
	}
	return append(all, machinesOf(&spec.Cluster, spec.Hardware)...)
}

func machinesOf(c *scenarios.Cluster, h *scenarios.Hardware) (all []setting) {
	add := func(set bool, clear setting) {
		if set {
			all = append(all, clear)
		}
	}
	add(c.Endpoints > 1, func(c *scenarios.Spec) { c.Cluster.Endpoints = 0 })
	add(len(c.Racks) > 0, func(c *scenarios.Spec) { c.Cluster.Racks = nil })
	add(c.Network.Latency.Kind != "", func(c *scenarios.Spec) { c.Cluster.Network.Latency = scenarios.Dist{} })
	add(c.Network.Bandwidth > 0, func(c *scenarios.Spec) { c.Cluster.Network.Bandwidth = 0 })
	fs := c.Disk.Filesystem
	add(c.Disk != scenarios.Disk{Filesystem: fs}, func(c *scenarios.Spec) { c.Cluster.Disk = scenarios.Disk{Filesystem: c.Cluster.Disk.Filesystem} })
	add(fs != "", func(c *scenarios.Spec) { c.Cluster.Disk.Filesystem = "" })
	add(c.ServiceTime > 0, func(c *scenarios.Spec) { c.Cluster.ServiceTime = 0 })
	add(h != nil, func(c *scenarios.Spec) { c.Hardware = nil })
	return all
}

// settings takes settings away until each that is left is needed.
func (s *search) settings() {
	s.remove(func(c *scenarios.Spec) int { return len(settingsOf(c)) }, func(c *scenarios.Spec, from, to int) {
		for _, clear := range settingsOf(c)[from:to] {
			clear(c)
		}
		c.Cluster.PerBroker = slices.DeleteFunc(c.Cluster.PerBroker, func(b scenarios.BrokerSettings) bool { return len(b.Settings) == 0 })
	})
	for _, id := range s.cur.spec.Quirks.IDs() {
		s.change(func(c *scenarios.Spec) bool {
			var rest []quirk.ID
			for _, other := range c.Quirks.IDs() {
				if other != id {
					rest = append(rest, other)
				}
			}
			c.Quirks = quirk.Of(rest...)
			return true
		})
	}
}

// plainSize is the size of a record's value where it does not matter.
const plainSize = 100

// values makes records and their readers plain.
func (s *search) values() {
	for i := range s.cur.spec.Consumers {
		s.change(func(c *scenarios.Spec) bool {
			x := &c.Consumers[i]
			was := x.Group != "" || x.Processing > 0 || x.Revoke > 0 || x.Commit != "" || x.OnStop != ""
			x.Group, x.Processing, x.Revoke, x.Commit, x.OnStop = "", 0, 0, "", ""
			return was
		})
		s.change(func(c *scenarios.Spec) bool {
			x := &c.Consumers[i]
			was := x.Processing > 0 || x.Revoke > 0 || x.Commit != "" || x.OnStop != ""
			x.Processing, x.Revoke, x.Commit, x.OnStop = 0, 0, "", ""
			return was
		})
	}
	plain := func(p *scenarios.Producer) bool {
		was := *p
		p.Arrival, p.Keys, p.Tombstones, p.Size = "constant", 0, 0, min(p.Size, plainSize)
		return p.Arrival != was.Arrival || p.Keys != was.Keys || p.Tombstones != was.Tombstones || p.Size != was.Size
	}
	for i := range s.cur.spec.Producers {
		if s.change(func(c *scenarios.Spec) bool { return plain(&c.Producers[i]) }) {
			continue
		}
		for _, one := range []func(p *scenarios.Producer){
			func(p *scenarios.Producer) { p.Size = min(p.Size, plainSize) },
			func(p *scenarios.Producer) { p.Arrival = "constant" },
			func(p *scenarios.Producer) { p.Tombstones = 0 },
			func(p *scenarios.Producer) { p.Keys, p.Tombstones = 0, 0 },
		} {
			s.change(func(c *scenarios.Spec) bool {
				one(&c.Producers[i])
				return true
			})
		}
	}
}
