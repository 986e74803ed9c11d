package explain

import (
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/outcome"
	"github.com/simkafka/simkafka/model/step"
	"github.com/simkafka/simkafka/scenarios"
	"github.com/simkafka/simkafka/sim/cluster"
	"github.com/simkafka/simkafka/sim/kernel"
	"github.com/simkafka/simkafka/sim/shrink"
)

// Options vary an explanation.
type Options struct {
	// Invariant chooses the violation; "" is the one that decided the verdict.
	Invariant string
	// Lines bounds the chain; 0 is DefaultLines.
	Lines int
	// NoCauses leaves out the runs without each fault.
	NoCauses bool
}

// DefaultLines is the length of a chain that leaves a screen room for the rest.
const DefaultLines = 24

// Story is what brought a violation about.
type Story struct {
	Result *outcome.Result
	Target shrink.Target
	// Offset is the record that the violation is about, -1 if it names none.
	Offset kafka.Offset
	// Group is the consumer group that the violation is about, "" if it is about none. Its
	// chain then has facts of several partitions.
	Group  string
	Causes []Cause
	Chain  []Link // in order of time
	Hidden int    // facts of the chain that had no room
}

// Link is one fact of the chain.
type Link struct {
	Event event.Event
	// After are the indexes of the links that it follows from.
	After []int
	// What the replica of the noting broker had when the fact was noted, of a delivery that
	// of the broker which served it; -1: unknown.
	LEO, HW kafka.Offset
	Epoch   kafka.LeaderEpoch
	// More counts what the same step noted of other partitions, or members, in the same words.
	More int
	// Heard is when the coordinator of a group last heard of the member that it removes; -1:
	// never.
	Heard kafka.Nanos
}

// Explain repeats a failing run and explains its violation.
func Explain(spec *scenarios.Spec, seed uint64, opts Options) (*Story, error) {
	if opts.Lines == 0 {
		opts.Lines = DefaultLines
	}
	r, err := cluster.Run(spec, cluster.Options{Seed: seed})
	if err != nil {
		return nil, err
	}
	s := &Story{Result: r}
	if s.Target, err = shrink.Find(spec, r, opts.Invariant); err != nil {
		return nil, err
	}
	h := newHistory(s.Target)
	h.group = groupOf(&s.Target, spec)
	if err := h.record(spec, seed); err != nil {
		return nil, err
	}
	if !opts.NoCauses {
		if s.Causes, err = causes(spec, seed, &s.Target); err != nil {
			return nil, err
		}
	}
	s.Chain, s.Hidden = h.chain(opts.Lines, s.Causes)
	s.Offset, s.Group = h.offset, h.group
	return s, nil
}

// history is what of a run may matter to a violation.
type history struct {
	target  shrink.Target
	start   kafka.Nanos // of the workload
	offset  kafka.Offset
	sender  int32 // producer of the record, -1 if it is not known
	number  int64 // of the record, as its producer counts
	facts   []fact
	parents []uint64          // of each step, by its number
	told    map[uint64]string // who was told to stop, by step
	c       *cluster.Cluster

	group string                 // see Story
	heard map[string]kafka.Nanos // of which member when, so far
}

// fact is a noted event with what the replica had by then.
type fact struct {
	event.Event
	leo, hw kafka.Offset
	epoch   kafka.LeaderEpoch
	more    int         // see Link
	heard   kafka.Nanos // see Link
}

func newHistory(t shrink.Target) *history {
	return &history{target: t, offset: -1, told: make(map[uint64]string), heard: make(map[string]kafka.Nanos)}
}

// record repeats the run up to the violation.
func (h *history) record(spec *scenarios.Spec, seed uint64) (err error) {
	opts := cluster.Options{Seed: seed, Recorder: h, Observer: h, Progress: func(now kafka.Nanos, _ uint64) {
		if now > h.target.At {
			h.c.Kernel().Halt()
		}
	}}
	if h.c, err = cluster.New(spec, opts); err != nil {
		return err
	}
	h.start = spec.WorkloadStart()
	h.parents = append(h.parents, 0)
	h.c.Run()
	if h.group != "" {
		h.ofGroup()
	}
	h.replicas()
	return nil
}

// Record implements kernel.Recorder.
func (h *history) Record(r *kernel.Record) {
	for uint64(len(h.parents)) < r.Seq {
		h.parents = append(h.parents, 0)
	}
	h.parents = append(h.parents, r.Parent)
	if r.Kind == step.Terminate {
		h.told[r.Seq] = h.c.Kernel().Name(r.Actor)
	}
	h.hear(r)
}

// Event implements kernel.Observer.
func (h *history) Event(e *event.Event) {
	if e.Time > h.target.At || untold[e.Kind] || !h.concerns(e) {
		return
	}
	f := fact{Event: *e, leo: -1, hw: -1, epoch: -1, heard: -1}
	if at, ok := h.heard[e.Member]; ok && e.Kind == event.MemberRemoved {
		f.heard = at
	}
	f.Batch = nil
	h.facts = append(h.facts, f)
	if e.Kind != event.FaultStarted {
		return
	}
	// A fault is noted when it has struck: behind the crash that it is.
	for i := len(h.facts) - 1; i > 0 && bySimulator[h.facts[i-1].Kind] && h.facts[i-1].Time == e.Time && names(&h.facts[i], h.facts[i-1].Actor); i-- {
		h.facts[i-1], h.facts[i] = h.facts[i], h.facts[i-1]
	}
}

// untold are facts that others say as well.
var untold = [event.NumKinds]bool{
	event.LEOPublished: true, event.MetadataSeen: true, event.Probe: true, event.ControlWrite: true, event.TopicCreated: true,
	event.AssignmentChanged: true, event.SegmentRolled: true,
}

// seat is a partition as a node has it: its replica, or its place in a client.
type seat struct {
	actor string
	tp    kafka.TopicPartition
}

// replicas fills in what each replica had when a fact was noted.
func (h *history) replicas() {
	type state struct {
		leo, hw kafka.Offset
		epoch   kafka.LeaderEpoch
	}
	now := make(map[seat]state)
	for i := range h.facts {
		f := &h.facts[i]
		at := seat{f.Actor, f.TP}
		s, known := now[at]
		if !known {
			s = state{-1, -1, -1}
		}
		switch f.Kind {
		case event.ReplicaLoaded:
			s.leo, s.hw = f.LEO, f.HW
		case event.BecameLeader, event.BecameFollower:
			s = state{f.LEO, f.HW, f.LeaderEpoch}
		case event.BatchAppended:
			s.leo = f.LEO
		case event.HighWatermark:
			s.leo, s.hw = f.LEO, f.HW
		case event.Truncated:
			s.leo, s.hw = f.Offset, f.HW
		}
		if f.Kind == event.RecordDelivered {
			if x, ok := now[seat{kafka.BrokerHost(f.Node), f.TP}]; ok {
				f.leo, f.hw, f.epoch = x.leo, x.hw, x.epoch
			}
			continue
		}
		f.leo, f.hw, f.epoch = s.leo, s.hw, s.epoch
		if f.Node > 0 && f.TP.Topic != "" || known {
			now[at] = s
		}
	}
}
