package invariant

import (
	"slices"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

// groupClient is a consumer process as a member of a group.
type groupClient struct {
	actor      string
	of         *group
	member     string // its id, as it last said
	generation int32
	state      string // one of event.Member…
	node       kafka.NodeID
	// reset: generation or id were given up since it last joined. cooperative: it keeps
	// partitions while it rebalances.
	reset, cooperative bool
	resetAt            kafka.Nanos
	// joinEnded is when it was in the middle of a rebalance last.
	joinEnded kafka.Nanos
	// joinLost: a coordinator was given up while a JoinGroup was on its way, which may be
	// carried out later; lates are those that are not known to have begun a rebalance.
	// lostAt is when a coordinator was given up last.
	joinLost bool
	lates    []lateJoin
	lostAt   kafka.Nanos
	// joins is when it sent its last JoinGroup; joinDone: it is known to have been carried out.
	joins    kafka.Nanos
	joinDone bool
	// answeredOne is when a coordinator last answered one JoinGroup of several that it had from it.
	answeredOne kafka.Nanos
	steadyAt    kafka.Nanos // when it last was in a generation
	// seeks: it asks brokers for the coordinator, and has not heard of one.
	seeks bool
	// told is the coordinator that it was told last, at toldAt; NoNode of none in this process.
	told     kafka.NodeID
	toldAt   kafka.Nanos
	ids      []string // the last ids, newest last
	steadyID string   // with which it was in a generation last
	steady   int32    // that generation, of this process; -1 = none
	parts    []*clientPart
	byTP     kafka.PartitionTable[clientPart]
	sync     syncAnswer
	// seen are the partitions that its metadata have.
	seen   []kafka.TopicPartition
	seenAt kafka.Nanos // when it last learned something of a partition
	// vanished are those that its metadata had and have no more.
	vanished []kafka.TopicPartition
	sights   sights
	// reappeared is when they last had one again that there is not, 0 = never, reappearedIn its topic.
	reappeared   kafka.Nanos
	reappearedIn string
	// work is how many records poll returned, when it last did (polled), that are not
	// processed yet: the application does not call it again before.
	work   int32
	polled kafka.Nanos
	vain   vain
}

// joining: in the middle of a rebalance (rebalanceInProgress); it is yet when JoinGroup or
// SyncGroup has failed, and generation and id were not given up with that.
func (c *groupClient) joining() bool {
	return c.state == event.MemberPreparing || c.state == event.MemberCompleting || c.state == event.MemberUnjoined && !c.reset
}

// syncAnswer is the last assignment that a coordinator sent to a member.
type syncAnswer struct {
	member     string
	generation int32
	parts      []kafka.TopicPartition
	unread     bool
}

// clientPart is what a client has to do with a partition, or had.
type clientPart struct {
	client *groupClient
	tp     kafka.TopicPartition
	owned  bool
	// since and generation are those of when it was assigned, given when it was revoked.
	since      kafka.Nanos
	generation int32
	given      int32
	// position is the next offset to be returned, before the one ahead of the last jump;
	// NoOffset = none.
	position, before kafka.Offset
	jump             jump
	fetched          kafka.Offset // the committed offset that it began from
	fetchedAt        kafka.Nanos
	revoking         bool         // committed for a rebalance, since it was assigned
	sent             []sentCommit // without an answer of which the outcome is known; oldest first
	forgotten        bool         // some of them
	newest           int64        // the number of the last one
}

// jump is the last move of a position back.
type jump struct {
	at       kafka.Nanos
	from, to kafka.Offset
	why      string
}

// sentCommit is a partition of an OffsetCommit request.
type sentCommit struct {
	offset     kafka.Offset
	number     int64
	member     string
	generation int32
	owned      bool
	// lost is the number of the newest request when this one's connection was given up, -1
	// as long as it is not.
	lost int64
}

// keptCommits bounds the open commits that are remembered of a client and partition, keptIDs
// the member ids of a client.
const (
	keptCommits = 1024
	keptIDs     = 4
)

// joinLapse is by how much a JoinGroup request may outlive max.poll.interval.ms
// (AbstractCoordinator.JOIN_GROUP_TIMEOUT_LAPSE).
const joinLapse = 5 * kafka.Second

func (g *ghost) client(e *event.Event) *groupClient {
	gs := g.theGroups()
	c := gs.byActor[e.Actor]
	if c == nil {
		c = &groupClient{actor: e.Actor, of: g.ch.groups.of, generation: -1, steady: -1, state: event.MemberUnjoined, node: kafka.NoNode, told: kafka.NoNode, reset: true,
			lostAt: -1, sights: sights{generation: -1}}
		gs.byActor[e.Actor] = c
		gs.clients = append(gs.clients, c)
	}
	if e.Member != "" && e.Member != c.member && !slices.Contains(c.ids, e.Member) {
		gs.byMember[e.Member] = c
		c.ids = append(c.ids, e.Member)
		if len(c.ids) > keptIDs {
			delete(gs.byMember, c.ids[0])
			c.ids = slices.Delete(c.ids, 0, 1)
		}
	}
	return c
}

// part finds or begins a client's part.
func (c *groupClient) part(tp kafka.TopicPartition) *clientPart {
	x := c.byTP.Get(tp)
	if x == nil {
		x = &clientPart{client: c, tp: tp, generation: -1, given: -1, position: kafka.NoOffset, before: kafka.NoOffset, fetched: kafka.NoOffset}
		c.byTP.Put(tp, x)
		c.parts = append(c.parts, x)
	}
	return x
}

// readerOf is the part of a group's member in the partition of a delivery or reset, nil
// for other consumers.
func (g *ghost) readerOf(e *event.Event) *clientPart {
	if g.groups == nil {
		return nil
	}
	if c := g.groups.byActor[e.Actor]; c != nil {
		g.ch.groups.of, g.ch.groups.client = c.of, c
		return c.part(e.TP)
	}
	return nil
}

// clientChanged follows a fact of a client.
func (g *ghost) clientChanged(e *event.Event) {
	c, x := g.ch.groups.client, g.ch.groups.part
	switch e.Kind {
	case event.RecordDelivered, event.PositionReset:
	case event.PartitionAssigned: // tells what it is assigned in
	default:
		c.member, c.generation = e.Member, e.Generation
	}
	switch e.Kind {
	case event.CoordinatorSought:
		c.seeks = true
	case event.CoordinatorFound:
		c.node, c.seeks = e.Node, false
		c.told, c.toldAt = e.Node, e.Time
	case event.CoordinatorLost:
		if c.state == event.MemberPreparing {
			c.joinLost = true
			c.givesUpJoin()
		}
		c.node, c.lostAt, c.of.disturbed = kafka.NoNode, e.Time, e.Time
		c.answeredOne = 0 // it waits no more
		g.joinRanOut(c)
		c.losesCommits()
	case event.MemberChanged:
		g.goesOn(c)
		if c.joining() {
			c.joinEnded = e.Time
		}
		c.state, c.cooperative = e.Detail, e.Index == 1
		if c.state == event.MemberPreparing {
			c.joins, c.joinDone, c.answeredOne = e.Time, false, 0
		}
		switch {
		case e.Flag:
			c.reset, c.resetAt, c.of.disturbed = true, e.Time, e.Time
			for _, p := range c.parts {
				p.given = -1 // the number may be given out again
			}
		case e.Detail == event.MemberCompleting:
			c.reset = false
			c.completes(e)
		case e.Detail == event.MemberStable:
			c.steadyAt, c.steadyID, c.steady = e.Time, e.Member, e.Generation
		}
	case event.PartitionAssigned:
		c.own(x, e)
	case event.PartitionRevoked, event.PartitionLost:
		g.goesOn(c)
		c.disown(x)
		x.given = e.Generation
	case event.CommittedFetched:
		if e.Err == kafka.None {
			x.fetched, x.fetchedAt = e.Offset, e.Time
		}
	case event.PositionReset:
		x.jumped(e)
	case event.RecordDelivered:
		x.position = e.Last + 1
	case event.Polled:
		c.work, c.polled = e.Count, e.Time
	case event.RecordProcessed:
		c.work -= e.Count
	case event.CommitSent:
		x.revoking = x.revoking || e.Text == event.CommitPrepare
		if len(x.sent) >= keptCommits {
			x.sent, x.forgotten = slices.Delete(x.sent, 0, 1), true
		}
		x.sent = append(x.sent, sentCommit{e.Offset, e.First, e.Member, e.Generation, x.owned, -1})
		x.newest = e.First
	case event.CommitAnswered:
		c.vain.answered(e)
		if !e.Flag {
			x.sent = slices.DeleteFunc(x.sent, func(s sentCommit) bool { return s.number == e.First && s.member == e.Member }) // each process counts anew
		}
	}
}

// joinRanOut: a member has waited for the answer to a JoinGroup as long as it may, which takes
// longer than other requests (AbstractCoordinator.sendJoinGroupRequest). It sent it before the
// faults ended, and so the request or the answer may have been lost.
func (g *ghost) joinRanOut(c *groupClient) {
	x := c.of.setup
	if x != nil && c.state == event.MemberPreparing && c.joins <= g.healed && g.now >= c.joins+max(x.Request, x.Rebalance+joinLapse) {
		c.of.wentOn, c.joins = g.now, kafka.Forever // once
	}
}

// losesCommits: the connection of those without an answer is given up.
func (c *groupClient) losesCommits() {
	for _, x := range c.parts {
		for i := range x.sent {
			if s := &x.sent[i]; s.lost < 0 {
				s.lost = x.newest
			}
		}
	}
}

func (c *groupClient) own(x *clientPart, e *event.Event) {
	if !x.owned {
		x.owned = true
		c.of.owners[x.tp] = append(c.of.owners[x.tp], x)
	}
	x.since, x.generation, x.revoking = e.Time, e.Generation, false
	x.position, x.before, x.jump, x.fetched = kafka.NoOffset, kafka.NoOffset, jump{}, kafka.NoOffset
}

func (c *groupClient) disown(x *clientPart) {
	if !x.owned {
		return
	}
	x.owned = false
	c.of.owners[x.tp] = slices.DeleteFunc(c.of.owners[x.tp], func(o *clientPart) bool { return o == x })
}

// jumped follows a PositionReset.
func (x *clientPart) jumped(e *event.Event) {
	if x.position != kafka.NoOffset && e.Base < x.position {
		x.jump = jump{e.Time, x.position, e.Base, e.Text}
	}
	x.before, x.position = x.position, e.Base
}

// ended is the end of the client's process; the commits that it had sent may still be
// carried out.
func (c *groupClient) ended(at kafka.Nanos) {
	for _, x := range c.parts {
		c.disown(x)
		x.position, x.before = kafka.NoOffset, kafka.NoOffset
		x.given = -1 // a static member that comes back may be given it in the same generation
	}
	c.losesCommits()
	c.member, c.generation, c.state, c.node = "", -1, event.MemberUnjoined, kafka.NoNode
	c.told = kafka.NoNode
	c.reset, c.joinLost, c.lates, c.seeks = true, false, nil, false
	c.lostAt, c.of.disturbed, c.steady = at, at, -1
	c.sync, c.seen, c.vanished, c.work, c.vain = syncAnswer{}, nil, nil, 0, vain{}
	c.reappeared = 0
}

// syncAnswered remembers what a member was told.
func (g *ghost) syncAnswered(e *event.Event) {
	c := g.groups.byMember[e.Member]
	if c == nil || e.Err != kafka.None {
		return
	}
	x := givenBy(e)
	c.sync = syncAnswer{e.Member, e.Generation, x.parts, x.unread}
}

// commitOf finds the request that a published commit came with; nil if no client is known
// to have sent it.
func (g *ghost) commitOf(e *event.Event) (x *clientPart, s *sentCommit) {
	c := g.groups.byMember[e.Member]
	if c == nil {
		return nil, nil
	}
	x = c.part(e.TP)
	for i := len(x.sent) - 1; i >= 0; i-- {
		s := &x.sent[i]
		if s.offset == e.Offset && s.member == e.Member && s.generation == e.Generation {
			return x, s
		}
	}
	return x, nil
}
