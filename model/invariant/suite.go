package invariant

import (
	"fmt"
	"slices"
	"strings"

	"github.com/simkafka/simkafka/model/config"
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/outcome"
	"github.com/simkafka/simkafka/model/record"
)

// Topic is what the checkers must know about a topic's configuration.
type Topic struct {
	Name    string
	MinISR  int  // min.insync.replicas
	Unclean bool // unclean.leader.election.enable
	// Retention is nil if it is not to be judged.
	Retention *Retention
	// Compact is nil without compact in cleanup.policy.
	Compact *Compaction
}

// Setup is what the checkers must know before the run.
type Setup struct {
	Profile *config.Profile
	Brokers int // with ids from 1 on
	Topics  []Topic
	// RetentionCheck is log.retention.check.interval.ms, TaskDelay
	// log.initial.task.delay.ms; with 0 nothing is overdue.
	RetentionCheck, TaskDelay kafka.Nanos
	// Groups are those of the scenario's consumers.
	Groups []Group
	// OffsetsRetention is offsets.retention.minutes, the shortest of all brokers; with 0
	// no expiry of offsets is judged. Detection is how long it takes at most until a
	// broker that is gone is replaced as leader, ControllerTimeout the largest
	// controller.socket.timeout.ms of all brokers.
	OffsetsRetention, Detection, ControllerTimeout kafka.Nanos
	// GroupMaxSize is group.max.size by broker; of one without it is not judged.
	GroupMaxSize map[kafka.NodeID]int
	// Reverts: after a failed sync a file reads as what is durable of it (fault D16).
	Reverts bool
	// Scratch may be shared with the simulation; may be nil.
	Scratch *record.Scratch
}

// Group is what the checkers must know about a group of consumers: of settings that its
// members differ in the longest.
type Group struct {
	ID string
	// Session, Rebalance, Heartbeat and Request are session.timeout.ms,
	// max.poll.interval.ms, heartbeat.interval.ms and request.timeout.ms; Poll is the
	// longest gap between two polls, Delay group.initial.rebalance.delay.ms, Callback how long
	// a callback takes without its commit.
	Session, Rebalance, Heartbeat, Request, Poll, Delay, Callback kafka.Nanos
	// Rounds is how many rebalances may follow on one (k of groups 6.5): none of eager
	// members, one where all subscribe to the same topics, else three.
	Rounds int
	// MetadataAge is the largest metadata.max.age.ms of its members, LeastSession the smallest
	// session.timeout.ms.
	MetadataAge, LeastSession kafka.Nanos
}

// checker watches for one invariant.
type checker interface {
	// observe gets the events of the kinds that its rule names, after the ghost.
	observe(e *event.Event)
}

// readChecker also looks at the final read.
type readChecker interface{ readBack(b *readBatch) }

// finisher also looks at the end. read tells that every partition was read back.
type finisher interface{ finish(read bool) }

// Suite is all checkers of one run.
type Suite struct {
	g        *ghost
	found    []*findings // by rule
	byKind   [event.NumKinds][]checker
	readers  []readChecker
	ends     []finisher
	reading  reading
	loss     losses
	complete bool
	// violations are in the order of their discovery.
	violations []outcome.Violation
}

// NewSuite makes the checkers of a run.
func NewSuite(setup Setup) *Suite {
	s := &Suite{g: newGhost(setup)}
	s.reading.it.UseScratch(setup.Scratch)
	for i, r := range rules() {
		f := &findings{s: s, g: s.g, id: i, name: r.Name}
		s.found = append(s.found, f)
		c := r.build(f)
		for _, k := range r.kinds {
			s.byKind[k] = append(s.byKind[k], c)
		}
		if x, ok := c.(readChecker); ok {
			s.readers = append(s.readers, x)
		}
		if x, ok := c.(finisher); ok {
			s.ends = append(s.ends, x)
		}
	}
	return s
}

// PromiseOrder says that a producer has max.in.flight.requests.per.connection=1: it must
// keep the order of its batches.
func (s *Suite) PromiseOrder(producer int32) { s.g.inOrder = append(s.g.inOrder, producer) }

// Observe takes one noted fact; e is only lent. Facts come in the order in which
// they were noted.
func (s *Suite) Observe(e *event.Event) {
	if e.Kind == event.TopicDeleted {
		s.loss.deleted(s, e.TP.Topic)
	}
	s.g.observe(e)
	if e.Kind == event.CleaningBegan {
		s.compacted()
	}
	for _, c := range s.byKind[e.Kind] {
		c.observe(e)
	}
	s.g.observed(e)
}

// ReadBack takes a batch of the final read of a partition: from the log start to
// the high watermark, in order of offsets, through a client. A partition may be read
// again from its start. b is only lent.
func (s *Suite) ReadBack(tp kafka.TopicPartition, b record.Batch, node kafka.NodeID) {
	read := s.reading.take(s.g, tp, b, node)
	for _, c := range s.readers {
		c.readBack(read)
	}
	s.reading.taken(read)
}

// Finish ends the run. complete is false for one that was stopped early: then
// neither liveness nor the final read is judged. open is what had not converged, or
// not been read back, within the bound; each is a violation of converges-after-heal
// unless Kafka may never get there (cluster 10.4).
func (s *Suite) Finish(complete bool, open []string) {
	s.complete = complete
	read := complete && len(open) == 0
	if complete {
		s.converged(open)
	}
	for _, c := range s.ends {
		c.finish(read)
	}
	if read {
		s.loss.judge(s)
	}
}

