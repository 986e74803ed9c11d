package main

import (
	"fmt"
	"strings"
)

// meter shows how many bytes were read, as progress does for runs.
type meter struct {
	status
	done, total int64 // bytes; total 0 if it is not known
}

func (a *app) newMeter(quiet bool) *meter { return &meter{status: a.newStatus(quiet)} }

func (m *meter) add(bytes int) {
	m.done += int64(bytes)
	if !m.due() {
		return
	}
	text := sizeText(m.done) + " read"
	if m.total > 0 {
		text = fmt.Sprintf("%s of %s, %d %%", sizeText(m.done), sizeText(m.total), min(100, m.done*100/m.total))
	}
	if m.terminal {
		text = m.bar() + text
	}
	m.show(text)
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
