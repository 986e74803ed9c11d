package client

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
)

// Versions from which requests carry the group instance id.
const (
	heartbeatInstanceFrom = 3
	leaveBatchFrom        = 3
	leaveReasonFrom       = 5
)

// beats: the heartbeat thread is awake, which sleeps while the member is not in the group or
// joins (groups 3.3), and before 2.6.1 while it syncs.
func (g *GroupConsumer) beats() bool {
	return g.member.state == stable || g.member.state == completing && g.cfg.Profile.BeatsFromJoin
}

// heartbeat is a turn of the heartbeat thread; it returns when to come back.
func (g *GroupConsumer) heartbeat(in *step.Input, out *step.Effects) kafka.Nanos {
	m := &g.member
	for g.beats() {
		pollBy := kafka.Forever
		if !g.inPoll() {
			pollBy = saturatingAdd(m.polled, g.cfg.MaxPollInterval)
		}
		switch {
		case g.failed() || g.app.given:
			return kafka.Forever
		case !g.coord.known:
			return g.seekBesides(in, out) // before the poll timeout, which so waits for a coordinator
		case in.Now >= m.session:
			g.coordinatorLost(in, out, "session timeout without an answered heartbeat")
		case in.Now >= pollBy:
			g.leave(in, out, "consumer poll timeout has expired.")
		case in.Now < m.heartbeatAt:
			return min(m.heartbeatAt, m.session, pollBy)
		default:
			m.heartbeatAt = in.Now + g.cfg.HeartbeatInterval
			g.sendHeartbeat(in, out)
		}
	}
	return kafka.Forever
}

// resetTimeouts begins the life of a generation (Heartbeat.resetTimeouts).
func (g *GroupConsumer) resetTimeouts(in *step.Input) {
	m := &g.member
	m.session = saturatingAdd(in.Now, g.cfg.SessionTimeout)
	m.heartbeatAt = in.Now + g.cfg.HeartbeatInterval
	m.polled = in.Now
}

func (g *GroupConsumer) sendHeartbeat(in *step.Input, out *step.Effects) {
	req := kmsg.NewPtrHeartbeatRequest()
	req.Version = g.cfg.Profile.Versions.Heartbeat
	req.Group, req.Generation, req.MemberID = g.group.Group, g.member.generation, g.member.id
	if req.Version >= heartbeatInstanceFrom {
		req.InstanceID = g.instance()
	}
	g.askCoordinator(in, out, req, 0, &asked{kind: heartbeatCall})
}

// heartbeatEnded is the Heartbeat column of groups 3.2.
func (g *GroupConsumer) heartbeatEnded(in *step.Input, out *step.Effects, c *asked, resp kmsg.Response) {
	m := &g.member
	err := kafka.NetworkException
	if r, ok := resp.(*kmsg.HeartbeatResponse); ok {
		err = kafka.ErrorCode(r.ErrorCode)
	}
	switch err {
	case kafka.None:
		g.coord.heard = true
		m.session = saturatingAdd(in.Now, g.cfg.SessionTimeout)
		return
	case kafka.RebalanceInProgress:
		g.coord.heard = true
		if m.state == stable {
			g.requestRejoin()
		}
		m.session = saturatingAdd(in.Now, g.cfg.SessionTimeout)
		return
	case kafka.CoordinatorNotAvailable, kafka.NotCoordinator:
		g.coordinatorLost(in, out, err.String())
	case kafka.IllegalGeneration, kafka.UnknownMemberID:
		if g.unchanged(c) {
			g.resetMember(out, "heartbeat: "+err.String(), err == kafka.UnknownMemberID)
		}
	case kafka.FencedInstanceID:
		if g.unchanged(c) {
			g.raise("heartbeat: " + err.String())
		}
	case kafka.NetworkException:
	default:
		g.raise("heartbeat: " + err.String())
	}
	m.heartbeatAt = in.Now + g.cfg.RetryBackoff
}

// leave ends the membership: a dynamic member says so, a static one is silent, and
// both forget it (maybeLeaveGroup).
func (g *GroupConsumer) leave(in *step.Input, out *step.Effects, why string) (sent bool) {
	if m := &g.member; g.group.InstanceID == "" && m.state != unjoined && m.id != "" {
		sent = g.askCoordinator(in, out, g.leaveRequest(why), 0, &asked{kind: leaveCall})
	}
	g.resetMember(out, why, true)
	return sent
}

func (g *GroupConsumer) leaveRequest(why string) *kmsg.LeaveGroupRequest {
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Version, req.Group = g.cfg.Profile.Versions.LeaveGroup, g.group.Group
	if req.Version < leaveBatchFrom {
		req.MemberID = g.member.id
		return req
	}
	x := kmsg.NewLeaveGroupRequestMember()
	if x.MemberID = g.member.id; req.Version >= leaveReasonFrom {
		x.Reason = &why
	}
	req.Members = append(req.Members, x)
	return req
}
