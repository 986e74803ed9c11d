package group

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
)

// leaveBatchVersion is from when on several members may leave at once (KIP-345).
const leaveBatchVersion = 3

// LeaveGroup is CL-1.
func (c *Coordinator) LeaveGroup(in *step.Input, out *step.Effects, from Caller, req *kmsg.LeaveGroupRequest) {
	leaving := req.Members
	if req.Version < leaveBatchVersion {
		leaving = []kmsg.LeaveGroupRequestMember{{MemberID: req.MemberID}}
	}
	resp := &kmsg.LeaveGroupResponse{Version: req.Version}
	code := c.validate(req.Group, membership)
	g := c.byID[req.Group]
	if code == kafka.None && g != nil && g.state == Dead {
		code = kafka.CoordinatorNotAvailable
	}
	if code == kafka.None {
		for i := range leaving {
			l := &leaving[i]
			left := kafka.UnknownMemberID
			if g != nil {
				left = c.leave(in, out, g, l.MemberID, l.InstanceID)
			}
			resp.Members = append(resp.Members, kmsg.LeaveGroupResponseMember{MemberID: l.MemberID, InstanceID: l.InstanceID, ErrorCode: int16(left)})
		}
	}
	resp.ErrorCode = int16(code)
	if req.Version < leaveBatchVersion {
		if code == kafka.None {
			resp.ErrorCode = resp.Members[0].ErrorCode
		}
		resp.Members = nil
	}
	out.Reply(from.Conn, from.Correlation, resp)
}

// leave removes one member: by its id, or by the instance id alone (an administrator).
func (c *Coordinator) leave(in *step.Input, out *step.Effects, g *Group, id string, instance *string) kafka.ErrorCode {
	if id == unknownMember {
		if instance == nil || g.static[*instance] == nil {
			return kafka.UnknownMemberID
		}
		c.removeAndRebalance(in, out, g, g.static[*instance], event.GoneLeft, reasonLeft)
		return kafka.None
	}
	if c.forgetPending(g, id) {
		c.maybeCompleteJoin(in, out, g)
		return kafka.None
	}
	if code := g.check(id, instance); code != kafka.None {
		return code
	}
	c.removeAndRebalance(in, out, g, g.byID[id], event.GoneLeft, reasonLeft)
	return kafka.None
}
