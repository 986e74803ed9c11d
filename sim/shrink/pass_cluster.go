package shrink

import (
	"slices"

	"github.com/simkafka/simkafka/faults"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/outcome"
	"github.com/simkafka/simkafka/scenarios"
)

// topics removes whole topics with those who use them alone.
func (s *search) topics() {
	if len(s.cur.spec.Topics) < 2 {
		return
	}
	s.remove(func(c *scenarios.Spec) int { return len(c.Topics) }, func(c *scenarios.Spec, from, to int) {
		for _, t := range slices.Clone(c.Topics[from:to]) {
			dropTopic(c, t.Name)
		}
	})
}

func dropTopic(c *scenarios.Spec, name string) {
	c.Topics = slices.DeleteFunc(c.Topics, func(t scenarios.Topic) bool { return t.Name == name })
	c.Producers = slices.DeleteFunc(c.Producers, func(p scenarios.Producer) bool { return p.Topic == name })
	for i := range c.Consumers {
		c.Consumers[i].Topics = slices.DeleteFunc(c.Consumers[i].Topics, func(t string) bool { return t == name })
	}
	c.Events = slices.DeleteFunc(c.Events, func(p faults.Planned) bool {
		switch f := p.Fault.(type) {
		case faults.CreatePartitions:
			return f.Topic == name
		case faults.DeleteTopic:
			return f.Topic == name
		case faults.CreateTopic:
			return f.Topic == name
		}
		return false
	})
	c.Consumers = slices.DeleteFunc(c.Consumers, func(x scenarios.Consumer) bool { return len(x.Topics) == 0 })
}

// partitions writes down where the replicas were placed, so that brokers and partitions
// can go one by one, and leaves one partition of each topic.
func (s *search) partitions() {
	for i := range s.cur.spec.Topics {
		s.change(func(c *scenarios.Spec) bool { return place(&c.Topics[i], s.cur.result) })
		t := &s.cur.spec.Topics[i]
		if t.Partitions == 1 {
			continue
		}
		keep := int32(0)
		if t.Name == s.cur.target.TP.Topic {
			keep = s.cur.target.TP.Partition
		}
		if s.change(func(c *scenarios.Spec) bool { return only(c, i, keep) }) {
			continue
		}
		for s.cur.spec.Topics[i].Partitions > 2 && s.change(func(c *scenarios.Spec) bool { return half(c, i) }) {
		}
	}
}

// place is false where the replicas are written down already, or are not known.
func place(t *scenarios.Topic, r *outcome.Result) bool {
	if t.Assignment != nil {
		return false
	}
	rows := make([][]kafka.NodeID, t.Partitions)
	for i := range r.Partitions {
		if p := &r.Partitions[i]; p.TP.Topic == t.Name && p.TP.Partition < t.Partitions {
			rows[p.TP.Partition] = p.Replicas
		}
	}
	if slices.ContainsFunc(rows, func(ids []kafka.NodeID) bool { return len(ids) == 0 }) {
		return false
	}
	t.Assignment = rows
	return true
}

// only leaves one partition of a topic, which becomes number 0.
func only(c *scenarios.Spec, i int, keep int32) bool {
	t := &c.Topics[i]
	if t.Assignment != nil {
		t.Assignment = t.Assignment[keep : keep+1]
	}
	t.Partitions = 1
	for j := range c.Producers {
		if p := &c.Producers[j]; p.Topic == t.Name && p.Partition >= 0 {
			p.Partition = 0
		}
	}
	renumber := func(tp *kafka.TopicPartition) {
		if tp.Topic == t.Name && tp.Partition == keep {
			tp.Partition = 0
		}
	}
	for j := range c.Events {
		p := &c.Events[j]
		if p.Trigger.On != nil {
			renumber(&p.Trigger.On.TP)
		}
		p.Fault = faults.Rebind(p.Fault, func(x faults.Selector) faults.Selector {
			renumber(&x.TP)
			return x
		})
	}
	return true
}

// half leaves the first half of a topic's partitions.
func half(c *scenarios.Spec, i int) bool {
	t := &c.Topics[i]
	t.Partitions /= 2
	if t.Assignment != nil {
		t.Assignment = t.Assignment[:t.Partitions]
	}
	return true
}

// brokers removes brokers, the last ones first; those behind a removed one get its
// number.
func (s *search) brokers() {
	for id := s.cur.spec.Cluster.Brokers; id >= 1 && !s.over(); id-- {
		s.change(func(c *scenarios.Spec) bool { return dropBroker(c, kafka.NodeID(id)) })
	}
}

func dropBroker(c *scenarios.Spec, id kafka.NodeID) bool {
	if c.Cluster.Brokers < 2 || int(id) > c.Cluster.Brokers {
		return false
	}
	c.Cluster.Brokers--
	if i := int(id) - 1; i < len(c.Cluster.Racks) {
		c.Cluster.Racks = slices.Delete(c.Cluster.Racks, i, i+1)
	}
	c.Cluster.PerBroker = slices.DeleteFunc(c.Cluster.PerBroker, func(b scenarios.BrokerSettings) bool { return b.Node == id })
	for i := range c.Cluster.PerBroker {
		c.Cluster.PerBroker[i].Node = behind(c.Cluster.PerBroker[i].Node, id)
	}
	for i := range c.Topics {
		t := &c.Topics[i]
		for j, ids := range t.Assignment {
			ids = slices.DeleteFunc(slices.Clone(ids), func(n kafka.NodeID) bool { return n == id })
			for k := range ids {
				ids[k] = behind(ids[k], id)
			}
			t.Assignment[j] = ids
		}
		t.Replication = min(t.Replication, c.Cluster.Brokers)
	}
	return dropFromFaults(c, id)
}

// behind is the number of a broker when id is gone.
func behind(n, id kafka.NodeID) kafka.NodeID {
	if n > id {
		return n - 1
	}
	return n
}

// dropFromFaults is false where a fault would have nobody left.
func dropFromFaults(c *scenarios.Spec, id kafka.NodeID) bool {
	gone := func(x faults.Selector) bool { return x.Role == faults.ByName && x.Name == kafka.BrokerHost(id) }
	rename := func(x faults.Selector) faults.Selector {
		if n, ok := kafka.ParseBrokerHost(x.Name); ok && x.Role == faults.ByName {
			x.Name = kafka.BrokerHost(behind(n, id))
		}
		return x
	}
	for i := range c.Events {
		p := &c.Events[i]
		lists := sidesOf(p.Fault)
		for j := range lists {
			lists[j] = slices.DeleteFunc(slices.Clone(lists[j]), gone)
		}
		p.Fault = withSides(p.Fault, lists)
		if slices.ContainsFunc(p.Fault.Selectors(), gone) || emptied(p.Fault) {
			return false
		}
		p.Fault = faults.Rebind(p.Fault, rename)
		if d := p.Trigger.Disk; d != nil {
			if gone(d.Node) {
				return false
			}
			d.Node = rename(d.Node)
		}
		if on := p.Trigger.On; on != nil && on.Actor != nil {
			if gone(*on.Actor) {
				return false
			}
			a := rename(*on.Actor)
			on.Actor = &a
		}
	}
	return true
}

// emptied reports whether a fault with two sides lacks one.
func emptied(f faults.Fault) bool {
	if _, one := f.(faults.Isolate); one {
		return false
	}
	lists := sidesOf(f)
	return (lists[0] == nil) != (lists[1] == nil) || lists[0] != nil && (len(lists[0]) == 0 || len(lists[1]) == 0)
}
