package client

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/netclient"
	"github.com/simkafka/simkafka/model/quirk"
	"github.com/simkafka/simkafka/model/step"
)

// The lane and the timers of every client.
const (
	lane step.Lane = 0

	netTimer  step.TimerKind = 1
	wakeTimer step.TimerKind = 2
)

// networkConfig is what all clients configure alike.
type networkConfig struct {
	bootstrap        []step.Addr
	version          int16 // of Metadata requests
	maxInFlight      int
	requestTimeout   kafka.Nanos
	reconnectBackoff kafka.Nanos
	reconnectMax     kafka.Nanos
	setupTimeout     kafka.Nanos
	retryBackoff     kafka.Nanos
	retryBackoffMax  kafka.Nanos
	metadataMaxAge   kafka.Nanos
	quirks           quirk.Set
}

// network is a client's connections and the keeping of its metadata
// (NetworkClient with its DefaultMetadataUpdater).
type network struct {
	cfg  networkConfig
	net  *netclient.Client
	meta metadata

	needUpdate  bool
	inProgress  bool
	asked       int         // topics of interest when the last request was sent
	refreshed   bool        // an attempt was made
	lastRefresh kafka.Nanos // of the last attempt
	lastSuccess kafka.Nanos
	failures    int // attempts since the last success
	equivalents int // responses in a row that taught nothing
	backoff     kafka.Nanos

	nodeDraws, backoffDraws stream
}

// stream counts the draws of one name, so that no draw shifts another's.
type stream uint64

func (s *stream) draw(in *step.Input, name string) uint64 {
	*s++
	return in.Draw(name, uint64(in.Incarnation)<<32|uint64(*s))
}

// adminNetwork is that of an administrator's client.
func adminNetwork(bootstrap []step.Addr, metadataVersion int16, requestTimeout, backoff kafka.Nanos) network {
	return newNetwork(networkConfig{
		bootstrap: bootstrap, version: metadataVersion, maxInFlight: 1,
		requestTimeout: requestTimeout, setupTimeout: 10 * kafka.Second,
		reconnectBackoff: 50 * kafka.Millisecond, reconnectMax: kafka.Second,
		retryBackoff: backoff, retryBackoffMax: kafka.Second, metadataMaxAge: kafka.Forever,
	})
}

func newNetwork(cfg networkConfig) network {
	return network{cfg: cfg, needUpdate: true, meta: metadata{quirks: cfg.quirks}, net: netclient.New(netclient.Config{
		Lane: lane, TimerKind: netTimer, Name: "client/reconnect", MaxInFlight: cfg.maxInFlight,
		RequestTimeout: cfg.requestTimeout, SetupTimeout: cfg.setupTimeout,
		ReconnectBackoff: cfg.reconnectBackoff, ReconnectBackoffMax: cfg.reconnectMax,
	})}
}

// handle takes an input of the connections in. It keeps the metadata and returns
// the other requests that ended; they are valid until the next call.
func (n *network) handle(in *step.Input, out *step.Effects) []netclient.Completion {
	done, mine := n.net.Handle(in, out)
	if !mine {
		return nil
	}
	others := done[:0]
	for i := range done {
		if done[i].Tag == any(n) {
			n.updated(in, out, &done[i])
		} else {
			others = append(others, done[i])
		}
	}
	if len(n.net.Lost()) > 0 {
		n.disconnected(in)
	}
	return others
}

// disconnected: a lost connection may mean stale metadata; while an update is due
// it counts as a failed one, so that updates back off (handleServerDisconnect).
func (n *network) disconnected(in *step.Input) {
	if n.updateDue(in.Now) {
		n.failedUpdate(in)
	}
	n.needUpdate = true
}

// requestUpdate asks for newer metadata as soon as the backoff allows.
func (n *network) requestUpdate() { n.needUpdate = true }

// requestUpdateNow asks for newer metadata without backoff, as for new topics
// (Metadata.requestUpdateForNewTopics).
func (n *network) requestUpdateNow() { n.needUpdate, n.refreshed, n.equivalents = true, false, 0 }

// nextUpdate is when metadata may be asked for next.
func (n *network) nextUpdate() kafka.Nanos {
	if n.inProgress {
		return kafka.Forever
	}
	if !n.refreshed {
		return 0
	}
	at := n.lastRefresh + n.backoff
	if !n.needUpdate {
		at = max(at, saturatingAdd(n.lastSuccess, n.cfg.metadataMaxAge))
	}
	return at
}

