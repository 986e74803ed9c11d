package simnet

import (
	"fmt"
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
	"github.com/simkafka/simkafka/sim/kernel"
	"github.com/simkafka/simkafka/sim/kernel/dist"
)

func TestHandshakeTakesOneRoundTripForTheOpener(t *testing.T) {
	w := newWorld(t, nil)
	w.boot("s", answer(0))
	w.boot("c", asks("a"))
	w.k.Run(kafka.Second)
	w.want(
		"0.002000s c opened c1",
		"0.003000s s accepted c1",
		"0.003000s s request c1 #1 a",
		"0.004000s c response c1 #1 re:a")
}

func TestOneRequestOfAConnectionIsServedAtATime(t *testing.T) {
	w := newWorld(t, nil)
	w.boot("s", answer(10*ms))
	w.boot("c", asks("a", "b", "c"))
	w.boot("d", asks("x")) // another connection goes beside it
	w.k.Run(kafka.Second)
	w.want(
		"0.002000s c opened c1",
		"0.002000s d opened c1",
		"0.003000s s accepted c1",
		"0.003000s s accepted c2",
		"0.003000s s request c1 #1 a",
		"0.003000s s request c2 #1 x",
		"0.013000s s request c1 #2 b",
		"0.014000s c response c1 #1 re:a",
		"0.014000s d response c1 #1 re:x",
		"0.023000s s request c1 #3 c",
		"0.024000s c response c1 #2 re:b",
		"0.034000s c response c1 #3 re:c")
}

func TestNoReplyLetsTheNextRequestThrough(t *testing.T) {
	w := newWorld(t, nil)
	w.boot("s", func(in *step.Input, out *step.Effects) {
		if in.Kind == step.Request {
			out.Charge(5 * ms)
			out.NoReply(in.Conn, in.Correlation)
		}
	})
	w.boot("c", asks("a", "b"))
	w.k.Run(kafka.Second)
	w.want("0.002000s c opened c1", "0.003000s s accepted c1", "0.003000s s request c1 #1 a", "0.008000s s request c1 #2 b")
}

func TestPushUnmutesNothing(t *testing.T) {
	w := newWorld(t, nil)
	w.boot("s", func(in *step.Input, out *step.Effects) {
		if in.Kind == step.Request {
			out.Push(in.Conn, text("watch"))
		}
	})
	w.boot("c", asks("a", "b"))
	w.k.Run(kafka.Second)
	w.want("0.002000s c opened c1", "0.003000s s accepted c1", "0.003000s s request c1 #1 a", "0.004000s c response c1 #-1 watch")
}

// Whatever the latencies, a connection keeps its order both ways.
func TestConnectionKeepsItsOrderUnderJitterAndLoss(t *testing.T) {
	w := newWorld(t, func(k *kernel.Config, n *Config) {
		n.Latency = dist.LogNormal(ms, 1_500_000)
		n.LossPPM = 50_000
		k.ExploreTies = true
	})
	w.boot("s", answer(0))
	var texts []text
	for i := range 300 {
		texts = append(texts, text(fmt.Sprint(i+1)))
	}
	got := int32(0)
	ask := asks(texts...)
	w.boot("c", func(in *step.Input, out *step.Effects) {
		ask(in, out)
		if in.Kind == step.Response {
			got++
			if in.Correlation != got || in.Body != text(fmt.Sprint("re:", got)) {
				t.Fatalf("response %d is #%d %v", got, in.Correlation, in.Body)
			}
		}
	})
	w.k.Run(kafka.Hour)
	if got != 300 {
		t.Errorf("%d responses", got)
	}
}

func TestConnectIsRefusedWhenTheHostLivesWithoutTheProcess(t *testing.T) {
	w := newWorld(t, nil)
	w.k.Add("s", kernel.Options{})
	w.boot("c", asks("a"))
	w.boot("d", func(in *step.Input, out *step.Effects) {
		if in.Kind == step.Boot {
			out.Connect(0, step.Addr{Host: "nowhere"})
		}
	})
	w.k.Run(kafka.Second)
	w.want("0.000000s d refused c1 unknown host", "0.002000s c refused c1 connection refused")
	if w.n.Connections() != 0 {
		t.Error("it is still there")
	}
}

