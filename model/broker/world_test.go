package broker

import (
	"container/heap"
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/config"
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/record"
	"github.com/simkafka/simkafka/model/replica"
	"github.com/simkafka/simkafka/model/step"
	"github.com/simkafka/simkafka/model/vfs"
	"github.com/simkafka/simkafka/model/vfs/vfstest"
	"github.com/simkafka/simkafka/model/zookeeper"
)

// world runs brokers and a ZooKeeper ensemble on links of one millisecond. A step
// takes the time that it charges; lanes of one worker run one step at a time, the
// others as many as come. Connections serve one request at a time.
type world struct {
	t       testing.TB
	now     kafka.Nanos
	seq     int
	due     dueHeap
	parties map[string]*party
	order   []*party
	store   *zookeeper.Store
	profile *config.Profile
	set     []config.Setting // of the brokers made from now on
	notes   []event.Event
	cuts    map[[2]string]bool // pairs that cannot reach each other
}

type due struct {
	at    kafka.Nanos
	seq   int
	to    *party
	life  int
	in    step.Input
	timer step.TimerRef
	call  func()
}

type dueHeap []*due

func (h dueHeap) Len() int { return len(h) }
func (h dueHeap) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].seq < h[j].seq
}
func (h dueHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *dueHeap) Push(x any)   { *h = append(*h, x.(*due)) }
func (h *dueHeap) Pop() any {
	old := *h
	d := old[len(old)-1]
	*h = old[:len(old)-1]
	return d
}

// party is an actor, up or down.
type party struct {
	name    string
	node    step.Node
	out     *step.Effects
	life    int
	up      bool
	exit    string
	lanes   []step.LaneSpec
	serving step.Lane
	busy    map[step.Lane]kafka.Nanos
	links   []*link
	fs      vfs.FS
	broker  *Broker
}

// link is a connection; side 0 opened it.
type link struct {
	ends    [2]*party
	conns   [2]step.ConnID
	lane    step.Lane // of side 0
	open    bool
	held    []func() // what a cut keeps back, in order
	serving bool
	waiting []step.Input
	clear   [2]kafka.Nanos // until when each direction is taken
	client  *testClient
}

func newWorld(t testing.TB, profile string) *world {
	p, ok := config.ProfileByName(profile)
	if !ok {
		t.Fatal("no profile", profile)
	}
	w := &world{t: t, parties: map[string]*party{}, store: zookeeper.NewStore(), profile: p, cuts: map[[2]string]bool{}}
	zk, _ := config.NewZooKeeper(nil)
	zk.WriteServiceTime = kafka.Millisecond
	w.boot("zk", zookeeper.NewServer(zookeeper.ServerConfig{ZooKeeper: *zk}, w.store))
	return w
}

func (w *world) with(key, value string) *world {
	w.set = append(w.set, config.Setting{Key: key, Value: value})
	return w
}

// start boots a broker, on its old disk if it had one.
func (w *world) start(id kafka.NodeID) *Broker {
	w.t.Helper()
	cfg, errs := config.NewBroker(w.profile, id, "", w.set)
	if len(errs) > 0 {
		w.t.Fatal(errs)
	}
	name := kafka.BrokerHost(id)
	var fs vfs.FS = vfstest.NewMem()
	if p := w.parties[name]; p != nil {
		fs = p.fs
	}
	b := New(Params{Config: cfg, FS: fs, ClusterID: "test-cluster",
		Listen: step.Addr{Host: name, Port: 9092}, ZooKeeper: []step.Addr{{Host: "zk", Port: 2181}}})
	p := w.boot(name, b)
	p.fs, p.broker = fs, b
	return b
}

func (w *world) boot(name string, n step.Node) *party {
	p := w.parties[name]
	if p == nil {
		p = &party{name: name}
		w.parties[name] = p
		w.order = append(w.order, p)
	}
	p.node, p.out, p.up, p.exit = n, step.NewEffects(), true, ""
	p.life++
	p.lanes, p.busy = n.Lanes(), map[step.Lane]kafka.Nanos{}
	for i, l := range p.lanes {
		if l.Serves {
			p.serving = step.Lane(i)
		}
	}
	w.send(p, step.Input{Kind: step.Boot}, w.now)
	return p
}

