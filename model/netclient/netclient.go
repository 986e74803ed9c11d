// Package netclient keeps an actor's outgoing connections: it connects, backs off,
// sends requests, matches responses and times out. Every actor that asks brokers
// or controllers for something embeds a Client.
//
// It mirrors org.apache.kafka.clients.NetworkClient with ClusterConnectionStates
// and InFlightRequests, and thereby what rides on it: InterBrokerSendThread,
// NodeToControllerChannelManager, ControllerChannelManager's sender and the
// replica fetcher's endpoint.
//
// Left out: the ApiVersions exchange (versions come from the profile), idle
// connection closing (connections.max.idle.ms), throttling, the growth of the
// connection setup timeout with repeated failures.
package netclient

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
)

// Config configures a Client. Durations of zero mean: no limit for the timeouts,
// no waiting for the backoffs.
type Config struct {
	Lane                step.Lane   // owns the connections and the timer
	RequestTimeout      kafka.Nanos // request.timeout.ms
	ReconnectBackoff    kafka.Nanos // reconnect.backoff.ms
	ReconnectBackoffMax kafka.Nanos // reconnect.backoff.max.ms
	SetupTimeout        kafka.Nanos // socket.connection.setup.timeout.ms
	MaxInFlight         int         // per connection; 0 = no limit
	TimerKind           step.TimerKind
	Name                string // names the stream of jitter draws; unique within the actor
}

// Failure says how a request ended.
type Failure uint8

// The ends of a request.
const (
	Answered     Failure = iota // Response is set
	Disconnected                // the connection went away; the request may have been executed
	TimedOut                    // the connection was closed for lateness of this or another request; may have been executed
	Refused                     // the connection never came up: never sent
)

var failureNames = [...]string{"answered", "disconnected", "timed out", "refused"}

func (f Failure) String() string { return failureNames[f] }

// Completion is a request that ended.
type Completion struct {
	To       step.Addr
	Request  kmsg.Request
	Response kmsg.Response // nil unless Answered
	Failure  Failure
	Tag      any         // as given to Send
	Sent     kafka.Nanos // when Send was called
}

// Client is the set of one lane's connections. All its methods belong to steps of
// that lane.
type Client struct {
	cfg         Config
	conns       []*conn // one per address ever used; few
	done        []Completion
	lost        []step.Addr
	correlation int32
	jitter      uint64 // draws taken
	alarm       Alarm
}

// New makes a client without connections.
func New(cfg Config) *Client {
	return &Client{cfg: cfg, alarm: Alarm{Lane: cfg.Lane, Kind: cfg.TimerKind}}
}

// Ready reports whether a request can be sent to the address now: connected, and
// fewer than MaxInFlight requests unanswered. It starts connecting when there is
// no connection and the reconnect backoff is over.
func (c *Client) Ready(in *step.Input, out *step.Effects, to step.Addr) bool {
	n, ok := c.connect(in, out, to)
	return ok && n.ready(c.cfg.MaxInFlight)
}

// CanSend is Ready without starting anything.
func (c *Client) CanSend(to step.Addr) bool {
	n := c.find(to)
	return n != nil && n.ready(c.cfg.MaxInFlight)
}

// Connect starts connecting when there is no connection and the reconnect backoff
// is over. True when a connection exists or is being made: Send is allowed.
func (c *Client) Connect(in *step.Input, out *step.Effects, to step.Addr) bool {
	_, ok := c.connect(in, out, to)
	return ok
}

func (c *Client) connect(in *step.Input, out *step.Effects, to step.Addr) (n *conn, ok bool) {
	if n = c.find(to); n == nil {
		n = &conn{addr: to}
		c.conns = append(c.conns, n)
	}
	if n.state != disconnected {
		return n, true
	}
	if in.Now < n.backoffUntil {
		return n, false
	}
	n.id = out.Connect(c.cfg.Lane, to)
	n.state = connecting
	n.setupDeadline = deadline(in.Now, c.cfg.SetupTimeout)
	c.alarm.Set(out, n.setupDeadline)
	return n, true
}

// Send sends a request that will be answered; it needs Connect or Ready to have
// returned true, and panics without a connection. On a connection still being
// made the request waits; its timeout runs from now. A timeout of 0 is the
// configured one. The request is frozen from here on.
func (c *Client) Send(in *step.Input, out *step.Effects, to step.Addr, req kmsg.Request, timeout kafka.Nanos, tag any) {
	n := c.mustFind(to)
	if timeout == 0 {
		timeout = c.cfg.RequestTimeout
	}
	due := deadline(in.Now, timeout)
	c.correlation++
	n.inFlight = append(n.inFlight, request{correlation: c.correlation, req: req, tag: tag, sent: in.Now, deadline: due})
	out.Request(n.id, c.correlation, req)
	c.alarm.Set(out, due)
}

