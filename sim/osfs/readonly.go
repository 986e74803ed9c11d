package osfs

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/simkafka/simkafka/model/vfs"
)

// ReadOnly is a directory of the operating system that is only looked at: files are
// opened for reading, and whatever would change something is refused.
type ReadOnly struct{ fs FS }

var _ vfs.FS = ReadOnly{}

// NewReadOnly is the file system below root, for reading.
func NewReadOnly(root string) ReadOnly { return ReadOnly{FS{root: root, paths: &Paths{}}} }

// ErrNotRegular is a pipe, a device or a socket, which ReadOnly does not open: reading
// it would change it, or wait for ever.
var ErrNotRegular = errors.New("not a regular file")

// Open implements vfs.FS. Writing to the file fails.
func (s ReadOnly) Open(name string) (vfs.File, error) {
	info, err := os.Stat(s.fs.path(name))
	switch {
	case err != nil:
		return nil, failure("open", name, err)
	case info.IsDir():
		return nil, fmt.Errorf("open %s: %w", name, vfs.ErrIsDir)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("open %s: %w", name, ErrNotRegular)
	}
	return s.fs.open("open", name, os.O_RDONLY)
}

// List implements vfs.FS.
func (s ReadOnly) List(dir string) ([]string, error) { return s.fs.List(dir) }

// Stat implements vfs.FS.
func (s ReadOnly) Stat(name string) (vfs.Info, error) { return s.fs.Stat(name) }

// Create implements vfs.FS: it is refused.
func (s ReadOnly) Create(name string) (vfs.File, error) {
	return nil, failure("create", name, syscall.EROFS)
}

// Remove implements vfs.FS: it is refused.
func (s ReadOnly) Remove(name string) error { return failure("remove", name, syscall.EROFS) }

// Rename implements vfs.FS: it is refused.
func (s ReadOnly) Rename(old, _ string) error { return failure("rename", old, syscall.EROFS) }

// MkdirAll implements vfs.FS: it is refused, also for what is there.
func (s ReadOnly) MkdirAll(name string) error { return failure("mkdir", name, syscall.EROFS) }

// SyncDir implements vfs.FS: it is refused.
func (s ReadOnly) SyncDir(dir string) error { return failure("syncdir", dir, syscall.EROFS) }
