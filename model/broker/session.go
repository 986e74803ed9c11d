package broker

import (
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/quirk"
	"github.com/simkafka/simkafka/model/step"
	"github.com/simkafka/simkafka/model/zookeeper"
)

const unknownEpoch kafka.BrokerEpoch = -1

// registerRetry is the pause between attempts to register while the znode belongs
// to another session.
const registerRetry = kafka.Second

// sessions is what the broker keeps of its ZooKeeper sessions.
type sessions struct {
	// epoch is that of the current registration, -1 before the first.
	epoch kafka.BrokerEpoch
	// previous is the last session in which the broker was registered, 0 before;
	// registered tells whether it still is the present one.
	previous   int64
	registered bool
	// loaded: the broker may register.
	loaded bool
	begun  bool // the first session was used
	// again are the calls that a session's expiry has cut off.
	again []*zkCall
}

// BrokerEpoch implements replica.Cluster.
func (b *Broker) BrokerEpoch() kafka.BrokerEpoch { return b.session.epoch }

// zkCall is a batch of requests and what to do with the answers.
type zkCall struct {
	b    *Broker
	reqs []zookeeper.Request
	then func(in *step.Input, out *step.Effects, results [][]zookeeper.Result) error
}

// ask sends requests to ZooKeeper and runs then with the answers on the ZooKeeper
// lane. What a session's end has cut off is asked again in the next session.
func (b *Broker) ask(in *step.Input, out *step.Effects, reqs []zookeeper.Request,
	then func(in *step.Input, out *step.Effects, results [][]zookeeper.Result) error) {
	c := &zkCall{b: b, reqs: reqs, then: then}
	if in.Lane == laneZK {
		b.zk.Do(in, out, reqs, c)
		return
	}
	post(in, out, laneZK, func(in *step.Input, out *step.Effects) error {
		b.zk.Do(in, out, reqs, c)
		return nil
	})
}

// Resume implements zookeeper.Waiter.
func (c *zkCall) Resume(in *step.Input, out *step.Effects, results [][]zookeeper.Result) {
	for _, r := range results {
		if zookeeper.Outcome(r) == zookeeper.SessionExpired {
			c.b.session.again = append(c.b.session.again, c)
			return
		}
	}
	c.b.note(c.then(in, out, results))
}

// connect begins the first session.
func (b *Broker) connect(in *step.Input, out *step.Effects) error {
	b.zk.Start(in, out)
	return nil
}

func (b *Broker) zkLane(in *step.Input, out *step.Effects) error {
	if in.Kind == step.Timer && in.Timer == timerRegister {
		b.register(in, out)
		return nil
	}
	events, mine := b.zk.Handle(in, out)
	if !mine {
		b.controller.HandleInput(in, out)
		return nil
	}
	for _, ev := range events {
		b.zkEvent(in, out, ev)
	}
	return nil
}

func (b *Broker) zkEvent(in *step.Input, out *step.Effects, ev zookeeper.Event) {
	switch ev.Type {
	case zookeeper.Connected:
		b.sessionUp(in, out)
	case zookeeper.Expired:
		// The controller resigns before there is a new session (Z-7).
		b.session.registered = false
		stuck := b.controller.AwaitsExpiry() && b.cfg.Profile.Quirks.Has(quirk.ExpiryDeadlock)
		b.controller.HandleZK(in, out, ev)
		if !stuck {
			b.zk.NewSession(in, out)
		}
	case zookeeper.Ended:
		b.exit(out, "terminated")
	case zookeeper.ChildrenChanged:
		if ev.Path == zookeeper.ConfigChangesPath {
			b.readConfigChanges(in, out)
		}
		fallthrough
	default:
		b.controller.HandleZK(in, out, ev)
	}
}

// sessionUp is told of every connection; only a new session has work to do.
func (b *Broker) sessionUp(in *step.Input, out *step.Effects) {
	s := &b.session
	again := s.again
	s.again = nil
	for _, c := range again {
		b.zk.Do(in, out, c.reqs, c)
	}
	switch {
	case !s.begun:
		s.begun = true
		b.prepare(in, out)
	case s.loaded && !s.registered && b.zk.SessionID() != s.previous:
		b.register(in, out)
	}
}

// register creates the registration znode (Z-6).
func (b *Broker) register(in *step.Input, out *step.Effects) {
	if b.session.registered || !b.zk.Connected() || b.shutdown.stopping {
		return
	}
	data := zookeeper.EncodeBroker(b.formats.Broker, zookeeper.BrokerInfo{
		Host: b.params.Listen.Host, Port: b.params.Listen.Port, JmxPort: -1, Timestamp: in.Wall, Rack: b.cfg.Rack,
		Endpoints: []zookeeper.Endpoint{{Listener: "PLAINTEXT", Protocol: "PLAINTEXT", Host: b.params.Listen.Host, Port: b.params.Listen.Port}},
	})
	path := zookeeper.BrokerPath(b.cfg.NodeID)
	w := &registration{b: b, session: b.zk.SessionID()}
	b.zk.Do(in, out, []zookeeper.Request{
		{{Type: zookeeper.OpCreate, Path: path, Data: data, Ephemeral: true}},
		{{Type: zookeeper.OpGetData, Path: path}},
	}, w)
}

// registration waits for the outcome of register. It belongs to one session: the
// next one registers anew.
type registration struct {
	b       *Broker
	session int64
}

// Resume implements zookeeper.Waiter.
func (w *registration) Resume(in *step.Input, out *step.Effects, results [][]zookeeper.Result) {
	b := w.b
	created, found := &results[0][0], &results[1][0]
	switch {
	case created.Code == zookeeper.SessionExpired || found.Code == zookeeper.SessionExpired || b.zk.SessionID() != w.session:
	case created.Code == zookeeper.NodeExists && b.cfg.Profile.Quirks.Has(quirk.OwnNodeAwaited):
		out.SetTimer(laneZK, in.Now+registerRetry, timerRegister, 0, nil)
	case found.Code == zookeeper.OK && found.Stat.EphemeralOwner == w.session:
		b.registered(in, out, w.session, kafka.BrokerEpoch(found.Stat.Czxid))
	case found.Code == zookeeper.OK && found.Stat.EphemeralOwner == b.session.previous:
		// The node of this process's own earlier session (KAFKA-7165).
		b.zk.Do(in, out, []zookeeper.Request{{{Type: zookeeper.OpDelete, Path: zookeeper.BrokerPath(b.cfg.NodeID), Version: zookeeper.AnyVersion}}}, nil)
		b.register(in, out)
	default:
		out.SetTimer(laneZK, in.Now+registerRetry, timerRegister, 0, nil)
	}
}

// registered: the broker exists for the controller from now on.
func (b *Broker) registered(in *step.Input, out *step.Effects, session int64, epoch kafka.BrokerEpoch) {
	first := b.session.epoch == unknownEpoch
	b.session.registered, b.session.previous, b.session.epoch = true, session, epoch
	if !first {
		b.controller.Reelect(in, out)
		b.readConfigChanges(in, out)
		return
	}
	b.controller.Startup(in, out)
	b.readConfigChanges(in, out)
	b.serve(in, out)
}
