package zkcontroller

import (
	"slices"

	"github.com/simkafka/simkafka/model/election"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/quirk"
	"github.com/simkafka/simkafka/model/zookeeper"
)

// electLeadersFor elects leaders and writes them, again and again for those whose
// znode changed in between (electLeaderForPartitions).
//
// The loop ends: another writer than the controller is the leader, which changes
// the ISR, and it stops when it is not the leader in the state that it knows.
type electLeadersFor struct {
	on        *onlinePartitions
	remaining []*partition

	at      int
	reads   []stateRead // what could be read of remaining
	topics  []string    // whose unclean setting is asked for
	allowed []bool      // by topics
	writing []candidate
}

// candidate is an outcome to be written.
type candidate struct {
	p          *partition
	info       leaderISR
	recipients []kafka.NodeID
	unclean    bool
}

func (e *electLeadersFor) step(c *Controller) next {
	e.at++
	switch e.at {
	case 1:
		return await(readStates(e.remaining))
	case 2:
		e.sortReads(c)
		return await(e.askUnclean(c))
	case 3:
		e.takeUnclean(c)
		e.choose(c)
		return await(c.fencedStateWrites(e.writing))
	}
	e.written(c)
	if len(e.remaining) == 0 {
		return done()
	}
	e.at = 0
	return goOn()
}

// sortReads keeps the partitions whose state is there and not written by a newer
// controller.
func (e *electLeadersFor) sortReads(c *Controller) {
	e.reads = e.reads[:0]
	for i, p := range e.remaining {
		info, ok := decodeState(&c.results[i][0])
		if !ok || info.controllerEpoch > c.ctx.epoch {
			e.failed(p)
			continue
		}
		e.reads = append(e.reads, stateRead{p, info})
	}
}

func (e *electLeadersFor) failed(p *partition) {
	e.on.elections = append(e.on.elections, electionResult{p: p})
}

// askUnclean reads the configuration of the topics with a partition whose ISR has
// no live member (collectUncleanLeaderElectionState).
func (e *electLeadersFor) askUnclean(c *Controller) (reqs []zookeeper.Request) {
	e.topics = e.topics[:0]
	if e.on.strategy != election.Offline || e.on.unclean {
		return nil
	}
	for _, r := range e.reads {
		if !c.anyOnline(r) && !slices.Contains(e.topics, r.p.tp.Topic) {
			e.topics = append(e.topics, r.p.tp.Topic)
			reqs = append(reqs, read(zookeeper.TopicConfigPath(r.p.tp.Topic)))
		}
	}
	return reqs
}

func (c *Controller) anyOnline(r stateRead) bool {
	for _, id := range r.info.isr {
		if c.ctx.isReplicaOnline(id, r.p) {
			return true
		}
	}
	return false
}

func (e *electLeadersFor) takeUnclean(c *Controller) {
	e.allowed = e.allowed[:0]
	for i := range e.topics {
		e.allowed = append(e.allowed, uncleanAllowed(&c.results[i][0], c.cfg.UncleanLeaderElection))
	}
}

func (e *electLeadersFor) choose(c *Controller) {
	e.writing = e.writing[:0]
	for _, r := range e.reads {
		in := c.electionInput(r, e.on.strategy)
		in.UncleanAllowed = e.on.unclean
		if i := slices.Index(e.topics, r.p.tp.Topic); i >= 0 && !c.anyOnline(r) {
			in.UncleanAllowed = e.allowed[i]
		}
		outcome := election.Elect(e.on.strategy, in)
		if outcome.Unclean && c.cfg.Profile.Quirks.Has(quirk.UncleanKeepsISR) {
			outcome.ISR = append(slices.Clone(in.ISR), outcome.Leader)
		}
		if !outcome.Ok {
			e.failed(r.p)
			continue
		}
		info := r.info.with(outcome.Leader, outcome.ISR, c.ctx.epoch)
		if outcome.Unclean && c.cfg.Profile.RecoveryState {
			info.recovering = true
		}
		e.writing = append(e.writing, candidate{r.p, info, c.recipients(r.p, e.on.strategy), outcome.Unclean})
	}
}

func (c *Controller) electionInput(r stateRead, s election.Strategy) election.Input {
	in := election.Input{Assignment: r.p.assignment.replicas, ISR: r.info.isr}
	if s == election.Reassign {
		in.Assignment = r.p.assignment.target()
	}
	for _, id := range r.p.assignment.replicas {
		if c.ctx.isReplicaOnlineOrShuttingDown(id, r.p) {
			in.Online = append(in.Online, id)
		}
	}
	for _, b := range c.ctx.brokers {
		if b.shuttingDown {
			in.ShuttingDown = append(in.ShuttingDown, b.id)
		}
	}
	return in
}

// recipients are the brokers to be told by LeaderAndIsr: the live replicas, for
// ControlledShutdown also those on leaving brokers; the whole assignment for the
// strategies that keep the ISR (unregistered brokers are skipped on sending).
func (c *Controller) recipients(p *partition, s election.Strategy) []kafka.NodeID {
	switch s {
	case election.Offline:
		return c.ctx.onlineReplicas(p)
	case election.Reassign:
		return p.assignment.target()
	case election.ControlledShutdown:
		var to []kafka.NodeID
		for _, id := range p.assignment.replicas {
			if c.ctx.isReplicaOnlineOrShuttingDown(id, p) {
				to = append(to, id)
			}
		}
		return to
	}
	return p.assignment.replicas
}

// written takes the answers; a version conflict goes around once more.
func (e *electLeadersFor) written(c *Controller) {
	e.remaining = nil
	for i := range e.writing {
		w := &e.writing[i]
		switch zookeeper.Outcome(c.results[i]) {
		case zookeeper.OK:
			w.info.partitionEpoch = kafka.PartitionEpoch(c.results[i][1].Stat.Version)
			w.p.setInfo(w.info)
			w.p.state = OnlinePartition
			c.noteElected(w.p, e.on.strategy.String(), w.unclean)
			c.addLeaderAndISR(w.recipients, w.p, false)
			e.on.elections = append(e.on.elections, electionResult{p: w.p, ok: true})
		case zookeeper.BadVersion:
			e.remaining = append(e.remaining, w.p)
		default:
			e.failed(w.p)
		}
	}
}

// target is the replicas without those that a reassignment removes.
func (a assignment) target() []kafka.NodeID {
	return slices.DeleteFunc(slices.Clone(a.replicas), func(id kafka.NodeID) bool { return slices.Contains(a.removing, id) })
}
