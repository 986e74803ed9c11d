package group

import (
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/quirk"
	"github.com/simkafka/simkafka/model/record"
	"github.com/simkafka/simkafka/model/step"
)

// outcome takes the error code of an append and its base offset.
type outcome = func(in *step.Input, out *step.Effects, code kafka.ErrorCode, base kafka.Offset)

// begin starts a batch for __consumer_offsets; its records carry the present time.
func (c *Coordinator) begin() {
	o := record.ClientOptions()
	o.Codec = record.Codec(c.cfg.OffsetsCodec)
	c.builder.Reset(o)
}

// store queues the batch that was begun.
func (c *Coordinator) store(partition int32, acks int8, done outcome) {
	b, err := c.builder.Build()
	if err != nil {
		panic("group: a batch for " + OffsetsTopic + ": " + err.Error())
	}
	c.appends = append(c.appends, &Append{Partition: partition, Batch: b, Acks: acks, Done: done})
}

// storeGroup persists a group with the members' assignments, which are in their order
// (RS-2). Kafka writes the newest version that is not flexible.
func (c *Coordinator) storeGroup(in *step.Input, g *Group, assignments [][]byte, done outcome) {
	m := Metadata{ProtocolType: g.protocolType, Generation: g.generation, Protocol: g.protocol, Leader: g.leader, StateTime: g.stateTime}
	for i, member := range g.members {
		m.Members = append(m.Members, MemberRecord{ID: member.id, Instance: member.instance, Client: member.client, Host: member.host,
			RebalanceTimeout: int32(member.rebalanceTimeout / kafka.Millisecond), SessionTimeout: int32(member.sessionTimeout / kafka.Millisecond),
			Subscription: member.metadata(g.protocol), Assignment: assignments[i]})
	}
	version := int16(3)
	if !c.cfg.Profile.ExpireIdleGroups {
		version = 1
	}
	c.begin()
	c.builder.Append(in.Wall, AppendGroupKey(nil, g.id), AppendMetadata(nil, version, &m), nil)
	c.store(g.partition, int8(c.cfg.OffsetsAcks), done)
}

// offsetVersion is the version in which an offset is written: that with a time of its
// expiry where it has one (RS, KIP-211).
func (c *Coordinator) offsetVersion(o *Offset) int16 {
	if o.Expires != kafka.NoTimestamp || !c.cfg.Profile.ExpireIdleGroups {
		return 1
	}
	return 3
}

// passesOn: the log's error is the answer (KAFKA-3590).
func (c *Coordinator) passesOn(code kafka.ErrorCode) bool {
	return (code == kafka.NotEnoughReplicas || code == kafka.NotEnoughReplicasAfterAppend) && c.cfg.Profile.Quirks.Has(quirk.RawAppendErrors)
}

// groupError is what a failed append means for a rebalance (RS-3).
func (c *Coordinator) groupError(code kafka.ErrorCode) kafka.ErrorCode {
	if c.passesOn(code) {
		return code
	}
	switch code {
	case kafka.UnknownTopicOrPartition, kafka.NotEnoughReplicas, kafka.NotEnoughReplicasAfterAppend:
		return kafka.CoordinatorNotAvailable
	case kafka.NotLeaderOrFollower, kafka.KafkaStorageError:
		return kafka.NotCoordinator
	case kafka.RequestTimedOut:
		return kafka.RebalanceInProgress
	case kafka.MessageTooLarge, kafka.RecordListTooLarge, kafka.InvalidFetchSize:
		return kafka.UnknownServerError
	}
	return code
}

// commitError is what a failed append means for a commit (RS-3). A timeout stays one
// before Kafka 4.0.
func (c *Coordinator) commitError(code kafka.ErrorCode) kafka.ErrorCode {
	if c.passesOn(code) {
		return code
	}
	switch code {
	case kafka.UnknownTopicOrPartition, kafka.NotEnoughReplicas, kafka.NotEnoughReplicasAfterAppend:
		return kafka.CoordinatorNotAvailable
	case kafka.NotLeaderOrFollower, kafka.KafkaStorageError:
		return kafka.NotCoordinator
	case kafka.MessageTooLarge, kafka.RecordListTooLarge, kafka.InvalidFetchSize:
		return kafka.InvalidCommitOffsetSize
	}
	return code
}
