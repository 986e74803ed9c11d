// Package vfs is the file interface under the partition log. The log runs
// unchanged on the simulated disk (sim/simdisk), on memory (vfstest) and on the
// operating system (sim/osfs).
//
// Calls are synchronous. On the simulated disk each is priced and may fail with
// an injected error or with ErrCrashed; callers pass errors up, wrapped.
//
// Ownership: bytes handed to Append and WriteAt are immutable from then on
// (the implementation may keep them without copying); bytes returned by ReadAt
// are immutable and stay valid for ever, whatever is written, truncated or
// removed later.
package vfs

import (
	"errors"

	"github.com/simkafka/simkafka/model/kafka"
)

// Sentinels; implementations wrap them with operation, file and position.
var (
	ErrNotExist = errors.New("file does not exist")
	ErrExist    = errors.New("file exists")
	ErrIsDir    = errors.New("is a directory")
	ErrNotEmpty = errors.New("directory not empty")
	// ErrIO is EIO.
	ErrIO = errors.New("input/output error")
	// ErrNoSpace is ENOSPC.
	ErrNoSpace = errors.New("no space left on device")
	// ErrClosed: the handle was closed.
	ErrClosed = errors.New("file already closed")
	// ErrCrashed: the process died at this call. A step that sees it returns it
	// at once; nothing that it does afterwards counts.
	ErrCrashed = errors.New("process crashed")
)

// FS is a tree of files. Names are slash-separated paths without a leading slash.
type FS interface {
	// Create makes or truncates a file and opens it for reading and writing. Its
	// directory must exist.
	Create(name string) (File, error)
	// Open opens an existing file for reading and writing; ErrNotExist if absent.
	Open(name string) (File, error)
	// Remove unlinks a file, or removes an empty directory. Open handles stay usable.
	Remove(name string) error
	// Rename moves a file or directory, replacing a file that stood at new. Open
	// handles follow.
	Rename(old, new string) error
	// MkdirAll makes a directory and its parents; no error if it exists.
	MkdirAll(name string) error
	// List returns the names (not paths) in a directory, sorted bytewise.
	List(dir string) ([]string, error)
	// Stat describes a file or directory; ErrNotExist if absent.
	Stat(name string) (Info, error)
	// SyncDir makes the directory's entries (creations, renames, removals) durable.
	SyncDir(dir string) error
}

// File is an open file.
type File interface {
	// Name is the path under which it was opened; a later Rename does not change it.
	Name() string
	// Size in bytes.
	Size() int64
	// ReadAt returns up to n bytes at pos. Fewer than n are returned only at the
	// end of the file; at or past it the result is empty and the error nil.
	ReadAt(pos int64, n int) ([]byte, error)
	// Append writes b at the end. On error a prefix of b may have been written;
	// Size tells.
	Append(b []byte) error
	// WriteAt writes b at pos, which may lie past the end (the gap reads as zeros).
	WriteAt(pos int64, b []byte) error
	// Truncate cuts, or extends with zeros (sparse), to size.
	Truncate(size int64) error
	// Sync makes content and size durable (not the directory entry).
	Sync() error
	Close() error
}

// ModTimer is a file system that lets the time of a file's content be set.
type ModTimer interface {
	// SetModTime sets what Stat tells as ModTime; ErrNotExist if absent.
	SetModTime(name string, t kafka.TimestampMs) error
}

// Locker is a file system that several processes may use at once. The simulated one
// has one process and is none.
type Locker interface {
	// TryLock locks an existing file exclusively, without waiting. The lock is nil if
	// another process holds it. It ends with the process at the latest.
	TryLock(name string) (Lock, error)
}

// Lock is a file that is locked.
type Lock interface {
	Unlock() error
}

// Copier is a File that shares no memory with its callers, as those of an operating
// system are: what Append and WriteAt take is copied before they return, so that the
// caller may write over it, and reads may go into the caller's memory.
type Copier interface {
	File
	// ReadInto reads up to len(b) bytes at pos into b. Fewer are read only at the end
	// of the file; at or past it n is 0 and the error nil.
	ReadInto(pos int64, b []byte) (n int, err error)
}

// Lender is a File that tells reads which go to the network without a copy (sendfile)
// from those into the process: where time is simulated they have another price.
type Lender interface {
	File
	// ReadToSend is ReadAt of bytes that are only sent.
	ReadToSend(pos int64, n int) ([]byte, error)
}

// Mapper is a File that can be seen as memory.
type Mapper interface {
	File
	// Map returns the content as memory: a store into it is a write to the file, and a
	// write of the file is seen in it. It ends with the next Map, Truncate or Close of
	// the handle, after which it must not be touched. The error is not nil for an
	// empty file and where the system cannot map files.
	Map() ([]byte, error)
}

// Info describes a file.
type Info struct {
	Size    int64
	IsDir   bool
	ModTime kafka.TimestampMs // of content, node's wall clock
}

// Exists reports whether name is there. Errors other than ErrNotExist are returned.
func Exists(fs FS, name string) (bool, error) {
	_, err := fs.Stat(name)
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, ErrNotExist):
		return false, nil
	}
	return false, err
}
