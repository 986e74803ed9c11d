package zkcontroller

import (
	"cmp"
	"slices"

	"github.com/simkafka/simkafka/model/kafka"
)

// batch collects the requests that one round of state changes owes the brokers
// (ControllerBrokerRequestBatch): at most one request of each kind per broker
// (Z-19). It is sent, and emptied, by send.
type batch struct {
	leaderAndISR []brokerStates // ascending by broker
	stop         []brokerStops  // ascending by broker
	// update goes to each of updateTo, ascending.
	updateTo []kafka.NodeID
	update   []partitionState // ascending by partition; isNew unused
}

// partitionState is a partition as a control request describes it.
type partitionState struct {
	tp      kafka.TopicPartition
	topicID kafka.TopicID
	info    leaderISR
	assignment
	offline []kafka.NodeID
	isNew   bool
}

type brokerStates struct {
	broker kafka.NodeID
	states []partitionState // ascending by partition
}

type stopState struct {
	tp          kafka.TopicPartition
	leaderEpoch kafka.LeaderEpoch
	delete      bool
}

type brokerStops struct {
	broker kafka.NodeID
	states []stopState // ascending by partition
}

func (b *batch) clear() { *b = batch{} }

// addLeaderAndISR tells brokers the present state of p, and everybody by
// UpdateMetadata (Z-20). A replica once new in a batch stays new in it.
func (c *Controller) addLeaderAndISR(brokers []kafka.NodeID, p *partition, isNew bool) {
	state := c.describe(p)
	for _, id := range brokers {
		row := insertSorted(&c.batch.leaderAndISR, id, func(r *brokerStates) kafka.NodeID { return r.broker })
		row.broker = id
		state.isNew = isNew
		putState(&row.states, state)
	}
	c.addUpdateMetadata(c.ctx.allBrokers(), p)
}

// addStopReplica tells a broker to stop its replica of p. Once a deletion, always
// a deletion.
func (c *Controller) addStopReplica(broker kafka.NodeID, p *partition, deletes bool) {
	row := insertSorted(&c.batch.stop, broker, func(r *brokerStops) kafka.NodeID { return r.broker })
	row.broker = broker
	epoch := kafka.NoLeaderEpoch
	switch {
	case !c.ctx.lives(p):
		epoch = kafka.EpochDuringDelete
	case p.hasInfo:
		epoch = p.info.leaderEpoch
	}
	i, found := slices.BinarySearchFunc(row.states, p.tp, func(s stopState, tp kafka.TopicPartition) int { return s.tp.Compare(tp) })
	if !found {
		row.states = slices.Insert(row.states, i, stopState{tp: p.tp})
	}
	row.states[i].leaderEpoch = epoch
	row.states[i].delete = row.states[i].delete || deletes
}

// addUpdateMetadata sends brokers the broker list and the present state of the
// partitions that have one; those of topics that are being deleted have leader -2 (Z-21). Every broker of the batch gets all of its partitions.
func (c *Controller) addUpdateMetadata(brokers []kafka.NodeID, ps ...*partition) {
	for _, id := range brokers {
		if i, found := slices.BinarySearch(c.batch.updateTo, id); !found {
			c.batch.updateTo = slices.Insert(c.batch.updateTo, i, id)
		}
	}
	for _, p := range ps {
		if !p.hasInfo {
			continue
		}
		s := c.describe(p)
		if !c.ctx.lives(p) {
			s.info.leader, s.info.leaderEpoch, s.info.partitionEpoch = kafka.LeaderDuringDelete, 0, 0
		}
		putState(&c.batch.update, s)
	}
}

func (c *Controller) describe(p *partition) partitionState {
	s := partitionState{tp: p.tp, info: p.info, assignment: p.assignment}
	if t := c.ctx.topic(p.tp.Topic); t != nil {
		s.topicID = t.id
	}
	for _, id := range p.assignment.replicas {
		if !c.ctx.isReplicaOnline(id, p) {
			s.offline = append(s.offline, id)
		}
	}
	return s
}

// insertSorted finds or makes the row of a broker.
func insertSorted[T any](rows *[]T, id kafka.NodeID, key func(*T) kafka.NodeID) *T {
	i, found := slices.BinarySearchFunc(*rows, id, func(r T, id kafka.NodeID) int { return cmp.Compare(key(&r), id) })
	if !found {
		var zero T
		*rows = slices.Insert(*rows, i, zero)
	}
	return &(*rows)[i]
}

func putState(states *[]partitionState, s partitionState) {
	i, found := slices.BinarySearchFunc(*states, s.tp, func(s partitionState, tp kafka.TopicPartition) int { return s.tp.Compare(tp) })
	if !found {
		*states = slices.Insert(*states, i, s)
		return
	}
	s.isNew = s.isNew || (*states)[i].isNew
	(*states)[i] = s
}

// sendBatch queues what the batch collected on the channels of the brokers that
// are registered: LeaderAndIsr, then UpdateMetadata, then StopReplica (Z-19).
func (c *Controller) sendBatch() {
	b := c.batch
	c.batch.clear()
	for i := range b.leaderAndISR {
		if to := c.ctx.broker(b.leaderAndISR[i].broker); to != nil {
			c.enqueue(to.id, c.leaderAndISRRequest(to, b.leaderAndISR[i].states))
		}
	}
	c.sendUpdateMetadata(&b)
	for i := range b.stop {
		if to := c.ctx.broker(b.stop[i].broker); to != nil {
			for _, req := range c.stopReplicaRequests(to, b.stop[i].states) {
				c.enqueue(to.id, req)
			}
		}
	}
}

func (c *Controller) sendUpdateMetadata(b *batch) {
	if len(b.updateTo) == 0 {
		return
	}
	shared := c.updateMetadataBody(b.update)
	for _, id := range b.updateTo {
		if to := c.ctx.broker(id); to != nil {
			req := shared
			if req.Version >= 5 {
				req.BrokerEpoch = c.brokerEpochOf(to)
			}
			c.enqueue(id, &req)
		}
	}
}

// updateMetadata sends a batch of its own.
func (c *Controller) updateMetadata(brokers []kafka.NodeID, ps ...*partition) {
	c.addUpdateMetadata(brokers, ps...)
	c.sendBatch()
}

// brokerEpochOf is the epoch for requests to a broker, -1 before KIP-380 (Z-11).
func (c *Controller) brokerEpochOf(b *liveBroker) int64 {
	if !c.cfg.Profile.BrokerEpoch {
		return -1
	}
	return int64(b.epoch)
}
