package zkcontroller

import (
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/quirk"
	"github.com/simkafka/simkafka/model/step"
	"github.com/simkafka/simkafka/model/zookeeper"
)

// firstRebalance is the delay of the first auto rebalance after a failover (Z-26).
const firstRebalance = 5 * kafka.Second

// failover makes the winner of an election the working controller
// (onControllerFailover; Z-13). The numbers are those of Z-13. Watches are armed by
// the reads: of the notifications in (2), of brokers and topics in (3).
type failover struct{ at int }

func (f *failover) step(c *Controller) next {
	f.at++
	switch f.at {
	case 1: // (1)
		return await([]zookeeper.Request{exists(zookeeper.PreferredElectionPath)})
	case 2: // (2)
		return call(&deleteNotifications{parent: zookeeper.LogDirEventPath})
	case 3:
		return call(&deleteNotifications{parent: zookeeper.IsrChangePath})
	case 4: // (3)
		return call(&readContext{})
	case 5:
		return call(&initDeletions{})
	case 6: // (5), then (6)
		if !c.cfg.Profile.Quirks.Has(quirk.RolesBeforeMetadata) {
			c.updateMetadata(c.ctx.allBrokers())
		}
		return call(&startReplicas{})
	case 7: // (7); (8) would be reassignments
		c.initPartitionStates()
		return call(c.triggerOnline(""))
	case 8: // (9)
		return call(&resumeDeletions{})
	case 9: // (10)
		return call(&electLeaders{trigger: byFailover})
	}
	if c.cfg.AutoLeaderRebalance { // (11)
		c.scheduleRebalance(firstRebalance)
	}
	return done()
}

// readContext reads brokers, topics and partition states and opens the channels
// (initializeControllerContext; Z-13.3).
type readContext struct {
	at      int
	brokers readBrokers
	topics  readTopics
}

func (r *readContext) step(c *Controller) next {
	r.at++
	switch r.at {
	case 1:
		return call(&r.brokers)
	case 2:
		for i := range r.brokers.found {
			c.ctx.addBroker(&r.brokers.found[i])
		}
		return await([]zookeeper.Request{children(zookeeper.TopicsPath)})
	case 3:
		r.topics.names = c.results[0][0].Children
		return call(&r.topics)
	case 4:
		return await(watchBrokers(c.ctx.allBrokers()))
	case 5:
		return call(&refreshStates{partitions: c.ctx.partitions(everyPartition)})
	}
	for _, b := range c.ctx.brokers {
		c.openChannel(b)
	}
	return done()
}

// watchBrokers arms the watches for changed registrations.
func watchBrokers(ids []kafka.NodeID) (reqs []zookeeper.Request) {
	for _, id := range ids {
		reqs = append(reqs, exists(zookeeper.BrokerPath(id)))
	}
	return reqs
}

// readBrokers reads the registrations and arms the children watch on /brokers/ids
// (getAllBrokerAndEpochsInCluster).
type readBrokers struct {
	at    int
	ids   []kafka.NodeID
	found []liveBroker // ascending by id
}

func (r *readBrokers) step(c *Controller) next {
	r.at++
	switch r.at {
	case 1:
		return await([]zookeeper.Request{children(zookeeper.BrokerIDsPath)})
	case 2:
		r.ids = parseIDs(c.results[0][0].Children)
		reqs := make([]zookeeper.Request, len(r.ids))
		for i, id := range r.ids {
			reqs[i] = get(zookeeper.BrokerPath(id))
		}
		return await(reqs)
	}
	for i, id := range r.ids {
		res := &c.results[i][0]
		if res.Code != zookeeper.OK {
			continue // gone since; the watch has fired
		}
		info, err := zookeeper.DecodeBroker(res.Data)
		if err != nil {
			return fail()
		}
		r.found = append(r.found, liveBroker{id: id, addr: addressOf(info),
			rack: info.Rack, epoch: kafka.BrokerEpoch(res.Stat.Czxid)})
	}
	return done()
}

// addressOf is the first endpoint: there is one listener.
func addressOf(b zookeeper.BrokerInfo) step.Addr {
	if len(b.Endpoints) > 0 {
		return step.Addr{Host: b.Endpoints[0].Host, Port: b.Endpoints[0].Port}
	}
	return step.Addr{Host: b.Host, Port: b.Port}
}

// readTopics reads the assignments of the named topics into the context and arms
// the watches for added partitions. Known partitions keep their state.
type readTopics struct {
	names []string

	at    int
	added []*partition // without assignment before
}

func (r *readTopics) step(c *Controller) next {
	r.at++
	if r.at == 1 {
		reqs := make([]zookeeper.Request, len(r.names))
		for i, name := range r.names {
			reqs[i] = get(zookeeper.TopicPath(name))
		}
		return await(reqs)
	}
	for i, name := range r.names {
		res := &c.results[i][0]
		if res.Code != zookeeper.OK {
			continue
		}
		data, err := zookeeper.DecodeTopic(res.Data)
		if err != nil {
			return fail()
		}
		r.take(c, name, data)
	}
	return done()
}

func (r *readTopics) take(c *Controller, name string, data zookeeper.TopicAssignment) {
	t := c.ctx.addTopic(name)
	t.id = data.TopicID
	for _, a := range data.Partitions {
		if p := t.partition(a.Partition); p != nil {
			continue // a change of a known assignment would be a reassignment
		}
		r.added = append(r.added, t.setAssignment(a.Partition, assignment{a.Replicas, a.Adding, a.Removing}))
	}
}

// refreshStates reads partition states into the context (updateLeaderAndIsrCache).
// Missing ones are left as they are.
type refreshStates struct {
	at         int
	partitions []*partition
}

func (r *refreshStates) step(c *Controller) next {
	r.at++
	if r.at == 1 {
		return await(readStates(r.partitions))
	}
	for i, p := range r.partitions {
		if info, ok := decodeState(&c.results[i][0]); ok {
			p.setInfo(info)
		}
	}
	return done()
}

// deleteNotifications removes all sequential children of a notification node, or
// the named ones, and arms the children watch when it has to list them.
type deleteNotifications struct {
	parent string
	names  []string // nil = all

	at int
}

func (d *deleteNotifications) step(c *Controller) next {
	d.at++
	switch d.at {
	case 1:
		if d.names != nil {
			return goOn()
		}
		return await([]zookeeper.Request{children(d.parent)})
	case 2:
		names := d.names
		if names == nil {
			names = c.results[0][0].Children
		}
		var reqs []zookeeper.Request
		for _, name := range names {
			reqs = append(reqs, c.fencedDelete(d.parent+"/"+name))
		}
		return await(reqs)
	}
	return done()
}
