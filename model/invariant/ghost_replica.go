package invariant

import "github.com/simkafka/simkafka/model/kafka"

// replicaRole is what a broker is for a partition.
type replicaRole uint8

const (
	noRole replicaRole = iota
	leads
	follows
)

// stopKind is how a broker's process ended.
type stopKind uint8

const (
	running  stopKind = iota
	exited            // by itself
	killed            // the page cache stays
	reverted          // likewise, but a sync had failed and the file system took back what it should have written
	powerLost
)

// loss names what takes unsynced records.
func (s stopKind) loss() string {
	if s == reverted {
		return "a failed sync"
	}
	return "a power loss"
}

// losesUnsynced: what had not been synced may be gone.
func (s stopKind) losesUnsynced() bool { return s == reverted || s == powerLost }

// replica is what is known of one copy of a partition.
type replica struct {
	node kafka.NodeID
	// log is what it holds as far as noted. next is the index in log.b of the batch
	// that would follow.
	log  position
	next int
	// blankEnd: beyond log.end the log goes on to here with bytes that nobody noted (a
	// crash inside an append); not above log.end if there are none.
	blankEnd kafka.Offset
	// floor: the log was emptied and begins here; NoOffset otherwise.
	floor kafka.Offset

	logStart, hw, published kafka.Offset
	raises                  raises // of logStart
	files                   files
	// due is since when the oldest segment must go by size, 0 if it need not; loadedAt
	// is when the log was opened.
	due, loadedAt kafka.Nanos
	// topHW is the highest HW that it ever had.
	topHW kafka.Offset
	// epoch is the leader epoch that its process accepted last.
	epoch   kafka.LeaderEpoch
	role    replicaRole
	leader  kafka.NodeID // that it followed last
	clean   cleaning
	maximal []kafka.NodeID // leader only; nil = not known
	// proposed is the leader's last ISR change.
	proposed []kafka.NodeID
	isr      []kafka.NodeID
	stall    stall

	// step is the one that noted the last batch, grown when. sparse: the log may have more batches than
	// its indexes have entries (see ghost.unfit).
	step   uint64
	grown  kafka.Nanos
	sparse bool

	made     kafka.Nanos // when its log was made, at the earliest; 0 = before the first event of it
	opened   bool        // its log was opened, in a topic that was created again
	failed   bool        // its fetcher gave it up
	outgrown bool        // for what outgrown says
	loaded   bool        // its log is open
	// epochsAt is when a batch of another epoch than the one before was appended last, and so
	// its file of epochs written. bare: a power loss may have taken that, as the disk had lied
	// about the sync. bared: it has, and its log is known to name epochs from here on only.
	epochsAt kafka.Nanos
	bare     bool
	bared    kafka.Offset
	stop     stopKind // of its process; running while it runs, or reverted once a sync failed so
	stopAt   kafka.Nanos
	// unwritten and unwrittenTo (exclusive) bound the segment whose sync failed, if it was reverted.
	unwritten, unwrittenTo kafka.Offset
	wasLead                bool // role when the process ended
	// behind: when the process ended it followed, and its whole log lay below a leader's
	// log start, so that it was about to empty its log.
	behind bool
	// source is how the log had been cleaned that it copied when the process ended.
	source cleaning

	// durable is what a power loss must leave, as far as events tell: what a clean
	// stop or an earlier power loss left. cut is the lowest end to which it was
	// truncated since: a power loss may bring back what had been there.
	durable, cut kafka.Offset
	// lost is the last loss of unsynced data that was not made good yet.
	lost  *incident
	skips []skip
	// gaps are what power losses may have taken from the middle of a compacted log, if no cleaner
	// did; bounded.
	gaps []skip
	// peaks are logs that it had before it was cut, newest last.
	peaks [4]position
}

func newReplica(node kafka.NodeID, root *branch) *replica {
	return &replica{node: node, log: position{root, root.end}, floor: kafka.NoOffset, epoch: kafka.NoLeaderEpoch,
		durable: 0, cut: kafka.Offset(kafka.Forever)}
}

// liedAbout: the disk of its node, n, may have lied about the sync of its log since the node last
// lost its power.
func (r *replica) liedAbout(n *node) bool { return n.lied && !r.honest(n) }

// honest: the disk has not lied since its log was made.
func (r *replica) honest(n *node) bool { return len(n.lies) == 0 && r.made > n.honest }

