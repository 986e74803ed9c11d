package client

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/assignor"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/quirk"
	"github.com/simkafka/simkafka/model/step"
)

// Versions from which joining carries more.
const (
	joinRebalanceFrom = 1 // the rebalance timeout beside the session's
	joinInstanceFrom  = 5
	joinReasonFrom    = 8
	syncInstanceFrom  = 3
	syncProtocolFrom  = 5
)

// protocolType is what consumers call their kind of group.
const protocolType = "consumer"

// joinLag is by how much a JoinGroup request outlives the rebalance timeout.
const joinLag = 5 * kafka.Second

// joining is a member's way into a generation, or its next one.
type joining struct {
	inFlight bool // JoinGroup or SyncGroup is on its way, or the leader's work
	retryAt  kafka.Nanos
	held     *heldAnswer // of a JoinGroup, until poll looks
	elected  *kmsg.JoinGroupResponse
	fresh    int // metadata version that an elected leader waits to be passed; -1 = none
	prepare  prepare
	ready    bool // prepared, whatever needsPrepare says of the attempt after this one
	// assignment is what a SyncGroup brought, until poll takes it over; of is the
	// generation that it is of.
	assignment *kmsg.ConsumerMemberAssignment
	of         memberID
	revoking   []*assigned // in the callback, before it is taken over
	completeAt kafka.Nanos // when that was found
}

type heldAnswer struct {
	call *asked
	resp kmsg.Response
}

// ensureActive joins the group if need be, as far as it goes now (groups CC-1). active:
// the member has no joining to do. next is when to come back.
func (g *GroupConsumer) ensureActive(in *step.Input, out *step.Effects) (next kafka.Nanos, active bool) {
	j := &g.join
	for !g.failed() && g.sync == nil {
		switch {
		case j.held != nil:
			h := j.held
			j.held = nil
			g.joinEnded(in, out, h.call, h.resp)
		case j.assignment != nil:
			g.completeJoin(in, out)
		case j.inFlight:
			return kafka.Forever, false
		case !g.member.rejoin:
			return kafka.Forever, true
		case !g.coord.known:
			j.ready = false
			return g.seek(in, out), false
		case j.retryAt > in.Now:
			return j.retryAt, false
		case !j.ready && (g.member.needsPrepare || j.prepare.begun):
			if next, done := g.prepareJoin(in, out); !done {
				return next, false
			}
		default:
			j.ready = false
			g.sendJoin(in, out)
		}
	}
	return kafka.Forever, false
}

func (g *GroupConsumer) sendJoin(in *step.Input, out *step.Effects) {
	req := kmsg.NewPtrJoinGroupRequest()
	req.Version = g.cfg.Profile.Versions.JoinGroup
	req.Group, req.MemberID, req.ProtocolType = g.group.Group, g.member.id, protocolType
	req.SessionTimeoutMillis = int32(g.cfg.SessionTimeout / kafka.Millisecond)
	if req.Version >= joinRebalanceFrom {
		req.RebalanceTimeoutMillis = int32(min(g.cfg.MaxPollInterval/kafka.Millisecond, 1<<31-1))
	}
	if req.Version >= joinInstanceFrom {
		req.InstanceID = g.instance()
	}
	if req.Version >= joinReasonFrom {
		why := ""
		req.Reason = &why
	}
	for _, name := range g.cfg.Assignors {
		p := kmsg.NewJoinGroupRequestProtocol()
		p.Name, p.Metadata = name, g.subscription(name)
		req.Protocols = append(req.Protocols, p)
	}
	timeout := max(g.cfg.RequestTimeout, saturatingAdd(g.cfg.MaxPollInterval, joinLag))
	if !g.askCoordinator(in, out, req, timeout, &asked{kind: joinCall}) {
		return
	}
	g.join.inFlight = true
	g.member.state = preparing // perhaps it is already: the last attempt failed
	g.noteState(out, "")
}

