package group

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/quirk"
	"github.com/simkafka/simkafka/model/step"
)

// The JoinGroup versions at which something changes (groups 2.8).
const (
	joinRebalanceVersion = 1
	joinMemberIDVersion  = 4 // MEMBER_ID_REQUIRED (KIP-394)
	joinInstanceVersion  = 5
	joinProtocolVersion  = 7 // the answer tells the protocol type, and null for no protocol
	joinSkipVersion      = 9 // skipAssignment (KIP-814)
)

const (
	// newMemberJoinTimeout is for how long a new member may be parked (KAFKA-7610).
	newMemberJoinTimeout = 5 * kafka.Minute
	noGeneration         = -1
	unknownMember        = ""
)

// Why a rebalance begins (GroupChanged).
const (
	reasonNewMember      = "a member is new"
	reasonRejoins        = "a member rejoins"
	reasonMetadata       = "a member's metadata changed"
	reasonLeader         = "the leader rejoins"
	reasonStaticProtocol = "a static member changes the vote"
	reasonStatic         = "a static member rejoins before the assignment"
	reasonOverCapacity   = "the loaded group is above group.max.size"
	reasonLeft           = "a member left"
	reasonSession        = "a member timed out"
	reasonSync           = "members sent no SyncGroup in time"
	reasonStore          = "the assignment could not be persisted"
)

// joinArgs is a JoinGroup request.
type joinArgs struct {
	from               Caller
	req                *kmsg.JoinGroupRequest
	rebalance, session kafka.Nanos
	protocols          []Protocol
}

func (a *joinArgs) wait() waiting { return waiting{a.from, a.req.Version, true} }

// joinResult is the answer to one.
type joinResult struct {
	code       kafka.ErrorCode
	member     string
	generation int32
	current    bool // tells protocol and leader
	leader     string
	skip       bool
	members    bool // tells the members
}

func joinError(member string, code kafka.ErrorCode) *joinResult {
	return &joinResult{code: code, member: member, generation: noGeneration}
}

// JoinGroup is groups 2.5.
func (c *Coordinator) JoinGroup(in *step.Input, out *step.Effects, from Caller, req *kmsg.JoinGroupRequest) {
	a := &joinArgs{from: from, req: req, session: millis(req.SessionTimeoutMillis), rebalance: millis(req.RebalanceTimeoutMillis)}
	if req.Version < joinRebalanceVersion {
		a.rebalance = a.session
	}
	for i := range req.Protocols {
		a.protocols = append(a.protocols, Protocol{req.Protocols[i].Name, req.Protocols[i].Metadata})
	}
	code := c.validate(req.Group, membership)
	switch {
	case code != kafka.None:
	case a.session < c.cfg.GroupMinSession || a.session > c.cfg.GroupMaxSession:
		code = kafka.InvalidSessionTimeout
	case req.MemberID != unknownMember && c.byID[req.Group] == nil:
		code = kafka.UnknownMemberID
	}
	if code != kafka.None {
		c.refuseJoin(out, nil, a, req.MemberID, code)
		return
	}
	g := c.make(in, req.Group)
	switch {
	case !c.accepts(g, req.MemberID):
		c.turnAway(in, out, g, a)
	case g.state == Dead:
		c.refuseJoin(out, g, a, req.MemberID, kafka.CoordinatorNotAvailable)
	case !g.supportsProtocols(req.ProtocolType, a.protocols):
		c.refuseJoin(out, g, a, req.MemberID, kafka.InconsistentGroupProtocol)
	case req.MemberID == unknownMember:
		c.joinUnknown(in, out, g, a)
	default:
		c.joinKnown(in, out, g, a)
	}
	c.maybeCompleteJoin(in, out, g)
}

func millis(ms int32) kafka.Nanos { return kafka.Nanos(ms) * kafka.Millisecond }

func (c *Coordinator) refuseJoin(out *step.Effects, g *Group, a *joinArgs, member string, code kafka.ErrorCode) {
	c.replyJoin(out, g, a.wait(), joinError(member, code))
}

// turnAway refuses a member that has no room, and removes it (CJ-3).
func (c *Coordinator) turnAway(in *step.Input, out *step.Effects, g *Group, a *joinArgs) {
	if m := g.byID[a.req.MemberID]; m != nil {
		c.remove(out, g, m, event.GoneSize)
	}
	c.forgetPending(g, a.req.MemberID)
	c.refuseJoin(out, g, a, unknownMember, kafka.GroupMaxSizeReached)
}

