package group

import (
	"slices"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/quirk"
	"github.com/simkafka/simkafka/model/step"
)

// State is the state of a group (groups 2.1).
type State = event.GroupState

// The states.
const (
	Empty               = event.GroupEmpty
	PreparingRebalance  = event.GroupPreparingRebalance
	CompletingRebalance = event.GroupCompletingRebalance
	Stable              = event.GroupStable
	Dead                = event.GroupDead
)

// previous are the states from which each may be entered; no other transition is legal.
var previous = [...][]State{
	Empty:               {PreparingRebalance},
	PreparingRebalance:  {Stable, CompletingRebalance, Empty},
	CompletingRebalance: {PreparingRebalance},
	Stable:              {CompletingRebalance},
	Dead:                {Stable, PreparingRebalance, CompletingRebalance, Empty, Dead},
}

// consumerType is the protocol type of consumers; Connect's workers have another.
const consumerType = "consumer"

// Group is a group (GroupMetadata).
type Group struct {
	id        string
	partition int32 // of __consumer_offsets
	state     State
	// stateTime is since when; NoTimestamp for a group that an old record tells of.
	stateTime    kafka.TimestampMs
	protocolType string // "" = none: a group that only commits offsets
	protocol     string // "" = none was voted for
	generation   int32
	leader       string // member id, "" = none

	members []*Member // in the order in which they joined
	byID    map[string]*Member
	static  map[string]*Member // by instance id
	pending []*deadline        // ids that were handed out, by their timers
	// awaitingJoin counts the members with a parked JoinGroup.
	awaitingJoin int
	// supports counts the members that support a protocol.
	supports map[string]int
	// syncsPending counts the members with syncPending.
	syncsPending int
	// newMemberAdded: the initial delay may be extended (CJ-9).
	newMemberAdded bool
	// subscribed are the topics of a consumer group, sorted; known while the group knows.
	subscribed      []string
	subscribedKnown bool

	offsets offsetTable
	join    deadline
	sync    deadline
	// initial: the join timer is that of the initial delay, which was delay long; remaining
	// is what may still be added.
	initial          bool
	delay, remaining kafka.Nanos
}

func newGroup(id string, partition int32, now kafka.TimestampMs) *Group {
	g := &Group{id: id, partition: partition, state: Empty, stateTime: now,
		byID: make(map[string]*Member), static: make(map[string]*Member), supports: make(map[string]int)}
	g.join, g.sync = deadline{kind: joinDeadline, group: g}, deadline{kind: syncDeadline, group: g}
	return g
}

// ID is the group's id.
func (g *Group) ID() string { return g.id }

// State is the group's state.
func (g *Group) State() State { return g.state }

// Generation is that of the last completed join.
func (g *Group) Generation() int32 { return g.generation }

// ProtocolType is "" for a group that only commits offsets.
func (g *Group) ProtocolType() string { return g.protocolType }

// Protocol is the one that was voted for, "" before.
func (g *Group) Protocol() string { return g.protocol }

// Leader is the leader's member id, "" if there is none.
func (g *Group) Leader() string { return g.leader }

// Members are in the order in which they joined. They belong to the group.
func (g *Group) Members() []*Member { return g.members }

// Offsets calls fn for each committed offset, by topic and partition.
func (g *Group) Offsets(fn func(tp kafka.TopicPartition, o Offset)) {
	for _, e := range g.offsets.list {
		if e.known {
			fn(e.tp, e.value)
		}
	}
}

func (g *Group) has(id string) bool { return g.byID[id] != nil }

// rebalanceTimeout is R: the largest of all members.
func (g *Group) rebalanceTimeout() (r kafka.Nanos) {
	for _, m := range g.members {
		r = max(r, m.rebalanceTimeout)
	}
	return r
}

// allJoined: nobody is waited for.
func (g *Group) allJoined() bool { return len(g.members) == g.awaitingJoin && len(g.pending) == 0 }

// accepts is KIP-389: whether a joining member has room (CJ-3).
func (c *Coordinator) accepts(g *Group, id string) bool {
	m, limit := g.byID[id], c.cfg.GroupMaxSize
	if c.cfg.Profile.Quirks.Has(quirk.SizeOfUnknown) {
		shed := len(g.members) > limit && m != nil && !m.join.parked
		return !shed && (id != unknownMember || len(g.members) < limit)
	}
	switch g.state {
	case PreparingRebalance:
		return m != nil && m.join.parked || g.awaitingJoin < limit
	case CompletingRebalance, Stable:
		return m != nil || len(g.members) < limit
	}
	return true
}

// supportsProtocols is CJ-4.
func (g *Group) supportsProtocols(kind string, protocols []Protocol) bool {
	if g.state == Empty {
		return kind != "" && len(protocols) > 0
	}
	if g.protocolType == "" || kind != g.protocolType {
		return false
	}
	return slices.ContainsFunc(protocols, func(p Protocol) bool { return g.supports[p.Name] == len(g.members) })
}

// check is V of groups 2.3: the member id, and the instance id if one is given.
func (g *Group) check(id string, instance *string) kafka.ErrorCode {
	if instance != nil {
		switch m := g.static[*instance]; {
		case m == nil:
			return kafka.UnknownMemberID
		case m.id != id:
			return kafka.FencedInstanceID
		}
	}
	if !g.has(id) {
		return kafka.UnknownMemberID
	}
	return kafka.None
}

