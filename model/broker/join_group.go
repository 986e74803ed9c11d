package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
)

// JoinGroup (groups 2.5): all versions; what it does is model/group. Left out:
// authorization. The reason of version 8 is not kept.

func (b *Broker) handleJoinGroup(in *step.Input, out *step.Effects, from caller, req *kmsg.JoinGroupRequest) {
	if b.refusesStatic(req.InstanceID) {
		resp := &kmsg.JoinGroupResponse{Version: req.Version, ErrorCode: int16(kafka.UnsupportedVersion), Generation: -1}
		if none := ""; req.Version < 7 {
			resp.Protocol = &none
		}
		from.answer(out, resp)
		return
	}
	b.coordinator(in, out).JoinGroup(in, out, callerOfGroup(in, from), req)
}
