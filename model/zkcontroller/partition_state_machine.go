package zkcontroller

import (
	"github.com/simkafka/simkafka/model/election"
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/zookeeper"
)

// strategyInitial is the text of LeaderElected for a new partition's first leader.
const strategyInitial = "initial"

// initPartitionStates classifies at failover: no state znode is New, a leader
// online is Online, else Offline (Z-13).
func (c *Controller) initPartitionStates() {
	for _, p := range c.ctx.partitions(everyPartition) {
		switch {
		case !p.hasInfo:
			p.state = NewPartition
		case c.ctx.isReplicaOnline(p.info.leader, p):
			p.state = OnlinePartition
		default:
			p.state = OfflinePartition
		}
	}
}

func everyPartition(*partition) bool { return true }

// setPartitions moves partitions to a state that needs no ZooKeeper: any but
// Online. Those from which the move is not valid stay where they are.
func setPartitions(ps []*partition, to PartitionState) {
	for _, p := range ps {
		if partitionMoves[to][p.state] {
			p.state = to
		}
	}
}

// triggerOnline tries to bring every New and Offline partition online that is not being
// deleted
// (triggerOnlinePartitionStateChange). The topic "" is all of them.
func (c *Controller) triggerOnline(topic string) *onlinePartitions {
	return &onlinePartitions{strategy: election.Offline, partitions: c.ctx.partitions(func(p *partition) bool {
		return c.ctx.unresolved(p) && c.ctx.lives(p) && (topic == "" || p.tp.Topic == topic)
	})}
}

// onlinePartitions moves partitions to OnlinePartition: a first leader for New
// ones, an election for Online and Offline ones (Z-22). What cannot have a leader
// stays as it is.
type onlinePartitions struct {
	partitions []*partition
	strategy   election.Strategy
	// unclean: the administrator asked for it, whatever the topic says.
	unclean bool

	at    int
	fresh []*partition
	elect []*partition
	// elections are the outcomes for those that were not new, filled as they end.
	elections []electionResult
}

// electionResult is the end of one election; without ok nothing was written.
type electionResult struct {
	p  *partition
	ok bool
}

// anyElected reports whether some election succeeded; first leaders do not count.
func (o *onlinePartitions) anyElected() bool {
	for _, r := range o.elections {
		if r.ok {
			return true
		}
	}
	return false
}

func (o *onlinePartitions) step(c *Controller) next {
	o.at++
	switch o.at {
	case 1:
		o.sort()
		return call(&initializePartitions{partitions: o.fresh})
	case 2:
		if len(o.elect) == 0 {
			return goOn()
		}
		return call(&electLeadersFor{on: o, remaining: o.elect})
	}
	c.sendBatch()
	return done()
}

func (o *onlinePartitions) sort() {
	for _, p := range o.partitions {
		switch {
		case p.state == NewPartition:
			o.fresh = append(o.fresh, p)
		case partitionMoves[OnlinePartition][p.state]:
			o.elect = append(o.elect, p)
		}
	}
}

// initializePartitions creates the state znodes of new partitions that have a live
// replica (initializeLeaderAndIsrForPartitions). A state znode that exists already
// is a failure that only the next controller resolves, as in Kafka.
type initializePartitions struct {
	partitions []*partition

	at       int
	creating []*partition
	infos    []leaderISR // of creating
}

func (i *initializePartitions) step(c *Controller) next {
	i.at++
	switch i.at {
	case 1:
		i.choose(c)
		return await(c.fencedCreates(i.parents()))
	case 2:
		return await(c.fencedCreates(i.paths(zookeeper.PartitionPath)))
	case 3:
		reqs := c.fencedCreates(i.paths(zookeeper.StatePath))
		for n := range reqs {
			reqs[n][1].Data = encodeState(i.infos[n])
		}
		return await(reqs)
	}
	i.created(c)
	return done()
}

func (i *initializePartitions) choose(c *Controller) {
	for _, p := range i.partitions {
		leader, isr, ok := election.Initial(p.assignment.replicas, c.ctx.onlineReplicas(p))
		if ok {
			i.creating = append(i.creating, p)
			i.infos = append(i.infos, leaderISR{leader: leader, isr: isr, controllerEpoch: c.ctx.epoch})
		}
	}
}

// parents lists the /brokers/topics/T/partitions to create, one per topic.
func (i *initializePartitions) parents() (paths []string) {
	for n, p := range i.creating {
		if n == 0 || i.creating[n-1].tp.Topic != p.tp.Topic {
			paths = append(paths, zookeeper.PartitionsPath(p.tp.Topic))
		}
	}
	return paths
}

func (i *initializePartitions) paths(of func(kafka.TopicPartition) string) (paths []string) {
	for _, p := range i.creating {
		paths = append(paths, of(p.tp))
	}
	return paths
}

func (i *initializePartitions) created(c *Controller) {
	for n, p := range i.creating {
		if zookeeper.Outcome(c.results[n]) != zookeeper.OK {
			continue
		}
		p.setInfo(i.infos[n])
		p.state = OnlinePartition
		c.noteElected(p, strategyInitial, false)
		c.addLeaderAndISR(p.info.isr, p, true)
	}
}

func (c *Controller) noteElected(p *partition, strategy string, unclean bool) {
	c.out.Note(event.Event{Kind: event.LeaderElected, Node: c.cfg.NodeID, TP: p.tp, Leader: p.info.leader,
		LeaderEpoch: p.info.leaderEpoch, PartitionEpoch: p.info.partitionEpoch, ControllerEpoch: c.ctx.epoch,
		ISR: p.info.isr, Text: strategy, Flag: unclean})
}
