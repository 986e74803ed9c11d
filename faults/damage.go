package faults

import (
	"fmt"
	"strings"
)

// Damages are what Damage can do to a file; all of it is durable.
var Damages = []string{
	"empty",   // length 0
	"half",    // the second half is gone
	"zeros",   // 4 KiB of zeros behind the end
	"garbage", // drawn bytes over the first 64
	"flip",    // one drawn bit
	"remove",  // no such file
}

// Damage kills a process and spoils files of its data directory before it can start
// again: index, checkpoint and epoch files, or a log itself (D19, D21, D32, D33).
// What a broker then does is its own affair: it rebuilds, or does not start.
type Damage struct {
	Node Selector
	File string // glob below the data directory, such as t-*/*.index
	How  string // one of Damages
}

// Word implements Fault.
func (f Damage) Word() string { return "damage" }

func (f Damage) String() string {
	return fmt.Sprintf("damage: {node: %s, file: %q, how: %s}", f.Node, f.File, f.How)
}

// Selectors implements Fault.
func (f Damage) Selectors() []Selector { return []Selector{f.Node} }

// Start implements Fault.
func (f Damage) Start(t Target, c Context) (string, func(Target), error) {
	files := 0
	hit, err := each(t, c, f.Node, func(n string) bool {
		t.Kill(n)
		got := t.Damage(c.Index, n, f.File, f.How)
		files += got
		return true
	})
	if err == nil && files == 0 {
		err = fmt.Errorf("no file is %q", f.File)
	}
	return fmt.Sprintf("%s: %d files", strings.Join(hit, " "), files), restartAll(hit), err
}

// Wipe is a machine that comes back with an empty disk (D30).
type Wipe struct{ Node Selector }

func (f Wipe) Word() string          { return "wipe" }
func (f Wipe) String() string        { return "wipe: " + f.Node.String() }
func (f Wipe) Selectors() []Selector { return []Selector{f.Node} }

// Start implements Fault.
func (f Wipe) Start(t Target, c Context) (string, func(Target), error) {
	hit, err := each(t, c, f.Node, func(n string) bool { return t.PowerLoss(n) && t.Wipe(n) })
	return strings.Join(hit, " "), restartAll(hit), err
}

// LyingDisk reports syncs as done that make nothing durable (D15).
type LyingDisk struct {
	Node Selector
	File string // glob; "" = all
}

// Word implements Fault.
func (f LyingDisk) Word() string { return "lying_disk" }

func (f LyingDisk) String() string {
	if f.File == "" {
		return "lying_disk: {node: " + f.Node.String() + "}"
	}
	return fmt.Sprintf("lying_disk: {node: %s, file: %q}", f.Node, f.File)
}

// Selectors implements Fault.
func (f LyingDisk) Selectors() []Selector { return []Selector{f.Node} }

// Start implements Fault.
func (f LyingDisk) Start(t Target, c Context) (string, func(Target), error) {
	return onDisks(t, c, f.Node, func(n string) func() { return t.LieAboutSyncs(n, f.File) })
}
