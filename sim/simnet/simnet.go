// Package simnet is the simulated network under sim/kernel: TCP connections over
// directed links (DESIGN 6).
//
// It stands for the sockets under org.apache.kafka.common.network.Selector and
// SocketServer: a connection keeps its order both ways; the accepting side is given
// one request at a time, the rest wait in the socket until the answer leaves
// (Kafka mutes the channel); loss is seen as the delay of a retransmission; a cut
// is silence, after which what was in flight arrives by retransmission; a killed
// process resets its connections, a powerless host says nothing. A request whose
// connection died may still be executed: what has arrived before the end of a
// connection is served first.
//
// A link is named by its two actors. The n-th packet on it has its own draws, so
// that no other link's traffic and no fault elsewhere changes them (simulation 6.4).
// Idle connections and idle links cost no events.
//
// Left out: congestion and receive windows (a sender is never blocked), the effect
// of lost acknowledgements on a sender whose data arrives, bandwidth of the
// receiver's card, keepalive probes, half-close, name resolution.
package simnet

import (
	"errors"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
	"github.com/simkafka/simkafka/sim/kernel"
	"github.com/simkafka/simkafka/sim/kernel/dist"
)

// What Refused and Closed inputs carry as Err.
var (
	ErrRefused  = errors.New("connection refused")
	ErrTimedOut = errors.New("connection timed out")
	ErrNoHost   = errors.New("unknown host")
	ErrReset    = errors.New("connection reset by peer")
	ErrClosed   = errors.New("connection closed by peer")
)

// Config configures a network. New replaces zero durations by the defaults.
type Config struct {
	// Latency is one way, per message. Default: uniform 0.2 to 0.5 ms.
	Latency dist.Dist
	// Loopback is the latency between actors on one host. Default 20 us.
	Loopback kafka.Nanos
	// Bandwidth of each directed link, bytes per second; 0 is unlimited.
	Bandwidth int64
	// NIC is what each actor can send to all others together, bytes per second; 0
	// is unlimited.
	NIC int64
	// LossPPM is the share of packets lost, per million.
	LossPPM int64
	// ConnectTimeout ends a connection attempt into silence. Default 10 s
	// (socket.connection.setup.timeout.ms).
	ConnectTimeout kafka.Nanos
	// RTO is the first retransmission timeout; it doubles up to MaxRTO. Defaults
	// 200 ms and 120 s, as Linux.
	RTO    kafka.Nanos
	MaxRTO kafka.Nanos
	// RetransmitTimeout is how long a sender tries before it gives a connection up.
	// Default 15 min.
	RetransmitTimeout kafka.Nanos
}

// Defaults are the values that New uses for zeros.
func Defaults() Config {
	return Config{
		Latency:           dist.Uniform(200*kafka.Microsecond, 500*kafka.Microsecond),
		Loopback:          20 * kafka.Microsecond,
		ConnectTimeout:    10 * kafka.Second,
		RTO:               200 * kafka.Millisecond,
		MaxRTO:            120 * kafka.Second,
		RetransmitTimeout: 15 * kafka.Minute,
	}
}

// Net is the network of one simulation.
type Net struct {
	k     *kernel.Kernel
	cfg   Config
	draws step.Draws
	conns []*conn // by index; unused ones are in free
	free  []uint32
	ends  []idTable     // by actor: its connections
	links [][]*link     // by from, to; made at first use
	all   []*link       // in order of making
	nic   []kafka.Nanos // by actor: when its card is free
	rules []*rule
	hooks []*hook
	held  []heldMessage
	holds uint64 // ids given out
}

// New makes a network and attaches it to k.
func New(k *kernel.Kernel, cfg Config) *Net {
	d := Defaults()
	if cfg.Latency == (dist.Dist{}) {
		cfg.Latency = d.Latency
	}
	for _, p := range []struct{ v, d *kafka.Nanos }{
		{&cfg.Loopback, &d.Loopback}, {&cfg.ConnectTimeout, &d.ConnectTimeout}, {&cfg.RTO, &d.RTO},
		{&cfg.MaxRTO, &d.MaxRTO}, {&cfg.RetransmitTimeout, &d.RetransmitTimeout},
	} {
		if *p.v == 0 {
			*p.v = *p.d
		}
	}
	n := &Net{k: k, cfg: cfg, draws: k.Draws().Sub("net")}
	k.SetNetwork(n)
	return n
}

// Connections counts the connections that at least one side has.
func (n *Net) Connections() int { return len(n.conns) - len(n.free) }

// What a scheduled event of a connection is for: the low byte of its argument.
const (
	evArrive   = iota // 0, 1: the head of a direction arrives
	_                 //
	evGiveUp          // 2, 3: the sender of a direction gives up
	_                 //
	evReset           // 4, 5: a reset reaches an end
	_                 //
	evSyn             // the first packet reaches the acceptor
	evSynAck          // the answer reaches the opener
	evRefuse          // the refusal reaches the opener
	evRetrySyn        // the opener tries again
	evTimeout         // the opener gives up
)

// arg packs an event's purpose, its connection and that connection's generation.
func (c *conn) arg(what int) uint64 {
	return uint64(c.gen)<<32 | uint64(c.index)<<8 | uint64(what)
}

// Fire implements kernel.Network.
func (n *Net) Fire(arg uint64) {
	c := n.conns[arg>>8&0xffffff]
	if c.gen != uint32(arg>>32) {
		return
	}
	switch what := int(arg & 0xff); what {
	case evArrive, evArrive + 1:
		n.arrive(c, what-evArrive)
	case evGiveUp, evGiveUp + 1:
		n.giveUp(c, what-evGiveUp)
	case evReset, evReset + 1:
		c.reset[what-evReset] = kernel.Handle{}
		n.lose(c, what-evReset, ErrReset)
	case evSyn:
		n.synArrives(c)
	case evSynAck:
		n.synAckArrives(c)
	case evRefuse:
		n.refusalArrives(c)
	case evRetrySyn:
		n.sendSyn(c)
	case evTimeout:
		c.timeout = kernel.Handle{}
		n.refuse(c, ErrTimedOut)
	}
}