// Fill writes what was found into the result: states, violations, losses, and what
// the final read says about records.
func (s *Suite) Fill(r *outcome.Result) {
	for i, info := range All() {
		f := s.found[i]
		r.Invariants = append(r.Invariants, outcome.InvariantState{Name: info.Name, Rules: info.Rules, Words: info.Words,
			State: f.state(), Checked: f.checked, Note: f.note()})
	}
	r.Violations = append(r.Violations, s.violations...)
	r.Loss = outcome.Loss{Records: s.loss.allowed, Reasons: s.loss.reasons}
	r.Records.Lost, r.Records.Expired = s.loss.lost, s.loss.expired
	s.g.each(func(p *partition) {
		r.Records.Duplicated += p.back.duplicated
		for _, x := range p.senders {
			r.Records.UnknownPresent += x.unknown.common(x.present)
		}
	})
}

// observed ends an event.
func (g *ghost) observed(e *event.Event) {
	if g.ch.groups.of != nil {
		g.groupObserved(e)
	}
	switch e.Kind {
	case event.PartitionChanged:
		g.ch.p.chose(e)
	case event.BecameLeader:
		g.ch.p.tookOffice(e)
	case event.ControllerElected, event.ControlWrite, event.BrokerRegistered, event.BrokerUnregistered, event.ControlExecuted:
		g.controlled(e)
	case event.RecordDelivered:
		g.ch.p.readEnd = max(g.ch.p.readEnd, e.Last+1)
		g.ch.p.reader(e.Actor).wasGiven(g.ch.r, e)
	case event.PositionReset:
		r := g.ch.p.reader(e.Actor)
		r.position, r.at, r.delivered, r.beyond = e.Base, e.Time, false, e.Base > g.ch.p.committed.end
		_, seen := g.lastSeen(e.Actor, g.ch.p.tp)
		r.blind = e.Text == committedStart && seen == kafka.NoLeaderEpoch
	case event.OffsetAnswered:
		if e.Err == kafka.None {
			g.ch.p.answered(e.LeaderEpoch, e.Offset)
		}
	}
}

// findings are what one checker found.
type findings struct {
	s        *Suite
	g        *ghost
	id       int
	name     string
	checked  uint64 // evaluations of its condition
	violated int
	excused  int
	notes    []suspension
}

// suspension is a reason with the partitions concerned.
type suspension struct {
	why   string
	parts []kafka.TopicPartition
}

const (
	// perPartition bounds the stories that an invariant tells of one partition, perRun
	// those of a run.
	perPartition = 2
	perRun       = 20
	maxNotes     = 64
	keptNotes    = 4 // printed
	keptParts    = 3 // named in a note
)

// full reports whether the invariant has told enough of a partition.
func (f *findings) full(p *partition) bool {
	return f.violated >= perRun || p != nil && p.reports[f.id] >= perPartition
}

// violate tells a story; p is nil if no partition is concerned.
func (f *findings) violate(p *partition, format string, args ...any) {
	if p != nil && p.topic.doomed {
		f.suspend(p, deletedText)
		return
	}
	if p != nil && p.compacted && p.keys == nil && comparesContents(f.name) {
		f.suspend(p, compactedText)
		return
	}
	f.violated++
	if f.violated > perRun || p != nil && p.reports[f.id] >= perPartition {
		return
	}
	v := outcome.Violation{Invariant: f.name, At: f.g.now, What: fmt.Sprintf(format, args...)}
	if p != nil {
		p.reports[f.id]++
		v.TP, v.Facts, v.Recent = p.tp, p.facts(), f.g.recent(p)
	}
	f.s.violations = append(f.s.violations, v)
}

// suspend says that the condition does not hold, which Kafka's contract allows for
// the reason given.
func (f *findings) suspend(p *partition, why string) {
	f.excused++
	i := slices.IndexFunc(f.notes, func(n suspension) bool { return n.why == why })
	if i < 0 {
		if i = len(f.notes); i >= maxNotes {
			return
		}
		f.notes = append(f.notes, suspension{why: why})
	}
	if n := &f.notes[i]; p != nil && !slices.Contains(n.parts, p.tp) {
		n.parts = append(n.parts, p.tp)
	}
}

func (f *findings) state() string {
	switch {
	case f.violated > 0:
		return "violated"
	case f.excused > 0:
		return "suspended"
	case f.checked == 0:
		return "not-exercised"
	}
	return "held"
}

func (f *findings) note() string {
	var b strings.Builder
	for i := range f.notes {
		switch {
		case i == keptNotes:
			fmt.Fprintf(&b, "; %d more reasons", len(f.notes)-i)
		case i < keptNotes:
			if i > 0 {
				b.WriteString("; ")
			}
			f.notes[i].print(&b)
		}
	}
	if f.violated > perRun {
		fmt.Fprintf(&b, " (%d violations in all)", f.violated)
	}
	return strings.TrimPrefix(b.String(), " ")
}

func (n *suspension) print(b *strings.Builder) {
	for i, tp := range n.parts {
		if i == keptParts {
			fmt.Fprintf(b, " and %d more", len(n.parts)-i)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(tp.String())
	}
	if len(n.parts) > 0 {
		b.WriteString(": ")
	}
	b.WriteString(n.why)
}
