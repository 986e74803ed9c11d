package kernel

import (
	"fmt"
	"math/bits"
)

// Fingerprint is a running 128-bit hash of everything that happened: two lanes of
// multiply-mix. Equal runs have equal fingerprints; it is no cryptographic hash.
type Fingerprint struct{ a, b uint64 }

// Constants with mixed bits, odd (from the fraction digits of square roots).
const (
	mixA = 0x6a09e667f3bcc909
	mixB = 0xbb67ae8584caa73b
	mixC = 0x3c6ef372fe94f82b
	mixD = 0xa54ff53a5f1d36f1
	mixE = 0x510e527fade682d1
	mixF = 0x9b05688c2b3e6c1f
)

// Fold takes one word in.
func (f *Fingerprint) Fold(w uint64) {
	f.a = mum(f.a^w, mixA)
	f.b = (bits.RotateLeft64(f.b, 29) + w) * mixB
	f.b ^= f.b >> 32
}

// String is 32 hexadecimal digits.
func (f Fingerprint) String() string { return fmt.Sprintf("%016x%016x", f.a, f.b) }

// mum folds the 128-bit product of x and y.
func mum(x, y uint64) uint64 {
	hi, lo := bits.Mul64(x, y)
	return hi ^ lo
}

// digest is a 64-bit hash of one message or step.
type digest uint64

func (d *digest) fold2(x, y uint64) {
	*d = digest(mum(uint64(*d)^x^mixC, bits.RotateLeft64(uint64(*d), 32)^y^mixD))
}

func (d *digest) fold(x uint64) { d.fold2(x, mixE) }

// bytes takes in b and its length, eight bytes a word.
func (d *digest) bytes(b []byte) {
	d.fold(uint64(len(b)))
	for len(b) >= 16 {
		d.fold2(le64(b), le64(b[8:]))
		b = b[16:]
	}
	if len(b) >= 8 {
		d.fold(le64(b))
		b = b[8:]
	}
	if len(b) > 0 {
		var w uint64
		for i, c := range b {
			w |= uint64(c) << (8 * i)
		}
		d.fold(w)
	}
}

func (d *digest) string(s string) {
	d.fold(uint64(len(s)))
	for len(s) >= 8 {
		d.fold(uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
			uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56)
		s = s[8:]
	}
	if len(s) > 0 {
		var w uint64
		for i := range len(s) {
			w |= uint64(s[i]) << (8 * i)
		}
		d.fold(w)
	}
}

func le64(b []byte) uint64 {
	_ = b[7]
	return uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
		uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
}

// Checkpoint is the fingerprint after an event.
type Checkpoint struct {
	Seq uint64 // number of the last event folded
	Sum Fingerprint
}

// Diverged compares the checkpoints of two runs: they agree up to and including
// event from, and differ by event to at the latest (0: not within what both ran).
// A second run of each with a Recorder finds the event between them.
func Diverged(a, b []Checkpoint) (from, to uint64) {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return from, min(a[i].Seq, b[i].Seq)
		}
		from = a[i].Seq
	}
	return from, 0
}
