// Package measure turns the event stream of a run into the figures of its
// result: latency by phase and over time, outages, leader and ISR history, lag, and the
// story of consumer groups. It keeps running sums and one open bucket, so that a long
// run costs no memory for each record. It decides nothing: no actor and no verdict on
// safety reads it.
package measure

import (
	"slices"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/outcome"
)

// Config says what to measure.
type Config struct {
	Start  kafka.Nanos // workload start: the first phase begins here
	End    kafka.Nanos // planned end of the workload
	Series bool        // keep the plots' data
}

// Collector watches events. The zero value is not usable; see New.
type Collector struct {
	cfg    Config
	now    kafka.Nanos
	closed kafka.Nanos // -1 before Close

	phases  *phases
	buckets *buckets
	parts   partitions
	nodes   []nodeState
	records outcome.Records
	groups  groups

	timeline []event.Event
	newest   topicAt // the last topic that was created
	probes   []outcome.Count
	faults   []outcome.Fault
}

type nodeState struct {
	name       string
	id         kafka.NodeID
	up         bool
	registered bool // in ZooKeeper, since its last boot
}

// topicAt is a topic at a time.
type topicAt struct {
	topic string
	at    kafka.Nanos
}

// maxTimeline bounds the timeline; a run with more facts says so in its last entry.
const maxTimeline = 4000

// New makes a collector.
func New(cfg Config) *Collector {
	c := &Collector{cfg: cfg, closed: -1, phases: newPhases(cfg.Start)}
	if cfg.Series {
		c.buckets = newBuckets(cfg.End)
	}
	return c
}

// Observe takes the next event of the run.
func (c *Collector) Observe(e *event.Event) {
	c.advance(e.Time)
	switch e.Kind {
	case event.RecordAcked:
		c.acked(e)
	case event.RecordDelivered:
		c.delivered(e)
	case event.BatchSent:
		c.sent(e)
	case event.RecordFailed:
		c.failed(e)
	case event.BatchAppended, event.LEOPublished, event.HighWatermark, event.ReplicaLoaded, event.Truncated:
		c.parts.offsets(e)
	case event.AssignmentChanged:
		c.parts.assigned(e)
		if c.newest != (topicAt{e.TP.Topic, e.Time}) { // else it is part of the creation
			c.keep(e)
		}
	case event.TopicDeletionAsked:
		c.parts.doomed(e.TP.Topic, e.Time)
		c.groups.doomed(e.TP.Topic, e.Time)
		c.wholeness(e.Time)
		c.keep(e)
	case event.TopicDeleted:
		c.keep(e)
	case event.TopicCreated:
		c.newest = topicAt{e.TP.Topic, e.Time}
		if c.closed < 0 {
			c.parts.created(e.TP.Topic, e.Time)
			c.groups.created(e.TP.Topic, e.Time)
			c.wholeness(e.Time)
		}
		c.keep(e)
	case event.PartitionChanged:
		c.parts.changed(e)
		c.wholeness(e.Time)
		c.keep(e)
	case event.BecameLeader:
		c.parts.tookOffice(e)
		c.wholeness(e.Time)
	case event.LeaderElected:
		if e.Flag {
			c.parts.get(e.TP).out.Unclean++
		}
		c.keep(e)
	case event.Probe:
		c.probe(e.Text)
	case event.PositionReset:
		c.groups.reset(e)
	default:
		if e.Group != "" {
			c.group(e)
		} else {
			c.world(e)
		}
	}
}

// world takes what happens to nodes, and faults.
func (c *Collector) world(e *event.Event) {
	switch e.Kind {
	case event.NodeBooted, event.NodeResumed:
		c.node(e, true)
		c.groups.node(e)
	case event.NodeCrashed, event.NodeStopped, event.NodePaused:
		c.node(e, false)
		c.groups.node(e)
	case event.FaultStarted:
		c.faults = append(c.faults, outcome.Fault{Index: int(e.Index), Text: e.Text, Hit: e.Actor,
			Interval: outcome.Interval{From: e.Time, To: -1}})
		c.phases.faultStarted(e.Time)
	case event.FaultEnded:
		c.faultEnded(e)
	case event.BrokerRegistered:
		c.registered(e.Node, true)
	case event.BrokerUnregistered:
		c.registered(e.Node, false)
	case event.Healed, event.Settled, event.ControllerElected, event.ControllerResigned, event.SessionExpired, event.DirectoryOffline, event.FetcherFailed,
		event.Truncated, event.Assertion:
	default:
		return
	}
	c.wholeness(e.Time)
	c.keep(e)
}

func (c *Collector) keep(e *event.Event) {
	if len(c.timeline) < maxTimeline {
		c.timeline = append(c.timeline, *e)
		c.timeline[len(c.timeline)-1].Batch = nil // it was lent
	}
}

// maxTold is the size of a group whose members' facts the timeline tells.
const maxTold = 20

// group takes a fact about a group.
func (c *Collector) group(e *event.Event) {
	c.groups.observe(e)
	switch e.Kind {
	case event.GroupChanged:
		c.keep(e)
	case event.MemberRemoved, event.CoordinatorFound, event.CoordinatorLost, event.MemberChanged, event.PartitionAssigned, event.PartitionRevoked, event.PartitionLost:
		if len(c.groups.get(e.Group).clients) <= maxTold {
			c.keep(e)
		}
	}
}

func (c *Collector) probe(name string) {
	i, found := slices.BinarySearchFunc(c.probes, name, func(p outcome.Count, n string) int {
		if p.Name < n {
			return -1
		} else if p.Name > n {
			return 1
		}
		return 0
	})
	if !found {
		c.probes = slices.Insert(c.probes, i, outcome.Count{Name: name})
	}
	c.probes[i].N++
}

