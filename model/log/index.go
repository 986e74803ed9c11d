package log

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/vfs"
)

// place is where a log lives and how it is configured; its segments use it.
type place struct {
	fs  vfs.FS
	dir string
	cfg *Config
}

// entryTable is a run of entries of fixed width in file order.
type entryTable []byte

// column is a big-endian number inside an entry.
type column struct {
	width int32 // of an entry
	at    int32 // position in the entry
	wide  bool  // 8 bytes, else 4
}

func (t entryTable) key(i int, c column) int64 {
	at := i*int(c.width) + int(c.at)
	if c.wide {
		return int64(binary.BigEndian.Uint64(t[at:]))
	}
	return int64(int32(binary.BigEndian.Uint32(t[at:])))
}

// warmBytes is the tail of an index that lookups near the end stay in, so that
// they touch no cold page (KAFKA-6432).
const warmBytes = 8192

// floor is the index of the entry with the largest key <= target, -1 if there is
// none; of equal keys any. Keys do not decrease (storage 3.3).
func (t entryTable) floor(target int64, c column) int {
	n := len(t) / int(c.width)
	if n == 0 {
		return -1
	}
	firstHot := max(0, n-1-warmBytes/int(c.width))
	if t.key(firstHot, c) < target {
		return t.floorBetween(firstHot, n-1, target, c)
	}
	if t.key(0, c) > target {
		return -1
	}
	return t.floorBetween(0, firstHot, target, c)
}

// floorBetween searches lo to hi, both inclusive; the entry at lo is <= target.
func (t entryTable) floorBetween(lo, hi int, target int64, c column) int {
	for lo < hi {
		mid := int(uint(lo+hi+1) >> 1)
		switch k := t.key(mid, c); {
		case k > target:
			hi = mid - 1
		case k < target:
			lo = mid
		default:
			return mid
		}
	}
	return lo
}

// indexFile is what the two indexes share (AbstractIndex): the entries in use
// and the file that holds them. Where the file can be mapped the entries are its own
// memory, as in a broker. Elsewhere they are what was written: that is never written
// over, since vfs owns it too, so a cut also caps the slice.
type indexFile struct {
	entries entryTable
	file    vfs.File // nil until opened
	loaded  bool     // entries are known
	// mapped: entries are the beginning of the mapped file, which their capacity ends.
	mapped bool
}

// maxBytes is the length of the file while its segment is active.
func maxBytes(cfg *Config, width int32) int64 {
	return int64(cfg.SegmentIndexBytes / width * width)
}

// open opens the file, or makes it with its greatest length, and keeps the handle.
func (x *indexFile) open(p *place, base kafka.Offset, suffix string, width int32) error {
	if x.file != nil {
		return nil
	}
	name := filePath(p.dir, base, suffix)
	f, err := p.fs.Open(name)
	if errors.Is(err, vfs.ErrNotExist) {
		return x.create(p, name, width)
	}
	if err != nil {
		return fmt.Errorf("log: open index: %w", err)
	}
	x.file = f
	if x.loaded {
		x.remap()
	}
	return nil
}

// remap makes the entries memory of the file, if it can be mapped. They are known and
// written, and no mapping of before is left.
func (x *indexFile) remap() {
	m, ok := x.file.(vfs.Mapper)
	if !ok || x.file.Size() < int64(len(x.entries)) {
		return
	}
	if b, err := m.Map(); err == nil {
		x.entries, x.mapped = entryTable(b[:len(x.entries)]), true
	}
}

// unmap gives the entries memory of their own, before the mapping ends.
func (x *indexFile) unmap() {
	if x.mapped {
		x.entries, x.mapped = append(entryTable(nil), x.entries...), false
	}
}

func (x *indexFile) create(p *place, name string, width int32) error {
	f, err := p.fs.Create(name)
	if err != nil {
		return fmt.Errorf("log: create index: %w", err)
	}
	x.file, x.entries, x.loaded = f, nil, true
	return x.resize(maxBytes(p.cfg, width))
}

// load reads the entries: all the file is entries, zeros included, since only
// the length of the file tells their number (storage 3.1).
func (x *indexFile) load(p *place, base kafka.Offset, suffix string, width int32) error {
	if x.loaded {
		return nil
	}
	if err := x.open(p, base, suffix, width); err != nil || x.loaded {
		return err
	}
	size := int(x.file.Size() / int64(width) * int64(width))
	if m, ok := x.file.(vfs.Mapper); ok {
		if b, err := m.Map(); err == nil && len(b) >= size {
			x.entries, x.loaded, x.mapped = entryTable(b[:size]), true, true
			return nil
		}
	}
	b, err := x.file.ReadAt(0, size)
	if err != nil {
		return fmt.Errorf("log: read index: %w", err)
	}
	if len(b) != size {
		return &CorruptError{File: x.file.Name(), Pos: int64(len(b)), Err: vfs.ErrIO}
	}
	x.entries, x.loaded = entryTable(b[:size:size]), true
	return nil
}

// resize cuts or extends the file. The handle is open.
func (x *indexFile) resize(size int64) error {
	if x.file.Size() == size {
		return nil
	}
	x.unmap()
	if err := x.file.Truncate(size); err != nil {
		return fmt.Errorf("log: resize index: %w", err)
	}
	if x.loaded {
		x.remap()
	}
	return nil
}

// trim cuts the file to its entries.
func (x *indexFile) trim() error { return x.resize(int64(len(x.entries))) }

// cut keeps n bytes of entries; the file stays as long as it is.
func (x *indexFile) cut(n int) {
	if x.mapped {
		x.entries = x.entries[:n]
		return
	}
	x.entries = x.entries[:n:n]
}

// clear forgets all entries, known or not; the file stays as long as it is.
func (x *indexFile) clear() {
	x.cut(0)
	x.loaded = true
	if !x.mapped && x.file != nil {
		x.remap()
	}
}

// firstEntries is how many entries an index has room for when it gets its first one.
const firstEntries = 8

// room makes sure that another entry does not leave the mapping.
func (x *indexFile) room(width int) {
	switch {
	case x.mapped && cap(x.entries)-len(x.entries) < width:
		x.unmap()
	case x.entries == nil:
		x.entries = make(entryTable, 0, firstEntries*width)
	}
}

// write puts the last width bytes of entries into the file, or takes them back. In a
// mapping they are there already.
func (x *indexFile) write(width int) error {
	if x.mapped {
		return nil
	}
	at := len(x.entries) - width
	if err := x.file.WriteAt(int64(at), x.entries[at:len(x.entries):len(x.entries)]); err != nil {
		x.cut(at)
		return fmt.Errorf("log: write index: %w", err)
	}
	return nil
}

// close lets go of the handle; the next use opens the file again.
func (x *indexFile) close() error {
	if x.file == nil {
		return nil
	}
	x.unmap()
	f := x.file
	x.file = nil
	if err := f.Close(); err != nil {
		return fmt.Errorf("log: close index: %w", err)
	}
	return nil
}
