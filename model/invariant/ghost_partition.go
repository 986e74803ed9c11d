package invariant

import (
	"slices"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

// authority is the committed state of a partition: what ZooKeeper holds.
type authority struct {
	known          bool
	leader         kafka.NodeID
	epoch          kafka.LeaderEpoch
	partitionEpoch kafka.PartitionEpoch
	isr            []kafka.NodeID
	// unclean: the leader came from outside the in-sync set, as the topic allows.
	unclean bool
	writer  kafka.NodeID
	at      kafka.Nanos // when it was committed
	since   kafka.Nanos // when its leader epoch was
}

// refused is the last write of a partition's state that ZooKeeper refused a controller.
type refused struct {
	node kafka.NodeID
	at   kafka.Nanos
}

// again: who committed p's state has tried to write it since, and was refused.
func (p *partition) again() bool { return p.refused.node == p.auth.writer && p.refused.at >= p.auth.at }

// office is who led in an epoch.
type office struct {
	epoch kafka.LeaderEpoch
	node  kafka.NodeID
	at    kafka.Nanos
}

// partition is the ghost of one partition.
type partition struct {
	tp         kafka.TopicPartition
	topic      *topic
	assignment []kafka.NodeID
	auth       authority
	refused    refused
	told       bool // a controller knows its state and tells brokers of it
	toldAt     kafka.Nanos
	later      bool // brokers were told of others of its topic without it
	behind     bool // a new controller told of it in its second request only, last at behindAt
	behindAt   kafka.Nanos
	// chosen are the leaders by epoch as committed, took those as brokers took
	// office; newest last, bounded.
	chosen, took []office
	replicas     []*replica

	root       *branch
	branches   []*branch // without the root, oldest first
	chunks     []chunkRef
	blanks     []*branch
	blankTails []*replica

	// committed is the longest prefix that was below the high watermark of a broker
	// that was the authoritative leader at that moment (C of bugs 6b).
	committed position
	// incidents are what may excuse a loss, oldest first, bounded.
	incidents []*incident
	elections int         // changes of leader
	freed     kafka.Nanos // when a stall of its leader ended last (see ghost_stall.go)
	// compacted: a broker has begun to compact its log. keys is nil if the topic is not
	// one to be compacted.
	compacted bool
	keys      *keyed
	// start is the highest log start that a replica had, leaderStart that a leader had,
	// deleted that of the last leader in office.
	start, leaderStart, deleted kafka.Offset
	everDeleted                 kafka.Offset // the highest that deleted was
	// raises are when those of leaders in office rose, aheads the leaders that began above the last one.
	raises raises
	aheads []ahead
	// reled are the epochs that a leader led again after it had lost unsynced records:
	// followers that never heard of it do not compare epochs anew.
	reled []kafka.LeaderEpoch

	// buried are the partitions of that name and number that were deleted, newest first.
	buried []*partition
	// sightings are the leaders of which consumers know, in a topic that was created again.
	sightings []sighting

	senders  []*sender
	acks     ledger
	readers  []*reader
	answers  []answer
	readEnd  kafka.Offset // highest offset delivered + 1
	ackedEnd kafka.Offset // highest offset acknowledged with acks=all + 1
	back     readBack
	bereft   []bereftRecord // that the final read did not find

	often   ring
	reports [maxInvariants]uint8
}

func newPartition(tp kafka.TopicPartition, t *topic) *partition {
	root := &branch{epoch: kafka.NoLeaderEpoch}
	p := &partition{tp: tp, topic: t, root: root, committed: position{b: root},
		auth: authority{leader: kafka.NoNode, epoch: kafka.NoLeaderEpoch, partitionEpoch: -1}}
	if t.Compact != nil {
		p.keys = newKeyed()
	}
	return p
}

// known is the replica on a node, nil if nothing was noted of it.
func (p *partition) known(id kafka.NodeID) *replica {
	for _, r := range p.replicas {
		if r.node == id {
			return r
		}
	}
	return nil
}

// replica finds or begins the replica on a node.
func (p *partition) replica(id kafka.NodeID) *replica {
	if r := p.known(id); r != nil {
		return r
	}
	r := newReplica(id, p.root)
	p.replicas = append(p.replicas, r)
	return r
}

// minISR is the effective min.insync.replicas (L-7).
func (p *partition) minISR() int {
	if n := len(p.assignment); n > 0 {
		return min(p.topic.MinISR, n)
	}
	return p.topic.MinISR
}

// inOffice reports whether r leads in the committed epoch.
func (p *partition) inOffice(r *replica) bool {
	return r.role == leads && p.auth.leader == r.node && p.auth.epoch == r.epoch
}

// incumbent is the replica that leads in the committed epoch and has taken office;
// nil if there is none.
func (p *partition) incumbent() *replica {
	if r := p.known(p.auth.leader); r != nil && p.inOffice(r) {
		return r
	}
	return nil
}

const keptOffices = 64

func remember(list []office, o office) []office {
	if len(list) >= keptOffices {
		list = slices.Delete(list, 0, 1)
	}
	return append(list, o)
}

// holder is who led in an epoch, NoNode if that is not remembered.
func holder(list []office, epoch kafka.LeaderEpoch) kafka.NodeID {
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].epoch == epoch {
			return list[i].node
		}
	}
	return kafka.NoNode
}

