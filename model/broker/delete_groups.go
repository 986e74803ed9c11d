package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/step"
)

// DeleteGroups: versions 0 to 2; what it does is model/group. Left out: authorization.

func (b *Broker) handleDeleteGroups(in *step.Input, out *step.Effects, from caller, req *kmsg.DeleteGroupsRequest) {
	b.coordinator(in, out).DeleteGroups(in, out, callerOfGroup(in, from), req)
}