// kill ends a process; its disk stays.
func (w *world) kill(name string, why string) {
	p := w.parties[name]
	if !p.up {
		return
	}
	p.up, p.exit = false, why
	p.life++
	for _, l := range p.links {
		w.closeFrom(l, p)
	}
	p.links = nil
}

func (w *world) send(p *party, in step.Input, at kafka.Nanos) {
	w.push(&due{at: at, to: p, life: p.life, in: in})
}

func (w *world) push(d *due) {
	w.seq++
	d.seq = w.seq
	heap.Push(&w.due, d)
}

func (w *world) later(at kafka.Nanos, f func()) { w.push(&due{at: at, call: f}) }

// run lets time pass.
func (w *world) run(d kafka.Nanos) {
	w.t.Helper()
	end := w.now + d
	for steps := 0; len(w.due) > 0 && w.due[0].at <= end; steps++ {
		if steps > 2_000_000 {
			w.t.Fatal("the world does not come to rest")
		}
		w.next()
	}
	w.now = end
}

// until runs until cond holds, for at most a minute.
func (w *world) until(what string, cond func() bool) {
	w.t.Helper()
	end := w.now + kafka.Minute
	for !cond() {
		if len(w.due) == 0 || w.due[0].at > end {
			w.t.Fatalf("at %v: never %s", w.now, what)
		}
		w.next()
	}
}

func (w *world) next() {
	d := heap.Pop(&w.due).(*due)
	w.now = max(w.now, d.at)
	if d.call != nil {
		d.call()
		return
	}
	p := d.to
	if !p.up || p.life != d.life {
		return
	}
	if p.lanes[d.in.Lane].Workers == 1 && p.busy[d.in.Lane] > w.now && d.in.Kind != step.Done {
		d.at = p.busy[d.in.Lane]
		heap.Push(&w.due, d)
		return
	}
	if d.in.Kind == step.Timer {
		if !p.out.Timers.Live(d.timer) {
			return
		}
		p.out.Timers.Release(d.timer)
	}
	w.step(p, &d.in)
}

func (w *world) step(p *party, in *step.Input) {
	w.t.Helper()
	in.Now, in.Wall, in.Incarnation = w.now, 1_700_000_000_000+kafka.TimestampMs(w.now/kafka.Millisecond), int32(p.life)
	in.SetDraws(step.NewDraws(1).Sub(p.name))
	p.out.Reset()
	err := p.node.Step(in, p.out)
	for _, n := range p.out.Notes {
		n.Time, n.Actor = w.now, p.name
		w.notes = append(w.notes, n)
		if n.Kind == event.Assertion {
			w.t.Fatalf("%s: %s", p.name, n.Text)
		}
	}
	if err != nil {
		w.kill(p.name, err.Error())
		return
	}
	end := w.now + p.out.Service
	p.busy[in.Lane] = end
	ops := append([]step.Op(nil), p.out.Ops...)
	exiting, reason, life := p.out.Exiting, p.out.ExitReason, p.life
	for i := range ops {
		w.effect(p, in.Lane, &ops[i], end)
	}
	if exiting {
		w.later(end, func() {
			if p.life == life {
				w.kill(p.name, reason)
			}
		})
	}
}

func (w *world) effect(p *party, lane step.Lane, op *step.Op, end kafka.Nanos) {
	life := p.life
	alive := func(f func()) {
		w.later(end, func() {
			if p.life == life {
				f()
			}
		})
	}
	switch op.Kind {
	case step.OpSetTimer:
		in := step.Input{Kind: step.Timer, Lane: op.Lane, Timer: op.Timer, Arg: op.Arg, Ref: op.Ref}
		w.push(&due{at: max(op.At, end), to: p, life: life, in: in, timer: op.TimerRef})
	case step.OpCancelTimer:
		p.out.Timers.Release(op.TimerRef)
	case step.OpDone:
		w.send(p, step.Input{Kind: step.Done, Lane: lane, Timer: op.Timer, Arg: op.Arg, Ref: op.Ref}, end)
	case step.OpFlush:
		flush := *op
		alive(func() {
			var err error
			for _, f := range flush.Files {
				if e := f.Sync(); e != nil {
					err = e
				}
			}
			w.send(p, step.Input{Kind: step.Flushed, Lane: flush.Lane, Flush: flush.Flush, Err: err}, w.now+kafka.Millisecond)
		})
	default:
		o := *op
		alive(func() { w.network(p, &o) })
	}
}

