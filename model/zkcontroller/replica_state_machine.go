package zkcontroller

import (
	"cmp"
	"slices"

	"github.com/simkafka/simkafka/model/election"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/quirk"
	"github.com/simkafka/simkafka/model/zookeeper"
)

// replicaOf names one replica (PartitionAndReplica).
type replicaOf struct {
	p      *partition
	broker kafka.NodeID
}

// replicasOn lists the replicas on a broker, in order of partitions.
func (x *context) replicasOn(id kafka.NodeID) (rs []replicaOf) {
	for _, p := range x.partitions(func(p *partition) bool { return p.assigned(id) }) {
		rs = append(rs, replicaOf{p, id})
	}
	return rs
}

func replicasOfPartitions(ps []*partition) (rs []replicaOf) {
	for _, p := range ps {
		for _, id := range p.assignment.replicas {
			rs = append(rs, replicaOf{p, id})
		}
	}
	return rs
}

// byBroker orders replicas by broker, keeping the order of partitions: state
// changes go broker by broker.
func byBroker(rs []replicaOf) []replicaOf {
	slices.SortStableFunc(rs, func(a, b replicaOf) int { return cmp.Compare(a.broker, b.broker) })
	return rs
}

// startReplicas is the replica state machine's startup (Z-13.6): it classifies the
// replicas; online ones are sent what they host, the others leave the ISR.
type startReplicas struct {
	at      int
	offline []replicaOf
}

func (s *startReplicas) step(c *Controller) next {
	s.at++
	switch s.at {
	case 1:
		c.onlineReplicas(s.classify(c))
		return call(&offlineReplicas{replicas: s.offline})
	}
	return done()
}

func (s *startReplicas) classify(c *Controller) (online []replicaOf) {
	for _, r := range replicasOfPartitions(c.ctx.partitions(everyPartition)) {
		if c.ctx.isReplicaOnline(r.broker, r.p) {
			r.p.replica(r.broker).state = OnlineReplica
			online = append(online, r)
		} else {
			r.p.replica(r.broker).state = ReplicaDeletionIneligible
			s.offline = append(s.offline, r)
		}
	}
	return online
}

// newReplicas moves replicas to NewReplica; those of a partition with a leader are
// told, unless they are it (Z-23).
func (c *Controller) newReplicas(rs []replicaOf) {
	for _, r := range byBroker(rs) {
		row := r.p.replica(r.broker)
		if !replicaMoves[NewReplica][row.state] || (r.p.hasInfo && r.p.info.leader == r.broker) {
			continue
		}
		row.state = NewReplica
		if r.p.hasInfo {
			c.addLeaderAndISR([]kafka.NodeID{r.broker}, r.p, true)
		}
	}
	c.sendBatch()
}

// onlineReplicas moves replicas to OnlineReplica; those that were not new are sent
// the present state (Z-23).
func (c *Controller) onlineReplicas(rs []replicaOf) {
	for _, r := range byBroker(rs) {
		row := r.p.replica(r.broker)
		if !replicaMoves[OnlineReplica][row.state] {
			continue
		}
		was := row.state
		row.state = OnlineReplica
		if was == NewReplica {
			if !r.p.assigned(r.broker) {
				r.p.assignment.replicas = append(slices.Clone(r.p.assignment.replicas), r.broker)
			}
		} else if r.p.hasInfo {
			c.addLeaderAndISR([]kafka.NodeID{r.broker}, r.p, false)
		}
	}
	c.sendBatch()
}

// offlineReplicas moves replicas to OfflineReplica: StopReplica without deletion,
// out of the ISR, and the remaining replicas are told (Z-23, Z-24).
type offlineReplicas struct {
	replicas []replicaOf

	started bool
	broker  kafka.NodeID // whose replicas are being removed
	// remaining are the partitions whose ISR is still to be looked at for broker.
	remaining []*partition
	writing   []candidate
	at        int
}

func (o *offlineReplicas) step(c *Controller) next {
	if !o.started {
		o.started = true
		o.replicas = byBroker(o.replicas)
	}
	o.at++
	switch o.at {
	case 1:
		if len(o.replicas) == 0 {
			c.sendBatch()
			return done()
		}
		o.nextBroker(c)
		return goOn()
	case 2:
		return await(readStates(o.remaining))
	case 3:
		o.choose(c)
		return await(c.fencedStateWrites(o.writing))
	}
	o.written(c)
	o.at = 0
	if len(o.remaining) > 0 {
		o.at = 1
	}
	return goOn()
}

// nextBroker takes the replicas of one broker off the list. Those of partitions
// without a state only need UpdateMetadata.
func (o *offlineReplicas) nextBroker(c *Controller) {
	o.broker = o.replicas[0].broker
	for len(o.replicas) > 0 && o.replicas[0].broker == o.broker {
		p := o.replicas[0].p
		o.replicas = o.replicas[1:]
		row := p.replica(o.broker)
		if !replicaMoves[OfflineReplica][row.state] {
			continue
		}
		c.addStopReplica(o.broker, p, false)
		if p.hasInfo {
			o.remaining = append(o.remaining, p)
			continue
		}
		c.addUpdateMetadata(c.ctx.allBrokers(), p)
		row.state = OfflineReplica
	}
}

// choose computes the states without the broker. A state that is gone, or written
// by a newer controller, leaves the replica as it is; one whose ISR does not
// contain the broker is taken as it is.
func (o *offlineReplicas) choose(c *Controller) {
	o.writing = o.writing[:0]
	for i, p := range o.remaining {
		info, ok := decodeState(&c.results[i][0])
		if !ok || info.controllerEpoch > c.ctx.epoch {
			continue
		}
		leader, isr, changed := election.RemoveFromISR(o.broker, info.leader, info.isr)
		if changed && len(info.isr) == 1 && c.cfg.Profile.Quirks.Has(quirk.EmptyISR) {
			isr = nil
		}
		if !changed {
			info.controllerEpoch = c.ctx.epoch
			o.removed(c, p, info)
			continue
		}
		o.writing = append(o.writing, candidate{p: p, info: info.with(leader, isr, c.ctx.epoch)})
	}
}

// removed records a state without the broker and tells the other replicas.
func (o *offlineReplicas) removed(c *Controller, p *partition, info leaderISR) {
	p.setInfo(info)
	others := slices.DeleteFunc(slices.Clone(p.assignment.replicas), func(id kafka.NodeID) bool { return id == o.broker })
	if c.ctx.lives(p) {
		c.addLeaderAndISR(others, p, false)
	}
	p.replica(o.broker).state = OfflineReplica
}

func (o *offlineReplicas) written(c *Controller) {
	o.remaining = o.remaining[:0]
	for i := range o.writing {
		w := &o.writing[i]
		switch zookeeper.Outcome(c.results[i]) {
		case zookeeper.OK:
			w.info.partitionEpoch = kafka.PartitionEpoch(c.results[i][1].Stat.Version)
			o.removed(c, w.p, w.info)
		case zookeeper.BadVersion:
			o.remaining = append(o.remaining, w.p)
		}
	}
}
