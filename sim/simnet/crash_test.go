package simnet

import (
	"fmt"
	"slices"
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
	"github.com/simkafka/simkafka/sim/kernel"
	"github.com/simkafka/simkafka/sim/kernel/dist"
)

func TestKilledProcessResetsItsConnections(t *testing.T) {
	w := newWorld(t, nil)
	s := w.boot("s", nil)
	w.boot("c", sends(100*ms, 200*ms))
	w.at(50*ms, w.fresh)
	w.at(150*ms, func() { w.k.Crash(s, "kill", kernel.Kill) })
	w.k.Run(kafka.Second)
	w.want("0.100000s c timer 0", "0.101000s s request c1 #0 m", "0.151000s c closed c1 connection reset by peer", "0.200000s c timer 1")
}

func TestPowerLossIsSilenceUntilTheHostIsBackThenAReset(t *testing.T) {
	w := newWorld(t, nil)
	s := w.boot("s", nil)
	w.boot("c", sends(200*ms))
	w.boot("idle", sends(20*kafka.Second))
	w.at(50*ms, w.fresh)
	w.at(150*ms, func() { w.k.Crash(s, "power", kernel.Power) })
	w.at(10*kafka.Second, func() { w.boot("s", nil) })
	w.k.Run(kafka.Minute)
	// 0.2 s + 0.2 + 0.4 + 0.8 + 1.6 + 3.2 + 6.4: the first retransmission after the boot.
	w.want("0.200000s c timer 0", "12.802000s c closed c1 connection reset by peer",
		"20.000000s idle timer 0", "20.002000s idle closed c1 connection reset by peer")
	if w.n.Connections() != 0 {
		t.Error("a connection is left")
	}
}

func TestExitDrainsTheSockets(t *testing.T) {
	w := newWorld(t, nil)
	w.boot("s", func(in *step.Input, out *step.Effects) {
		if in.Kind == step.Request {
			out.Reply(in.Conn, in.Correlation, text("bye"))
			out.Exit("told to")
		}
	})
	w.boot("c", sends(100*ms))
	w.at(50*ms, w.fresh)
	w.k.Run(kafka.Second)
	w.want("0.100000s c timer 0", "0.101000s s request c1 #0 m", "0.102000s c response c1 #0 bye", "0.102000s c closed c1 connection closed by peer")
}

// "Reached broker 1 but not broker 2" happens: what is on the wire at a crash
// arrives up to a drawn point.
func TestCrashLosesADrawnSuffixOfEachConnection(t *testing.T) {
	seen := map[string]bool{}
	for seed := range uint64(60) {
		w := newWorld(t, func(k *kernel.Config, _ *Config) { k.Seed = seed })
		drain := func(in *step.Input, out *step.Effects) {
			if in.Kind == step.Request {
				out.NoReply(in.Conn, in.Correlation)
			}
		}
		w.boot("s", drain)
		w.boot("s2", drain)
		var c2 step.ConnID
		to1 := script(func(i int, c step.ConnID, out *step.Effects) {
			for j := range int32(2) {
				out.Request(c, j, text("m"))
				out.Request(c2, j, text("m"))
			}
		}, 100*ms)
		c := w.boot("c", func(in *step.Input, out *step.Effects) {
			if in.Kind == step.Boot {
				c2 = out.Connect(0, step.Addr{Host: "s2"})
			}
			to1(in, out)
		})
		w.at(100*ms+ms/2, func() { w.k.Crash(c, "kill", kernel.Kill) })
		w.k.Run(kafka.Second)
		if w.count("closed") != 2 {
			t.Fatal(w.log)
		}
		seen[fmt.Sprint(w.count(" s request"), w.count(" s2 request"))] = true
	}
	if len(seen) != 9 {
		t.Errorf("%d of 9 outcomes: %v", len(seen), seen)
	}
}

func TestSendsOfAStepThatACrashFindsUnderWayNeverLeave(t *testing.T) {
	w := newWorld(t, nil)
	w.boot("s", nil)
	c := w.boot("c", script(func(i int, c step.ConnID, out *step.Effects) {
		out.Charge(20 * ms)
		out.Request(c, 1, text("m"))
	}, 100*ms))
	w.at(50*ms, w.fresh)
	w.at(110*ms, func() { w.k.Crash(c, "kill", kernel.Kill) })
	w.k.Run(kafka.Second)
	w.want("0.100000s c timer 0", "0.111000s s closed c1 connection reset by peer")
}

func TestPausedServerStillAcceptsAndServesLate(t *testing.T) {
	w := newWorld(t, nil)
	s := w.boot("s", answer(0))
	w.k.Pause(s)
	w.boot("c", asks("a"))
	w.at(kafka.Second, func() { w.k.Resume(s) })
	w.k.Run(2 * kafka.Second)
	w.want("0.002000s c opened c1", "1.000000s s accepted c1", "1.000000s s request c1 #1 a", "1.001000s c response c1 #1 re:a")
}

func TestCrashInsideAHookEndsWhatTheHookIsAskedAbout(t *testing.T) {
	w := newWorld(t, nil)
	s := w.boot("s", answer(0))
	w.boot("c", sends(100*ms))
	w.n.OnDeliver(func(m *Message) Action { w.k.Crash(s, "on delivery", kernel.Kill); return Action{} })
	w.at(50*ms, w.fresh)
	w.k.Run(kafka.Second)
	w.want("0.100000s c timer 0", "0.102000s c closed c1 connection reset by peer")
}

// --- draws (simulation 6.4, G16)