// reach is the log end offset: exclusive.
func (r *replica) reach() kafka.Offset { return max(r.log.end, r.blankEnd) }

// agrees is how far the replica's log is that of x, up to x.end. What is not known
// of it counts as equal.
func (r *replica) agrees(x position) kafka.Offset {
	if r.log.b == x.b && r.log.end >= x.end {
		return x.end
	}
	if r.floor != kafka.NoOffset {
		return min(r.floor, x.end)
	}
	at := meet(r.log, x).end
	if at < x.end {
		at = overBlank(r.log, x, at)
	}
	if at == r.log.end && r.blankEnd > at {
		at = min(r.blankEnd, x.end)
	}
	return at
}

// had reports whether the replica has or had, before it was cut, all of x.
func (r *replica) had(x position) bool {
	if r.agrees(x) >= x.end {
		return true
	}
	for _, p := range r.peaks {
		if p.b != nil && meet(p, x).end >= x.end {
			return true
		}
	}
	return r.lost != nil && meet(r.lost.held, x).end >= x.end
}

// rewind cuts the known log at to.
func (r *replica) rewind(to kafka.Offset) {
	r.clean.gone.cut(to)
	if to >= r.log.end {
		return
	}
	copy(r.peaks[:], r.peaks[1:])
	r.peaks[len(r.peaks)-1] = r.log
	r.log = r.log.at(to)
	_, r.next, _ = r.log.b.find(to)
}

// truncated takes a noted truncation. One to the log start or below it leaves an empty log, which
// begins there (UnifiedLog.truncateTo).
func (r *replica) truncated(to kafka.Offset, root *branch) {
	r.cut, r.durable, r.bared = min(r.cut, to), min(r.durable, to), min(r.bared, to)
	if to > r.reach() {
		r.rewind(root.end)
		r.log, r.next, r.floor = position{root, to}, 0, to
	} else {
		r.rewind(to)
		if to <= r.logStart && to > 0 {
			r.floor = to
		}
	}
	r.blankEnd = min(r.blankEnd, to)
	r.published, r.logStart = to, min(r.logStart, to)
}

// loadResult compares what a broker found on its disk with what was known of it.
type loadResult struct {
	happened bool
	implicit bool // no log was loaded, and a new one appeared with a role
	stop     stopKind
	clean    bool
	wasLead  bool
	before   kafka.Offset // log end as known
	durable  kafka.Offset
	after    kafka.Offset
	// reverted: the end of what no failed sync was for, and the end of what it was for: the log ends
	// between them, if it lost anything
	kept, within kafka.Offset
	cut          kafka.Offset // lowest end to which it was cut since durable was true
	torn         bool         // after is not the end of a batch
}

// mayLose: what had been at an offset and was not synced may be gone.
func (r *replica) mayLose(o kafka.Offset) bool {
	return r.stop == powerLost || r.stop == reverted && o >= r.unwritten && o < r.unwrittenTo
}

// beyond: after a failed sync something is gone that it was not for.
func (l *loadResult) beyond() bool {
	return l.after < l.kept || l.stop == reverted && l.after > l.within && l.after < l.before
}

// load takes a log that was opened with this end. clean is what the broker says, synced that
// what it had is on the medium then.
func (r *replica) load(end kafka.Offset, clean, synced bool) loadResult {
	l := loadResult{happened: true, stop: r.stop, clean: clean, wasLead: r.wasLead, before: r.reach(), durable: r.durable, cut: r.cut, after: end}
	if l.stop == reverted {
		l.kept, l.within = min(r.unwritten, l.before), r.unwrittenTo
	}
	known := min(end, r.log.end)
	if l.stop.losesUnsynced() {
		known = min(known, r.cut) // above, the bytes may be older ones
	}
	if known < r.log.end && known == end {
		e, _, how := r.log.holding(known).find(known)
		l.torn = how == found && e.base != known
	}
	r.rewind(known)
	r.blankEnd = end
	switch {
	case l.stop.losesUnsynced():
		r.durable, r.cut = end, kafka.Offset(kafka.Forever)
	case l.stop == exited && synced:
		r.durable, r.cut = end, kafka.Offset(kafka.Forever)
	}
	r.loaded, r.published, r.floor, r.stop = true, end, kafka.NoOffset, running
	return l
}

// forget empties a replica whose log was deleted.
func (r *replica) forget(root *branch) {
	node, top := r.node, r.topHW
	*r = *newReplica(node, root)
	r.topHW, r.loaded = top, true
}
