package zookeeper

import (
	"fmt"
	"slices"
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
	"pgregory.net/rapid"
)

// mirror keeps a copy of /n as Kafka's handlers do: a read arms the watch, an
// event reads again, a new session starts over.
type mirror struct {
	t       *rapid.T
	p       *peer
	version int32
	zxid    int64
	data    string
	reads   int
}

func (m *mirror) read(in *step.Input, out *step.Effects) {
	m.reads++
	m.p.client.Do(in, out, []Request{{watched(OpGetData, "/n")}}, m)
}

func (m *mirror) Resume(in *step.Input, out *step.Effects, results [][]Result) {
	m.reads--
	r := results[0][0]
	if r.Code == SessionExpired {
		return // the handler of the new session reads
	}
	if r.Code != OK {
		m.t.Fatalf("%s: read of /n: %v", m.p.name, r.Code)
	}
	if r.Stat.Mzxid < m.zxid {
		m.t.Fatalf("%s went back from zxid %d to %d", m.p.name, m.zxid, r.Stat.Mzxid)
	}
	m.version, m.zxid, m.data = r.Stat.Version, r.Stat.Mzxid, string(r.Data)
}

// broker makes a peer behave as a broker: an ephemeral for each session, and a
// mirror.
func broker(t *rapid.T, w *world, name string, hosts ...string) (*peer, *mirror) {
	p := w.peer(name, 6*sec, hosts...)
	m := &mirror{t: t, p: p}
	inner := p.node
	fresh := true
	p.node = func(in *step.Input, out *step.Effects) {
		n := len(p.events)
		inner(in, out)
		for _, ev := range p.events[n:] {
			switch {
			case ev.Type == Expired:
				fresh, m.zxid = true, 0
			case ev.Type == Connected && fresh:
				fresh = false
				p.client.Do(in, out, []Request{{ephemeral("/ids/" + name)}}, nil)
				m.read(in, out)
			case ev.Path == "/n":
				m.read(in, out)
			}
		}
	}
	return p, m
}

func TestAfterAnyTroubleEveryWatcherHasTheLastValue(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(rt)
		w.draws = step.NewDraws(rapid.Uint64().Draw(rt, "seed"))
		w.cfg.MaxReadLag = rapid.SampledFrom([]kafka.Nanos{0, 20 * kafka.Millisecond, 2 * sec}).Draw(rt, "lag")
		w.store.tree.write(Request{create("/n", "0"), create("/ids", "")}, 0, 0)
		w.boot()
		var ps []*peer
		var ms []*mirror
		for i := range 3 {
			p, m := broker(rt, w, fmt.Sprint(i), "zookeeper-1", "zookeeper-2")
			ps, ms = append(ps, p), append(ms, m)
		}
		w.advance(10 * sec)
		down := false
		for range rapid.IntRange(5, 40).Draw(rt, "steps") {
			p := ps[rapid.IntRange(0, 2).Draw(rt, "peer")]
			switch rapid.IntRange(0, 7).Draw(rt, "action") {
			case 0:
				p.isolate()
			case 1:
				p.heal()
			case 2:
				if p.client.conn != 0 {
					w.reset(w.linkOf(&p.party, p.client.conn))
				}
			case 3:
				if !down && rapid.IntRange(0, 3).Draw(rt, "kill") == 0 {
					w.kill()
					down = true
				}
			case 4:
				if down {
					w.boot()
					down = false
				}
			default:
				p.do(Request{set("/n", fmt.Sprint(w.seq), AnyVersion)})
			}
			w.advance(kafka.Nanos(rapid.IntRange(0, 4000).Draw(rt, "ms")) * kafka.Millisecond)
		}
		if down {
			w.boot()
		}
		for _, p := range ps {
			p.heal()
		}
		w.advance(90 * sec)
		checkConverged(rt, w, ps, ms)
	})
}

