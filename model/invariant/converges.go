package invariant

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

func convergesAfterHeal() rule {
	return rule{
		Info: Info{
			Name:  "converges-after-heal",
			Rules: "INV-22 V-1 V-2 V-3 V-4 V-5 V-6 V-7 V-10 V-12 V-13",
			Words: "When faults have ended and what was down runs again, within the bound there is one controller, every partition has a leader in office and its full in-sync " +
				"set, all replicas agree, every send has ended, every consumer has caught up and knows the leaders, and everything can be read back.",
			When: "at the end of a run that was not stopped early",
			Broken: causes(
				"all members of the in-sync set are down and the topic allows no unclean election",
				"fewer than min.insync.replicas replicas run",
				"a follower gave up on a log that parts inside a batch from its leader's, because the leader led the same epoch again after a power loss (A-13)",
				"a follower gave up on a log in which a power loss brought back batches that it had truncated, while its epochs stayed truncated",
				"a follower gave up on a segment that a cleaning had made larger than segment.bytes, because a tombstone's deletion horizon takes more bytes (KIP-534)",
				"an ISR change was committed, or a new partition's state created, but its answer was lost with the controller's ZooKeeper connection",
				"a broker cannot start, because the recovery of a log makes more index entries than log.index.size.max.bytes has room for",
				"a broker cannot start, because a checkpoint file or partition.metadata that its lying disk had synced is not whole after a power loss",
				"a partition that a cooperative static member was to hand over has no owner, because the member came back under another id without a rebalance: "+
					"its process had ended, or its poll interval",
				"a partition that was added has no owner, because the group's leader, a static member, was away then and skips the assignment when it is back (KIP-814)",
				"a partition has no owner, because it was assigned to an id of a static member that could not be persisted, and was taken back before",
				"a partition of which the group's leader has not heard yet has no owner until the leader's metadata are renewed (metadata.max.age.ms), "+
					"because a new controller told of it later than of others",
				"a power loss took the last records of a log and left the empty segment behind them, so that there is nothing to read up to its end",
				"a cleaner took records for newer ones of their keys, which the log then lost in a truncation, so that there is nothing to read up to its end",
				"a member commits in vain for a partition that its topic, deleted or created again, has no more, for max.poll.interval.ms before it rejoins (KAFKA-13310)",
				"a member waits for the answer to a JoinGroup after which an older one of it, which it had given up, was carried out, for max.poll.interval.ms and 5 s",
				"a topic was created again, and a consumer's committed offset is of the deleted one, in a leader epoch that the new one has not come to",
				"a broker that was not told that a topic was deleted shows it until its process ends, and a group rebalances whenever its leader asks another one",
				"the metadata of a consumer name only brokers that cannot start for such a reason, and no other is asked for newer ones (KIP-899)",
				"partitions were added to a topic that was created again, and the metadata of the leader of a group leave them out for the same reason",
			),
		},
		build: func(f *findings) checker { return &convergence{f} },
	}
}

// convergence is told at the end; see Suite.converged.
type convergence struct{ *findings }

func (c *convergence) observe(*event.Event) {}

// converged judges what is still open.
func (s *Suite) converged(open []string) {
	f := s.byName("converges-after-heal")
	f.checked++
	for _, o := range open {
		p := s.g.named(o)
		if why := s.g.mayStayOpen(o, p); why != "" {
			f.suspend(p, o+": "+why)
			continue
		}
		f.violate(p, "still open at the end: %s", o)
	}
}

// mayStayOpen says why what a line tells of may be so at the end: the first excuse that it has.
// p is the partition that the line names, nil if it names none.
func (g *ghost) mayStayOpen(line string, p *partition) string {
	return cmp.Or(
		g.never(line, p),
		g.cannotStart(line, p),
		g.notCounted(line, p),
		g.handedToNobody(line, p),
		g.unnoticed(line, p),
		g.orphaned(line, p),
		g.unheard(line, p),
		g.hidden(line, p),
		g.ofGroup(line, p),
		g.pausedInVain(line),
		g.overtaken(line),
		g.awaitsEpoch(line, p),
		g.stranded(line, p),
		g.lingering(line, p),
		p.nothingThere(line),
		g.nothingLeft(line, p),
	)
}

// named finds the partition that a line begins with, or mentions.
func (g *ghost) named(line string) (named *partition) {
	words := strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == ':' || r == ',' })
	g.each(func(p *partition) {
		for _, w := range words {
			if w == p.tp.String() {
				named = p
			}
		}
	})
	return named
}

// ofOwners tells whether a line is about the owners of a partition: a group shares out all that
// the metadata name, whether they have a leader or not (AbstractPartitionAssignor.assign,
// Cluster.partitionCountForTopic), so that what ails the partition itself is no excuse.
func ofOwners(line string) bool { return strings.Contains(line, " owners in group ") }

