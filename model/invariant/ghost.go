package invariant

import (
	"slices"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/record"
)

// ghost is what happened, as one sees it who reads every event: computed once per
// event, read by the checkers, never by an actor (bugs 6b).
type ghost struct {
	setup  Setup
	topics []*topic
	nodes  []node
	// owners are the controllers by epoch, newest last.
	owners []owner
	// controllerEpoch is the highest that a controller had or wrote with.
	controllerEpoch kafka.ControllerEpoch
	elected         kafka.Nanos     // when one was elected last
	groups          *groups         // nil until a fact about one
	views           []*view         // in the order in which clients came up
	heads           record.Iterator // of batches that are appended
	rare            ring
	now             kafka.Nanos
	healed          kafka.Nanos // when the faults had ended
	clockMoved      bool        // a fault moved a clock
	inOrder         []int32     // producers that promise the order of their batches
	known           []acquaintance
	// last is what partition found last: events of one come in a row.
	last struct {
		tp kafka.TopicPartition
		p  *partition
	}
	ch change
}

// change is what the present event did to the ghost. Which fields are set is said
// beside them; the others are zero.
type change struct {
	p *partition // events with TP
	r *replica   // events of a replica
	n *node      // events of a broker

	before  authority // PartitionChanged
	unclean bool      // PartitionChanged: the leader is from outside the in-sync set

	start kafka.Offset // of the replica's log before the event
	gone  gone         // SegmentDeleted
	// active is the bytes that the active segment had when the process ended, -1 unknown:
	// ReplicaLoaded.
	active int64

	how  match             // BatchAppended
	at   position          // BatchAppended: where logs part
	tail kafka.LeaderEpoch // BatchAppended: of the batch before, -1 unknown
	// unread, of a compacted partition's BatchAppended and RecordDelivered: the records
	// cannot be read.
	unread bool
	// risen: the replica, or the records, are of a deleted topic of the name: ReplicaLoaded,
	// BatchAppended, RecordDelivered.
	risen bool

	end   kafka.Offset      // of the replica's log before the event
	grown kafka.Nanos       // BatchAppended: when it had grown before
	hw    kafka.Offset      // before the event
	epoch kafka.LeaderEpoch // accepted before the event
	role  replicaRole       // before the event

	load loadResult // ReplicaLoaded, BecameLeader, BecameFollower
	cut  *incident  // committed batches that a new leader lacks: PartitionChanged, BecameLeader

	groups groupChange // events about groups: see ghost_groups.go

	topicChanged bool // MetadataSeen: a member learns of partitions that were added or are gone

	sender *sender // events of a producer
	owner  kafka.NodeID
	last   kafka.Offset // RecordAcked: last offset acknowledged before
	lastN  int64        // RecordAcked: highest number acknowledged before
	adrift *adrift      // RecordAcked: of last
}

// topic is a topic's setup and partitions.
type topic struct {
	Topic
	count  int32 // of partitions; 0 before it was created
	had    int32 // count when it was deleted, at goneAt
	goneAt kafka.Nanos
	// askedAt is when its deletion was asked for last, hosts are the brokers that had replicas then; untold are
	// the processes that do not hear of it: see ghost_lingering.go.
	askedAt kafka.Nanos
	hosts   []kafka.NodeID
	untold  []uninformed
	// doomed: its deletion was asked for. From then on nothing of it is judged, until a topic
	// of that name is created.
	doomed   bool
	doomedAt kafka.Nanos
	// moved: a partition of it was reassigned.
	moved bool
	// grown are the counts that it had before partitions were added, ascending, hadGrown those of
	// the deleted topic.
	grown, hadGrown []int32
	addedAt         kafka.Nanos
	// told are the numbers of partitions that brokers were told of, ascending: see
	// ghost_told.go.
	told   []int32
	toldAt kafka.Nanos
	// toldFirst are those that new controllers told of in their first request.
	toldFirst []int32
	parts     []*partition // by number
	// graves are the deleted topics that had its name before, newest last.
	graves []*topic
}

// node is a broker as seen from outside.
type node struct {
	id   kafka.NodeID
	down bool
	// registered is its newest broker epoch; before those of earlier processes.
	registered, before kafka.BrokerEpoch
	// executed is the highest controller epoch that this process obeyed.
	executed kafka.ControllerEpoch
	// away: its registration is gone.
	away bool
	// paused: this process stands still. late: its session expired while it did, when the
	// highest controller epoch was expiredIn, and it has neither registered nor been elected
	// controller since.
	paused, late bool
	expiredIn    kafka.ControllerEpoch
	// booted is when this process began.
	booted kafka.Nanos
	// heard is when this process last carried out an UpdateMetadata.
	heard kafka.Nanos
	// unfit is why its last process could not start, "" if it could (see ghost.unfit).
	unfit string
	// lied: since it last lost its power its disk reported syncs that it had not done; lost: it
	// lost its power after such a lie.
	lied, lost bool
	lies       []int32     // the faults by which it does so now
	honest     kafka.Nanos // when the last of them ended
	drops      []int32     // the faults by which it drops what a failed sync should have written
	// listed: this process has registered. anew is when a process last did so again.
	listed bool
	anew   kafka.Nanos
	// whole: a process has registered since the disk lost its power, and hence opened all logs.
	whole bool
	// named: its meta.properties are on the medium, as a process had registered with them before
	// the disk lied.
	named    bool
	answered answered
}

