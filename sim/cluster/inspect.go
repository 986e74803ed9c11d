package cluster

import (
	"cmp"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/group"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/outcome"
	"github.com/simkafka/simkafka/model/vfs"
	"github.com/simkafka/simkafka/sim/kernel"
)

// Disk is a broker's disk, for those who look at what a run left; its data directory
// is "data". It is nil if there is no such broker.
func (c *Cluster) Disk(broker kafka.NodeID) vfs.FS {
	for _, b := range c.brokers {
		if b.node == broker {
			return b.disk.Disk
		}
	}
	return nil
}

// Groups is the state of every group at this moment, by id, as the running broker that
// leads its partition of __consumer_offsets has it. A group whose coordinator is down
// or loads is not among them.
func (c *Cluster) Groups() []outcome.GroupState {
	var out []outcome.GroupState
	for _, b := range c.brokers {
		if c.k.State(b.id) != kernel.Running || b.process.Groups() == nil {
			continue
		}
		for _, g := range b.process.Groups().Groups() {
			if c.view.coordinator(g.ID()) == b.node {
				out = append(out, c.groupState(g, b.node))
			}
		}
	}
	slices.SortFunc(out, func(a, b outcome.GroupState) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// groupState describes a group as kafka-consumer-groups does: the partitions with a
// committed offset or an owner, in order, then the members without partitions.
func (c *Cluster) groupState(g *group.Group, node kafka.NodeID) outcome.GroupState {
	s := outcome.GroupState{ID: g.ID(), Coordinator: node, State: g.State().String(), Generation: g.Generation(), Protocol: g.Protocol()}
	row := func(tp kafka.TopicPartition) *outcome.GroupRow {
		i, found := slices.BinarySearchFunc(s.Rows, tp, func(r outcome.GroupRow, tp kafka.TopicPartition) int { return r.TP.Compare(tp) })
		if !found {
			r := outcome.GroupRow{TP: tp, Committed: kafka.NoOffset, LogEnd: kafka.NoOffset}
			if hw, ok := c.highWatermark(tp); ok {
				r.LogEnd = hw
			}
			s.Rows = slices.Insert(s.Rows, i, r)
		}
		return &s.Rows[i]
	}
	g.Offsets(func(tp kafka.TopicPartition, o group.Offset) { row(tp).Committed = o.Offset })
	var idle []outcome.GroupRow
	for _, m := range g.Members() {
		parts := assignedTo(g, m)
		for _, tp := range parts {
			r := row(tp)
			r.MemberID, r.Host, r.Client = m.ID(), m.Host(), m.Client()
		}
		if len(parts) == 0 {
			idle = append(idle, outcome.GroupRow{Committed: kafka.NoOffset, LogEnd: kafka.NoOffset, MemberID: m.ID(), Host: m.Host(), Client: m.Client()})
		}
	}
	s.Rows = append(s.Rows, idle...)
	return s
}

// assignedTo is a member's part, which a group tells while it is stable.
func assignedTo(g *group.Group, m *group.Member) (list []kafka.TopicPartition) {
	var a kmsg.ConsumerMemberAssignment
	if g.State() != group.Stable || a.ReadFrom(m.Assignment()) != nil {
		return nil
	}
	for i := range a.Topics {
		for _, p := range a.Topics[i].Partitions {
			list = append(list, kafka.TopicPartition{Topic: a.Topics[i].Topic, Partition: p})
		}
	}
	return list
}
