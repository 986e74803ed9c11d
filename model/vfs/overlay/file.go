package overlay

import (
	"cmp"
	"errors"
	"slices"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/vfs"
)

const pageSize = 4096

var errNegative = errors.New("negative position or size")

// node is a file. A byte is that of its page, else of the file below as far as that is
// visible, else zero.
type node struct {
	fs      *FS
	below   string // path in the base; "" for a file made here
	visible int64  // bytes of the file below that still show
	size    int64
	shrunk  bool
	pages   []page // sorted by number
	modTime kafka.TimestampMs

	file    vfs.File // below, while handles are open
	handles int
}

type page struct {
	number int64
	data   []byte // pageSize
}

func (n *node) open(name string) *handle {
	n.handles++
	return &handle{node: n, name: name}
}

func (n *node) findPage(number int64) (int, bool) {
	if k := len(n.pages); k == 0 || n.pages[k-1].number < number {
		return k, false
	}
	return slices.BinarySearchFunc(n.pages, number, func(p page, number int64) int { return cmp.Compare(p.number, number) })
}

// readBelow is the part of the file below in [pos, pos+size) that shows.
func (n *node) readBelow(pos, size int64) ([]byte, error) {
	size = min(size, n.visible-pos)
	if size <= 0 {
		return nil, nil
	}
	if n.file == nil {
		f, err := n.fs.base.Open(n.below)
		if err != nil {
			return nil, err
		}
		n.file = f
	}
	return n.file.ReadAt(pos, int(size))
}

func (n *node) read(pos int64, want int) ([]byte, error) {
	size := min(int64(want), n.size-pos)
	if size <= 0 {
		return nil, nil
	}
	b, err := n.readBelow(pos, size)
	if err != nil {
		return nil, err
	}
	first, _ := n.findPage(pos / pageSize)
	paged := first < len(n.pages) && n.pages[first].number*pageSize < pos+size
	if int64(len(b)) == size && !paged {
		return b, nil
	}
	out := make([]byte, size)
	copy(out, b)
	for _, p := range n.pages[first:] {
		at := p.number*pageSize - pos
		if at >= size {
			break
		}
		if at >= 0 {
			copy(out[at:], p.data)
		} else {
			copy(out, p.data[-at:])
		}
	}
	return out, nil
}

func (n *node) write(pos int64, b []byte) error {
	for len(b) > 0 {
		number, at := pos/pageSize, int(pos%pageSize)
		p, err := n.pageAt(number)
		if err != nil {
			return err
		}
		k := copy(p[at:], b)
		pos, b = pos+int64(k), b[k:]
		n.size = max(n.size, pos)
	}
	return nil
}

// pageAt is the page for writing, filled with what showed there.
func (n *node) pageAt(number int64) ([]byte, error) {
	i, found := n.findPage(number)
	if found {
		return n.pages[i].data, nil
	}
	if n.fs.used+pageSize > n.fs.limit {
		return nil, vfs.ErrNoSpace
	}
	b, err := n.readBelow(number*pageSize, pageSize)
	if err != nil {
		return nil, err
	}
	data := make([]byte, pageSize)
	copy(data, b)
	n.fs.used += pageSize
	n.pages = slices.Insert(n.pages, i, page{number, data})
	return data, nil
}

func (n *node) truncate(size int64) {
	if size < n.size {
		n.shrunk = true
		keep, _ := n.findPage((size + pageSize - 1) / pageSize)
		n.fs.used -= int64(len(n.pages)-keep) * pageSize
		clear(n.pages[keep:])
		n.pages = n.pages[:keep]
		if i, found := n.findPage(size / pageSize); found {
			clear(n.pages[i].data[size%pageSize:])
		}
		n.visible = min(n.visible, size)
	}
	n.size = size
}

// handle is an open file.
type handle struct {
	node   *node
	name   string
	closed bool
}

var _ vfs.File = (*handle)(nil)

func (h *handle) check(verb string, pos int64) error {
	switch {
	case h.closed:
		return failure(verb, h.name, vfs.ErrClosed)
	case pos < 0:
		return failure(verb, h.name, errNegative)
	}
	return nil
}

// Name implements vfs.File.
func (h *handle) Name() string { return h.name }

// Size implements vfs.File.
func (h *handle) Size() int64 { return h.node.size }

// ReadAt implements vfs.File.
func (h *handle) ReadAt(pos int64, n int) ([]byte, error) {
	if err := h.check("read", min(pos, int64(n))); err != nil {
		return nil, err
	}
	return h.node.read(pos, n)
}

// Append implements vfs.File.
func (h *handle) Append(b []byte) error { return h.write("append", h.node.size, b) }

// WriteAt implements vfs.File.
func (h *handle) WriteAt(pos int64, b []byte) error { return h.write("write", pos, b) }

func (h *handle) write(verb string, pos int64, b []byte) error {
	if err := h.check(verb, pos); err != nil || len(b) == 0 {
		return err
	}
	h.node.fs.touch(h.node)
	if err := h.node.write(pos, b); err != nil {
		return failure(verb, h.name, err)
	}
	return nil
}

// Truncate implements vfs.File.
func (h *handle) Truncate(size int64) error {
	if err := h.check("truncate", size); err != nil {
		return err
	}
	h.node.truncate(size)
	h.node.fs.touch(h.node)
	return nil
}

// Sync implements vfs.File.
func (h *handle) Sync() error { return h.check("sync", 0) }

// Close implements vfs.File.
func (h *handle) Close() error {
	if err := h.check("close", 0); err != nil {
		return err
	}
	h.closed = true
	n := h.node
	if n.handles--; n.handles > 0 || n.file == nil {
		return nil
	}
	f := n.file
	n.file = nil
	return f.Close()
}
