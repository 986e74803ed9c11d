package zkcontroller

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/zookeeper"
)

// brokerChange compares the registrations with the known brokers (Z-15).
type brokerChange struct {
	at   int
	read readBrokers
	// New, bounced (same id, another life) and dead brokers, ascending.
	fresh, bounced []*liveBroker
	dead           []kafka.NodeID
}

func (e *brokerChange) step(c *Controller) next {
	if !c.IsActive() {
		return done()
	}
	e.at++
	switch e.at {
	case 1:
		return call(&e.read)
	case 2:
		e.compare(c)
		e.changeChannels(c)
		for _, b := range e.fresh {
			c.ctx.addBroker(b)
		}
		return call(c.brokerStartup(e.fresh))
	case 3:
		for _, b := range e.bounced {
			c.ctx.removeBroker(b.id)
		}
		return call(c.brokerFailure(idsOf(e.bounced)))
	case 4:
		for _, b := range e.bounced {
			c.ctx.addBroker(b)
		}
		return call(c.brokerStartup(e.bounced))
	case 5:
		for _, id := range e.dead {
			c.ctx.removeBroker(id)
		}
		return call(c.brokerFailure(e.dead))
	}
	return done()
}

// compare sorts the brokers. Without KIP-380 a broker that restarts between two
// looks is not noticed (hazard 5).
func (e *brokerChange) compare(c *Controller) {
	present := make([]kafka.NodeID, 0, len(e.read.found))
	for i := range e.read.found {
		b := &e.read.found[i]
		present = append(present, b.id)
		switch known := c.ctx.broker(b.id); {
		case known == nil:
			e.fresh = append(e.fresh, b)
		case c.cfg.Profile.BrokerEpoch && b.epoch > known.epoch:
			e.bounced = append(e.bounced, b)
		}
	}
	for _, b := range c.ctx.brokers {
		if !containsID(present, b.id) {
			e.dead = append(e.dead, b.id)
		}
	}
}

func (e *brokerChange) changeChannels(c *Controller) {
	for _, b := range e.fresh {
		c.openChannel(b)
	}
	for _, b := range e.bounced {
		c.closeChannel(b.id)
	}
	for _, b := range e.bounced {
		c.openChannel(b)
	}
	for _, id := range e.dead {
		c.closeChannel(id)
	}
}

func containsID(ids []kafka.NodeID, id kafka.NodeID) bool {
	for _, o := range ids {
		if o == id {
			return true
		}
	}
	return false
}

func idsOf(bs []*liveBroker) []kafka.NodeID {
	ids := make([]kafka.NodeID, len(bs))
	for i, b := range bs {
		ids[i] = b.id
	}
	return ids
}

// brokerStartup is onBrokerStartup (Z-17); nothing if there are none.
func (c *Controller) brokerStartup(bs []*liveBroker) procedure {
	if len(bs) == 0 {
		return &sequence{}
	}
	return &brokersStarted{ids: idsOf(bs)}
}

type brokersStarted struct {
	at  int
	ids []kafka.NodeID
}

func (s *brokersStarted) step(c *Controller) next {
	s.at++
	switch s.at {
	case 1:
		c.clearOfflineDirs(s.ids)
		s.announce(c)
		var rs []replicaOf
		for _, id := range s.ids {
			rs = append(rs, c.ctx.replicasOn(id)...)
		}
		c.onlineReplicas(rs)
		return call(c.triggerOnline(""))
	case 2: // resuming reassignments would come here
		return call(c.deletionsOn(s.ids))
	case 3:
		return await(watchBrokers(s.ids))
	}
	return done()
}

// announce tells the brokers that were there of the new ones, and the new ones
// everything, but since 2.7 for topics that are being deleted (ControllerContext.partitionsWithLeaders).
func (s *brokersStarted) announce(c *Controller) {
	var existing []kafka.NodeID
	for _, id := range c.ctx.allBrokers() {
		if !containsID(s.ids, id) {
			existing = append(existing, id)
		}
	}
	c.updateMetadata(existing)
	c.updateMetadata(s.ids, c.ctx.partitions(func(p *partition) bool { return p.hasInfo && (c.ctx.lives(p) || !c.cfg.Profile.DoomedUntold) })...)
}

// clearOfflineDirs forgets storage errors of brokers that started or died.
func (c *Controller) clearOfflineDirs(ids []kafka.NodeID) {
	for _, id := range ids {
		for _, r := range c.ctx.replicasOn(id) {
			r.p.replica(id).offlineDir = false
		}
	}
}

