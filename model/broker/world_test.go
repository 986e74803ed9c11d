package broker

import (
	"container/heap"
	"testing"

	"github.com/simkafka/simkafka/model/config"
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
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