// latencies runs two pairs that talk, and returns the arrival times of the pair (p, q).
func latencies(change func(w *world)) (at []kafka.Nanos) {
	w := newWorld(nil, func(k *kernel.Config, n *Config) {
		k.Seed = 9
		n.Latency = dist.Uniform(ms, 9*ms)
		n.LossPPM = 10_000
	})
	if change != nil {
		change(w)
	}
	var times []kafka.Nanos
	for i := range 200 {
		times = append(times, kafka.Nanos(i+1)*50*ms)
	}
	w.boot("s", answer(0))
	w.boot("q", answer(0))
	w.boot("c", sends(times...))
	w.boot("p", func(in *step.Input, out *step.Effects) {
		switch in.Kind {
		case step.Boot:
			out.Connect(0, step.Addr{Host: "q"})
			for i, t := range times {
				out.SetTimer(0, t, 0, int64(i), nil)
			}
		case step.Timer:
			out.Request(1, int32(in.Arg), text("m"))
		case step.Response:
			at = append(at, in.Now)
		}
	})
	w.k.Run(kafka.Minute)
	return at
}

func TestUnrelatedDrawsStayAsTheyWere(t *testing.T) {
	base := latencies(nil)
	if len(base) != 200 {
		t.Fatal(len(base), "responses")
	}
	changes := map[string]func(w *world){
		"idle actor":          func(w *world) { w.boot("idle", nil) },
		"busy stranger":       func(w *world) { w.boot("r", sends(ms, 2*ms)) },
		"cut elsewhere":       func(w *world) { w.at(kafka.Second, func() { w.n.Cut([]string{"c"}, nil) }) },
		"loss elsewhere":      func(w *world) { w.n.Shape([]string{"s"}, []string{"c"}, Shape{LossPPM: 300_000, Jitter: ms}) },
		"crash elsewhere":     func(w *world) { w.at(kafka.Second, func() { w.k.Crash(0, "kill", kernel.Kill) }) },
		"hold elsewhere":      func(w *world) { w.n.Affect(Filter{To: []string{"s"}, Requests: true}, Action{Verb: Hold}) },
		"reset elsewhere":     func(w *world) { w.at(kafka.Second, func() { w.n.Reset([]string{"c"}, []string{"s"}) }) },
		"half open elsewhere": func(w *world) { w.at(kafka.Second, func() { w.n.HalfOpen([]string{"c"}, nil) }) },
	}
	for name, change := range changes {
		if !slices.Equal(latencies(change), base) {
			t.Errorf("%s changes another link's draws", name)
		}
	}
	// A lifted fault on the link itself leaves what comes after it as it was: the
	// n-th message has the n-th draw.
	short := latencies(func(w *world) {
		w.at(kafka.Second, func() { w.at(1100*ms, w.n.ShapeOneWay([]string{"p"}, []string{"q"}, Shape{Latency: 30 * ms})) })
	})
	same := 0
	for i := range base {
		if base[i] == short[i] {
			same++
		}
	}
	if same < 190 || same == 200 {
		t.Errorf("%d of 200 messages as before", same)
	}
}

func TestEqualSeedsGiveEqualNetworks(t *testing.T) {
	run := func(seed uint64) kernel.Fingerprint {
		w := newWorld(t, func(k *kernel.Config, n *Config) {
			k.Seed, n.LossPPM, n.Latency = seed, 10_000, dist.Exponential(ms)
		})
		w.boot("s", answer(100*kafka.Microsecond))
		for i := range 5 {
			w.boot(fmt.Sprint("c", i), sends(ms, 2*ms, 3*ms, 50*ms, kafka.Second))
		}
		w.at(40*ms, func() { w.at(kafka.Second, w.n.Isolate([]string{"c1", "c2"})) })
		w.at(51*ms, func() { w.k.Crash(0, "kill", kernel.Kill) })
		w.at(60*ms, func() { w.boot("s", answer(0)) })
		w.k.Run(kafka.Minute)
		return w.k.Fingerprint()
	}
	a, b := run(1), run(2)
	if a == b || run(1) != a || run(2) != b {
		t.Error("A, B, A")
	}
}

// A bad link that becomes good again does not leave minutes of retransmission
// timeouts behind: the next retransmission gets through.
func TestLiftedLossLetsTheNextRetransmissionThrough(t *testing.T) {
	for seed := range uint64(20) {
		for _, loss := range []int64{950_000, 999_999} {
			w := newWorld(t, func(k *kernel.Config, _ *Config) { k.Seed = seed })
			w.boot("s", answer(0))
			w.boot("c", sends(100*ms, 110*ms))
			w.at(50*ms, func() {
				w.fresh()
				w.at(5*kafka.Second, w.n.ShapeOneWay([]string{"c"}, []string{"s"}, Shape{LossPPM: loss}))
			})
			w.k.Run(6412 * ms) // 0.11 s + 0.2 + 0.4 + ... + 3.2
			if w.count("c response") != 2 {
				t.Fatal(seed, loss, w.log)
			}
		}
	}
}

// The same on every machine: a change of this value is a change of every run.
func TestFingerprintVector(t *testing.T) {
	w := newWorld(t, func(k *kernel.Config, n *Config) {
		k.Seed, n.LossPPM, n.Latency = 42, 20_000, dist.LogNormal(ms, 500_000)
	})
	w.boot("s", answer(100*kafka.Microsecond))
	for i := range 5 {
		w.boot(fmt.Sprint("c", i), sends(ms, 2*ms, 3*ms, 50*ms, kafka.Second))
	}
	w.at(500*ms, func() { w.k.Crash(0, "power", kernel.Power) })
	w.at(600*ms, func() { w.boot("s", answer(0)) })
	w.k.Run(kafka.Minute)
	if got := w.k.Fingerprint().String(); got != "7e94c77c061c9f8a788e77bdda15ac28" {
		t.Error(got, w.k.Events())
	}
}
