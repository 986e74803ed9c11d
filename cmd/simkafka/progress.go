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

// progress shows on stderr how far a run is: on a terminal one line that is
// rewritten, elsewhere a line now and then, so that a log shows a long run alive.
type progress struct {
	r        *runner
	spec     *scenarios.Spec
	terminal bool
	every    time.Duration // 0 = never
	begin    time.Time
	last     time.Time
	shown    bool

	now    kafka.Nanos
	events uint64
}

// How often progress is shown at most (interface 3.1 rule 4).
const (
	terminalRefresh = 100 * time.Millisecond
	logRefresh      = 30 * time.Second
)

func (r *runner) newProgress(s *scenarios.Spec) *progress {
	now := time.Now()
	p := &progress{r: r, spec: s, begin: now, last: now, every: logRefresh, terminal: isTerminal(r.stderr)}
	if p.terminal {
		p.every = terminalRefresh
	}
	if r.flags.quiet {
		p.every, p.terminal = 0, false
	}
	return p
}

func (p *progress) update(now kafka.Nanos, events uint64) {
	p.now, p.events = now, events
	if p.every == 0 || time.Since(p.last) < p.every {
		return
	}
	p.last = time.Now()
	if p.terminal {
		p.shown = true
		fmt.Fprintf(p.r.stderr, "\r\x1b[K%s: %s", p.spec.Name, p.text())
	} else {
		fmt.Fprintf(p.r.stderr, "%s: %s\n", p.spec.Name, p.text())
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
	if p.shown {
		fmt.Fprint(p.r.stderr, "\r\x1b[K")
	}
	fmt.Fprintf(p.r.stderr, "%s: wall %.2fs, %d events\n", p.spec.Name, time.Since(p.begin).Seconds(), p.events)
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
