package zkcontroller

import (
	"fmt"
	"slices"
	"strings"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
	"github.com/simkafka/simkafka/model/zookeeper"
)

// fakeZK is a znode tree with sessions and one-shot watches: what the controller
// sees of ZooKeeper, without a network. A request is answered when the world takes
// it from its queue.
type fakeZK struct {
	w     *world
	nodes map[string]*znode
	zxid  int64
	// interfere runs once before the first write to a path is looked at.
	interfere map[string]func()
	// garble: the next read of the path sees nonsense.
	garble map[string]bool
	// written sees every write of a state znode.
	written func(path string, old, data []byte)
	// stale is the number of fenced writes that were refused.
	stale int
}

type znode struct {
	data      []byte
	version   int32
	czxid     int64
	owner     *session
	sequences int
}

type session struct {
	id            kafka.NodeID // whose it is
	number        int
	expired       bool
	data, kids    map[string]bool
	deliver       func(zookeeper.Event)
	loseAnswersOf string // a prefix of the write whose next answer is lost, so that it is tried again
}

func newFakeZK(w *world) *fakeZK {
	z := &fakeZK{w: w, nodes: map[string]*znode{"/": {}}, interfere: map[string]func(){}, garble: map[string]bool{}}
	for _, p := range zookeeper.PersistentPaths() {
		z.create(p, nil, nil)
	}
	return z
}

func (z *fakeZK) session(id kafka.NodeID, deliver func(zookeeper.Event)) *session {
	return &session{id: id, number: len(z.w.sessions), data: map[string]bool{}, kids: map[string]bool{}, deliver: deliver}
}

// key names the session's stream of requests, or of answers and watch events: each
// keeps its order.
func (s *session) key(way string) string { return fmt.Sprintf("%s %d/%d", way, s.id, s.number) }

// zkOf is one session's client.
type zkOf struct {
	z *fakeZK
	s *session
}

func (c *zkOf) Do(in *step.Input, out *step.Effects, reqs []zookeeper.Request, w zookeeper.Waiter) {
	s := c.s
	results := make([][]zookeeper.Result, len(reqs))
	for i, r := range reqs {
		c.z.w.later(s.key("to"), func() {
			results[i] = c.z.request(s, r)
			if i == len(reqs)-1 {
				c.z.w.later(s.key("from"), func() { c.z.w.resume(s, w, results) })
			}
		})
	}
}

func (z *fakeZK) request(s *session, r zookeeper.Request) []zookeeper.Result {
	if s.expired {
		results := make([]zookeeper.Result, len(r))
		for i := range results {
			results[i].Code = zookeeper.SessionExpired
		}
		return results
	}
	last := r[len(r)-1]
	if f := z.interfere[last.Path]; f != nil && (last.Type == zookeeper.OpSetData || last.Type == zookeeper.OpCreate) {
		delete(z.interfere, last.Path)
		f()
	}
	results := z.apply(s, r)
	if s.loseAnswersOf != "" && strings.HasPrefix(r[0].Path, s.loseAnswersOf) && r[0].Type <= zookeeper.OpSetData {
		s.loseAnswersOf = ""
		return z.apply(s, r)
	}
	return results
}

// apply carries a request out; a multi is checked as a whole first.
func (z *fakeZK) apply(s *session, r zookeeper.Request) []zookeeper.Result {
	results := make([]zookeeper.Result, len(r))
	for i := range r {
		if results[i].Code = z.check(&r[i]); results[i].Code != zookeeper.OK {
			if len(r) > 1 && r[i].Type == zookeeper.OpCheck {
				z.stale++
			}
			for j := i + 1; j < len(r); j++ {
				results[j].Code = zookeeper.RuntimeInconsistency
			}
			return results
		}
	}
	for i := range r {
		z.do(s, &r[i], &results[i])
	}
	return results
}

func (z *fakeZK) check(op *zookeeper.Op) zookeeper.Code {
	n := z.nodes[op.Path]
	switch op.Type {
	case zookeeper.OpCreate:
		if n != nil && !op.Sequential {
			return zookeeper.NodeExists
		}
		if z.nodes[parent(op.Path)] == nil {
			return zookeeper.NoNode
		}
		return zookeeper.OK
	case zookeeper.OpDelete, zookeeper.OpSetData, zookeeper.OpCheck:
		if n == nil {
			return zookeeper.NoNode
		}
		if op.Version != zookeeper.AnyVersion && op.Version != n.version {
			return zookeeper.BadVersion
		}
		return zookeeper.OK
	}
	return zookeeper.OK
}

