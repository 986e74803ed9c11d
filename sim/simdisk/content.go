package simdisk

import "slices"

// Sizes of the coalescing of small writes.
const (
	smallWrite = 512  // writes below this are copied into a growing tail
	tailMax    = 4096 // bytes of one tail buffer
	tailAlign  = 16   // first size of a tail buffer is rounded up to this
)

// zeros is what holes read as.
var zeros [64 << 10]byte

// extent is a run of bytes of a file. Bytes are never changed once written. Spare
// capacity behind them is the extent's own, into which a small tail grows, if all
// capacity is at most tailMax. Beyond that it is the writer's, and only serves to see
// that what is written next lies behind data in memory, too.
type extent struct {
	pos  int64
	data []byte
}

func (e *extent) end() int64 { return e.pos + int64(len(e.data)) }

// content is a file's bytes: extents in order of position, holes between them
// and up to size.
// Invariant: extents do not overlap, none is empty, the last ends at or before size.
type content struct {
	extents []extent
	size    int64
}

// after is the index of the first extent that ends after pos.
func (c *content) after(pos int64) int {
	lo, hi := 0, len(c.extents)
	if hi > 0 && c.extents[hi-1].pos <= pos { // most access is at the end
		if c.extents[hi-1].end() > pos {
			return hi - 1
		}
		return hi
	}
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if c.extents[mid].end() > pos {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return lo
}

// write puts b at pos, keeping b itself when it is large. It returns the bytes
// newly allocated and where b is kept now.
func (c *content) write(pos int64, b []byte) (grown int64, kept []byte) {
	end := pos + int64(len(b))
	grown = int64(len(b))
	i := len(c.extents)
	if i > 0 && c.extents[i-1].end() > pos {
		var freed int64
		i, freed = c.punch(pos, end)
		grown -= freed
	}
	c.size = max(c.size, end)
	if len(b) < smallWrite {
		return grown, c.writeSmall(i, pos, b)
	}
	kept = slices.Clip(b)
	switch {
	case i > 0 && c.extents[i-1].continues(pos, b):
		e := &c.extents[i-1]
		e.data = e.data[:len(e.data)+len(b)]
	case cap(b) > tailMax:
		c.extents = insert(c.extents, i, extent{pos, b})
	default:
		c.extents = insert(c.extents, i, extent{pos, kept})
	}
	return grown, kept
}

// continues reports whether b, written at pos, follows e in the file and in memory.
// A writer that puts its batches behind each other so gets them back in one piece.
func (e *extent) continues(pos int64, b []byte) bool {
	n := len(e.data)
	return cap(e.data) > tailMax && e.end() == pos && cap(e.data) >= n+len(b) && &e.data[:n+1][n] == &b[0]
}

// writeSmall copies b to the end of the extent before index i when that is a
// small tail, or starts a tail there.
func (c *content) writeSmall(i int, pos int64, b []byte) []byte {
	if i > 0 && c.extents[i-1].end() == pos {
		tail := &c.extents[i-1]
		old := len(tail.data)
		if old+len(b) <= tailMax {
			if cap(tail.data) > tailMax {
				tail.data = slices.Clip(tail.data)
			}
			tail.data = growTail(tail.data, b)
			return tail.data[old:len(tail.data):len(tail.data)]
		}
	}
	data := growTail(nil, b)
	c.extents = insert(c.extents, i, extent{pos, data})
	return slices.Clip(data)
}

// growTail appends b in place when the capacity is there, and to a buffer of
// twice the size otherwise.
func growTail(tail, b []byte) []byte {
	n := len(tail) + len(b)
	if n <= cap(tail) {
		return append(tail, b...)
	}
	size := (n + tailAlign - 1) / tailAlign * tailAlign
	if len(tail) > 0 {
		size = min(2*size, tailMax)
	}
	return append(append(make([]byte, 0, size), tail...), b...)
}

func insert(extents []extent, i int, e extent) []extent {
	if i == len(extents) {
		return append(extents, e)
	}
	return slices.Insert(extents, i, e)
}

// punch makes [pos, end) a hole. It returns the index at which an extent at pos
// belongs, and the bytes freed.
func (c *content) punch(pos, end int64) (i int, freed int64) {
	i = c.after(pos)
	if i < len(c.extents) && c.extents[i].pos < pos {
		e := &c.extents[i]
		left := pos - e.pos
		right := extent{pos, e.without(left)}
		e.data = e.data[:left:left]
		i++
		c.extents = insert(c.extents, i, right)
	}
	j := i
	for ; j < len(c.extents) && c.extents[j].end() <= end; j++ {
		freed += int64(len(c.extents[j].data))
	}
	if j < len(c.extents) && c.extents[j].pos < end {
		cut := end - c.extents[j].pos
		c.extents[j].data = c.extents[j].without(cut)
		c.extents[j].pos = end
		freed += cut
	}
	if j > i {
		c.extents = slices.Delete(c.extents, i, j)
	}
	return i, freed
}

// without is data but for its first n bytes. A writer's capacity must not shrink to
// where it looks like the extent's own.
func (e *extent) without(n int64) []byte {
	if cap(e.data) > tailMax {
		return slices.Clip(e.data[n:])
	}
	return e.data[n:]
}

// truncate cuts or extends to size and returns the bytes freed.
func (c *content) truncate(size int64) (freed int64) {
	if size < c.size {
		_, freed = c.punch(size, c.size)
	}
	c.size = size
	return freed
}

// read returns the bytes of [pos, pos+n), which must lie below size. Within one
// extent, or one hole, nothing is copied, else into r, which may be nil.
func (c *content) read(pos int64, n int, r *Reads) []byte {
	i := c.after(pos)
	end := pos + int64(n)
	if i < len(c.extents) {
		if e := &c.extents[i]; e.pos <= pos && end <= e.end() {
			return e.data[pos-e.pos : end-e.pos : end-e.pos]
		}
	}
	if n <= len(zeros) && (i == len(c.extents) || c.extents[i].pos >= end) {
		return zeros[:n:n]
	}
	var room [16][]byte
	parts := room[:0]
	for ; pos < end; i++ {
		if i == len(c.extents) {
			parts = appendHole(parts, end-pos)
			break
		}
		e := &c.extents[i]
		parts = appendHole(parts, min(end, e.pos)-pos)
		if from := max(pos, e.pos); from < end {
			parts = append(parts, e.data[from-e.pos:min(end, e.end())-e.pos])
		}
		pos = e.end()
	}
	return r.join(parts, n)
}

// appendHole appends n zeros, or nothing if n is not positive.
func appendHole(parts [][]byte, n int64) [][]byte {
	for ; n > 0; n -= int64(len(zeros)) {
		parts = append(parts, zeros[:min(n, int64(len(zeros)))])
	}
	return parts
}

// allocated counts the bytes that are not holes.
func (c *content) allocated() (n int64) {
	for i := range c.extents {
		n += int64(len(c.extents[i].data))
	}
	return n
}

// holes counts the bytes of [pos, end) that are not allocated.
func (c *content) holes(pos, end int64) int64 {
	n := end - pos
	for i := c.after(pos); i < len(c.extents) && c.extents[i].pos < end; i++ {
		n -= min(end, c.extents[i].end()) - max(pos, c.extents[i].pos)
	}
	return n
}

// clone copies the list, not the bytes, up to size. Neither list's tail can
// grow into bytes that the other, or a reader, sees.
func (c *content) clone(size int64) content {
	out := content{extents: make([]extent, 0, len(c.extents)), size: size}
	for i := range c.extents {
		e := c.extents[i]
		if e.pos >= size {
			break
		}
		keep := min(int64(len(e.data)), size-e.pos)
		out.extents = append(out.extents, extent{e.pos, e.data[:keep:keep]})
	}
	return out
}

// flip changes one byte by a mask, in a copy of its extent. It reports whether
// the byte was there.
func (c *content) flip(pos int64, mask byte) bool {
	i := c.after(pos)
	if i == len(c.extents) || c.extents[i].pos > pos {
		return false
	}
	data := slices.Clip(slices.Clone(c.extents[i].data))
	data[pos-c.extents[i].pos] ^= mask
	c.extents[i].data = data
	return true
}
