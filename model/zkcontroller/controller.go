package zkcontroller

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/config"
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/netclient"
	"github.com/simkafka/simkafka/model/step"
	"github.com/simkafka/simkafka/model/zookeeper"
)

// NumTimers is how many timer kinds a Controller uses, from its timer base on.
const NumTimers = 3

const (
	timerNetwork   step.TimerKind = iota // netclient's own
	timerBackoff                         // Ref = *channel: the pause before a resend
	timerRebalance                       // auto-leader-rebalance-task
)

// ZooKeeper is the part of *zookeeper.Client that the controller needs: requests
// in, all answers of a batch out, connection loss retried within.
type ZooKeeper interface {
	Do(in *step.Input, out *step.Effects, reqs []zookeeper.Request, w zookeeper.Waiter)
}

// Reply takes the answer to a request handed to the controller. It is called
// exactly once, inside the same step or a later one of any lane, unless the
// process dies before.
type Reply func(in *step.Input, out *step.Effects, resp kmsg.Response)

// Controller is the controller module of one broker, active or not.
//
// Its methods may be called from steps of any lane of the broker; one that is
// called while the controller is at work (a reply that calls back) only queues.
type Controller struct {
	cfg       *config.Broker
	zk        ZooKeeper
	lane      step.Lane
	timerBase step.TimerKind
	formats   zookeeper.Formats
	net       *netclient.Client

	queue   []procedure // events not begun
	stack   []procedure // the event in progress, innermost procedure last
	waiting *awaiting   // the batch that the innermost procedure waits for
	results [][]zookeeper.Result
	// expired: a request learned of the expiry; nothing runs before the Expired event.
	expired bool
	closed  bool // Shutdown was called

	active    kafka.NodeID // what /controller said last; -1 = nobody
	ctx       context
	batch     batch
	channels  []*channel // ascending by broker
	rebalance step.TimerRef

	// The step in progress, nil outside of one.
	in  *step.Input
	out *step.Effects
}

// New makes the controller module of a broker. zk is the broker's own client;
// timers and connections belong to lane; timer kinds timerBase to
// timerBase+NumTimers-1 are the controller's.
func New(cfg *config.Broker, zk ZooKeeper, lane step.Lane, timerBase step.TimerKind) *Controller {
	return &Controller{cfg: cfg, zk: zk, lane: lane, timerBase: timerBase,
		formats: zookeeper.FormatsOf(cfg.Profile), active: kafka.NoNode,
		net: netclient.New(netclient.Config{
			Lane: lane, RequestTimeout: cfg.RequestTimeout, SetupTimeout: setupTimeout,
			MaxInFlight: 1, TimerKind: timerBase + timerNetwork, Name: "controller-channel",
		})}
}

// Startup watches /controller and elects (Z-8). Call it once per process, when the
// broker is registered.
func (c *Controller) Startup(in *step.Input, out *step.Effects) {
	c.expired = false
	c.put(&startup{})
	c.pump(in, out)
}

// Shutdown resigns and answers whatever is asked from now on as a broker that is
// not the controller. The session, and with it /controller, is the broker's to end. It
// must not be called from within a Reply.
func (c *Controller) Shutdown(in *step.Input, out *step.Effects) {
	c.closed = true
	c.enter(in, out, c.dropEverything)
}

// Reelect watches /controller again and elects. Call it when the broker is
// registered in a new session, after an Expired event (Z-7).
func (c *Controller) Reelect(in *step.Input, out *step.Effects) {
	c.expired = false
	c.put(&reelect{})
	c.pump(in, out)
}

// HandleZK takes any event of the ZooKeeper client; what is not the controller's
// is ignored. On Expired the queue is cleared and the controller resigns before
// this returns: only then may the broker ask for a new session (Z-7).
func (c *Controller) HandleZK(in *step.Input, out *step.Effects, ev zookeeper.Event) {
	if ev.Type == zookeeper.Expired {
		c.enter(in, out, c.sessionExpired)
		c.pump(in, out)
		return
	}
	if p := c.watched(ev); p != nil {
		c.put(p)
		c.pump(in, out)
	}
}

