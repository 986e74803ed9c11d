//go:build unix

package osfs

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/simkafka/simkafka/model/vfs"
)

// fileLock is a record lock on a whole file, as Java's FileChannel.tryLock takes one: a
// broker and simkafka see each other's.
type fileLock struct{ f *os.File }

// TryLock implements vfs.Locker. The lock belongs to the process: within it a second one
// is granted, and closing any other handle of the file gives it up.
func (s FS) TryLock(name string) (vfs.Lock, error) {
	f, err := os.OpenFile(s.path(name), os.O_RDWR, 0)
	if err != nil {
		return nil, failure("lock", name, err)
	}
	whole := syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart}
	err = syscall.FcntlFlock(f.Fd(), syscall.F_SETLK, &whole)
	if err == nil {
		return fileLock{f}, nil
	}
	_ = f.Close() // the error of the lock says more
	if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES) {
		return nil, nil
	}
	return nil, failure("lock", name, err)
}

// Unlock implements vfs.Lock.
func (l fileLock) Unlock() error {
	if err := l.f.Close(); err != nil {
		return fmt.Errorf("unlock %s: %w", l.f.Name(), err)
	}
	return nil
}
