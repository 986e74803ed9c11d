// Package step is the contract between an actor and whatever runs it (DESIGN 3).
//
// An actor is one crash domain: a broker process, a client process, the
// ZooKeeper ensemble. It is a plain struct with one method, Step: it gets an
// Input, writes Effects, returns. It knows no clock, randomness or I/O other
// than what Input, Effects and its vfs.FS give it.
//
// Lanes. A node has named lanes, each a pool of one or more workers with one
// FIFO queue. A worker runs one step at a time; a step keeps its worker busy for
// the service time that it charged plus the disk time that its vfs calls cost.
// The step's code runs at the beginning of that time; its sends leave, and its
// timers are armed, at the end. State that other lanes must see only at the end
// (the log end offset after an append) is published in a Done continuation.
//
// Connections. A connection belongs to the lane that opened it: Opened, Refused,
// Closed and Response inputs come to that lane. On the accepting side requests
// come to the node's serving lane, one at a time per connection: the next is
// delivered only after Reply (or NoReply) to the one before (Kafka mutes the
// socket). Requests and replies keep their order within a connection.
//
// Crash. When a vfs call returns vfs.ErrCrashed, Step returns it at once; the
// runner drops the step's sends and timers, keeps its notes. Any other error
// from Step: the process exits with that reason after the step's sends. A panic
// is a failed assertion and becomes a reported violation.
package step

import (
	"fmt"

	"github.com/simkafka/simkafka/model/kafka"
)

// Node is an actor.
type Node interface {
	// Lanes lists the node's lanes; read once, at boot. A Lane is an index into it.
	Lanes() []LaneSpec
	Step(in *Input, out *Effects) error
}

// Lane is the index of a lane in Node.Lanes.
type Lane uint8

// LaneSpec describes a lane.
type LaneSpec struct {
	Name    string
	Workers int // at least 1
	// Serves marks the one lane that gets inbound requests and accepted connections.
	Serves bool
}

// Addr is where a node listens.
type Addr struct {
	Host string // also the actor's name, such as broker-1
	Port int32
}

func (a Addr) String() string { return fmt.Sprintf("%s:%d", a.Host, a.Port) }

// ConnID names a connection at one of its ends. Each actor numbers its own
// connections from 1 in order of their making, over all incarnations; 0 is none.
type ConnID uint32

// Kind says what an Input is.
type Kind uint8

// The inputs. Each comment names the fields of Input that it fills beside Kind,
// Lane, Now and Wall.
const (
	// Boot is the first input of an incarnation, on lane 0. Incarnation counts from 1.
	Boot Kind = iota
	// Request: Conn, Correlation, Body, From. On the serving lane.
	Request
	// Response to a request of this node: Conn, Correlation, Body.
	Response
	// Opened: a connection that this node asked for is up: Conn.
	Opened
	// Accepted: somebody connected: Conn, From. On the serving lane.
	Accepted
	// Refused: a connect failed: Conn. Err says refused or timed out.
	Refused
	// Closed: the connection is gone (peer closed or died, reset, cut found out):
	// Conn. No further input for it follows. Not sent to the side that called Close.
	Closed
	// Timer: Timer, Arg, Ref as set.
	Timer
	// Done: the time of an earlier step of this lane's worker is spent: Timer, Arg,
	// Ref as given to Effects.Done. Comes before any other input of that worker.
	Done
	// Flushed: a background flush ended: Flush, Err (nil, or vfs.ErrIO wrapped).
	Flushed
	// Terminate is SIGTERM: stop gracefully, then Effects.Exit.
	Terminate
	NumKinds
)

var kindNames = [NumKinds]string{"boot", "request", "response", "opened", "accepted", "refused",
	"closed", "timer", "done", "flushed", "terminate"}

func (k Kind) String() string { return kindNames[k] }

// Message is the body of a request or response: a kmsg.Request, a kmsg.Response
// or one of the ZooKeeper messages. It is frozen once sent. Only when a request's
// answer was taken may its sender fill the same request value anew, for the next
// request; on the same connection that says that it has done with the answer, too.
type Message any

// TimerKind is the actor's own name for a kind of timer or continuation.
type TimerKind uint16

// FlushID numbers a node's background flushes; the node chooses it.
type FlushID uint64

// Input is what happened.
type Input struct {
	Kind        Kind
	Lane        Lane
	Worker      uint8
	Incarnation int32
	// Now is the node's monotonic clock; all nodes share its origin.
	Now kafka.Nanos
	// Wall is the node's wall clock, which a fault may skew.
	Wall        kafka.TimestampMs
	Conn        ConnID
	Correlation int32
	From        string // actor at the other end
	Body        Message
	Timer       TimerKind
	Arg         int64
	Ref         any
	Flush       FlushID
	Err         error

	draws Draws
}

// Draw is a pure function of (seed, node, name, index): uniform over uint64.
// Index is the caller's own counter for that name (DESIGN 4, simulation 6.4).
func (in *Input) Draw(name string, index uint64) uint64 { return in.draws.Draw(name, index) }

// SetDraws gives the input its source of draws; for runners and tests.
func (in *Input) SetDraws(d Draws) { in.draws = d }
