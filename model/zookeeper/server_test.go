package zookeeper

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
)

const sec = kafka.Second

func eq(t testing.TB, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func codes(rs []Result) (cs []Code) {
	for _, r := range rs {
		cs = append(cs, r.Code)
	}
	return cs
}

func connected(w *world, names ...string) []*peer {
	w.boot()
	var ps []*peer
	for _, n := range names {
		ps = append(ps, w.peer(n, 18*sec))
	}
	w.advance(sec)
	for _, p := range ps {
		if !p.client.Connected() {
			w.t.Fatalf("%s did not connect", p.name)
		}
		p.took()
	}
	return ps
}

func TestBucketIsTheNextTickAfterADeadlineZ1(t *testing.T) {
	for _, tt := range [][2]kafka.Nanos{{0, 3}, {1, 3}, {2, 3}, {3, 6}, {18, 21}, {19, 21}, {20, 21}, {21, 24}} {
		if got := bucket(tt[0], 3); got != tt[1] {
			t.Errorf("bucket(%d): got %d, want %d", tt[0], got, tt[1])
		}
	}
}

func TestSessionTimeoutIsClampedTo2To20TicksZ1(t *testing.T) {
	w := newWorld(t)
	w.boot()
	for _, tt := range [][2]kafka.Nanos{{sec, 6 * sec}, {18 * sec, 18 * sec}, {90 * sec, 60 * sec}} {
		p := w.peer(fmt.Sprint("c", tt[0]), tt[0])
		w.advance(sec)
		eq(t, "read timeout", p.client.readTimeout, tt[1]*2/3)
	}
}

func TestSilentSessionExpiresInItsBucketZ1(t *testing.T) {
	for _, quiet := range []kafka.Nanos{0, 700 * kafka.Millisecond, 1900 * kafka.Millisecond} {
		w := newWorld(t)
		p := connected(w, "broker-1")[0]
		w.advance(quiet)
		p.call(ephemeral("/controller"))
		// The answer came a link delay and a write after the server had the request.
		contact := w.now - linkDelay - w.cfg.WriteServiceTime
		p.isolate()
		expiry := bucket(contact+18*sec, 3*sec)
		w.advance(expiry - w.now - 1)
		if w.store.Sessions() != 1 {
			t.Fatalf("expired before %v", expiry)
		}
		w.advance(1)
		if w.store.Sessions() != 0 {
			t.Fatalf("not expired at %v", expiry)
		}
		if d := expiry - contact; d < 18*sec || d > 21*sec {
			t.Errorf("expired %v after the last contact", d)
		}
		if _, _, ok := w.store.Get("/controller"); ok {
			t.Error("the ephemeral is still there")
		}
		last := w.notes[len(w.notes)-1]
		eq(t, "note", []any{last.Kind, last.Text, last.Time}, []any{event.SessionExpired, "broker-1", expiry})
	}
}

func TestEphemeralsVanishInOneTransactionInOrderOfCreationZ1(t *testing.T) {
	w := newWorld(t)
	ps := connected(w, "broker-1", "broker-2")
	for _, path := range []string{"/c", "/a", "/b"} {
		ps[0].call(ephemeral(path))
	}
	ps[1].call(create("/keep", ""))
	for _, path := range []string{"/a", "/b", "/c"} {
		ps[1].call(watched(OpExists, path))
	}
	zxid := w.store.zxid
	ps[0].isolate()
	w.advance(25 * sec)
	eq(t, "zxids used", w.store.zxid-zxid, int64(1))
	eq(t, "events", ps[1].took(), []string{"deleted /c", "deleted /a", "deleted /b"})
	eq(t, "left", w.store.Children("/"), []string{"keep"})
}

func TestCloseDeletesEphemeralsAtOnce(t *testing.T) {
	w := newWorld(t)
	ps := connected(w, "a", "b")
	ps[0].call(ephemeral("/e"))
	ps[1].call(watched(OpExists, "/e"))
	ps[0].act(func(in *step.Input, out *step.Effects) { ps[0].client.Close(in, out) })
	w.advance(10 * kafka.Millisecond)
	eq(t, "watcher", ps[1].took(), []string{"deleted /e"})
	eq(t, "closer", ps[0].took(), []string{"ended"})
	eq(t, "sessions", w.store.Sessions(), 1)
	w.advance(sec)
	eq(t, "a call after the end", codes(ps[0].call(get("/e"))), []Code{SessionExpired})
}

func TestConditionalWritesCompareTheVersionZ5(t *testing.T) {
	w := newWorld(t)
	p := connected(w, "a")[0]
	tests := []struct {
		op   Op
		want Code
	}{
		{create("/n", "0"), OK},
		{create("/n", "0"), NodeExists},
		{create("/x/y", ""), NoNode},
		{create("/n/", ""), BadArguments},
		{create("n", ""), BadArguments},
		{set("/n", "1", 1), BadVersion},
		{set("/n", "1", 0), OK},
		{set("/n", "2", AnyVersion), OK},
		{set("/x", "2", AnyVersion), NoNode},
		{Op{Type: OpCheck, Path: "/n", Version: 2}, OK},
		{Op{Type: OpCheck, Path: "/n", Version: 1}, BadVersion},
		{Op{Type: OpDelete, Path: "/n", Version: 1}, BadVersion},
		{create("/n/k", ""), OK},
		{del("/n"), NotEmpty},
		{ephemeral("/e"), OK},
		{create("/e/k", ""), NoChildrenForEphemerals},
		{del("/n/k"), OK},
		{Op{Type: OpDelete, Path: "/n", Version: 2}, OK},
		{del("/n"), NoNode},
		{del("/"), BadArguments},
		{get("/n"), NoNode},
		{Op{Type: OpGetChildren, Path: "/n"}, NoNode},
	}
	for i, tt := range tests {
		if got := p.call(tt.op)[0].Code; got != tt.want {
			t.Errorf("%d: %v %s: got %v, want %v", i, tt.op.Type, tt.op.Path, got, tt.want)
		}
	}
}

func TestStatCountsVersionsAndChildren(t *testing.T) {
	w := newWorld(t)
	p := connected(w, "a")[0]
	base := w.store.zxid
	p.call(create("/n", "0"))
	p.call(create("/n/a", ""), create("/n/b", ""))
	p.call(del("/n/a"))
	r := p.call(set("/n", "1", 0))[0]
	eq(t, "stat", r.Stat, Stat{Czxid: base + 1, Mzxid: base + 4, Version: 1, CVersion: 3, NumChildren: 1})
	r = p.call(ephemeral("/e"))[0]
	eq(t, "ephemeral", r.Stat, Stat{Czxid: base + 5, Mzxid: base + 5, EphemeralOwner: p.client.SessionID()})
	r = p.call(get("/n"))[0]
	eq(t, "data", string(r.Data), "1")
}

func TestSequentialNodesHaveTenDigitsAndNeverRepeat(t *testing.T) {
	w := newWorld(t)
	p := connected(w, "a")[0]
	p.call(create("/q", ""))
	seq := Op{Type: OpCreate, Path: "/q/n_", Sequential: true}
	eq(t, "first", p.call(seq)[0].Path, "/q/n_0000000000")
	p.call(create("/q/other", ""))
	p.call(del("/q/n_0000000000"))
	eq(t, "a plain child counts, a deletion does not", p.call(seq)[0].Path, "/q/n_0000000002")
	eq(t, "children", p.call(Op{Type: OpGetChildren, Path: "/q"})[0].Children, []string{"n_0000000002", "other"})
}

func TestMultiIsAllOrNothingZ5(t *testing.T) {
	w := newWorld(t)
	ps := connected(w, "a", "b")
	p := ps[0]
	p.call(create("/e", "5"))
	p.call(ephemeral("/mine"))
	ps[1].call(watched(OpExists, "/x"))
	ps[1].call(watched(OpGetData, "/e"))
	before := dump(w.store.tree)
	got := p.call(create("/x", ""), create("/x/y", ""), set("/e", "6", 0), del("/mine"), set("/e", "7", 0), del("/e"))
	eq(t, "codes", codes(got), []Code{OK, OK, OK, OK, BadVersion, RuntimeInconsistency})
	eq(t, "outcome", Outcome(got), BadVersion)
	eq(t, "tree", dump(w.store.tree), before)
	eq(t, "events", ps[1].took(), []string(nil))
	got = p.call(create("/x", ""), set("/e", "6", 0), Op{Type: OpCheck, Path: "/x", Version: 0})
	eq(t, "outcome", Outcome(got), OK)
	w.advance(sec)
	eq(t, "events", ps[1].took(), []string{"created /x", "data-changed /e"})
	eq(t, "one zxid", got[0].Stat.Czxid == got[1].Stat.Mzxid, true)
}

func TestWatchesFireOnceAndCoalesceZ5(t *testing.T) {
	w := newWorld(t)
	ps := connected(w, "a", "b")
	p, q := ps[0], ps[1]
	p.call(create("/n", ""))
	q.call(watched(OpGetData, "/n"))
	q.call(watched(OpGetData, "/n"))
	q.call(watched(OpGetChildren, "/n"))
	p.call(set("/n", "1", -1))
	p.call(set("/n", "2", -1))
	p.call(create("/n/a", ""))
	p.call(create("/n/b", ""))
	w.advance(sec)
	eq(t, "events", q.took(), []string{"data-changed /n", "children-changed /n"})
	p.call(set("/n", "3", -1))
	p.call(del("/n/a"))
	w.advance(sec)
	eq(t, "not re-armed", q.took(), []string(nil))
}

func TestDeletionTellsAWatcherOfDataAndChildrenOnce(t *testing.T) {
	w := newWorld(t)
	ps := connected(w, "a", "b", "c")
	ps[0].call(create("/n", ""))
	ps[1].call(watched(OpGetData, "/n"))
	ps[1].call(watched(OpGetChildren, "/n"))
	ps[1].call(watched(OpGetChildren, "/"))
	ps[2].call(watched(OpGetChildren, "/n"))
	ps[0].call(del("/n"))
	w.advance(sec)
	eq(t, "both", ps[1].took(), []string{"deleted /n", "children-changed /"})
	eq(t, "children only", ps[2].took(), []string{"deleted /n"})
}

func TestFailedReadsLeaveAWatchOnlyWithExists(t *testing.T) {
	w := newWorld(t)
	ps := connected(w, "a", "b")
	ps[1].call(watched(OpGetData, "/d"))
	ps[1].call(watched(OpGetChildren, "/c"))
	ps[1].call(watched(OpExists, "/e"))
	for _, path := range []string{"/c", "/d", "/e"} {
		ps[0].call(create(path, ""))
	}
	w.advance(sec)
	eq(t, "events", ps[1].took(), []string{"created /e"})
}

func TestEventComesBeforeALaterReadsResultZ5(t *testing.T) {
	w := newWorld(t)
	ps := connected(w, "a", "b")
	p, q := ps[0], ps[1]
	p.call(create("/n", "old"))
	saw := 0
	for i := range 20 {
		q.call(watched(OpGetData, "/n"))
		q.took()
		for k := range 8 { // a burst of reads races with a write
			if k == i%8 {
				p.do(Request{set("/n", fmt.Sprint(i), -1)})
			}
			wf := q.do(Request{get("/n")})
			wf.then = func(in *step.Input, out *step.Effects) {
				if string(wf.results[0][0].Data) != fmt.Sprint(i) {
					return
				}
				if saw++; !slices.Contains(q.log, "data-changed /n") {
					t.Errorf("round %d: read %d saw the new value before the event", i, k)
				}
			}
			w.advance(kafka.Nanos(i) * 50 * kafka.Microsecond)
		}
		w.advance(sec)
	}
	if saw == 0 || saw == 160 {
		t.Errorf("%d of 160 reads saw the new value: no race", saw)
	}
}

func TestEventOfAnOwnWriteComesBeforeItsAnswerZ5(t *testing.T) {
	w := newWorld(t)
	p := connected(w, "a")[0]
	p.call(create("/n", ""))
	p.call(watched(OpGetData, "/n"))
	wf := p.do(Request{set("/n", "1", -1)})
	wf.then = func(in *step.Input, out *step.Effects) { p.log = append(p.log, "answer") }
	w.advance(sec)
	eq(t, "order", p.took(), []string{"data-changed /n", "answer"})
}

func TestReadsAreNotFencedAndSessionsSeeTheirOwnWrites(t *testing.T) {
	w := newWorld(t)
	p := connected(w, "a")[0]
	p.call(create("/n", "0"))
	wf := p.do(Request{set("/n", "1", -1)}, Request{get("/n")}, Request{set("/n", "2", -1)}, Request{get("/n")})
	w.advance(sec)
	eq(t, "first read", string(wf.results[1][0].Data), "1")
	eq(t, "second read", string(wf.results[3][0].Data), "2")
}

func TestRestartKeepsTreeAndSessions(t *testing.T) {
	w := newWorld(t)
	ps := connected(w, "a", "b")
	p := ps[0]
	p.call(create("/n", "1"))
	p.call(ephemeral("/e"))
	p.call(watched(OpGetData, "/n"))
	id := p.client.SessionID()
	ps[1].isolate()
	w.restart()
	w.advance(5 * sec)
	eq(t, "session", p.client.SessionID(), id)
	eq(t, "log", p.took(), []string{"disconnected", "connected"})
	eq(t, "ephemeral", p.call(Op{Type: OpExists, Path: "/e"})[0].Code, OK)
	p.call(set("/n", "2", 0))
	w.advance(sec)
	eq(t, "the watch was restored", p.took(), []string{"data-changed /n"})
	eq(t, "the silent session got its timeout again", w.store.Sessions(), 2)
	w.advance(20 * sec)
	eq(t, "and no more", w.store.Sessions(), 1)
}

func TestTerminatedEnsembleExits(t *testing.T) {
	out := step.NewEffects()
	if err := NewServer(newWorld(t).cfg, NewStore()).Step(&step.Input{Kind: step.Terminate}, out); err != nil || !out.Exiting {
		t.Error("still running")
	}
}