// joinEnded is the JoinGroup column of groups 3.2.
func (g *GroupConsumer) joinEnded(in *step.Input, out *step.Effects, c *asked, resp kmsg.Response) {
	r, ok := resp.(*kmsg.JoinGroupResponse)
	if !ok {
		g.joinFailed(in, out, "no answer to JoinGroup", g.cfg.RetryBackoff)
		return
	}
	switch err := kafka.ErrorCode(r.ErrorCode); err {
	case kafka.None:
		g.joined(in, out, r)
	case kafka.CoordinatorLoadInProgress:
		g.joinFailed(in, out, err.String(), g.cfg.RetryBackoff)
	case kafka.CoordinatorNotAvailable, kafka.NotCoordinator:
		g.coordinatorLost(in, out, err.String())
		g.joinFailed(in, out, err.String(), g.cfg.RetryBackoff)
	case kafka.RebalanceInProgress:
		g.joinFailed(in, out, err.String(), 0)
	case kafka.UnknownMemberID:
		if g.unchanged(c) {
			g.resetMember(out, "join: "+err.String(), true)
		}
		g.joinFailed(in, out, err.String(), 0)
	case kafka.MemberIDRequired:
		g.member.memberID = memberID{noMember.generation, r.MemberID}
		g.joinFailed(in, out, err.String(), 0)
	default:
		g.raise("join of group " + g.group.Group + ": " + err.String())
	}
}

// joinFailed: the next attempt is a new one, after a pause.
func (g *GroupConsumer) joinFailed(in *step.Input, out *step.Effects, why string, pause kafka.Nanos) {
	g.join.inFlight, g.join.elected = false, nil
	g.join.retryAt = in.Now + pause
	if pause > 0 && g.cfg.Profile.Quirks.Has(quirk.IDLostOnRetry) { // all but what is tried again at once
		g.resetMember(out, why, true)
	}
	g.requestRejoin()
	g.attemptFailed(out, why)
}

// joined takes a generation's number; a leader assigns, the others wait for that.
func (g *GroupConsumer) joined(in *step.Input, out *step.Effects, r *kmsg.JoinGroupResponse) {
	m := &g.member
	if m.state != preparing {
		g.joinFailed(in, out, "joined after the membership was given up", 0)
		return
	}
	m.memberID = memberID{r.Generation, r.MemberID}
	if m.protocol = ""; r.Protocol != nil {
		m.protocol = *r.Protocol
	}
	g.coord.heard = true
	g.enter(out, completing, m.protocol)
	if g.cfg.Profile.BeatsFromJoin {
		g.resetTimeouts(in)
	}
	if m.leader = r.LeaderID == r.MemberID; !m.leader {
		g.sendSync(in, out, nil)
		return
	}
	g.join.elected, g.join.fresh = r, -1
	g.lead(in, out)
}

// lead assigns as the leader of the generation once the metadata of all the group's
// topics is fresh (CC-2).
func (g *GroupConsumer) lead(in *step.Input, out *step.Effects) {
	j := &g.join
	if j.elected == nil {
		return
	}
	if g.member.state != completing {
		g.joinFailed(in, out, "the membership was given up while its leader waited for metadata", 0)
		return
	}
	members, err := decodeMembers(j.elected.Members)
	if err != nil {
		g.raise("leader of group " + g.group.Group + ": " + err.Error())
		return
	}
	if j.fresh < 0 && g.lacksMetadata(members) {
		j.fresh = g.network.meta.version
		g.network.requestUpdateNow()
	}
	if j.fresh == g.network.meta.version {
		return
	}
	skip := j.elected.SkipAssignment
	j.elected = nil
	g.watchTopics(members)
	if skip {
		g.sendSync(in, out, nil)
		return
	}
	a, ok := assignor.ByName(g.member.protocol)
	if !ok {
		g.raise("leader of group " + g.group.Group + ": no assignor " + g.member.protocol)
		return
	}
	g.sendSync(in, out, assignor.WithBugs(a, g.cfg.Profile.Quirks).Assign(g.groupTopics(members), members))
}

// lacksMetadata: a topic of the group was not of interest yet, or is not subscribed to by the
// leader itself (SubscriptionState.groupSubscribe), or an update is due.
func (g *GroupConsumer) lacksMetadata(members []assignor.Member) bool {
	known, others := len(g.network.meta.topics), false
	for i := range members {
		for _, name := range members[i].Topics {
			g.network.meta.topic(name)
			others = others || !slices.Contains(g.group.Topics, name)
		}
	}
	return len(g.network.meta.topics) > known || others && g.cfg.Profile.LeaderAsksAnew || g.network.needUpdate || g.network.inProgress
}

// groupTopics is what the metadata says of the members' topics.
func (g *GroupConsumer) groupTopics(members []assignor.Member) (topics []assignor.Topic) {
	for _, t := range g.network.meta.topics {
		wanted := slices.ContainsFunc(members, func(m assignor.Member) bool { return slices.Contains(m.Topics, t.name) })
		if wanted && t.count > 0 {
			topics = append(topics, assignor.Topic{Name: t.name, Partitions: int32(t.count), Numbers: g.numbers(t)})
		}
	}
	return topics
}