func (w *world) network(p *party, op *step.Op) {
	if op.Kind == step.OpConnect {
		w.connect(p, op)
		return
	}
	l, side := p.link(op.Conn)
	if l == nil || !l.open {
		return
	}
	switch op.Kind {
	case step.OpClose:
		w.closeFrom(l, p)
	case step.OpRequest:
		checkWire(w.t, op.Body)
		w.carry(l, side, func() {
			in := step.Input{Kind: step.Request, Lane: l.ends[1].serving, Conn: l.conns[1], Correlation: op.Correlation, Body: op.Body, From: p.name}
			l.waiting = append(l.waiting, in)
			w.serve(l)
		})
	case step.OpReply:
		checkWire(w.t, op.Body)
		w.carry(l, side, func() {
			if l.client != nil {
				l.client.got(op.Body.(kmsg.Response))
				return
			}
			w.send(l.ends[0], step.Input{Kind: step.Response, Lane: l.lane, Conn: l.conns[0], Correlation: op.Correlation, Body: op.Body}, w.now)
		})
		if op.Correlation != -1 {
			l.serving = false
			w.serve(l)
		}
	case step.OpNoReply:
		l.serving = false
		w.serve(l)
	}
}

// carry takes a message over in order.
func (w *world) carry(l *link, side int, f func()) {
	l.clear[side] = max(l.clear[side], w.now+kafka.Millisecond)
	w.later(l.clear[side], func() {
		if w.isCut(l) || len(l.held) > 0 {
			l.held = append(l.held, f)
			return
		}
		if l.open {
			f()
		}
	})
}

// cut separates two parties: what they send waits for heal.
func (w *world) cut(a, b string) { w.cuts[[2]string{a, b}], w.cuts[[2]string{b, a}] = true, true }

func (w *world) heal() {
	clear(w.cuts)
	for _, p := range w.order {
		for _, l := range p.links {
			held := l.held
			l.held = nil
			for _, f := range held {
				if l.open {
					f()
				}
			}
		}
	}
}

func (w *world) isCut(l *link) bool {
	return l.ends[0] != nil && w.cuts[[2]string{l.ends[0].name, l.ends[1].name}]
}

func (w *world) serve(l *link) {
	if l.serving || len(l.waiting) == 0 || !l.open {
		return
	}
	l.serving = true
	in := l.waiting[0]
	l.waiting = l.waiting[1:]
	w.send(l.ends[1], in, w.now)
}

func (w *world) connect(p *party, op *step.Op) {
	to := w.parties[op.Addr.Host]
	switch {
	case to != nil && !to.up && w.cuts[[2]string{p.name, to.name}]:
		return // nobody says anything
	case to == nil || !to.up:
		w.send(p, step.Input{Kind: step.Refused, Lane: op.Lane, Conn: op.Conn}, w.now+2*kafka.Millisecond)
		return
	}
	l := &link{ends: [2]*party{p, to}, lane: op.Lane, open: true, conns: [2]step.ConnID{op.Conn, to.out.NewConn()}}
	p.links, to.links = append(p.links, l), append(to.links, l)
	w.carry(l, 0, func() {
		w.send(to, step.Input{Kind: step.Accepted, Lane: to.serving, Conn: l.conns[1], From: p.name}, w.now)
		w.carry(l, 1, func() { w.send(p, step.Input{Kind: step.Opened, Lane: op.Lane, Conn: op.Conn}, w.now) })
	})
}

func (p *party) link(c step.ConnID) (*link, int) {
	for _, l := range p.links {
		for side := range 2 {
			if l.ends[side] == p && l.conns[side] == c {
				return l, side
			}
		}
	}
	return nil, 0
}

