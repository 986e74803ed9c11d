package zkcontroller

import (
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/config"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
	"github.com/simkafka/simkafka/model/zookeeper"
)

const (
	testLane  step.Lane      = 3
	testTimer step.TimerKind = 40
)

// world runs controllers against a fake ZooKeeper and fake brokers: everything is
// answered in the order in which it was asked, timers fire when time is advanced.
type world struct {
	zk            *fakeZK
	profile       *config.Profile
	tune          func(*config.Broker)
	now           kafka.Nanos
	pending       []action
	pick          func(n int) int // which of n pending actions; nil = the oldest
	sessions      []*session
	nodes         map[kafka.NodeID]*node
	log           []string
	loseAnswersOf string // of the next session
	// check sees every control request as it is sent.
	check func(to *node, req kmsg.Request)
}

// node is a broker process: its controller, and what a fake broker answers.
type node struct {
	w       *world
	id      kafka.NodeID
	cfg     *config.Broker
	c       *Controller
	zk      *zkOf
	out     *step.Effects
	up      bool // accepts connections
	mute    bool // takes requests and does not answer
	conns   map[step.ConnID]kafka.NodeID
	timers  []*setTimer
	storage map[kafka.TopicPartition]bool // answered with KAFKA_STORAGE_ERROR
}

type setTimer struct {
	at  kafka.Nanos
	ref step.TimerRef
	op  step.Op
}

func newWorld(profile *config.Profile) *world {
	w := &world{profile: profile, nodes: map[kafka.NodeID]*node{}}
	w.zk = newFakeZK(w)
	return w
}

// action is something on its way; those of one stream keep their order.
type action struct {
	stream string
	f      func()
}

func (w *world) later(stream string, f func()) { w.pending = append(w.pending, action{stream, f}) }

// maxActions bounds a run; beyond it something goes round for ever.
const maxActions = 200000

// run answers everything until nothing is left.
func (w *world) run() {
	for i := 0; len(w.pending) > 0; i++ {
		if i == maxActions {
			panic("world: does not come to rest")
		}
		w.one()
	}
}

// one takes the oldest action, or the oldest of a stream that is picked.
func (w *world) one() {
	if len(w.pending) == 0 {
		return
	}
	i := 0
	if w.pick != nil {
		stream := w.pending[w.pick(len(w.pending))].stream
		i = slices.IndexFunc(w.pending, func(a action) bool { return a.stream == stream })
	}
	a := w.pending[i]
	w.pending = slices.Delete(w.pending, i, i+1)
	a.f()
}

func (w *world) resume(s *session, waiter zookeeper.Waiter, results [][]zookeeper.Result) {
	n := w.nodes[s.id]
	if n == nil || n.zk.s != s {
		return
	}
	n.do(func(in *step.Input, out *step.Effects) { waiter.Resume(in, out, results) })
}

// boot registers a broker and starts its controller module.
func (w *world) boot(id kafka.NodeID) *node {
	n := &node{w: w, id: id, up: true, conns: map[step.ConnID]kafka.NodeID{}, storage: map[kafka.TopicPartition]bool{}}
	n.cfg = &config.Broker{NodeID: id, Profile: w.profile, AutoLeaderRebalance: true, DeleteTopics: true, LeaderImbalanceCheck: 300 * kafka.Second,
		LeaderImbalancePercent: 10, RequestTimeout: 30 * kafka.Second, ControllerSocketTimeout: 30 * kafka.Second}
	if w.tune != nil {
		w.tune(n.cfg)
	}
	n.out = step.NewEffects()
	w.nodes[id] = n
	n.newSession()
	n.c = New(n.cfg, n.zk, testLane, testTimer)
	n.register()
	n.do(n.c.Startup)
	return n
}

func (n *node) newSession() {
	s := n.w.zk.session(n.id, nil)
	s.deliver = func(ev zookeeper.Event) {
		if n.w.nodes[n.id] == n && n.zk.s == s {
			n.do(func(in *step.Input, out *step.Effects) { n.c.HandleZK(in, out, ev) })
		}
	}
	s.loseAnswersOf, n.w.loseAnswersOf = n.w.loseAnswersOf, ""
	n.w.sessions = append(n.w.sessions, s)
	if n.zk == nil {
		n.zk = &zkOf{z: n.w.zk}
	}
	n.zk.s = s
}