func checkConverged(t *rapid.T, w *world, ps []*peer, ms []*mirror) {
	data, stat, _ := w.store.Get("/n")
	for i, m := range ms {
		if m.reads != 0 || m.version != stat.Version || m.data != string(data) {
			t.Fatalf("%s has version %d %q, ZooKeeper %d %q; %d reads open\n%v", ps[i].name, m.version, m.data, stat.Version, data, m.reads, ps[i].log)
		}
		_, e, ok := w.store.Get("/ids/" + ps[i].name)
		if !ok || e.EphemeralOwner != ps[i].client.SessionID() {
			t.Fatalf("%s: session %d, its ephemeral: %v %+v", ps[i].name, ps[i].client.SessionID(), ok, e)
		}
	}
	if w.store.Sessions() != len(ps) {
		t.Fatalf("%d sessions", w.store.Sessions())
	}
	for _, v := range w.actor.views {
		for _, e := range slices.Concat(v.data.entries, v.child.entries) {
			for _, c := range e.conns {
				if w.actor.find(c) == nil {
					t.Fatalf("a watch of %s is left of connection %d, which is gone", e.path, c)
				}
			}
		}
		if dump(v.tree) != dump(w.store.tree) {
			t.Fatalf("view %q differs:\n%s\n%s", v.host, dump(v.tree), dump(w.store.tree))
		}
	}
}

func TestLaggingEndpointKeepsTheOrderOfASessionZ5(t *testing.T) {
	w := newWorld(t)
	w.cfg.MaxReadLag = sec
	w.boot()
	p := w.peer("a", 18*sec, "zookeeper-1")
	q := w.peer("b", 18*sec, "zookeeper-2")
	w.advance(5 * sec)
	p.call(create("/n", "old"))
	w.advance(5 * sec)
	q.call(watched(OpGetData, "/n"))
	q.took()
	stale, fresh := 0, 0
	for i := range 10 {
		wf := p.do(Request{set("/n", fmt.Sprint(i), AnyVersion)}, Request{get("/n")})
		for wf.count == 0 {
			r := q.call(get("/n"))[0]
			committed, _, _ := w.store.Get("/n")
			switch seen := len(q.log) > 0; {
			case string(r.Data) == fmt.Sprint(i) && !seen:
				t.Errorf("round %d: the value came before the event", i)
			case string(r.Data) != string(committed):
				stale++
			default:
				fresh++
			}
		}
		eq(t, "a session sees its own write", string(wf.results[1][0].Data), fmt.Sprint(i))
		w.advance(5 * sec)
		eq(t, "events", q.took(), []string{"data-changed /n"})
		q.call(watched(OpGetData, "/n"))
	}
	if stale == 0 || fresh == 0 {
		t.Errorf("%d stale reads, %d fresh", stale, fresh)
	}
}

func TestEndpointBehindTheClientRefusesIt(t *testing.T) {
	w := newWorld(t)
	w.cfg.MaxReadLag = 10 * sec
	w.boot()
	p := w.peer("a", 18*sec, "zookeeper-1", "zookeeper-2")
	w.peer("keeps zookeeper-1", 18*sec, "zookeeper-1")
	w.peer("keeps zookeeper-2", 18*sec, "zookeeper-2")
	w.advance(30 * sec)
	p.took()
	at := p.client.hosts.order[p.client.hosts.current].Host
	p.call(create("/n", ""))
	for _, v := range w.actor.views {
		for _, e := range slices.Concat(v.data.entries, v.child.entries) {
			for _, c := range e.conns {
				if w.actor.find(c) == nil {
					t.Fatalf("a watch of %s is left of connection %d, which is gone", e.path, c)
				}
			}
		}
		if v.host != at {
			// The other endpoint is far behind.
			v.pending = append(v.pending[:0], late{due: w.now + kafka.Minute, txn: &txn{zxid: w.store.zxid, req: Request{create("/n", "")}, changes: make([]change, 1)}})
			v.zxid = w.store.zxid - 1
		}
	}
	w.reset(w.linkOf(&p.party, p.client.conn))
	w.advance(5 * sec)
	eq(t, "back at the first endpoint", p.client.hosts.order[p.client.hosts.current].Host, at)
	eq(t, "log", p.took(), []string{"disconnected", "connected"})
}