// closeFrom ends a connection; the other side hears of it.
func (w *world) closeFrom(l *link, by *party) {
	if !l.open {
		return
	}
	l.open = false
	for side, p := range l.ends {
		if p == by && l.ends[0] != l.ends[1] {
			continue
		}
		if p == nil {
			l.client.got(nil)
			continue
		}
		lane := l.lane
		if side == 1 {
			lane = p.serving
		}
		if p.up && !w.isCut(l) {
			w.send(p, step.Input{Kind: step.Closed, Lane: lane, Conn: l.conns[side]}, w.now+kafka.Millisecond)
		}
	}
}

// checkWire proves that a message has no field above its version.
func checkWire(t testing.TB, m step.Message) {
	t.Helper()
	type message interface {
		GetVersion() int16
		SetVersion(int16)
		AppendTo([]byte) []byte
		ReadFrom([]byte) error
	}
	k, ok := m.(message)
	if !ok {
		return
	}
	var copied message
	switch r := m.(type) {
	case kmsg.Request:
		copied = kmsg.RequestForKey(r.Key())
	case kmsg.Response:
		copied = kmsg.ResponseForKey(r.Key()).(message)
	}
	copied.SetVersion(k.GetVersion())
	if err := copied.ReadFrom(k.AppendTo(nil)); err != nil {
		t.Fatalf("%T does not decode: %v", m, err)
	}
	if a, b := show(m), show(copied); a != b {
		t.Fatalf("%T v%d loses fields:\n%s\n%s", m, k.GetVersion(), a, b)
	}
}

// testClient is a connection from outside of any actor.
type testClient struct {
	w    *world
	l    *link
	resp []kmsg.Response
	gone bool
}

func (c *testClient) got(r kmsg.Response) {
	if r == nil {
		c.gone = true
		return
	}
	c.resp = append(c.resp, r)
}

// client connects to a broker that is up.
func (w *world) client(id kafka.NodeID) *testClient {
	p := w.parties[kafka.BrokerHost(id)]
	c := &testClient{w: w}
	c.l = &link{ends: [2]*party{nil, p}, open: true, client: c, conns: [2]step.ConnID{0, p.out.NewConn()}}
	p.links = append(p.links, c.l)
	w.send(p, step.Input{Kind: step.Accepted, Lane: p.serving, Conn: c.l.conns[1], From: "test"}, w.now)
	return c
}

func (c *testClient) send(req kmsg.Request) {
	checkWire(c.w.t, req)
	in := step.Input{Kind: step.Request, Lane: c.l.ends[1].serving, Conn: c.l.conns[1], Correlation: 1, Body: req, From: "test"}
	c.w.later(c.w.now+kafka.Millisecond, func() {
		c.l.waiting = append(c.l.waiting, in)
		c.w.serve(c.l)
	})
}

// ask sends and waits for the answer.
func (c *testClient) ask(req kmsg.Request) kmsg.Response {
	c.w.t.Helper()
	n := len(c.resp)
	c.send(req)
	c.w.until(fmt.Sprintf("answered: %T", req), func() bool { return len(c.resp) > n || c.gone })
	if c.gone {
		c.w.t.Fatalf("connection closed on %T", req)
	}
	return c.resp[n]
}

// Requests.

func batch(values ...string) []byte {
	var bd record.Builder
	bd.Reset(record.ClientOptions())
	for _, v := range values {
		bd.Append(1_700_000_000_000, nil, []byte(v), nil)
	}
	b, err := bd.Build()
	if err != nil {
		panic(err)
	}
	return b
}

func (w *world) produce(acks int16, topic string, partition int32, records []byte) *kmsg.ProduceRequest {
	r := kmsg.NewPtrProduceRequest()
	r.Version, r.Acks, r.TimeoutMillis = w.profile.Versions.Produce, acks, 30_000
	p := kmsg.NewProduceRequestTopicPartition()
	p.Partition, p.Records = partition, records
	t := kmsg.NewProduceRequestTopic()
	t.Topic, t.Partitions = topic, []kmsg.ProduceRequestTopicPartition{p}
	r.Topics = append(r.Topics, t)
	return r
}

func produced(r kmsg.Response) (kafka.ErrorCode, kafka.Offset) {
	p := &r.(*kmsg.ProduceResponse).Topics[0].Partitions[0]
	return kafka.ErrorCode(p.ErrorCode), kafka.Offset(p.BaseOffset)
}

