package zookeeper

import (
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
)

// Pauses of ZooKeeper's client: spinDelay once all servers were tried in vain, a
// random part of a second before each reconnect. maxPingInterval and pingMargin
// are those of its send loop.
const (
	spinDelay       = kafka.Second
	reconnectJitter = 1000 // draws of a millisecond
	maxPingInterval = 10 * kafka.Second
	pingMargin      = kafka.Second
)

// hosts goes round the endpoints in a shuffled order (StaticHostProvider).
type hosts struct {
	order   []step.Addr
	current int
	last    int // where the round began: the endpoint last connected to
	// opened: a connection of this handle was once up, so attempts are reconnects.
	opened bool
	// draws counts this client's draws within the process's life.
	draws uint64
}

// draw keys by incarnation, so that a restarted process draws anew.
func (h *hosts) draw(in *step.Input, name string) uint64 {
	h.draws++
	return in.Draw(name, uint64(in.Incarnation)<<32|h.draws)
}

func (h *hosts) reset(in *step.Input, endpoints []step.Addr) {
	h.order = append(h.order[:0], endpoints...)
	for i := len(h.order) - 1; i > 0; i-- {
		j := step.Below(h.draw(in, "zk-endpoints"), uint64(i+1))
		h.order[i], h.order[j] = h.order[j], h.order[i]
	}
	h.current, h.last, h.opened = -1, -1, false
}

// next moves on and tells how long to wait before the attempt.
func (h *hosts) next(in *step.Input) (wait kafka.Nanos) {
	h.current = (h.current + 1) % len(h.order)
	if h.current == h.last {
		wait = spinDelay
	} else if h.last < 0 {
		h.last = 0
	}
	if h.opened {
		wait += kafka.Nanos(step.Below(h.draw(in, "zk-reconnect"), reconnectJitter)) * kafka.Millisecond
	}
	return wait
}

// schedule plans the next attempt.
func (c *Client) schedule(in *step.Input) {
	c.state = stateWaiting
	c.nextAttempt = in.Now + c.hosts.next(in)
}

// advance does what is due now.
func (c *Client) advance(in *step.Input, out *step.Effects) {
	switch c.state {
	case stateWaiting:
		if in.Now >= c.nextAttempt {
			c.state = stateConnecting
			c.lastSend, c.lastHeard = in.Now, in.Now
			c.conn = out.Connect(c.cfg.Lane, c.hosts.order[c.hosts.current])
		}
	case stateConnecting, stateHandshake:
		if in.Now >= c.lastHeard+c.connectTimeout {
			c.lose(in, out)
		}
	case stateConnected:
		if in.Now >= c.lastHeard+c.readTimeout {
			c.lose(in, out)
		} else if in.Now >= c.lastSend+c.pingAfter() {
			c.send(in, out, xidPing, &PingRequest{})
		}
	}
	if in.Now >= c.firstBy {
		c.firstBy = kafka.Forever
		c.tell(ConnectTimedOut, "")
	}
	c.arm(out)
}

// pingAfter is how long the client may be silent: half the read timeout, a second
// less where that is more than two, and at most ten seconds (Z-2).
func (c *Client) pingAfter() kafka.Nanos {
	half := c.readTimeout / 2
	return min(max(half-pingMargin, min(half, pingMargin)), maxPingInterval)
}

// deadline is when advance has something to do next.
func (c *Client) deadline() kafka.Nanos {
	at := c.firstBy
	switch c.state {
	case stateWaiting:
		at = min(at, c.nextAttempt)
	case stateConnecting, stateHandshake:
		at = min(at, c.lastHeard+c.connectTimeout)
	case stateConnected:
		at = min(at, c.lastHeard+c.readTimeout, c.lastSend+c.pingAfter())
	}
	return at
}

// arm keeps the timer at or before the deadline.
func (c *Client) arm(out *step.Effects) {
	at := c.deadline()
	if at == kafka.Forever || c.timer.IsSet() && c.timerAt <= at {
		return
	}
	out.CancelTimer(&c.timer)
	c.timer, c.timerAt = out.SetTimer(c.cfg.Lane, at, c.cfg.TimerBase+timerMain, 0, nil), at
}

// handshake asks for a session, or for the old one, on a connection that is up.
func (c *Client) handshake(in *step.Input, out *step.Effects) {
	c.state = stateHandshake
	c.hosts.opened = true
	c.send(in, out, xidConnect, &ConnectRequest{Endpoint: c.hosts.order[c.hosts.current].Host,
		SessionID: c.session, LastZxid: c.lastZxid, Timeout: c.cfg.SessionTimeout})
}

func (c *Client) response(in *step.Input, out *step.Effects) {
	c.lastHeard = in.Now
	switch m := in.Body.(type) {
	case *ConnectResponse:
		c.established(in, out, m)
	case *OpsResponse:
		c.answered(in, out, m)
	case *WatchEvent:
		c.watches.fired(m.Type, m.Path)
		c.tell(m.Type, m.Path)
	case *SetWatchesResponse:
		c.lastZxid = max(c.lastZxid, m.Zxid)
	case *CloseResponse:
		c.disconnect(out)
		c.finish(in, out)
		c.closing = false
		c.tell(Ended, "")
	}
}

// established: the session is usable, or gone.
func (c *Client) established(in *step.Input, out *step.Effects, m *ConnectResponse) {
	if m.SessionID == 0 {
		c.disconnect(out)
		c.state = stateExpired
		c.failAll(in, out)
		c.tell(Expired, "")
		return
	}
	c.state = stateConnected
	c.session = m.SessionID
	c.readTimeout = m.Timeout * 2 / 3
	c.connectTimeout = m.Timeout / kafka.Nanos(len(c.cfg.Endpoints))
	c.hosts.last = c.hosts.current
	c.firstBy = kafka.Forever
	c.tell(Connected, "")
	if m := c.watches.restore(c.lastZxid); m != nil {
		c.send(in, out, xidWatches, m)
	}
	c.pump(in, out)
}

// lose gives the connection up. What was on the wire has an unknown outcome and
// will be sent again (Z-3).
func (c *Client) lose(in *step.Input, out *step.Effects) {
	c.disconnect(out)
	if c.state == stateConnected {
		c.tell(Disconnected, "")
	}
	c.calls.sent = 0
	if c.closing {
		c.finish(in, out)
		c.closing = false
		c.tell(Ended, "")
		return
	}
	c.schedule(in)
	c.advance(in, out)
}

func (c *Client) disconnect(out *step.Effects) {
	if c.conn != 0 {
		out.Close(c.conn)
		c.conn = 0
	}
}

// finish is the end of the client.
func (c *Client) finish(in *step.Input, out *step.Effects) {
	c.state = stateClosed
	c.firstBy = kafka.Forever
	out.CancelTimer(&c.timer)
	c.failAll(in, out)
}
