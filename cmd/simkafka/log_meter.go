package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// meter shows on stderr how many bytes were read, as progress does for runs: on a
// terminal one line that is rewritten, elsewhere a line now and then.
type meter struct {
	w        io.Writer
	terminal bool
	every    time.Duration // 0 = never
	last     time.Time
	shown    bool

	done, total int64 // bytes; total 0 if it is not known
}

func (a *app) newMeter(quiet bool) *meter {
	m := &meter{w: a.stderr, terminal: isTerminal(a.stderr), every: logRefresh, last: time.Now()}
	if m.terminal {
		m.every = terminalRefresh
	}
	if quiet {
		m.every = 0
	}
	return m
}

func (m *meter) add(bytes int) {
	m.done += int64(bytes)
	if m.every == 0 || time.Since(m.last) < m.every {
		return
	}
	m.last = time.Now()
	text := sizeText(m.done) + " read"
	if m.total > 0 {
		text = fmt.Sprintf("%s of %s, %d %%", sizeText(m.done), sizeText(m.total), min(100, m.done*100/m.total))
	}
	if m.terminal {
		m.shown = true
		fmt.Fprintf(m.w, "\r\x1b[K%s%s", m.bar(), text)
	} else {
		fmt.Fprintln(m.w, text)
	}
}

// bar shows how much of what there is was read.
func (m *meter) bar() string {
	const width = 24
	if m.total == 0 {
		return ""
	}
	done := int(min(width, m.done*width/m.total))
	return "[" + strings.Repeat("=", done) + strings.Repeat(" ", width-done) + "] "
}

// clear removes the line, before a result is printed.
func (m *meter) clear() {
	if m.shown {
		fmt.Fprint(m.w, "\r\x1b[K")
		m.shown = false
	}
}

// sizeText is a size for the eyes.
func sizeText(n int64) string {
	units := [...]string{"B", "KiB", "MiB", "GiB", "TiB"}
	f, i := float64(n), 0
	for f >= 1024 && i+1 < len(units) {
		f /= 1024
		i++
	}
	if i == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", f, units[i])
}