// brokerFailure is onBrokerFailure (Z-16); nothing if there are none. The brokers
// are no longer in the context, and so not shutting down either.
func (c *Controller) brokerFailure(ids []kafka.NodeID) procedure {
	if len(ids) == 0 {
		return &sequence{}
	}
	c.clearOfflineDirs(ids)
	var rs []replicaOf
	for _, id := range ids {
		rs = append(rs, c.ctx.replicasOn(id)...)
	}
	return &replicasFailed{replicas: rs}
}

// replicasFailed is onReplicasBecomeOffline: leaderless partitions go offline, the
// offline and new ones get elections, then the replicas leave the ISRs.
type replicasFailed struct {
	replicas []replicaOf

	at        int
	doomed    []replicaOf // of topics that are being deleted
	elections *onlinePartitions
	none      bool // no replica of another topic failed
}

func (r *replicasFailed) step(c *Controller) next {
	r.at++
	switch r.at {
	case 1:
		r.sort(c)
		setPartitions(c.ctx.partitions(c.ctx.offlineLeader), OfflinePartition)
		r.elections = c.triggerOnline("")
		return call(r.elections)
	case 2:
		r.none = len(r.replicas) == 0
		return call(&offlineReplicas{replicas: r.replicas})
	case 3:
		return call(c.failDeletion(r.doomed))
	}
	if r.none && !r.elections.anyElected() {
		c.updateMetadata(c.ctx.allBrokers())
	}
	return done()
}

func (r *replicasFailed) sort(c *Controller) {
	all := r.replicas
	r.replicas = nil
	for _, x := range all {
		if c.ctx.lives(x.p) {
			r.replicas = append(r.replicas, x)
		} else {
			r.doomed = append(r.doomed, x)
		}
	}
}

// brokerModification is a changed registration of a known broker: a new endpoint is
// announced to all. The channel keeps its address, as in Kafka.
type brokerModification struct {
	at int
	id kafka.NodeID
}

func (e *brokerModification) step(c *Controller) next {
	if !c.IsActive() {
		return done()
	}
	e.at++
	if e.at == 1 {
		return await([]zookeeper.Request{get(zookeeper.BrokerPath(e.id))})
	}
	res := &c.results[0][0]
	known := c.ctx.broker(e.id)
	if res.Code != zookeeper.OK || known == nil {
		return done()
	}
	info, err := zookeeper.DecodeBroker(res.Data)
	if err != nil {
		return fail()
	}
	if addr := addressOf(info); addr != known.addr {
		known.addr = addr
		c.updateMetadata(c.ctx.allBrokers())
	}
	return done()
}

// leaderAndISRResponse looks for replicas on offline log directories
// (processLeaderAndIsrResponseReceived).
type leaderAndISRResponse struct {
	broker kafka.NodeID
	resp   *kmsg.LeaderAndISRResponse

	at int
}

func (e *leaderAndISRResponse) step(c *Controller) next {
	e.at++
	if !c.IsActive() || e.at > 1 || e.resp.ErrorCode != 0 {
		return done()
	}
	var failed []replicaOf
	for i := range e.resp.Partitions {
		s := &e.resp.Partitions[i]
		failed = e.take(c, failed, c.ctx.topic(s.Topic), s)
	}
	for i := range e.resp.Topics {
		t := c.ctx.topicByID(e.resp.Topics[i].TopicID)
		for j := range e.resp.Topics[i].Partitions {
			failed = e.take(c, failed, t, &e.resp.Topics[i].Partitions[j])
		}
	}
	if len(failed) == 0 {
		return done()
	}
	return call(&replicasFailed{replicas: failed})
}

// take records one answer and adds the replica to failed if it is newly offline.
func (e *leaderAndISRResponse) take(c *Controller, failed []replicaOf, t *topic, s *kmsg.LeaderAndISRResponseTopicPartition) []replicaOf {
	if t == nil {
		return failed
	}
	p := t.partition(s.Partition)
	if p == nil {
		return failed
	}
	row := p.replica(e.broker)
	switch kafka.ErrorCode(s.ErrorCode) {
	case kafka.None:
		row.offlineDir = false
	case kafka.KafkaStorageError:
		if !row.offlineDir {
			row.offlineDir = true
			failed = append(failed, replicaOf{p, e.broker})
		}
	}
	return failed
}
