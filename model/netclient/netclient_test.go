package netclient

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
)

var (
	broker1 = step.Addr{Host: "broker-1", Port: 9092}
	broker2 = step.Addr{Host: "broker-2", Port: 9092}
)

const timerKind step.TimerKind = 7

// bench drives one client by hand.
type bench struct {
	t   testing.TB
	c   *Client
	out *step.Effects
	in  step.Input
}

func newBench(t testing.TB, maxInFlight int) *bench {
	b := &bench{t: t, out: step.NewEffects(), c: New(Config{
		Lane: 2, RequestTimeout: 30 * kafka.Second, ReconnectBackoff: 50 * kafka.Millisecond,
		ReconnectBackoffMax: kafka.Second, SetupTimeout: 10 * kafka.Second,
		MaxInFlight: maxInFlight, TimerKind: timerKind, Name: "reconnect",
	})}
	b.in.SetDraws(step.NewDraws(1))
	b.in.Lane = 2
	return b
}

func (b *bench) at(now kafka.Nanos) *bench { b.in.Now = now; b.out.Reset(); return b }

func (b *bench) input(kind step.Kind, conn step.ConnID) []Completion {
	b.t.Helper()
	b.in.Kind, b.in.Conn = kind, conn
	done, mine := b.c.Handle(&b.in, b.out)
	if !mine {
		b.t.Fatalf("%v on connection %d is not mine", kind, conn)
	}
	return done
}

func (b *bench) respond(conn step.ConnID, correlation int32) []Completion {
	b.in.Correlation, b.in.Body = correlation, kmsg.NewPtrMetadataResponse()
	return b.input(step.Response, conn)
}

func (b *bench) fire() []Completion {
	b.in.Kind, b.in.Timer, b.in.Arg = step.Timer, timerKind, b.c.alarm.seq
	done, _ := b.c.Handle(&b.in, b.out)
	return done
}

func (b *bench) ready(to step.Addr) bool { return b.c.Ready(&b.in, b.out, to) }

func (b *bench) send(to step.Addr, tag any) {
	b.c.Send(&b.in, b.out, to, kmsg.NewPtrMetadataRequest(), 0, tag)
}

func (b *bench) count(kind step.OpKind) (n int) {
	for _, op := range b.out.Ops {
		if op.Kind == kind {
			n++
		}
	}
	return n
}

func TestReadyConnectsOnceAndIsTrueWhenOpened(t *testing.T) {
	b := newBench(t, 2)
	for range 2 {
		if b.ready(broker1) {
			t.Fatal("ready before the connection is up")
		}
	}
	if b.count(step.OpConnect) != 1 {
		t.Fatalf("%d connects", b.count(step.OpConnect))
	}
	b.input(step.Opened, 1)
	if !b.ready(broker1) {
		t.Fatal("not ready once opened")
	}
	b.send(broker1, 1)
	b.send(broker1, 2)
	if b.ready(broker1) || b.c.InFlight(broker1) != 2 {
		t.Fatal("ready beyond MaxInFlight")
	}
	if done := b.respond(1, 1); len(done) != 1 || done[0].Tag != 1 || done[0].Failure != Answered || done[0].Response == nil {
		t.Fatalf("completions %+v", done)
	}
	if !b.ready(broker1) {
		t.Fatal("an answer frees a place")
	}
}

func TestRequestTimeoutClosesTheConnectionAndFailsAllOnIt(t *testing.T) {
	b := newBench(t, 5)
	b.ready(broker1)
	b.ready(broker2)
	b.input(step.Opened, 1)
	b.input(step.Opened, 2)
	b.at(kafka.Second).send(broker1, "late")
	b.at(20*kafka.Second).send(broker1, "younger")
	b.send(broker2, "elsewhere")
	b.at(31 * kafka.Second)
	done := b.fire()
	if len(done) != 2 || done[0].Tag != "late" || done[1].Tag != "younger" || done[1].Failure != TimedOut {
		t.Fatalf("completions %+v", done)
	}
	if b.count(step.OpClose) != 1 || len(b.c.Lost()) != 1 || b.c.Lost()[0] != broker1 {
		t.Fatalf("lost %v", b.c.Lost())
	}
	if b.c.InFlight(broker2) != 1 || !b.c.alarm.ref.IsSet() || b.c.alarm.at != 50*kafka.Second {
		t.Fatalf("the other connection waits for its own deadline, timer at %v", b.c.alarm.at)
	}
}

func TestAnsweredRequestsTouchNoTimer(t *testing.T) {
	b := newBench(t, 1)
	b.ready(broker1)
	b.input(step.Opened, 1)
	b.at(0).send(broker1, nil)
	b.respond(1, 1)
	b.at(0)
	for i := range int32(100) {
		b.in.Now += kafka.Millisecond
		b.send(broker1, nil)
		b.respond(1, i+2)
	}
	if b.count(step.OpSetTimer)+b.count(step.OpCancelTimer) != 0 {
		t.Fatal("a timer was touched")
	}
	b.in.Now = b.c.alarm.at
	if b.fire(); b.c.alarm.ref.IsSet() {
		t.Fatal("nothing in flight needs no timer")
	}
}

func TestEarlierDeadlineMovesTheTimer(t *testing.T) {
	b := newBench(t, 5)
	b.ready(broker1)
	b.input(step.Opened, 1)
	b.send(broker1, nil)
	stale := b.c.alarm.seq
	b.c.Send(&b.in, b.out, broker1, kmsg.NewPtrMetadataRequest(), kafka.Second, nil)
	if b.c.alarm.at != kafka.Second {
		t.Fatalf("timer at %v", b.c.alarm.at)
	}
	b.in.Kind, b.in.Timer, b.in.Arg = step.Timer, timerKind, stale
	if done, mine := b.c.Handle(&b.in, b.out); !mine || len(done) != 0 || !b.c.alarm.ref.IsSet() {
		t.Fatal("a replaced timer must be ignored")
	}
}