func (w *world) fetch(topic string, partition int32, at kafka.Offset, maxWait int32) *kmsg.FetchRequest {
	r := kmsg.NewPtrFetchRequest()
	r.Version, r.ReplicaID, r.MaxWaitMillis, r.MinBytes, r.MaxBytes = min(12, w.profile.Versions.Fetch), -1, maxWait, 1, 50<<20
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition, p.FetchOffset, p.PartitionMaxBytes = partition, int64(at), 1<<20
	t := kmsg.NewFetchRequestTopic()
	t.Topic, t.Partitions = topic, []kmsg.FetchRequestTopicPartition{p}
	r.Topics = append(r.Topics, t)
	return r
}

func fetched(r kmsg.Response) *kmsg.FetchResponseTopicPartition {
	return &r.(*kmsg.FetchResponse).Topics[0].Partitions[0]
}

// create makes a topic with one partition on the named replicas, through the
// controller, and waits for its leader.
func (w *world) create(topic string, settings map[string]string, replicas ...int32) {
	w.t.Helper()
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version, req.TimeoutMillis = 1, 30_000
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = topic, -1, -1
	a := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
	a.Replicas = replicas
	t.ReplicaAssignment = append(t.ReplicaAssignment, a)
	for k, v := range settings {
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		c.Name, c.Value = k, &v
		t.Configs = append(t.Configs, c)
	}
	req.Topics = append(req.Topics, t)
	resp := w.client(w.controller()).ask(req).(*kmsg.CreateTopicsResponse)
	if code := kafka.ErrorCode(resp.Topics[0].ErrorCode); code != kafka.None {
		w.t.Fatalf("create %s: %v", topic, code)
	}
}

func (w *world) controller() kafka.NodeID {
	w.t.Helper()
	var id kafka.NodeID
	w.until("a controller", func() bool {
		for _, p := range w.order {
			if p.up && p.broker != nil && p.broker.Controller().IsActive() {
				id = p.broker.cfg.NodeID
				return true
			}
		}
		return false
	})
	return id
}

func (w *world) broker(id kafka.NodeID) *Broker { return w.parties[kafka.BrokerHost(id)].broker }

// part is a broker's partition 0 of a topic, nil if it is not hosted.
func (w *world) part(id kafka.NodeID, topic string) *replica.Partition {
	if h := w.broker(id).topics.get(topic, 0); h != nil {
		return h.p
	}
	return nil
}

// cluster boots brokers 1 to n and waits until all run and know each other.
func (w *world) cluster(n int) {
	w.t.Helper()
	for id := 1; id <= n; id++ {
		w.start(kafka.NodeID(id))
	}
	w.until("all brokers know each other", func() bool {
		for id := 1; id <= n; id++ {
			if len(w.broker(kafka.NodeID(id)).cache.brokers) != n {
				return false
			}
		}
		return true
	})
}

// onZK runs f on a broker's ZooKeeper lane.
func (w *world) onZK(id kafka.NodeID, f func(in *step.Input, out *step.Effects)) {
	p := w.parties[kafka.BrokerHost(id)]
	in := step.Input{Kind: step.Timer, Lane: laneZK, Timer: timerCall, Ref: call(func(in *step.Input, out *step.Effects) error {
		f(in, out)
		return nil
	})}
	ref := p.out.SetTimer(laneZK, w.now, timerCall, 0, nil)
	w.push(&due{at: w.now, to: p, life: p.life, in: in, timer: ref})
}

// term sends SIGTERM.
func (w *world) term(id kafka.NodeID) {
	w.send(w.parties[kafka.BrokerHost(id)], step.Input{Kind: step.Terminate}, w.now)
}

func (w *world) down(id kafka.NodeID) bool { return !w.parties[kafka.BrokerHost(id)].up }

// crash kills a broker as a machine's reset does, its page cache kept.
func (w *world) crash(id kafka.NodeID) { w.kill(kafka.BrokerHost(id), "crashed") }

// noted counts events of a kind at a broker.
func (w *world) noted(k event.Kind, node kafka.NodeID) (n int) {
	for i := range w.notes {
		if w.notes[i].Kind == k && w.notes[i].Node == node {
			n++
		}
	}
	return n
}

func show(m any) string { return fmt.Sprintf("%+v", printable(m)) }