// partitionChanged takes a committed state.
func (g *ghost) partitionChanged(e *event.Event) {
	p := g.partition(e.TP)
	g.ch.p, g.ch.before = p, p.auth
	was := p.auth
	unclean := was.known && e.Leader != kafka.NoNode && e.Leader != was.leader && !slices.Contains(was.isr, e.Leader)
	g.ch.unclean = unclean
	unclean = unclean && p.topic.Unclean
	if was.known && e.Leader != was.leader {
		p.elections++
	}
	p.auth = authority{known: true, leader: e.Leader, epoch: e.LeaderEpoch, partitionEpoch: e.PartitionEpoch, isr: e.ISR,
		unclean: unclean || was.unclean && e.LeaderEpoch == was.epoch,
		writer:  e.Node, at: e.Time, since: e.Time}
	if was.known && was.epoch == e.LeaderEpoch {
		p.auth.since = was.since
	}
	if !unclean {
		return
	}
	r := p.known(e.Leader)
	if r == nil {
		r = newReplica(e.Leader, p.root)
	}
	if g.ch.cut = g.maybeCut(p, r, e.LeaderEpoch); g.ch.cut == nil {
		// What the old leader, cut off, goes on to acknowledge is lost all the same.
		end := p.committed.end
		p.happened(&incident{kind: uncleanCut, at: e.Time, node: e.Leader, epoch: e.LeaderEpoch, from: end, to: end, held: p.committed})
	}
}

// chose ends PartitionChanged: the checkers have seen who was chosen before.
func (p *partition) chose(e *event.Event) {
	if e.Leader != kafka.NoNode && holder(p.chosen, e.LeaderEpoch) == kafka.NoNode {
		p.chosen = remember(p.chosen, office{e.LeaderEpoch, e.Leader, e.Time})
	}
}

// replicaEvent takes an event of one replica.
func (g *ghost) replicaEvent(e *event.Event) {
	p := g.partition(e.TP)
	r := p.replica(e.Node)
	g.ch.p, g.ch.r = p, r
	if len(p.buried) > 0 {
		g.rises(p, r, e)
	}
	g.ch.end, g.ch.hw, g.ch.epoch, g.ch.role, g.ch.start = r.reach(), r.hw, r.epoch, r.role, r.logStart
	switch e.Kind {
	case event.BatchAppended:
		r.sparse = r.sparse || !e.Flag && r.step == e.Seq
		r.step = e.Seq
		if g.ch.tail = r.log.b.epoch; g.ch.tail != e.LeaderEpoch || r.log.end == 0 {
			r.epochsAt = e.Time
		}
		if (p.compacted || p.keys != nil) && !e.Flag {
			p.copiesFrom(r, e.Base)
		}
		if p.keys != nil {
			g.ch.unread = !p.keys.decode(e.Batch, 0)
		}
		if !e.Flag && e.Base > g.ch.end {
			p.skipped(r, g.ch.end, e.Base)
		}
		g.ch.how, g.ch.at = p.append(r, entry{e.Base, e.CRC, uint32(e.Last - e.Base + 1)}, e.LeaderEpoch, e.Flag)
		g.ch.grown, r.grown = r.grown, e.Time
	case event.LEOPublished:
		r.appended(e.LEO, e.Time)
	case event.HighWatermark:
		if e.Flag {
			g.moves(p, r, e)
		}
		r.hw, r.published = e.HW, e.LEO
		r.topHW = max(r.topHW, e.HW)
		if e.Flag {
			r.isr, r.maximal = e.ISR, e.MaximalISR
			g.commit(p, r, e.HW)
		}
		r.madeGood(p)
	case event.OffsetsMissing:
		p.holed(r, e)
	case event.ReplicaLoaded:
		r.sparse = r.sparse || e.LEO > e.LogStart
		r.bares(e)
		g.loaded(p, r, e.LEO, !e.Flag)
		if e.LogStart > r.logStart {
			p.raised(r, e)
		}
		r.logStart, r.hw, r.topHW = e.LogStart, e.HW, max(r.topHW, e.HW)
		if e.LogStart == e.LEO && (r.log.b == p.root || e.LEO > 0) { // nothing is in it that could differ
			p.emptied(r, e.LEO)
		}
	case event.BecameLeader, event.BecameFollower:
		g.tookRole(p, r, e)
	case event.ReplicaStopped:
		r.role, r.epoch, r.maximal, r.isr = noRole, kafka.NoLeaderEpoch, nil, nil
		if e.Flag {
			p.cutHoles(r, 0, e.Time)
			r.forget(p.root)
			r.made = e.Time
		}
	case event.Truncated:
		r.sparse = true
		below := e.Offset < r.logStart
		if e.Offset > r.reach() { // it begins anew there
			p.cutHoles(r, 0, e.Time)
		}
		p.cutHoles(r, e.Offset, e.Time)
		r.truncated(e.Offset, p.root)
		if r.floor == e.Offset && (below || r.log.b == p.root) {
			p.emptied(r, e.Offset)
		}
		r.hw = e.HW
	case event.LogStartRaised:
		r.logStart = e.LogStart
		p.raised(r, e)
		if r.role != leads && e.Text != event.StartByTruncation && e.LogStart == r.reach() {
			p.emptied(r, e.LogStart)
		}
		p.startRaised(r)
	case event.FetcherFailed:
		r.failed, r.outgrown = true, p.outgrown(r, e.Text)
	case event.IsrProposed:
		r.maximal, r.proposed = e.MaximalISR, e.ISR
		r.shrinks(e.Time)
	case event.IsrCommitted:
		g.frees(p, r)
		r.isr, r.maximal, r.stall.asked = e.ISR, e.ISR, 0
		g.node(r.node).answered = answered{e.Time, g.controllerEpoch}
	}
	g.segmentEvent(r, e)
	if limit := p.topic.Retention; limit != nil && limit.Bytes >= 0 && (e.Kind == event.BatchAppended || e.Kind == event.HighWatermark) {
		r.overdue(limit.Bytes, e.Time)
	}
}

