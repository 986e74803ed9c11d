package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
)

// OffsetCommit (groups 2.7): versions 1 to 9; what it does is model/group. A partition
// that the metadata do not know is refused here. Left out: offsets in ZooKeeper (version
// 0), topic ids (version 10) and authorization.

// offsetsInZooKeeper is the version of OffsetCommit and OffsetFetch that goes to
// ZooKeeper; it is answered UNSUPPORTED_VERSION.
const offsetsInZooKeeper = 0

func (b *Broker) handleOffsetCommit(in *step.Input, out *step.Effects, from caller, req *kmsg.OffsetCommitRequest) {
	if req.Version == offsetsInZooKeeper || b.refusesStatic(req.InstanceID) {
		resp := &kmsg.OffsetCommitResponse{Version: req.Version}
		for i := range req.Topics {
			t := kmsg.OffsetCommitResponseTopic{Topic: req.Topics[i].Topic}
			for j := range req.Topics[i].Partitions {
				t.Partitions = append(t.Partitions, kmsg.OffsetCommitResponseTopicPartition{
					Partition: req.Topics[i].Partitions[j].Partition, ErrorCode: int16(kafka.UnsupportedVersion)})
			}
			resp.Topics = append(resp.Topics, t)
		}
		from.answer(out, resp)
		return
	}
	b.coordinator(in, out).OffsetCommit(in, out, callerOfGroup(in, from), req, b.exists)
}
