package record

import "math/bits"

// Zig-zag varints as of ByteUtils (storage 1.3): least significant group first,
// the high bit of a byte says that another follows.

func zigzag32(v int32) uint32 { return uint32(v<<1) ^ uint32(v>>31) }
func zigzag64(v int64) uint64 { return uint64(v<<1) ^ uint64(v>>63) }

func sizeOfVarint(v int32) int  { return (bits.Len32(zigzag32(v)|1) + 6) / 7 }
func sizeOfVarlong(v int64) int { return (bits.Len64(zigzag64(v)|1) + 6) / 7 }

func appendVarint(dst []byte, v int32) []byte { return appendUvarint(dst, uint64(zigzag32(v))) }

func appendVarlong(dst []byte, v int64) []byte { return appendUvarint(dst, zigzag64(v)) }

func appendUvarint(dst []byte, u uint64) []byte {
	for u >= 0x80 {
		dst = append(dst, byte(u)|0x80)
		u >>= 7
	}
	return append(dst, byte(u))
}

// varint reads at most 5 bytes from pos. Bits above 32 of the fifth are dropped.
// next is the position after it, or -1 if buf ends or the fifth byte says that
// another follows.
func varint(buf []byte, pos int) (v int32, next int) {
	if uint(pos) < uint(len(buf)) && buf[pos] < 0x80 {
		u := uint32(buf[pos])
		return int32(u>>1) ^ -int32(u&1), pos + 1
	}
	u, next := uvarint(buf, pos, 5)
	return int32(uint32(u)>>1) ^ -int32(u&1), next
}

// varlong reads at most 10 bytes from pos; see varint.
func varlong(buf []byte, pos int) (v int64, next int) {
	if uint(pos) < uint(len(buf)) && buf[pos] < 0x80 {
		u := int64(buf[pos])
		return u>>1 ^ -(u & 1), pos + 1
	}
	u, next := uvarint(buf, pos, 10)
	return int64(u>>1) ^ -int64(u&1), next
}

func uvarint(buf []byte, pos, max int) (u uint64, next int) {
	for i := 0; i < max; i++ {
		if uint(pos) >= uint(len(buf)) {
			return 0, -1
		}
		c := buf[pos]
		pos++
		u |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			return u, pos
		}
	}
	return 0, -1
}
