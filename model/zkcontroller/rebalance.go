package zkcontroller

import (
	"slices"

	"github.com/simkafka/simkafka/model/election"
	"github.com/simkafka/simkafka/model/kafka"
)

// scheduleRebalance arms the timer of the auto-leader-rebalance-task.
func (c *Controller) scheduleRebalance(delay kafka.Nanos) {
	c.out.CancelTimer(&c.rebalance)
	c.rebalance = c.out.SetTimer(c.lane, c.in.Now+delay, c.timerBase+timerRebalance, 0, nil)
}

// autoRebalance gives leadership back to preferred replicas where a broker has lost
// more than leader.imbalance.per.broker.percentage of the partitions that it should
// lead (Z-26).
type autoRebalance struct {
	begun   bool
	brokers []kafka.NodeID // preferred leaders still to be looked at, ascending
}

func (e *autoRebalance) step(c *Controller) next {
	if !c.IsActive() {
		return done()
	}
	if !e.begun {
		e.begun = true
		e.brokers = c.preferredLeaders()
	}
	for len(e.brokers) > 0 {
		id := e.brokers[0]
		e.brokers = e.brokers[1:]
		if ps := c.imbalanced(id); len(ps) > 0 {
			return call(&onlinePartitions{partitions: ps, strategy: election.Preferred})
		}
	}
	c.scheduleRebalance(c.cfg.LeaderImbalanceCheck)
	return done()
}

// preferredLeaders lists the first replicas of all partitions. Before KAFKA-10149
// there are none while anything is being reassigned.
func (c *Controller) preferredLeaders() (ids []kafka.NodeID) {
	for _, p := range c.ctx.partitions(c.ctx.lives) {
		if !c.cfg.Profile.AutoRebalanceIgnoresReassignment && p.reassigning() {
			return nil
		}
		if len(p.assignment.replicas) > 0 {
			ids = append(ids, p.assignment.replicas[0])
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// imbalanced lists the partitions to be given back to a broker, none while the
// share that it does not lead is within the limit.
func (c *Controller) imbalanced(id kafka.NodeID) (ps []*partition) {
	group, lost := 0, 0
	for _, p := range c.ctx.partitions(func(p *partition) bool { return p.prefers(id) && c.ctx.lives(p) }) {
		group++
		if !p.hasInfo || p.info.leader == id {
			continue
		}
		lost++
		if c.ctx.isReplicaOnline(id, p) && slices.Contains(p.info.isr, id) {
			ps = append(ps, p)
		}
	}
	if lost*100 <= c.cfg.LeaderImbalancePercent*group {
		return nil
	}
	return ps
}

func (p *partition) prefers(id kafka.NodeID) bool {
	return len(p.assignment.replicas) > 0 && p.assignment.replicas[0] == id
}