// numbers are those of a topic's known partitions, nil where assignors take the first ones.
func (g *GroupConsumer) numbers(t *topicInfo) (numbers []int32) {
	if !g.cfg.Profile.AssignsKnown || t.count == len(t.partitions) {
		return nil
	}
	for p := range t.partitions {
		if t.partitions[p].known {
			numbers = append(numbers, int32(p))
		}
	}
	return numbers
}

// topicCount is how many partitions of a topic a leader saw.
type topicCount struct {
	info       *topicInfo
	partitions int
}

// watchTopics remembers how many partitions the topics of the group have: those that any
// member subscribes to (SubscriptionState.metadataTopics of a leader).
func (g *GroupConsumer) watchTopics(members []assignor.Member) {
	g.member.counts = g.member.counts[:0]
	for _, t := range g.network.meta.topics {
		own := slices.ContainsFunc(g.topics, func(o readTopic) bool { return o.info == t })
		if own || slices.ContainsFunc(members, func(m assignor.Member) bool { return slices.Contains(m.Topics, t.name) }) {
			g.member.counts = append(g.member.counts, topicCount{t, t.count})
		}
	}
}

// checkCounts: a leader whose topics have changed since it assigned rebalances (CC-2).
func (g *GroupConsumer) checkCounts() {
	if !g.member.leader || g.member.state != stable {
		return
	}
	for _, c := range g.member.counts {
		if c.info.count != c.partitions {
			g.requestRejoin()
			return
		}
	}
}

func (g *GroupConsumer) sendSync(in *step.Input, out *step.Effects, assigned []assignor.Assignment) {
	req := kmsg.NewPtrSyncGroupRequest()
	req.Version = g.cfg.Profile.Versions.SyncGroup
	req.Group, req.Generation, req.MemberID = g.group.Group, g.member.generation, g.member.id
	if req.Version >= syncInstanceFrom {
		req.InstanceID = g.instance()
	}
	if req.Version >= syncProtocolFrom {
		kind, protocol := protocolType, g.member.protocol
		req.ProtocolType, req.Protocol = &kind, &protocol
	}
	for i := range assigned {
		x := kmsg.NewSyncGroupRequestGroupAssignment()
		x.MemberID, x.MemberAssignment = assigned[i].Member, g.encodeAssignment(assigned[i].Partitions)
		req.GroupAssignment = append(req.GroupAssignment, x)
	}
	if !g.askCoordinator(in, out, req, 0, &asked{kind: syncCall}) {
		g.joinFailed(in, out, "no coordinator for SyncGroup", g.cfg.RetryBackoff)
	}
}

// syncEnded is the SyncGroup column of groups 3.2.
func (g *GroupConsumer) syncEnded(in *step.Input, out *step.Effects, c *asked, resp kmsg.Response) {
	r, ok := resp.(*kmsg.SyncGroupResponse)
	if !ok {
		g.joinFailed(in, out, "no answer to SyncGroup", g.cfg.RetryBackoff)
		return
	}
	switch err := kafka.ErrorCode(r.ErrorCode); err {
	case kafka.None:
		g.synced(in, out, c, r)
	case kafka.RebalanceInProgress:
		g.joinFailed(in, out, err.String(), 0) // generation, id and what is owned stay
	case kafka.IllegalGeneration, kafka.UnknownMemberID:
		g.resetMember(out, "sync: "+err.String(), err == kafka.UnknownMemberID)
		g.joinFailed(in, out, err.String(), 0)
	case kafka.CoordinatorNotAvailable, kafka.NotCoordinator:
		g.coordinatorLost(in, out, err.String())
		g.joinFailed(in, out, err.String(), g.cfg.RetryBackoff)
	default:
		g.raise("sync of group " + g.group.Group + ": " + err.String())
	}
}

func (g *GroupConsumer) synced(in *step.Input, out *step.Effects, c *asked, r *kmsg.SyncGroupResponse) {
	if g.member.state != completing || !g.unchanged(c) {
		g.joinFailed(in, out, "synced after the membership was given up", 0)
		return
	}
	a := new(kmsg.ConsumerMemberAssignment)
	if len(r.MemberAssignment) > 0 {
		if err := a.ReadFrom(r.MemberAssignment); err != nil {
			g.raise("assignment of group " + g.group.Group + ": " + err.Error())
			return
		}
	}
	g.join.inFlight, g.join.assignment, g.join.of = false, a, g.member.memberID
	g.member.rejoin = false
	g.enter(out, stable, "")
	if !g.cfg.Profile.BeatsFromJoin {
		g.resetTimeouts(in)
	}
}