// add takes a member in; the first one of a group without leader leads it (CJ-6).
func (g *Group) add(m *Member, kind string) {
	if len(g.members) == 0 {
		g.protocolType = kind
	}
	if g.leader == "" {
		g.leader = m.id
	}
	g.members = append(g.members, m)
	g.byID[m.id] = m
	if m.isStatic() {
		g.static[m.instance] = m
	}
	m.session.kind, m.session.group, m.session.member = sessionDeadline, g, m
	g.count(m.protocols, 1)
	if m.join.parked {
		g.awaitingJoin++
	}
}

func (g *Group) count(protocols []Protocol, n int) {
	for i := range protocols {
		g.supports[protocols[i].Name] += n
	}
}

// update replaces what a member brought; wait is its JoinGroup, not parked for none.
func (g *Group) update(m *Member, protocols []Protocol, rebalance, session kafka.Nanos, wait waiting) {
	g.count(m.protocols, -1)
	m.protocols = protocols
	g.count(protocols, 1)
	m.rebalanceTimeout, m.sessionTimeout = rebalance, session
	switch {
	case wait.parked && !m.join.parked:
		g.awaitingJoin++
	case !wait.parked && m.join.parked:
		g.awaitingJoin--
	}
	m.join = wait
}

// drop takes a member out; the next one leads where it led (CJ-7). Its timer is the
// caller's to stop.
func (g *Group) drop(m *Member) {
	delete(g.byID, m.id)
	g.members = slices.DeleteFunc(g.members, func(o *Member) bool { return o == m })
	if m.isStatic() {
		delete(g.static, m.instance)
	}
	g.count(m.protocols, -1)
	if m.join.parked {
		g.awaitingJoin--
	}
	g.synced(m)
	if g.leader == m.id {
		g.leader = ""
		if len(g.members) > 0 {
			g.leader = g.members[0].id
		}
	}
}

// rename gives a static member another id, in its place.
func (g *Group) rename(m *Member, id string) {
	delete(g.byID, m.id)
	if g.leader == m.id {
		g.leader = id
	}
	m.id = id
	g.byID[id] = m
}

// electJoined makes a member that has joined the leader, if the present one has not
// (CJ-10 b). It is false if there is no leader to be had.
func (g *Group) electJoined() bool {
	if g.leader == "" {
		return false
	}
	if m := g.byID[g.leader]; m != nil && m.join.parked {
		return true
	}
	for _, m := range g.members {
		if m.join.parked {
			g.leader = m.id
			return true
		}
	}
	return false
}

// synced: a member's SyncGroup is not waited for any more.
func (g *Group) synced(m *Member) {
	if m.syncPending {
		m.syncPending = false
		g.syncsPending--
	}
}

// move is transitionTo.
func (c *Coordinator) move(in *step.Input, out *step.Effects, g *Group, to State, why string) {
	if !slices.Contains(previous[to], g.state) {
		panic("group: " + g.id + " goes from " + g.state.String() + " to " + to.String())
	}
	g.state, g.stateTime = to, in.Wall
	c.noteGroup(out, g, why)
}

func (c *Coordinator) noteGroup(out *step.Effects, g *Group, why string) {
	e := c.fact(out, event.GroupChanged, g)
	e.State, e.Generation, e.Count = g.state, g.generation, int32(len(g.members))
	e.Member, e.Detail, e.Text = g.leader, g.protocol, why
}

// vote chooses a protocol that all members support (CJ-11): each votes for its first such
// one. A tie goes to what the leader
// prefers.
func (g *Group) vote() string {
	votes := make(map[string]int, len(g.supports))
	for _, m := range g.members {
		votes[g.favourite(m)]++
	}
	leader, best := g.byID[g.leader], ""
	if leader == nil {
		leader = g.members[0]
	}
	for i := range leader.protocols {
		if name := leader.protocols[i].Name; votes[name] > votes[best] {
			best = name
		}
	}
	return best
}

// favourite is the first protocol of a member that all support.
func (g *Group) favourite(m *Member) string {
	for i := range m.protocols {
		if g.supports[m.protocols[i].Name] == len(g.members) {
			return m.protocols[i].Name
		}
	}
	panic("group: member " + m.id + " supports no protocol of all")
}

// learnTopics is computeSubscribedTopics.
func (g *Group) learnTopics() {
	g.subscribed, g.subscribedKnown = nil, false
	if g.protocolType != consumerType {
		return
	}
	if len(g.members) > 0 && g.protocol == "" {
		return
	}
	var topics []string
	for _, m := range g.members {
		var ok bool
		if topics, ok = subscribedTopics(topics, m.metadata(g.protocol)); !ok {
			return
		}
	}
	slices.Sort(topics)
	g.subscribed, g.subscribedKnown = slices.Compact(topics), true
}

// subscribes reports whether a topic is subscribed; a group that does not know says yes.
func (g *Group) subscribes(topic string) bool {
	if !g.subscribedKnown {
		return true
	}
	_, found := slices.BinarySearch(g.subscribed, topic)
	return found
}