func TestReconnectBackoffDoublesWithJitterAndEndsWhenOpened(t *testing.T) {
	b := newBench(t, 1)
	now, conn := kafka.Nanos(0), step.ConnID(0)
	for i, want := range []kafka.Nanos{50, 100, 200, 400, 800, 1000, 1000} {
		if b.at(now).ready(broker1); b.count(step.OpConnect) != 1 {
			t.Fatalf("attempt %d: no connect", i)
		}
		conn++
		if done := b.input(step.Refused, conn); len(done) != 0 || len(b.c.Lost()) != 1 {
			t.Fatal("a refused connection without requests completes nothing and is lost")
		}
		wait := b.c.BackoffUntil(broker1) - now
		if w := want * kafka.Millisecond; wait < w*8/10 || wait > min(kafka.Second, w*12/10) {
			t.Fatalf("attempt %d: backoff %v, want about %v", i, wait, w)
		}
		if b.at(now + wait - 1).ready(broker1); b.count(step.OpConnect) != 0 {
			t.Fatal("connects within the backoff")
		}
		now += wait
	}
	b.at(now).ready(broker1)
	b.input(step.Opened, conn+1)
	b.input(step.Closed, conn+1)
	if wait := b.c.BackoffUntil(broker1) - now; wait > 60*kafka.Millisecond {
		t.Fatalf("backoff %v after a connection that was up", wait)
	}
}

func TestQueuedOnAConnectionThatNeverComesUpIsRefused(t *testing.T) {
	b := newBench(t, 1)
	b.c.Connect(&b.in, b.out, broker1)
	b.send(broker1, "queued")
	if done := b.input(step.Refused, 1); len(done) != 1 || done[0].Failure != Refused {
		t.Fatalf("completions %+v", done)
	}
	b.at(kafka.Second).c.Connect(&b.in, b.out, broker1)
	b.send(broker1, "queued")
	b.at(11 * kafka.Second)
	if done := b.fire(); len(done) != 1 || done[0].Failure != Refused || b.count(step.OpClose) != 1 {
		t.Fatalf("setup timeout: %+v", done)
	}
}

func TestClosedFailsInFlightOldestFirst(t *testing.T) {
	b := newBench(t, 0)
	b.ready(broker1)
	b.input(step.Opened, 1)
	b.send(broker1, 1)
	b.send(broker1, 2)
	b.c.SendNoResponse(&b.in, b.out, broker1, kmsg.NewPtrProduceRequest())
	done := b.input(step.Closed, 1)
	if len(done) != 2 || done[0].Tag != 1 || done[0].Failure != Disconnected {
		t.Fatalf("completions %+v", done)
	}
	b.at(kafka.Second).ready(broker1)
	b.input(step.Opened, 2)
	b.send(broker1, 3)
	if done := b.c.Disconnect(&b.in, b.out, broker1); len(done) != 1 || done[0].Failure != Disconnected || b.count(step.OpClose) != 1 {
		t.Fatalf("disconnect: %+v", done)
	}
}

func TestOtherInputsAreNotMine(t *testing.T) {
	b := newBench(t, 0)
	b.ready(broker1)
	for _, in := range []step.Input{
		{Kind: step.Boot}, {Kind: step.Request, Conn: 1}, {Kind: step.Closed, Conn: 9}, {Kind: step.Closed},
		{Kind: step.Timer, Timer: timerKind + 1, Lane: 2}, {Kind: step.Timer, Timer: timerKind, Lane: 1},
	} {
		if _, mine := b.c.Handle(&in, b.out); mine {
			t.Errorf("%+v is mine", in)
		}
	}
}

func TestBackoffStaysWithinItsBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		initial := kafka.Nanos(rapid.Int64Range(0, int64(10*kafka.Second)).Draw(t, "initial"))
		limit := kafka.Nanos(rapid.Int64Range(0, int64(kafka.Minute)).Draw(t, "limit"))
		attempts := rapid.IntRange(0, 1000).Draw(t, "attempts")
		got := Backoff(initial, limit, attempts, rapid.Uint64().Draw(t, "draw"))
		if limit <= initial {
			if limit > 0 && got != limit || limit == 0 && got != initial {
				t.Fatalf("backoff %d, want a constant", got)
			}
			return
		}
		term := initial
		for i := 0; i < attempts && term < limit; i++ {
			term *= 2
		}
		term = min(term, limit)
		if initial == 0 {
			term = 0
		}
		if got < term-term/5 || got > min(limit, term+term/5) {
			t.Fatalf("backoff %d for term %d, limit %d", got, term, limit)
		}
	})
}

func BenchmarkRequest(b *testing.B) {
	h := newBench(b, 1)
	h.ready(broker1)
	h.input(step.Opened, 1)
	req, resp := kmsg.NewPtrMetadataRequest(), kmsg.NewPtrMetadataResponse()
	b.ReportAllocs()
	var i int32
	for b.Loop() {
		i++
		h.out.Reset()
		h.c.Send(&h.in, h.out, broker1, req, 0, nil)
		h.in.Kind, h.in.Conn, h.in.Correlation, h.in.Body = step.Response, 1, i, resp
		h.c.Handle(&h.in, h.out)
	}
}