// never says why a partition may stay as it is for ever (cluster 10.4).
func (g *ghost) never(line string, p *partition) string {
	if p == nil || !p.auth.known || ofOwners(line) {
		return ""
	}
	up := 0
	for _, id := range p.auth.isr {
		if !g.node(id).down {
			up++
		}
	}
	running := 0
	for _, id := range p.assignment {
		if !g.node(id).down {
			running++
		}
	}
	switch {
	case up == 0 && p.auth.leader == kafka.NoNode && !p.topic.Unclean:
		return fmt.Sprintf("all in-sync replicas %v are down, and the topic allows no unclean election (V-2)", p.auth.isr)
	case len(p.assignment) > 0 && running < p.minISR() && g.setup.Profile.HWMinISRGate:
		return fmt.Sprintf("%d of its replicas run, and min.insync.replicas is %d (V-5)", running, p.topic.MinISR)
	}
	if why := g.unanswered(p); why != "" {
		return why
	}
	if why := g.createdUnheard(p); why != "" {
		return why
	}
	return g.gaveUp(line, p)
}

// unanswered says that the leader waits for the answer to an ISR change which
// ZooKeeper has: the controller's connection broke between the write and its answer, the
// write that it then repeated found a newer version (BADVERSION), and the leader heard
// INVALID_UPDATE_VERSION (cluster Z-28, L-26).
//
// Kafka 2.7 to 3.9 is the same: KafkaZkClient.retryRequestsUntilConnected repeats after
// CONNECTIONLOSS and updateLeaderAndIsr compares no contents then (conditionalUpdatePath
// can, but only the leaders of before KIP-497 use it so); KafkaController leaves its cache
// as it was and sends no LeaderAndIsr; Partition.handleAlterPartitionError stays in the
// pending state until a new leader epoch. Nothing brings one: a new controller sends the
// same epoch, which brokers ignore. Until the next election of that partition its in-sync
// set does not change any more.
func (g *ghost) unanswered(p *partition) string {
	l := p.incumbent()
	if l == nil || !g.setup.Profile.AlterPartition || !p.again() || slices.Equal(l.isr, p.auth.isr) || !slices.Equal(l.proposed, p.auth.isr) {
		return ""
	}
	return fmt.Sprintf("its leader never heard that its ISR change to %v was committed: the controller's write lost its answer and was refused when repeated", p.auth.isr)
}

// createdUnheard says that the controller does not know the state that it created for a new
// partition: its connection broke between the write and its answer, and the write that it
// then repeated found the node there (NODEEXISTS).
//
// Kafka 2.6 to 3.9 is the same: KafkaZkClient.retryRequestsUntilConnected repeats after
// CONNECTIONLOSS, and PartitionStateMachine.initializeLeaderAndIsrForPartitions takes any
// other result than OK for a failure. The partition stays a NewPartition, whose state is
// created in vain whenever a broker starts, and no broker hears of it; the next controller
// reads the state.
func (g *ghost) createdUnheard(p *partition) string {
	if p.told || !p.again() {
		return ""
	}
	return "the controller never heard that it had created the partition's state: the write lost its answer and was refused when repeated"
}

// notCounted says that a partition has no owner because others of its topic are not in
// the metadata of anybody (createdUnheard) or not in those of the group's leader (hides), and that assignors
// number partitions from 0 to what the metadata count: the last ones are assigned to nobody, the missing ones instead
// (AbstractPartitionAssignor.assign, Metadata's partitionCountForTopic). Those since 3.5 leave
// out the missing ones.
func (g *ghost) notCounted(line string, p *partition) string {
	if p == nil || !strings.Contains(line, " has 0 owners in group ") {
		return ""
	}
	l := g.leads(line)
	if l != nil && g.numbers(l) && p.auth.known {
		return g.createdUnheard(p)
	}
	if l != nil && (g.numbers(l) || g.hides(g.groups.byMember[l.leader].actor, p)) {
		return ""
	}
	counted, missing := int32(0), ""
	for _, x := range p.topic.parts {
		if x == nil || !x.auth.known {
			continue
		}
		if why := g.createdUnheard(x); why != "" {
			missing = x.tp.String() + ": " + why
		} else if l != nil && g.hides(g.groups.byMember[l.leader].actor, x) {
			missing = x.tp.String() + ": the group's leader " + hiddenText
		} else {
			counted++
		}
	}
	if missing == "" || p.tp.Partition < counted {
		return ""
	}
	return fmt.Sprintf("the metadata count %d partitions of its topic (%s)", counted, missing)
}

// leads is the stable generation of the group of which a line says that a partition has no owner in it,
// if its leader is known.
func (g *ghost) leads(line string) *life {
	if g.groups == nil {
		return nil
	}
	for _, x := range g.groups.list {
		l := x.newest()
		if strings.HasSuffix(line, " has 0 owners in group "+x.id) && l != nil && l.state == event.GroupStable && g.groups.byMember[l.leader] != nil {
			return l
		}
	}
	return nil
}

