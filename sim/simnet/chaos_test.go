package simnet

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
	"github.com/simkafka/simkafka/sim/kernel"
	"github.com/simkafka/simkafka/sim/kernel/dist"
)

// talker is an actor that checks the contract's promises about its connections
// while it asks the others and answers them.
type talker struct {
	t      *rapid.T
	w      *chaos
	name   string
	n      uint64
	mine   map[step.ConnID]*asked
	theirs map[step.ConnID]*served
	ids    []step.ConnID // of mine
}

// asked is a connection that the talker opened.
type asked struct {
	up, gone bool
	sent     int32
	heard    int32
}

// served is a connection that it accepted.
type served struct {
	gone    bool
	busy    bool
	highest int32
}

type chaos struct {
	k     *kernel.Kernel
	n     *Net
	names []string
	heard int
}

func (x *talker) Lanes() []step.LaneSpec {
	return []step.LaneSpec{{Name: "client", Workers: 1}, {Name: "server", Workers: 3, Serves: true}}
}

func (x *talker) Step(in *step.Input, out *step.Effects) error {
	x.n++
	draw := in.Draw("act", uint64(in.Incarnation)<<32|x.n)
	switch in.Kind {
	case step.Boot:
		out.SetTimer(0, in.Now+kafka.Nanos(draw%uint64(20*ms)), 0, 0, nil)
	case step.Timer:
		x.turn(in, out, draw)
	case step.Opened, step.Refused, step.Closed, step.Response:
		if s := x.theirs[in.Conn]; s != nil && in.Kind == step.Closed {
			x.check(!s.gone && !s.busy, "closed twice, or before its request was answered")
			s.gone = true
			return nil
		}
		x.client(in, out)
	case step.Accepted:
		x.check(x.theirs[in.Conn] == nil && in.From != "", "accepted twice")
		x.theirs[in.Conn] = new(served)
	case step.Request:
		x.serve(in, out, draw)
	case step.Done:
		s := x.theirs[step.ConnID(in.Arg>>32)]
		s.busy = false
		out.Reply(step.ConnID(in.Arg>>32), int32(in.Arg), text("answer"))
	}
	return nil
}

func (x *talker) check(ok bool, what string) {
	if !ok {
		x.t.Fatalf("%s at %s: %s", x.name, x.w.k.Now(), what)
	}
}

func (x *talker) client(in *step.Input, out *step.Effects) {
	c := x.mine[in.Conn]
	x.check(c != nil && !c.gone, fmt.Sprintf("%s on a connection that it has not", in.Kind))
	switch in.Kind {
	case step.Opened:
		x.check(!c.up, "opened twice")
		c.up = true
	case step.Refused:
		x.check(!c.up, "refused after it was opened")
		c.gone = true
	case step.Closed:
		x.check(c.up, "closed before it was opened")
		c.gone = true
	case step.Response:
		x.check(c.up && in.Correlation == c.heard+1, "response out of order")
		c.heard++
		x.w.heard++
	}
}

func (x *talker) serve(in *step.Input, out *step.Effects, draw uint64) {
	s := x.theirs[in.Conn]
	x.check(s != nil && !s.gone && !s.busy, "a request while another is served, or without a connection")
	x.check(in.Correlation == s.highest+1, "requests out of order")
	s.highest++
	s.busy = true
	out.Charge(kafka.Nanos(draw % uint64(5*ms)))
	out.Done(0, int64(in.Conn)<<32|int64(in.Correlation), nil)
}

// turn opens, uses or closes connections.
func (x *talker) turn(in *step.Input, out *step.Effects, draw uint64) {
	out.SetTimer(0, in.Now+ms+kafka.Nanos(draw>>32%uint64(20*ms)), 0, 0, nil)
	to := x.w.names[draw%uint64(len(x.w.names))]
	var open *asked
	id := step.ConnID(0)
	for i := len(x.ids) - 1; i >= 0 && i >= len(x.ids)-8; i-- {
		if c := x.mine[x.ids[i]]; !c.gone {
			open, id = c, x.ids[i]
			if draw>>20%3 == 0 {
				break
			}
		}
	}
	switch {
	case open == nil || draw>>8%8 == 0:
		id = out.Connect(0, step.Addr{Host: to})
		x.mine[id] = new(asked)
		x.ids = append(x.ids, id)
		open = x.mine[id]
	case draw>>8%8 == 1:
		out.Close(id)
		open.gone = true
		return
	}
	open.sent++
	out.Request(id, open.sent, text("question"))
}