type owner struct {
	epoch kafka.ControllerEpoch
	node  kafka.NodeID
}

func newGhost(s Setup) *ghost {
	g := &ghost{setup: s, nodes: make([]node, s.Brokers+1)}
	for i := range g.nodes {
		g.nodes[i] = node{id: kafka.NodeID(i), registered: -1, before: -1}
	}
	for _, t := range s.Topics {
		g.topics = append(g.topics, &topic{Topic: t})
	}
	g.heads.UseScratch(s.Scratch)
	return g
}

// topicOf finds or begins the ghost of a topic.
func (g *ghost) topicOf(name string) *topic {
	for _, t := range g.topics {
		if t.Name == name {
			return t
		}
	}
	t := &topic{Topic: Topic{Name: name, MinISR: 1}}
	g.topics = append(g.topics, t)
	return t
}

// partition finds or begins the ghost of a partition.
func (g *ghost) partition(tp kafka.TopicPartition) *partition {
	if tp == g.last.tp && g.last.p != nil {
		return g.last.p
	}
	t := g.topicOf(tp.Topic)
	n := int(max(tp.Partition, 0))
	for len(t.parts) <= n {
		t.parts = append(t.parts, nil)
	}
	if t.parts[n] == nil {
		t.parts[n] = newPartition(kafka.TopicPartition{Topic: t.Name, Partition: int32(n)}, t)
		t.parts[n].inherit(t.graves)
		if k := t.parts[n].keys; k != nil {
			k.it.UseScratch(g.setup.Scratch)
		}
	}
	g.last.tp, g.last.p = tp, t.parts[n]
	return t.parts[n]
}

// found finds the ghost of a partition, nil if there is none.
func (g *ghost) found(tp kafka.TopicPartition) *partition {
	for _, t := range g.topics {
		if t.Name == tp.Topic && tp.Partition >= 0 && int(tp.Partition) < len(t.parts) {
			return t.parts[tp.Partition]
		}
	}
	return nil
}

// each visits every partition, by topic in the order of the setup.
func (g *ghost) each(visit func(*partition)) {
	for _, t := range g.topics {
		for _, p := range t.parts {
			if p != nil {
				visit(p)
			}
		}
	}
}

func (g *ghost) node(id kafka.NodeID) *node {
	if id < 0 {
		return &node{id: id, registered: -1, before: -1}
	}
	for len(g.nodes) <= int(id) {
		g.nodes = append(g.nodes, node{id: kafka.NodeID(len(g.nodes)), registered: -1, before: -1})
	}
	return &g.nodes[id]
}

// powerLossText is the reason with which the simulator takes a node's power.
const powerLossText = "power loss"

