package client

import (
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/config"
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/netclient"
	"github.com/simkafka/simkafka/model/quirk"
	"github.com/simkafka/simkafka/model/step"
)

// coordinatorListFrom is the FindCoordinator version that asks for several keys.
const coordinatorListFrom = 4

// coordinator is what a member knows of its group's coordinator (groups LK-4). It is
// asked on a connection of its own, beside that for fetches from the same broker.
type coordinator struct {
	net      *netclient.Client
	known    bool
	node     kafka.NodeID
	addr     step.Addr
	heard    bool // it has taken a heartbeat or join since it was found
	seeking  bool // FindCoordinator is on its way
	byBeat   bool // by the heartbeat thread
	retryAt  kafka.Nanos
	failures int // since it was last found
	draws    stream
}

func newCoordinator(cfg *config.Consumer) coordinator {
	return coordinator{net: netclient.New(netclient.Config{
		Lane: lane, TimerKind: coordinatorTimer, Name: "client/coordinator-reconnect", MaxInFlight: consumerMaxInFlight,
		RequestTimeout: cfg.RequestTimeout, SetupTimeout: cfg.ConnectionSetup,
		ReconnectBackoff: cfg.ReconnectBackoff, ReconnectBackoffMax: cfg.ReconnectMax,
	})}
}

// seek asks the least loaded broker for the coordinator, unless that is under way;
// it returns when to come back.
func (g *GroupConsumer) seek(in *step.Input, out *step.Effects) kafka.Nanos {
	c := &g.coord
	if c.seeking {
		return kafka.Forever
	}
	if c.retryAt > in.Now {
		return c.retryAt
	}
	addr, found := g.network.leastLoaded(in)
	if !found {
		return in.Now + max(g.cfg.ReconnectBackoff, kafka.Millisecond)
	}
	if !g.network.net.Ready(in, out, addr) {
		return kafka.Forever
	}
	req := kmsg.NewPtrFindCoordinatorRequest()
	if req.Version = g.cfg.Profile.Versions.FindCoordinator; req.Version >= coordinatorListFrom {
		req.CoordinatorKeys = []string{g.group.Group}
	} else {
		req.CoordinatorKey = g.group.Group
	}
	g.network.net.Send(in, out, addr, req, 0, &g.coord)
	c.seeking, c.byBeat = true, false
	g.note(out, event.CoordinatorSought)
	return kafka.Forever
}

// seekBesides is seek on the heartbeat thread.
func (g *GroupConsumer) seekBesides(in *step.Input, out *step.Effects) kafka.Nanos {
	underWay := g.coord.seeking
	next := g.seek(in, out)
	if !underWay {
		g.coord.byBeat = g.coord.seeking
	}
	return next
}

// coordinatorAnswered ends a FindCoordinator request.
func (g *GroupConsumer) coordinatorAnswered(in *step.Input, out *step.Effects, done *netclient.Completion) {
	c := &g.coord
	resp, ok := done.Response.(*kmsg.FindCoordinatorResponse)
	if !ok && c.byBeat && g.cfg.Profile.Quirks.Has(quirk.LookupFutureLeaks) {
		return
	}
	c.seeking = false
	err, node, host, port := kafka.NetworkException, int32(-1), "", int32(0)
	if ok && resp.Version < coordinatorListFrom {
		err, node, host, port = kafka.ErrorCode(resp.ErrorCode), resp.NodeID, resp.Host, resp.Port
	} else if ok && len(resp.Coordinators) > 0 {
		x := &resp.Coordinators[0]
		err, node, host, port = kafka.ErrorCode(x.ErrorCode), x.NodeID, x.Host, x.Port
	}
	switch {
	case err == kafka.None:
		c.known, c.node, c.addr, c.failures = true, kafka.NodeID(node), step.Addr{Host: strings.Clone(host), Port: port}, 0
		g.note(out, event.CoordinatorFound).Node = c.node
		g.member.session = saturatingAdd(in.Now, g.cfg.SessionTimeout)
	case err.Retriable():
		g.network.requestUpdate()
		c.retryAt = in.Now + netclient.Backoff(g.cfg.RetryBackoff, g.cfg.RetryBackoffMax, c.failures, c.draws.draw(in, "client/find-coordinator"))
		c.failures++
	default:
		g.raise("coordinator of group " + g.group.Group + ": " + err.String())
	}
}

// coordinatorLost gives the coordinator up, and with it all requests that it has not
// answered (LK-5).
func (g *GroupConsumer) coordinatorLost(in *step.Input, out *step.Effects, why string) {
	c := &g.coord
	if !c.known {
		return
	}
	c.known, c.heard = false, false
	e := g.note(out, event.CoordinatorLost)
	e.Node, e.Text = c.node, why
	g.finished = append(g.finished, c.net.Disconnect(in, out, c.addr)...)
}

// callKind is what is asked of the coordinator.
type callKind uint8

const (
	joinCall callKind = iota
	syncCall
	heartbeatCall
	leaveCall
	commitCall
	fetchCall
)

// asked is a request to the coordinator on its way.
type asked struct {
	kind   callKind
	sent   memberID // as it was when the request left
	commit *commit
	parts  []*assigned // whose committed offset is asked for
}

// ask sends a request to the coordinator. False: it cannot be reached, and is given up.
func (g *GroupConsumer) askCoordinator(in *step.Input, out *step.Effects, req kmsg.Request, timeout kafka.Nanos, c *asked) bool {
	if !g.coord.known {
		return false
	}
	if !g.coord.net.Connect(in, out, g.coord.addr) {
		g.coordinatorLost(in, out, "not reachable")
		g.coord.retryAt = in.Now + g.cfg.RetryBackoff
		return false
	}
	c.sent = g.member.memberID
	g.coord.net.Send(in, out, g.coord.addr, req, timeout, c)
	return true
}

// unchanged: the member is still who it was when the request left.
func (g *GroupConsumer) unchanged(c *asked) bool { return c.sent == g.member.memberID }

// callEnded ends a request to the coordinator.
func (g *GroupConsumer) callEnded(in *step.Input, out *step.Effects, done *netclient.Completion) {
	c := done.Tag.(*asked)
	if done.Response == nil {
		g.coordinatorLost(in, out, done.Failure.String())
		g.coord.retryAt = max(g.coord.retryAt, in.Now+g.cfg.RetryBackoff)
	}
	switch c.kind {
	case joinCall:
		if g.inPoll() {
			g.joinEnded(in, out, c, done.Response)
		} else { // nobody looks: the heartbeat thread sleeps while the member joins
			g.join.held = &heldAnswer{c, done.Response}
		}
	case syncCall:
		g.syncEnded(in, out, c, done.Response)
	case heartbeatCall:
		g.heartbeatEnded(in, out, c, done.Response)
	case leaveCall:
		g.app.left = true
	case commitCall:
		g.commitEnded(in, out, c, done.Response)
	case fetchCall:
		g.committedFetched(in, out, c, done.Response)
	}
}