// SendNoResponse sends a request that gets no answer (produce with acks=0). It is
// done as soon as sent: no Completion follows and it does not count as in flight.
func (c *Client) SendNoResponse(in *step.Input, out *step.Effects, to step.Addr, req kmsg.Request) {
	n := c.mustFind(to)
	c.correlation++
	out.Request(n.id, c.correlation, req)
}

// InFlight counts the unanswered requests to an address.
func (c *Client) InFlight(to step.Addr) int {
	if n := c.find(to); n != nil {
		return len(n.inFlight)
	}
	return 0
}

// BackoffUntil is the time from which Connect will try again, 0 when it may now
// or a connection exists.
func (c *Client) BackoffUntil(to step.Addr) kafka.Nanos {
	if n := c.find(to); n != nil && n.state == disconnected {
		return n.backoffUntil
	}
	return 0
}

// Handle takes an Opened, Refused, Closed, Response or Timer input. mine is false
// when the input is not this client's, and then nothing happened. done and Lost
// are valid until the next call of Handle or Disconnect.
func (c *Client) Handle(in *step.Input, out *step.Effects) (done []Completion, mine bool) {
	if in.Kind == step.Timer {
		if !c.alarm.Owns(in) {
			return nil, false
		}
		c.clear()
		c.onTimer(in, out)
		return c.done, true
	}
	if !ofConnection(in.Kind) {
		return nil, false
	}
	n := c.byID(in.Conn)
	if n == nil {
		return nil, false
	}
	c.clear()
	switch in.Kind {
	case step.Opened:
		n.state = connected
		n.attempts = 0
	case step.Refused:
		c.fail(in, n, Refused)
	case step.Closed:
		c.fail(in, n, n.closedFailure())
	case step.Response:
		c.onResponse(in, n)
	}
	return c.done, true
}

// Lost lists the addresses whose connection went away, or failed to come up, in
// the last Handle or Disconnect, requests in flight or not.
func (c *Client) Lost() []step.Addr { return c.lost }

// Disconnect closes the connection to an address, if there is one, and fails what
// is in flight on it. The reconnect backoff applies.
func (c *Client) Disconnect(in *step.Input, out *step.Effects, to step.Addr) (done []Completion) {
	c.clear()
	if n := c.find(to); n != nil && n.state != disconnected {
		out.Close(n.id)
		c.fail(in, n, n.closedFailure())
	}
	return c.done
}

func ofConnection(k step.Kind) bool {
	return k == step.Response || k == step.Opened || k == step.Refused || k == step.Closed
}

func (c *Client) clear() {
	if len(c.done) > 1 { // the next one takes the place of the first
		clear(c.done[1:])
	}
	c.done, c.lost = c.done[:0], c.lost[:0]
}

// onResponse matches the oldest request: a connection keeps its order.
func (c *Client) onResponse(in *step.Input, n *conn) {
	if len(n.inFlight) == 0 || n.inFlight[0].correlation != in.Correlation {
		panic("netclient: a response out of order")
	}
	r := n.pop()
	c.done = append(c.done, Completion{To: n.addr, Request: r.req, Response: in.Body.(kmsg.Response), Tag: r.tag, Sent: r.sent})
}

// fail ends everything in flight on a connection that is gone, oldest first, and
// starts the reconnect backoff.
func (c *Client) fail(in *step.Input, n *conn, why Failure) {
	for i := range n.inFlight {
		r := &n.inFlight[i]
		c.done = append(c.done, Completion{To: n.addr, Request: r.req, Failure: why, Tag: r.tag, Sent: r.sent})
	}
	clear(n.inFlight)
	n.inFlight = n.inFlight[:0]
	n.state, n.id = disconnected, 0
	n.backoffUntil = in.Now + c.backoff(in, n.attempts)
	n.attempts++
	c.lost = append(c.lost, n.addr)
}

func (c *Client) backoff(in *step.Input, attempts int) kafka.Nanos {
	if c.cfg.ReconnectBackoff <= 0 {
		return 0
	}
	c.jitter++
	draw := in.Draw(c.cfg.Name, uint64(in.Incarnation)<<32|c.jitter)
	return Backoff(c.cfg.ReconnectBackoff, c.cfg.ReconnectBackoffMax, attempts, draw)
}
