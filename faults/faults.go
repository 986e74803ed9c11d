// Package faults says what can go wrong and when: one fault a file, a table of
// all of them (simulation 3 gives the ids), selectors that address nodes by id or
// role, and triggers. A fault acts on a Target, which sim/cluster implements; it
// has no state of its own, so that it prints back as the scenario line it came
// from and can be moved, removed or shortened.
package faults

import (
	"fmt"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

// Fault is one kind of thing that goes wrong, with its arguments.
type Fault interface {
	// Word is the scenario word, such as "kill".
	Word() string
	// String prints the fault as a scenario line would say it, without trigger.
	String() string
	// Selectors lists what the fault addresses, for checks at load time.
	Selectors() []Selector
	// Start makes it happen now. It returns what it hit, for the timeline, and how to
	// undo it: nil when there is nothing to undo. An error is a mistake of the
	// scenario that only shows now (nothing selected).
	Start(t Target, c Context) (hit string, undo func(Target), err error)
}

// Context is what a fault may know of its own firing.
type Context struct {
	Index int // number of the fault in the plan
	Nth   int // which firing of a repeated fault, from 0
	// Until is when it will be undone at the latest.
	Until kafka.Nanos
	// Event is what triggered it, if an event did.
	Event *event.Event
}

// Target is the cluster as faults see it. Actors are kernel names: broker-1,
// zookeeper, the clients' names. Methods that name an actor that is not in the
// state they need (killing a dead node) do nothing and return false.
type Target interface {
	Now() kafka.Nanos
	// Draw is keyed by the fault, never by system streams (simulation 6.4).
	Draw(fault int, name string, index uint64) uint64
	// Select resolves s now, in stable order. Nothing found is an empty slice.
	Select(s Selector, c Context) []string

	Kill(actor string) bool      // process dies, page cache stays (P1)
	PowerLoss(actor string) bool // unsynced pages are lost, peers hear nothing (P2, D6)
	Restart(actor string) bool
	Stop(actor string) bool // SIGTERM (P3)
	Pause(actor string) bool
	Resume(actor string) bool

	// Cut silences the links from each of from to each of to, one way (N12). Cuts
	// of the same link stack; each returned func lifts its own.
	Cut(from, to []string) (lift func())
	// Shape changes links both ways between each of a and each of b (N1, N4, N9).
	Shape(a, b []string, s LinkShape) (lift func())
	// Reset kills the connections between a and b with RST (N20).
	Reset(a, b []string) int

	// Messages holds, or loses, single messages; the lift lets go what is held.
	Messages(m Messages, lose bool) (lift func())
	// Clog holds everything from each of from to each of to (N18).
	Clog(from, to []string) (lift func())
	// Flap cuts and heals in turn until a time (N15).
	Flap(a, b []string, down, up, until kafka.Nanos) (lift func())
	// HalfOpen silences the open connections for ever and counts them (N21).
	HalfOpen(a, b []string) int

	// SlowDisk multiplies prices by a whole number, StallDisk blocks calls, until a
	// time; both return their undo.
	SlowDisk(actor string, times int64, until kafka.Nanos) (lift func())
	StallDisk(actor string, until kafka.Nanos) (lift func())
	FailDisk(actor string, f DiskError) (lift func())
	FillDisk(actor string) (lift func())
	LieAboutSyncs(actor, match string) (lift func())
	// Damage spoils the files of a node that is down and counts them; Wipe empties its disk.
	Damage(fault int, actor, match, how string) int
	Wipe(actor string) bool

	// Failpoint arms a named point; an error names what is wrong with site or term.
	Failpoint(actor, site, term string) (lift func(), err error)

	// CreatePartitions, DeleteTopic and CreateTopic start an administrator's command and
	// return its name.
	CreatePartitions(topic string, partitions int32) (actor string)
	DeleteTopic(topic string) (actor string)
	CreateTopic(topic string) (actor string)

	// Clock moves the wall clock by a constant (C1) or a jump (C3, C4).
	Clock(actor string, delta kafka.Nanos) (lift func())
}

// LinkShape is what a bad link does. Zero fields leave the link as it is.
type LinkShape struct {
	Latency   kafka.Nanos // added, one way
	Jitter    kafka.Nanos // added, uniform in [0, Jitter]
	LossPPM   int64       // packets lost per million, seen as retransmission delay
	Bandwidth int64       // bytes per second
}

// DiskError makes calls of one kind fail with EIO.
type DiskError struct {
	Op    string // read, write or sync
	Match string // glob over the file's path below the data directory; "" = all
	Nth   int    // only the n-th matching call from now (from 1); 0 = every one
	// DropDirty: a failed sync leaves the pages clean, their bytes lost at power loss (D16).
	DropDirty bool
}

// Role says how a selector finds its nodes.
type Role uint8

// The roles, with their scenario words.
const (
	ByName      Role = iota // broker-2, zookeeper, p1
	Leader                  // leader(orders/0)
	Follower                // follower(orders/0): the first live one in assignment order
	Followers               // followers(orders/0): all of them
	Controller              // controller
	Coordinator             // coordinator(g): the leader of the partition of __consumer_offsets that group g is in
	GroupLeader             // group_leader(g): the client that the coordinator has last named the leader of group g
	Rack                    // rack(a)
	Brokers                 // brokers: all
	Clients                 // clients: all
	Producers               // producers
	Consumers               // consumers
	ZooKeeper               // zookeeper
	Random                  // random(brokers): one of the inner selector's nodes, by a draw
	Others                  // others: every broker that the fault's other selector does not name
	Subject                 // $node: the node of the triggering event
)

// Selector addresses nodes.
type Selector struct {
	Role  Role
	Name  string // ByName, Rack; Coordinator, GroupLeader: the group
	TP    kafka.TopicPartition
	Inner *Selector // Random
}

// String is the scenario word.
func (s Selector) String() string {
	tp := fmt.Sprintf("(%s/%d)", s.TP.Topic, s.TP.Partition)
	if s.TP.Partition < 0 {
		tp = "(" + s.TP.Topic + "/*)"
	}
	switch s.Role {
	case Leader:
		return "leader" + tp
	case Follower:
		return "follower" + tp
	case Followers:
		return "followers" + tp
	case Controller:
		return "controller"
	case Coordinator:
		return "coordinator(" + s.Name + ")"
	case GroupLeader:
		return "group_leader(" + s.Name + ")"
	case Rack:
		return "rack(" + s.Name + ")"
	case Brokers:
		return "brokers"
	case Clients:
		return "clients"
	case Producers:
		return "producers"
	case Consumers:
		return "consumers"
	case ZooKeeper:
		return "zookeeper"
	case Random:
		return "random(" + s.Inner.String() + ")"
	case Others:
		return "others"
	case Subject:
		return "$node"
	}
	return s.Name
}

// Trigger says when a fault fires. Exactly one of At, Every, On and Disk is set.
type Trigger struct {
	At    kafka.Nanos // absolute virtual time, >= 0; -1 = unset
	Every kafka.Nanos // repeat, first at From
	From  kafka.Nanos
	Times int // with Every; 0 = until the end of the chaos phase
	On    *EventTrigger
	Disk  *DiskTrigger
}

// EventTrigger fires on the nth noted event that matches, after a delay drawn
// from [DelayMin, DelayMax].
type EventTrigger struct {
	Kind     event.Kind
	TP       kafka.TopicPartition // Topic "" = any; Partition -1 = any of the topic
	Actor    *Selector            // the noting actor; nil = any
	Text     string               // Event.Text must contain it
	Group    string               // the event's group; "" = any
	State    string               // the event's state of a group (Stable), or of a member (stable); "" = any
	Acks     string               // all, 0 or 1: the event's acks; "" = any
	ISR      int                  // the event's in-sync set has so many members; 0 = any
	Nth      int                  // from 1
	Records  int64                // instead of Nth: when the events' records add up to it
	After    kafka.Nanos          // not before
	DelayMin kafka.Nanos
	DelayMax kafka.Nanos
}

// DiskTrigger fires before the nth matching disk operation.
type DiskTrigger struct {
	Node  Selector
	Op    string // read, append, write, sync, truncate, rename, remove, create, syncdir
	Match string // glob over the path
	Nth   int    // from 1
	After kafka.Nanos
	// Since: operations count only from the node's first event of this kind on, such as
	// truncated; 0 = from the start of the workload.
	Since event.Kind
}

// Planned is a fault with its trigger, as a scenario lists it.
type Planned struct {
	Trigger Trigger
	Fault   Fault
	// For ends the fault after this time (0 = it stays until the heal, or has no end).
	For kafka.Nanos
	// RestartAfter restarts what a kill, power loss or stop took down (0 = at the heal).
	RestartAfter kafka.Nanos
	Line         int // in the scenario file, 0 if generated
}
