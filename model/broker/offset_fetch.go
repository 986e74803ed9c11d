package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
)

// OffsetFetch (CF-1, CF-2): versions 1 to 9; what it does is model/group. Left out:
// offsets in ZooKeeper (version 0), topic ids (version 10) and authorization.

func (b *Broker) handleOffsetFetch(in *step.Input, out *step.Effects, from caller, req *kmsg.OffsetFetchRequest) {
	if req.Version == offsetsInZooKeeper {
		resp := &kmsg.OffsetFetchResponse{Version: req.Version}
		for i := range req.Topics {
			t, none := kmsg.OffsetFetchResponseTopic{Topic: req.Topics[i].Topic}, ""
			for _, n := range req.Topics[i].Partitions {
				t.Partitions = append(t.Partitions, kmsg.OffsetFetchResponseTopicPartition{Partition: n, Offset: -1,
					LeaderEpoch: -1, Metadata: &none, ErrorCode: int16(kafka.UnsupportedVersion)})
			}
			resp.Topics = append(resp.Topics, t)
		}
		from.answer(out, resp)
		return
	}
	b.coordinator(in, out).OffsetFetch(out, callerOfGroup(in, from), req)
}
