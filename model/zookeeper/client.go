package zookeeper

import (
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
)

// ClientConfig configures a Client.
type ClientConfig struct {
	// Lane is where the client's inputs arrive; its timers and connections are of
	// this lane.
	Lane step.Lane
	// Endpoints are the servers of the ensemble; at least one.
	Endpoints []step.Addr
	// SessionTimeout is zookeeper.session.timeout.ms, as asked for.
	SessionTimeout kafka.Nanos
	// ConnectTimeout is zookeeper.connection.timeout.ms: the limit for the very first
	// session, after which ConnectTimedOut is reported once; 0 is none. Attempts
	// themselves are limited by SessionTimeout / servers (Z-2).
	ConnectTimeout kafka.Nanos
	// MaxInFlight is zookeeper.max.in.flight.requests.
	MaxInFlight int
	// TimerBase is the first of the eight timer kinds that the client may use.
	TimerBase step.TimerKind
}

// The client's timers, counted from TimerBase.
const (
	timerMain step.TimerKind = iota
	timerFailed
	clientTimers step.TimerKind = 8
)

// clientState is where the client is on its way to a session.
type clientState uint8

const (
	stateIdle       clientState = iota // before Start
	stateWaiting                       // until the next attempt
	stateConnecting                    // a connection was asked for
	stateHandshake                     // ConnectRequest sent
	stateConnected
	stateExpired // until NewSession
	stateClosed  // for ever
)

// Client is a session client inside a broker process, on one lane. It is not told
// of its session's end while it is cut off; it learns it on reconnecting (Z-2).
type Client struct {
	cfg   ClientConfig
	state clientState

	hosts          hosts
	conn           step.ConnID
	session        int64
	readTimeout    kafka.Nanos
	connectTimeout kafka.Nanos
	lastZxid       int64
	lastSend       kafka.Nanos
	lastHeard      kafka.Nanos
	// nextAttempt is when stateWaiting ends.
	nextAttempt kafka.Nanos
	// firstBy is the limit for the first session; Forever once it was kept or missed.
	firstBy kafka.Nanos
	closing bool

	// timer is the only timer; it fires at or before the next deadline and is set
	// again then, so that traffic does not move it.
	timer   step.TimerRef
	timerAt kafka.Nanos

	calls   calls
	watches clientWatches
	events  []Event
}

// NewClient makes a client; Start connects it.
func NewClient(cfg ClientConfig) *Client {
	if len(cfg.Endpoints) == 0 || cfg.MaxInFlight <= 0 || cfg.SessionTimeout <= 0 {
		panic("zookeeper: client without endpoints, requests in flight or session timeout")
	}
	return &Client{cfg: cfg, firstBy: kafka.Forever}
}

// Start connects and makes a session; Handle will report Connected.
func (c *Client) Start(in *step.Input, out *step.Effects) {
	if c.cfg.ConnectTimeout > 0 {
		c.firstBy = in.Now + c.cfg.ConnectTimeout
	}
	c.newSession(in, out)
}

// NewSession starts a new session after Expired (Z-7: the owner resigned before).
func (c *Client) NewSession(in *step.Input, out *step.Effects) {
	if c.state == stateExpired {
		c.newSession(in, out)
	}
}

// newSession is a new ZooKeeper handle: nothing of an earlier session is kept, and
// calls of now on belong to the new one.
func (c *Client) newSession(in *step.Input, out *step.Effects) {
	c.session, c.lastZxid, c.watches = 0, 0, clientWatches{}
	c.readTimeout = c.cfg.SessionTimeout * 2 / 3
	c.connectTimeout = c.cfg.SessionTimeout / kafka.Nanos(len(c.cfg.Endpoints))
	c.hosts.reset(in, c.cfg.Endpoints)
	c.schedule(in)
	c.advance(in, out)
}

// SessionID is the current session's id, 0 before the first. After Expired it is
// still the old one's, until NewSession.
func (c *Client) SessionID() int64 { return c.session }

// Connected reports whether the session is usable now.
func (c *Client) Connected() bool { return c.state == stateConnected }

// Do sends requests, pipelined in order, and calls w.Resume (inside a later
// Handle) when all are answered. Requests lost with a connection are sent again
// until answered, as KafkaZkClient.retryRequestsUntilConnected does: a write
// whose answer was lost may so be applied twice (Z-3). If the session expires, or
// is closed, the unanswered ones get SessionExpired. w may be nil.
func (c *Client) Do(in *step.Input, out *step.Effects, reqs []Request, w Waiter) {
	b := &batch{reqs: reqs, results: make([][]Result, len(reqs)), left: len(reqs), waiter: w}
	if len(reqs) == 0 || c.state == stateExpired || c.state == stateClosed || c.closing {
		c.failLater(in, out, b)
		return
	}
	c.calls.add(b)
	c.pump(in, out)
	c.arm(out)
}

// Close ends the session, so that its ephemerals vanish; Handle reports Ended
// when the server confirmed it. Without a connection nothing can be said to the
// server: the session is left to expire.
func (c *Client) Close(in *step.Input, out *step.Effects) {
	if c.closing || c.state == stateClosed {
		return
	}
	c.closing = true
	if c.state != stateConnected {
		c.disconnect(out)
		c.finish(in, out)
		out.SetTimer(c.cfg.Lane, in.Now, c.cfg.TimerBase+timerFailed, 0, nil)
		return
	}
	c.pump(in, out)
	c.arm(out)
}

// Handle takes an Opened, Refused, Closed, Response or Timer input of the
// client's lane. mine tells whether it was the client's. Waiters resumed by the
// input run inside. events are valid until the next call.
func (c *Client) Handle(in *step.Input, out *step.Effects) (events []Event, mine bool) {
	if in.Kind == step.Timer {
		if in.Timer < c.cfg.TimerBase || in.Timer >= c.cfg.TimerBase+clientTimers {
			return nil, false
		}
	} else if c.conn == 0 || in.Conn != c.conn {
		return nil, false
	}
	c.events = c.events[:0]
	switch in.Kind {
	case step.Opened:
		c.handshake(in, out)
	case step.Refused, step.Closed:
		c.conn = 0
		c.lose(in, out)
	case step.Response:
		c.response(in, out)
	case step.Timer:
		c.onTimer(in, out)
	default:
		return nil, false
	}
	c.arm(out)
	return c.events, true
}

func (c *Client) onTimer(in *step.Input, out *step.Effects) {
	if in.Timer == c.cfg.TimerBase+timerFailed {
		c.resumeFailed(in, out)
		return
	}
	c.timer = step.TimerRef{}
	c.advance(in, out)
}

func (c *Client) tell(t EventType, path string) {
	c.events = append(c.events, Event{Type: t, Path: path})
}
