package kernel

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
	"github.com/simkafka/simkafka/model/vfs"
)

// platter is a disk whose only call is write.
type platter struct {
	now, crashAt, spent kafka.Nanos
	ops                 uint64
	flushErr            error
	completed           []step.FlushID
}

func (p *platter) BeginStep(now, crashAt kafka.Nanos) { p.now, p.crashAt, p.spent = now, crashAt, 0 }
func (p *platter) EndStep() kafka.Nanos               { return p.spent }
func (p *platter) Digest() uint64                     { return p.ops }
func (p *platter) BeginFlush(now kafka.Nanos, id step.FlushID, files []vfs.File, dirs []string) kafka.Nanos {
	return now + 50
}
func (p *platter) CompleteFlush(id step.FlushID) error {
	p.completed = append(p.completed, id)
	return p.flushErr
}

func (p *platter) write(cost kafka.Nanos) error {
	if p.now+p.spent+cost > p.crashAt {
		p.spent = max(0, p.crashAt-p.now)
		return fmt.Errorf("write: %w", vfs.ErrCrashed)
	}
	p.spent += cost
	p.ops++
	return nil
}

// sender connects, notes and sets a timer at boot.
func sender(charge kafka.Nanos, also func(in *step.Input, out *step.Effects) error) *fn {
	return &fn{step: func(in *step.Input, out *step.Effects) error {
		if in.Kind != step.Boot {
			out.Note(event.Event{Kind: event.Probe, Text: in.Kind.String()})
			return nil
		}
		out.Charge(charge)
		out.Note(event.Event{Kind: event.Probe, Text: "boot"})
		out.Connect(0, step.Addr{Host: "b"})
		out.SetTimer(0, in.Now+1000, 0, 0, nil)
		out.Done(0, 0, nil)
		if also != nil {
			return also(in, out)
		}
		return nil
	}}
}

func boot(cfg Config, n step.Node, d Disk, before func(k *Kernel, a ActorID)) (*Kernel, *wire, *spy) {
	k := New(cfg)
	w, s := &wire{k: k}, &spy{}
	k.SetNetwork(w)
	k.Observe(s)
	a := k.Add("a", Options{})
	k.Boot(a, n, d)
	if before != nil {
		before(k, a)
	}
	return k, w, s
}

func wantWords(t *testing.T, what, got string, want ...string) {
	t.Helper()
	w := ""
	for _, l := range want {
		w += l + "\n"
	}
	if got != w {
		t.Errorf("%s:\n%swant\n%s", what, got, w)
	}
}

func (w *wire) lines() string {
	s := strings.Join(w.sent, "\n")
	if s != "" {
		s += "\n"
	}
	return s
}

func TestCrashFromOutsideStrikesBeforeTheSendsOfAStepUnderWay(t *testing.T) {
	k, w, s := boot(Config{}, sender(10, nil), nil, func(k *Kernel, a ActorID) {
		k.At(10, func() { k.Crash(a, "killed", Kill) })
	})
	k.Run(5000)
	wantWords(t, "sent", w.lines(), "10 a died 0")
	wantWords(t, "notes", s.words(), "0 a node-booted ", "0 a probe boot", "10 a node-crashed killed")
	if k.Pending() != 0 {
		t.Error("timers outlive the process")
	}
}

func TestCrashByAnObserverStrikesBeforeTheStepsSends(t *testing.T) {
	k, w, s := boot(Config{}, sender(0, nil), nil, func(k *Kernel, a ActorID) {
		k.Observe(observer(func(ev *event.Event) {
			if ev.Kind == event.Probe {
				k.Crash(a, "by trigger", Power)
			}
		}))
	})
	k.Run(5000)
	wantWords(t, "sent", w.lines(), "0 a died 1")
	wantWords(t, "notes", s.words(), "0 a node-booted ", "0 a probe boot", "0 a node-crashed by trigger")
	if k.State(0) != Off {
		t.Error("the host has power")
	}
}

type observer func(ev *event.Event)

func (o observer) Event(ev *event.Event) { o(ev) }

func TestVfsCallUnderWayAtAPlannedCrashFailsAndTheStepsSendsAreDropped(t *testing.T) {
	d := new(platter)
	var tr trace
	k, w, s := boot(Config{}, sender(0, func(in *step.Input, out *step.Effects) error {
		for range 3 {
			if err := d.write(10); err != nil {
				tr.add(in, err.Error())
				return err
			}
			out.Note(event.Event{Kind: event.Probe, Text: "written"})
		}
		return nil
	}), d, func(k *Kernel, a ActorID) {
		if !k.CrashAt(a, 25, "power loss", Power) || k.CrashAt(a, 30, "later", Kill) {
			t.Error("the first plan stands")
		}
	})
	k.Run(5000)
	tr.want(t, "0 write: process crashed")
	wantWords(t, "sent", w.lines(), "25 a died 1")
	wantWords(t, "notes", s.words(), "0 a node-booted ", "0 a probe boot", "0 a probe written", "0 a probe written", "25 a node-crashed power loss")
}

