package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/step"
)

// DescribeGroups: versions 0 to 5; what it tells is model/group. A group that is not
// there is Dead, without an error. Left out: authorized operations.

func (b *Broker) handleDescribeGroups(in *step.Input, out *step.Effects, from caller, req *kmsg.DescribeGroupsRequest) {
	b.coordinator(in, out).DescribeGroups(out, callerOfGroup(in, from), req)
}
