//go:build unix

package perf

import (
	"syscall"
	"time"
)

// processCPU is the time that all threads of the process have had, in user and kernel.
func processCPU() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
