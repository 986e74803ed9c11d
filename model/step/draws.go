package step

import "math/bits"

// Draws is a keyed source of randomness: a pure function of a seed and a path of
// names. It has no state, so no draw can shift another (simulation 6.4).
type Draws struct{ key uint64 }

// NewDraws starts from the run's seed.
func NewDraws(seed uint64) Draws { return Draws{mix(seed ^ 0x6a09e667f3bcc909)} }

// Sub derives the source of a named object, such as a node or a link.
func (d Draws) Sub(name string) Draws { return Draws{mix(d.key ^ hash(name))} }

// Draw is uniform over uint64.
func (d Draws) Draw(name string, index uint64) uint64 {
	return mix(mix(d.key^hash(name)) + index*0x9e3779b97f4a7c15)
}

// At is Draw for an object whose name is already in d: the index-th draw.
func (d Draws) At(index uint64) uint64 { return mix(d.key + index*0x9e3779b97f4a7c15) }

// Below maps a draw to [0, n) without bias worth naming (multiply-high); n > 0.
func Below(draw, n uint64) uint64 {
	hi, _ := bits.Mul64(draw, n)
	return hi
}

// Between maps a draw to [lo, hi], both inclusive.
func Between(draw uint64, lo, hi int64) int64 {
	if hi <= lo {
		return lo
	}
	return lo + int64(Below(draw, uint64(hi-lo)+1))
}

// hash is FNV-1a.
func hash(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := 0; i < len(s); i++ {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

// mix is the finaliser of SplitMix64 (public domain, S. Vigna).
func mix(z uint64) uint64 {
	z += 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