// joinUnknown takes a member without id: it gets one.
func (c *Coordinator) joinUnknown(in *step.Input, out *step.Effects, g *Group, a *joinArgs) {
	if a.req.InstanceID != nil {
		id := c.newMemberID(in, *a.req.InstanceID)
		if m := g.static[*a.req.InstanceID]; m != nil {
			c.replaceStatic(in, out, g, m, id, a)
			return
		}
		c.addMember(in, out, g, id, a)
		return
	}
	id := c.newMemberID(in, a.from.Client)
	if a.req.Version < joinMemberIDVersion {
		c.addMember(in, out, g, id, a)
		return
	}
	d := &deadline{kind: pendingDeadline, group: g, id: id}
	g.pending = append(g.pending, d)
	c.deadlines.start(d, in.Now+a.session)
	c.refuseJoin(out, g, a, id, kafka.MemberIDRequired)
}

// joinKnown takes a member that names its id.
func (c *Coordinator) joinKnown(in *step.Input, out *step.Effects, g *Group, a *joinArgs) {
	id := a.req.MemberID
	if c.forgetPending(g, id) {
		c.addMember(in, out, g, id, a)
		return
	}
	if code := g.check(id, a.req.InstanceID); code != kafka.None {
		c.refuseJoin(out, g, a, id, code)
		return
	}
	m := g.byID[id]
	switch g.state {
	case PreparingRebalance:
		c.updateMember(in, out, g, m, a, reasonRejoins)
	case CompletingRebalance:
		if !m.matches(a.protocols) {
			c.updateMember(in, out, g, m, a, reasonMetadata)
			return
		}
		c.replyJoin(out, g, a.wait(), g.current(m))
	case Stable:
		switch {
		case g.leader == id:
			c.updateMember(in, out, g, m, a, reasonLeader)
		case !m.matches(a.protocols):
			c.updateMember(in, out, g, m, a, reasonMetadata)
		default:
			c.replyJoin(out, g, a.wait(), g.current(m))
		}
	default:
		c.refuseJoin(out, g, a, id, kafka.UnknownMemberID)
	}
}

// current is what a member is told of the present generation.
func (g *Group) current(m *Member) *joinResult {
	return &joinResult{member: m.id, generation: g.generation, current: true, leader: g.leader, members: g.leader == m.id}
}

// addMember takes a new member in, parks its request and begins a rebalance.
func (c *Coordinator) addMember(in *step.Input, out *step.Effects, g *Group, id string, a *joinArgs) {
	m := &Member{id: id, client: a.from.Client, host: "/" + a.from.Client, rebalanceTimeout: a.rebalance,
		sessionTimeout: a.session, protocols: a.protocols, join: a.wait(), isNew: true}
	if a.req.InstanceID != nil {
		m.instance = *a.req.InstanceID
	}
	if g.state == PreparingRebalance && g.generation == 0 {
		g.newMemberAdded = true
	}
	g.add(m, a.req.ProtocolType)
	c.noteMember(out, event.MemberJoined, g, m, event.JoinNew)
	// A connection with a parked request is not read, so a client that is gone is not
	// noticed, and those that try again would fill the group (KAFKA-7610).
	c.deadlines.start(&m.session, in.Now+newMemberJoinTimeout)
	c.maybeRebalance(in, out, g, reasonNewMember)
}

func (c *Coordinator) updateMember(in *step.Input, out *step.Effects, g *Group, m *Member, a *joinArgs, why string) {
	g.update(m, a.protocols, a.rebalance, a.session, a.wait())
	c.maybeRebalance(in, out, g, why)
}

// replaceStatic gives a static member that comes back its new id (CJ-12).
func (c *Coordinator) replaceStatic(in *step.Input, out *step.Effects, g *Group, m *Member, id string, a *joinArgs) {
	oldID, oldLeader := m.id, g.leader
	oldRebalance, oldSession := m.rebalanceTimeout, m.sessionTimeout
	c.rename(in, out, g, m, id, event.GoneReplaced)
	g.update(m, a.protocols, a.rebalance, a.session, a.wait())
	switch g.state {
	case PreparingRebalance:
		return
	case CompletingRebalance:
		if c.cfg.Profile.Quirks.Has(quirk.StaticKeptCompleting) {
			c.answerJoin(out, g, m, &joinResult{member: m.id, generation: g.generation, current: true, leader: oldLeader})
			return
		}
		// The old id may be on its way to the leader, whose answer would not name the new
		// one (KAFKA-9801).
		c.prepareRebalance(in, out, g, reasonStatic)
		return
	}
	if g.vote() != g.protocol {
		c.maybeRebalance(in, out, g, reasonStaticProtocol)
		return
	}
	if c.cfg.Profile.Quirks.Has(quirk.StaticUnsaved) {
		c.answerStatic(out, g, m, oldLeader, a)
		return
	}
	c.storeGroup(in, g, g.assignments(), func(in *step.Input, out *step.Effects, code kafka.ErrorCode, _ kafka.Offset) {
		if code = c.groupError(code); code == kafka.None {
			c.answerStatic(out, g, m, oldLeader, a)
			return
		}
		if m.join == a.wait() {
			r := joinError(unknownMember, code)
			r.generation, r.current, r.leader = g.generation, true, oldLeader
			c.answerJoin(out, g, m, r)
		}
		// Kafka restores timeouts and id, but not the protocols, which it takes down
		// after it has changed them.
		if g.state != Dead && g.byID[id] == m {
			g.update(m, m.protocols, oldRebalance, oldSession, waiting{})
			c.rename(in, out, g, m, oldID, event.GoneUnsaved)
		}
	})
}

