package main

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/simkafka/simkafka/sim/perf"
)

// hardwareHead is how a profile that simkafka has written begins.
const hardwareHead = "apiVersion: simkafka/v1\nkind: hardware\n"

// hardwareFileIsFree refuses, before the measurement, to replace what is no profile.
func hardwareFileIsFree(name string) error {
	if name == "" {
		return nil
	}
	b, err := os.ReadFile(name)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && (len(b) == 0 || strings.HasPrefix(string(b), hardwareHead)):
		return nil
	case err == nil:
		return usage("%s exists and is no hardware profile; it is left alone, choose another --hardware-out", name)
	}
	if info, statErr := os.Stat(name); statErr == nil && info.IsDir() {
		return usage("%s is a directory; --hardware-out names a file", name)
	}
	return environment(err)
}

// hardwareOut measures the costs of the disk and writes them for scenarios.
func (a *app) hardwareOut(f *perfFlags, o perf.Options) error {
	line := a.newStatus(f.quiet)
	o.Progress = line.steps()
	h, err := perf.Hardware(o)
	line.clear()
	if err != nil {
		return perfError(err)
	}
	return environmentOf(os.WriteFile(f.hardware, []byte(h.YAML()), 0o666))
}