func (z *fakeZK) do(s *session, op *zookeeper.Op, r *zookeeper.Result) {
	n := z.nodes[op.Path]
	switch op.Type {
	case zookeeper.OpCreate:
		owner := s
		if !op.Ephemeral {
			owner = nil
		}
		z.create(op.Path, op.Data, owner)
	case zookeeper.OpDelete:
		z.delete(op.Path)
	case zookeeper.OpSetData:
		z.set(op.Path, op.Data)
	case zookeeper.OpGetData:
		if n == nil {
			r.Code = zookeeper.NoNode
			return
		}
		r.Data = n.data
		if z.garble[op.Path] {
			delete(z.garble, op.Path)
			r.Data = []byte("nonsense")
		}
		s.data[op.Path] = s.data[op.Path] || op.Watch
	case zookeeper.OpExists:
		s.data[op.Path] = s.data[op.Path] || op.Watch
		if n == nil {
			r.Code = zookeeper.NoNode
			return
		}
	case zookeeper.OpGetChildren:
		if n == nil {
			r.Code = zookeeper.NoNode
			return
		}
		r.Children = z.children(op.Path)
		s.kids[op.Path] = s.kids[op.Path] || op.Watch
	}
	if n := z.nodes[op.Path]; n != nil {
		r.Stat = zookeeper.Stat{Czxid: n.czxid, Version: n.version}
	}
}

func parent(path string) string {
	if i := strings.LastIndexByte(path, '/'); i > 0 {
		return path[:i]
	}
	return "/"
}

func (z *fakeZK) children(path string) (names []string) {
	for p := range z.nodes {
		if p != "/" && parent(p) == path {
			names = append(names, p[strings.LastIndexByte(p, '/')+1:])
		}
	}
	slices.Sort(names)
	return names
}

func (z *fakeZK) create(path string, data []byte, owner *session) {
	if z.nodes[path] != nil || z.nodes[parent(path)] == nil {
		panic("fake: cannot create " + path)
	}
	z.zxid++
	if z.written != nil {
		z.written(path, nil, data)
	}
	z.nodes[path] = &znode{data: data, czxid: z.zxid, owner: owner}
	z.fire(path, zookeeper.Created)
	z.fireChildren(parent(path))
}

func (z *fakeZK) createSequential(prefix string, data []byte) {
	n := z.nodes[parent(prefix)]
	z.create(fmt.Sprintf("%s%010d", prefix, n.sequences), data, nil)
	n.sequences++
}

func (z *fakeZK) set(path string, data []byte) {
	n := z.nodes[path]
	z.zxid++
	if z.written != nil {
		z.written(path, n.data, data)
	}
	n.data, n.version = data, n.version+1
	z.fire(path, zookeeper.DataChanged)
}

func (z *fakeZK) delete(path string) {
	z.zxid++
	delete(z.nodes, path)
	z.fire(path, zookeeper.Deleted)
	z.fireChildren(parent(path))
}

func (z *fakeZK) fire(path string, t zookeeper.EventType) {
	for _, s := range z.w.sessions {
		if s.data[path] && !s.expired {
			delete(s.data, path)
			z.w.later(s.key("from"), func() { s.deliver(zookeeper.Event{Type: t, Path: path}) })
		}
	}
}

func (z *fakeZK) fireChildren(path string) {
	for _, s := range z.w.sessions {
		if s.kids[path] && !s.expired {
			delete(s.kids, path)
			z.w.later(s.key("from"), func() { s.deliver(zookeeper.Event{Type: zookeeper.ChildrenChanged, Path: path}) })
		}
	}
}

// expire ends a session: its ephemerals go, in order of creation.
func (z *fakeZK) expire(s *session) {
	s.expired = true
	var paths []string
	for p, n := range z.nodes {
		if n.owner == s {
			paths = append(paths, p)
		}
	}
	slices.SortFunc(paths, func(a, b string) int { return int(z.nodes[a].czxid - z.nodes[b].czxid) })
	for _, p := range paths {
		z.delete(p)
	}
}
