package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/simkafka/simkafka/sim/sweep"
)

// bar shows how far a sweep is.
type bar struct {
	status
	s        *sweeper
	begin    time.Time
	deadline time.Time
	p        sweep.Progress
}

func (s *sweeper) newBar(deadline time.Time) *bar {
	return &bar{status: s.newStatus(s.flags.quiet), s: s, begin: time.Now(), deadline: deadline}
}

func (b *bar) update(p sweep.Progress) {
	b.p = p
	if b.due() {
		b.show(b.text(time.Now()))
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
	b.clear()
	wall := time.Since(b.begin)
	fmt.Fprintf(b.s.stderr, "%s: wall %.1fs, %.1f seeds/s with %d jobs\n", b.s.plan.Source.Name(), wall.Seconds(), float64(b.p.Now)/max(wall.Seconds(), 1e-9), b.s.flags.jobs)
}
