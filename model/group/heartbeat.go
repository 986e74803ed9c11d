package group

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
)

// Heartbeat is groups 2.6: it keeps a member alive also while a rebalance waits for it
// (CH-1).
func (c *Coordinator) Heartbeat(in *step.Input, out *step.Effects, from Caller, req *kmsg.HeartbeatRequest) {
	code := c.validate(req.Group, membership)
	g := c.byID[req.Group]
	switch {
	case code == kafka.CoordinatorLoadInProgress:
		code = kafka.None // answered blindly
	case code == kafka.None && g == nil:
		code = kafka.UnknownMemberID
	case code == kafka.None:
		code = c.beat(in, g, req)
	}
	out.Reply(from.Conn, from.Correlation, &kmsg.HeartbeatResponse{Version: req.Version, ErrorCode: int16(code)})
}

func (c *Coordinator) beat(in *step.Input, g *Group, req *kmsg.HeartbeatRequest) kafka.ErrorCode {
	if g.state == Dead {
		return kafka.CoordinatorNotAvailable
	}
	if code := g.check(req.MemberID, req.InstanceID); code != kafka.None {
		return code
	}
	if req.Generation != g.generation {
		return kafka.IllegalGeneration
	}
	if g.state == Empty {
		return kafka.UnknownMemberID
	}
	c.renewSession(in, g.byID[req.MemberID])
	if g.state == PreparingRebalance {
		return kafka.RebalanceInProgress
	}
	return kafka.None
}
