package faults

import (
	"fmt"
	"strings"
)

// SlowDisk multiplies the price of every disk call (D1, D2).
type SlowDisk struct {
	Node   Selector
	Factor int64 // whole times, at least 2
}

// Word implements Fault.
func (f SlowDisk) Word() string { return "slow_disk" }

func (f SlowDisk) String() string {
	return fmt.Sprintf("slow_disk: {node: %s, factor: %dx}", f.Node, f.Factor)
}

// Selectors implements Fault.
func (f SlowDisk) Selectors() []Selector { return []Selector{f.Node} }

// Start implements Fault.
func (f SlowDisk) Start(t Target, c Context) (string, func(Target), error) {
	return onDisks(t, c, f.Node, func(n string) func() { return t.SlowDisk(n, f.Factor, c.Until) })
}

// Stall blocks every disk call until the fault ends (D3).
type Stall struct{ Node Selector }

func (f Stall) Word() string          { return "stall_disk" }
func (f Stall) String() string        { return "stall_disk: " + f.Node.String() }
func (f Stall) Selectors() []Selector { return []Selector{f.Node} }

// Start implements Fault.
func (f Stall) Start(t Target, c Context) (string, func(Target), error) {
	return onDisks(t, c, f.Node, func(n string) func() { return t.StallDisk(n, c.Until) })
}

// DiskIO makes reads, writes or syncs fail with EIO (D16, D18, D19, D20).
type DiskIO struct {
	Node  Selector
	Error DiskError
}

// Word implements Fault.
func (f DiskIO) Word() string { return "disk_error" }

func (f DiskIO) String() string {
	s := fmt.Sprintf("disk_error: {node: %s, op: %s", f.Node, f.Error.Op)
	if f.Error.Match != "" {
		s += fmt.Sprintf(", file: %q", f.Error.Match)
	}
	if f.Error.Nth > 0 {
		s += fmt.Sprintf(", nth: %d", f.Error.Nth)
	}
	if f.Error.DropDirty {
		s += ", drop_dirty: true"
	}
	return s + "}"
}

// Selectors implements Fault.
func (f DiskIO) Selectors() []Selector { return []Selector{f.Node} }

// Start implements Fault.
func (f DiskIO) Start(t Target, c Context) (string, func(Target), error) {
	return onDisks(t, c, f.Node, func(n string) func() { return t.FailDisk(n, f.Error) })
}

// DiskFull fills the disk (D26, D27): writes that need space fail with ENOSPC.
type DiskFull struct{ Node Selector }

func (f DiskFull) Word() string          { return "disk_full" }
func (f DiskFull) String() string        { return "disk_full: " + f.Node.String() }
func (f DiskFull) Selectors() []Selector { return []Selector{f.Node} }

// Start implements Fault.
func (f DiskFull) Start(t Target, c Context) (string, func(Target), error) {
	return onDisks(t, c, f.Node, t.FillDisk)
}

func onDisks(t Target, c Context, s Selector, begin func(string) func()) (string, func(Target), error) {
	var lifts []func()
	hit, err := each(t, c, s, func(n string) bool {
		lifts = append(lifts, begin(n))
		return true
	})
	return strings.Join(hit, " "), liftAll(lifts), err
}
