package simnet

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
	"github.com/simkafka/simkafka/sim/kernel"
)

// sends asks one request at each of the times.
func sends(times ...kafka.Nanos) act {
	return script(func(i int, c step.ConnID, out *step.Effects) { out.Request(c, int32(i), text("m")) }, times...)
}

// fresh drops the log up to now.
func (w *world) fresh() { w.log = nil }

func TestCutIsSilenceAndRetransmissionComesLate(t *testing.T) {
	w := newWorld(t, nil)
	w.boot("s", answer(0))
	w.boot("c", sends(100*ms, 150*ms, 5*kafka.Second))
	var lift func()
	w.at(50*ms, func() { w.fresh(); lift = w.n.CutBoth([]string{"c"}, []string{"s"}) })
	w.at(900*ms, func() { lift(); lift() })
	w.k.Run(10 * kafka.Second)
	// First sent at 0.1 s: retransmitted after 0.2, 0.4, 0.8 s. What was sent behind it follows it.
	w.want(
		"0.100000s c timer 0", "0.150000s c timer 1",
		"1.501000s s request c1 #0 m", "1.501000s s request c1 #1 m",
		"1.502000s c response c1 #0 re:m", "1.502000s c response c1 #1 re:m",
		"5.000000s c timer 2", "5.001000s s request c1 #2 m", "5.002000s c response c1 #2 re:m")
}

func TestMessageOnTheWireWhenTheCutComesIsLostToo(t *testing.T) {
	w := newWorld(t, nil)
	w.boot("s", nil)
	w.boot("c", sends(100*ms))
	w.at(100*ms+ms/2, func() { w.fresh(); w.at(150*ms, w.n.Cut([]string{"c"}, []string{"s"})) })
	w.k.Run(kafka.Second)
	w.want("0.301000s s request c1 #0 m")
}

// N30: the request is executed, its answer does not come.
func TestOneWayCutLosesOnlyThatDirection(t *testing.T) {
	w := newWorld(t, nil)
	w.boot("s", answer(0))
	w.boot("c", sends(100*ms))
	w.at(50*ms, func() { w.fresh(); w.n.Cut([]string{"s"}, []string{"c"}) })
	w.k.Run(10 * kafka.Minute)
	w.want("0.100000s c timer 0", "0.101000s s request c1 #0 m")
}

func TestCutsStack(t *testing.T) {
	w := newWorld(t, nil)
	w.boot("s", nil)
	w.boot("c", sends(100*ms))
	w.at(50*ms, func() {
		w.fresh()
		w.at(200*ms, w.n.Isolate([]string{"s"}))
		w.at(350*ms, w.n.Cut(nil, nil))
	})
	w.k.Run(kafka.Second)
	w.want("0.100000s c timer 0", "0.701000s s request c1 #0 m")
}

func TestNoCutComesBetweenANodeAndItself(t *testing.T) {
	r := rule{from: []string{"a", "b"}, to: []string{"a", "b"}, both: true, cut: true}
	for _, x := range []struct {
		from, to string
		want     bool
	}{{"a", "b", true}, {"b", "a", true}, {"a", "a", false}, {"a", "c", false}} {
		if got := r.matches(x.from, x.to); got != x.want {
			t.Errorf("%s to %s: %v, want %v", x.from, x.to, got, x.want)
		}
	}
}

func TestIsolationCutsAGroupOffButNotInside(t *testing.T) {
	w := newWorld(t, nil)
	w.boot("s", answer(0))
	w.boot("in", sends(100*ms))
	w.boot("out", sends(100*ms))
	w.at(50*ms, func() { w.fresh(); w.n.Isolate([]string{"s", "in"}) })
	w.k.Run(kafka.Second)
	w.want("0.100000s in timer 0", "0.100000s out timer 0", "0.101000s s request c1 #0 m", "0.102000s in response c1 #0 re:m")
}

func TestSenderGivesUpAfterTheRetransmissionTimeoutAndThePeerIsHalfOpen(t *testing.T) {
	w := newWorld(t, func(_ *kernel.Config, n *Config) { n.RetransmitTimeout = kafka.Minute })
	w.boot("s", func(in *step.Input, out *step.Effects) {
		if in.Kind == step.Accepted {
			out.SetTimer(0, 100*kafka.Second, 0, int64(in.Conn), nil)
		}
		if in.Kind == step.Timer {
			out.Push(step.ConnID(in.Arg), text("news"))
		}
	})
	w.boot("c", sends(100*ms))
	w.at(50*ms, func() { w.fresh(); w.at(90*kafka.Second, w.n.Isolate([]string{"c"})) })
	w.k.Run(kafka.Hour)
	w.want(
		"0.100000s c timer 0",
		"60.100000s c closed c1 connection timed out",
		"100.000000s s timer 1",
		"100.002000s s closed c1 connection reset by peer")
	if w.n.Connections() != 0 {
		t.Error("it is still there")
	}
}

