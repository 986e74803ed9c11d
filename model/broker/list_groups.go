package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/step"
)

// ListGroups: the groups of the partitions that this broker leads, by state (version 4)
// and type (version 5). Left out: authorization.

func (b *Broker) handleListGroups(in *step.Input, out *step.Effects, from caller, req *kmsg.ListGroupsRequest) {
	b.coordinator(in, out).ListGroups(out, callerOfGroup(in, from), req)
}
