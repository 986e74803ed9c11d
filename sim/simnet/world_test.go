package simnet

import (
	"fmt"
	"strings"
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
	"github.com/simkafka/simkafka/sim/kernel"
	"github.com/simkafka/simkafka/sim/kernel/dist"
)

const ms = kafka.Millisecond

// text is a message of our own.
type text string

func (t text) Fold(dst []byte) []byte { return append(dst, t...) }

// world is a few actors on a network with a latency of 1 ms, and a log of what
// they got.
type world struct {
	testing.TB
	k   *kernel.Kernel
	n   *Net
	log []string
}

func newWorld(t testing.TB, change func(*kernel.Config, *Config)) *world {
	kc, nc := kernel.Config{Seed: 1, CheckWire: true}, Config{Latency: dist.Constant(ms)}
	if change != nil {
		change(&kc, &nc)
	}
	k := kernel.New(kc)
	return &world{TB: t, k: k, n: New(k, nc)}
}

type act func(in *step.Input, out *step.Effects)

// node is an actor whose every input is logged before act has it.
type node struct {
	w    *world
	name string
	act  act
}

func (x *node) Lanes() []step.LaneSpec {
	return []step.LaneSpec{{Name: "client", Workers: 1}, {Name: "server", Workers: 2, Serves: true}}
}

func (x *node) Step(in *step.Input, out *step.Effects) error {
	switch in.Kind {
	case step.Boot:
	case step.Request, step.Response:
		x.w.say("%s %s %s c%d #%d %v", in.Now, x.name, in.Kind, in.Conn, in.Correlation, in.Body)
	case step.Timer:
		x.w.say("%s %s timer %d", in.Now, x.name, in.Arg)
	default:
		why := ""
		if in.Err != nil {
			why = " " + in.Err.Error()
		}
		x.w.say("%s %s %s c%d%s", in.Now, x.name, in.Kind, in.Conn, why)
	}
	if x.act != nil {
		x.act(in, out)
	}
	return nil
}

func (w *world) say(format string, a ...any) { w.log = append(w.log, fmt.Sprintf(format, a...)) }

func (w *world) boot(name string, a act) kernel.ActorID {
	id, ok := w.k.Lookup(name)
	if !ok {
		id = w.k.Add(name, kernel.Options{})
	}
	w.k.Boot(id, &node{w, name, a}, nil)
	return id
}

// at runs what an actor would do at a time, as a timer of its own would.
func (w *world) at(t kafka.Nanos, fn func()) { w.k.At(t, fn) }

func (w *world) want(lines ...string) {
	w.Helper()
	if got, want := strings.Join(w.log, "\n"), strings.Join(lines, "\n"); got != want {
		w.Fatalf("got\n%s\nwant\n%s", got, want)
	}
	for _, a := range w.k.Assertions() {
		w.Error(a.Message)
	}
}

// count is the number of log lines that contain all words.
func (w *world) count(words ...string) (n int) {
next:
	for _, l := range w.log {
		for _, word := range words {
			if !strings.Contains(l, word) {
				continue next
			}
		}
		n++
	}
	return n
}

// answer replies to each request at once, after a service time.
func answer(service kafka.Nanos) act {
	return func(in *step.Input, out *step.Effects) {
		if in.Kind == step.Request {
			out.Charge(service)
			out.Reply(in.Conn, in.Correlation, "re:"+in.Body.(text))
		}
	}
}

// asks connects to s at boot and sends the texts at once.
func asks(texts ...text) act {
	return func(in *step.Input, out *step.Effects) {
		if in.Kind == step.Boot {
			c := out.Connect(0, step.Addr{Host: "s"})
			for i, m := range texts {
				out.Request(c, int32(i+1), m)
			}
		}
	}
}

// script runs f at each timer that it sets for the given times at boot, after
// connecting to s: f gets the number of the time.
func script(f func(i int, c step.ConnID, out *step.Effects), times ...kafka.Nanos) act {
	var c step.ConnID
	return func(in *step.Input, out *step.Effects) {
		switch in.Kind {
		case step.Boot:
			c = out.Connect(0, step.Addr{Host: "s"})
			for i, t := range times {
				out.SetTimer(0, t, 0, int64(i), nil)
			}
		case step.Timer:
			f(int(in.Arg), c, out)
		}
	}
}
