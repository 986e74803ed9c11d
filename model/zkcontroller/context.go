package zkcontroller

import (
	"cmp"
	"slices"
	"strings"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
)

// liveBroker is a broker registered in ZooKeeper as the controller last read it.
type liveBroker struct {
	id    kafka.NodeID
	addr  step.Addr
	rack  string
	epoch kafka.BrokerEpoch // creation zxid of the registration znode
	// shuttingDown brokers are sent requests but are not live for elections (Z-25).
	shuttingDown bool
}

// replica is one assigned replica of a partition.
type replica struct {
	broker kafka.NodeID
	state  ReplicaState
	// offlineDir: the broker answered KAFKA_STORAGE_ERROR for it.
	offlineDir bool
}

// partition is what the controller knows of one partition.
type partition struct {
	tp         kafka.TopicPartition
	assignment assignment
	state      PartitionState
	// replicas holds states by broker id, ascending. It has a row for each assigned
	// replica once a state machine has touched it.
	replicas []replica

	hasInfo bool // the state znode exists and was read or written
	info    leaderISR
}

// assignment is a partition's replicas in order of preference, with those that a
// reassignment adds and removes (ReplicaAssignment). The slices are immutable.
type assignment struct {
	replicas, adding, removing []kafka.NodeID
}

// leaderISR is the leadership information of a partition (LeaderIsrAndControllerEpoch).
type leaderISR struct {
	leader          kafka.NodeID // -1 = none
	leaderEpoch     kafka.LeaderEpoch
	isr             []kafka.NodeID // immutable
	recovering      bool           // leader_recovery_state is RECOVERING (KIP-704)
	partitionEpoch  kafka.PartitionEpoch
	controllerEpoch kafka.ControllerEpoch // of the controller that made the decision
}

// with is the state after a decision by the controller of epoch: the leader epoch
// grows (Z-24, Z-25).
func (i leaderISR) with(leader kafka.NodeID, isr []kafka.NodeID, epoch kafka.ControllerEpoch) leaderISR {
	i.leader, i.isr, i.controllerEpoch = leader, isr, epoch
	i.leaderEpoch++
	return i
}

// topic is a topic and its partitions, ascending by number.
type topic struct {
	name       string
	id         kafka.TopicID
	partitions []*partition
}

// context is the active controller's view of the cluster (ControllerContext).
// It is empty while the controller is not active.
type context struct {
	epoch          kafka.ControllerEpoch
	epochZKVersion int32         // version of /controller_epoch that fences our writes (Z-9)
	brokers        []*liveBroker // ascending by id; shutting down ones included
	topics         []*topic      // ascending by name
	deletions      []*deletion   // of topics, ascending by name
}

// broker finds a registered broker.
func (x *context) broker(id kafka.NodeID) *liveBroker {
	i, ok := slices.BinarySearchFunc(x.brokers, id, func(b *liveBroker, id kafka.NodeID) int { return cmp.Compare(b.id, id) })
	if !ok {
		return nil
	}
	return x.brokers[i]
}

func (x *context) addBroker(b *liveBroker) {
	i, ok := slices.BinarySearchFunc(x.brokers, b.id, func(b *liveBroker, id kafka.NodeID) int { return cmp.Compare(b.id, id) })
	if ok {
		x.brokers[i] = b
		return
	}
	x.brokers = slices.Insert(x.brokers, i, b)
}

func (x *context) removeBroker(id kafka.NodeID) {
	x.brokers = slices.DeleteFunc(x.brokers, func(b *liveBroker) bool { return b.id == id })
}

// isLive: registered and not shutting down.
func (x *context) isLive(id kafka.NodeID) bool {
	b := x.broker(id)
	return b != nil && !b.shuttingDown
}

// allBrokers lists live and shutting down brokers, ascending.
func (x *context) allBrokers() []kafka.NodeID {
	ids := make([]kafka.NodeID, len(x.brokers))
	for i, b := range x.brokers {
		ids[i] = b.id
	}
	return ids
}

// isReplicaOnline: registered, not shutting down, log directory online (Z-25, corrected).
func (x *context) isReplicaOnline(id kafka.NodeID, p *partition) bool {
	return x.isLive(id) && !p.offlineDir(id)
}

