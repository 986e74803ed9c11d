package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/step"
)

// AlterPartition (KIP-497, Z-28): the controller module of this process decides,
// also that it is not the active one. The sending side is
// replica.AlterPartitionManager.

func (b *Broker) handleAlterPartition(in *step.Input, out *step.Effects, from caller, req *kmsg.AlterPartitionRequest) {
	post(in, out, laneZK, func(in *step.Input, out *step.Effects) error {
		b.controller.AlterPartition(in, out, req, replyTo(from))
		return nil
	})
}
