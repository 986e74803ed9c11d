package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/step"
)

// LeaveGroup (CL-1): all versions; what it does is model/group. Left out: authorization.
// The reason of version 5 is not kept.

func (b *Broker) handleLeaveGroup(in *step.Input, out *step.Effects, from caller, req *kmsg.LeaveGroupRequest) {
	b.coordinator(in, out).LeaveGroup(in, out, callerOfGroup(in, from), req)
}
