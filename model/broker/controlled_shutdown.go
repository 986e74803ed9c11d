package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/step"
	"github.com/simkafka/simkafka/model/zkcontroller"
)

// ControlledShutdown (Z-27): the controller module of this process decides, also
// that it is not the active one. Nothing is left out here.

func (b *Broker) handleControlledShutdown(in *step.Input, out *step.Effects, from caller, req *kmsg.ControlledShutdownRequest) {
	post(in, out, laneZK, func(in *step.Input, out *step.Effects) error {
		b.controller.ControlledShutdown(in, out, req, replyTo(from))
		return nil
	})
}

// replyTo answers when the controller has decided, on its lane.
func replyTo(from caller) zkcontroller.Reply {
	return func(_ *step.Input, out *step.Effects, resp kmsg.Response) { from.answer(out, resp) }
}
