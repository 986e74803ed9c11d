package log

import (
	"encoding/binary"
	"math/bits"

	"github.com/simkafka/simkafka/model/kafka"
)

const (
	// offsetMapEntry is what Kafka's map takes for a key, in bytes: an MD5 hash and
	// an offset (storage 9.2).
	offsetMapEntry = 24
	// firstMapSlots is the first size of the table, a power of two.
	firstMapSlots = 1024
)

// offsetMap holds the highest offset of each key (SkimpyOffsetMap). It knows keys
// by a hash of 128 bits alone. It has the limit of Kafka's map and grows up to it.
type offsetMap struct {
	slots []offsetSlot // a power of two; linear probing
	n     int          // keys
	limit int          // keys at which the map is full
	seed  uint64
	// latest is the last offset that the map accounts for, -1 at first.
	latest kafka.Offset

	touched kafka.Offset // keeps the loads of touch; without meaning
}

type offsetSlot struct {
	keyHash
	next kafka.Offset // the offset + 1; 0 is an empty slot
}

// keyHash are the 128 bits that a key is known by.
type keyHash struct{ hi, lo uint64 }

// keyAt is a record's key and offset.
type keyAt struct {
	key    keyHash
	offset kafka.Offset
}

// defaultLoadFactor is log.cleaner.io.buffer.load.factor, in millionths.
const defaultLoadFactor = 900_000

// offsetMapLimit is how many keys fit into bytes of Kafka's map at a load factor in
// millionths, 0 for the default.
func offsetMapLimit(bytes, factor int64) int {
	if factor == 0 {
		factor = defaultLoadFactor
	}
	return int(bytes / offsetMapEntry * factor / ratioScale)
}

func newOffsetMap(bytes, factor int64, seed uint64) offsetMap {
	return offsetMap{slots: make([]offsetSlot, firstMapSlots), limit: offsetMapLimit(bytes, factor), seed: seed, latest: kafka.NoOffset}
}

// put enters the offset of a key, which is above all offsets before. It is false if
// the map is full: then nothing is entered, known key or not.
func (m *offsetMap) put(key keyHash, offset kafka.Offset) bool {
	if m.n >= m.limit {
		return false
	}
	s := m.find(key)
	if s.next == 0 {
		if m.n++; 4*m.n > 3*len(m.slots) {
			m.grow()
			s = m.find(key)
		}
		s.keyHash = key
	}
	s.next, m.latest = offset+1, offset
	return true
}

// get is the highest offset of a key.
func (m *offsetMap) get(key keyHash) (offset kafka.Offset, found bool) {
	s := m.find(key)
	return s.next - 1, s.next != 0
}

// hash is what the map knows a key by.
func (m *offsetMap) hash(key []byte) (h keyHash) {
	h.hi, h.lo = hash128(m.seed, key)
	return h
}

// touch brings the keys' places in the map, which are rarely in the processor's
// cache, there: a short loop waits for many places at once, a find for each waits for
// one after the other.
func (m *offsetMap) touch(keys []keyAt) {
	mask := uint64(len(m.slots) - 1)
	var sum kafka.Offset
	for i := range keys {
		sum += m.slots[keys[i].key.lo&mask].next
	}
	m.touched = sum
}

// find is the slot of a hash, or the empty one where it would be.
func (m *offsetMap) find(key keyHash) *offsetSlot {
	mask := uint64(len(m.slots) - 1)
	for i := key.lo & mask; ; i = (i + 1) & mask {
		if s := &m.slots[i]; s.next == 0 || s.keyHash == key {
			return s
		}
	}
}

func (m *offsetMap) grow() {
	old := m.slots
	m.slots = make([]offsetSlot, 2*len(old))
	for i := range old {
		if o := &old[i]; o.next != 0 {
			*m.find(o.keyHash) = *o
		}
	}
}

// hash128 is MurmurHash3_x64_128 with a seed of 64 bits.
func hash128(seed uint64, key []byte) (hi, lo uint64) {
	h1, h2 := seed, seed
	rest := key
	for ; len(rest) >= 16; rest = rest[16:] {
		h1 ^= mix1(binary.LittleEndian.Uint64(rest))
		h1 = (bits.RotateLeft64(h1, 27)+h2)*5 + 0x52dce729
		h2 ^= mix2(binary.LittleEndian.Uint64(rest[8:]))
		h2 = (bits.RotateLeft64(h2, 31)+h1)*5 + 0x38495ab5
	}
	if len(rest) > 0 {
		var tail [16]byte
		copy(tail[:], rest)
		h2 ^= mix2(binary.LittleEndian.Uint64(tail[8:]))
		h1 ^= mix1(binary.LittleEndian.Uint64(tail[:]))
	}
	h1 ^= uint64(len(key))
	h2 ^= uint64(len(key))
	h1 += h2
	h2 += h1
	h1, h2 = finalMix(h1), finalMix(h2)
	h1 += h2
	return h1, h2 + h1
}

const (
	murmur1 = 0x87c37b91114253d5
	murmur2 = 0x4cf5ad432745937f
)

func mix1(k uint64) uint64 { return bits.RotateLeft64(k*murmur1, 31) * murmur2 }
func mix2(k uint64) uint64 { return bits.RotateLeft64(k*murmur2, 33) * murmur1 }

func finalMix(k uint64) uint64 {
	k = (k ^ k>>33) * 0xff51afd7ed558ccd
	k = (k ^ k>>33) * 0xc4ceb9fe1a85ec53
	return k ^ k>>33
}