func TestConnectIntoSilenceTimesOut(t *testing.T) {
	for name, silence := range map[string]func(w *world){
		"power":  func(w *world) { id, _ := w.k.Lookup("s"); w.k.Crash(id, "power", kernel.Power) },
		"cut to": func(w *world) { w.n.Cut([]string{"c"}, []string{"s"}) },
		"cut fr": func(w *world) { w.n.Cut([]string{"s"}, []string{"c"}) },
		"clog":   func(w *world) { w.n.Clog(nil, nil) },
	} {
		w := newWorld(t, nil)
		w.boot("s", nil)
		silence(w)
		w.boot("c", asks("a"))
		w.k.Run(kafka.Minute)
		if w.want("10.000000s c refused c1 connection timed out"); w.n.Connections() != 0 {
			t.Error(name, "it is still there")
		}
	}
}

func TestConnectSucceedsByRetransmissionWhenTheSilenceEnds(t *testing.T) {
	w := newWorld(t, nil)
	w.boot("s", nil)
	lift := w.n.Isolate([]string{"s"})
	w.boot("c", asks("a"))
	w.at(2*kafka.Second, lift)
	w.k.Run(kafka.Minute)
	w.want("3.002000s c opened c1", "3.003000s s accepted c1", "3.003000s s request c1 #1 a")
}

func TestConnectedConnectionOfAProcessThatRestartedMeanwhileIsReset(t *testing.T) {
	w := newWorld(t, nil)
	s := w.boot("s", nil)
	w.boot("c", asks("a"))
	w.at(2500*kafka.Microsecond, func() { w.k.Crash(s, "kill", kernel.Kill); w.boot("s", nil) })
	w.k.Run(kafka.Minute)
	w.want("0.002000s c opened c1", "0.004000s c closed c1 connection reset by peer")
	if w.n.Connections() != 0 {
		t.Error("it is still there")
	}
}

func TestCloseIsHeardBehindWhatWasSent(t *testing.T) {
	w := newWorld(t, nil)
	w.boot("s", answer(2*ms))
	w.boot("c", script(func(i int, c step.ConnID, out *step.Effects) {
		out.Request(c, 1, text("a"))
		out.Request(c, 2, text("b"))
		out.Close(c)
		out.Request(c, 3, text("too late"))
	}, 5*ms))
	w.k.Run(kafka.Second)
	// The request whose connection died is executed; the end is noticed when the socket is read again.
	w.want(
		"0.002000s c opened c1",
		"0.003000s s accepted c1",
		"0.005000s c timer 0",
		"0.006000s s request c1 #1 a",
		"0.008000s s request c1 #2 b",
		"0.010000s s closed c1 connection closed by peer")
	if w.n.Connections() != 0 {
		t.Error("it is still there")
	}
}

func TestServersCloseReachesTheOpener(t *testing.T) {
	w := newWorld(t, nil)
	w.boot("s", func(in *step.Input, out *step.Effects) {
		if in.Kind == step.Request {
			out.Close(in.Conn)
		}
	})
	w.boot("c", asks("a", "b"))
	w.k.Run(kafka.Second)
	w.want("0.002000s c opened c1", "0.003000s s accepted c1", "0.003000s s request c1 #1 a", "0.004000s c closed c1 connection closed by peer")
}

func TestActorsOnOneHostUseTheLoopback(t *testing.T) {
	w := newWorld(t, func(_ *kernel.Config, n *Config) { n.LossPPM, n.Bandwidth = 500_000, 1 })
	w.k.Boot(w.k.Add("s", kernel.Options{Host: "h"}), &node{w, "s", answer(0)}, nil)
	w.k.Boot(w.k.Add("c", kernel.Options{Host: "h"}), &node{w, "c", asks("a")}, nil)
	w.k.Run(kafka.Second)
	w.want("0.000040s c opened c1", "0.000060s s accepted c1", "0.000060s s request c1 #1 a", "0.000080s c response c1 #1 re:a")
}

