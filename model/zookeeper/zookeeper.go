// Package zookeeper models a ZooKeeper ensemble, the session client that a
// broker process embeds, and the znodes that Kafka keeps there (cluster 3.1,
// 3.3).
//
// It mirrors ZooKeeper's DataTree, PrepRequestProcessor, SessionTrackerImpl,
// ExpiryQueue, WatchManager and ClientCnxn, and Kafka's ZooKeeperClient (the
// pipelining) and KafkaZkClient (the retry on connection loss, ZkData's JSON).
//
// The ensemble is one actor: one linearizable tree whose writes are fsynced
// before they are answered, served by several endpoints (host names). A session
// moves between endpoints; a connection says in its first message which one it
// dialled. By default every endpoint serves the newest state; with
// ServerConfig.MaxReadLag each endpoint applies commits late by a drawn delay, so
// that reads and watches of sessions connected there lag, never out of order
// (Z-5).
//
// Left out: ACLs, quotas, containers, TTL nodes, persistent watches, observers,
// elections inside the ensemble (it is all there or not at all), session
// passwords, read-only mode. Session touches reach the session tracker at once,
// not with the next follower ping. zxids count from 1 and carry no ensemble
// epoch. The size of an answer is not limited by jute.maxbuffer.
package zookeeper

import "github.com/simkafka/simkafka/model/step"

// Code is the outcome of an operation (KeeperException.Code).
type Code int8

// The codes that the model uses.
const (
	OK Code = iota
	// RuntimeInconsistency marks the operations of a failed multi that come after
	// the one that failed; they were not tried.
	RuntimeInconsistency
	ConnectionLoss
	BadArguments
	NoNode
	BadVersion
	NoChildrenForEphemerals
	NodeExists
	NotEmpty
	SessionExpired
	numCodes
)

var codeNames = [numCodes]string{"OK", "RUNTIMEINCONSISTENCY", "CONNECTIONLOSS", "BADARGUMENTS", "NONODE",
	"BADVERSION", "NOCHILDRENFOREPHEMERALS", "NODEEXISTS", "NOTEMPTY", "SESSIONEXPIRED"}

// String is ZooKeeper's name of the code.
func (c Code) String() string { return codeNames[c] }

// OpType says what an Op does.
type OpType uint8

// The operations. OpCheck is only useful in a multi: it fails unless the node
// has the version.
const (
	OpCreate OpType = iota
	OpDelete
	OpSetData
	OpGetData
	OpExists
	OpGetChildren
	OpCheck
	numOpTypes
)

var opNames = [numOpTypes]string{"create", "delete", "set", "get", "exists", "children", "check"}

func (t OpType) String() string { return opNames[t] }

// isWrite reports whether the operation may stand in a multi and needs a commit.
func (t OpType) isWrite() bool {
	return t == OpCreate || t == OpDelete || t == OpSetData || t == OpCheck
}

// AnyVersion in Op.Version makes a delete or setData unconditional.
const AnyVersion int32 = -1

// Op is one operation. Path is absolute; for a sequential create it is the
// prefix to which the server adds ten digits. Data is immutable once handed over.
type Op struct {
	Type    OpType
	Path    string
	Data    []byte
	Version int32 // of OpDelete, OpSetData, OpCheck; AnyVersion = any
	// Ephemeral and Sequential are for OpCreate.
	Ephemeral, Sequential bool
	// Watch leaves a one-shot watch; for the three reads.
	Watch bool
}

// Request is one request on the wire: one Op is a plain request, several are an
// atomic multi of writes and checks.
type Request []Op

// isWrite reports whether the request needs a commit.
func (r Request) isWrite() bool {
	for i := range r {
		if r[i].Type.isWrite() {
			return true
		}
	}
	return false
}

// Stat describes a node. EphemeralOwner is the owning session, 0 for none.
type Stat struct {
	Czxid, Mzxid      int64
	Version, CVersion int32
	EphemeralOwner    int64
	NumChildren       int32
}

// Result is the outcome of one Op. Path is the path created (with its sequence
// number). Data and Children (sorted by name) are immutable. Stat is filled by
// create, setData and the reads.
//
// In a failed multi nothing was applied: the operations before the failing one
// say OK, it says its error, those after say RuntimeInconsistency. Ask Outcome.
type Result struct {
	Code     Code
	Path     string
	Data     []byte
	Stat     Stat
	Children []string
}

// Outcome is the code of a whole request: OK if every operation succeeded, else
// the code of the one that failed.
func Outcome(results []Result) Code {
	for i := range results {
		if results[i].Code != OK {
			return results[i].Code
		}
	}
	return OK
}

// EventType says what an Event reports.
type EventType uint8

// The first four are watch events, with a path; the others are about the
// session.
const (
	Created EventType = iota
	Deleted
	DataChanged
	ChildrenChanged
	// Connected: the session is usable, for the first time or again.
	Connected
	// Disconnected: the connection is lost; the session may still be alive.
	Disconnected
	// Expired: the server said that the session is gone. Everything pending was
	// answered with SessionExpired; NewSession makes a new one.
	Expired
	// Ended: the session closed by Close is gone, or the attempt to say so failed.
	Ended
	// ConnectTimedOut: no session within ConnectTimeout of Start. Kafka's broker
	// fails its start; the client itself goes on trying.
	ConnectTimedOut
	numEventTypes
)

var eventNames = [numEventTypes]string{"created", "deleted", "data-changed", "children-changed", "connected",
	"disconnected", "expired", "ended", "connect-timed-out"}

func (t EventType) String() string { return eventNames[t] }

// Event is what a client tells its owner.
type Event struct {
	Type EventType
	Path string
}

// Waiter gets the answers of a Do call: results[i] belongs to reqs[i] and has one
// Result per Op.
type Waiter interface {
	Resume(in *step.Input, out *step.Effects, results [][]Result)
}
