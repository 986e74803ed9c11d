package zookeeper

import (
	"cmp"
	"slices"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
)

// bucket rounds a deadline up to the tick at which the session tracker looks: the
// next multiple, also of a time that is one already (Z-1).
func bucket(t, tick kafka.Nanos) kafka.Nanos { return (t/tick + 1) * tick }

// connect makes a session or attaches a connection to one.
func (s *Server) connect(in *step.Input, out *step.Effects, m *ConnectRequest) {
	v := s.viewOf(m.Endpoint)
	if m.LastZxid > v.zxid {
		// This endpoint would show the client an older state than it has seen.
		out.NoReply(in.Conn, in.Correlation)
		out.Close(in.Conn)
		return
	}
	if m.SessionID == 0 {
		s.create(in, out, v, m)
		return
	}
	out.Charge(s.cfg.ReadServiceTime)
	ses := s.store.session(m.SessionID)
	if ses == nil {
		out.Reply(in.Conn, in.Correlation, &ConnectResponse{})
		return
	}
	if ses.conn != nil {
		// The client gave the old connection up; what is still on it must not be
		// executed after what comes on this one.
		out.Close(ses.conn.id)
		s.detach(ses.conn.id)
	}
	s.attach(in, v, ses)
	s.touch(in, ses)
	out.Reply(in.Conn, in.Correlation, &ConnectResponse{SessionID: ses.id, Timeout: ses.timeout})
}

// create commits a new session with its timeout negotiated.
func (s *Server) create(in *step.Input, out *step.Effects, v *view, m *ConnectRequest) {
	out.Charge(s.cfg.WriteServiceTime)
	timeout := min(max(m.Timeout, s.cfg.MinSessionTimeout), s.cfg.MaxSessionTimeout)
	ses := s.store.newSession(timeout, in.From)
	s.attach(in, v, ses)
	s.touch(in, ses)
	s.armExpiry(out)
	t := &txn{zxid: s.nextZxid(), session: ses.id}
	s.publish(in, out, t, v, answer{in.Conn, in.Correlation, &ConnectResponse{SessionID: ses.id, Timeout: timeout}})
}

func (s *Server) attach(in *step.Input, v *view, ses *session) {
	ses.conn = &conn{id: in.Conn, session: ses, view: v}
	s.conns = append(s.conns, ses.conn)
}

// touch puts the session's end off; ends only move later.
func (s *Server) touch(in *step.Input, ses *session) {
	ses.deadline = bucket(in.Now+ses.timeout, s.cfg.TickTime)
}

// armExpiry keeps one timer at or before the earliest deadline. It is not moved
// when a session is touched: it fires early and is set again.
func (s *Server) armExpiry(out *step.Effects) {
	at := kafka.Forever
	for _, ses := range s.store.sessions {
		at = min(at, ses.deadline)
	}
	if at == kafka.Forever || s.expiry.IsSet() && s.expiryAt <= at {
		return
	}
	out.CancelTimer(&s.expiry)
	s.expiry, s.expiryAt = out.SetTimer(laneRequests, at, timerExpiry, 0, nil), at
}

// expire ends the sessions that are due, earliest first.
func (s *Server) expire(in *step.Input, out *step.Effects) {
	var due []*session
	for _, ses := range s.store.sessions {
		if ses.deadline <= in.Now {
			due = append(due, ses)
		}
	}
	slices.SortStableFunc(due, func(a, b *session) int { return cmp.Compare(a.deadline, b.deadline) })
	for _, ses := range due {
		out.Note(event.Event{Kind: event.SessionExpired, Text: ses.owner})
		s.end(in, out, ses, nil, answer{})
	}
}

// close ends a session at its client's wish. The client closes the connection.
func (s *Server) close(in *step.Input, out *step.Effects, c *conn) {
	zxid := s.store.zxid + 1
	s.end(in, out, c.session, c.view, answer{c.id, in.Correlation, &CloseResponse{Zxid: zxid}})
}

// end commits the end of a session: its ephemerals vanish in one transaction
// (Z-1). An expired client that is still connected loses its connection.
func (s *Server) end(in *step.Input, out *step.Effects, ses *session, at *view, reply answer) {
	out.Charge(s.cfg.WriteServiceTime)
	if c := ses.conn; c != nil {
		s.detach(c.id)
		if at == nil {
			out.Close(c.id)
		}
	}
	s.store.forget(ses.id)
	t := &txn{zxid: s.nextZxid(), session: ses.id, ends: true}
	t.changes = s.store.tree.closeSession(t.zxid, ses.id)
	s.note(out, ses, t.changes)
	s.publish(in, out, t, at, reply)
}