func TestActorMayConnectToItself(t *testing.T) {
	w := newWorld(t, nil)
	reply, ask := answer(0), asks("a")
	s := w.boot("s", func(in *step.Input, out *step.Effects) { ask(in, out); reply(in, out) })
	w.k.Run(ms)
	w.want("0.000040s s opened c1", "0.000060s s accepted c2", "0.000060s s request c2 #1 a", "0.000080s s response c1 #1 re:a")
	w.k.Crash(s, "kill", kernel.Kill)
	if w.k.Run(kafka.Second); w.n.Connections() != 0 {
		t.Error("it is still there")
	}
}

func TestBandwidthSerialisesALink(t *testing.T) {
	w := newWorld(t, func(_ *kernel.Config, n *Config) { n.Bandwidth = 1_000_000 })
	w.boot("s", answer(0))
	kb := text(make([]byte, 10_000-8)) // 8 bytes of framing; 10 ms
	got := 0
	w.boot("c", script(func(i int, c step.ConnID, out *step.Effects) { out.Request(c, 1, kb); out.Request(c, 2, kb) }, 5*ms))
	w.k.BeforeStep(func(_ kernel.ActorID, in *step.Input) {
		if in.Kind == step.Request {
			got++
			if want := kafka.Nanos(5+10*got+1) * ms; in.Now < want || in.Now > want+300*kafka.Microsecond {
				t.Errorf("request %d at %s, want %s", got, in.Now, want)
			}
		}
	})
	w.k.Run(kafka.Second)
	if got != 2 {
		t.Error("got", got)
	}
}

func TestNetworkCardIsSharedByAllLinksOfASender(t *testing.T) {
	w := newWorld(t, func(_ *kernel.Config, n *Config) { n.NIC = 1_000_000 })
	for _, s := range []string{"s", "s2"} {
		w.boot(s, nil)
	}
	var at []kafka.Nanos
	w.k.BeforeStep(func(_ kernel.ActorID, in *step.Input) {
		if in.Kind == step.Request {
			at = append(at, in.Now)
		}
	})
	w.boot("c", func(in *step.Input, out *step.Effects) {
		if in.Kind == step.Boot {
			for i, s := range []string{"s", "s2"} {
				out.Request(out.Connect(0, step.Addr{Host: s}), int32(i), text(make([]byte, 10_000)))
			}
		}
	})
	w.k.Run(kafka.Second)
	if len(at) != 2 || at[1]-at[0] < 9*ms {
		t.Error("arrivals", at)
	}
}

func TestIdleConnectionsCostNoEvents(t *testing.T) {
	w := newWorld(t, nil)
	w.boot("s", answer(0))
	w.boot("c", asks("a"))
	w.k.Run(kafka.Second)
	if n := w.k.Pending(); n != 0 || w.n.Connections() != 1 {
		t.Errorf("%d events pending, %d connections", n, w.n.Connections())
	}
}

func TestConnectionNumbersGrowOverIncarnationsAndOldOnesMeanNothing(t *testing.T) {
	w := newWorld(t, nil)
	w.boot("s", answer(0))
	c := w.boot("c", asks("a"))
	w.at(10*ms, func() { w.k.Crash(c, "kill", kernel.Kill); w.boot("c", asks("b")) })
	w.at(20*ms, func() { w.n.Close(c, 1, 0) })
	w.k.Run(kafka.Second)
	w.want(
		"0.002000s c opened c1", "0.003000s s accepted c1", "0.003000s s request c1 #1 a", "0.004000s c response c1 #1 re:a",
		"0.011000s s closed c1 connection reset by peer",
		"0.012000s c opened c2", "0.013000s s accepted c2", "0.013000s s request c2 #1 b", "0.014000s c response c2 #1 re:b")
}
