package simdisk

import (
	"encoding/binary"
	"math/bits"
)

// digestBytes is how much of a write enters the digest: a whole index entry, the
// header of a record batch, whose own CRC covers the rest.
const digestBytes = 64

// Digest is a running hash of what was done to the disk: writes by file name,
// position, length and checksum, truncations by size, and changes of names.
func (d *Disk) Digest() uint64 { return d.digest }

func (d *Disk) fold(name string, pos int64, size int, sum uint64) {
	h := mum(d.digest^uint64(pos)<<24^uint64(size)<<1, sum^foldA)
	for len(name) >= 8 {
		h = mum(h^word(name), foldB)
		name = name[8:]
	}
	for i := range len(name) {
		h = mum(h^uint64(name[i]), foldB)
	}
	d.digest = h
}

// word is the first eight bytes of s.
func word(s string) uint64 {
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

func (d *Disk) foldWrite(name string, pos int64, b []byte) {
	d.fold(name, pos, len(b), checksum(b[:min(len(b), digestBytes)]))
}

// checksum covers every byte of b.
func checksum(b []byte) uint64 {
	h := uint64(len(b))
	for len(b) >= 8 {
		h = mum(h^binary.LittleEndian.Uint64(b), foldC)
		b = b[8:]
	}
	for _, c := range b {
		h = mum(h^uint64(c), foldC)
	}
	return h
}

// Odd constants with mixed bits (from the fraction digits of square roots).
const (
	foldA = 0x510e527fade682d1
	foldB = 0x9b05688c2b3e6c1f
	foldC = 0x1f83d9abfb41bd6b
)

// mum folds the 128-bit product of x and y.
func mum(x, y uint64) uint64 {
	hi, lo := bits.Mul64(x, y)
	return hi ^ lo
}
