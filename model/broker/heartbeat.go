package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
)

// Heartbeat (groups 2.6): all versions; what it does is model/group. Left out:
// authorization.

func (b *Broker) handleHeartbeat(in *step.Input, out *step.Effects, from caller, req *kmsg.HeartbeatRequest) {
	if b.refusesStatic(req.InstanceID) {
		from.answer(out, &kmsg.HeartbeatResponse{Version: req.Version, ErrorCode: int16(kafka.UnsupportedVersion)})
		return
	}
	b.coordinator(in, out).Heartbeat(in, out, callerOfGroup(in, from), req)
}
