package simnet

import (
	"github.com/simkafka/simkafka/model/step"
	"github.com/simkafka/simkafka/sim/kernel"
)

// Close implements kernel.Network: the other side hears of it behind what was sent.
func (n *Net) Close(from kernel.ActorID, id step.ConnID, parent uint64) {
	c, side := n.find(from, id)
	if c == nil {
		return
	}
	n.leave(c, side, ErrClosed, parent)
}

// leave ends one side of a connection and tells the other.
func (n *Net) leave(c *conn, side int, why error, parent uint64) {
	if side == acceptor {
		c.inbox.cut(0)
		c.serving = false
	}
	c.end[side].told = true
	if c.opened {
		n.put(c, side, &msg{kind: msgFin, size: 40, err: why, parent: parent})
	}
	n.drop(c, side)
}

// lose: an end learns that the connection is gone. The accepting side learns it
// behind the requests that have arrived. False if the connection was released.
func (n *Net) lose(c *conn, side int, why error) bool {
	e := &c.end[side]
	if !e.live {
		return n.keep(c)
	}
	n.forget(c, side)
	n.forget(c, 1-side)
	if side == acceptor && (c.serving || c.inbox.n > 0) {
		c.inbox.push(&msg{kind: msgFin, err: why})
		return true
	}
	n.k.Deliver(e.actor, &kernel.Delivery{Kind: step.Closed, Lane: e.lane, Conn: e.id, From: c.end[1-side].actor, Err: why})
	return n.drop(c, side)
}

// giveUp: a sender's retransmissions lasted too long. The other side hears nothing.
func (n *Net) giveUp(c *conn, d int) {
	c.dir[d].giveUp = kernel.Handle{}
	if !c.end[d].live {
		c.end[d].told = false // should the other side send, it is reset
		n.forget(c, d)
		n.keep(c)
		return
	}
	n.lose(c, d, ErrTimedOut)
}

// Died implements kernel.Network. A drawn suffix of what the wire has not carried
// is lost, except at an exit, where sockets are drained. Peers of a powerless host
// hear nothing until they send to it after it is back.
func (n *Net) Died(a kernel.ActorID, how kernel.Mode) {
	for _, c := range n.conns {
		for side := range 2 {
			if c.end[side].live && c.end[side].actor == a {
				gen := c.gen
				n.die(c, side, how)
				if c.gen != gen {
					break
				}
			}
		}
	}
}

func (n *Net) die(c *conn, side int, how kernel.Mode) {
	x := &c.dir[side]
	if how != kernel.Exited && c.opened && x.q.n > 0 {
		packet := x.link.next()
		x.q.cut(int(step.Below(x.link.draw(packet, drawCrash, 0), uint64(x.q.n)+1)))
		x.last = n.k.Now()
		if x.q.n > 0 {
			x.last = x.q.at(x.q.n - 1).arrive
		} else {
			n.forget(c, side)
		}
	}
	switch how {
	case kernel.Kill:
		n.leave(c, side, ErrReset, 0)
	case kernel.Exited:
		n.leave(c, side, ErrClosed, 0)
	case kernel.Power:
		if x.lost {
			n.forget(c, side)
		}
		if side == acceptor {
			c.inbox.cut(0)
			c.serving = false
		}
		n.drop(c, side)
	}
}

// Booted implements kernel.Network: what was sent to the host while it had no
// power is retransmitted, and reset.
func (n *Net) Booted(a kernel.ActorID) {
	for _, c := range n.conns {
		for side := range 2 {
			if e := &c.end[side]; e.actor == a && !e.live && !e.told && c.end[1-side].live && c.opened {
				n.retransmit(c, 1-side)
			}
		}
	}
}
