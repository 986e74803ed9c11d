package replica

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
)

// serve answers a fetcher's request as a broker does that never lets a fetch wait.
func (b *broker) serve(req kmsg.Request) kmsg.Response {
	b.w.t.Helper()
	defer b.settle()
	switch req := wire(b.w.t, req).(type) {
	case *kmsg.FetchRequest:
		return b.serveFetch(req)
	case *kmsg.OffsetForLeaderEpochRequest:
		return b.serveEpochs(req)
	case *kmsg.ListOffsetsRequest:
		return b.serveOffsets(req)
	}
	b.w.t.Fatalf("request %T", req)
	return nil
}

// wire encodes and decodes a request at its version: what its version does not
// have is gone afterwards.
func wire(t testing.TB, req kmsg.Request) kmsg.Request {
	t.Helper()
	got := kmsg.RequestForKey(req.Key())
	got.SetVersion(req.GetVersion())
	if err := got.ReadFrom(req.AppendTo(nil)); err != nil {
		t.Fatal(err)
	}
	if a, b := fmt.Sprintf("%+v", req), fmt.Sprintf("%+v", got); a != b && req.GetVersion() < 12 {
		t.Fatalf("a field above version %d leaks:\n%s\n%s", req.GetVersion(), a, b)
	}
	return got
}

func (b *broker) serveFetch(req *kmsg.FetchRequest) kmsg.Response {
	b.w.t.Helper()
	resp := kmsg.NewPtrFetchResponse()
	resp.Version = req.Version
	for _, t := range req.Topics {
		rt := kmsg.NewFetchResponseTopic()
		rt.Topic, rt.TopicID = t.Topic, t.TopicID
		for _, part := range t.Partitions {
			rt.Partitions = append(rt.Partitions, b.serveFetchPartition(req, &part))
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp
}

func (b *broker) serveFetchPartition(req *kmsg.FetchRequest, part *kmsg.FetchRequestTopicPartition) kmsg.FetchResponseTopicPartition {
	b.w.t.Helper()
	rp := kmsg.NewFetchResponseTopicPartition()
	rp.Partition = part.Partition
	replica := req.ReplicaID
	if req.Version >= 15 {
		replica = req.ReplicaState.ID
	}
	args := FetchArgs{
		Replica: kafka.NodeID(replica), CurrentLeaderEpoch: kafka.LeaderEpoch(part.CurrentLeaderEpoch),
		LastFetchedEpoch: kafka.LeaderEpoch(part.LastFetchedEpoch), Offset: kafka.Offset(part.FetchOffset),
		LogStart: kafka.Offset(part.LogStartOffset), MaxBytes: part.PartitionMaxBytes, MinOne: true,
	}
	p := b.partition(part.Partition)
	res, err := p.Fetch(&args)
	b.check(err)
	if res.Code == kafka.None && !res.Diverging {
		p.UpdateFollower(b.input(step.Request), b.out, &args, res.LEO)
	}
	rp.ErrorCode = int16(res.Code)
	rp.HighWatermark, rp.LastStableOffset, rp.LogStartOffset = int64(res.HW), int64(res.LastStable), int64(res.LogStart)
	rp.DivergingEpoch.Epoch, rp.DivergingEpoch.EndOffset = int32(res.DivergingEpoch), int64(res.DivergingEnd)
	rp.RecordBatches = res.Records
	return rp
}

func (b *broker) serveEpochs(req *kmsg.OffsetForLeaderEpochRequest) kmsg.Response {
	resp := kmsg.NewPtrOffsetForLeaderEpochResponse()
	resp.Version = req.Version
	for _, t := range req.Topics {
		rt := kmsg.NewOffsetForLeaderEpochResponseTopic()
		rt.Topic = t.Topic
		for _, part := range t.Partitions {
			code, epoch, end := b.partition(part.Partition).EndOffsetForEpoch(kafka.LeaderEpoch(part.CurrentLeaderEpoch), kafka.LeaderEpoch(part.LeaderEpoch))
			rp := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
			rp.Partition, rp.ErrorCode, rp.EndOffset = part.Partition, int16(code), int64(end)
			if req.Version >= 1 {
				rp.LeaderEpoch = int32(epoch)
			}
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp
}

func (b *broker) serveOffsets(req *kmsg.ListOffsetsRequest) kmsg.Response {
	b.w.t.Helper()
	resp := kmsg.NewPtrListOffsetsResponse()
	resp.Version = req.Version
	for _, t := range req.Topics {
		rt := kmsg.NewListOffsetsResponseTopic()
		rt.Topic = t.Topic
		for _, part := range t.Partitions {
			res, err := b.partition(part.Partition).ListOffset(ListOffsetArgs{
				Replica: kafka.NodeID(req.ReplicaID), CurrentLeaderEpoch: kafka.LeaderEpoch(part.CurrentLeaderEpoch), Timestamp: kafka.TimestampMs(part.Timestamp),
			})
			b.check(err)
			rp := kmsg.NewListOffsetsResponseTopicPartition()
			rp.Partition, rp.ErrorCode, rp.Offset = part.Partition, int16(res.Code), int64(res.Offset)
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp
}
