package group

import (
	"hash/crc32"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
)

// syncProtocolVersion is from when on SyncGroup has protocol type and name.
const syncProtocolVersion = 5

// SyncGroup is groups 2.6.
func (c *Coordinator) SyncGroup(in *step.Input, out *step.Effects, from Caller, req *kmsg.SyncGroupRequest) {
	to := waiting{from, req.Version, true}
	g := c.byID[req.Group]
	code := c.validate(req.Group, membership)
	switch {
	case req.Version >= syncProtocolVersion && (req.ProtocolType == nil || req.Protocol == nil):
		code = kafka.InconsistentGroupProtocol
	case code == kafka.CoordinatorLoadInProgress:
		// What rebalance there was is lost; older clients do not expect the true error.
		code = kafka.RebalanceInProgress
	case code == kafka.None && g == nil:
		code = kafka.UnknownMemberID
	case code == kafka.None:
		code = g.checkSync(req)
	}
	if code != kafka.None {
		c.replySync(out, g, to, req.MemberID, nil, code)
		return
	}
	m := g.byID[req.MemberID]
	g.synced(m)
	if g.syncsPending == 0 {
		c.deadlines.stop(&g.sync)
	}
	if g.state == Stable {
		c.replySync(out, g, to, m.id, m.assignment, kafka.None)
		c.renewSession(in, m)
		return
	}
	m.sync = to
	if g.leader == m.id {
		c.assign(in, g, req)
	}
}

// checkSync is CS-1, and the states in which there is nothing to wait for.
func (g *Group) checkSync(req *kmsg.SyncGroupRequest) kafka.ErrorCode {
	if g.state == Dead {
		return kafka.CoordinatorNotAvailable
	}
	if code := g.check(req.MemberID, req.InstanceID); code != kafka.None {
		return code
	}
	switch {
	case req.Generation != g.generation:
		return kafka.IllegalGeneration
	case req.ProtocolType != nil && *req.ProtocolType != g.protocolType,
		req.Protocol != nil && *req.Protocol != g.protocol:
		return kafka.InconsistentGroupProtocol
	case g.state == Empty:
		return kafka.UnknownMemberID
	case g.state == PreparingRebalance:
		return kafka.RebalanceInProgress
	}
	return kafka.None
}

// assign persists the leader's assignment; members that it leaves out get an empty one
// (CS-2, CS-3).
func (c *Coordinator) assign(in *step.Input, g *Group, req *kmsg.SyncGroupRequest) {
	given := make(map[string][]byte, len(req.GroupAssignment))
	for i := range req.GroupAssignment {
		given[req.GroupAssignment[i].MemberID] = req.GroupAssignment[i].MemberAssignment
	}
	members := append([]*Member(nil), g.members...)
	list := make([][]byte, len(members))
	for i, m := range members {
		list[i] = given[m.id]
	}
	generation := g.generation
	c.storeGroup(in, g, list, func(in *step.Input, out *step.Effects, code kafka.ErrorCode, base kafka.Offset) {
		if g.state != CompletingRebalance || g.generation != generation {
			return // the rebalance that has begun answers the members
		}
		if code = c.groupError(code); code != kafka.None {
			c.failSyncs(in, out, g, code)
			c.maybeRebalance(in, out, g, reasonStore)
			return
		}
		for i, m := range members {
			m.assignment = list[i]
			c.noteAssignment(out, event.AssignmentStored, g, m.id, m.assignment).First = int64(base)
		}
		c.tellSyncs(in, out, g, kafka.None)
		c.move(in, out, g, Stable, "the leader's assignment is persisted")
	})
}

// replySync answers a SyncGroup request. g is nil where there is none.
func (c *Coordinator) replySync(out *step.Effects, g *Group, to waiting, member string, assignment []byte, code kafka.ErrorCode) {
	resp := &kmsg.SyncGroupResponse{Version: to.version, ErrorCode: int16(code)}
	if code == kafka.None {
		resp.MemberAssignment = assignment
		if to.version >= syncProtocolVersion {
			resp.ProtocolType, resp.Protocol = pointerTo(g.protocolType), pointerTo(g.protocol)
		}
	}
	out.Reply(to.Conn, to.Correlation, resp)
	if g != nil {
		c.noteAssignment(out, event.SyncAnswered, g, member, resp.MemberAssignment).Err = code
	}
}

func (c *Coordinator) noteAssignment(out *step.Effects, kind event.Kind, g *Group, member string, assignment []byte) *event.Event {
	e := c.fact(out, kind, g)
	e.Member, e.Generation = member, g.generation
	e.CRC, e.Size, e.Batch = crc32.ChecksumIEEE(assignment), int32(len(assignment)), assignment
	return e
}
