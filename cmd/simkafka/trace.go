package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/simkafka/simkafka/report"
	"github.com/simkafka/simkafka/sim/cluster"
	"github.com/simkafka/simkafka/sim/kernel"
)

// traceOutput is the text trace of a run; nil is none. A file is written under
// another name beside its place and renamed at the end.
type traceOutput struct {
	*report.Trace
	steps bool
	file  *os.File
	path  string // "" = file stays under its own name
}

func (r *runner) openTrace(j *job) (*traceOutput, error) {
	name := r.flags.trace
	switch name {
	case "":
		return nil, nil
	case "-":
		return &traceOutput{Trace: report.NewTrace(r.stdout), steps: r.flags.traceSteps}, nil
	}
	if j.out != nil && within(j.out.path, name) {
		return nil, usage("--trace %s is inside %s, which the run replaces; choose another place", name, j.out.path)
	}
	t := &traceOutput{steps: r.flags.traceSteps}
	var err error
	if info, statErr := os.Stat(name); statErr == nil && !info.Mode().IsRegular() {
		t.file, err = os.OpenFile(name, os.O_WRONLY, 0) // a pipe or a device
	} else {
		t.path = name
		t.file, err = os.Create(partial(name))
	}
	if path := (*fs.PathError)(nil); errors.As(err, &path) { // not the partial file's name
		return nil, environment(fmt.Errorf("cannot write --trace %s: %w", name, path.Err))
	}
	t.Trace = report.NewTrace(t.file)
	return t, nil
}

func partial(name string) string {
	return filepath.Join(filepath.Dir(name), "."+filepath.Base(name)+".partial")
}

func within(dir, name string) bool {
	a, errA := filepath.Abs(dir)
	b, errB := filepath.Abs(name)
	if errA != nil || errB != nil {
		return false
	}
	rel, err := filepath.Rel(a, b)
	return err == nil && filepath.IsLocal(rel)
}

func (t *traceOutput) attach(o *cluster.Options) {
	if t == nil {
		return
	}
	o.Observer = t.Trace
	if t.steps {
		o.Recorder = t.Trace
	}
}

func (t *traceOutput) name(f func(kernel.ActorID) string) {
	if t != nil {
		t.Name = f
	}
}

// close puts the file in place.
func (t *traceOutput) close() error {
	if t == nil {
		return nil
	}
	err := t.Flush()
	if t.file != nil {
		err = errors.Join(err, t.file.Close())
	}
	if err == nil && t.path != "" {
		err = os.Rename(partial(t.path), t.path)
	}
	if err != nil {
		return environment(err)
	}
	return nil
}
