package invariant

import (
	"fmt"
	"slices"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

// groups is what happened to consumer groups, as one sees it who reads every event of
// coordinators and members (groups 6). A run without groups has none.
type groups struct {
	list     []*group // in the order in which they came up
	byID     map[string]*group
	clients  []*groupClient // in the order in which they came up
	byActor  map[string]*groupClient
	byMember map[string]*groupClient // by the ids that a client had last
}

// groupChange is what an event about groups is about. The ghost of groups follows after
// the checkers have looked, so that they see it as it was before.
type groupChange struct {
	of     *group
	life   *life   // facts of coordinators
	member *member // of the life, nil if it has none of that id
	client *groupClient
	part   *clientPart // facts of clients about a partition
	com    *committed  // facts about committed offsets
	ended  endedMember // NodeStopped, NodeCrashed of a member
}

// endedMember is a member whose process has ended: who it was.
type endedMember struct {
	client *groupClient // nil for other processes
	id     string
	steady bool         // it was in a generation with that id, so that the id is persisted
	asked  kafka.NodeID // whom it took for its coordinator, NoNode for nobody
}

// group is one group.
type group struct {
	id    string
	setup *Group // nil if the setup does not tell of it
	// lives are the coordinators that serve it: more than one if an isolated broker does
	// not know that it was replaced (LD-10). Oldest first.
	lives []*life
	gone  *life // the last one that ended
	index int32 // partition of __consumer_offsets, -1 until known
	// saved is the last generation that was persisted and published.
	saved *saved
	// coms are the committed offsets, also those that were removed.
	coms   []*committed
	comsBy kafka.PartitionTable[committed]
	batch  *commitBatch // the last one that was published
	// owners are the clients' parts that own a partition.
	owners map[kafka.TopicPartition][]*clientPart
	// replaced are the ids of static members that a later one took the place of.
	replaced map[string]bool
	// instances are the group.instance.ids of static members, by member id.
	instances map[string]string
	// emptied is since when it has no members, -1 if it has some; began when it came up.
	emptied, began kafka.Nanos
	disturbed      kafka.Nanos // when something happened after which it may rebalance
	wentOn         kafka.Nanos // when a member last went on that had committed in vain (see vain), or had waited for a JoinGroup that was lost
	handover       handover
	orphans        orphans
	comeback       comeback
	reports        [maxInvariants]uint8
}

// saved is a persisted generation: VI-8.
type saved struct {
	generation int32
	offset     kafka.Offset // of its record
	members    []savedMember
}

type savedMember struct {
	id, instance string
	crc          uint32
	size         int32
}

// life is one coordinator of a group, from its load or first fact to its end.
type life struct {
	node       kafka.NodeID
	epoch      kafka.LeaderEpoch
	state      event.GroupState
	generation int32
	protocol   string
	leader     string
	loaded     bool // it came from the log
	// toLoad is how many members the load has still to tell of.
	toLoad  int
	members []*member // in the order in which they joined
	byID    map[string]*member
	// renaming is a static member between its old and its new id.
	renaming *member
	// past are the states that it was in, and former the members that it had; bounded,
	// oldest first; forgotten is up to when they are incomplete.
	past      []pastState
	former    []formerMember
	forgotten kafka.Nanos
	// rejoined is the static member that came back to a stable group and is not answered.
	rejoined string
	// record is where the assignment that is being published is in __consumer_offsets.
	record kafka.Offset
	rounds rounds
}

type pastState struct {
	at         kafka.Nanos
	state      event.GroupState
	generation int32
}

type formerMember struct {
	id, instance string
	from, to     kafka.Nanos
}

// member is a member as its coordinator has it.
type member struct {
	id, instance string
	since        kafka.Nanos
	joined       int32 // generation of its last good JoinGroup answer, -1
	answered     kafka.Nanos
	// missed are the rounds that it was away for since it last learned what it is assigned,
	// up to joined.
	missed missedRounds
	// misnamed is the generation under way when it got its old id back, 0 = none.
	misnamed int32
	// late: it joined that generation when that was complete, having been kept as a static
	// member.
	late      bool
	protocols []string
	sub       subscription
	given     given
}

// given is what the leader gave a member.
type given struct {
	generation int32 // -1 = nothing
	crc        uint32
	size       int32
	parts      []kafka.TopicPartition
	unread     bool // it is no assignment of consumers, or not noted
}

// Bounds of what is remembered of a life; a commit waits for less long than they last.
const (
	keptStates  = 512
	keptMembers = 2048
)

func (g *ghost) theGroups() *groups {
	if g.groups == nil {
		g.groups = &groups{byID: map[string]*group{}, byActor: map[string]*groupClient{}, byMember: map[string]*groupClient{}}
	}
	return g.groups
}

func (g *ghost) group(id string) *group {
	gs := g.theGroups()
	if x := gs.byID[id]; x != nil {
		return x
	}
	x := &group{id: id, index: -1, owners: map[kafka.TopicPartition][]*clientPart{}, replaced: map[string]bool{}, instances: map[string]string{},
		emptied: g.now, began: g.now, handover: handover{generation: -1}}
	for i := range g.setup.Groups {
		if g.setup.Groups[i].ID == id {
			x.setup = &g.setup.Groups[i]
		}
	}
	gs.byID[id] = x
	gs.list = append(gs.list, x)
	return x
}

// groupEvent finds what an event is about.
func (g *ghost) groupEvent(e *event.Event) {
	c := &g.ch.groups
	switch e.Kind {
	case event.CoordinatorLoaded, event.CoordinatorUnloaded:
		g.ch.p = g.partition(e.TP)
		return
	case event.OffsetCommitted, event.OffsetLoaded, event.OffsetRemoved, event.CommittedFetched, event.RecordProcessed,
		event.PartitionAssigned, event.PartitionRevoked, event.PartitionLost, event.CommitSent, event.CommitAnswered:
		g.ch.p = g.partition(e.TP)
	}
	c.of = g.group(e.Group)
	if e.Kind >= event.CoordinatorSought {
		c.client = g.client(e)
		if g.ch.p != nil {
			c.part = c.client.part(e.TP)
			c.com = c.of.comsBy.Get(e.TP)
		}
		return
	}
	if e.Kind == event.GroupChanged && e.Text == loadedText {
		c.of.end(e.Node)
	}
	c.life = c.of.life(e)
	c.member = c.life.byID[e.Member]
	if g.ch.p != nil {
		c.com = c.of.committed(e.TP)
	}
}

// loadedText is why a group has the state that its coordinator loaded.
const loadedText = "loaded"

// at is the life on a broker, nil if it serves the group not at all.
func (x *group) at(node kafka.NodeID) *life {
	for _, l := range x.lives {
		if l.node == node {
			return l
		}
	}
	return nil
}

// life finds or begins the life on the broker of an event.
func (x *group) life(e *event.Event) *life {
	l := x.at(e.Node)
	if l == nil {
		l = &life{node: e.Node, state: event.GroupEmpty, generation: 0, byID: map[string]*member{}, forgotten: -1}
		l.past = append(l.past, pastState{at: -1, state: event.GroupEmpty})
		x.lives = append(x.lives, l)
	}
	l.epoch = max(l.epoch, e.LeaderEpoch)
	return l
}

// newest is the coordinator of the highest epoch, nil without one.
func (x *group) newest() (n *life) {
	for _, l := range x.lives {
		if n == nil || l.epoch > n.epoch || l.epoch == n.epoch && (l.lived() || !n.lived()) {
			n = l
		}
	}
	return n
}

// lived: the broker had the group, and has not only refused a member of it.
func (l *life) lived() bool { return l.past[len(l.past)-1].at >= 0 }

// end ends the life on a broker.
func (x *group) end(node kafka.NodeID) {
	if l := x.at(node); l != nil && l.lived() {
		x.gone = l
	}
	x.lives = slices.DeleteFunc(x.lives, func(l *life) bool { return l.node == node })
	for _, c := range x.coms {
		if c.life != nil && c.life.node == node {
			c.life = nil
		}
	}
}

// groupObserved lets the ghost follow an event about groups.
func (g *ghost) groupObserved(e *event.Event) {
	c := &g.ch.groups
	if c.of == nil {
		return
	}
	switch e.Kind {
	case event.GroupChanged:
		c.of.changed(c.life, e, g.replacedAt(e.TP, e.LeaderEpoch))
		if r := &c.life.rounds; e.State == event.GroupPreparingRebalance && r.follow {
			r.follow = !g.lateJoin(c.of, c.life, e.Text)
		}
		if e.State == event.GroupStable && e.Text != loadedText {
			c.of.orphans = g.orphans(c.life)
		}
	case event.MemberJoined:
		if e.Detail != "" {
			c.of.instances[e.Member] = e.Detail
		}
		c.life.enter(e)
		c.of.recall(c.life, e)
		c.of.handover.joined(c.life, e)
		c.of.changedMembers(e)
	case event.MemberRemoved:
		if e.Text == event.GoneReplaced {
			c.of.replaced[e.Member] = true
		}
		c.life.leave(e)
		c.of.changedMembers(e)
	case event.JoinAnswered:
		if e.Err == kafka.None && e.Member == c.life.rejoined {
			c.of.cameBack(c.life, e)
		}
		sender := g.groups.byMember[e.Member]
		sender.joinAnswered(e)
		c.life.answered(e, sender)
	case event.AssignmentStored:
		c.life.record = kafka.Offset(e.First)
		if c.member != nil {
			c.member.given = givenBy(e)
		}
	case event.SyncAnswered:
		c.life.rounds.answered(e)
		g.syncAnswered(e)
	case event.OffsetCommitted, event.OffsetLoaded, event.OffsetRemoved:
		c.of.offsetChanged(g, e)
	default:
		if c.client != nil {
			g.clientChanged(e)
		}
	}
}

// groupsOf ends what a process knew.
func (g *ghost) groupsOf(e *event.Event) {
	if id, ok := kafka.ParseBrokerHost(e.Actor); ok {
		for _, x := range g.groups.list {
			x.end(id)
			x.disturbed = e.Time
		}
		g.groups.neverCarriedOut(id)
		return
	}
	if c := g.groups.byActor[e.Actor]; c != nil {
		g.ch.groups.ended = endedMember{c, c.member, c.member != "" && c.steadyID == c.member, c.node}
		c.ended(e.Time)
	}
}

// changed follows a GroupChanged; replaced: another broker leads the group's partition.
func (x *group) changed(l *life, e *event.Event, replaced bool) {
	x.index = e.TP.Partition
	if e.Text == loadedText {
		l.loaded, l.toLoad = true, int(e.Count)
		l.past = l.past[:0]
	}
	l.past = append(l.past, pastState{e.Time, e.State, e.Generation})
	if len(l.past) > keptStates {
		l.past = slices.Delete(l.past, 0, keptStates/2)
		l.forgotten = max(l.forgotten, l.past[0].at)
	}
	l.rounds.moved(x, l, e)
	l.state, l.generation, l.leader, l.protocol = e.State, e.Generation, e.Member, e.Detail
	if e.State != event.GroupStable {
		l.rejoined = ""
	}
	x.handover.changed(l, e)
	switch e.State {
	case event.GroupStable:
		x.emptied = -1
		if e.Text != loadedText {
			x.comeback = comeback{}
		}
		if e.Text != loadedText && (!replaced || x.saved != nil && x.saved.offset < l.record) {
			x.save(l) // else it hears of what was replicated before, and the group may be gone
		}
	case event.GroupEmpty:
		if e.Text != loadedText {
			x.emptied, x.saved = e.Time, nil // whether that is persisted nobody notes
		}
	case event.GroupPreparingRebalance:
		x.emptied = -1
	case event.GroupDead:
		x.end(l.node)
		if e.Text != movesText {
			x.saved = nil
		}
	}
}

// movesText is why a group is dead that lives on elsewhere.
const movesText = "its partition moves to another broker"

// save remembers the generation that was persisted.
func (x *group) save(l *life) {
	s := &saved{generation: l.generation, offset: l.record}
	for _, m := range l.members {
		s.members = append(s.members, savedMember{m.id, m.instance, m.given.crc, m.given.size})
	}
	x.saved = s
}

// changedMembers: the group may rebalance from now on.
func (x *group) changedMembers(e *event.Event) { x.disturbed = e.Time }

func (l *life) enter(e *event.Event) {
	m := l.byID[e.Member]
	if m == nil {
		if m = l.renaming; m == nil || e.Text != event.JoinReplaces {
			m = &member{joined: -1, given: given{generation: -1}}
		}
		l.renaming = nil
		l.members = append(l.members, m)
		l.byID[e.Member] = m
	}
	if e.Text == event.JoinReplaces && m.id == l.leader && m.id != "" {
		l.leader = e.Member
	}
	m.id, m.instance, m.since = e.Member, e.Detail, e.Time
	switch e.Text {
	case event.JoinLoaded:
		l.toLoad--
		m.protocols, m.sub = []string{l.protocol}, readSubscription(e.Batch)
		m.given = given{generation: e.Generation, crc: e.CRC, size: e.Size, unread: true}
	case event.JoinReplaces:
		if l.state == event.GroupStable {
			l.rejoined = e.Member
		}
	}
}

// recall follows a member that a coordinator finds in the log. If it is static, the coordinators before have seen
// which rounds it joined and missed, and that goes on: it may give up, and commit, in the generation that the log has
// (GroupCoordinator.doCommitOffsets asks for member and generation).
func (x *group) recall(l *life, e *event.Event) {
	m := l.byID[e.Member]
	if e.Text != event.JoinLoaded || m.instance == "" {
		return
	}
	for _, other := range append([]*life{x.gone}, x.lives...) {
		if other == nil || other == l {
			continue
		}
		o := other.byID[e.Member]
		if o == nil || o.joined <= m.joined || o.joined > e.Generation {
			continue
		}
		m.joined, m.missed = o.joined, slices.Clone(o.missed)
		if o.given.generation == m.given.generation && o.given.crc == m.given.crc && o.given.size == m.given.size {
			m.given = o.given
		}
	}
}

func (l *life) leave(e *event.Event) {
	m := l.byID[e.Member]
	if m == nil {
		return
	}
	delete(l.byID, e.Member)
	l.members = slices.DeleteFunc(l.members, func(o *member) bool { return o == m })
	l.former = append(l.former, formerMember{m.id, m.instance, m.since, e.Time})
	if len(l.former) > keptMembers {
		l.former = slices.Delete(l.former, 0, keptMembers/2)
		l.forgotten = max(l.forgotten, l.former[0].to)
	}
	if l.rejoined == e.Member {
		l.rejoined = ""
	}
	if e.Text == event.GoneReplaced || e.Text == event.GoneUnsaved {
		l.renaming = m
	}
	if e.Text == event.GoneUnsaved && l.state == event.GroupCompletingRebalance {
		m.misnamed = l.generation
	}
}

// answered follows a JoinAnswered; client: whose it is, nil if none is known. One that joins
// and is told to join again, since the next round has begun (groups 2.4: SyncGroup in
// PreparingRebalance), has not learned yet what the rounds before gave away.
func (l *life) answered(e *event.Event, client *groupClient) {
	if e.Member == l.rejoined {
		l.rejoined = ""
	}
	m := l.byID[e.Member]
	if m == nil || e.Err != kafka.None {
		return
	}
	if m.joined != e.Generation {
		after := m.joined
		if client == nil || client.steady >= m.joined {
			m.missed = nil
		}
		if client != nil { // a coordinator knows of no round that was joined before it loaded the group
			after = max(after, client.steady)
		}
		if after+1 < e.Generation && len(m.missed) < keptGaps {
			m.missed = append(m.missed, struct{ after, before int32 }{after, e.Generation})
		}
		m.joined, m.late = e.Generation, m.instance != "" && m.since < l.rounds.formed && l.rounds.formed < e.Time
	}
	m.answered, m.protocols, m.sub = e.Time, splitWords(e.Text), readSubscription(e.Batch)
}

// facts describes a group for a violation.
func (x *group) facts() (lines []string) {
	for _, l := range x.lives {
		s := fmt.Sprintf("coordinator %s in epoch %d: %s, generation %d, protocol %s, leader %s", nodeName(l.node), l.epoch, l.state, l.generation, l.protocol, l.leader)
		lines = append(lines, s)
		for i, m := range l.members {
			if i == 8 {
				lines = append(lines, fmt.Sprintf("  and %d members more", len(l.members)-i))
				break
			}
			lines = append(lines, fmt.Sprintf("  member %s, joined generation %d, assigned %s in generation %d", m.id, m.joined, listed(m.given.parts), m.given.generation))
		}
	}
	return lines
}
