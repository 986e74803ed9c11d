package replica

import (
	"github.com/simkafka/simkafka/model/config"
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/log"
	"github.com/simkafka/simkafka/model/step"
)

// Partition is one replica of a partition: what its broker knows and does about
// it (cluster 1.1). The zero value is not usable; see New.
type Partition struct {
	TP kafka.TopicPartition
	// TopicID is set when the controller gave one (KIP-516).
	TopicID kafka.TopicID
	// Host is the broker's own record of the partition; it is not looked at here.
	Host any

	env   *Env
	topic *config.Topic
	log   *log.Log

	// replicas is the assignment, self included.
	replicas []kafka.NodeID
	// isr is the committed, maximal the maximal ISR (L-2). Both immutable; empty
	// unless leader. Invariant: isr is a subset of maximal.
	isr, maximal []kafka.NodeID
	// remotes are the other replicas; empty unless leader.
	remotes []remote
	// resigned is how often it has become a follower, gone offline or been deleted. A leader's
	// new epoch is none of these.
	resigned uint32
	// unpublished are the appends whose disk time is not spent, in log order.
	unpublished []appendMark
	// published is the log end offset that others see. Invariant: HW <= published
	// <= the log's own end.
	published kafka.Offset
	// epochStart is the log end offset at which the current leadership began;
	// NoOffset unless leader.
	epochStart kafka.Offset

	leader          kafka.NodeID
	leaderEpoch     kafka.LeaderEpoch
	partitionEpoch  kafka.PartitionEpoch
	controllerEpoch kafka.ControllerEpoch

	change  uint32 // number of the ISR change in flight; grows with each state change
	appends uint32 // number of the last append
	pending pendingKind
	role    Role
	offline bool
}

// New makes a partition that the broker hosts from now on, without role or log
// (leader epoch -1, partition epoch 0).
func New(env *Env, tp kafka.TopicPartition, id kafka.TopicID, topic *config.Topic) *Partition {
	return &Partition{
		TP: tp, TopicID: id, env: env, topic: topic,
		leader: kafka.NoNode, leaderEpoch: kafka.NoLeaderEpoch, epochStart: kafka.NoOffset,
	}
}

// Role is what this broker is for the partition.
func (p *Partition) Role() Role { return p.role }

// IsLeader reports whether this broker believes to lead the partition.
func (p *Partition) IsLeader() bool { return p.role == Leader }

// Leader is the leader that this broker knows of, NoNode if none.
func (p *Partition) Leader() kafka.NodeID { return p.leader }

// LeaderEpoch is the last accepted one, -1 before the first.
func (p *Partition) LeaderEpoch() kafka.LeaderEpoch { return p.leaderEpoch }

// PartitionEpoch is the last accepted one, 0 before the first.
func (p *Partition) PartitionEpoch() kafka.PartitionEpoch { return p.partitionEpoch }

// ISR is the committed in-sync set; empty unless leader. Immutable.
func (p *Partition) ISR() []kafka.NodeID { return p.isr }

// MaximalISR is the committed set and a member about to join (L-2). Immutable.
func (p *Partition) MaximalISR() []kafka.NodeID { return p.maximal }

// Replicas is the assignment. Immutable.
func (p *Partition) Replicas() []kafka.NodeID { return p.replicas }

// Log is the partition's log, nil before the first role.
func (p *Partition) Log() *log.Log { return p.log }

// PublishedLEO is the log end offset that fetches, high watermark and ISR rules
// see: exclusive.
func (p *Partition) PublishedLEO() kafka.Offset { return p.published }

// HighWatermark is exclusive; 0 without a log.
func (p *Partition) HighWatermark() kafka.Offset {
	if p.log == nil {
		return 0
	}
	return p.log.HighWatermark()
}

// SetTopic replaces the topic's settings.
func (p *Partition) SetTopic(t *config.Topic) { p.topic = t }

// Offline reports whether the log directory failed.
func (p *Partition) Offline() bool { return p.offline }

// SetOffline is told when the partition's log directory failed: every call
// answers KAFKA_STORAGE_ERROR from now on (L-13 row 3).
func (p *Partition) SetOffline(in *step.Input, out *step.Effects) {
	if p.offline {
		return
	}
	p.offline = true
	p.dropRole()
	p.env.Watcher.Moved(in, out, p, MovedRole)
}

// noted is a fact about this partition with the fields that all of them share; see
// step.Effects.Fact.
func (p *Partition) noted(out *step.Effects, k event.Kind) *event.Event {
	e := out.Fact()
	e.Kind, e.Node, e.TP, e.LeaderEpoch = k, p.env.Node, p.TP, p.leaderEpoch
	return e
}

// fact is an event about this partition with the fields that all of them share.
func (p *Partition) fact(k event.Kind) event.Event {
	return event.Event{Kind: k, Node: p.env.Node, TP: p.TP, LeaderEpoch: p.leaderEpoch}
}
