//go:build unix

package main

import (
	"syscall"
	"time"
)

// cpuTime is what the process has had of the processors, in user and kernel.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
