package zookeeper

import (
	"encoding/binary"

	"github.com/simkafka/simkafka/model/kafka"
)

// The messages between a Client and the Server. They carry what ZooKeeper's own
// records of the same name carry, less ACLs and passwords; each implements
// step.Folder, and is frozen once sent.

// ConnectRequest is the first message on every connection.
type ConnectRequest struct {
	// Endpoint is the host that the client dialled: in the model all hosts are one
	// actor. ZooKeeper's record has no such field.
	Endpoint string
	// SessionID is 0 for a new session.
	SessionID int64
	// LastZxid is the newest zxid that the client saw; an endpoint that is behind it
	// refuses by closing the connection.
	LastZxid int64
	Timeout  kafka.Nanos // as asked for
}

// ConnectResponse answers it. SessionID 0: the session is gone.
type ConnectResponse struct {
	SessionID int64
	Timeout   kafka.Nanos // negotiated
}

// PingRequest keeps the session alive.
type PingRequest struct{}

// PingResponse answers it.
type PingResponse struct{}

// OpsRequest is a read, a write or a multi.
type OpsRequest struct{ Ops Request }

// OpsResponse answers it. Zxid is the last change that the endpoint had seen.
type OpsResponse struct {
	Zxid    int64
	Results []Result
}

// SetWatchesRequest restores the watches of a session on a new connection (Z-4).
type SetWatchesRequest struct {
	Zxid                int64 // the newest that the client saw
	Data, Exists, Child []string
}

// SetWatchesResponse answers it, after the events of nodes that had changed.
type SetWatchesResponse struct{ Zxid int64 }

// CloseRequest ends the session.
type CloseRequest struct{}

// CloseResponse answers it when the ephemerals are gone.
type CloseResponse struct{ Zxid int64 }

// WatchEvent is pushed to the client.
type WatchEvent struct {
	Type EventType // one of the first four
	Path string
}

// Tags keep the canonical bytes of different messages apart. Fields follow in
// order of declaration.
const (
	tagConnect byte = iota + 1
	tagConnected
	tagPing
	tagPong
	tagOps
	tagResults
	tagSetWatches
	tagWatchesSet
	tagClose
	tagClosed
	tagWatchEvent
)

// Fold appends the canonical encoding.
func (m *ConnectRequest) Fold(dst []byte) []byte {
	dst = foldString(append(dst, tagConnect), m.Endpoint)
	return foldInts(dst, m.SessionID, m.LastZxid, int64(m.Timeout))
}

// Fold appends the canonical encoding.
func (m *ConnectResponse) Fold(dst []byte) []byte {
	return foldInts(append(dst, tagConnected), m.SessionID, int64(m.Timeout))
}

// Fold appends the canonical encoding.
func (m *PingRequest) Fold(dst []byte) []byte { return append(dst, tagPing) }

// Fold appends the canonical encoding.
func (m *PingResponse) Fold(dst []byte) []byte { return append(dst, tagPong) }

// Fold appends the canonical encoding.
func (m *OpsRequest) Fold(dst []byte) []byte {
	dst = foldInts(append(dst, tagOps), int64(len(m.Ops)))
	for i := range m.Ops {
		op := &m.Ops[i]
		dst = append(dst, byte(op.Type), flags(op.Ephemeral, op.Sequential, op.Watch))
		dst = foldString(dst, op.Path)
		dst = foldBytes(dst, op.Data)
		dst = foldInts(dst, int64(op.Version))
	}
	return dst
}

// Fold appends the canonical encoding.
func (m *OpsResponse) Fold(dst []byte) []byte {
	dst = foldInts(append(dst, tagResults), m.Zxid, int64(len(m.Results)))
	for i := range m.Results {
		r := &m.Results[i]
		dst = foldString(append(dst, byte(r.Code)), r.Path)
		dst = foldBytes(dst, r.Data)
		dst = foldInts(dst, r.Stat.Czxid, r.Stat.Mzxid, int64(r.Stat.Version), int64(r.Stat.CVersion),
			r.Stat.EphemeralOwner, int64(r.Stat.NumChildren))
		dst = foldStrings(dst, r.Children)
	}
	return dst
}

// Fold appends the canonical encoding.
func (m *SetWatchesRequest) Fold(dst []byte) []byte {
	dst = foldInts(append(dst, tagSetWatches), m.Zxid)
	return foldStrings(foldStrings(foldStrings(dst, m.Data), m.Exists), m.Child)
}

// Fold appends the canonical encoding.
func (m *SetWatchesResponse) Fold(dst []byte) []byte {
	return foldInts(append(dst, tagWatchesSet), m.Zxid)
}

// Fold appends the canonical encoding.
func (m *CloseRequest) Fold(dst []byte) []byte { return append(dst, tagClose) }

// Fold appends the canonical encoding.
func (m *CloseResponse) Fold(dst []byte) []byte { return foldInts(append(dst, tagClosed), m.Zxid) }

// Fold appends the canonical encoding.
func (m *WatchEvent) Fold(dst []byte) []byte {
	return foldString(append(dst, tagWatchEvent, byte(m.Type)), m.Path)
}

func foldInts(dst []byte, ns ...int64) []byte {
	for _, n := range ns {
		dst = binary.AppendVarint(dst, n)
	}
	return dst
}

func foldString(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

func foldBytes(dst, b []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(b))), b...)
}

func foldStrings(dst []byte, ss []string) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(ss)))
	for _, s := range ss {
		dst = foldString(dst, s)
	}
	return dst
}

func flags(a, b, c bool) (f byte) {
	if a {
		f |= 1
	}
	if b {
		f |= 2
	}
	if c {
		f |= 4
	}
	return f
}
