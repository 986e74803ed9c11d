package invariant

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

// unfit notes that a broker could not start, if that is Kafka's own behaviour.
//
// Recovery makes an index entry for each batch that is far enough from the last one
// (LogSegment.recover), and may so make more than the index holds. A log has fewer where a
// follower entered one for all batches of a fetch (LogSegment.append before KAFKA-806) or
// the cleaner one for all of a read (Cleaner.cleanInto), and where the count of bytes since
// the last entry began anew: at a truncation and at a start. Then TimeIndex.maybeAppend or
// OffsetIndex.append throws IllegalArgumentException, which neither LogLoader.recoverLog
// nor LogManager.loadLogs expects.
//
// A checkpoint file is written beside the old one, synced and renamed. Where the disk lied
// about that sync, a power loss may leave the new name with other bytes;
// CheckpointFile.read throws IOException, LogManager.loadLogs takes the directory offline,
// and the broker halts. The same with partition.metadata (PartitionMetadataFile), which
// UnifiedLog reads when it is loaded, and with meta.properties (MetaPropertiesEnsemble.Loader), which
// is written to an empty directory only (Copier.writeLogDirChanges): not if a broker had it before the
// disk lied. A broker that has registered since has found them whole.
//
// A segment below the recovery point was synced, and is not recovered (LogLoader.recoverLog).
// Where the disk lied about that sync, a power loss may leave it with other bytes. What is
// read of it to rebuild the state of the producers (UnifiedLog.rebuildProducerState) throws
// CorruptRecordException (FileLogInputStream.nextBatch), which LogManager.loadLogs passes on:
// the broker does not start. A damaged segment above the recovery point is cut.
//
// A log that was made when the disk had become honest has nothing of what it lied about.
func (g *ghost) unfit(e *event.Event) {
	n := g.node(e.Node)
	switch {
	case n.registered > n.before:
	case strings.Contains(e.Text, "the index is full") && g.ofLog(e, func(r *replica) bool { return r.sparse }):
		n.unfit = "recovery makes an index entry for each batch, and log.index.size.max.bytes has no room for as many"
	case g.ofLog(e, func(r *replica) bool { return r.honest(n) }):
	case n.lost && !n.whole && strings.Contains(e.Text, "-checkpoint is corrupt"):
		n.unfit = "its disk had lied about the sync of a checkpoint file, which a power loss then spoilt"
	case n.lost && !n.whole && !n.named && strings.Contains(e.Text, "/meta.properties is corrupt"):
		n.unfit = "its disk had lied about the sync of meta.properties, which a power loss then spoilt"
	case n.lost && !n.whole && strings.Contains(e.Text, "/partition.metadata is corrupt"):
		n.unfit = "its disk had lied about the sync of a partition.metadata, which a power loss then spoilt"
	case n.lost && strings.Contains(e.Text, ".log is corrupt at "):
		n.unfit = "its disk had lied about the sync of a segment, which a power loss then spoilt"
	}
}

// ofLog reports whether something holds of the log that e names by its directory.
func (g *ghost) ofLog(e *event.Event, holds func(*replica) bool) (found bool) {
	g.each(func(p *partition) {
		r := p.known(e.Node)
		dir := fmt.Sprintf("/%s-%d/", p.tp.Topic, p.tp.Partition)
		found = found || r != nil && strings.Contains(e.Text, dir) && holds(r)
	})
	return found
}

// reverts notes the log whose sync failed on a file system that then takes back what it had not
// written (btrfs): the process halts, and the next one finds it so. Segments before the one
// whose sync failed stay in the page cache.
func (g *ghost) reverts(e *event.Event) {
	base, is := unsynced(e.Text)
	if !is || !g.setup.Reverts || len(g.node(e.Node).drops) == 0 {
		return
	}
	g.ofLog(e, func(r *replica) bool {
		from, to := base, r.files.endOf(base)
		if r.stop == reverted {
			from, to = min(from, r.unwritten), max(to, r.unwrittenTo)
		}
		r.stop, r.unwritten, r.unwrittenTo = max(r.stop, reverted), from, to
		return true
	})
}