// isReplicaOnlineOrShuttingDown also counts brokers in controlled shutdown.
func (x *context) isReplicaOnlineOrShuttingDown(id kafka.NodeID, p *partition) bool {
	return x.broker(id) != nil && !p.offlineDir(id)
}

func (x *context) onlineReplicas(p *partition) []kafka.NodeID {
	var live []kafka.NodeID
	for _, id := range p.assignment.replicas {
		if x.isReplicaOnline(id, p) {
			live = append(live, id)
		}
	}
	return live
}

// topic finds a topic by name, nil if unknown.
func (x *context) topic(name string) *topic {
	i, ok := slices.BinarySearchFunc(x.topics, name, func(t *topic, name string) int { return strings.Compare(t.name, name) })
	if !ok {
		return nil
	}
	return x.topics[i]
}

// topicByID finds a topic by id, nil if unknown.
func (x *context) topicByID(id kafka.TopicID) *topic {
	for _, t := range x.topics {
		if t.id == id && !id.IsZero() {
			return t
		}
	}
	return nil
}

func (x *context) addTopic(name string) *topic {
	i, ok := slices.BinarySearchFunc(x.topics, name, func(t *topic, name string) int { return strings.Compare(t.name, name) })
	if !ok {
		x.topics = slices.Insert(x.topics, i, &topic{name: name})
	}
	return x.topics[i]
}

// partition finds a partition, nil if unknown.
func (x *context) partition(tp kafka.TopicPartition) *partition {
	if t := x.topic(tp.Topic); t != nil {
		return t.partition(tp.Partition)
	}
	return nil
}

// partitions lists the partitions that satisfy keep, in order.
func (x *context) partitions(keep func(*partition) bool) []*partition {
	var ps []*partition
	for _, t := range x.topics {
		for _, p := range t.partitions {
			if keep(p) {
				ps = append(ps, p)
			}
		}
	}
	return ps
}

// unresolved: the partition waits for a leader.
func (x *context) unresolved(p *partition) bool {
	return p.state == OfflinePartition || p.state == NewPartition
}

// offlineLeader: the leader in the last known state is not online; -1 counts. A
// partition that is being deleted does not.
func (x *context) offlineLeader(p *partition) bool {
	return p.hasInfo && x.lives(p) && !x.isReplicaOnline(p.info.leader, p)
}

func (t *topic) partition(n int32) *partition {
	i, ok := slices.BinarySearchFunc(t.partitions, n, func(p *partition, n int32) int { return cmp.Compare(p.tp.Partition, n) })
	if !ok {
		return nil
	}
	return t.partitions[i]
}

// setAssignment adds the partition if it is new.
func (t *topic) setAssignment(n int32, a assignment) *partition {
	i, ok := slices.BinarySearchFunc(t.partitions, n, func(p *partition, n int32) int { return cmp.Compare(p.tp.Partition, n) })
	if !ok {
		t.partitions = slices.Insert(t.partitions, i, &partition{tp: kafka.TopicPartition{Topic: t.name, Partition: n}})
	}
	t.partitions[i].assignment = a
	return t.partitions[i]
}

func (p *partition) assigned(id kafka.NodeID) bool { return slices.Contains(p.assignment.replicas, id) }

// reassigning: adding or removing replicas are recorded in the topic znode.
func (p *partition) reassigning() bool {
	return len(p.assignment.adding)+len(p.assignment.removing) > 0
}

// setInfo records what is stored in ZooKeeper.
func (p *partition) setInfo(i leaderISR) { p.info, p.hasInfo = i, true }

// replica finds or makes the row of a replica; a new row is NonExistentReplica.
func (p *partition) replica(id kafka.NodeID) *replica {
	i, ok := slices.BinarySearchFunc(p.replicas, id, func(r replica, id kafka.NodeID) int { return cmp.Compare(r.broker, id) })
	if !ok {
		p.replicas = slices.Insert(p.replicas, i, replica{broker: id, state: NonExistentReplica})
	}
	return &p.replicas[i]
}

func (p *partition) offlineDir(id kafka.NodeID) bool {
	for i := range p.replicas {
		if p.replicas[i].broker == id {
			return p.replicas[i].offlineDir
		}
	}
	return false
}
