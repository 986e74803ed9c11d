package kernel

import (
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
	"github.com/simkafka/simkafka/model/vfs"
)

// Disk is what the kernel needs of a node's disk. The vfs calls of a step come
// between BeginStep and EndStep.
type Disk interface {
	// BeginStep sets the time at which the step's calls begin. A call that would
	// end after crashAt fails with vfs.ErrCrashed, as do all after it.
	BeginStep(now, crashAt kafka.Nanos)
	// EndStep returns the time that the step's calls took together.
	EndStep() (elapsed kafka.Nanos)
	// BeginFlush starts a background fsync at now and returns when it will be done,
	// not before now.
	BeginFlush(now kafka.Nanos, id step.FlushID, files []vfs.File, dirs []string) (due kafka.Nanos)
	// CompleteFlush ends it; its error is the one that the node gets.
	CompleteFlush(id step.FlushID) error
	// Digest is a running hash of all operations (file, position, length, checksum).
	Digest() uint64
}

// Packet is one message on its way from an actor into the network.
type Packet struct {
	Kind        step.OpKind // OpRequest, OpReply or OpNoReply
	Correlation int32
	Body        step.Message // nil for OpNoReply
	Size        int          // bytes on the wire
	Digest      uint64
	Parent      uint64 // number of the step that sent it
}

// Network carries connections. The kernel calls it, never during another call
// into it except through Deliver's hooks; it calls back with Deliver and Schedule.
type Network interface {
	Connect(from ActorID, conn step.ConnID, lane step.Lane, to step.Addr, parent uint64)
	Close(from ActorID, conn step.ConnID, parent uint64)
	Send(from ActorID, conn step.ConnID, p *Packet)
	// Fire is called when something that the network scheduled is due.
	Fire(arg uint64)
	// Died: the actor's process is gone, with its connections.
	Died(a ActorID, how Mode)
	// Booted: the actor's host is up and its process starts.
	Booted(a ActorID)
}

// Delivery is an input that the network brings to an actor.
type Delivery struct {
	Kind        step.Kind // Request, Response, Opened, Accepted, Refused or Closed
	Lane        step.Lane
	Conn        step.ConnID
	Correlation int32
	From        ActorID
	Body        step.Message
	Err         error
	Digest      uint64
	Parent      uint64
}

// Mode is how a process ends.
type Mode uint8

// The modes.
const (
	// Kill: the process dies, its host lives: peers are told, the page cache stays.
	Kill Mode = iota
	// Power: the host loses power: peers hear nothing, unsynced pages are lost.
	Power
	// Exited: the process ended by itself, after its sends.
	Exited
)

// State is what an actor is doing.
type State uint8

// The states.
const (
	Down    State = iota // no process; its host is up
	Off                  // its host has no power
	Running              // also while paused
)

// Exit describes the end of a process.
type Exit struct {
	Actor       ActorID
	Incarnation int32
	Mode        Mode
	Reason      string
}

// Assertion is a panic inside an actor's step.
type Assertion struct {
	Time    kafka.Nanos
	Seq     uint64
	Actor   string
	Message string
	Stack   string // for people; differs between builds, never folded
}

// Observer sees every noted fact in order, Time, Seq and Actor filled. The event
// is only lent. It may call back into the kernel (At, Crash, Pause).
type Observer interface {
	Event(ev *event.Event)
}

// Record describes one executed step: one event of the run.
type Record struct {
	Time        kafka.Nanos
	Took        kafka.Nanos // service and disk time
	Seq         uint64
	Parent      uint64 // the step that caused it, 0 for the simulator
	Actor       ActorID
	From        ActorID // Request, Response, Accepted: the other end
	Incarnation int32
	Kind        step.Kind
	Lane        step.Lane
	Worker      uint8
	Conn        step.ConnID
	Correlation int32
	Timer       step.TimerKind
	Arg         int64
	Body        step.Message
	Err         error
	Digest      uint64      // of this event alone
	Sum         Fingerprint // after it
}

// Recorder gets every step after it ran; the record is only lent.
type Recorder interface {
	Record(r *Record)
}

// Config configures a kernel. The zero value is a plain run of seed 0.
type Config struct {
	Seed uint64
	// Epoch is the wall clock at time 0; 0 means 2025-01-01T00:00:00Z.
	Epoch kafka.TimestampMs
	// ExploreTies draws the order of entries due at one instant (fault S1).
	ExploreTies bool
	// CheckWire encodes and decodes every kmsg message at delivery and compares;
	// it also finds messages changed after they were sent. Slow.
	CheckWire bool
	// MaxEvents stops the run (Limited); 0 is no limit.
	MaxEvents uint64
	// NoFingerprint leaves the fingerprint out, to measure what it costs.
	NoFingerprint bool
	// CheckpointEvery is the number of events between checkpoints; 0 means 4096.
	CheckpointEvery uint64
}

// Stop says why Run returned.
type Stop uint8

// The reasons.
const (
	ReachedTime Stop = iota // nothing is due up to the time asked for
	ReachedStop             // StopAt
	Halted                  // Halt was called
	Limited                 // MaxEvents
)
