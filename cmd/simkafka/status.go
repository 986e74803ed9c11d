package main

import (
	"fmt"
	"io"
	"time"
)

// status shows on stderr how far something is: on a terminal one line that is rewritten,
// elsewhere a line now and then, so that a log shows that it is alive.
type status struct {
	w        io.Writer
	terminal bool
	every    time.Duration // at most so often; 0 = never
	last     time.Time
	shown    bool
}

// How often progress is shown at most (interface 3.1 rule 4).
const (
	terminalRefresh = 100 * time.Millisecond
	logRefresh      = 30 * time.Second
)

func (a *app) newStatus(quiet bool) status {
	s := status{w: a.stderr, every: logRefresh, last: time.Now(), terminal: isTerminal(a.stderr)}
	if s.terminal {
		s.every = terminalRefresh
	}
	if quiet {
		s.every, s.terminal = 0, false
	}
	return s
}

// due reports whether it is time to show something.
func (s *status) due() bool { return s.every > 0 && time.Since(s.last) >= s.every }

// show shows a line.
func (s *status) show(text string) {
	s.last = time.Now()
	if s.terminal {
		s.shown = true
		fmt.Fprintf(s.w, "\r\x1b[K%s", text)
	} else {
		fmt.Fprintln(s.w, text)
	}
}

// clear removes the line from a terminal.
func (s *status) clear() {
	if s.shown {
		fmt.Fprint(s.w, "\r\x1b[K")
		s.shown = false
	}
}
