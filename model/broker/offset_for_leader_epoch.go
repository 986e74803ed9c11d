package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
)

// OffsetForLeaderEpoch (KIP-101, 279, 320; E-2), for followers that truncate and
// consumers that validate.

func (b *Broker) handleOffsetForLeaderEpoch(out *step.Effects, from caller, req *kmsg.OffsetForLeaderEpochRequest) {
	resp := &kmsg.OffsetForLeaderEpochResponse{Version: req.Version}
	for i := range req.Topics {
		t := &req.Topics[i]
		parts := make([]kmsg.OffsetForLeaderEpochResponseTopicPartition, 0, len(t.Partitions))
		for j := range t.Partitions {
			parts = append(parts, b.endOfEpoch(req.Version, t.Topic, &t.Partitions[j]))
		}
		resp.Topics = append(resp.Topics, kmsg.OffsetForLeaderEpochResponseTopic{Topic: t.Topic, Partitions: parts})
	}
	from.answer(out, resp)
}

func (b *Broker) endOfEpoch(version int16, topic string, asked *kmsg.OffsetForLeaderEpochRequestTopicPartition) kmsg.OffsetForLeaderEpochResponseTopicPartition {
	p := kmsg.OffsetForLeaderEpochResponseTopicPartition{Partition: asked.Partition, LeaderEpoch: -1, EndOffset: -1}
	h := b.topics.get(topic, asked.Partition)
	if h == nil {
		p.ErrorCode = int16(b.cache.missing(topic, asked.Partition))
		return p
	}
	code, epoch, end := h.p.EndOffsetForEpoch(kafka.LeaderEpoch(asked.CurrentLeaderEpoch), kafka.LeaderEpoch(asked.LeaderEpoch))
	p.ErrorCode, p.EndOffset = int16(code), int64(end)
	if version >= 1 {
		p.LeaderEpoch = int32(epoch)
	}
	return p
}
