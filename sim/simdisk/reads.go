package simdisk

import "bytes"

// Reads is memory for what is read across several extents, which one run after another
// puts it into: each such read would otherwise make its own, mostly garbage soon. The zero
// value is ready.
type Reads struct {
	room []byte
	used int
}

// readsSize is the size of that memory; beyond it each read makes its own.
const readsSize = 8 << 20

// Reuse makes all of it free again: nobody has what was read.
func (r *Reads) Reuse() { r.used = 0 }

// join is the n bytes of parts in one piece; r may be nil.
func (r *Reads) join(parts [][]byte, n int) []byte {
	if r == nil || r.used+n > readsSize {
		return bytes.Join(parts, nil) // not make and copy: the memory needs no zeros
	}
	if r.room == nil {
		r.room = make([]byte, readsSize)
	}
	b := r.room[r.used : r.used : r.used+n]
	r.used += n
	for _, p := range parts {
		b = append(b, p...)
	}
	return b
}
