package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/simkafka/simkafka/model/outcome"
	"github.com/simkafka/simkafka/report"
	"github.com/simkafka/simkafka/scenarios"
)

// outDir is where a run's files go. They are written into a new directory beside
// it, which then takes its place: a reader never sees half a result.
type outDir struct{ path string }

// check refuses, before the run, to replace what is not an earlier result, and a place
// where nothing can be written.
func (d *outDir) check() error {
	entries, err := os.ReadDir(d.path)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && len(entries) == 0, err == nil && holdsResult(d.path):
		return d.writable()
	case err == nil:
		return usage("%s exists and holds no result of simkafka; it is left alone, choose another --out", d.path)
	}
	if info, statErr := os.Stat(d.path); statErr == nil && !info.IsDir() {
		return usage("%s is a file; --out names a directory", d.path)
	}
	return environment(err)
}

// writable tries the nearest folder above that there is, and leaves nothing behind.
func (d *outDir) writable() error {
	parent := filepath.Dir(d.path)
	for parent != filepath.Dir(parent) {
		if _, err := os.Stat(parent); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		parent = filepath.Dir(parent)
	}
	tmp, err := os.MkdirTemp(parent, ".simkafka-")
	if err == nil {
		err = os.Remove(tmp)
	}
	var path *fs.PathError
	if errors.As(err, &path) { // not the name that was tried
		return environment(fmt.Errorf("cannot write to %s: %w", d.path, path.Err))
	}
	return err
}

// holdsResult reports whether a directory is the output of an earlier run.
func holdsResult(dir string) bool {
	b, err := os.ReadFile(filepath.Join(dir, report.ResultFile))
	if err != nil {
		return false
	}
	var head struct {
		Schema string `json:"schema"`
	}
	return json.Unmarshal(b, &head) == nil && strings.HasPrefix(head.Schema, "simkafka.result/")
}

// write makes the files and puts them in place.
func (d *outDir) write(r *outcome.Result, s *scenarios.Spec, o report.DirOptions) error {
	return d.make(func(made string) error {
		if err := os.WriteFile(filepath.Join(made, report.ScenarioFile), []byte(s.YAML()), 0o666); err != nil {
			return err
		}
		return report.WriteDir(made, r, o)
	})
}

// make has a new directory filled and puts it in place.
func (d *outDir) make(fill func(dir string) error) (err error) {
	parent := filepath.Dir(d.path)
	if err := os.MkdirAll(parent, 0o777); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(parent, "."+filepath.Base(d.path)+".tmp-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	made := filepath.Join(tmp, "new")
	if err := os.Mkdir(made, 0o777); err != nil {
		return err
	}
	if err := fill(made); err != nil {
		return err
	}
	if err := d.check(); err != nil { // it may have appeared during the run
		return err
	}
	if err := os.Rename(d.path, filepath.Join(tmp, "old")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Rename(made, d.path)
}