// observe takes an event.
func (g *ghost) observe(e *event.Event) {
	g.now = e.Time
	g.ch = change{} // by itself: in one statement with another it is made elsewhere and copied
	switch e.Kind {
	case event.NodeBooted, event.NodeCrashed, event.NodeStopped:
		g.process(e)
	case event.NodePaused, event.NodeResumed, event.SessionExpired:
		g.paused(e)
	case event.DirectoryOffline:
		g.unfit(e)
		g.reverts(e)
	case event.Healed:
		g.healed = e.Time
	case event.Settled:
		g.each(func(p *partition) { p.back.bounded, p.back.due = true, p.committed.end })
	case event.FaultStarted:
		g.clockMoved = g.clockMoved || clockFault(e.Text)
		g.diskFault(e)
	case event.FaultEnded:
		g.honest(e)
	case event.ControllerElected, event.BrokerRegistered, event.BrokerUnregistered, event.ControlWrite, event.ControlExecuted:
		g.control(e)
	case event.TopicCreated:
		g.topicCreated(g.topicOf(e.TP.Topic), e.Count)
	case event.TopicDeletionAsked:
		g.doom(g.topicOf(e.TP.Topic))
		g.disturb()
	case event.TopicDeleted:
		g.topicDeleted(g.topicOf(e.TP.Topic))
	case event.AssignmentChanged:
		g.ch.p = g.partition(e.TP)
		g.ch.p.topic.moved = g.ch.p.topic.moved || len(g.ch.p.assignment) > 0
		g.ch.p.assignment = e.Replicas
		g.topicGrows(g.ch.p)
		g.topicShrinks(g.ch.p)
	case event.MetadataSeen:
		g.sighted(e)
		g.lookedUp(e)
		g.partitionSeen(e)
	case event.PartitionChanged:
		g.partitionChanged(e)
	case event.LeaderElected:
		g.ch.p = g.partition(e.TP)
		g.tell(g.ch.p)
	case event.CleaningBegan, event.LogCleaned, event.CleaningFailed:
		g.ch.p = g.partition(e.TP)
		g.cleaned(g.ch.p, g.ch.p.replica(e.Node), e)
	case event.BatchSent, event.RecordAcked, event.RecordFailed:
		g.ch.p = g.meant(e)
		g.produced(e)
	case event.RecordDelivered, event.PositionReset, event.OffsetAnswered, event.ProduceAnswered:
		g.ch.p = g.meant(e)
		if e.Kind != event.PositionReset {
			if g.ch.r = g.ch.p.known(e.Node); g.ch.r == nil { // a broker that hosts no replica answers, too
				g.ch.r = newReplica(e.Node, g.ch.p.root)
			}
		}
		if g.groups != nil && (e.Group != "" || e.Kind == event.PositionReset) {
			g.ch.groups.part = g.readerOf(e)
		}
		if k := g.ch.p.keys; k != nil && e.Kind == event.RecordDelivered {
			g.ch.unread = !k.decode(e.Batch, e.Base)
		}
	case event.OffsetsMissing, event.ReplicaLoaded, event.BecameLeader, event.BecameFollower, event.ReplicaStopped, event.BatchAppended,
		event.Truncated, event.LogStartRaised, event.SegmentRolled, event.SegmentDeleted, event.FetcherFailed, event.IsrProposed, event.IsrCommitted, event.HighWatermark, event.LEOPublished:
		g.replicaEvent(e)
	default:
		if e.Kind >= event.CoordinatorLoaded {
			g.groupEvent(e)
		}
	}
	g.remember(e)
}

// topicCreated forgets an earlier topic of the name.
func (g *ghost) topicCreated(t *topic, count int32) {
	g.bury(t)
	t.count, t.grown, t.hadGrown, t.told, t.toldFirst, t.doomed, t.moved = count, nil, nil, nil, nil, false, false
	g.disturb()
}

// partitionSeen: a member that learns of an added partition, or that its topic is deleted or
// there again, may have its group rebalance, as long after that as its metadata may be old.
func (g *ghost) partitionSeen(e *event.Event) {
	if g.groups == nil {
		return
	}
	c := g.groups.byActor[e.Actor]
	if c == nil {
		return
	}
	switch c.seenAt = e.Time; {
	case e.Flag: // it is gone
		c.seen = slices.DeleteFunc(c.seen, func(tp kafka.TopicPartition) bool { return tp == e.TP })
		if !slices.Contains(c.vanished, e.TP) {
			c.vanished = append(c.vanished, e.TP)
		}
		c.sees(e.TP.Topic, e.Time)
	case slices.Contains(c.seen, e.TP):
		return
	default:
		c.seen = append(c.seen, e.TP)
		g.reappears(c, e.TP)
		i := slices.Index(c.vanished, e.TP)
		if i >= 0 {
			c.vanished = slices.Delete(c.vanished, i, i+1)
		}
		if c.sees(e.TP.Topic, e.Time); i < 0 && e.TP.Partition < g.begunWith(e.TP.Topic) {
			return
		}
	}
	c.of.disturbed, g.ch.topicChanged = e.Time, true
}

// begunWith is how many partitions a topic was created with.
func (g *ghost) begunWith(topic string) int32 {
	for _, t := range g.topics {
		if t.Name == topic && len(t.grown) > 0 {
			return t.grown[0]
		}
	}
	return g.partitionsOf(topic)
}

// disturb: every group may have to rebalance.
func (g *ghost) disturb() {
	if g.groups == nil {
		return
	}
	for _, x := range g.groups.list {
		x.disturbed = g.now
	}
}

// topicDeleted forgets a topic's partitions.
func (g *ghost) topicDeleted(t *topic) {
	g.bury(t)
	t.tells()
	g.linger(t)
	t.dooms(g.now)
	t.had, t.hadGrown, t.count, t.grown, t.told, t.toldFirst, t.goneAt = t.count, t.grown, 0, nil, nil, nil, g.now
	g.disturb()
}

// dooms: its deletion is asked for, or done.
func (t *topic) dooms(now kafka.Nanos) {
	if !t.doomed {
		t.doomed, t.doomedAt = true, now
	}
}

