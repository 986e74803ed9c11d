package zkcontroller

import (
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/config"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
	"github.com/simkafka/simkafka/model/zookeeper"
)

// net runs the real ensemble and brokers that consist of a ZooKeeper client and a
// controller; one millisecond a message.
type net struct {
	t      *testing.T
	now    kafka.Nanos
	seq    int
	queue  []delivery
	store  *zookeeper.Store
	actors map[string]*actor
	pipes  []*pipe
}

type delivery struct {
	at  kafka.Nanos
	seq int
	to  *actor
	in  step.Input
	ref step.TimerRef // of a timer
}

type actor struct {
	net   *net
	name  string
	step  func(in *step.Input, out *step.Effects)
	out   *step.Effects
	dead  bool
	cutZK bool // nothing passes between it and ZooKeeper
}

// pipe is a connection.
type pipe struct {
	a, b         *actor
	aConn, bConn step.ConnID
	closed       bool
}

const (
	laneServe step.Lane = iota
	laneZK
	laneController
)

func newNet(t *testing.T) *net {
	n := &net{t: t, store: zookeeper.NewStore(), actors: map[string]*actor{}}
	server := zookeeper.NewServer(zookeeper.ServerConfig{ZooKeeper: config.ZooKeeper{TickTime: 3 * kafka.Second,
		MinSessionTimeout: 6 * kafka.Second, MaxSessionTimeout: 60 * kafka.Second}}, n.store)
	n.add("zookeeper", func(in *step.Input, out *step.Effects) {
		if err := server.Step(in, out); err != nil {
			t.Fatal(err)
		}
	})
	return n
}

func (n *net) add(name string, f func(in *step.Input, out *step.Effects)) *actor {
	a := &actor{net: n, name: name, step: f, out: step.NewEffects()}
	n.actors[name] = a
	n.send(a, step.Input{Kind: step.Boot, Incarnation: 1}, 0)
	return a
}

func (n *net) send(to *actor, in step.Input, delay kafka.Nanos) {
	n.seq++
	n.queue = append(n.queue, delivery{at: n.now + delay, seq: n.seq, to: to, in: in})
}

func (n *net) runUntil(end kafka.Nanos) {
	for len(n.queue) > 0 {
		i := 0
		for j := range n.queue {
			if n.queue[j].at < n.queue[i].at || (n.queue[j].at == n.queue[i].at && n.queue[j].seq < n.queue[i].seq) {
				i = j
			}
		}
		d := n.queue[i]
		if d.at > end {
			break
		}
		n.queue = slices.Delete(n.queue, i, i+1)
		n.now = d.at
		if d.ref.IsSet() {
			d.to.out.Timers.Release(d.ref)
		}
		d.to.run(d.in)
	}
	n.now = end
}

func (a *actor) run(in step.Input) {
	if a.dead {
		return
	}
	in.Now, in.Wall = a.net.now, 1000
	in.SetDraws(step.NewDraws(1).Sub(a.name))
	a.out.Reset()
	a.step(&in, a.out)
	for _, op := range a.out.Ops {
		a.effect(op)
	}
}

func (a *actor) effect(op step.Op) {
	switch op.Kind {
	case step.OpConnect:
		a.connect(op)
	case step.OpSetTimer:
		a.net.seq++
		a.net.queue = append(a.net.queue, delivery{at: max(op.At, a.net.now), seq: a.net.seq, to: a, ref: op.TimerRef,
			in: step.Input{Kind: step.Timer, Lane: op.Lane, Timer: op.Timer, Arg: op.Arg, Ref: op.Ref}})
	case step.OpCancelTimer:
		a.out.Timers.Release(op.TimerRef)
		a.net.queue = slices.DeleteFunc(a.net.queue, func(d delivery) bool { return d.to == a && d.ref == op.TimerRef })
	case step.OpRequest:
		a.pass(op, step.Request)
	case step.OpReply:
		a.pass(op, step.Response)
	case step.OpClose:
		if p := a.pipe(op.Conn); p != nil {
			p.close(a)
		}
	}
}

func (a *actor) connect(op step.Op) {
	to := a.net.actors[op.Addr.Host]
	lane := op.Lane
	if to == nil || to.dead || a.blocked(to) {
		a.net.send(a, step.Input{Kind: step.Refused, Lane: lane, Conn: op.Conn}, kafka.Second)
		return
	}
	p := &pipe{a: a, b: to, aConn: op.Conn, bConn: to.out.NewConn()}
	a.net.pipes = append(a.net.pipes, p)
	a.net.send(to, step.Input{Kind: step.Accepted, Lane: laneServe, Conn: p.bConn, From: a.name}, kafka.Millisecond)
	a.net.send(a, step.Input{Kind: step.Opened, Lane: lane, Conn: op.Conn}, 2*kafka.Millisecond)
}