func TestNothingRunsBetweenAFailedVfsCallAndTheCrash(t *testing.T) {
	d := new(platter)
	var tr trace
	k, w, _ := boot(Config{}, &fn{
		lanes: []step.LaneSpec{{Name: "a", Workers: 1}, {Name: "b", Workers: 1}},
		step: func(in *step.Input, out *step.Effects) error {
			tr.add(in, fmt.Sprintf("%s lane %d", in.Kind, in.Lane))
			switch {
			case in.Kind == step.Boot:
				out.SetTimer(1, 3, 0, 0, nil)
				out.SetTimer(0, 5, 0, 0, nil)
				out.SetTimer(1, 6, 0, 0, nil)
			case in.Lane == 1:
				out.Charge(4)
				out.Connect(1, step.Addr{Host: "b"})
			default:
				return d.write(100)
			}
			return nil
		}}, d, func(k *Kernel, a ActorID) { k.CrashAt(a, 25, "planned", Kill) })
	k.Run(5000)
	tr.want(t, "0 boot lane 0", "3 timer lane 1", "5 timer lane 0")
	wantWords(t, "what left before the crash stays sent", w.lines(), "7 a connect 1 b", "25 a died 0")
}

func TestErrCrashedWithoutAPlanKillsWhenTheStepsTimeIsSpent(t *testing.T) {
	d := new(platter)
	k, w, s := boot(Config{}, sender(0, func(in *step.Input, out *step.Effects) error {
		d.spent = 7
		return vfs.ErrCrashed
	}), d, nil)
	k.Run(5000)
	wantWords(t, "sent", w.lines(), "7 a died 0")
	wantWords(t, "notes", s.words(), "0 a node-booted ", "0 a probe boot", "7 a node-crashed crashed at a disk operation")
}

func TestOtherErrorsExitAfterTheStepsSends(t *testing.T) {
	var exits []Exit
	k, w, s := boot(Config{}, sender(10, func(in *step.Input, out *step.Effects) error {
		return errors.New("all log directories are offline")
	}), nil, func(k *Kernel, a ActorID) { k.OnExit(func(e Exit) { exits = append(exits, e) }) })
	k.Run(5000)
	wantWords(t, "sent", w.lines(), "10 a connect 1 b", "10 a died 2")
	wantWords(t, "notes", s.words(), "0 a node-booted ", "0 a probe boot", "10 a node-stopped all log directories are offline")
	if fmt.Sprint(exits) != "[{0 1 2 all log directories are offline}]" {
		t.Error(exits)
	}
}

func TestExitLeavesAfterTheSends(t *testing.T) {
	for _, charge := range []kafka.Nanos{0, 10} {
		k, w, s := boot(Config{}, sender(charge, func(in *step.Input, out *step.Effects) error {
			out.Exit("done")
			return nil
		}), nil, nil)
		k.Run(5000)
		at := fmt.Sprint(int64(charge))
		wantWords(t, "sent", w.lines(), at+" a connect 1 b", at+" a died 2")
		wantWords(t, "notes", s.words(), "0 a node-booted ", "0 a probe boot", at+" a node-stopped done")
	}
}

func TestPanicBecomesAReportedAssertionAndTheProcessEnds(t *testing.T) {
	k, w, s := boot(Config{}, sender(0, func(in *step.Input, out *step.Effects) error {
		panic("high watermark above log end")
	}), nil, nil)
	k.Run(5000)
	wantWords(t, "sent", w.lines(), "0 a died 2")
	wantWords(t, "notes", s.words(), "0 a node-booted ", "0 a probe boot", "0 a assertion high watermark above log end",
		"0 a node-stopped high watermark above log end")
	as := k.Assertions()
	if len(as) != 1 || as[0].Actor != "a" || as[0].Seq != 1 || !strings.Contains(as[0].Stack, "crash_test.go") {
		t.Errorf("%+v", as)
	}
}

func TestTimersFlushesAndContinuationsDieWithTheIncarnation(t *testing.T) {
	d := &platter{flushErr: vfs.ErrIO}
	var tr trace
	n := func() *fn {
		return &fn{step: func(in *step.Input, out *step.Effects) error {
			tr.add(in, fmt.Sprintf("%d %s", in.Incarnation, in.Kind))
			if in.Kind == step.Boot {
				out.Charge(10)
				out.SetTimer(0, in.Now+40, 0, 0, nil)
				out.Flush(0, step.FlushID(in.Incarnation), nil, nil)
				out.Done(0, 0, nil)
			}
			if in.Kind == step.Flushed && !errors.Is(in.Err, vfs.ErrIO) {
				t.Error("the flush's error is lost")
			}
			return nil
		}}
	}
	k, _, _ := boot(Config{}, n(), d, func(k *Kernel, a ActorID) {
		k.At(5, func() { k.Crash(a, "early", Kill); k.Boot(a, n(), d) })
		k.At(20, func() { k.Crash(a, "again", Kill); k.Boot(a, n(), d) })
	})
	k.Run(5000)
	tr.want(t, "0 1 boot", "5 2 boot", "15 2 done", "20 3 boot", "30 3 done", "60 3 timer", "80 3 flushed")
	if fmt.Sprint(d.completed) != "[3]" {
		t.Error("flushes completed:", d.completed)
	}
}

