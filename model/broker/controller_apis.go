package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/step"
	"github.com/simkafka/simkafka/model/zkcontroller"
)

// The requests to the controller: ControlledShutdown (Z-27), AlterPartition (Z-28)
// and ElectLeaders (KIP-460). The controller module in this process decides, also
// that it is not the active controller; it works on the ZooKeeper lane. ElectLeaders
// is answered when the controller has decided, where Kafka waits until this
// broker's own metadata shows the leaders.

func (b *Broker) handleControlledShutdown(in *step.Input, out *step.Effects, from caller, req *kmsg.ControlledShutdownRequest) {
	b.onController(in, out, func(in *step.Input, out *step.Effects) {
		b.controller.ControlledShutdown(in, out, req, replyTo(from))
	})
}

func (b *Broker) handleAlterPartition(in *step.Input, out *step.Effects, from caller, req *kmsg.AlterPartitionRequest) {
	b.onController(in, out, func(in *step.Input, out *step.Effects) {
		b.controller.AlterPartition(in, out, req, replyTo(from))
	})
}

func (b *Broker) handleElectLeaders(in *step.Input, out *step.Effects, from caller, req *kmsg.ElectLeadersRequest) {
	b.onController(in, out, func(in *step.Input, out *step.Effects) {
		b.controller.ElectLeaders(in, out, req, replyTo(from))
	})
}

func (b *Broker) onController(in *step.Input, out *step.Effects, f func(in *step.Input, out *step.Effects)) {
	post(in, out, laneZK, func(in *step.Input, out *step.Effects) error {
		f(in, out)
		return nil
	})
}

func replyTo(from caller) zkcontroller.Reply {
	return func(_ *step.Input, out *step.Effects, resp kmsg.Response) { from.answer(out, resp) }
}
