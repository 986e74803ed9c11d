package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/step"
)

// OffsetDelete (KIP-496): what it does is model/group. Left out: authorization.

func (b *Broker) handleOffsetDelete(in *step.Input, out *step.Effects, from caller, req *kmsg.OffsetDeleteRequest) {
	b.coordinator(in, out).OffsetDelete(in, out, callerOfGroup(in, from), req, b.exists)
}