// ofGroup says why the group that a line mentions, perhaps with p, may not come to rest.
func (g *ghost) ofGroup(line string, p *partition) string {
	if g.groups == nil {
		return ""
	}
	words := strings.Fields(line)
	for _, x := range g.groups.list {
		for i := range words {
			if words[i] != "group" || i+1 == len(words) || words[i+1] != x.id {
				continue
			}
			if why := cmp.Or(g.cannotAppend(x), g.leaderless(x)); why != "" || !g.inVain(x) || ofOwners(line) && (!strings.Contains(line, " has 0 owners ") || g.isToOwn(x, p)) {
				return why
			}
			return vainText
		}
	}
	return ""
}

// leaderless says that a group has no coordinator, as those are down that could lead its partition of
// __consumer_offsets. Whether they may be down is said of themselves.
func (g *ghost) leaderless(x *group) string {
	p := g.offsetsPartition(x.index)
	if p == nil || !p.auth.known || p.auth.leader != kafka.NoNode || p.topic.Unclean ||
		slices.ContainsFunc(p.auth.isr, func(id kafka.NodeID) bool { return !g.node(id).down }) {
		return ""
	}
	return fmt.Sprintf("all in-sync replicas %v of the group's partition of __consumer_offsets are down, and the topic allows no unclean election (V-2)", p.auth.isr)
}

// outgrown: r's fetcher fails, as its leader sent more than segment.bytes from one segment. The cleaner had
// written that one anew and larger than it was (its own: what a leader copied it rolled itself): the base timestamp of a batch with a tombstone becomes the deletion
// horizon, from which the records' timestamps are farther (MemoryRecords.filterTo, KIP-534), by so many bytes at most.
// UnifiedLog.append takes no records of more than a segment, from a leader neither.
func (p *partition) outgrown(r *replica, why string) bool {
	l := p.known(r.leader)
	var size, limit, grown int64
	if i := strings.Index(why, "append of "); i < 0 || p.keys == nil || l == nil {
		return false
	} else if n, _ := fmt.Sscanf(why[i:], "append of %d bytes does not fit segments of %d", &size, &limit); n < 2 {
		return false
	}
	next := r.log.end
	l.log.each(r.log.end, l.clean.end, func(x *rec) {
		if !x.tombstone || x.offset < next {
			return
		}
		if e, _, how := l.log.holding(x.offset).find(x.offset); how == found {
			grown, next = grown+horizonBytes*int64(e.count), e.next()
		}
	})
	return size <= limit+grown
}

// horizonBytes are what a record may grow by for a horizon: its timestamp's difference is a varlong, its length a varint.
const horizonBytes = 9 + 4

// gaveUp says why followers' fetchers may have failed for good, if a line is of what these lack: no consumer reads from
// them, and who else is not in sync must have a reason too, or is down.
func (g *ghost) gaveUp(line string, p *partition) (why string) {
	l := p.incumbent()
	if l == nil || strings.HasPrefix(line, "consumer ") {
		return ""
	}
	for _, r := range p.replicas {
		if one := p.cannotFollow(r, l); one != "" && (!strings.Contains(line, " on broker-") || strings.Contains(line, " on "+kafka.BrokerHost(r.node)+":")) {
			why = cmp.Or(why, one)
		}
	}
	if strings.Contains(line, " has ISR ") {
		for _, id := range p.assignment {
			if r := p.known(id); !slices.Contains(p.auth.isr, id) && !g.node(id).down && (r == nil || p.cannotFollow(r, l) == "") {
				return ""
			}
		}
	}
	return why
}

// cannotFollow says why r's fetcher may have failed: its log parts from the leader's inside a batch, or what it is sent is
// too large.
func (p *partition) cannotFollow(r, l *replica) string {
	if !r.failed {
		return ""
	}
	at := meet(r.log, l.log).end
	switch {
	case r.log.excused(at) || l.log.excused(at):
		return "a follower's fetcher failed: " + rewrittenText
	case r.outgrown:
		return "a follower's fetcher failed: a tombstone's deletion horizon made a segment of its leader larger than segment.bytes (KIP-534)"
	case r.blankEnd > r.log.end:
		return "a follower's fetcher failed: a power loss undid a truncation of its log, but not of its epochs"
	}
	return ""
}

// nothingThere says that a reader stays where it is since a power loss, or a failed sync, took the last offsets of
// the leader's log and left the file of the segment behind them, empty. The log ends at the base
// of that one, so that there are offsets to read, and an answer to a fetch has none of them
// (LocalLog.read, behind the last segment), until the next record is appended.
func (p *partition) nothingThere(line string) string {
	if p == nil {
		return ""
	}
	l := p.incumbent()
	if l == nil {
		return ""
	}
	end, stays, took := kafka.NoOffset, false, powerLost
	for _, i := range p.incidents { // in the order of their offsets
		if !i.hole || i.node != l.node || i.at != l.stopAt || l.cut <= i.from {
			continue // it was before, or is cut away
		}
		stays = stays && i.from == end || strings.Contains(line, " at "+strconv.FormatInt(int64(i.from), 10)+" of "+p.tp.String())
		end, took = i.to, i.stop
	}
	if stays && end == l.reach() {
		return took.loss() + " took the last records of the leader's log, and left the empty segment behind them"
	}
	return ""
}