func (a *actor) blocked(to *actor) bool {
	return (a.cutZK && to.name == "zookeeper") || (to.cutZK && a.name == "zookeeper")
}

func (a *actor) pipe(conn step.ConnID) *pipe {
	for _, p := range a.net.pipes {
		if !p.closed && (p.a == a && p.aConn == conn || p.b == a && p.bConn == conn) {
			return p
		}
	}
	return nil
}

func (a *actor) pass(op step.Op, kind step.Kind) {
	p := a.pipe(op.Conn)
	if p == nil {
		return
	}
	to, conn := p.b, p.bConn
	if kind == step.Response {
		to, conn = p.a, p.aConn
	}
	if a.blocked(to) {
		return
	}
	delay := kafka.Millisecond
	if kind == step.Request {
		delay = 3 * kafka.Millisecond // after Opened, should it have been sent before that
	}
	a.net.send(to, step.Input{Kind: kind, Conn: conn, Correlation: op.Correlation, Body: op.Body, From: a.name}, delay)
}

// close tells the other end, unless it is cut off.
func (p *pipe) close(by *actor) {
	p.closed = true
	to, conn := p.a, p.aConn
	if by == p.a {
		to, conn = p.b, p.bConn
	}
	if !by.blocked(to) {
		by.net.send(to, step.Input{Kind: step.Closed, Conn: conn}, 4*kafka.Millisecond)
	}
}

func (a *actor) kill() {
	a.dead = true
	for _, p := range a.net.pipes {
		if !p.closed && (p.a == a || p.b == a) {
			p.close(a)
		}
	}
}

// realBroker is a broker with nothing but the two modules.
type realBroker struct {
	*actor
	id      kafka.NodeID
	zk      *zookeeper.Client
	c       *Controller
	started bool
	leader  map[kafka.TopicPartition]int32 // by UpdateMetadata
}

func (n *net) broker(id kafka.NodeID) *realBroker {
	b := &realBroker{id: id, leader: map[kafka.TopicPartition]int32{}}
	cfg := &config.Broker{NodeID: id, Profile: profile39(), AutoLeaderRebalance: true, LeaderImbalanceCheck: 300 * kafka.Second,
		LeaderImbalancePercent: 10, RequestTimeout: 30 * kafka.Second}
	b.zk = zookeeper.NewClient(zookeeper.ClientConfig{Lane: laneZK, Endpoints: []step.Addr{{Host: "zookeeper", Port: 2181}},
		SessionTimeout: 18 * kafka.Second, MaxInFlight: 10, TimerBase: 100})
	b.c = New(cfg, b.zk, laneController, 50)
	b.actor = n.add((&node{id: id}).host(), b.handle)
	return b
}

func (b *realBroker) handle(in *step.Input, out *step.Effects) {
	if in.Kind == step.Boot {
		b.zk.Start(in, out)
		return
	}
	if in.Kind == step.Request {
		if um, ok := in.Body.(*kmsg.UpdateMetadataRequest); ok {
			for _, t := range um.TopicStates {
				for _, p := range t.PartitionStates {
					b.leader[kafka.TopicPartition{Topic: t.Topic, Partition: p.Partition}] = p.Leader
				}
			}
		}
		out.Reply(in.Conn, in.Correlation, in.Body.(kmsg.Request).ResponseKind())
		return
	}
	events, mine := b.zk.Handle(in, out)
	for _, ev := range slices.Clone(events) {
		b.c.HandleZK(in, out, ev)
		switch ev.Type {
		case zookeeper.Connected:
			b.connected(in, out)
		case zookeeper.Expired:
			b.started = false
			b.zk.NewSession(in, out)
		}
	}
	if !mine {
		in.Lane = laneController
		b.c.HandleInput(in, out)
	}
}

