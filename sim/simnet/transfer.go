package simnet

import (
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
	"github.com/simkafka/simkafka/sim/kernel"
)

// Send implements kernel.Network. On a connection that the actor has no more, the
// message is lost; a Closed input tells or has told so.
func (n *Net) Send(from kernel.ActorID, id step.ConnID, p *kernel.Packet) {
	c, side := n.find(from, id)
	if c == nil {
		return
	}
	m := msg{corr: p.Correlation, size: int32(p.Size), body: p.Body, digest: p.Digest, parent: p.Parent}
	if p.Kind == step.OpRequest {
		if side != opener {
			n.k.Fail(from, "a request on an accepted connection")
			return
		}
		n.put(c, side, &m)
		return
	}
	if side != acceptor {
		n.k.Fail(from, "a reply on a connection that the actor opened")
		return
	}
	if p.Kind == step.OpReply {
		m.kind = msgReply
		n.put(c, side, &m)
	}
	if p.Correlation != -1 {
		n.unmute(c)
	}
}

// put queues a message in a direction and sends it if the connection is open.
func (n *Net) put(c *conn, d int, m *msg) {
	x := &c.dir[d]
	p := x.q.push(m)
	if !c.opened {
		return
	}
	n.launch(c, d, p)
	if x.q.n == 1 {
		n.expect(c, d)
	}
}

// launch sends a queued message: it gets its time of arrival.
func (n *Net) launch(c *conn, d int, m *msg) {
	x := &c.dir[d]
	m.sent, m.arrive = n.k.Now(), n.k.Now()
	if x.link.cut || x.black {
		m.lost = intoSilence
		return
	}
	at := n.transmit(x.link, int(m.size))
	if at == kafka.Forever {
		m.lost = byDraws
		return
	}
	m.arrive = max(at, x.last)
	x.last = m.arrive
}

// expect schedules the arrival of a direction's new head.
func (n *Net) expect(c *conn, d int) {
	x := &c.dir[d]
	head := x.q.at(0)
	switch {
	case head.lost == notLost && !x.black:
		x.next = n.k.Schedule(head.arrive, c.end[1-d].actor, c.arg(evArrive+d))
	case head.lost == intoSilence && !x.black && !x.link.cut:
		x.lost = true
		n.retransmit(c, d)
	default:
		n.stall(c, d)
	}
}

// stall: the head met silence. Its retransmissions cost no events: the next one
// that gets through is computed when the silence ends.
func (n *Net) stall(c *conn, d int) {
	x := &c.dir[d]
	if n.k.State(c.end[d].actor) == kernel.Off {
		n.forget(c, d)
		n.keep(c)
		return
	}
	x.lost = true
	if x.giveUp == (kernel.Handle{}) {
		x.giveUp = n.k.Schedule(x.q.at(0).sent+n.cfg.RetransmitTimeout, c.end[d].actor, c.arg(evGiveUp+d))
	}
}

// forget drops what is on its way in a direction.
func (n *Net) forget(c *conn, d int) {
	x := &c.dir[d]
	n.k.Cancel(x.next)
	n.k.Cancel(x.giveUp)
	x.next, x.giveUp = kernel.Handle{}, kernel.Handle{}
	x.q.cut(0)
	x.lost, x.clogged, x.held = false, false, false
}

// retransmit: the silence that stalled a direction has ended.
func (n *Net) retransmit(c *conn, d int) {
	x := &c.dir[d]
	if !x.lost || x.black || x.link.cut {
		return
	}
	n.k.Cancel(x.giveUp)
	x.giveUp, x.lost = kernel.Handle{}, false
	arrive := n.nextAttempt(x.q.at(0).sent) + x.link.delay(x.link.next())
	for i := range x.q.n {
		m := x.q.at(i)
		m.lost = notLost
		m.arrive = max(m.arrive, arrive)
		x.last = m.arrive
	}
	n.expect(c, d)
}

