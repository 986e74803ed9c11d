package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/simkafka/simkafka/report"
	"github.com/simkafka/simkafka/sim/shrink"
	"github.com/simkafka/simkafka/sim/sweep"
)

// What a sweep leaves in its directory, beside the shards' files.
const (
	mergedFile  = "sweep.jsonl" // of the whole sweep, as merge writes it
	failuresDir = "failures"    // a directory k123 for each kept failure
)

// open makes the file of the sweep, or takes it up again.
func (s *sweeper) open() (file *sweep.File, name string, err error) {
	s.dir = s.flags.out
	if s.dir == "" {
		s.dir = filepath.Join("out", s.outName())
	}
	name = filepath.Join(s.dir, s.plan.Shard.File())
	switch s.flags.resume {
	case "":
		if err := s.replaceable(name); err != nil {
			return nil, "", err
		}
	case resumeAuto:
		file, err = s.takeUp(name)
		if err == nil || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, sweep.ErrEmpty) {
			return file, name, resumed(err)
		}
	default:
		name = s.flags.resume
		s.dir = filepath.Dir(name)
		file, err = s.takeUp(name)
		return file, name, resumed(err)
	}
	if err := os.MkdirAll(s.dir, 0o777); err != nil {
		return nil, "", environment(err)
	}
	if err := creatable("--junit", s.flags.junit); err != nil {
		return nil, "", err
	}
	if err := errors.Join(s.clearMerged(), s.clear(func(string) bool { return true })); err != nil {
		return nil, "", environment(err)
	}
	if file, err = sweep.Create(name, &s.plan); err != nil {
		return nil, "", environment(err)
	}
	return file, name, nil
}

// takeUp opens the file of a sweep that goes on, and removes what it was writing when it was killed.
func (s *sweeper) takeUp(name string) (*sweep.File, error) {
	if _, err := os.Stat(name); err != nil {
		return nil, err
	}
	if err := creatable("--junit", s.flags.junit); err != nil {
		return nil, err
	}
	file, err := sweep.Resume(name, &s.plan)
	if err != nil {
		return nil, err
	}
	return file, s.clear(func(d string) bool { return strings.HasPrefix(d, ".") })
}

// outName names what a sweep leaves: by its scenario or generator, its root seed but for 1,
// and what the other flags change, so that sweeps of one scenario do not replace each other.
func (s *sweeper) outName() string {
	name := "sweep-" + s.plan.Source.Name()
	if s.plan.Root != defaultRoot {
		name += fmt.Sprintf("-root-%d", s.plan.Root)
	}
	return name + s.variant()
}

// resumed is the error of a file that cannot be taken up: nearly always it is another
// sweep's, which is the user's mistake.
func resumed(err error) error {
	var path *fs.PathError
	var known *codeError
	switch {
	case err == nil, errors.As(err, &known):
		return err
	case errors.As(err, &path):
		return environment(err)
	}
	return usage("--resume: %w", err)
}

// replaceable refuses to begin anew over a sweep that has not ended.
func (s *sweeper) replaceable(name string) error {
	old, err := sweep.ReadFile(name)
	var path *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, sweep.ErrEmpty):
		return nil
	case errors.As(err, &path):
		return environment(err)
	case err != nil:
		return usage("%w; it is left alone, choose another --out", err)
	case old.Footer == nil || old.Footer.State == sweep.Interrupted || old.Footer.State == sweep.OutOfTime:
		return usage("%s holds %d seeds of a sweep that has not ended; go on with --resume auto, choose another --out, or remove it",
			relative(name), len(old.Lines))
	}
	return nil
}

