package kernel

import (
	"fmt"
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
)

func TestTimerBringsBackWhatItWasSetWith(t *testing.T) {
	ref := &struct{}{}
	fired := false
	k, _, _, _ := start(Config{}, &fn{step: func(in *step.Input, out *step.Effects) error {
		if in.Kind == step.Boot {
			out.SetTimer(0, 7, 65535, -3, ref)
			return nil
		}
		fired = in.Kind == step.Timer && in.Now == 7 && in.Timer == 65535 && in.Arg == -3 && in.Ref == ref
		return nil
	}})
	k.Run(10)
	if !fired {
		t.Error("not so")
	}
}

func TestCancelledTimerIsNeverDelivered(t *testing.T) {
	var tr trace
	var pending, waiting step.TimerRef
	k, _, _, _ := start(Config{}, &fn{
		lanes: []step.LaneSpec{{Name: "a", Workers: 1}, {Name: "b", Workers: 1}},
		step: func(in *step.Input, out *step.Effects) error {
			tr.add(in, fmt.Sprintf("%s %d", in.Kind, in.Arg))
			switch {
			case in.Kind == step.Boot:
				same := out.SetTimer(0, 20, 0, 1, nil)
				out.CancelTimer(&same)
				pending = out.SetTimer(0, 30, 0, 2, nil)
				out.SetTimer(1, 5, 0, 3, nil) // busy from 5 to 15
				waiting = out.SetTimer(1, 6, 0, 4, nil)
				out.SetTimer(0, 10, 0, 5, nil)
				never := out.SetTimer(0, kafka.Forever, 0, 6, nil)
				out.CancelTimer(&never)
			case in.Arg == 3:
				out.Charge(10)
			case in.Arg == 5:
				out.CancelTimer(&pending)
				out.CancelTimer(&waiting)
				out.CancelTimer(&waiting)
			}
			return nil
		}})
	k.Run(100)
	tr.want(t, "0 boot 0", "5 timer 3", "10 timer 5")
	if k.Pending() != 0 {
		t.Error("a cancelled timer is pending")
	}
}

func TestRefOfAFiredTimerIsHarmless(t *testing.T) {
	var tr trace
	var old step.TimerRef
	k, _, _, _ := start(Config{}, &fn{step: func(in *step.Input, out *step.Effects) error {
		tr.add(in, fmt.Sprint(in.Arg))
		switch in.Arg {
		case 0:
			old = out.SetTimer(0, 1, 0, 1, nil)
		case 1:
			out.SetTimer(0, 3, 0, 2, nil) // takes the freed place
			out.CancelTimer(&old)
		}
		return nil
	}})
	k.Run(100)
	tr.want(t, "0 0", "1 1", "3 2")
}

func TestTimersOfOneInstantComeInTheOrderOfTheirSetting(t *testing.T) {
	got := tieOrder(Config{}, 0)
	if got != "[0 1 2 3 4 5 6 7]" {
		t.Error(got)
	}
}

// S1: in exploration mode the order of coincident timers is drawn.
func TestExploreTiesDrawsTheOrderOfCoincidentTimers(t *testing.T) {
	orders := make(map[string]bool)
	for seed := range uint64(20) {
		got := tieOrder(Config{ExploreTies: true, Seed: seed}, 0)
		if got != tieOrder(Config{ExploreTies: true, Seed: seed}, 3) {
			t.Error("idle actors change the draws")
		}
		orders[got] = true
	}
	if len(orders) < 15 {
		t.Errorf("only %d orders of 20", len(orders))
	}
}

func tieOrder(cfg Config, idle int) string {
	k := New(cfg)
	k.SetNetwork(&wire{k: k})
	for i := range idle {
		id := k.Add(fmt.Sprint("idle", i), Options{})
		k.Boot(id, &fn{step: func(in *step.Input, out *step.Effects) error {
			if in.Kind == step.Boot {
				out.SetTimer(0, 9, 0, 0, nil)
			}
			return nil
		}}, nil)
	}
	var got []int64
	a := k.Add("a", Options{})
	k.Boot(a, &fn{step: func(in *step.Input, out *step.Effects) error {
		if in.Kind == step.Boot {
			for i := range int64(8) {
				out.SetTimer(0, 9, 0, i, nil)
			}
			return nil
		}
		got = append(got, in.Arg)
		return nil
	}}, nil)
	k.Run(10)
	return fmt.Sprint(got)
}

func TestRunningTimersAllocateNothing(t *testing.T) {
	var refs [16]step.TimerRef
	k, _, _, _ := start(Config{CheckpointEvery: 1 << 40}, &fn{step: func(in *step.Input, out *step.Effects) error {
		if in.Kind == step.Boot {
			for i := range int64(16) {
				out.SetTimer(0, kafka.Nanos(i), 0, i, nil)
			}
			return nil
		}
		out.CancelTimer(&refs[in.Arg])
		refs[in.Arg] = out.SetTimer(0, in.Now+kafka.Second, 1, in.Arg, nil)
		if in.Timer == 0 {
			out.SetTimer(0, in.Now+100, 0, in.Arg, nil)
			out.Charge(3)
			out.Done(2, in.Arg, nil)
		}
		return nil
	}})
	k.Run(10_000)
	at := k.Now()
	if n := testing.AllocsPerRun(10, func() { at += 10_000; k.Run(at) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if k.Events() < 3000 || k.Pending() > 60 {
		t.Errorf("%d events, %d pending", k.Events(), k.Pending())
	}
}
