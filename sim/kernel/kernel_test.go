package kernel

import (
	"fmt"
	"strings"
	"testing"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
)

// fn is an actor made of a function.
type fn struct {
	lanes []step.LaneSpec
	step  func(in *step.Input, out *step.Effects) error
}

func (f *fn) Lanes() []step.LaneSpec {
	if f.lanes == nil {
		return []step.LaneSpec{{Name: "main", Workers: 1, Serves: true}}
	}
	return f.lanes
}

func (f *fn) Step(in *step.Input, out *step.Effects) error { return f.step(in, out) }

// trace collects lines "time what".
type trace struct{ lines []string }

func (t *trace) add(in *step.Input, what string) {
	t.lines = append(t.lines, fmt.Sprintf("%d %s", in.Now, what))
}

func (t *trace) want(tb testing.TB, lines ...string) {
	tb.Helper()
	if got, want := strings.Join(t.lines, "\n"), strings.Join(lines, "\n"); got != want {
		tb.Fatalf("got\n%s\nwant\n%s", got, want)
	}
}

// spy keeps the notes.
type spy struct{ events []event.Event }

func (s *spy) Event(ev *event.Event) { s.events = append(s.events, *ev) }

func (s *spy) words() string {
	var b strings.Builder
	for i := range s.events {
		e := &s.events[i]
		fmt.Fprintf(&b, "%d %s %s %s\n", e.Time, e.Actor, e.Kind, e.Text)
	}
	return b.String()
}

// wire is a network that carries nothing and remembers what it was asked.
type wire struct {
	k    *Kernel
	sent []string
}

func (w *wire) say(from ActorID, what string) {
	w.sent = append(w.sent, fmt.Sprintf("%d %s %s", w.k.Now(), w.k.Name(from), what))
}
func (w *wire) Connect(from ActorID, c step.ConnID, l step.Lane, to step.Addr, parent uint64) {
	w.say(from, fmt.Sprintf("connect %d %s", c, to.Host))
}
func (w *wire) Close(from ActorID, c step.ConnID, parent uint64) {
	w.say(from, fmt.Sprintf("close %d", c))
}
func (w *wire) Send(from ActorID, c step.ConnID, p *Packet) {
	w.say(from, fmt.Sprintf("send %d #%d", c, p.Correlation))
}
func (w *wire) Fire(arg uint64)          {}
func (w *wire) Died(a ActorID, how Mode) { w.say(a, fmt.Sprintf("died %d", how)) }
func (w *wire) Booted(a ActorID)         {}

func start(cfg Config, n step.Node) (*Kernel, ActorID, *wire, *spy) {
	k := New(cfg)
	w, s := &wire{k: k}, &spy{}
	k.SetNetwork(w)
	k.Observe(s)
	a := k.Add("a", Options{})
	k.Boot(a, n, nil)
	return k, a, w, s
}

const (
	ms = kafka.Millisecond
	us = kafka.Microsecond
)

func TestStepEffectsLeaveAtTheEndOfTheStep(t *testing.T) {
	var tr trace
	k, _, w, _ := start(Config{}, &fn{step: func(in *step.Input, out *step.Effects) error {
		tr.add(in, in.Kind.String())
		switch in.Kind {
		case step.Boot:
			out.Charge(5)
			out.SetTimer(0, in.Now, 1, 7, nil)
			out.Request(out.Connect(0, step.Addr{Host: "b"}), 3, nil)
			out.Done(2, 0, nil)
		}
		return nil
	}})
	k.Run(100)
	tr.want(t, "0 boot", "5 done", "5 timer")
	if got := strings.Join(w.sent, ","); got != "5 a connect 1 b,5 a send 1 #3" {
		t.Fatal(got)
	}
	if k.Now() != 100 {
		t.Fatal("the clock stands at the end of the run")
	}
}