// hasten: the loss on a link has become less, so that retransmissions still to come
// get through. Those that were drawn to be lost are not waited for.
func (n *Net) hasten(c *conn, d int) {
	x := &c.dir[d]
	if x.next == (kernel.Handle{}) {
		return
	}
	x.last = 0
	for i := range x.q.n {
		m := x.q.at(i)
		retry := n.nextAttempt(m.sent) + x.link.latency.Min() + x.link.extra
		if m.lost == byDraws {
			m.lost, m.arrive = notLost, retry
		}
		m.arrive = max(min(m.arrive, retry), x.last)
		x.last = m.arrive
	}
	n.k.Cancel(x.next)
	n.expect(c, d)
}

// advance moves arrivals forward, in order; to gives a message's new time.
func (n *Net) advance(c *conn, d int, to func(arrive kafka.Nanos) kafka.Nanos) {
	x := &c.dir[d]
	last := kafka.Nanos(0)
	for i := range x.q.n {
		m := x.q.at(i)
		if m.arrive > n.k.Now() {
			m.arrive = max(min(m.arrive, to(m.arrive)), last)
		}
		last = m.arrive
	}
	x.last = last
	if x.next != (kernel.Handle{}) {
		n.k.Cancel(x.next)
		n.expect(c, d)
	}
}

// arrive: the head of a direction reaches the other end.
func (n *Net) arrive(c *conn, d int) {
	x := &c.dir[d]
	x.next = kernel.Handle{}
	switch {
	case x.link.cut || x.black:
		n.stall(c, d)
		return
	case x.link.clogged:
		x.clogged = true
		return
	case len(n.hooks) > 0 && !n.pass(c, d):
		return
	}
	e := &c.end[1-d]
	if x.q.at(0).kind == msgAccept && n.accept(c) {
		x.q.pop()
	} else if e.live {
		m := x.q.pop()
		if !n.receive(c, d, &m) {
			return
		}
	} else if !n.strange(c, d) {
		return
	}
	if x.q.n > 0 {
		n.expect(c, d)
		return
	}
	n.keep(c)
}

// receive hands a message to an end that is there; false if the connection is gone.
func (n *Net) receive(c *conn, d int, m *msg) bool {
	e := &c.end[1-d]
	switch m.kind {
	case msgRequest:
		if c.serving || c.inbox.n > 0 {
			c.inbox.push(m)
			return true
		}
		n.serve(c, m)
	case msgReply:
		n.k.Deliver(e.actor, &kernel.Delivery{Kind: step.Response, Lane: e.lane, Conn: e.id, Correlation: m.corr,
			From: c.end[d].actor, Body: m.body, Digest: m.digest, Parent: m.parent})
	case msgFin:
		return n.lose(c, 1-d, m.err)
	}
	return true
}

// serve gives the accepting side a request.
func (n *Net) serve(c *conn, m *msg) {
	e := &c.end[acceptor]
	c.serving = true
	n.k.Deliver(e.actor, &kernel.Delivery{Kind: step.Request, Lane: e.lane, Conn: e.id, Correlation: m.corr,
		From: c.end[opener].actor, Body: m.body, Digest: m.digest, Parent: m.parent})
}

// unmute: the request given out was answered; what waits in the socket is next.
func (n *Net) unmute(c *conn) {
	c.serving = false
	if c.inbox.n == 0 {
		return
	}
	m := c.inbox.pop()
	if m.kind == msgFin {
		c.inbox.cut(0) // a second end adds nothing
		n.lose(c, acceptor, m.err)
		return
	}
	n.serve(c, &m)
}

// strange: the head reached a host that has no such connection (any more). It
// answers with a reset, unless the sender will hear of it anyway. False if nothing
// is left to do for the direction now.
func (n *Net) strange(c *conn, d int) bool {
	e := &c.end[1-d]
	switch {
	case e.told:
		c.dir[d].q.pop()
		return true
	case n.k.State(e.actor) == kernel.Off, c.dir[1-d].link.cut, c.dir[1-d].black:
		n.stall(c, d)
		return false
	}
	n.forget(c, d)
	if l := c.dir[1-d].link; c.end[d].live && c.reset[d] == (kernel.Handle{}) {
		c.reset[d] = n.k.Schedule(n.k.Now()+l.delay(l.next()), c.end[d].actor, c.arg(evReset+d))
	}
	return n.keep(c) && false
}