// clearMerged removes what an earlier sweep that was no shard has left.
func (s *sweeper) clearMerged() (err error) {
	if s.plan.Shard != sweep.Whole() {
		return nil
	}
	for _, f := range []string{mergedFile, report.SummaryFile} {
		if e := os.Remove(filepath.Join(s.dir, f)); !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	return err
}

// clear removes the failures of the same shard that an earlier sweep has left, and what it
// had not finished of them (see outDir.make), if they have names that are meant.
func (s *sweeper) clear(meant func(name string) bool) error {
	dirs, err := os.ReadDir(filepath.Join(s.dir, failuresDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, d := range dirs {
		name, _, unfinished := strings.Cut(d.Name(), ".tmp-")
		k, e := strconv.ParseUint(strings.TrimPrefix(strings.TrimPrefix(name, "."), "k"), 10, 64)
		dir := filepath.Join(s.dir, failuresDir, d.Name())
		if e == nil && s.plan.Shard.Owns(k) && meant(d.Name()) && (unfinished || holdsFailure(dir)) {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}
	return err
}

func (s *sweeper) failureDir(k uint64) string {
	return filepath.Join(s.dir, failuresDir, fmt.Sprint("k", k))
}

// holdsFailure reports whether a directory is what an earlier sweep kept.
func holdsFailure(dir string) bool {
	b, err := os.ReadFile(filepath.Join(dir, report.ReplayFile))
	return err == nil && strings.HasPrefix(string(b), "simkafka run ")
}

// keep runs a failure once more, with a trace, and leaves a directory that says all
// about it. One that is there already, from before the sweep was resumed, stays.
func (s *sweeper) keep(f *sweep.Failure) error {
	dir := s.failureDir(f.K)
	if s.failed == nil {
		s.failed = make(map[uint64]string)
	}
	s.failed[f.K] = filepath.ToSlash(relative(dir))
	if holdsFailure(dir) {
		return nil
	}
	out := &outDir{path: dir}
	return out.make(func(made string) error {
		return report.WriteFailure(made, f, report.FailureOptions{Shrink: s.shrinking(f)})
	})
}

// shrinking is how a kept failure is shrunk: the first one of each signature, for as long
// as --shrink says; nil is not at all.
func (s *sweeper) shrinking(f *sweep.Failure) *shrink.Options {
	if s.flags.shrink == "" || slices.Contains(s.shrunk, f.Signature) {
		return nil
	}
	s.shrunk = append(s.shrunk, f.Signature)
	deadline := time.Now().Add(s.perShrink)
	return &shrink.Options{Stop: func() bool { return s.stop.requested() || time.Now().After(deadline) }}
}

// writeMerged writes a merged sweep, its summary and its charts into a directory.
func writeMerged(dir string, m, baseline *sweep.Merged) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	chart := report.SaturationChart(m)
	return errors.Join(
		writeTo(filepath.Join(dir, chart.Name+".svg"), chart.WriteSVG),
		writeTo(filepath.Join(dir, chart.Name+".png"), chart.WritePNG),
		writeTo(filepath.Join(dir, report.SummaryFile), func(w io.Writer) error {
			return report.WriteSweep(w, m, report.SweepOptions{Style: report.Style{Width: 100}, Baseline: baseline})
		}),
		writeTo(filepath.Join(dir, mergedFile), m.Write))
}

// creatable refuses, before the work is done, a place where the file of a flag cannot be.
func creatable(flag, name string) error {
	if info, err := os.Stat(name); name == "" || err == nil && !info.IsDir() && !info.Mode().IsRegular() {
		return nil // a pipe or a device
	} else if err == nil && info.IsDir() {
		return usage("%s %s is a directory", flag, name)
	}
	f, err := os.Create(partial(name))
	if path := (*fs.PathError)(nil); errors.As(err, &path) { // not the partial file's name
		return environment(fmt.Errorf("cannot write %s %s: %w", flag, name, path.Err))
	}
	if err := errors.Join(f.Close(), os.Remove(partial(name))); err != nil {
		return environment(err)
	}
	return nil
}

// writeTo writes a file beside its place and puts it there when it is whole.
func writeTo(name string, write func(io.Writer) error) (err error) {
	if info, e := os.Stat(name); e == nil && !info.Mode().IsRegular() {
		f, err := os.OpenFile(name, os.O_WRONLY, 0) // a pipe or a device
		if err != nil {
			return err
		}
		return errors.Join(write(f), f.Close())
	}
	f, err := os.Create(partial(name))
	if err != nil {
		return err
	}
	if err := errors.Join(write(f), f.Close()); err != nil {
		return errors.Join(err, os.Remove(partial(name)))
	}
	return os.Rename(partial(name), name)
}