// HandleInput takes the inputs of the controller's lane: its timers and what
// concerns its connections. mine is false for others.
func (c *Controller) HandleInput(in *step.Input, out *step.Effects) (mine bool) {
	if in.Kind == step.Timer {
		switch in.Timer {
		case c.timerBase + timerBackoff:
			c.enter(in, out, func() { in.Ref.(*channel).backoffOver(c) })
			return true
		case c.timerBase + timerRebalance:
			c.rebalance = step.TimerRef{}
			c.put(&autoRebalance{})
			c.pump(in, out)
			return true
		}
	}
	completions, mine := c.net.Handle(in, out)
	c.enter(in, out, func() {
		for i := range completions {
			c.completed(&completions[i])
		}
	})
	c.pump(in, out)
	return mine
}

// IsActive reports whether this broker believes to be the controller.
func (c *Controller) IsActive() bool { return c.active == c.cfg.NodeID }

// Epoch is the controller epoch of an active controller, 0 otherwise.
func (c *Controller) Epoch() kafka.ControllerEpoch { return c.ctx.epoch }

// AwaitsExpiry reports whether a request has learned of the session's end, of which the
// Expired event is still to tell.
func (c *Controller) AwaitsExpiry() bool { return c.expired }

// ActiveController is who holds /controller as last read; false if nobody.
func (c *Controller) ActiveController() (kafka.NodeID, bool) {
	return c.active, c.active != kafka.NoNode
}

// AlterPartition handles an ISR change (Z-28). The reply gets a
// *kmsg.AlterPartitionResponse. req must not change afterwards.
func (c *Controller) AlterPartition(in *step.Input, out *step.Effects, req *kmsg.AlterPartitionRequest, reply Reply) {
	c.put(&alterPartition{req: req, reply: reply})
	c.pump(in, out)
}

// ControlledShutdown moves leadership off a broker that is about to stop (Z-27).
// The reply gets a *kmsg.ControlledShutdownResponse.
func (c *Controller) ControlledShutdown(in *step.Input, out *step.Effects, req *kmsg.ControlledShutdownRequest, reply Reply) {
	c.put(&controlledShutdown{req: req, reply: reply})
	c.pump(in, out)
}

// ElectLeaders runs preferred or unclean elections for an administrator
// (KIP-460). The reply gets a *kmsg.ElectLeadersResponse.
func (c *Controller) ElectLeaders(in *step.Input, out *step.Effects, req *kmsg.ElectLeadersRequest, reply Reply) {
	c.put(&electLeaders{trigger: byAdmin, req: req, reply: reply})
	c.pump(in, out)
}

// UncleanElectionEnabled tries to bring partitions online after
// unclean.leader.election.enable was turned on for a topic, or for all of them if
// the name is empty. The topic's setting itself is read from ZooKeeper.
func (c *Controller) UncleanElectionEnabled(in *step.Input, out *step.Effects, topic string) {
	c.put(&uncleanEnabled{topic: topic})
	c.pump(in, out)
}

// sessionExpired is the Expire event (Z-7).
func (c *Controller) sessionExpired() {
	c.expired = false
	c.dropEverything()
}

// dropEverything ends the event in progress, clears the queue and resigns.
func (c *Controller) dropEverything() {
	c.unwind(preempted)
	queue := c.queue
	c.queue = nil
	for _, p := range queue {
		if a, ok := p.(abandoned); ok {
			a.abandon(c, preempted)
		}
	}
	c.setActive(kafka.NoNode)
}

// setActive records who holds /controller and resigns if it was us and is not now.
func (c *Controller) setActive(id kafka.NodeID) {
	was := c.IsActive()
	c.active = id
	if was && !c.IsActive() {
		c.resign()
	}
}

// resign is onControllerResignation (Z-12). Requests on the wire may still arrive.
// Watches stay armed and are ignored when they fire.
func (c *Controller) resign() {
	c.out.Note(event.Event{Kind: event.ControllerResigned, Node: c.cfg.NodeID, ControllerEpoch: c.ctx.epoch})
	c.out.CancelTimer(&c.rebalance)
	for _, ch := range c.channels {
		ch.close(c)
	}
	c.channels = nil
	c.batch.clear()
	c.ctx = context{}
}
