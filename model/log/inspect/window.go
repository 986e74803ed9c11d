package inspect

import (
	"fmt"

	"github.com/simkafka/simkafka/model/vfs"
)

// windowSize in bytes is what a file is read in.
const windowSize = 256 << 10

// window reads a file front to back, up to the length that it has when it is opened.
type window struct {
	f    vfs.File
	size int64
	pos  int64 // of buf
	buf  []byte
}

func openWindow(fs vfs.FS, path string) (*window, error) {
	f, err := fs.Open(path)
	if err != nil {
		return nil, fmt.Errorf("inspect: %w", err)
	}
	return &window{f: f, size: f.Size()}, nil
}

func (w *window) close() error { return w.f.Close() }

// at is the n bytes at pos, fewer at the end of the file. It reads a window at
// once; n above that is read alone and not kept.
func (w *window) at(pos int64, n int) ([]byte, error) {
	n = int(max(0, min(int64(n), w.size-pos)))
	if i := pos - w.pos; i >= 0 && i+int64(n) <= int64(len(w.buf)) {
		return w.buf[i : i+int64(n)], nil
	}
	want := n
	if n <= windowSize {
		want = int(min(windowSize, w.size-pos))
	}
	b, err := w.f.ReadAt(pos, want)
	if err != nil {
		return nil, fmt.Errorf("inspect: %w", err)
	}
	if n <= windowSize {
		w.pos, w.buf = pos, b
	}
	return b[:min(n, len(b))], nil
}

// zerosFrom tells that the file has nothing but zeros from pos on; else end is where the
// first other byte is.
func (w *window) zerosFrom(pos int64) (zeros bool, end int64, err error) {
	for pos < w.size {
		b, err := w.at(pos, windowSize)
		if err != nil || len(b) == 0 {
			return err == nil, pos, err
		}
		for i, c := range b {
			if c != 0 {
				return false, pos + int64(i), nil
			}
		}
		pos += int64(len(b))
	}
	return true, pos, nil
}

func join(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}

// readText is the whole content of a small file; ok is false above maxText.
func readText(fs vfs.FS, path string) (b []byte, ok bool, err error) {
	f, err := fs.Open(path)
	if err != nil {
		return nil, false, fmt.Errorf("inspect: %w", err)
	}
	size := f.Size()
	if ok = size <= maxText; ok {
		b, err = f.ReadAt(0, int(size))
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return nil, false, fmt.Errorf("inspect: %w", err)
	}
	return b, ok, nil
}

// maxText in bytes bounds checkpoints and the like: a line for each of 200,000 partitions
// with long names.
const maxText = 32 << 20
