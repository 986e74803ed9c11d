package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/replica"
	"github.com/simkafka/simkafka/model/step"
)

// ListOffsets (C-9). Modelled: latest, earliest, maximum timestamp and lookups, the
// bounds of clients and replicas, OFFSET_NOT_AVAILABLE. In version 0 the list has
// the one offset that version 1 would answer, where Kafka lists segments.

const (
	listIsolationVersion    = 2
	listEpochVersion        = 4
	listNotAvailableVersion = 5
)

func (b *Broker) handleListOffsets(in *step.Input, out *step.Effects, from caller, req *kmsg.ListOffsetsRequest) error {
	resp := &kmsg.ListOffsetsResponse{Version: req.Version, Topics: make([]kmsg.ListOffsetsResponseTopic, 0, len(req.Topics))}
	for i := range req.Topics {
		t := &req.Topics[i]
		parts := make([]kmsg.ListOffsetsResponseTopicPartition, 0, len(t.Partitions))
		for j := range t.Partitions {
			r, err := b.listOffset(out, req, t.Topic, &t.Partitions[j])
			if err != nil {
				return err
			}
			parts = append(parts, listed(req.Version, t.Partitions[j].Partition, r))
		}
		resp.Topics = append(resp.Topics, kmsg.ListOffsetsResponseTopic{Topic: t.Topic, Partitions: parts})
	}
	from.answer(out, resp)
	return nil
}

func (b *Broker) listOffset(out *step.Effects, req *kmsg.ListOffsetsRequest, topic string, asked *kmsg.ListOffsetsRequestTopicPartition) (replica.ListOffsetResult, error) {
	h := b.topics.get(topic, asked.Partition)
	if h == nil {
		return replica.ListOffsetResult{Code: b.cache.missing(topic, asked.Partition), Timestamp: kafka.NoTimestamp,
			Offset: kafka.NoOffset, Epoch: kafka.NoLeaderEpoch}, nil
	}
	args := replica.ListOffsetArgs{Replica: kafka.NodeID(req.ReplicaID), Timestamp: kafka.TimestampMs(asked.Timestamp),
		CurrentLeaderEpoch: kafka.LeaderEpoch(asked.CurrentLeaderEpoch),
		Committed:          req.Version >= listIsolationVersion && req.IsolationLevel == readCommitted}
	r, err := h.p.ListOffset(args)
	if err != nil && b.isCorruption(h, err) {
		r.Code, err = kafka.CorruptMessage, nil
	}
	if r.Code == kafka.OffsetNotAvailable && req.Version < listNotAvailableVersion {
		r.Code = kafka.LeaderNotAvailable
	}
	if err == nil && args.Replica == kafka.NoNode && args.Timestamp == replica.LatestTimestamp && !args.Committed {
		out.Note(event.Event{Kind: event.OffsetAnswered, Node: b.cfg.NodeID, TP: h.p.TP, LeaderEpoch: h.p.LeaderEpoch(),
			Offset: r.Offset, Err: r.Code})
	}
	return r, b.absorb(err)
}

func listed(version int16, partition int32, r replica.ListOffsetResult) kmsg.ListOffsetsResponseTopicPartition {
	p := kmsg.ListOffsetsResponseTopicPartition{Partition: partition, ErrorCode: int16(r.Code), Timestamp: -1, Offset: -1, LeaderEpoch: -1}
	if version == 0 {
		if r.Offset != kafka.NoOffset {
			p.OldStyleOffsets = []int64{int64(r.Offset)}
		}
		return p
	}
	p.Timestamp, p.Offset = int64(r.Timestamp), int64(r.Offset)
	if version >= listEpochVersion {
		p.LeaderEpoch = int32(r.Epoch)
	}
	return p
}
