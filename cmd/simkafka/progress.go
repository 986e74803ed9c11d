package main

import (
	"fmt"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/scenarios"
)

// progress shows how far a run is.
type progress struct {
	status
	spec   *scenarios.Spec
	begin  time.Time
	now    kafka.Nanos
	events uint64
}

func (r *runner) newProgress(s *scenarios.Spec) *progress {
	return &progress{status: r.newStatus(r.flags.quiet), spec: s, begin: time.Now()}
}

func (p *progress) update(now kafka.Nanos, events uint64) {
	p.now, p.events = now, events
	if p.due() {
		p.show(p.spec.Name + ": " + p.text())
	}
}

// text compares virtual with wall-clock time; it is for the eyes only.
func (p *progress) text() string {
	wall := time.Since(p.begin)
	times := 0.0
	if wall > 0 {
		times = float64(p.now) / float64(wall)
	}
	return fmt.Sprintf("%.1fs of %.0fs virtual, %d events, %.0f times real time", float64(p.now)/float64(kafka.Second),
		float64(p.spec.Duration)/float64(kafka.Second), p.events, times)
}

// done removes the line and leaves the wall-clock time behind.
func (p *progress) done() {
	if !p.terminal {
		return
	}
	p.clear()
	fmt.Fprintf(p.w, "%s: wall %.2fs, %d events\n", p.spec.Name, time.Since(p.begin).Seconds(), p.events)
}

// interrupt notes the first Ctrl-C, so that a run can end with what it has; the
// second kills the process as usual.
type interrupt struct {
	signals chan os.Signal
	done    chan struct{}
	caught  atomic.Bool
}

func catchInterrupt() *interrupt {
	i := &interrupt{signals: make(chan os.Signal, 1), done: make(chan struct{})}
	signal.Notify(i.signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case <-i.signals:
			i.caught.Store(true)
			signal.Stop(i.signals)
		case <-i.done:
		}
	}()
	return i
}

func (i *interrupt) requested() bool { return i.caught.Load() }

func (i *interrupt) release() {
	signal.Stop(i.signals)
	close(i.done)
}