// tookRole takes BecameLeader and BecameFollower. A replica that gets a role in a
// process which did not load it has an empty log: its directory is gone.
func (g *ghost) tookRole(p *partition, r *replica, e *event.Event) {
	if !r.loaded {
		g.loaded(p, r, e.LEO, false)
		r.made = e.Time
		g.ch.load.implicit, r.bare, r.bared = true, false, 0
	}
	r.hw, r.topHW, r.published = e.HW, max(r.topHW, e.HW), e.LEO
	r.epoch, r.failed, r.stall = e.LeaderEpoch, false, stall{}
	if e.Kind == event.BecameFollower {
		r.role, r.leader, r.isr, r.maximal = follows, e.Leader, nil, nil
		return
	}
	r.role, r.isr, r.maximal = leads, e.ISR, e.ISR
	if !p.inOffice(r) {
		p.startRaised(r)
		return
	}
	if g.ch.cut = g.maybeCut(p, r, e.LeaderEpoch); p.allHave(r.log.at(r.hw)) {
		g.commit(p, r, r.hw)
	}
	p.beginsAhead(r, e)
	p.startRaised(r)
	again := holder(p.took, e.LeaderEpoch) == r.node
	for _, i := range p.incidents {
		if i.kind != lossy || i.node != r.node || i.led {
			continue
		}
		i.led = true
		if again {
			p.reled = append(p.reled, e.LeaderEpoch)
		}
	}
}

// allHave: each member of the in-sync set holds all of x. A leader may take office with a
// high watermark above what was committed: it, or one that it followed, went on to lead an
// epoch that was over, and answered requests.
func (p *partition) allHave(x position) bool {
	for _, id := range p.auth.isr {
		if m := p.known(id); m == nil || !m.loaded || m.agrees(x) < x.end {
			return false
		}
	}
	return true
}

// tookOffice ends BecameLeader: the checkers have seen who had the epoch before.
func (p *partition) tookOffice(e *event.Event) {
	if holder(p.took, e.LeaderEpoch) == kafka.NoNode {
		p.took = remember(p.took, office{e.LeaderEpoch, e.Node, e.Time})
		p.acks.endangered(e.LEO)
	}
}

// commit moves the committed prefix to the high watermark of an incumbent.
func (g *ghost) commit(p *partition, r *replica, hw kafka.Offset) {
	if hw > p.committed.end && p.inOffice(r) {
		p.committed = r.log.at(hw)
	}
}

func (g *ghost) loaded(p *partition, r *replica, end kafka.Offset, clean bool) {
	held := r.log
	g.ch.load = r.load(end, clean, clean && !r.liedAbout(g.node(r.node)))
	p.cutHoles(r, end, g.now)
	if r.blankEnd > r.log.end {
		p.blankTails = append(p.blankTails, r)
	}
	if l := &g.ch.load; !l.stop.losesUnsynced() || r.log.end >= held.end || l.beyond() {
		return
	}
	i := &incident{kind: lossy, stop: g.ch.load.stop, at: r.stopAt, node: r.node, epoch: p.auth.epoch, from: r.log.end, to: held.end, held: held}
	if r.lost != nil && r.lost.to > i.to { // what it lost before and had not fetched again
		i.to, i.held = r.lost.to, r.lost.held
	}
	r.lost = p.happened(i)
}

// madeGood forgets a loss when the replica has all that was committed again.
func (r *replica) madeGood(p *partition) {
	if r.lost != nil && r.agrees(p.committed) >= p.committed.end && r.reach() >= min(r.lost.to, p.committed.end) {
		r.lost = nil
	}
}
