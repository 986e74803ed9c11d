package group

import (
	"slices"
	"strings"

	"github.com/simkafka/simkafka/model/config"
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/log"
	"github.com/simkafka/simkafka/model/record"
	"github.com/simkafka/simkafka/model/step"
)

// Host is the coordinator's broker.
type Host interface {
	// OffsetsLog is the log of a partition of __consumer_offsets; nil if there is none or
	// its directory is offline. leads tells whether the broker leads it.
	OffsetsLog(partition int32) (l *log.Log, leads bool)
	// Draw is the next draw of a name.
	Draw(in *step.Input, name string) uint64
}

// Append is a batch that the broker is to write to a partition of __consumer_offsets.
type Append struct {
	Partition int32
	Batch     record.Batch
	// Acks is 0 for what may be lost (tombstones); else offsets.commit.required.acks, to
	// be waited for up to offsets.commit.timeout.ms.
	Acks int8
	// Done takes the outcome: what the log layer says, REQUEST_TIMED_OUT included, and the
	// base offset (-1 = none). Nil with Acks 0.
	Done func(in *step.Input, out *step.Effects, code kafka.ErrorCode, base kafka.Offset)
}

// Coordinator is the group coordinator of one life of a broker.
type Coordinator struct {
	cfg        *config.Broker
	host       Host
	partitions int32 // of __consumer_offsets
	owned      map[int32]*ownership
	groups     []*Group // by id
	byID       map[string]*Group
	deadlines  deadlines
	appends    []*Append
	tasks      []*task
	loading    int // partitions
	builder    record.Builder
	scratch    *record.Scratch
	stopped    bool
}

// ownership is what is known of a partition of __consumer_offsets.
type ownership struct {
	owned, loading bool
	// epoch is the largest leader epoch of a load or unload (LD-1).
	epoch kafka.LeaderEpoch
}

// New makes a coordinator for partitions partitions of __consumer_offsets. scratch is
// memory for compression, nil for its own.
func New(cfg *config.Broker, host Host, partitions int32, scratch *record.Scratch) *Coordinator {
	c := &Coordinator{cfg: cfg, host: host, partitions: partitions, scratch: scratch,
		owned: make(map[int32]*ownership), byID: make(map[string]*Group)}
	if scratch != nil {
		c.builder.UseScratch(scratch)
	}
	return c
}

// PartitionOf is the partition of __consumer_offsets that a group is in.
func (c *Coordinator) PartitionOf(group string) int32 { return PartitionFor(group, c.partitions) }

// Stop is the broker's shutdown: all requests are refused from now on (groups 2.3).
func (c *Coordinator) Stop() { c.stopped = true }

// Group is a group that is here, nil if it is not.
func (c *Coordinator) Group(id string) *Group { return c.byID[id] }

// Groups are all that are here, by id. They belong to the coordinator.
func (c *Coordinator) Groups() []*Group { return c.groups }

// Owns reports whether the broker serves the groups of a partition.
func (c *Coordinator) Owns(partition int32) bool { return c.at(partition).owned }

// Idle reports whether no group is between two generations, nothing is loaded and no
// append is without outcome.
func (c *Coordinator) Idle() bool {
	return len(c.tasks) == 0 && !slices.ContainsFunc(c.groups, func(g *Group) bool {
		return g.state == PreparingRebalance || g.state == CompletingRebalance || len(g.pending) > 0 ||
			slices.ContainsFunc(g.offsets.list, func(e *offsetEntry) bool { return e.pending })
	})
}

// Take returns the appends that are to be carried out now, in order. Carrying one out
// may queue others.
func (c *Coordinator) Take() []*Append {
	list := c.appends
	c.appends = nil
	return list
}

// NextDeadline is when RunDeadlines has something to do, Forever if nothing is planned.
func (c *Coordinator) NextDeadline() kafka.Nanos { return c.deadlines.first() }

// RunDeadlines does what is due.
func (c *Coordinator) RunDeadlines(in *step.Input, out *step.Effects) {
	for d := c.deadlines.pop(in.Now); d != nil; d = c.deadlines.pop(in.Now) {
		switch d.kind {
		case sessionDeadline:
			c.sessionExpired(in, out, d.group, d.member)
		case pendingDeadline:
			c.pendingExpired(in, out, d.group, d)
		case joinDeadline:
			c.joinDue(in, out, d.group)
		case syncDeadline:
			c.syncExpired(in, out, d.group)
		}
	}
}

func (c *Coordinator) at(partition int32) *ownership {
	o := c.owned[partition]
	if o == nil {
		o = &ownership{epoch: kafka.NoLeaderEpoch}
		c.owned[partition] = o
	}
	return o
}

// api is what a request asks for, as far as the common checks tell APIs apart.
type api uint8

const (
	membership api = iota // a group id must not be empty
	anyGroup              // the empty one is allowed, too
)

// validate is groups 2.3.
func (c *Coordinator) validate(group string, kind api) kafka.ErrorCode {
	if group == "" && kind == membership {
		return kafka.InvalidGroupID
	}
	if c.stopped {
		return kafka.CoordinatorNotAvailable
	}
	switch o := c.at(c.PartitionOf(group)); {
	case o.loading:
		return kafka.CoordinatorLoadInProgress
	case !o.owned:
		return kafka.NotCoordinator
	}
	return kafka.None
}

func (c *Coordinator) find(id string) (int, bool) {
	return slices.BinarySearchFunc(c.groups, id, func(g *Group, id string) int { return strings.Compare(g.id, id) })
}

// make is the group of that id, a new and empty one if there is none.
func (c *Coordinator) make(in *step.Input, id string) *Group {
	if g := c.byID[id]; g != nil {
		return g
	}
	g := newGroup(id, c.PartitionOf(id), in.Wall)
	c.enter(g)
	return g
}

func (c *Coordinator) enter(g *Group) {
	i, _ := c.find(g.id)
	c.groups = slices.Insert(c.groups, i, g)
	c.byID[g.id] = g
}

// forget takes a group off the list, with its timers.
func (c *Coordinator) forget(g *Group) {
	if i, found := c.find(g.id); found && c.groups[i] == g {
		c.groups = slices.Delete(c.groups, i, i+1)
		delete(c.byID, g.id)
	}
	c.deadlines.stop(&g.join)
	c.deadlines.stop(&g.sync)
	for _, m := range g.members {
		c.deadlines.stop(&m.session)
	}
	for _, d := range g.pending {
		c.deadlines.stop(d)
	}
}

// fact is a fact about a group with the fields that all of them share.
func (c *Coordinator) fact(out *step.Effects, kind event.Kind, g *Group) *event.Event {
	e := out.Fact()
	e.Kind, e.Node, e.Group, e.LeaderEpoch = kind, c.cfg.NodeID, g.id, c.at(g.partition).epoch
	e.TP = kafka.TopicPartition{Topic: OffsetsTopic, Partition: g.partition}
	return e
}