// answerStatic tells a static member the generation that goes on. Before version 9 the
// old leader is named, so that the member does not believe to lead.
func (c *Coordinator) answerStatic(out *step.Effects, g *Group, m *Member, oldLeader string, a *joinArgs) {
	r := &joinResult{member: m.id, generation: g.generation, current: true, leader: oldLeader}
	if a.req.Version >= joinSkipVersion {
		r.leader, r.members, r.skip = g.leader, g.leader == m.id, g.leader == m.id
	}
	c.answerJoin(out, g, m, r)
}

// rename gives a static member another id; what waits under the old one is fenced.
func (c *Coordinator) rename(in *step.Input, out *step.Effects, g *Group, m *Member, id, why string) {
	c.answerJoin(out, g, m, joinError(m.id, kafka.FencedInstanceID))
	c.answerSync(out, g, m, kafka.FencedInstanceID)
	c.noteMember(out, event.MemberRemoved, g, m, why)
	g.rename(m, id)
	c.noteMember(out, event.MemberJoined, g, m, event.JoinReplaces)
	c.renewSession(in, m)
}

// assignments are those of all members, in their order.
func (g *Group) assignments() [][]byte {
	list := make([][]byte, len(g.members))
	for i, m := range g.members {
		list[i] = m.assignment
	}
	return list
}

// newMemberID is a prefix and 32 hexadecimal digits (groups 0.2).
func (c *Coordinator) newMemberID(in *step.Input, prefix string) string {
	const digits = "0123456789abcdef"
	id := append(make([]byte, 0, len(prefix)+33), prefix...)
	id = append(id, '-')
	for range 2 {
		for draw, i := c.host.Draw(in, "member-id:"+prefix), 0; i < 16; i++ {
			id = append(id, digits[draw>>60])
			draw <<= 4
		}
	}
	return string(id)
}

// forgetPending drops an id that was handed out, and reports whether it was one.
func (c *Coordinator) forgetPending(g *Group, id string) bool {
	for i, d := range g.pending {
		if d.id == id {
			c.deadlines.stop(d)
			g.pending = append(g.pending[:i], g.pending[i+1:]...)
			return true
		}
	}
	return false
}

// replyJoin answers a JoinGroup request. g is nil where there is none.
func (c *Coordinator) replyJoin(out *step.Effects, g *Group, to waiting, r *joinResult) {
	resp := &kmsg.JoinGroupResponse{Version: to.version, ErrorCode: int16(r.code), Generation: r.generation,
		LeaderID: r.leader, MemberID: r.member, SkipAssignment: r.skip}
	none := ""
	if to.version < joinProtocolVersion {
		resp.Protocol = &none
	}
	if r.current && g.protocol != "" {
		resp.Protocol = pointerTo(g.protocol)
	}
	if r.current && to.version >= joinProtocolVersion && g.protocolType != "" {
		resp.ProtocolType = pointerTo(g.protocolType)
	}
	if r.members {
		for _, m := range g.members {
			member := kmsg.JoinGroupResponseMember{MemberID: m.id, ProtocolMetadata: m.metadata(g.protocol)}
			if m.isStatic() && to.version >= joinInstanceVersion {
				member.InstanceID = pointerTo(m.instance)
			}
			resp.Members = append(resp.Members, member)
		}
	}
	out.Reply(to.Conn, to.Correlation, resp)
	if g == nil {
		return
	}
	e := c.fact(out, event.JoinAnswered, g)
	e.Member, e.Generation, e.Err, e.Count = r.member, r.generation, r.code, int32(len(resp.Members))
	e.Flag = r.code == kafka.None && r.leader == r.member
	if r.current {
		e.Detail = g.protocol
	}
	if m := g.byID[r.member]; m != nil && r.code == kafka.None {
		e.Text, e.Batch = m.supports(), m.metadata(g.protocol)
	}
}

func pointerTo(s string) *string { return &s }
