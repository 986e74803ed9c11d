package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/step"
)

// ElectLeaders (KIP-460): preferred and unclean elections on request. Left out:
// the wait until this broker's own metadata shows the new leaders
// (DelayedElectLeader); the answer comes when the controller has decided.

func (b *Broker) handleElectLeaders(in *step.Input, out *step.Effects, from caller, req *kmsg.ElectLeadersRequest) {
	post(in, out, laneZK, func(in *step.Input, out *step.Effects) error {
		b.controller.ElectLeaders(in, out, req, replyTo(from))
		return nil
	})
}
