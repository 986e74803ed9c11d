package faults

import (
	"errors"
	"fmt"
	"strings"

	"github.com/simkafka/simkafka/model/kafka"
)

// each applies act to what s selects and says what it hit.
func each(t Target, c Context, s Selector, act func(actor string) bool) (hit []string, err error) {
	names := t.Select(s, c)
	if len(names) == 0 {
		return nil, errors.New(s.Nobody())
	}
	for _, n := range names {
		if act(n) {
			hit = append(hit, n)
		}
	}
	return hit, nil
}

// restartAll is the undo of everything that takes processes down.
func restartAll(hit []string) func(Target) {
	return func(t Target) {
		for _, n := range hit {
			t.Restart(n)
		}
	}
}

// Kill is kill -9: the process dies, its page cache stays (P1).
type Kill struct{ Node Selector }

func (f Kill) Word() string          { return "kill" }
func (f Kill) String() string        { return "kill: " + f.Node.String() }
func (f Kill) Selectors() []Selector { return []Selector{f.Node} }

// Start implements Fault.
func (f Kill) Start(t Target, c Context) (string, func(Target), error) {
	hit, err := each(t, c, f.Node, t.Kill)
	return strings.Join(hit, " "), restartAll(hit), err
}

// PowerLoss stops a machine: its unsynced pages are lost and its peers hear
// nothing (P2, D6). Of one node, a rack (P14) or all (P15), by its selector.
type PowerLoss struct{ Node Selector }

func (f PowerLoss) Word() string          { return "power_loss" }
func (f PowerLoss) String() string        { return "power_loss: " + f.Node.String() }
func (f PowerLoss) Selectors() []Selector { return []Selector{f.Node} }

// Start implements Fault.
func (f PowerLoss) Start(t Target, c Context) (string, func(Target), error) {
	hit, err := each(t, c, f.Node, t.PowerLoss)
	return strings.Join(hit, " "), restartAll(hit), err
}

// Stop is SIGTERM: controlled shutdown, clean close (P3).
type Stop struct{ Node Selector }

func (f Stop) Word() string          { return "stop" }
func (f Stop) String() string        { return "stop: " + f.Node.String() }
func (f Stop) Selectors() []Selector { return []Selector{f.Node} }

// Start implements Fault.
func (f Stop) Start(t Target, c Context) (string, func(Target), error) {
	hit, err := each(t, c, f.Node, t.Stop)
	return strings.Join(hit, " "), restartAll(hit), err
}

// Restart starts what is down.
type Restart struct{ Node Selector }

func (f Restart) Word() string          { return "restart" }
func (f Restart) String() string        { return "restart: " + f.Node.String() }
func (f Restart) Selectors() []Selector { return []Selector{f.Node} }

// Start implements Fault.
func (f Restart) Start(t Target, c Context) (string, func(Target), error) {
	hit, err := each(t, c, f.Node, t.Restart)
	return strings.Join(hit, " "), nil, err
}

// Pause stops a process without killing it: a long GC pause, SIGSTOP (P5, P6).
type Pause struct{ Node Selector }

func (f Pause) Word() string          { return "pause" }
func (f Pause) String() string        { return "pause: " + f.Node.String() }
func (f Pause) Selectors() []Selector { return []Selector{f.Node} }

// Start implements Fault.
func (f Pause) Start(t Target, c Context) (string, func(Target), error) {
	hit, err := each(t, c, f.Node, t.Pause)
	return strings.Join(hit, " "), func(t Target) {
		for _, n := range hit {
			t.Resume(n)
		}
	}, err
}

// Resume ends a pause.
type Resume struct{ Node Selector }

func (f Resume) Word() string          { return "resume" }
func (f Resume) String() string        { return "resume: " + f.Node.String() }
func (f Resume) Selectors() []Selector { return []Selector{f.Node} }

// Start implements Fault.
func (f Resume) Start(t Target, c Context) (string, func(Target), error) {
	hit, err := each(t, c, f.Node, t.Resume)
	return strings.Join(hit, " "), nil, err
}

// Clock moves a node's wall clock: a constant offset while the fault lasts (C1),
// or a jump that stays (C3 forward, C4 backward).
type Clock struct {
	Node  Selector
	Delta kafka.Nanos
	Jump  bool
}

// Word implements Fault.
func (f Clock) Word() string {
	if f.Jump {
		return "clock_jump"
	}
	return "clock_offset"
}

func (f Clock) String() string {
	return fmt.Sprintf("%s: {node: %s, by: %s}", f.Word(), f.Node, Duration(f.Delta))
}

// Selectors implements Fault.
func (f Clock) Selectors() []Selector { return []Selector{f.Node} }

// Start implements Fault.
func (f Clock) Start(t Target, c Context) (string, func(Target), error) {
	var lifts []func()
	hit, err := each(t, c, f.Node, func(n string) bool {
		lifts = append(lifts, t.Clock(n, f.Delta))
		return true
	})
	if f.Jump {
		return strings.Join(hit, " "), nil, err
	}
	return strings.Join(hit, " "), liftAll(lifts), err
}

func liftAll(lifts []func()) func(Target) {
	return func(Target) {
		for _, lift := range lifts {
			lift()
		}
	}
}