// connected registers in a new session, and then lets the controller elect.
func (b *realBroker) connected(in *step.Input, out *step.Effects) {
	if b.started {
		return
	}
	b.started = true
	var reqs []zookeeper.Request
	for _, path := range zookeeper.PersistentPaths() {
		reqs = append(reqs, zookeeper.Request{{Type: zookeeper.OpCreate, Path: path}})
	}
	info := zookeeper.BrokerInfo{Host: b.name, Port: 9092, JmxPort: -1,
		Endpoints: []zookeeper.Endpoint{{Listener: "PLAINTEXT", Protocol: "PLAINTEXT", Host: b.name, Port: 9092}}}
	reqs = append(reqs, zookeeper.Request{{Type: zookeeper.OpCreate, Path: zookeeper.BrokerPath(b.id), Ephemeral: true,
		Data: zookeeper.EncodeBroker(5, info)}})
	b.zk.Do(in, out, reqs, resumed(func(in *step.Input, out *step.Effects, results [][]zookeeper.Result) {
		if code := zookeeper.Outcome(results[len(results)-1]); code != zookeeper.OK {
			b.net.t.Errorf("%s cannot register: %v", b.name, code)
		}
		b.c.Reelect(in, out)
	}))
}

type resumed func(in *step.Input, out *step.Effects, results [][]zookeeper.Result)

func (f resumed) Resume(in *step.Input, out *step.Effects, results [][]zookeeper.Result) {
	f(in, out, results)
}

func active(bs []*realBroker) (ids []kafka.NodeID) {
	for _, b := range bs {
		if !b.dead && b.c.IsActive() {
			ids = append(ids, b.id)
		}
	}
	return ids
}

func TestFailoverAndExpiryOnTheRealEnsemble(t *testing.T) {
	n := newNet(t)
	var bs []*realBroker
	for id := kafka.NodeID(1); id <= 3; id++ {
		bs = append(bs, n.broker(id))
	}
	n.runUntil(2 * kafka.Second)
	first := active(bs)
	if len(first) != 1 {
		t.Fatalf("controllers %v", first)
	}
	tp := kafka.TopicPartition{Topic: "a"}
	order := append(first, others(first[0])...)
	bs[0].act(func(in *step.Input, out *step.Effects) {
		bs[0].zk.Do(in, out, []zookeeper.Request{{{Type: zookeeper.OpCreate, Path: zookeeper.TopicPath("a"),
			Data: zookeeper.EncodeTopic(3, zookeeper.TopicAssignment{TopicID: kafka.TopicID{1}, Partitions: []zookeeper.PartitionAssignment{{Replicas: order}}})}}}, nil)
	})
	n.runUntil(4 * kafka.Second)
	expectLeader(t, bs, tp, first[0])

	// The controller, which leads, dies: a session timeout later another one is there.
	bs[first[0]-1].kill()
	n.runUntil(40 * kafka.Second)
	second := active(bs)
	if len(second) != 1 || second[0] == first[0] || bs[second[0]-1].c.Epoch() != 2 {
		t.Fatalf("controllers %v", second)
	}
	expectLeader(t, bs, tp, order[1])

	// The new one is cut off until its session is gone: the last one takes over; it
	// learns of it on its return, and registers again.
	lost := bs[second[0]-1]
	lost.cutZK = true
	n.runUntil(80 * kafka.Second)
	if third := active(bs); len(third) != 2 || !lost.c.IsActive() {
		t.Fatalf("a cut off controller does not know that it is deposed: %v", third)
	}
	lost.cutZK = false
	n.runUntil(120 * kafka.Second)
	third := active(bs)
	if len(third) != 1 || third[0] == lost.id || bs[third[0]-1].c.Epoch() != 3 {
		t.Fatalf("controllers %v", third)
	}
	if got, want := bs[third[0]-1].c.ctx.allBrokers(), others(first[0]); !slices.Equal(got, want) {
		t.Fatalf("live brokers %v, want %v", got, want)
	}
	expectLeader(t, bs, tp, third[0])
}

func (b *realBroker) act(f func(in *step.Input, out *step.Effects)) {
	old := b.step
	b.step = f
	b.run(step.Input{Kind: step.Timer, Lane: laneZK})
	b.step = old
}

func others(id kafka.NodeID) (ids []kafka.NodeID) {
	for o := kafka.NodeID(1); o <= 3; o++ {
		if o != id {
			ids = append(ids, o)
		}
	}
	return ids
}

func expectLeader(t *testing.T, bs []*realBroker, tp kafka.TopicPartition, leader kafka.NodeID) {
	t.Helper()
	for _, b := range bs {
		if !b.dead && b.leader[tp] != int32(leader) {
			t.Errorf("%s believes in leader %d, want %d", b.name, b.leader[tp], leader)
		}
	}
}
