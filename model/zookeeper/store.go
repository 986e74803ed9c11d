package zookeeper

import (
	"cmp"
	"slices"

	"github.com/simkafka/simkafka/model/kafka"
)

// Store is what the ensemble has fsynced: the tree, the sessions and the last
// zxid. It outlives the Server that writes it; a restarted ensemble finds all of
// it (and a session gets its full timeout again). One Server at a time uses it.
type Store struct {
	tree     *tree
	zxid     int64
	sessions []*session // by id
	// lastSession is the last id given out.
	lastSession int64
	// epochs is the content of /controller_epoch by version, for notes.
	epochs []kafka.ControllerEpoch
}

// session is a client's session.
type session struct {
	id      int64
	timeout kafka.Nanos
	owner   string // actor that made it
	// node is the broker that registered in this session, NoNode before.
	node kafka.NodeID
	// deadline is the tick at which the session expires (Z-1).
	deadline kafka.Nanos
	// conn is the connection that it is attached to, nil if none. It does not
	// survive the server.
	conn *conn
}

// NewStore makes the store of a new ensemble: an empty root.
func NewStore() *Store { return &Store{tree: newTree()} }

// Get reads a node, for views from outside the simulation. The data is immutable.
func (s *Store) Get(path string) (data []byte, stat Stat, ok bool) {
	n := s.tree.nodes[path]
	if n == nil {
		return nil, Stat{}, false
	}
	return n.data, n.stat(), true
}

// Children lists the names of a node's children in order; nil if it is not there.
func (s *Store) Children(path string) []string {
	if n := s.tree.nodes[path]; n != nil {
		return slices.Clone(n.children)
	}
	return nil
}

// Sessions counts the live sessions.
func (s *Store) Sessions() int { return len(s.sessions) }

func (s *Store) newSession(timeout kafka.Nanos, owner string) *session {
	s.lastSession++
	ses := &session{id: s.lastSession, timeout: timeout, owner: owner, node: kafka.NoNode}
	s.sessions = append(s.sessions, ses)
	return ses
}

func (s *Store) session(id int64) *session {
	if i, found := s.search(id); found {
		return s.sessions[i]
	}
	return nil
}

func (s *Store) forget(id int64) {
	if i, found := s.search(id); found {
		s.sessions = slices.Delete(s.sessions, i, i+1)
	}
}

func (s *Store) search(id int64) (int, bool) {
	return slices.BinarySearchFunc(s.sessions, id, func(ses *session, id int64) int { return cmp.Compare(ses.id, id) })
}

// epochAt is the controller epoch that /controller_epoch held at a version, or -1.
func (s *Store) epochAt(version int32) kafka.ControllerEpoch {
	if version < 0 || int(version) >= len(s.epochs) {
		return -1
	}
	return s.epochs[version]
}
