package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/simkafka/simkafka/model/log/inspect"
	"github.com/simkafka/simkafka/model/vfs"
	"github.com/simkafka/simkafka/sim/osfs"
)

func newLog(a *app) *cobra.Command {
	cmd := group(&cobra.Command{
		Use:   "log",
		Short: "Look at the files of a real broker",
		Long: `Looks at what a real broker has left in its log.dirs: a data directory, the
directory of one partition, or a file. Nothing is ever written there. Stop the
broker first, or its newest batches may look torn.

Exit codes: 0 nothing is wrong, 1 problems were found, 2 usage, 5 environment
(a file cannot be read).`,
	})
	cmd.AddCommand(newLogDump(a), newLogVerify(a), newLogRecover(a))
	return cmd
}

// place is what the user pointed at.
type place struct {
	fs        inspect.Meter
	meter     *meter
	path      string // in fs
	partition bool   // a directory of one partition
	dir       bool
}

// findPlace opens the file system around a path, for reading. For a partition it begins
// at the data directory around it.
func (a *app) findPlace(arg string, quiet bool) (*place, error) {
	info, err := os.Stat(arg)
	if err != nil {
		return nil, environment(err)
	}
	abs, err := filepath.Abs(arg)
	if err != nil {
		return nil, environment(err)
	}
	p := &place{dir: info.IsDir(), meter: a.newMeter(quiet)}
	root := abs
	if p.dir {
		if p.partition, err = inspect.IsPartition(osfs.NewReadOnly(abs), ""); err != nil {
			return nil, environmentOf(err)
		}
	}
	if !p.dir || p.partition {
		root, p.path = filepath.Dir(abs), filepath.Base(abs)
	}
	files := osfs.NewReadOnly(root)
	p.fs = inspect.Meter{FS: files, Read: p.meter.add}
	if p.meter.every > 0 && p.dir {
		if p.meter.total, err = inspect.Total(files, p.path); err != nil {
			return nil, environmentOf(err)
		}
	}
	return p, nil
}

// dirOnly refuses a file.
func (a *app) findDir(arg string, quiet bool) (*place, error) {
	p, err := a.findPlace(arg, quiet)
	switch {
	case err != nil:
		return nil, err
	case !p.dir:
		return nil, usage("%s is a file; name a data directory or a partition's", arg)
	case p.partition:
		return p, nil
	}
	return p, p.isOneDataDir(arg)
}

// isOneDataDir refuses a directory of data directories, as a broker with several log.dirs
// may have them, and names those.
func (p *place) isOneDataDir(arg string) error {
	is, err := inspect.IsDataDir(p.fs.FS, p.path)
	if err != nil || is {
		return environmentOf(err)
	}
	dirs, err := inspect.DataDirs(p.fs.FS, p.path)
	if err != nil || len(dirs) == 0 {
		return environmentOf(err)
	}
	for i := range dirs {
		dirs[i] = filepath.Join(arg, dirs[i])
	}
	return usage("%s is no data directory, but has some; name one: %s", arg, list(dirs))
}

// environmentOf is environment for an error of vfs; one that tells of a missing file
// after the start is the machine's, or a living broker's.
func environmentOf(err error) error {
	if err == nil {
		return nil
	}
	var known *codeError
	if errors.As(err, &known) {
		return err
	}
	if errors.Is(err, vfs.ErrNotExist) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.EACCES) {
		return &codeError{exitEnvironment, err}
	}
	return environment(err)
}
