package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/simkafka/simkafka/sim/sweep"
)

// bar shows on stderr how far a sweep is: on a terminal one line that is rewritten,
// elsewhere a line now and then.
type bar struct {
	s        *sweeper
	terminal bool
	every    time.Duration // 0 = never
	begin    time.Time
	last     time.Time
	deadline time.Time
	shown    bool
	p        sweep.Progress
}

func (s *sweeper) newBar(deadline time.Time) *bar {
	now := time.Now()
	b := &bar{s: s, terminal: isTerminal(s.stderr), every: logRefresh, begin: now, last: now, deadline: deadline}
	if b.terminal {
		b.every = terminalRefresh
	}
	if s.flags.quiet {
		b.every, b.terminal = 0, false
	}
	return b
}

func (b *bar) update(p sweep.Progress) {
	b.p = p
	now := time.Now()
	if b.every == 0 || now.Sub(b.last) < b.every {
		return
	}
	b.last = now
	if b.terminal {
		b.shown = true
		fmt.Fprintf(b.s.stderr, "\r\x1b[K%s", b.text(now))
	} else {
		fmt.Fprintln(b.s.stderr, b.text(now))
	}
}

// text is for the eyes only: rates and the time that is left are those of the wall
// clock.
func (b *bar) text(now time.Time) string {
	elapsed := now.Sub(b.begin)
	rate := float64(b.p.Now) / max(elapsed.Seconds(), 1e-9)
	done := fmt.Sprintf("%d seeds", b.p.Done)
	share, left := 0.0, time.Duration(-1)
	if b.p.Total > 0 {
		done = fmt.Sprintf("%d/%d seeds", b.p.Done, b.p.Total)
		share = float64(b.p.Done) / float64(b.p.Total)
		if b.p.Now > 0 {
			left = time.Duration(float64(b.p.Total-b.p.Done) / rate * float64(time.Second))
		}
	}
	if b.s.budget > 0 {
		share = max(share, min(elapsed.Seconds()/b.s.budget.Seconds(), 1))
		if rest := max(b.deadline.Sub(now), 0); left < 0 || rest < left {
			left = rest
		}
	}
	eta := ""
	if left >= 0 {
		eta = "  ETA " + left.Round(time.Second).String()
	}
	found := ""
	if b.p.Findings > 0 {
		found = fmt.Sprintf("  %d findings", b.p.Findings)
	}
	return fmt.Sprintf("%s: %s %s  %.1f/s  %d violated%s%s", b.s.plan.Source.Name(), gauge(share), done, rate, b.p.Violated, found, eta)
}

// gauge draws a share of one.
func gauge(share float64) string {
	const width = 20
	n := int(share * width)
	return "[" + strings.Repeat("#", n) + strings.Repeat("-", width-n) + "]"
}

// done removes the line and leaves the speed behind.
func (b *bar) done() {
	if !b.terminal {
		return
	}
	if b.shown {
		fmt.Fprint(b.s.stderr, "\r\x1b[K")
	}
	wall := time.Since(b.begin)
	fmt.Fprintf(b.s.stderr, "%s: wall %.1fs, %.1f seeds/s with %d jobs\n", b.s.plan.Source.Name(), wall.Seconds(), float64(b.p.Now)/max(wall.Seconds(), 1e-9), b.s.flags.jobs)
}
