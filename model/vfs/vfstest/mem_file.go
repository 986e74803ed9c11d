package vfstest

import (
	"errors"
	"slices"

	"github.com/simkafka/simkafka/model/vfs"
)

var errNegative = errors.New("negative position or size")

type memHandle struct {
	fs     *Mem
	file   *memFile
	name   string
	closed bool
}

func (h *memHandle) check(verb string, pos int64) error {
	switch {
	case h.closed:
		return fail(verb, h.name, vfs.ErrClosed)
	case pos < 0:
		return fail(verb, h.name, errNegative)
	}
	return nil
}

func (h *memHandle) Name() string { return h.name }
func (h *memHandle) Size() int64  { return h.file.size }

func (h *memHandle) ReadAt(pos int64, n int) ([]byte, error) {
	if err := h.check("read", min(pos, int64(n))); err != nil {
		return nil, err
	}
	f := h.file
	end := min(pos+int64(n), f.size)
	if pos >= end {
		return nil, nil
	}
	if end <= int64(len(f.data)) {
		return f.data[pos:end:end], nil
	}
	b := make([]byte, end-pos)
	if pos < int64(len(f.data)) {
		copy(b, f.data[pos:])
	}
	return b, nil
}

func (h *memHandle) Append(b []byte) error { return h.write("append", h.file.size, b) }

func (h *memHandle) WriteAt(pos int64, b []byte) error { return h.write("write", pos, b) }

// write never changes bytes that a reader may hold: it appends beyond the data,
// or replaces all of it.
func (h *memHandle) write(verb string, pos int64, b []byte) error {
	if err := h.check(verb, pos); err != nil || len(b) == 0 {
		return err
	}
	f := h.file
	if gap := pos - int64(len(f.data)); gap >= 0 {
		f.data = append(append(f.data, make([]byte, gap)...), b...)
	} else {
		end := pos + int64(len(b))
		data := make([]byte, max(int64(len(f.data)), end))
		copy(data, f.data)
		copy(data[pos:], b)
		f.data = data
	}
	f.size = max(f.size, int64(len(f.data)))
	h.fs.touch(f)
	return nil
}

func (h *memHandle) Truncate(size int64) error {
	if err := h.check("truncate", size); err != nil {
		return err
	}
	f := h.file
	if size < int64(len(f.data)) {
		f.data = slices.Clip(f.data[:size])
	}
	f.size = size
	h.fs.touch(f)
	return nil
}

func (h *memHandle) Sync() error { return h.check("sync", 0) }

func (h *memHandle) Close() error {
	if err := h.check("close", 0); err != nil {
		return err
	}
	h.closed = true
	return nil
}
