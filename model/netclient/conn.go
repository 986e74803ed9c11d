package netclient

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
)

type connState uint8

const (
	disconnected connState = iota
	connecting
	connected
)

// conn is the connection to one address, or the memory of it.
type conn struct {
	addr          step.Addr
	id            step.ConnID // 0 while disconnected
	state         connState
	attempts      int         // failures since it was last up
	backoffUntil  kafka.Nanos // no connect before this
	setupDeadline kafka.Nanos // while connecting
	inFlight      []request   // in sending order, oldest first
}

type request struct {
	correlation int32
	req         kmsg.Request
	tag         any
	sent        kafka.Nanos
	deadline    kafka.Nanos
}

// ready: it is up, and has fewer requests in flight than the limit; 0 is none.
func (n *conn) ready(limit int) bool {
	return n.state == connected && (limit == 0 || len(n.inFlight) < limit)
}

// closedFailure: what waited for a connection that never opened was never sent.
func (n *conn) closedFailure() Failure {
	if n.state == connecting {
		return Refused
	}
	return Disconnected
}

func (n *conn) pop() request {
	r := n.inFlight[0]
	last := len(n.inFlight) - 1
	if last > 0 {
		copy(n.inFlight, n.inFlight[1:])
	}
	n.inFlight[last] = request{}
	n.inFlight = n.inFlight[:last]
	return r
}

// nextDeadline is the earliest time at which the connection is given up.
func (n *conn) nextDeadline() kafka.Nanos {
	at := kafka.Forever
	if n.state == connecting {
		at = n.setupDeadline
	}
	for i := range n.inFlight {
		at = min(at, n.inFlight[i].deadline)
	}
	return at
}

func (c *Client) find(to step.Addr) *conn {
	for _, n := range c.conns {
		if n.addr == to {
			return n
		}
	}
	return nil
}

func (c *Client) mustFind(to step.Addr) *conn {
	n := c.find(to)
	if n == nil || n.state == disconnected {
		panic("netclient: Send without a connection to " + to.String())
	}
	return n
}

func (c *Client) byID(id step.ConnID) *conn {
	if id == 0 {
		return nil
	}
	for _, n := range c.conns {
		if n.id == id {
			return n
		}
	}
	return nil
}

// Connecting reports whether a connection to the address is being made.
func (c *Client) Connecting(to step.Addr) bool {
	n := c.find(to)
	return n != nil && n.state == connecting
}

// CanConnect reports whether there is no connection to the address and the
// reconnect backoff is over.
func (c *Client) CanConnect(now kafka.Nanos, to step.Addr) bool {
	n := c.find(to)
	return n == nil || n.state == disconnected && now >= n.backoffUntil
}