// doomedTopic reports whether a topic is deleted, or is to be.
func (g *ghost) doomedTopic(name string) bool {
	for _, t := range g.topics {
		if t.Name == name {
			return t.doomed
		}
	}
	return false
}

// process follows a broker's process.
func (g *ghost) process(e *event.Event) {
	if e.Kind == event.NodeBooted {
		g.viewEnds(e.Actor)
	}
	if g.groups != nil {
		g.groupsOf(e)
	}
	id, ok := kafka.ParseBrokerHost(e.Actor)
	if !ok {
		return
	}
	n := g.node(id)
	g.ch.n = n
	n.down = e.Kind != event.NodeBooted
	if e.Kind == event.NodeBooted {
		n.before, n.executed, n.heard, n.unfit = n.registered, 0, 0, ""
		n.paused, n.late, n.listed, n.booted = false, false, false, e.Time
		g.forgets(id)
	}
	how, lied := exited, n.lied
	if e.Kind == event.NodeCrashed {
		how = killed
		if e.Text == powerLossText {
			how = powerLost
			n.losesPower()
		}
	}
	g.each(func(p *partition) {
		r := p.known(id)
		if r == nil {
			return
		}
		if e.Kind != event.NodeBooted {
			r.behind = r.role == follows && r.reach() < p.leaderStart
			p.stopsCopying(r)
			r.ended(how, e.Time)
			r.failed, r.outgrown = false, false // the next process fetches anew
			r.bare = r.bare || how == powerLost && lied && (n.lied || max(r.epochsAt, r.made) < n.honest)
		}
		r.loaded = false
	})
}

// paused follows what a broker may hear late, because it stood still.
func (g *ghost) paused(e *event.Event) {
	name := e.Actor
	if e.Kind == event.SessionExpired {
		name = e.Text
	}
	id, ok := kafka.ParseBrokerHost(name)
	if !ok {
		return
	}
	n := g.node(id)
	switch {
	case e.Kind != event.SessionExpired:
		n.paused = e.Kind == event.NodePaused
	case n.paused:
		n.late, n.expiredIn = true, g.controllerEpoch
	}
}

// ended is the end of r's process.
func (r *replica) ended(how stopKind, at kafka.Nanos) {
	r.wasLead = r.role == leads || !r.loaded && r.wasLead
	r.stop, r.stopAt = max(r.stop, how), at
	r.role, r.epoch, r.maximal, r.isr = noRole, kafka.NoLeaderEpoch, nil, nil
}

// control follows controllers and what brokers obey.
func (g *ghost) control(e *event.Event) {
	n := g.node(e.Node)
	g.ch.n = n
	switch e.Kind {
	case event.ControllerElected:
		g.controllerReads()
		g.succeeds()
		g.ch.owner = g.ownerOf(e.ControllerEpoch)
		if g.ch.owner == kafka.NoNode {
			g.owners = append(g.owners, owner{e.ControllerEpoch, e.Node})
			if len(g.owners) > 64 {
				g.owners = slices.Delete(g.owners, 0, 1)
			}
		}
	case event.ControlExecuted:
		g.ch.owner = g.ownerOf(e.ControllerEpoch)
	}
}

// controlled ends an event of control: what the checkers compare with is renewed
// after they have looked.
func (g *ghost) controlled(e *event.Event) {
	switch e.Kind {
	case event.ControllerElected:
		g.controllerEpoch, g.elected = max(g.controllerEpoch, e.ControllerEpoch), e.Time
		g.ch.n.late = false
	case event.ControlWrite:
		if e.Flag {
			g.controllerEpoch = max(g.controllerEpoch, e.ControllerEpoch)
		} else if p := g.found(e.TP); p != nil {
			p.refused = refused{e.Node, e.Time}
		}
	case event.BrokerRegistered:
		g.ch.n.registered, g.ch.n.away = max(g.ch.n.registered, e.BrokerEpoch), false
		if g.ch.n.listed {
			g.ch.n.anew = e.Time
		}
		g.ch.n.listed = true
		g.ch.n.late, g.ch.n.whole, g.ch.n.named = false, true, g.ch.n.named || !g.ch.n.lied
	case event.BrokerUnregistered:
		g.ch.n.away = true
		g.unregistered(g.ch.n)
	case event.ControlExecuted:
		g.ch.n.executed = max(g.ch.n.executed, e.ControllerEpoch)
		if e.Text == updateMetadata {
			g.ch.n.heard = e.Time
		}
	}
}

func (g *ghost) ownerOf(epoch kafka.ControllerEpoch) kafka.NodeID {
	for i := len(g.owners) - 1; i >= 0; i-- {
		if g.owners[i].epoch == epoch {
			return g.owners[i].node
		}
	}
	return kafka.NoNode
}
