package osfs

import (
	"errors"
	"io"
	"os"
	"syscall"

	"github.com/simkafka/simkafka/model/vfs"
)

// file is an open file.
type file struct {
	f    *os.File
	name string
	last int64 // size when it was closed
}

var _ vfs.File = (*file)(nil)

// Name implements vfs.File.
func (h *file) Name() string { return h.name }

// Size implements vfs.File; a closed handle tells the size that it had.
func (h *file) Size() int64 {
	size, err := h.size()
	if err != nil {
		return h.last
	}
	return size
}

func (h *file) size() (int64, error) {
	info, err := h.f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// ReadAt implements vfs.File.
func (h *file) ReadAt(pos int64, n int) ([]byte, error) {
	size, err := h.size()
	if err != nil {
		return nil, failure("read", h.name, err)
	}
	if pos < 0 || n < 0 {
		return nil, failure("read", h.name, syscall.EINVAL)
	}
	if left := size - pos; int64(n) > left {
		n = int(max(0, left)) // nothing is allocated for what is not there
	}
	if n == 0 {
		return nil, nil
	}
	b := make([]byte, n)
	n, err = h.f.ReadAt(b, pos)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return b[:n:n], failure("read", h.name, err)
}

// Append implements vfs.File.
func (h *file) Append(b []byte) error {
	size, err := h.size()
	if err == nil {
		_, err = h.f.WriteAt(b, size)
	}
	return failure("append", h.name, err)
}

// WriteAt implements vfs.File.
func (h *file) WriteAt(pos int64, b []byte) error {
	_, err := h.f.WriteAt(b, pos)
	return failure("write", h.name, err)
}

// Truncate implements vfs.File.
func (h *file) Truncate(size int64) error { return failure("truncate", h.name, h.f.Truncate(size)) }

// Sync implements vfs.File.
func (h *file) Sync() error { return failure("sync", h.name, h.f.Sync()) }

// Close implements vfs.File.
func (h *file) Close() error {
	h.last = h.Size()
	return failure("close", h.name, h.f.Close())
}
