package zookeeper

import (
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
)

// view is what one endpoint has applied. Without read lag there is a single view,
// of the store's own tree; with it each endpoint has a copy that follows later.
type view struct {
	host    string
	lagName string // of its draws
	lags    bool   // tree is the view's own copy
	tree    *tree
	zxid    int64
	data    watchTable // getData and exists
	child   watchTable // getChildren
	pending []late     // committed, not applied here yet, in zxid order
}

// txn is a committed transaction, failed writes and session creations included:
// each has a zxid.
type txn struct {
	zxid    int64
	session int64
	req     Request  // nil for a session's creation and end
	ends    bool     // closeSession
	changes []change // as applied to the store's tree
}

// late is a transaction on its way to a view, with the answer that waits for it.
type late struct {
	due   kafka.Nanos
	txn   *txn
	reply answer
}

// answer is a reply that leaves when the view has applied a transaction; the zero
// value is none.
type answer struct {
	conn        step.ConnID
	correlation int32
	body        step.Message
}

// viewOf is the view of an endpoint, made at its first use.
func (s *Server) viewOf(host string) *view {
	if s.cfg.MaxReadLag == 0 {
		host = ""
	}
	for _, v := range s.views {
		if v.host == host {
			return v
		}
	}
	v := &view{host: host, lagName: "read-lag/" + host, tree: s.store.tree, zxid: s.store.zxid}
	if s.cfg.MaxReadLag > 0 {
		v.lags, v.tree = true, s.store.tree.clone()
	}
	s.views = append(s.views, v)
	return v
}

// publish brings a committed transaction to every view; reply leaves with the
// view at, which is where the writer is connected (nil for none).
func (s *Server) publish(in *step.Input, out *step.Effects, t *txn, at *view, reply answer) {
	for i, v := range s.views {
		r := answer{}
		if v == at {
			r = reply
		}
		if s.cfg.MaxReadLag == 0 {
			v.apply(out, late{txn: t, reply: r})
			continue
		}
		s.enqueue(in, out, i, late{txn: t, reply: r})
	}
}

// enqueue delays a transaction by a drawn lag. The view applies in order, so one
// that is due earlier than its predecessor waits for it.
func (s *Server) enqueue(in *step.Input, out *step.Effects, i int, l late) {
	v := s.views[i]
	lag := step.Between(in.Draw(v.lagName, uint64(l.txn.zxid)), 0, int64(s.cfg.MaxReadLag))
	l.due = in.Now + kafka.Nanos(lag)
	if len(v.pending) == 0 {
		out.SetTimer(laneRequests, l.due, timerView, int64(i), nil)
	}
	v.pending = append(v.pending, l)
}

// catchUp applies what is due at a view.
func (s *Server) catchUp(in *step.Input, out *step.Effects, i int) {
	v := s.views[i]
	n := 0
	for ; n < len(v.pending) && v.pending[n].due <= in.Now; n++ {
		v.apply(out, v.pending[n])
	}
	v.pending = append(v.pending[:0], v.pending[n:]...)
	if len(v.pending) > 0 {
		out.SetTimer(laneRequests, v.pending[0].due, timerView, int64(i), nil)
	}
}

// drop forgets a connection that is gone: its watches and the answers due to it.
func (v *view) drop(c step.ConnID) {
	v.data.drop(c)
	v.child.drop(c)
	for i := range v.pending {
		if v.pending[i].reply.conn == c {
			v.pending[i].reply = answer{}
		}
	}
}

// apply makes a transaction visible: the tree, then the watches, then the answer
// (Z-5).
func (v *view) apply(out *step.Effects, l late) {
	changes := l.txn.changes
	if v.lags {
		changes = v.replay(l.txn)
	}
	v.zxid = l.txn.zxid
	for i := range changes {
		v.fire(out, &changes[i])
	}
	if l.reply.conn != 0 {
		out.Reply(l.reply.conn, l.reply.correlation, l.reply.body)
	}
}

// replay executes a transaction on the view's own copy.
func (v *view) replay(t *txn) (changes []change) {
	switch {
	case t.ends:
		return v.tree.closeSession(t.zxid, t.session)
	case len(t.changes) > 0:
		_, changes = v.tree.write(t.req, t.zxid, t.session)
	}
	return changes
}
