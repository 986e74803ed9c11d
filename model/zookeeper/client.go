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
	// ConnectTimeout is zookeeper.connection.timeout.ms: unused by the client
	// itself, whose attempts are limited by SessionTimeout / servers (Z-2).
	ConnectTimeout kafka.Nanos
	// MaxInFlight is zookeeper.max.in.flight.requests.
	MaxInFlight int
	// TimerBase is the first of the eight timer kinds that the client may use.
	TimerBase step.TimerKind
}

// Client is a session client inside a broker process, on one lane.
type Client struct {
	cfg ClientConfig
}

// NewClient makes a client; Start connects it.
func NewClient(cfg ClientConfig) *Client { return &Client{cfg: cfg} }

// Start connects and makes a session; Handle will report Connected.
func (c *Client) Start(in *step.Input, out *step.Effects) {}

// Do sends requests, pipelined in order, and calls w.Resume (inside a later
// Handle) when all are answered. Requests lost with a connection are sent again
// until answered, as KafkaZkClient.retryRequestsUntilConnected does: a write
// whose answer was lost may so be applied twice (Z-3). If the session expires,
// the unanswered ones get SessionExpired. w may be nil.
func (c *Client) Do(in *step.Input, out *step.Effects, reqs []Request, w Waiter) {}

// Handle takes an Opened, Refused, Closed, Response or Timer input of the
// client's lane. mine tells whether it was the client's. events are valid until
// the next call.
func (c *Client) Handle(in *step.Input, out *step.Effects) (events []Event, mine bool) {
	return nil, false
}

// NewSession starts a new session after Expired (Z-7: the owner resigned before).
func (c *Client) NewSession(in *step.Input, out *step.Effects) {}

// SessionID is the current session's id, 0 before the first.
func (c *Client) SessionID() int64 { return 0 }

// Connected reports whether the session is usable now.
func (c *Client) Connected() bool { return false }

// Close ends the session, so that its ephemerals vanish; Handle reports Ended
// when the server confirmed it.
func (c *Client) Close(in *step.Input, out *step.Effects) {}
