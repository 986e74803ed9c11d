package client

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/record"
)

// partReply is what a broker says about one partition.
type partReply struct {
	err       kafka.ErrorCode
	offset    int64 // base offset, listed offset or epoch end
	epoch     int32 // of the epoch end
	newLeader leaderInfo
	records   []byte
}

// respond builds the answer to a request, the same for each of its partitions.
func respond(req kmsg.Request, reply func(tp kafka.TopicPartition) partReply) kmsg.Response {
	resp := req.ResponseKind()
	resp.SetVersion(req.GetVersion())
	tp := func(topic string, p int32) kafka.TopicPartition {
		return kafka.TopicPartition{Topic: topic, Partition: p}
	}
	switch q := req.(type) {
	case *kmsg.ProduceRequest:
		r := resp.(*kmsg.ProduceResponse)
		for _, t := range q.Topics {
			rt := kmsg.ProduceResponseTopic{Topic: t.Topic}
			for _, p := range t.Partitions {
				got := reply(tp(t.Topic, p.Partition))
				rp := kmsg.NewProduceResponseTopicPartition()
				rp.Partition, rp.ErrorCode, rp.BaseOffset = p.Partition, int16(got.err), got.offset
				if got.newLeader.epoch > 0 {
					rp.CurrentLeader.LeaderID, rp.CurrentLeader.LeaderEpoch = int32(got.newLeader.leader), int32(got.newLeader.epoch)
				}
				rt.Partitions = append(rt.Partitions, rp)
			}
			r.Topics = append(r.Topics, rt)
		}
	case *kmsg.FetchRequest:
		r := resp.(*kmsg.FetchResponse)
		for _, t := range q.Topics {
			rt := kmsg.FetchResponseTopic{Topic: t.Topic, TopicID: t.TopicID}
			for _, p := range t.Partitions {
				got := reply(tp(labTopic(t.Topic, t.TopicID), p.Partition))
				rp := kmsg.NewFetchResponseTopicPartition()
				rp.Partition, rp.ErrorCode, rp.RecordBatches = p.Partition, int16(got.err), got.records
				rt.Partitions = append(rt.Partitions, rp)
			}
			r.Topics = append(r.Topics, rt)
		}
	case *kmsg.ListOffsetsRequest:
		r := resp.(*kmsg.ListOffsetsResponse)
		for _, t := range q.Topics {
			rt := kmsg.ListOffsetsResponseTopic{Topic: t.Topic}
			for _, p := range t.Partitions {
				got := reply(tp(t.Topic, p.Partition))
				rp := kmsg.NewListOffsetsResponseTopicPartition()
				rp.Partition, rp.ErrorCode, rp.Offset = p.Partition, int16(got.err), got.offset
				rt.Partitions = append(rt.Partitions, rp)
			}
			r.Topics = append(r.Topics, rt)
		}
	case *kmsg.OffsetForLeaderEpochRequest:
		r := resp.(*kmsg.OffsetForLeaderEpochResponse)
		for _, t := range q.Topics {
			rt := kmsg.OffsetForLeaderEpochResponseTopic{Topic: t.Topic}
			for _, p := range t.Partitions {
				got := reply(tp(t.Topic, p.Partition))
				rp := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
				rp.Partition, rp.ErrorCode, rp.EndOffset, rp.LeaderEpoch = p.Partition, int16(got.err), got.offset, got.epoch
				rt.Partitions = append(rt.Partitions, rp)
			}
			r.Topics = append(r.Topics, rt)
		}
	case *kmsg.CreateTopicsRequest:
		r := resp.(*kmsg.CreateTopicsResponse)
		for _, t := range q.Topics {
			rt := kmsg.NewCreateTopicsResponseTopic()
			rt.Topic, rt.ErrorCode = t.Topic, int16(reply(tp(t.Topic, -1)).err)
			r.Topics = append(r.Topics, rt)
		}
	case *kmsg.DeleteTopicsRequest:
		r := resp.(*kmsg.DeleteTopicsResponse)
		for _, name := range q.TopicNames {
			rt := kmsg.NewDeleteTopicsResponseTopic()
			rt.Topic, rt.ErrorCode = &name, int16(reply(tp(name, -1)).err)
			r.Topics = append(r.Topics, rt)
		}
	case *kmsg.CreatePartitionsRequest:
		r := resp.(*kmsg.CreatePartitionsResponse)
		for _, t := range q.Topics {
			rt := kmsg.NewCreatePartitionsResponseTopic()
			rt.Topic, rt.ErrorCode = t.Topic, int16(reply(tp(t.Topic, -1)).err)
			r.Topics = append(r.Topics, rt)
		}
	}
	return resp
}

// labBatch is a stored batch of count records of producer 7 with numbers from first.
func labBatch(base kafka.Offset, epoch kafka.LeaderEpoch, count int, first int64) []byte {
	opts := record.ClientOptions()
	opts.BaseOffset, opts.LeaderEpoch = base, epoch
	var bd record.Builder
	bd.Reset(opts)
	for i := range count {
		v := make([]byte, 40)
		putValue(v, 7, first+int64(i), 0)
		bd.Append(1_700_000_000_000, nil, v, nil)
	}
	b, err := bd.Build()
	if err != nil {
		panic(err)
	}
	return b
}
