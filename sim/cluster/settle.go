package cluster

import (
	"fmt"
	"slices"

	"github.com/simkafka/simkafka/model/broker"
	"github.com/simkafka/simkafka/model/group"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/replica"
	"github.com/simkafka/simkafka/sim/kernel"
)

// open lists up to limit things that have not converged: brokers that do not run,
// no controller, partitions without leader or full ISR, replicas that do not
// agree, producers with open sends, consumers behind.
func (c *Cluster) open(limit int) []string {
	o := opens{limit: limit}
	c.openBrokers(&o)
	c.openCommands(&o)
	c.openDeletions(&o)
	c.openPartitions(&o)
	for _, p := range c.producers {
		if o.full() {
			break
		}
		if c.k.State(p.id) != kernel.Running {
			continue // it ended by itself
		}
		if n := p.process.Pending(); n > 0 {
			o.add("producer %s has %d records in flight", p.name, n)
		}
	}
	c.openConsumers(&o)
	c.openGroups(&o)
	return o.list
}

type opens struct {
	list  []string
	limit int
}

func (o *opens) full() bool { return len(o.list) >= o.limit }

func (o *opens) add(format string, args ...any) {
	if !o.full() {
		o.list = append(o.list, fmt.Sprintf(format, args...))
	}
}

func (c *Cluster) openBrokers(o *opens) {
	controllers := 0
	for _, b := range c.brokers {
		switch {
		case c.k.State(b.id) != kernel.Running:
			o.add("%s is down: %s", b.name, c.view.ends[b.name])
		case b.process.State() != broker.Running:
			o.add("%s is %s", b.name, b.process.State())
		case b.process.Controller().IsActive():
			controllers++
		}
	}
	if controllers != 1 {
		o.add("%d active controllers", controllers)
	}
}

// openPartitions compares every replica with its leader.
func (c *Cluster) openPartitions(o *opens) {
	leaders := make(map[kafka.TopicPartition]*replica.Partition, len(c.view.order))
	for _, b := range c.brokers {
		if o.full() || c.k.State(b.id) != kernel.Running {
			continue
		}
		b.process.Partitions(func(p *replica.Partition) bool {
			if p.IsLeader() && c.view.at(p.TP).leader == b.node {
				leaders[p.TP] = p
			}
			return true
		})
	}
	for i := range c.spec.Topics {
		if c.view.isGone(c.spec.Topics[i].Name) {
			continue
		}
		for n := range max(c.spec.Topics[i].Partitions, c.partitionsOf(c.spec.Topics[i].Name)) {
			tp := kafka.TopicPartition{Topic: c.spec.Topics[i].Name, Partition: n}
			c.openPartition(o, tp, leaders[tp])
		}
	}
	c.openReplicas(o, leaders)
}

func (c *Cluster) openPartition(o *opens, tp kafka.TopicPartition, leader *replica.Partition) {
	switch v := c.view.at(tp); {
	case o.full():
	case leader == nil:
		o.add("%s has no leader in office (committed: %d)", tp, v.leader)
	case len(v.isr) < len(v.replicas):
		o.add("%s has ISR %v of replicas %v", tp, v.isr, v.replicas)
	case leader.Log() != nil && leader.Log().LogEndOffset() > leader.PublishedLEO():
		o.add("%s: an append to the leader's log, which ends at %d, is under way", tp, leader.Log().LogEndOffset())
	case leader.HighWatermark() < leader.PublishedLEO():
		o.add("%s: high watermark %d below end %d", tp, leader.HighWatermark(), leader.PublishedLEO())
	}
}

func (c *Cluster) openReplicas(o *opens, leaders map[kafka.TopicPartition]*replica.Partition) {
	for _, b := range c.brokers {
		if o.full() || c.k.State(b.id) != kernel.Running {
			return
		}
		b.process.Partitions(func(p *replica.Partition) bool {
			leader := leaders[p.TP]
			if leader != nil && p.TP.Topic == group.OffsetsTopic { // members commit for ever
				if p.PublishedLEO() < leader.HighWatermark() {
					o.add("%s on %s: end %d, below the leader's high watermark %d", p.TP, b.name, p.PublishedLEO(), leader.HighWatermark())
				}
				return !o.full()
			}
			if leader != nil && (p.PublishedLEO() != leader.PublishedLEO() || p.HighWatermark() != leader.HighWatermark()) {
				o.add("%s on %s: end %d and high watermark %d, the leader has %d and %d", p.TP, b.name,
					p.PublishedLEO(), p.HighWatermark(), leader.PublishedLEO(), leader.HighWatermark())
			}
			return !o.full()
		})
	}
}

// openConsumers compares positions with the leaders' high watermarks, and asks whether the
// leaders are known: who knows none asks for metadata until there is one, unless it fetches
// from one all the same. That must be the present one.
func (c *Cluster) openConsumers(o *opens) {
	if o.full() {
		return
	}
	for _, h := range c.consumers {
		if c.k.State(h.id) != kernel.Running {
			continue
		}
		if h.member != nil {
			if why := h.member.Settled(); why != "" {
				o.add("consumer %s of group %s %s", h.name, h.group, why)
			}
		}
		for _, p := range h.process.Positions() {
			if hw, ok := c.highWatermark(p.TP); ok && p.Offset < hw && !o.full() {
				o.add("consumer %s is at %d of %s, whose high watermark is %d", h.name, p.Offset, p.TP, hw)
			}
		}
		for _, x := range h.process.Leaderless() {
			now := c.view.at(x.TP)
			rightly := x.From == now.leader && (x.Epoch == now.epoch || x.Epoch == kafka.NoLeaderEpoch)
			if now.leader != kafka.NoNode && !rightly {
				o.add("consumer %s does not know the leader of %s", h.name, x.TP)
			}
		}
	}
}

// openGroups looks for partitions that no running member of a group owns, or several.
func (c *Cluster) openGroups(o *opens) {
	var done []string
	for i := range c.spec.Consumers {
		s := &c.spec.Consumers[i]
		if s.Group == "" || slices.Contains(done, s.Group) || o.full() {
			continue
		}
		done = append(done, s.Group)
		c.openGroup(o, s.Group)
	}
}

func (c *Cluster) openGroup(o *opens, id string) {
	owners := make(map[kafka.TopicPartition]int)
	var topics []string // of running members
	for _, h := range c.consumers {
		if h.group != id || c.k.State(h.id) != kernel.Running {
			continue
		}
		for _, tp := range h.member.Owned() {
			owners[tp]++
		}
		topics = append(topics, h.topics...)
	}
	for i := range c.spec.Topics {
		t := &c.spec.Topics[i]
		if c.view.isGone(t.Name) {
			continue
		}
		for p := range max(t.Partitions, c.partitionsOf(t.Name)) {
			if n := owners[kafka.TopicPartition{Topic: t.Name, Partition: p}]; n != 1 && slices.Contains(topics, t.Name) {
				o.add("%s-%d has %d owners in group %s", t.Name, p, n, id)
			}
		}
	}
}

func (c *Cluster) highWatermark(tp kafka.TopicPartition) (hw kafka.Offset, ok bool) {
	h := c.names[kafka.BrokerHost(c.view.at(tp).leader)]
	if h == nil || c.k.State(h.id) != kernel.Running {
		return 0, false
	}
	c.brokers[h.node-1].process.Partitions(func(p *replica.Partition) bool {
		if p.TP == tp {
			hw, ok = p.HighWatermark(), true
			return false
		}
		return true
	})
	return hw, ok
}