func (n *node) register() {
	n.w.zk.create(zookeeper.BrokerPath(n.id), zookeeper.EncodeBroker(5, zookeeper.BrokerInfo{Host: n.host(), Port: 9092,
		Endpoints: []zookeeper.Endpoint{{Listener: "PLAINTEXT", Protocol: "PLAINTEXT", Host: n.host(), Port: 9092}}, JmxPort: -1}), n.zk.s)
}

func (n *node) host() string { return fmt.Sprintf("broker-%d", n.id) }

// kill ends the process; its session expires at once.
func (w *world) kill(id kafka.NodeID) {
	n := w.nodes[id]
	delete(w.nodes, id)
	for _, other := range w.sorted() {
		other.lose(id)
	}
	w.zk.expire(n.zk.s)
}

// expireSession ends the session of a living broker, which hears of it and comes
// back with a new one.
func (w *world) expireSession(id kafka.NodeID) {
	n := w.nodes[id]
	w.zk.expire(n.zk.s)
	old := n.zk.s
	w.later(old.key("from"), func() {
		if w.nodes[id] != n || n.zk.s != old {
			return
		}
		n.do(func(in *step.Input, out *step.Effects) {
			n.c.HandleZK(in, out, zookeeper.Event{Type: zookeeper.Expired})
		})
		n.newSession()
		s := n.zk.s
		w.later(s.key("to"), func() {
			if w.nodes[id] == n && n.zk.s == s && !s.expired {
				n.register()
				n.do(n.c.Reelect)
			}
		})
	})
}

func (w *world) sorted() (ns []*node) {
	for _, n := range w.nodes {
		ns = append(ns, n)
	}
	slices.SortFunc(ns, func(a, b *node) int { return int(a.id - b.id) })
	return ns
}

// lose closes this node's connections to a dead broker.
func (n *node) lose(id kafka.NodeID) {
	var conns []step.ConnID
	for c, to := range n.conns {
		if to == id {
			conns = append(conns, c)
		}
	}
	slices.Sort(conns)
	for _, c := range conns {
		delete(n.conns, c)
		n.w.later(n.stream("from", c), func() { n.input(step.Input{Kind: step.Closed, Conn: c}) })
	}
}

// do runs a step and carries its effects out.
func (n *node) do(f func(in *step.Input, out *step.Effects)) {
	in := &step.Input{Now: n.w.now, Wall: 1000, Lane: testLane}
	n.out.Reset()
	f(in, n.out)
	for _, ev := range n.out.Notes {
		n.note(ev)
	}
	for _, op := range n.out.Ops {
		n.effect(op)
	}
}

func (n *node) input(in step.Input) {
	if n.w.nodes[n.id] != n {
		return
	}
	n.do(func(now *step.Input, out *step.Effects) {
		in.Now, in.Wall, in.Lane = now.Now, now.Wall, now.Lane
		n.c.HandleInput(&in, out)
	})
}

func (n *node) effect(op step.Op) {
	switch op.Kind {
	case step.OpConnect:
		to := parseHost(op.Addr.Host)
		n.w.later(n.stream("to", op.Conn), func() { n.accepted(op.Conn, to) })
	case step.OpClose:
		delete(n.conns, op.Conn)
	case step.OpRequest:
		n.w.later(n.stream("to", op.Conn), func() { n.request(op) })
	case step.OpSetTimer:
		n.timers = append(n.timers, &setTimer{at: op.At, ref: op.TimerRef, op: op})
	case step.OpCancelTimer:
		n.out.Timers.Release(op.TimerRef)
		n.timers = slices.DeleteFunc(n.timers, func(t *setTimer) bool { return t.ref == op.TimerRef })
	default:
		panic("world: an effect that a controller has no use for")
	}
}

