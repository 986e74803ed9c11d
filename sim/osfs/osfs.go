// Package osfs is model/vfs on the operating system: the partition log on real files.
// It stands where FileChannel stands under a broker.
//
// Reads are pread, into fresh memory (ReadAt), which makes the bytes that a reader holds
// immutable, or into the caller's (ReadInto). An append is a pwrite at the length that
// the file has, which the handles of one FS share: files may be changed by others only
// while no handle is open. Map makes a file memory, as a broker's indexes are. A Sender
// answers fetches over TCP, small ones with one write, large ones with sendfile.
//
// Paths tells which way the bytes really took. Linux has them all; other systems of the
// unix family map files and send with combined writes, and the rest also has no mappings.
// A store into a mapping whose file was cut, or whose disk is full, kills the
// process, as it kills a broker.
//
// Where directories cannot be synced (Windows), SyncDir does nothing. It mirrors no
// Kafka class; FileRecords.writeTo and AbstractIndex stand where Sender and Map do.
package osfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/vfs"
)

// FS is a directory of the operating system and what is below it. Copies share their
// state. Different files may be used by different goroutines.
type FS struct {
	root  string
	nodes *nodes // nil where others may write to the files
	paths *Paths
}

var _ vfs.FS = FS{}

// New is the file system below root, which must be a directory.
func New(root string) FS {
	return FS{root: root, nodes: &nodes{byID: make(map[fileID]*node)}, paths: &Paths{}}
}

// Paths counts what this file system and its senders have moved so far.
func (s FS) Paths() *Paths { return s.paths }

const (
	filePerm = 0o644
	dirPerm  = 0o755
)

var errIntoExisting = errors.New("a directory does not replace anything")

func (s FS) path(name string) string { return filepath.Join(s.root, filepath.FromSlash(name)) }

// Create implements vfs.FS.
func (s FS) Create(name string) (vfs.File, error) {
	return s.open("create", name, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
}

// Open implements vfs.FS.
func (s FS) Open(name string) (vfs.File, error) { return s.open("open", name, os.O_RDWR) }

func (s FS) open(verb, name string, flags int) (vfs.File, error) {
	f, err := os.OpenFile(s.path(name), flags, filePerm)
	if err != nil {
		return nil, failure(verb, name, err)
	}
	n, err := s.nodes.of(f)
	if err != nil {
		return nil, errors.Join(failure(verb, name, err), f.Close())
	}
	return &file{f: f, name: name, node: n, nodes: s.nodes, paths: s.paths}, nil
}

// Remove implements vfs.FS.
func (s FS) Remove(name string) error { return failure("remove", name, os.Remove(s.path(name))) }

// Rename implements vfs.FS.
func (s FS) Rename(old, new string) error {
	info, err := os.Lstat(s.path(old))
	if err != nil {
		return failure("rename", old, err)
	}
	if info.IsDir() && old != new {
		// The system would replace an empty directory.
		if _, err := os.Lstat(s.path(new)); err == nil {
			return fmt.Errorf("rename %s: %w: %w", new, vfs.ErrExist, errIntoExisting)
		}
	}
	return failure("rename", old, os.Rename(s.path(old), s.path(new)))
}

// MkdirAll implements vfs.FS.
func (s FS) MkdirAll(name string) error {
	return failure("mkdir", name, os.MkdirAll(s.path(name), dirPerm))
}

// List implements vfs.FS.
func (s FS) List(dir string) ([]string, error) {
	entries, err := os.ReadDir(s.path(dir)) // sorted
	if err != nil {
		return nil, failure("list", dir, err)
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, nil
}

// Stat implements vfs.FS.
func (s FS) Stat(name string) (vfs.Info, error) {
	info, err := os.Stat(s.path(name))
	switch {
	case err != nil:
		return vfs.Info{}, failure("stat", name, err)
	case info.IsDir():
		return vfs.Info{IsDir: true, ModTime: modTime(info)}, nil
	}
	return vfs.Info{Size: info.Size(), ModTime: modTime(info)}, nil
}

// SetModTime implements vfs.ModTimer.
func (s FS) SetModTime(name string, t kafka.TimestampMs) error {
	at := time.UnixMilli(int64(t))
	if err := os.Chtimes(s.path(name), at, at); err != nil {
		return failure("set time of", name, err)
	}
	return nil
}

func modTime(info fs.FileInfo) kafka.TimestampMs {
	return kafka.TimestampMs(info.ModTime().UnixMilli())
}

// SyncDir implements vfs.FS.
func (s FS) SyncDir(dir string) error {
	if runtime.GOOS == "windows" {
		_, err := s.List(dir)
		return err
	}
	d, err := os.Open(s.path(dir))
	if err != nil {
		return failure("syncdir", dir, err)
	}
	err = d.Sync()
	if info, statErr := d.Stat(); statErr == nil && !info.IsDir() {
		err = syscall.ENOTDIR
	}
	if closeErr := d.Close(); err == nil {
		err = closeErr
	}
	return failure("syncdir", dir, err)
}

// failure wraps an error of the operating system in the sentinel that it stands for.
func failure(verb, name string, err error) error {
	if err == nil {
		return nil
	}
	for _, s := range [...]struct{ system, ours error }{
		{syscall.ENOTEMPTY, vfs.ErrNotEmpty}, // before ErrExist, which os finds in it
		{fs.ErrNotExist, vfs.ErrNotExist},
		{fs.ErrExist, vfs.ErrExist},
		{fs.ErrClosed, vfs.ErrClosed},
		{syscall.EISDIR, vfs.ErrIsDir},
		{syscall.ENOSPC, vfs.ErrNoSpace},
		{syscall.EDQUOT, vfs.ErrNoSpace},
		{syscall.EIO, vfs.ErrIO},
	} {
		if errors.Is(err, s.system) {
			return fmt.Errorf("%s %s: %w: %w", verb, name, s.ours, err)
		}
	}
	return fmt.Errorf("%s %s: %w", verb, name, err)
}