func TestPausedActorsInputsWaitAndComeInDueOrder(t *testing.T) {
	var tr trace
	k, a, w, s := start(Config{}, &fn{
		lanes: []step.LaneSpec{{Name: "a", Workers: 1}, {Name: "b", Workers: 2}},
		step: func(in *step.Input, out *step.Effects) error {
			tr.add(in, fmt.Sprintf("%s %d", in.Kind, in.Arg))
			if in.Kind == step.Boot {
				out.SetTimer(1, 4, 0, 1, nil) // its sends are due at 14, during the pause
				out.SetTimer(1, 30, 0, 4, nil)
				out.SetTimer(0, 20, 0, 3, nil)
				out.SetTimer(0, 12, 0, 2, nil)
				out.SetTimer(0, 60, 0, 5, nil)
			}
			if in.Arg == 1 {
				out.Charge(10)
				out.Connect(0, step.Addr{Host: "b"})
			}
			return nil
		}})
	k.At(10, func() {
		if !k.Pause(a) || k.Pause(a) {
			t.Error("a pause begins once")
		}
	})
	k.At(50, func() { k.Resume(a) })
	k.Run(100)
	tr.want(t, "0 boot 0", "4 timer 1", "50 timer 2", "50 timer 3", "50 timer 4", "60 timer 5")
	wantWords(t, "sent", w.lines(), "50 a connect 1 b")
	wantWords(t, "notes", s.words(), "0 a node-booted ", "10 a node-paused ", "50 a node-resumed ")
}

func TestPauseDuringTheCatchUpKeepsTheOrder(t *testing.T) {
	var tr trace
	k, a, _, _ := start(Config{}, queueing(&tr, 1, 5, 11, 12, 13, 55))
	k.At(10, func() { k.Pause(a) })
	k.At(50, func() { k.Resume(a) })
	k.At(57, func() { k.Pause(a) })
	k.At(70, func() { k.Resume(a) })
	k.Run(200)
	tr.want(t, "50 w0 timer 0", "55 w0 timer 1", "70 w0 timer 2", "75 w0 timer 3")
}

func TestCrashDuringAPauseForgetsWhatWaited(t *testing.T) {
	var tr trace
	k, a, _, _ := start(Config{}, queueing(&tr, 1, 5, 11, 12))
	k.At(10, func() { k.Pause(a) })
	k.At(20, func() { k.Crash(a, "killed", Kill) })
	k.At(30, func() { k.Boot(a, queueing(&tr, 1, 5, 40), nil) })
	k.Run(200)
	tr.want(t, "40 w0 timer 0")
	if k.Paused(a) || k.Incarnation(a) != 2 {
		t.Error("the new process is not paused")
	}
}

func TestWallClockFollowsItsOffset(t *testing.T) {
	var got []int64
	k := New(Config{Epoch: 1_000_000})
	a := k.Add("a", Options{WallOffset: -5 * ms})
	k.Boot(a, &fn{step: func(in *step.Input, out *step.Effects) error {
		got = append(got, int64(in.Wall))
		out.SetTimer(0, in.Now+10*ms+500*us, 0, 0, nil)
		return nil
	}}, nil)
	k.At(20*ms, func() { k.SetWallOffset(a, kafka.Second) })
	k.Run(25 * ms)
	if fmt.Sprint(got) != "[999995 1000005 1001021]" {
		t.Error(got)
	}
}

func TestTerminateIsAnInput(t *testing.T) {
	var tr trace
	k, a, _, _ := start(Config{}, &fn{step: func(in *step.Input, out *step.Effects) error {
		tr.add(in, in.Kind.String())
		if in.Kind == step.Terminate {
			out.Exit("SIGTERM")
		}
		return nil
	}})
	k.At(5, func() { k.Terminate(a) })
	k.Run(10)
	tr.want(t, "0 boot", "5 terminate")
	if k.State(a) != Down || k.Terminate(a) {
		t.Error("it stopped")
	}
}

func TestCrashBeforeTheStepSkipsIt(t *testing.T) {
	var tr trace
	k, a, _, _ := start(Config{}, queueing(&tr, 1, 0, 10, 11))
	k.BeforeStep(func(_ ActorID, in *step.Input) {
		if in.Arg == 1 {
			k.Crash(a, "before", Kill)
		}
	})
	k.Run(20)
	tr.want(t, "10 w0 timer 0")
}