func TestFlapCutsAndHealsInTurn(t *testing.T) {
	w := newWorld(t, nil)
	w.boot("s", nil)
	w.boot("c", asks())
	cut := ""
	w.at(5*ms, func() { w.n.Flap([]string{"c"}, []string{"s"}, 10*ms, 20*ms, 70*ms) })
	for i := range 10 {
		w.at(kafka.Nanos(i)*10*ms+9*ms, func() { cut += fmt.Sprint(w.n.link(0, 1).cut, " ") })
	}
	w.k.Run(kafka.Second)
	if cut != "true false false true false false true false false false " {
		t.Error(cut)
	}
}

func TestClogHoldsEverythingAndDeliversItInABurst(t *testing.T) {
	w := newWorld(t, nil)
	w.boot("s", func(in *step.Input, out *step.Effects) {
		if in.Kind == step.Request {
			out.NoReply(in.Conn, in.Correlation)
		}
	})
	w.boot("c", sends(100*ms, 150*ms, 200*ms))
	w.at(50*ms, func() { w.fresh(); w.at(300*ms, w.n.Clog([]string{"c"}, nil)) })
	w.k.Run(kafka.Second)
	w.want("0.100000s c timer 0", "0.150000s c timer 1", "0.200000s c timer 2",
		"0.300000s s request c1 #0 m", "0.300000s s request c1 #1 m", "0.300000s s request c1 #2 m")
}

func TestShapeAddsLatencyAndJitterWhileItLasts(t *testing.T) {
	w := newWorld(t, nil)
	w.boot("s", nil)
	var times []kafka.Nanos
	for i := range 50 {
		times = append(times, kafka.Nanos(10+i)*20*ms)
	}
	w.boot("c", sends(times...))
	var at []kafka.Nanos
	w.n.OnDeliver(func(m *Message) Action { at = append(at, w.k.Now()); return Action{} })
	w.at(50*ms, func() { w.at(700*ms, w.n.Shape([]string{"s"}, []string{"c"}, Shape{Latency: 2 * ms, Jitter: ms})) })
	w.k.Run(2 * kafka.Second)
	distinct := map[kafka.Nanos]bool{}
	for i, sent := range times {
		d := at[i] - sent
		if sent < 700*ms && (d < 3*ms || d > 4*ms) || sent >= 700*ms && d != ms {
			t.Errorf("message %d took %s", i, d)
		}
		distinct[d] = true
	}
	if len(distinct) < 20 {
		t.Error("no jitter")
	}
}

// A narrow link holds nothing back once it is wide again: 400 ms of a queue of 500 ms
// are left when the rule is lifted.
func TestWideningALinkLetsGoWhatWaitsForIt(t *testing.T) {
	for _, base := range []int64{0, 1_000_000} {
		w := newWorld(t, func(_ *kernel.Config, n *Config) { n.Bandwidth = base })
		w.boot("s", nil)
		kb := text(make([]byte, 10_000-8)) // 100 ms at 100 kB/s
		w.boot("c", script(func(_ int, c step.ConnID, out *step.Effects) {
			for i := range 5 {
				out.Request(c, int32(i), kb)
			}
		}, 100*ms, 250*ms))
		var at []kafka.Nanos
		w.n.OnDeliver(func(m *Message) Action { at = append(at, w.k.Now()); return Action{} })
		w.at(50*ms, func() { w.at(200*ms, w.n.Shape([]string{"s"}, []string{"c"}, Shape{Bandwidth: 100_000})) })
		w.k.Run(2 * kafka.Second)
		if len(at) != 10 {
			t.Fatalf("base %d: %d messages came, want 10", base, len(at))
		}
		for i, now := range at {
			want := 201 * ms // the first, and the last of the first five on an unlimited link
			switch {
			case base == 0 && i >= 5:
				want = 251 * ms
			case base > 0:
				want += kafka.Nanos(i) * 10 * ms // one after the other, without a gap
				if i >= 5 {
					want += 9 * ms // the first five have left at 240 ms
				}
			}
			if i == 0 {
				want = 201 * ms
			}
			if now < want-ms || now > want+2*ms {
				t.Errorf("base %d: message %d came at %s, want %s", base, i, now, want)
			}
		}
	}
}

func TestLossIsSeenAsRetransmissionTimeouts(t *testing.T) {
	w := newWorld(t, func(_ *kernel.Config, n *Config) { n.LossPPM = 200_000 })
	w.boot("s", nil)
	var times []kafka.Nanos
	for i := range 2000 {
		times = append(times, kafka.Nanos(i)*kafka.Minute+kafka.Minute)
	}
	w.boot("c", sends(times...))
	count := map[kafka.Nanos]int{}
	i := 0
	w.n.OnDeliver(func(m *Message) Action { count[w.k.Now()-times[i]]++; i++; return Action{} })
	w.k.Run(3000 * kafka.Minute)
	for delay, want := range map[kafka.Nanos]int{ms: 1600, 201 * ms: 320, 601 * ms: 64, 1401 * ms: 13} {
		if got := count[delay]; got < want-want/4-5 || got > want+want/4+5 {
			t.Errorf("%d of 2000 took %s, want about %d", got, delay, want)
		}
	}
}

