package zookeeper

import (
	"fmt"
	"slices"
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
)

func TestPingsKeepAnIdleSessionAliveCheaplyZ2(t *testing.T) {
	w := newWorld(t)
	p := connected(w, "a")[0]
	before := w.seq
	w.advance(kafka.Hour)
	eq(t, "log", p.took(), []string(nil))
	eq(t, "sessions", w.store.Sessions(), 1)
	// A ping every 5 s is 720; each costs some five inputs of this runner, and the
	// server looks at its sessions once a timeout or so.
	if n := w.seq - before; n > 6*720+400 {
		t.Errorf("an idle hour took %d inputs", n)
	}
}

func TestPingGapIsBelowAThirdOfTheTimeoutZ2(t *testing.T) {
	for _, timeout := range []kafka.Nanos{6 * sec, 7 * sec, 18 * sec, 40 * sec, 60 * sec} {
		c := Client{readTimeout: timeout * 2 / 3}
		if gap := c.pingAfter(); gap > timeout/3 || gap > 10*sec || gap < kafka.Second {
			t.Errorf("timeout %v: gap %v", timeout, gap)
		}
	}
}

func TestSilenceOfTwoThirdsBreaksTheConnectionZ2(t *testing.T) {
	w := newWorld(t)
	p := connected(w, "a")[0]
	p.call(create("/n", ""))
	heard := w.now
	p.isolate()
	w.advance(12*sec - 1)
	eq(t, "log", p.took(), []string(nil))
	w.advance(heard + 12*sec - w.now)
	eq(t, "log", p.took(), []string{"disconnected"})
	eq(t, "connected", p.client.Connected(), false)
	p.heal()
	w.advance(25 * sec)
}

func TestReconnectWithinTheSessionRefiresWhatChangedZ4(t *testing.T) {
	w := newWorld(t)
	ps := connected(w, "a", "b")
	p, q := ps[0], ps[1]
	for _, path := range []string{"/same", "/data", "/gone", "/kids", "/kids/k", "/deadkids"} {
		q.call(create(path, ""))
	}
	for _, path := range []string{"/same", "/data", "/gone"} {
		p.call(watched(OpGetData, path))
	}
	p.call(watched(OpExists, "/new"))
	p.call(watched(OpExists, "/never"))
	for _, path := range []string{"/kids", "/deadkids", "/same"} {
		p.call(watched(OpGetChildren, path))
	}
	id := p.client.SessionID()
	p.isolate()
	q.call(set("/data", "1", -1))
	q.call(set("/data", "2", -1))
	q.call(del("/gone"))
	q.call(create("/new", ""))
	q.call(del("/kids/k"))
	q.call(del("/deadkids"))
	w.reset(w.linkOf(&p.party, p.client.conn))
	p.heal()
	w.advance(3 * sec)
	eq(t, "session", p.client.SessionID(), id)
	eq(t, "log", p.took(), []string{"disconnected", "connected", "data-changed /data", "deleted /gone", "created /new",
		"deleted /deadkids", "children-changed /kids"})
	q.call(set("/same", "1", -1))
	q.call(create("/same/k", ""))
	q.call(create("/never", ""))
	w.advance(sec)
	eq(t, "what had not changed is still armed", p.took(), []string{"data-changed /same", "children-changed /same", "created /never"})
}

func TestClientLearnsOfExpiryOnlyWhenItReconnectsZ2(t *testing.T) {
	w := newWorld(t)
	ps := connected(w, "broker-1", "b")
	p, q := ps[0], ps[1]
	p.call(ephemeral("/e"))
	p.call(watched(OpGetData, "/e"))
	id := p.client.SessionID()
	p.isolate()
	pending := p.do(Request{get("/e")}, Request{set("/e", "1", 0), set("/e", "2", 1)})
	q.call(watched(OpExists, "/e"))
	w.advance(60 * sec)
	eq(t, "others see it", q.took(), []string{"deleted /e"})
	eq(t, "it does not", p.took(), []string{"disconnected"})
	eq(t, "its calls wait", pending.count, 0)
	p.heal()
	w.advance(25 * sec)
	eq(t, "log", p.took(), []string{"expired", "connected"})
	eq(t, "its calls", pending.count, 1)
	eq(t, "are expired", [][]Code{codes(pending.results[0]), codes(pending.results[1])}, [][]Code{{SessionExpired}, {SessionExpired, SessionExpired}})
	if p.client.SessionID() == id || p.client.SessionID() == 0 {
		t.Error("no new session")
	}
	p.call(ephemeral("/e"))
	w.advance(sec)
	eq(t, "watches of the old session are gone", p.took(), []string(nil))
}

func TestNothingIsSentBetweenExpiryAndNewSessionZ7(t *testing.T) {
	w := newWorld(t)
	p := connected(w, "a")[0]
	p.autoRenew = false
	p.isolate()
	w.advance(40 * sec)
	var late *waitFor
	pending := p.do(Request{get("/")})
	pending.then = func(in *step.Input, out *step.Effects) {
		late = &waitFor{}
		p.client.Do(in, out, []Request{{get("/")}}, late)
		if late.count > 0 {
			t.Error("resumed inside its own Do")
		}
	}
	p.heal()
	w.advance(60 * sec)
	eq(t, "log", p.took(), []string{"disconnected", "expired"})
	eq(t, "pending", pending.results[0][0].Code, SessionExpired)
	eq(t, "late", late.results[0][0].Code, SessionExpired)
	eq(t, "sessions", w.store.Sessions(), 0)
	p.act(func(in *step.Input, out *step.Effects) { p.client.NewSession(in, out) })
	w.advance(sec)
	eq(t, "log", p.took(), []string{"connected"})
	eq(t, "a call", p.call(get("/"))[0].Code, OK)
}

