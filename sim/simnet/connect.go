package simnet

import (
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
	"github.com/simkafka/simkafka/sim/kernel"
)

// synRTO is the first retransmission timeout of a handshake; it doubles.
const synRTO = kafka.Second

// Connect implements kernel.Network: a three-way handshake.
func (n *Net) Connect(from kernel.ActorID, id step.ConnID, lane step.Lane, to step.Addr, parent uint64) {
	target, ok := n.k.Lookup(to.Host)
	if !ok {
		n.k.Deliver(from, &kernel.Delivery{Kind: step.Refused, Lane: lane, Conn: id, From: kernel.NoActor, Err: ErrNoHost, Parent: parent})
		return
	}
	c := n.newConn()
	c.end[opener] = end{actor: from, id: id, lane: lane}
	c.end[acceptor] = end{actor: target}
	c.dir[0].link, c.dir[1].link = n.link(from, target), n.link(target, from)
	c.parent = parent
	n.enter(c, opener)
	c.timeout = n.k.Schedule(n.k.Now()+n.cfg.ConnectTimeout, from, c.arg(evTimeout))
	n.sendSyn(c)
}

// sendSyn sends the first packet, again after each loss.
func (n *Net) sendSyn(c *conn) {
	c.tries++
	c.synSent = n.k.Now()
	n.shake(c, 0, evSyn)
}

// shake sends a packet of the handshake in a direction.
func (n *Net) shake(c *conn, d int, event int) {
	l := c.dir[d].link
	packet := l.next()
	if l.silent() || l.draw(packet, drawLoss, 0) < l.lossThreshold() {
		n.retrySyn(c)
		return
	}
	c.progress = n.k.Schedule(n.k.Now()+l.delay(packet), c.end[1-d].actor, c.arg(event))
}

func (l *link) silent() bool { return l.cut || l.clogged }

func (n *Net) retrySyn(c *conn) {
	at := c.synSent + synRTO<<min(c.tries-1, 6)
	c.progress = n.k.Schedule(at, c.end[opener].actor, c.arg(evRetrySyn))
}

func (n *Net) synArrives(c *conn) {
	target := c.end[acceptor].actor
	lane, serves := n.k.Serving(target)
	switch {
	case c.dir[0].link.silent() || n.k.State(target) == kernel.Off:
		n.retrySyn(c)
	case serves:
		c.end[acceptor].lane, c.end[acceptor].inc = lane, n.k.Incarnation(target)
		n.shake(c, 1, evSynAck)
	default:
		n.shake(c, 1, evRefuse)
	}
}

func (n *Net) refusalArrives(c *conn) {
	if c.dir[1].link.silent() {
		n.retrySyn(c)
		return
	}
	n.refuse(c, ErrRefused)
}

func (n *Net) refuse(c *conn, why error) {
	e := &c.end[opener]
	n.k.Deliver(e.actor, &kernel.Delivery{Kind: step.Refused, Lane: e.lane, Conn: e.id, From: kernel.NoActor, Err: why, Parent: c.parent})
	n.drop(c, opener)
}

// synAckArrives opens the connection for its opener. What was sent on it leaves
// now, behind the handshake's last packet.
func (n *Net) synAckArrives(c *conn) {
	if c.dir[1].link.silent() {
		n.retrySyn(c)
		return
	}
	n.k.Cancel(c.timeout)
	c.timeout, c.progress = kernel.Handle{}, kernel.Handle{}
	c.opened = true
	e := &c.end[opener]
	n.k.Deliver(e.actor, &kernel.Delivery{Kind: step.Opened, Lane: e.lane, Conn: e.id, From: c.end[acceptor].actor, Parent: c.parent})
	q := &c.dir[0].q
	waiting := q.n
	q.push(&msg{kind: msgAccept, size: 40, parent: c.parent})
	for range waiting {
		m := q.pop()
		q.push(&m)
	}
	for i := range q.n {
		n.launch(c, 0, q.at(i))
	}
	n.expect(c, 0)
}

// accept makes the acceptor's end. False: its process is not the one that answered.
func (n *Net) accept(c *conn) bool {
	e := &c.end[acceptor]
	if _, serves := n.k.Serving(e.actor); !serves || n.k.Incarnation(e.actor) != e.inc {
		return false
	}
	e.id = n.k.NewConn(e.actor)
	n.enter(c, acceptor)
	n.k.Deliver(e.actor, &kernel.Delivery{Kind: step.Accepted, Lane: e.lane, Conn: e.id, From: c.end[opener].actor, Parent: c.parent})
	return true
}
