package simdisk

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

func (c *content) check(t *rapid.T) {
	end := int64(0)
	for i, e := range c.extents {
		if e.pos < end || len(e.data) == 0 {
			t.Fatalf("extent %d at %d with %d bytes, the one before ends at %d", i, e.pos, len(e.data), end)
		}
		end = e.end()
	}
	if end > c.size {
		t.Fatalf("extents end at %d, size is %d", end, c.size)
	}
}

func TestContentMatchesAFlatSlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c content
		var flat []byte
		alloc := int64(0)
		var room []byte // a writer's, of which it writes pieces
		resize := func(n int) {
			if n <= len(flat) {
				flat = flat[:n]
			} else {
				flat = append(flat, make([]byte, n-len(flat))...)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"write": func(t *rapid.T) {
				pos := rapid.OneOf(rapid.Just(len(flat)), rapid.IntRange(0, 20000)).Draw(t, "pos")
				b := bytes.Repeat([]byte{rapid.Byte().Draw(t, "fill")}, rapid.OneOf(rapid.IntRange(1, 20), rapid.IntRange(1, 5000)).Draw(t, "n"))
				grown, kept := c.write(int64(pos), b)
				if !bytes.Equal(kept, b) {
					t.Fatal("kept bytes differ")
				}
				alloc += grown
				resize(max(len(flat), pos+len(b)))
				copy(flat[pos:], b)
			},
			"write a piece": func(t *rapid.T) {
				pos := rapid.OneOf(rapid.Just(len(flat)), rapid.IntRange(0, 20000)).Draw(t, "pos")
				n := rapid.IntRange(1, 3000).Draw(t, "n")
				if cap(room)-len(room) < n {
					room = make([]byte, 0, 10000)
				}
				room = append(room, bytes.Repeat([]byte{rapid.Byte().Draw(t, "fill")}, n)...)
				b := room[len(room)-n:]
				grown, kept := c.write(int64(pos), b)
				if !bytes.Equal(kept, b) || cap(kept) != n && n >= smallWrite {
					t.Fatal("kept bytes differ")
				}
				alloc += grown
				resize(max(len(flat), pos+n))
				copy(flat[pos:], b)
			},
			"truncate": func(t *rapid.T) {
				size := rapid.IntRange(0, 25000).Draw(t, "size")
				alloc -= c.truncate(int64(size))
				if size < len(flat) {
					clear(flat[size:])
				}
				resize(size)
			},
			"clone": func(t *rapid.T) {
				old := c
				c = c.clone(c.size)
				c.write(c.size, []byte("mine"))
				old.write(old.size, []byte("his!"))
				flat = append(flat, "mine"...)
				alloc += 4
			},
			"": func(t *rapid.T) {
				c.check(t)
				if c.size != int64(len(flat)) || c.allocated() != alloc {
					t.Fatalf("size %d, want %d; allocated %d, counted %d", c.size, len(flat), c.allocated(), alloc)
				}
				pos := rapid.IntRange(0, len(flat)).Draw(t, "read")
				for _, n := range []int{min(8, len(flat)-pos), len(flat) - pos} {
					if got := c.read(int64(pos), n, nil); !bytes.Equal(got, flat[pos:pos+n]) {
						t.Fatalf("read %d at %d differs", n, pos)
					}
				}
			},
		})
	})
}

func TestSmallAppendsShareOneBuffer(t *testing.T) {
	var c content
	for i := range 512 {
		c.write(int64(i)*8, []byte{1, 2, 3, 4, 5, 6, 7, byte(i)})
	}
	if len(c.extents) != 1 || cap(c.extents[0].data) != 4096 {
		t.Errorf("512 entries of 8 bytes lie in %d extents", len(c.extents))
	}
}

// A log's leader puts its batches behind each other, so that a fetch of many copies
// nothing.
func TestPiecesOfOneBufferBecomeOneExtent(t *testing.T) {
	var c content
	room := make([]byte, 0, 64<<10)
	for i := range 40 {
		n := len(room)
		room = append(room, bytes.Repeat([]byte{byte(i)}, 1200)...)
		c.write(int64(n), room[n:])
	}
	if b := c.read(0, len(room), nil); len(c.extents) != 1 || &b[0] != &room[0] || cap(b) != len(b) {
		t.Errorf("%d extents", len(c.extents))
	}
	c.write(int64(len(room)), []byte("small"))
	if room = append(room, "large"...); string(c.read(int64(len(room)-5), 5, nil)) != "small" {
		t.Error("the file and the writer's buffer overlap")
	}
}

func TestAReadSpansHolesLargerThanTheZeroPage(t *testing.T) {
	var c content
	flat := make([]byte, 3*len(zeros)+20)
	for _, pos := range []int{5, len(zeros) + 9, len(flat) - 10} {
		copy(flat[pos:], "data")
		c.write(int64(pos), []byte("data"))
	}
	c.truncate(int64(len(flat)))
	for _, pos := range []int{0, 6, len(zeros)} {
		if got := c.read(int64(pos), len(flat)-pos, nil); !bytes.Equal(got, flat[pos:]) {
			t.Errorf("a read from %d differs", pos)
		}
	}
}

func TestSparseSizeCostsNothing(t *testing.T) {
	var c content
	c.truncate(10 << 20)
	if len(c.extents) != 0 || c.allocated() != 0 {
		t.Error("a preallocated index has extents")
	}
	b := c.read(5<<20, 4096, nil)
	if &b[0] != &zeros[0] || len(b) != 4096 || cap(b) != 4096 {
		t.Error("a hole is not read from the zero page")
	}
}
