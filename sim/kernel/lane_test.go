package kernel

import (
	"fmt"
	"strings"
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
)

// queueing is an actor whose lane 0 sets timers on lane 1 at boot, one per entry of
// at; each takes service time.
func queueing(tr *trace, workers int, service kafka.Nanos, at ...kafka.Nanos) *fn {
	return &fn{lanes: []step.LaneSpec{{Name: "boot", Workers: 1}, {Name: "pool", Workers: workers, Serves: true}},
		step: func(in *step.Input, out *step.Effects) error {
			if in.Kind == step.Boot {
				for i, t := range at {
					out.SetTimer(1, t, 0, int64(i), nil)
				}
				return nil
			}
			tr.add(in, fmt.Sprintf("w%d %s %d", in.Worker, in.Kind, in.Arg))
			if in.Kind == step.Timer {
				out.Charge(service)
			}
			return nil
		}}
}

func TestLaneIsAQueueWithOneWorker(t *testing.T) {
	var tr trace
	k, _, _, _ := start(Config{}, queueing(&tr, 1, 10, 0, 1, 2, 50))
	k.Run(100)
	tr.want(t, "0 w0 timer 0", "10 w0 timer 1", "20 w0 timer 2", "50 w0 timer 3")
}

func TestPoolOfWorkersSharesOneQueue(t *testing.T) {
	var tr trace
	k, _, _, _ := start(Config{}, queueing(&tr, 2, 10, 0, 1, 2, 3, 12, 40))
	k.Run(100)
	tr.want(t, "0 w0 timer 0", "1 w1 timer 1", "10 w0 timer 2", "11 w1 timer 3", "20 w0 timer 4", "40 w0 timer 5")
}

func TestLanesDoNotWaitForEachOther(t *testing.T) {
	var tr trace
	k, _, _, _ := start(Config{}, &fn{
		lanes: []step.LaneSpec{{Name: "slow", Workers: 1}, {Name: "quick", Workers: 1}},
		step: func(in *step.Input, out *step.Effects) error {
			tr.add(in, fmt.Sprintf("lane %d %s", in.Lane, in.Kind))
			if in.Kind == step.Boot {
				out.SetTimer(0, 5, 0, 0, nil)
				out.SetTimer(0, 6, 0, 0, nil)
				out.SetTimer(1, 7, 0, 0, nil)
			} else if in.Lane == 0 {
				out.Charge(1000)
			}
			return nil
		}})
	k.Run(2000)
	tr.want(t, "0 lane 0 boot", "5 lane 0 timer", "7 lane 1 timer", "1005 lane 0 timer")
}

func TestLatencyUnderLoadGrowsAsAQueueDoes(t *testing.T) {
	mean := func(gap kafka.Nanos) kafka.Nanos {
		var at []kafka.Nanos
		for i := range 1000 {
			at = append(at, kafka.Nanos(i)*gap)
		}
		var waited kafka.Nanos
		f := queueing(new(trace), 1, 100, at...)
		inner := f.step
		f.step = func(in *step.Input, out *step.Effects) error {
			if in.Kind == step.Timer {
				waited += in.Now - at[in.Arg]
			}
			return inner(in, out)
		}
		k, _, _, _ := start(Config{}, f)
		k.Run(kafka.Second)
		return waited / 1000
	}
	light, full, over := mean(200), mean(100), mean(50)
	if light != 0 || full != 0 || over < 20_000 {
		t.Errorf("mean waits %d, %d, %d", light, full, over)
	}
}

