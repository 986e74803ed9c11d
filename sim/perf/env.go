package perf

import (
	"runtime"
)

// environment describes the machine and the file system of dir.
func environment(dir string) Env {
	kernel, fs, load := describe(dir)
	return Env{
		OS: runtime.GOOS, Arch: runtime.GOARCH, Kernel: kernel, FileSystem: fs,
		CPUs: runtime.GOMAXPROCS(0), Go: runtime.Version(), Load: load,
	}
}