func (w *chaos) boot(t *rapid.T, name string) {
	id, ok := w.k.Lookup(name)
	if !ok {
		id = w.k.Add(name, kernel.Options{})
	}
	if w.k.State(id) != kernel.Running {
		w.k.Boot(id, &talker{t: t, w: w, name: name, mine: map[step.ConnID]*asked{}, theirs: map[step.ConnID]*served{}}, nil)
	}
}

// Whatever goes wrong: order within a connection, one request at a time, nothing
// after the end of a connection, nothing left over when all is over.
func TestConnectionsKeepTheirPromisesUnderRandomFaults(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &chaos{names: []string{"a", "b", "c", "d"}}
		w.k = kernel.New(kernel.Config{Seed: rapid.Uint64().Draw(t, "seed"), ExploreTies: rapid.Bool().Draw(t, "ties"), CheckWire: true})
		w.n = New(w.k, Config{Latency: dist.Exponential(ms), LossPPM: int64(rapid.SampledFrom([]int{0, 20_000}).Draw(t, "loss")),
			RetransmitTimeout: 2 * kafka.Second, ConnectTimeout: kafka.Second, Bandwidth: 1_000_000, NIC: 3_000_000})
		for _, name := range w.names {
			w.boot(t, name)
		}
		var lifts []func()
		for i := range rapid.IntRange(0, 25).Draw(t, "faults") {
			w.fault(t, kafka.Nanos(rapid.IntRange(0, 1000).Draw(t, "time"))*ms, rapid.IntRange(0, 14).Draw(t, "kind"), i, &lifts)
		}
		w.k.Run(kafka.Second)
		for _, lift := range lifts {
			lift()
		}
		w.n.ReleaseAll()
		for i, name := range w.names {
			w.k.Resume(kernel.ActorID(i))
			w.boot(t, name)
		}
		heard := w.heard
		w.k.Run(6 * kafka.Second)
		if w.heard < heard+100 {
			t.Fatalf("after the heal only %d responses", w.heard-heard)
		}
		for i := range w.names {
			w.k.Crash(kernel.ActorID(i), "end", kernel.Power)
		}
		w.k.Run(kafka.Minute)
		if n := w.n.Connections(); n != 0 || w.k.Pending() != 0 || w.n.Held() != 0 {
			t.Fatalf("%d connections, %d events, %d held messages are left", n, w.k.Pending(), w.n.Held())
		}
		for _, a := range w.k.Assertions() {
			t.Fatal(a.Message)
		}
	})
}

func (w *chaos) fault(t *rapid.T, at kafka.Nanos, kind, i int, lifts *[]func()) {
	x := rapid.SampledFrom(w.names).Draw(t, "x")
	y := rapid.SampledFrom(w.names).Draw(t, "y")
	id, _ := w.k.Lookup(x)
	lasting := func(lift func()) {
		*lifts = append(*lifts, lift)
		if i%2 == 0 {
			w.k.At(w.k.Now()+200*ms, lift)
		}
	}
	w.k.At(at, func() {
		switch kind {
		case 0:
			w.k.Crash(id, "kill", kernel.Kill)
		case 1:
			w.k.Crash(id, "power", kernel.Power)
		case 2, 3:
			w.boot(t, x)
		case 4:
			w.k.Pause(id)
		case 5:
			w.k.Resume(id)
		case 6:
			lasting(w.n.Cut([]string{x}, []string{y}))
		case 7:
			lasting(w.n.Isolate([]string{x}))
		case 8:
			lasting(w.n.Clog([]string{x}, []string{y}))
		case 9:
			lasting(w.n.Shape([]string{x}, nil, Shape{LossPPM: 300_000, Jitter: 10 * ms}))
		case 10:
			w.n.Reset([]string{x}, []string{y})
		case 11:
			w.n.HalfOpen([]string{x}, []string{y})
		case 12:
			lasting(w.n.Affect(Filter{From: []string{x}, Requests: i%3 != 0, Responses: true}, Action{Verb: Verb(i % 5), By: 5 * ms}))
		case 13:
			lasting(w.n.Flap([]string{x}, []string{y}, 50*ms, 70*ms, kafka.Second))
		case 14:
			w.k.CrashAt(id, w.k.Now()+3*ms, "planned", kernel.Kill)
		}
	})
}
