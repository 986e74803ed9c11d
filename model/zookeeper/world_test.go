package zookeeper

import (
	"errors"
	"slices"

	"github.com/simkafka/simkafka/model/config"
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
)

// world is a small runner: one ensemble, some clients, links of 1 ms, and
// connections that serve one request at a time.
type world struct {
	t      tester
	now    kafka.Nanos
	seq    int
	events []*due
	cfg    ServerConfig
	store  *Store
	server *party
	actor  *Server
	peers  []*peer
	links  []*link
	notes  []event.Event
	draws  step.Draws
}

// due is an input on its way. A timer of a party is known by its ref.
type due struct {
	at    kafka.Nanos
	seq   int
	to    *party
	life  int
	in    step.Input
	timer step.TimerRef
	// deliver runs instead of the input, if set.
	deliver func()
}

// party is an actor with its effects.
type party struct {
	name string
	node func(in *step.Input, out *step.Effects)
	out  *step.Effects
	life int
	busy kafka.Nanos // until
}

// link is a connection between a client and the server.
type link struct {
	peer             *peer
	client, server   step.ConnID
	open             bool
	serving          bool
	lossy            bool // something was lost on it in a cut
	waiting          []step.Input
	toServer, toPeer kafka.Nanos // FIFO
}

// peer is a process with nothing but a Client.
type peer struct {
	party
	w      *world
	client *Client
	cut    bool
	log    []string
	events []Event
	// autoRenew makes a new session on expiry, as a broker does.
	autoRenew bool
}

const linkDelay = kafka.Millisecond

