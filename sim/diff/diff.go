// Package diff finds the first event in which two runs differ. It mirrors no Kafka
// class.
//
// Every step of a run is folded into a fingerprint, which is kept after every 4096
// events. Two runs are compared by these first; what lies between the last equal pair
// and the first different one is run again, step by step.
//
// Left out: what follows the first difference. Once two runs have parted, event numbers
// mean different things in them.
package diff

import (
	"errors"
	"fmt"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/outcome"
	"github.com/simkafka/simkafka/scenarios"
	"github.com/simkafka/simkafka/sim/cluster"
	"github.com/simkafka/simkafka/sim/kernel"
)

// Run is one of the runs that are compared.
type Run struct {
	Spec *scenarios.Spec
	Seed uint64
}

// Difference is what comparing two runs gave.
type Difference struct {
	A, B *outcome.Result
	// Event is the number of the first event that differs, or that only one of them has;
	// 0: the runs are equal.
	Event uint64
}

// Find compares two runs.
func Find(a, b Run) (d Difference, err error) {
	if d.A, err = cluster.Run(a.Spec, cluster.Options{Seed: a.Seed}); err != nil {
		return d, err
	}
	if d.B, err = cluster.Run(b.Spec, cluster.Options{Seed: b.Seed}); err != nil {
		return d, err
	}
	if d.A.Fingerprint == d.B.Fingerprint && d.A.Events == d.B.Events {
		return d, nil
	}
	from, to := window(d.A, d.B)
	x, err := sums(a, from, to)
	if err != nil {
		return d, err
	}
	y, err := sums(b, from, to)
	if err != nil {
		return d, err
	}
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			d.Event = from + 1 + uint64(i)
			return d, nil
		}
	}
	if len(x) != len(y) { // one of them ends there
		d.Event = from + 1 + uint64(min(len(x), len(y)))
		return d, nil
	}
	return d, fmt.Errorf("the fingerprints %s and %s differ, but no event from %d to %d does when the runs are repeated", d.A.Fingerprint, d.B.Fingerprint, from+1, to)
}

// window is where the first difference lies: (from, to].
func window(a, b *outcome.Result) (from, to uint64) {
	for i := range min(len(a.Checkpoints), len(b.Checkpoints)) {
		if a.Checkpoints[i] != b.Checkpoints[i] {
			return from, min(a.Checkpoints[i].Event, b.Checkpoints[i].Event)
		}
		from = a.Checkpoints[i].Event
	}
	return from, min(a.Events, b.Events) + 1
}

// sums lists the fingerprint after each event of (from, to].
func sums(r Run, from, to uint64) ([]kernel.Fingerprint, error) {
	s := &summing{from: from, to: to}
	c, err := cluster.New(r.Spec, cluster.Options{Seed: r.Seed, Recorder: s})
	if err != nil {
		return nil, err
	}
	c.Kernel().StopAt(to)
	c.Run()
	return s.sums, nil
}

type summing struct {
	from, to uint64
	sums     []kernel.Fingerprint
}

// Record implements kernel.Recorder.
func (s *summing) Record(r *kernel.Record) {
	if r.Seq > s.from && r.Seq <= s.to {
		s.sums = append(s.sums, r.Sum)
	}
}

// Sink gets steps and facts.
type Sink interface {
	kernel.Recorder
	kernel.Observer
}

// ErrNone says that a run has no events in a window.
var ErrNone = errors.New("the run has no such events")

// Window runs once more and gives out the steps [from, to] and the facts that they noted.
// named, if not nil, gets the function that names actors before anything is given out.
func Window(r Run, from, to uint64, out Sink, named func(func(kernel.ActorID) string)) error {
	w := &windowed{from: from, to: to, out: out}
	c, err := cluster.New(r.Spec, cluster.Options{Seed: r.Seed, Recorder: w, Observer: w})
	if err != nil {
		return err
	}
	if named != nil {
		named(c.Kernel().Name)
	}
	c.Kernel().StopAt(to)
	c.Run()
	if !w.any {
		return ErrNone
	}
	return nil
}

type windowed struct {
	from, to uint64
	out      Sink
	any      bool
}

// Record implements kernel.Recorder.
func (w *windowed) Record(r *kernel.Record) {
	if r.Seq >= w.from && r.Seq <= w.to {
		w.any = true
		w.out.Record(r)
	}
}

// Event implements kernel.Observer.
func (w *windowed) Event(e *event.Event) {
	if e.Seq >= w.from && e.Seq <= w.to {
		w.out.Event(e)
	}
}