// The answer to a create is lost, the retry finds the node: the caller cannot
// tell its own from another's but by the content.
func TestConnectionLossLeavesAWritesOutcomeUnknownZ3(t *testing.T) {
	w := newWorld(t)
	p := connected(w, "a")[0]
	l := w.linkOf(&p.party, p.client.conn)
	wf := p.do(Request{create("/n", "mine")}, Request{set("/n", "1", 0)})
	for {
		if _, _, ok := w.store.Get("/n"); ok {
			break
		}
		w.next()
	}
	w.reset(l)
	w.advance(5 * sec)
	eq(t, "retried", [][]Code{codes(wf.results[0]), codes(wf.results[1])}, [][]Code{{NodeExists}, {OK}})
}

func TestCallsStayInOrderAndWithinMaxInFlight(t *testing.T) {
	w := newWorld(t)
	p := connected(w, "a")[0]
	p.call(create("/q", ""))
	var reqs []Request
	for i := range 35 {
		reqs = append(reqs, Request{create(fmt.Sprintf("/q/%02d", i), "")})
	}
	wf := p.do(reqs...)
	for wf.count == 0 && w.next() {
		if p.client.calls.sent > 10 {
			t.Fatalf("%d in flight", p.client.calls.sent)
		}
	}
	for i := 1; i < len(reqs); i++ {
		if wf.results[i][0].Stat.Czxid != wf.results[i-1][0].Stat.Czxid+1 {
			t.Fatalf("call %d out of order", i)
		}
	}
}

func TestEmptyDoIsAnsweredByATimer(t *testing.T) {
	w := newWorld(t)
	p := connected(w, "a")[0]
	wf := p.do()
	eq(t, "at once", wf.count, 0)
	w.advance(1)
	eq(t, "later", wf.count, 1)
}

func TestReadsInAMultiAreRefused(t *testing.T) {
	p := connected(newWorld(t), "a")[0]
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	p.do(Request{get("/"), create("/n", "")})
}

func TestUnreachableEnsembleIsTriedForEverAndReportedOnce(t *testing.T) {
	w := newWorld(t)
	p := &peer{w: w, client: NewClient(ClientConfig{Lane: 3, Endpoints: []step.Addr{{Host: "zookeeper-1"}},
		SessionTimeout: 18 * sec, ConnectTimeout: 18 * sec, MaxInFlight: 1, TimerBase: 40})}
	p.party = party{name: "a", out: step.NewEffects(), life: 1, node: func(in *step.Input, out *step.Effects) {
		events, _ := p.client.Handle(in, out)
		for _, ev := range events {
			p.log = append(p.log, describe(ev))
		}
	}}
	w.peers = append(w.peers, p)
	p.act(func(in *step.Input, out *step.Effects) { p.client.Start(in, out) })
	w.advance(18*sec - 1)
	eq(t, "log", p.took(), []string(nil))
	w.advance(kafka.Minute)
	eq(t, "log", p.took(), []string{"connect-timed-out"})
	if n := len(w.links); n < 60 || n > 120 {
		t.Errorf("%d attempts in 78 s", n)
	}
	w.boot()
	w.advance(2 * sec)
	eq(t, "log", p.took(), []string{"connected"})
}

func TestReconnectGoesRoundTheEndpointsZ2(t *testing.T) {
	w := newWorld(t)
	w.boot()
	p := w.peer("a", 18*sec, "zookeeper-1", "zookeeper-2", "zookeeper-3")
	w.advance(sec)
	var seen []string
	for range 3 {
		seen = append(seen, p.client.hosts.order[p.client.hosts.current].Host)
		w.reset(w.linkOf(&p.party, p.client.conn))
		w.advance(3 * sec)
	}
	slices.Sort(seen)
	eq(t, "endpoints", seen, []string{"zookeeper-1", "zookeeper-2", "zookeeper-3"})
	eq(t, "sessions", w.store.Sessions(), 1)
}

func TestASecondConnectionOfASessionClosesTheFirst(t *testing.T) {
	w := newWorld(t)
	p := connected(w, "a")[0]
	old := w.linkOf(&p.party, p.client.conn)
	p.isolate()
	p.do(Request{create("/late", "")}) // lost on the old connection
	w.advance(11*sec + sec/2)
	p.cut = false // the old connection is still known to the server
	w.advance(5 * sec)
	eq(t, "connected", p.client.Connected(), true)
	if old.server == w.linkOf(&p.party, p.client.conn).server || len(p.serverConns()) != 1 {
		t.Error("the server kept the old connection")
	}
	eq(t, "the call was sent again", p.call(get("/late"))[0].Code, OK)
}

func (p *peer) serverConns() (ids []step.ConnID) {
	for _, l := range p.w.links {
		if l.peer == p && l.open {
			ids = append(ids, l.server)
		}
	}
	return ids
}