func (n *network) updateDue(now kafka.Nanos) bool { return n.nextUpdate() <= now }

// ready reports whether a request can go to a broker now. Metadata that is due
// goes first (NetworkClient.isReady); a connection is started in any case.
func (n *network) ready(in *step.Input, out *step.Effects, id kafka.NodeID) bool {
	addr, ok := n.meta.addr(id)
	return ok && n.net.Ready(in, out, addr) && !n.updateDue(in.Now)
}

// maybeUpdate sends a metadata request if one is due and a node can take it. It
// returns when to come back, Forever if an input will tell.
func (n *network) maybeUpdate(in *step.Input, out *step.Effects) kafka.Nanos {
	if at := n.nextUpdate(); at > in.Now {
		return at
	}
	addr, found := n.leastLoaded(in)
	if !found {
		return in.Now + max(n.cfg.reconnectBackoff, kafka.Millisecond)
	}
	if !n.net.Ready(in, out, addr) {
		return kafka.Forever
	}
	n.net.Send(in, out, addr, n.metadataRequest(), 0, n)
	n.inProgress, n.asked = true, len(n.meta.topics)
	return kafka.Forever
}

func (n *network) metadataRequest() *kmsg.MetadataRequest {
	r := kmsg.NewPtrMetadataRequest()
	r.SetVersion(n.cfg.version)
	r.Topics = make([]kmsg.MetadataRequestTopic, len(n.meta.topics))
	for i, t := range n.meta.topics {
		r.Topics[i].Topic = &t.name
	}
	return r
}

// leastLoaded picks the node to ask: one that is up with the fewest requests in
// flight, else one that is connecting, else one that may be connected to. It looks
// from a drawn place on. False when every node is in its reconnect backoff.
func (n *network) leastLoaded(in *step.Input) (step.Addr, bool) {
	count := len(n.meta.brokers)
	if count == 0 {
		count = len(n.cfg.bootstrap)
	}
	if count == 0 {
		return step.Addr{}, false
	}
	start := int(step.Below(n.nodeDraws.draw(in, "client/metadata-node"), uint64(count)))
	var best step.Addr
	rank, load := 0, 0 // 3 up, 2 connecting, 1 may connect
	for i := range count {
		addr := n.node((start + i) % count)
		inFlight := n.net.InFlight(addr)
		switch {
		case n.net.CanSend(addr):
			if rank < 3 || inFlight < load {
				best, rank, load = addr, 3, inFlight
			}
		case rank < 2 && n.net.Connecting(addr):
			best, rank = addr, 2
		case rank < 1 && n.net.CanConnect(in.Now, addr):
			best, rank = addr, 1
		}
	}
	return best, rank > 0
}

func (n *network) node(i int) step.Addr {
	if len(n.meta.brokers) == 0 {
		return n.cfg.bootstrap[i]
	}
	return n.meta.brokers[i].addr
}

// updated ends a metadata request.
func (n *network) updated(in *step.Input, out *step.Effects, c *netclient.Completion) {
	n.inProgress = false
	r, ok := c.Response.(*kmsg.MetadataResponse)
	if !ok || len(r.Brokers) == 0 {
		n.failedUpdate(in)
		return
	}
	n.refreshed, n.lastRefresh, n.lastSuccess = true, in.Now, in.Now
	n.failures = 0
	n.needUpdate = n.meta.update(out, r) || n.asked < len(n.meta.topics) // new ones are due still: Metadata.requestVersion
	n.equivalents++
	if n.meta.learned {
		n.equivalents = 0
	}
	n.setBackoff(in, n.equivalents)
}

func (n *network) failedUpdate(in *step.Input) {
	n.refreshed, n.lastRefresh = true, in.Now
	n.failures++
	n.equivalents = 0
	n.setBackoff(in, n.failures)
}

// setBackoff: updates are retry.backoff.ms apart, more when they fail or teach
// nothing again and again (Metadata.timeToAllowUpdate).
func (n *network) setBackoff(in *step.Input, count int) {
	n.backoff = netclient.Backoff(n.cfg.retryBackoff, n.cfg.retryBackoffMax, max(count-1, 0), n.backoffDraws.draw(in, "client/metadata-backoff"))
}

// saturatingAdd keeps Forever: at + d without overflow, both non-negative.
func saturatingAdd(at, d kafka.Nanos) kafka.Nanos {
	if d >= kafka.Forever-at {
		return kafka.Forever
	}
	return at + d
}