// unsynced is the base offset of the segment of whose failed sync a text tells: by a background
// flush of several files (flush DIR/BASE.log: …), or by one file (sync DIR/BASE.log at POSITION: …).
func unsynced(text string) (base kafka.Offset, is bool) {
	path, failed := strings.CutSuffix(text, ": input/output error")
	if i := strings.LastIndex(path, " at "); i >= 0 {
		path = path[:i]
	}
	path, log := strings.CutSuffix(path, ".log")
	op := path[strings.LastIndex(path, ": ")+1:]
	if !failed || !log || !strings.HasPrefix(op, " flush ") && !strings.HasPrefix(op, " sync ") {
		return 0, false
	}
	n, err := strconv.ParseInt(path[strings.LastIndexByte(path, '/')+1:], 10, 64)
	return kafka.Offset(n), err == nil
}

// diskFault remembers the nodes whose disks lied, and that nothing is left on a disk that was
// wiped. A lie lasts: what was synced in its time is below the recovery point, and is not
// synced again when the disk is honest (UnifiedLog.flush begins at the recovery point). An empty
// disk has nothing of it.
func (g *ghost) diskFault(e *event.Event) {
	lies, wiped := strings.HasPrefix(e.Text, "lying_disk"), strings.HasPrefix(e.Text, "wipe: ")
	drops := strings.HasPrefix(e.Text, "disk_error") && strings.Contains(e.Text, "drop_dirty: true")
	if !lies && !wiped && !drops {
		return
	}
	for _, name := range strings.Fields(e.Actor) {
		id, ok := kafka.ParseBrokerHost(name)
		switch {
		case !ok:
		case drops:
			n := g.node(id)
			n.drops = append(n.drops, e.Index)
		case lies:
			n := g.node(id)
			n.lied, n.lies = true, append(n.lies, e.Index)
		default:
			n := g.node(id)
			n.lied, n.lost, n.named = len(n.lies) > 0, false, false
			g.each(func(p *partition) {
				if r := p.known(id); r != nil {
					r.durable, r.bare, r.bared = 0, false, 0
				}
			})
		}
	}
}

// honest ends a lie: one firing of a fault, which names no nodes then.
func (g *ghost) honest(e *event.Event) {
	for i := range g.nodes {
		n := &g.nodes[i]
		if at := slices.Index(n.lies, e.Index); at >= 0 {
			n.lies, n.honest = slices.Delete(n.lies, at, at+1), e.Time
		}
		n.drops = slices.DeleteFunc(n.drops, func(fault int32) bool { return fault == e.Index })
	}
}

// losesPower: what its disk lied about until now is gone, or is on the medium.
func (n *node) losesPower() {
	if n.lied {
		n.lost, n.whole = true, false
	}
	n.lied = len(n.lies) > 0
}

// cannotStart excuses brokers that are down for such a reason, partitions of which
// nothing but such brokers is missing, and, if there are no others, that there is no
// controller and no member joins. What clients end by themselves is judged as ever:
// producers fail what nobody takes (delivery.timeout.ms), administrators give up.
func (g *ghost) cannotStart(line string, p *partition) string {
	if p != nil && !ofOwners(line) {
		return g.missesUnfit(line, p)
	}
	why, others := "", false
	for i := range g.nodes {
		n := &g.nodes[i]
		switch {
		case n.id == 0:
		case n.unfit == "" || !n.down:
			others = true
		case strings.HasPrefix(line, nodeName(n.id)+" is down"):
			return n.unfit
		default:
			why = n.unfit
		}
	}
	if others || line != "0 active controllers" && !strings.HasPrefix(line, "consumer ") && !ofOwners(line) {
		return ""
	}
	return "no broker can start: " + why
}

// missesUnfit: a partition whose in-sync set has gone with such brokers has no leader, and nobody
// reads it; one that has others in it, only not all of its replicas.
func (g *ghost) missesUnfit(line string, p *partition) (why string) {
	leads := slices.ContainsFunc(p.auth.isr, func(id kafka.NodeID) bool { return !g.node(id).down })
	if leads && !strings.Contains(line, " has ISR ") {
		return ""
	}
	for _, id := range p.assignment {
		n := g.node(id)
		switch {
		case slices.Contains(p.auth.isr, id) && !n.down:
		case n.unfit == "" || !n.down:
			return ""
		default:
			why = "a replica's broker cannot start: " + n.unfit
		}
	}
	return why
}