func (n *node) stream(way string, conn step.ConnID) string {
	return fmt.Sprintf("%s %p/%d", way, n, conn)
}

func parseHost(host string) (id kafka.NodeID) {
	fmt.Sscanf(host, "broker-%d", &id)
	return id
}

// accepted is a connection attempt at the broker.
func (n *node) accepted(conn step.ConnID, to kafka.NodeID) {
	kind := step.Refused
	if b := n.w.nodes[to]; b != nil && b.up {
		n.conns[conn] = to
		kind = step.Opened
	}
	n.w.later(n.stream("from", conn), func() { n.input(step.Input{Kind: kind, Conn: conn}) })
}

// request reaches the broker, which answers without an error unless a storage error
// is prepared.
func (n *node) request(op step.Op) {
	to, open := n.conns[op.Conn]
	if !open {
		return
	}
	b := n.w.nodes[to]
	if b == nil {
		return
	}
	req := op.Body.(kmsg.Request)
	n.w.logf("%d -> %d %s", n.id, to, describe(req))
	checkNoFieldAboveVersion(req)
	if n.w.check != nil {
		n.w.check(b, req)
	}
	if b.mute {
		return
	}
	resp := b.answer(req)
	n.w.later(n.stream("from", op.Conn), func() {
		if _, open := n.conns[op.Conn]; open {
			n.input(step.Input{Kind: step.Response, Conn: op.Conn, Correlation: op.Correlation, Body: resp})
		}
	})
}

func (b *node) answer(req kmsg.Request) kmsg.Response {
	resp := req.ResponseKind()
	if r, ok := resp.(*kmsg.StopReplicaResponse); ok {
		r.Partitions = stoppedAll(req.(*kmsg.StopReplicaRequest))
	}
	lai, ok := req.(*kmsg.LeaderAndISRRequest)
	if !ok {
		return resp
	}
	r := resp.(*kmsg.LeaderAndISRResponse)
	for _, t := range lai.TopicStates {
		rt := kmsg.LeaderAndISRResponseTopic{TopicID: t.TopicID}
		for _, p := range t.PartitionStates {
			rp := kmsg.LeaderAndISRResponseTopicPartition{Partition: p.Partition}
			if b.storage[kafka.TopicPartition{Topic: t.Topic, Partition: p.Partition}] {
				rp.ErrorCode = int16(kafka.KafkaStorageError)
			}
			rt.Partitions = append(rt.Partitions, rp)
		}
		r.Topics = append(r.Topics, rt)
	}
	return r
}

// advance lets time pass: due timers fire in order, and everything is answered
// after each.
func (w *world) advance(d kafka.Nanos) {
	end := w.now + d
	for {
		n, i := w.nextTimer(end)
		if n == nil {
			break
		}
		t := n.timers[i]
		n.timers = slices.Delete(n.timers, i, i+1)
		n.out.Timers.Release(t.ref)
		w.now = max(w.now, t.at)
		n.input(step.Input{Kind: step.Timer, Timer: t.op.Timer, Arg: t.op.Arg, Ref: t.op.Ref})
		w.run()
	}
	w.now = end
}

func (w *world) nextTimer(end kafka.Nanos) (at *node, index int) {
	best := end + 1
	for _, n := range w.sorted() {
		for i, t := range n.timers {
			if t.at < best {
				best, at, index = t.at, n, i
			}
		}
	}
	return at, index
}

// stoppedAll answers that every replica has stopped.
func stoppedAll(r *kmsg.StopReplicaRequest) (list []kmsg.StopReplicaResponsePartition) {
	add := func(topic string, n int32) {
		p := kmsg.NewStopReplicaResponsePartition()
		p.Topic, p.Partition = topic, n
		list = append(list, p)
	}
	for i := range r.Topics {
		t := &r.Topics[i]
		if r.Version == 0 {
			add(t.Topic, t.Partition)
		}
		for _, n := range t.Partitions {
			add(t.Topic, n)
		}
		for j := range t.PartitionStates {
			add(t.Topic, t.PartitionStates[j].Partition)
		}
	}
	return list
}
