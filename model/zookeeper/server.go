package zookeeper

import (
	"slices"

	"github.com/simkafka/simkafka/model/config"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
)

// ServerConfig configures the ensemble.
type ServerConfig struct {
	config.ZooKeeper
	// MaxReadLag bounds how late an endpoint applies a commit: a draw per endpoint
	// and transaction in [0, MaxReadLag]. 0 makes reads linearizable.
	MaxReadLag kafka.Nanos
}

const laneRequests step.Lane = 0

// The server's timers.
const (
	timerExpiry step.TimerKind = iota + 1
	timerView                  // Arg: index into views
)

// Server is the ensemble as an actor. All requests go through one worker in order
// of arrival: a write keeps it busy for WriteServiceTime, its fsync included.
type Server struct {
	cfg   ServerConfig
	store *Store
	views []*view
	conns []*conn // with a session, in order of connection number
	// expiry fires at or before the earliest deadline of a session.
	expiry   step.TimerRef
	expiryAt kafka.Nanos
}

// conn is a client connection that is attached to a session.
type conn struct {
	id      step.ConnID
	session *session
	view    *view
}

// NewServer makes the actor of an ensemble whose durable state is store. The
// tick and the session limits must be positive.
func NewServer(cfg ServerConfig, store *Store) *Server {
	if cfg.TickTime <= 0 || cfg.MinSessionTimeout <= 0 || cfg.MaxSessionTimeout < cfg.MinSessionTimeout {
		panic("zookeeper: tick time or session limits are not set")
	}
	return &Server{cfg: cfg, store: store}
}

// Lanes implements step.Node.
func (s *Server) Lanes() []step.LaneSpec {
	return []step.LaneSpec{laneRequests: {Name: "requests", Workers: 1, Serves: true}}
}

// Step implements step.Node.
func (s *Server) Step(in *step.Input, out *step.Effects) error {
	switch in.Kind {
	case step.Boot:
		s.boot(in, out)
	case step.Request:
		s.request(in, out)
	case step.Closed:
		s.detach(in.Conn)
	case step.Timer:
		s.timer(in, out)
	case step.Terminate:
		out.Exit("terminated")
	}
	return nil
}

// boot takes up the sessions of the store; each gets its whole timeout again.
func (s *Server) boot(in *step.Input, out *step.Effects) {
	for _, ses := range s.store.sessions {
		ses.conn = nil
		s.touch(in, ses)
	}
	s.armExpiry(out)
}

func (s *Server) timer(in *step.Input, out *step.Effects) {
	if in.Timer == timerView {
		s.catchUp(in, out, int(in.Arg))
		return
	}
	s.expiry = step.TimerRef{}
	s.expire(in, out)
	s.armExpiry(out)
}

func (s *Server) request(in *step.Input, out *step.Effects) {
	if m, ok := in.Body.(*ConnectRequest); ok {
		s.connect(in, out, m)
		return
	}
	c := s.find(in.Conn)
	if c == nil {
		// The session ended, or moved to another connection, while this was on its way.
		out.NoReply(in.Conn, in.Correlation)
		return
	}
	s.touch(in, c.session)
	switch m := in.Body.(type) {
	case *PingRequest:
		out.Charge(s.cfg.ReadServiceTime)
		out.Reply(c.id, in.Correlation, &PingResponse{})
	case *OpsRequest:
		s.ops(in, out, c, m.Ops)
	case *SetWatchesRequest:
		out.Charge(s.cfg.ReadServiceTime)
		c.view.setWatches(out, m, c.id)
		out.Reply(c.id, in.Correlation, &SetWatchesResponse{Zxid: c.view.zxid})
	case *CloseRequest:
		s.close(in, out, c)
	default:
		panic("zookeeper: unknown request")
	}
}

func (s *Server) ops(in *step.Input, out *step.Effects, c *conn, req Request) {
	if req.isWrite() {
		s.write(in, out, c, req)
		return
	}
	// Reads are served one by one; a client sends one per request.
	out.Charge(s.cfg.ReadServiceTime)
	results := make([]Result, len(req))
	for i := range req {
		results[i] = c.view.tree.read(&req[i])
		c.view.watch(&req[i], &results[i], c.id)
	}
	out.Reply(c.id, in.Correlation, &OpsResponse{Zxid: c.view.zxid, Results: results})
}

// write commits a request. The state is changed at once and everybody who is
// served later sees it; the answer leaves when the write's time is spent.
func (s *Server) write(in *step.Input, out *step.Effects, c *conn, req Request) {
	out.Charge(s.cfg.WriteServiceTime)
	t := &txn{zxid: s.nextZxid(), session: c.session.id, req: req}
	var results []Result
	results, t.changes = s.store.tree.write(req, t.zxid, c.session.id)
	s.note(out, c.session, t.changes)
	s.noteControlWrite(out, c.session, req, results)
	s.publish(in, out, t, c.view, answer{c.id, in.Correlation, &OpsResponse{Zxid: t.zxid, Results: results}})
}

func (s *Server) nextZxid() int64 {
	s.store.zxid++
	return s.store.zxid
}

func (s *Server) find(id step.ConnID) *conn {
	for _, c := range s.conns {
		if c.id == id {
			return c
		}
	}
	return nil
}

// detach forgets a connection and its watches; the session lives on (Z-1).
func (s *Server) detach(id step.ConnID) {
	c := s.find(id)
	if c == nil {
		return
	}
	c.view.drop(id)
	c.session.conn = nil
	s.conns = slices.DeleteFunc(s.conns, func(d *conn) bool { return d == c })
}