// tester is what *testing.T and *rapid.T share.
type tester interface {
	Helper()
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

func newWorld(t tester) *world {
	w := &world{t: t, store: NewStore(), draws: step.NewDraws(1)}
	w.cfg.ZooKeeper = config.ZooKeeper{TickTime: 3 * kafka.Second, MinSessionTimeout: 6 * kafka.Second,
		MaxSessionTimeout: 60 * kafka.Second, ReadServiceTime: 100 * kafka.Microsecond, WriteServiceTime: kafka.Millisecond}
	return w
}

// boot starts the ensemble, again after kill.
func (w *world) boot() {
	life, out := 1, step.NewEffects()
	if w.server != nil {
		life, out = 1-w.server.life, w.server.out // connections are numbered on
		out.Timers.Reset()
	}
	s := NewServer(w.cfg, w.store)
	w.actor, w.server = s, &party{name: "zookeeper-1", out: out, life: life}
	w.server.node = func(in *step.Input, out *step.Effects) {
		if err := s.Step(in, out); err != nil {
			w.t.Fatal(err)
		}
	}
	w.run(w.server, step.Input{Kind: step.Boot, Incarnation: int32(life)})
}

// kill drops the server's memory and every connection; a life below zero is over.
func (w *world) kill() {
	w.server.life = -w.server.life
	for _, l := range w.links {
		w.reset(l)
	}
}

// restart is kill and boot.
func (w *world) restart() {
	w.kill()
	w.boot()
}

// reset tells both ends that a connection died.
func (w *world) reset(l *link) {
	if !l.open {
		return
	}
	l.open = false
	if l.client == l.peer.client.conn {
		w.send(&l.peer.party, step.Input{Kind: step.Closed, Conn: l.client}, w.now+linkDelay)
	}
	w.send(w.server, step.Input{Kind: step.Closed, Conn: l.server}, w.now+linkDelay)
}

func (w *world) peer(name string, timeout kafka.Nanos, hosts ...string) *peer {
	if hosts == nil {
		hosts = []string{"zookeeper-1"}
	}
	var eps []step.Addr
	for _, h := range hosts {
		eps = append(eps, step.Addr{Host: h, Port: 2181})
	}
	p := &peer{w: w, autoRenew: true, client: NewClient(ClientConfig{Lane: 3, Endpoints: eps, SessionTimeout: timeout,
		MaxInFlight: 10, TimerBase: 40})}
	p.party = party{name: name, out: step.NewEffects(), life: 1}
	p.node = func(in *step.Input, out *step.Effects) {
		if in.Kind == step.Boot {
			p.client.Start(in, out)
			return
		}
		if in.Kind == step.Closed && in.Conn != p.client.conn {
			return // it closed that one itself while this was on its way: the network tells nobody
		}
		events, mine := p.client.Handle(in, out)
		if !mine {
			w.t.Fatalf("%s: not mine: %+v", name, in)
		}
		events = slices.Clone(events)
		p.events = append(p.events, events...)
		for _, ev := range events {
			p.log = append(p.log, describe(ev))
			if ev.Type == Expired && p.autoRenew {
				p.client.NewSession(in, out)
			}
		}
	}
	w.peers = append(w.peers, p)
	w.run(&p.party, step.Input{Kind: step.Boot, Incarnation: 1, Lane: 3})
	return p
}

func describe(ev Event) string {
	if ev.Path == "" {
		return ev.Type.String()
	}
	return ev.Type.String() + " " + ev.Path
}

// act runs f as a step of the peer.
func (p *peer) act(f func(in *step.Input, out *step.Effects)) {
	node := p.node
	p.node = f
	p.w.run(&p.party, step.Input{Kind: step.Timer, Incarnation: 1, Lane: 3})
	p.node = node
}

// waitFor records answers.
type waitFor struct {
	results [][]Result
	count   int
	then    func(in *step.Input, out *step.Effects)
}

func (w *waitFor) Resume(in *step.Input, out *step.Effects, results [][]Result) {
	w.results = results
	w.count++
	if w.then != nil {
		w.then(in, out)
	}
}

func (p *peer) do(reqs ...Request) *waitFor {
	wf := &waitFor{}
	p.act(func(in *step.Input, out *step.Effects) { p.client.Do(in, out, reqs, wf) })
	return wf
}

// call does one request and runs until it is answered.
func (p *peer) call(ops ...Op) []Result {
	p.w.t.Helper()
	wf := p.do(ops)
	for limit := p.w.now + kafka.Minute; wf.count == 0; {
		if !p.w.next() || p.w.now > limit {
			p.w.t.Fatalf("%s: no answer to %v", p.name, ops)
		}
	}
	return wf.results[0]
}

func (w *world) send(to *party, in step.Input, at kafka.Nanos) {
	w.push(&due{at: at, to: to, life: to.life, in: in})
}

func (w *world) push(d *due) {
	w.seq++
	d.seq = w.seq
	w.events = append(w.events, d)
}

// next delivers the earliest input.
func (w *world) next() bool {
	if len(w.events) == 0 {
		return false
	}
	best := slices.MinFunc(w.events, func(a, b *due) int {
		if a.at != b.at {
			return int(a.at - b.at)
		}
		return a.seq - b.seq
	})
	i := slices.Index(w.events, best)
	w.events = slices.Delete(w.events, i, i+1)
	w.now = max(w.now, best.at)
	switch {
	case best.deliver != nil:
		best.deliver()
	case best.to.life != best.life:
	case best.timer.IsSet() && !best.to.out.Timers.Live(best.timer):
	case best.to.busy > w.now:
		best.at = best.to.busy
		w.push(best)
	default:
		if best.timer.IsSet() {
			best.to.out.Timers.Release(best.timer)
		}
		w.run(best.to, best.in)
	}
	return true
}

// advance runs for d.
func (w *world) advance(d kafka.Nanos) {
	end := w.now + d
	for {
		at := kafka.Forever
		for _, e := range w.events {
			at = min(at, e.at)
		}
		if at > end {
			w.now = end
			return
		}
		w.next()
	}
}

// run makes one step and carries its effects out at the end of its time.
func (w *world) run(p *party, in step.Input) {
	in.Now = w.now
	in.SetDraws(w.draws.Sub(p.name))
	p.out.Reset()
	p.node(&in, p.out)
	end := w.now + p.out.Service
	p.busy = end
	for _, n := range p.out.Notes {
		n.Time = w.now
		w.notes = append(w.notes, n)
	}
	for _, op := range p.out.Ops {
		w.effect(p, op, end)
	}
}

var errRefused = errors.New("refused")

func (w *world) effect(p *party, op step.Op, end kafka.Nanos) {
	switch op.Kind {
	case step.OpConnect:
		w.connect(w.peerOf(p), op, end)
	case step.OpClose:
		w.closeFrom(p, op.Conn, end)
	case step.OpRequest:
		l := w.linkOf(p, op.Conn)
		l.toServer = max(l.toServer, end+linkDelay)
		in := step.Input{Kind: step.Request, Conn: l.server, Correlation: op.Correlation, Body: op.Body, From: p.name}
		w.push(&due{at: l.toServer, deliver: func() { w.arrive(l, in) }})
	case step.OpReply, step.OpNoReply:
		w.reply(p, op, end)
	case step.OpSetTimer:
		w.push(&due{at: max(op.At, end), to: p, life: p.life, timer: op.TimerRef,
			in: step.Input{Kind: step.Timer, Lane: op.Lane, Timer: op.Timer, Arg: op.Arg, Ref: op.Ref}})
	case step.OpCancelTimer:
		p.out.Timers.Release(op.TimerRef)
	default:
		w.t.Fatalf("%s: unexpected effect %v", p.name, op.Kind)
	}
}

func (w *world) peerOf(p *party) *peer {
	for _, q := range w.peers {
		if &q.party == p {
			return q
		}
	}
	// The first step of a peer runs when it is already listed.
	w.t.Fatalf("no peer %s", p.name)
	return nil
}

func (w *world) linkOf(p *party, c step.ConnID) *link {
	for _, l := range w.links {
		if p == w.server && l.server == c || p == &l.peer.party && l.client == c {
			return l
		}
	}
	w.t.Fatalf("%s has no connection %d", p.name, c)
	return nil
}

// connect: a cut peer's attempt is silence, a dead server refuses.
func (w *world) connect(p *peer, op step.Op, end kafka.Nanos) {
	l := &link{peer: p, client: op.Conn}
	w.links = append(w.links, l)
	w.push(&due{at: end + 2*linkDelay, deliver: func() {
		switch {
		case p.cut:
		case w.server == nil || w.server.life < 0:
			w.send(&p.party, step.Input{Kind: step.Refused, Conn: l.client, Err: errRefused}, w.now)
		default:
			l.open, l.server = true, w.server.out.NewConn()
			w.send(w.server, step.Input{Kind: step.Accepted, Conn: l.server, From: p.name}, w.now)
			w.send(&p.party, step.Input{Kind: step.Opened, Conn: l.client}, w.now)
		}
	}})
}

// arrive queues a request at the server's end.
func (w *world) arrive(l *link, in step.Input) {
	if !l.open || l.peer.cut {
		l.lossy = true
		return
	}
	l.waiting = append(l.waiting, in)
	w.serve(l)
}

func (w *world) serve(l *link) {
	if l.serving || len(l.waiting) == 0 {
		return
	}
	l.serving = true
	in := l.waiting[0]
	l.waiting = l.waiting[1:]
	w.send(w.server, in, w.now)
}

func (w *world) reply(p *party, op step.Op, end kafka.Nanos) {
	l := w.linkOf(p, op.Conn)
	if op.Correlation != -1 {
		w.push(&due{at: end, deliver: func() { l.serving = false; w.serve(l) }})
	}
	if op.Kind == step.OpNoReply {
		return
	}
	l.toPeer = max(l.toPeer, end+linkDelay)
	in := step.Input{Kind: step.Response, Lane: 3, Conn: l.client, Correlation: op.Correlation, Body: op.Body}
	w.push(&due{at: l.toPeer, deliver: func() {
		if l.open && !l.peer.cut {
			w.send(&l.peer.party, in, w.now)
		} else {
			l.lossy = true
		}
	}})
}

func (w *world) closeFrom(p *party, c step.ConnID, end kafka.Nanos) {
	l := w.linkOf(p, c)
	wasOpen := l.open
	at := max(end+linkDelay, l.toPeer, l.toServer)
	if p != w.server {
		l.open = false
	}
	if !wasOpen || l.peer.cut {
		l.open = false
		return
	}
	if p == w.server {
		w.push(&due{at: at, deliver: func() {
			if l.open {
				l.open = false
				w.send(&l.peer.party, step.Input{Kind: step.Closed, Conn: l.client}, w.now)
			}
		}})
		return
	}
	w.send(w.server, step.Input{Kind: step.Closed, Conn: l.server}, at)
}

// isolate cuts a peer from the ensemble in silence. heal lets new connections
// through; one that lost something, or that only the server still knows, dies.
func (p *peer) isolate() { p.cut = true }

func (p *peer) heal() {
	p.cut = false
	for _, l := range p.w.links {
		if l.peer == p && l.open && (l.lossy || l.client != p.client.conn) {
			p.w.reset(l)
		}
	}
}

func (p *peer) took() []string {
	log := p.log
	p.log = nil
	return log
}

func create(path, data string) Op {
	return Op{Type: OpCreate, Path: path, Data: []byte(data)}
}

func ephemeral(path string) Op { return Op{Type: OpCreate, Path: path, Ephemeral: true} }

func set(path, data string, version int32) Op {
	return Op{Type: OpSetData, Path: path, Data: []byte(data), Version: version}
}

func del(path string) Op { return Op{Type: OpDelete, Path: path, Version: AnyVersion} }

func get(path string) Op { return Op{Type: OpGetData, Path: path} }

func watched(t OpType, path string) Op { return Op{Type: t, Path: path, Watch: true} }
