package main

import (
	"os"
	"runtime/debug"
)

// Memory of a sweep. Its runs are short and leave nothing behind, so that the garbage
// collector may come later than it would: a tenth less CPU time for w1. Where
// scenarios are large, it comes more often above the bound.
const (
	garbagePercent = 400
	memoryPerJob   = 512 << 20 // bytes, a soft bound
)

// tuneMemory sets the garbage collector for a sweep and returns what undoes it. What
// the user has set stays.
func tuneMemory(jobs int) (undo func()) {
	percent, limit := debug.SetGCPercent(garbagePercent), debug.SetMemoryLimit(int64(jobs)*memoryPerJob)
	undo = func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	}
	if os.Getenv("GOGC") != "" {
		debug.SetGCPercent(percent)
	}
	if os.Getenv("GOMEMLIMIT") != "" {
		debug.SetMemoryLimit(limit)
	}
	return undo
}