func (c *Collector) node(e *event.Event, up bool) {
	for i := range c.nodes {
		if c.nodes[i].name == e.Actor {
			c.nodes[i].up = up
			if e.Kind == event.NodeBooted {
				c.nodes[i].registered = false
			}
			c.parts.nodeChanged(c.nodes[i].id, up, e.Time)
			if e.Kind == event.NodeBooted {
				c.parts.booted(c.nodes[i].id, e.Time)
			}
			return
		}
	}
	id, isBroker := kafka.ParseBrokerHost(e.Actor)
	if !isBroker {
		return // clients and ZooKeeper are not part of a whole cluster
	}
	c.nodes = append(c.nodes, nodeState{name: e.Actor, id: id, up: up})
	c.parts.nodeChanged(id, up, e.Time)
}

func (c *Collector) registered(id kafka.NodeID, yes bool) {
	for i := range c.nodes {
		if c.nodes[i].id == id {
			c.nodes[i].registered = yes
		}
	}
}

func (c *Collector) faultEnded(e *event.Event) {
	for i := len(c.faults) - 1; i >= 0; i-- {
		if f := &c.faults[i]; f.Index == int(e.Index) && f.To < 0 {
			f.To = e.Time
			break
		}
	}
	c.phases.faultEnded(e.Time)
}

// Close ends the measured time, when the workload stops: open faults, outages and
// phases end here. Later events still count records.
func (c *Collector) Close(at kafka.Nanos) {
	c.advance(at)
	for i := range c.faults {
		if c.faults[i].To < 0 {
			c.faults[i].To = at
		}
	}
	c.parts.close(at)
	c.groups.close(at)
	c.phases.end(at)
	c.closed = at
}

// wholeness tells the phases whether every node is up and registered, every
// partition has its leader and full ISR, and no record waits.
func (c *Collector) wholeness(at kafka.Nanos) {
	if c.closed >= 0 {
		return
	}
	whole := c.parts.whole() && !c.parts.stuck(at)
	for _, n := range c.nodes {
		whole = whole && n.up && n.registered
	}
	c.phases.wholeness(whole, at)
}

func (c *Collector) advance(to kafka.Nanos) {
	c.now = to
	c.phases.advance(to)
	if c.buckets != nil && c.closed < 0 {
		c.buckets.advance(to, &c.parts, &c.groups)
	}
}

func (c *Collector) sent(e *event.Event) {
	c.records.Sent += int64(e.Count)
	c.parts.get(e.TP).waiting(e.Time)
}

func (c *Collector) acked(e *event.Event) {
	c.records.Acked += int64(e.Count)
	x := c.parts.get(e.TP)
	outages := len(x.out.Outages)
	x.acked(e.Created, e.Time)
	if c.closed >= 0 {
		return
	}
	if len(x.out.Outages) > outages {
		c.wholeness(e.Time) // the last record that waited may have been this one
	}
	d := e.Time - e.Created
	c.phases.produced(e.Created, d, int64(e.Count), int64(e.Size))
	if c.buckets != nil {
		c.buckets.produced(d, int64(e.Count), int64(e.Size))
	}
}

func (c *Collector) failed(e *event.Event) {
	if e.Flag {
		c.records.Unknown += int64(e.Count)
	}
	if e.Index == 0 { // it never left: no BatchSent has counted it
		c.records.Sent += int64(e.Count)
	}
	c.records.Failed += int64(e.Count)
	if e.TP.Partition >= 0 { // a call may fail before it has a partition
		c.parts.get(e.TP).failed(e.Created)
	}
	if c.buckets != nil && c.closed < 0 {
		c.buckets.failed(int64(e.Count))
	}
}

func (c *Collector) delivered(e *event.Event) {
	c.records.Delivered += int64(e.Count)
	if e.Group != "" {
		c.groups.delivered(e)
	}
	if e.First < 0 || c.closed >= 0 {
		return
	}
	d := e.Time - e.Created
	c.phases.delivered(e.Created, d, int64(e.Count))
	if c.buckets != nil {
		c.buckets.delivered(d, int64(e.Count))
	}
}

// Fill writes what was measured into r. Records that need the final logs (lost,
// duplicated, unknown but present) are left to the caller.
func (c *Collector) Fill(r *outcome.Result) {
	r.Records.Sent, r.Records.Acked = c.records.Sent, c.records.Acked
	r.Records.Failed, r.Records.Unknown = c.records.Failed, c.records.Unknown
	r.Records.Delivered = c.records.Delivered
	r.Faults = c.faults
	r.Phases = c.phases.result()
	r.Timeline = c.timeline
	r.Probes = c.probes
	r.Partitions = c.parts.result()
	if !c.groups.closed {
		c.groups.close(c.now)
	}
	r.Groups = c.groups.result()
	for i := range r.Groups {
		for k := range r.Groups[i].Partitions {
			p := &r.Groups[i].Partitions[k]
			if x := c.parts.index.Get(p.TP); x != nil {
				p.HW = x.out.HW
			}
		}
	}
	if c.buckets != nil {
		c.buckets.fill(&r.Series)
		c.parts.strips(&r.Series, c.closed)
		r.Series.GroupLags = c.groups.lags()
	}
}

// Whole reports whether, by the events so far, every partition has a leader and
// a full ISR. It is for progress displays only.
func (c *Collector) Whole() bool { return c.parts.whole() }