func TestResetIsHeardByBothSides(t *testing.T) {
	w := newWorld(t, nil)
	w.boot("s", answer(100*ms))
	w.boot("c", sends(100*ms, 105*ms))
	w.boot("d", sends(500*ms))
	w.at(50*ms, w.fresh)
	w.at(120*ms, func() {
		if n := w.n.Reset([]string{"c"}, nil); n != 1 {
			t.Error("reset", n)
		}
	})
	w.k.Run(kafka.Second)
	// The request under way is answered into nothing; the one in the socket is still served.
	w.want("0.100000s c timer 0", "0.101000s s request c1 #0 m", "0.105000s c timer 1",
		"0.120000s c closed c1 connection reset by peer",
		"0.201000s s request c1 #1 m", "0.301000s s closed c1 connection reset by peer",
		"0.500000s d timer 0", "0.501000s s request c2 #0 m", "0.602000s d response c1 #0 re:m")
}

func TestHalfOpenConnectionIsSilentWhileNewOnesWork(t *testing.T) {
	w := newWorld(t, nil)
	w.boot("s", answer(0))
	w.boot("c", script(func(i int, c step.ConnID, out *step.Effects) {
		if i == 1 {
			c = out.Connect(0, step.Addr{Host: "s"})
		}
		out.Request(c, int32(i), text("m"))
	}, 100*ms, 200*ms))
	w.at(50*ms, func() { w.fresh(); w.n.HalfOpen([]string{"s"}, []string{"c"}) })
	w.k.Run(kafka.Hour)
	w.want("0.100000s c timer 0", "0.200000s c timer 1", "0.202000s c opened c2", "0.203000s s accepted c2",
		"0.203000s s request c2 #1 m", "0.204000s c response c2 #1 re:m", "900.100000s c closed c1 connection timed out")
}

func TestHeldMessageIsPassedByOtherConnectionsUntilReleased(t *testing.T) {
	w := newWorld(t, nil)
	w.boot("s", answer(0))
	w.boot("c", sends(100*ms, 110*ms))
	w.boot("d", sends(120*ms))
	var held uint64
	w.n.OnDeliver(func(m *Message) Action {
		if m.From == "c" && m.Correlation == 0 {
			held = m.ID
			return Action{Verb: Hold}
		}
		return Action{}
	})
	w.at(50*ms, w.fresh)
	w.at(300*ms, func() {
		if w.n.Held() != 1 || !w.n.Release(held) || w.n.Release(held) {
			t.Error("released once")
		}
	})
	w.k.Run(kafka.Second)
	w.want("0.100000s c timer 0", "0.110000s c timer 1", "0.120000s d timer 0",
		"0.121000s s request c2 #0 m", "0.122000s d response c1 #0 re:m",
		"0.300000s s request c1 #0 m", "0.300000s s request c1 #1 m",
		"0.301000s c response c1 #0 re:m", "0.301000s c response c1 #1 re:m")
}

// N29: only one kind of request is affected, only on one link.
func TestFilterAffectsOneKindOfRequest(t *testing.T) {
	send := func(i int, c step.ConnID, out *step.Effects) {
		var m kmsg.Request = kmsg.NewPtrMetadataRequest()
		if i == 1 {
			m = kmsg.NewPtrHeartbeatRequest()
		}
		out.Request(c, int32(i), m)
	}
	run := func(a Action) string {
		w := newWorld(t, nil)
		w.boot("s", func(in *step.Input, out *step.Effects) {
			if in.Kind == step.Request {
				out.NoReply(in.Conn, in.Correlation)
			}
		})
		w.boot("c", script(send, 100*ms, 200*ms, 300*ms))
		lift := w.n.Affect(Filter{To: []string{"s"}, Keys: []kmsg.Key{kmsg.Heartbeat}, Requests: true}, a)
		w.at(50*ms, w.fresh)
		w.at(600*ms, lift)
		w.k.Run(kafka.Second)
		var b strings.Builder
		for _, l := range w.log {
			if !strings.Contains(l, "timer") {
				f := strings.Fields(l)
				fmt.Fprintf(&b, "%s %s %s;", strings.TrimSuffix(f[0], "000s"), f[1], strings.Join(f[2:min(5, len(f))], " "))
			}
		}
		return b.String()
	}
	for verb, want := range map[Verb]string{
		Pass:  "0.101 s request c1 #0;0.201 s request c1 #1;0.301 s request c1 #2;",
		Delay: "0.101 s request c1 #0;0.231 s request c1 #1;0.301 s request c1 #2;",
		Hold:  "0.101 s request c1 #0;0.600 s request c1 #1;0.600 s request c1 #2;",
		Reset: "0.101 s request c1 #0;0.201 c closed c1 connection;0.201 s closed c1 connection;",
		Lose:  "0.101 s request c1 #0;",
	} {
		if got := run(Action{Verb: verb, By: 30 * ms}); got != want {
			t.Errorf("verb %d:\ngot  %s\nwant %s", verb, got, want)
		}
	}
}
