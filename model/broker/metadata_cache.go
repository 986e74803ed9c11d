package broker

import (
	"cmp"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/placement"
	"github.com/simkafka/simkafka/model/step"
)

// metadataCache is what the controller last told of the cluster (ZkMetadataCache).
type metadataCache struct {
	controller kafka.NodeID // 0 value is only read once told is set
	told       bool
	brokers    []liveBroker // ascending
	topics     []*topicMetadata
	byName     map[string]*topicMetadata
	byID       map[kafka.TopicID]*topicMetadata
	lastByID   *topicMetadata // what withID found last; nil if it is gone
}

type liveBroker struct {
	id   kafka.NodeID
	addr step.Addr
	rack *string // nil = none
}

type topicMetadata struct {
	name  string
	id    kafka.TopicID       // zero if none was given
	parts []partitionMetadata // by number
	count int                 // of known ones in parts
}

// partitionMetadata shares its slices with the request that brought it.
type partitionMetadata struct {
	known                  bool
	leader                 kafka.NodeID // NoNode = none
	leaderEpoch            kafka.LeaderEpoch
	isr, replicas, offline []int32
}

// broker is a live broker, nil if it is not alive.
func (c *metadataCache) broker(id kafka.NodeID) *liveBroker {
	for i := range c.brokers {
		if c.brokers[i].id == id {
			return &c.brokers[i]
		}
	}
	return nil
}

// partition is what is known of a partition, nil if nothing is.
func (c *metadataCache) partition(topic string, partition int32) *partitionMetadata {
	t := c.byName[topic]
	if t == nil || partition < 0 || int(partition) >= len(t.parts) || !t.parts[partition].known {
		return nil
	}
	return &t.parts[partition]
}

// IsAlive implements replica.Cluster.
func (b *Broker) IsAlive(node kafka.NodeID) bool { return b.cache.broker(node) != nil }

// controllerAddr is where the controller listens, if it is alive.
func (c *metadataCache) controllerAddr() (step.Addr, bool) {
	if !c.told {
		return step.Addr{}, false
	}
	if n := c.broker(c.controller); n != nil {
		return n.addr, true
	}
	return step.Addr{}, false
}

// placementBrokers are the live brokers as the placement takes them.
func (c *metadataCache) placementBrokers() []placement.Broker {
	list := make([]placement.Broker, len(c.brokers))
	for i, n := range c.brokers {
		list[i].ID = n.id
		if n.rack != nil {
			list[i].Rack = *n.rack
		}
	}
	return list
}

// update takes an UpdateMetadata request over, last writer wins (L-33).
func (c *metadataCache) update(req *kmsg.UpdateMetadataRequest) {
	c.controller, c.told = kafka.NodeID(req.ControllerID), true
	c.brokers = c.brokers[:0:0]
	for i := range req.LiveBrokers {
		c.brokers = append(c.brokers, liveBrokerOf(&req.LiveBrokers[i]))
	}
	slices.SortFunc(c.brokers, func(a, b liveBroker) int { return cmp.Compare(a.id, b.id) })
	if c.byName == nil {
		c.byName, c.byID = make(map[string]*topicMetadata), make(map[kafka.TopicID]*topicMetadata)
	}
	for i := range req.PartitionStates { // before v5
		c.set(req.PartitionStates[i].Topic, kafka.TopicID{}, &req.PartitionStates[i])
	}
	for i := range req.TopicStates {
		t := &req.TopicStates[i]
		for j := range t.PartitionStates {
			c.set(t.Topic, t.TopicID, &t.PartitionStates[j])
		}
	}
}

func liveBrokerOf(l *kmsg.UpdateMetadataRequestLiveBroker) liveBroker {
	n := liveBroker{id: kafka.NodeID(l.ID), addr: step.Addr{Host: l.Host, Port: l.Port}, rack: l.Rack}
	if len(l.Endpoints) > 0 {
		n.addr = step.Addr{Host: l.Endpoints[0].Host, Port: l.Endpoints[0].Port}
	}
	return n
}

func (c *metadataCache) set(name string, id kafka.TopicID, s *kmsg.UpdateMetadataRequestTopicPartition) {
	t := c.byName[name]
	if kafka.NodeID(s.Leader) == kafka.LeaderDuringDelete {
		c.remove(t, s.Partition)
		return
	}
	if t == nil {
		t = c.add(name)
	}
	if !id.IsZero() && id != t.id {
		delete(c.byID, t.id)
		t.id = id
		c.byID[id] = t
	}
	for len(t.parts) <= int(s.Partition) {
		t.parts = append(t.parts, partitionMetadata{})
	}
	p := &t.parts[s.Partition]
	if !p.known {
		t.count++
	}
	*p = partitionMetadata{known: true, leader: kafka.NodeID(s.Leader), leaderEpoch: kafka.LeaderEpoch(s.LeaderEpoch),
		isr: s.ISR, replicas: s.Replicas, offline: s.OfflineReplicas}
}

func (c *metadataCache) add(name string) *topicMetadata {
	t := &topicMetadata{name: strings.Clone(name)}
	i, _ := c.find(name)
	c.topics = slices.Insert(c.topics, i, t)
	c.byName[t.name] = t
	return t
}

func (c *metadataCache) find(name string) (int, bool) {
	return slices.BinarySearchFunc(c.topics, name, func(t *topicMetadata, name string) int { return strings.Compare(t.name, name) })
}

func (c *metadataCache) remove(t *topicMetadata, partition int32) {
	if t == nil || int(partition) >= len(t.parts) || !t.parts[partition].known {
		return
	}
	t.parts[partition] = partitionMetadata{}
	t.count--
	if t.count > 0 {
		return
	}
	i, _ := c.find(t.name)
	c.topics = slices.Delete(c.topics, i, i+1)
	delete(c.byName, t.name)
	delete(c.byID, t.id)
	c.lastByID = nil
}

// withID is the topic with an id, nil if none is known.
func (c *metadataCache) withID(id kafka.TopicID) *topicMetadata {
	if c.lastByID == nil || c.lastByID.id != id {
		c.lastByID = c.byID[id]
	}
	return c.lastByID
}

// missing is the answer for a partition that is not hosted (L-13 row 3).
func (c *metadataCache) missing(topic string, partition int32) kafka.ErrorCode {
	if c.partition(topic, partition) != nil {
		return kafka.NotLeaderOrFollower
	}
	return kafka.UnknownTopicOrPartition
}

// currentLeader is who leads a partition as far as this broker knows: from the
// hosted replica, else from the cache. node is nil if it is not alive.
func (b *Broker) currentLeader(h *hosted, topic string, partition int32) (leader kafka.NodeID, epoch kafka.LeaderEpoch, node *liveBroker) {
	if h != nil {
		return h.p.Leader(), h.p.LeaderEpoch(), b.cache.broker(h.p.Leader())
	}
	p := b.cache.partition(topic, partition)
	if p == nil {
		return kafka.NoNode, kafka.NoLeaderEpoch, nil
	}
	return p.leader, p.leaderEpoch, b.cache.broker(p.leader)
}
