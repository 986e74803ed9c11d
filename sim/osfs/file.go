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
	// node has the length of the file, which its handles share; nil where the system
	// cannot tell files apart or others may write to it.
	node   *node
	nodes  *nodes
	paths  *Paths
	mapped []byte
	last   int64 // size when it was closed
	closed bool
}

var (
	_ vfs.File   = (*file)(nil)
	_ vfs.Copier = (*file)(nil)
	_ vfs.Mapper = (*file)(nil)
)

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
	switch {
	case h.closed:
		return 0, os.ErrClosed
	case h.node != nil:
		return h.node.size.Load(), nil
	}
	info, err := h.f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// clip is how many of n bytes at pos the file has.
func (h *file) clip(pos int64, n int) (int, error) {
	size, err := h.size()
	switch {
	case err != nil:
		return 0, err
	case pos < 0 || n < 0:
		return 0, syscall.EINVAL
	}
	return int(max(0, min(int64(n), size-pos))), nil
}

// ReadAt implements vfs.File. Nothing is allocated for what is not there.
func (h *file) ReadAt(pos int64, n int) ([]byte, error) {
	n, err := h.clip(pos, n)
	if err != nil || n == 0 {
		return nil, failure("read", h.name, err)
	}
	b := make([]byte, n)
	n, err = h.read(pos, b)
	return b[:n:n], err
}

// ReadInto implements vfs.Copier.
func (h *file) ReadInto(pos int64, b []byte) (int, error) {
	n, err := h.clip(pos, len(b))
	if err != nil || n == 0 {
		return 0, failure("read", h.name, err)
	}
	return h.read(pos, b[:n])
}

func (h *file) read(pos int64, b []byte) (int, error) {
	n, err := h.f.ReadAt(b, pos)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	h.paths.Read.add(n)
	return n, failure("read", h.name, err)
}

// Append implements vfs.File.
func (h *file) Append(b []byte) error {
	size, err := h.size()
	if err == nil {
		err = h.write(size, b)
	}
	return failure("append", h.name, err)
}

// WriteAt implements vfs.File.
func (h *file) WriteAt(pos int64, b []byte) error {
	return failure("write", h.name, h.write(pos, b))
}

func (h *file) write(pos int64, b []byte) error {
	n, err := h.f.WriteAt(b, pos)
	if n > 0 && h.node != nil && pos+int64(n) > h.node.size.Load() {
		h.node.size.Store(pos + int64(n))
	}
	h.paths.Write.add(n)
	return err
}

// Truncate implements vfs.File.
func (h *file) Truncate(size int64) error {
	err := h.unmap()
	if err == nil {
		err = h.f.Truncate(size)
	}
	if err == nil && h.node != nil {
		h.node.size.Store(size)
	}
	return failure("truncate", h.name, err)
}

// Map implements vfs.Mapper.
func (h *file) Map() ([]byte, error) {
	err := h.unmap()
	size, sizeErr := h.size()
	if err = errors.Join(err, sizeErr); err != nil {
		return nil, failure("map", h.name, err)
	}
	if size == 0 {
		return nil, failure("map", h.name, syscall.EINVAL)
	}
	if h.mapped, err = mapFile(h.f, size); err != nil {
		return nil, failure("map", h.name, err)
	}
	h.paths.Mapped.add(int(size))
	return h.mapped, nil
}

func (h *file) unmap() error {
	if h.mapped == nil {
		return nil
	}
	m := h.mapped
	h.mapped = nil
	return unmapFile(m)
}

// Sync implements vfs.File. On Linux it covers what was stored through a mapping.
func (h *file) Sync() error { return failure("sync", h.name, h.f.Sync()) }

// Close implements vfs.File.
func (h *file) Close() error {
	if h.closed {
		return failure("close", h.name, os.ErrClosed)
	}
	h.last = h.Size()
	h.closed = true
	err := errors.Join(h.unmap(), h.f.Close())
	h.nodes.release(h.node)
	return failure("close", h.name, err)
}