func TestDoneComesWhenTheStepsTimeIsSpentBeforeTheWorkersNextInput(t *testing.T) {
	var tr trace
	k, _, _, _ := start(Config{}, &fn{step: func(in *step.Input, out *step.Effects) error {
		tr.add(in, fmt.Sprintf("%s %d", in.Kind, in.Arg))
		switch {
		case in.Kind == step.Boot:
			out.SetTimer(0, 1, 0, 1, nil)
			out.SetTimer(0, 2, 0, 2, nil)
			out.SetTimer(0, 11, 0, 3, nil)
		case in.Kind == step.Timer && in.Arg == 1:
			out.Charge(10)
			out.Done(0, 10, nil)
			out.Done(0, 11, nil)
		case in.Kind == step.Done && in.Arg == 10:
			out.Charge(5)
			out.Done(0, 12, nil)
		}
		return nil
	}})
	k.Run(100)
	tr.want(t, "0 boot 0", "1 timer 1", "11 done 10", "16 done 11", "16 done 12", "16 timer 2", "16 timer 3")
}

func TestDoneOfAStepWithoutTimeHappensAtOnce(t *testing.T) {
	var tr trace
	k, _, _, _ := start(Config{}, &fn{
		lanes: []step.LaneSpec{{Name: "a", Workers: 1}, {Name: "b", Workers: 1}},
		step: func(in *step.Input, out *step.Effects) error {
			tr.add(in, fmt.Sprintf("lane %d %s", in.Lane, in.Kind))
			if in.Kind == step.Boot {
				out.SetTimer(0, 5, 0, 0, nil)
				out.SetTimer(1, 5, 0, 0, nil)
			} else if in.Kind == step.Timer && in.Lane == 0 {
				out.Done(0, 0, nil)
			}
			return nil
		}})
	k.Run(100)
	tr.want(t, "0 lane 0 boot", "5 lane 0 timer", "5 lane 0 done", "5 lane 1 timer")
}

func TestFreeWorkersCostNoEvents(t *testing.T) {
	var tr trace
	k, a, _, _ := start(Config{}, queueing(&tr, 4, 10, 0, 20, 40))
	k.Run(0)
	for k.Step() {
		if n := k.Pending(); n > 2 {
			t.Errorf("%d pending beside the timers to come", n)
		}
	}
	if k.Pending() != 0 || k.State(a) != Running {
		t.Error("nothing is left, the actor runs")
	}
}

func TestSlowActorTakesLongerForTheSameWork(t *testing.T) {
	var tr trace
	k, a, _, _ := start(Config{}, queueing(&tr, 1, 10, 5, 5))
	k.SetSlow(a, 250)
	k.Run(100)
	tr.want(t, "5 w0 timer 0", "30 w0 timer 1")
}

// A pool against an obvious simulation of it: jobs in order, each to the worker
// that is free first, the lowest if several are.
func TestPoolMatchesItsObviousTwin(t *testing.T) {
	for seed := range uint64(30) {
		r := rng(seed)
		var at, cost []kafka.Nanos
		now := kafka.Nanos(0)
		for range 200 {
			now += kafka.Nanos(r.next() % 12)
			at, cost = append(at, now), append(cost, kafka.Nanos(r.next()%30))
		}
		workers := int(1 + seed%4)
		var got []string
		f := queueing(new(trace), workers, 0, at...)
		boot := f.step
		f.step = func(in *step.Input, out *step.Effects) error {
			if in.Kind == step.Timer {
				got = append(got, fmt.Sprintf("%d@%d", in.Arg, in.Now))
				out.Charge(cost[in.Arg])
				return nil
			}
			return boot(in, out)
		}
		k, _, _, _ := start(Config{}, f)
		k.Run(kafka.Second)
		free := make([]kafka.Nanos, workers)
		var want []string
		for i := range at {
			w := 0
			for j := range free {
				if free[j] < free[w] {
					w = j
				}
			}
			begin := max(at[i], free[w])
			free[w] = begin + cost[i]
			want = append(want, fmt.Sprintf("%d@%d", i, begin))
		}
		if g, w := strings.Join(got, " "), strings.Join(want, " "); g != w {
			t.Fatalf("seed %d\ngot  %s\nwant %s", seed, g, w)
		}
	}
}
