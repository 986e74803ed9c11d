package record

import (
	"encoding/binary"
	"errors"
	"math/bits"
	"slices"
)

// Kafka's snappy is the xerial stream (storage 1.7): a 16-byte header, then
// chunks of a big endian length and one raw snappy block. The block coder is our
// own: that of the library has assembly whose output differs by architecture,
// and its reader takes an extension of the format.
const (
	xerialHeaderSize = 16
	xerialChunk      = 32 << 10
	snappyTableBits  = 12
	snappyMinMatch   = 4
	snappyMaxRatio   = 32 // no element of a block unfolds to more times its size
)

type snappyTable [1 << snappyTableBits]uint16

const xerialHeader = "\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01"

var (
	errSnappyVersion = errors.New("xerial stream of an unknown version")
	errSnappyBlock   = errors.New("a snappy block does not decode")
)

func (s *Scratch) appendSnappy(dst, src []byte) []byte {
	if s.snappyTable == nil {
		s.snappyTable = new(snappyTable)
	}
	dst = append(dst, xerialHeader...)
	for len(src) > 0 {
		chunk := src[:min(len(src), xerialChunk)]
		src = src[len(chunk):]
		start := len(dst)
		dst = append(dst, 0, 0, 0, 0)
		dst = appendSnappyBlock(dst, chunk, s.snappyTable)
		binary.BigEndian.PutUint32(dst[start:], uint32(len(dst)-start-4))
	}
	return dst
}

// unsnappy reads a xerial stream, in which the header may come again, or one
// raw block if src does not begin with the header's magic. As in SnappyInputStream
// only a header that comes again is asked for its version, and only its first four
// bytes tell it.
func unsnappy(dst, src []byte, limit int) ([]byte, error) {
	if len(src) < xerialHeaderSize || string(src[:8]) != xerialHeader[:8] {
		return unsnappyBlock(dst, src, limit)
	}
	for src = src[xerialHeaderSize:]; len(src) > 0; {
		if len(src) >= xerialHeaderSize && string(src[:4]) == xerialHeader[:4] {
			if int32(binary.BigEndian.Uint32(src[8:])) < 1 {
				return dst, errSnappyVersion
			}
			src = src[xerialHeaderSize:]
			continue
		}
		if len(src) < 4 { // the reader takes it for the end
			return dst, nil
		}
		size := int64(binary.BigEndian.Uint32(src))
		if src = src[4:]; size > int64(len(src)) {
			return dst, errCutShort
		}
		var err error
		if dst, err = unsnappyBlock(dst, src[:size], limit); err != nil {
			return dst, err
		}
		src = src[size:]
	}
	return dst, nil
}

// appendSnappyBlock encodes at most 64 KiB. It looks for matches of four bytes
// at the one earlier position that a hash of them names.
func appendSnappyBlock(dst, src []byte, table *snappyTable) []byte {
	*table = snappyTable{}
	dst = binary.AppendUvarint(dst, uint64(len(src)))
	literal, pos := 0, 1 // position 0 is what an empty table entry names
	for misses := 0; pos+snappyMinMatch <= len(src); {
		word := binary.LittleEndian.Uint32(src[pos:])
		slot := &table[word*0x1e35a7bd>>(32-snappyTableBits)]
		candidate := int(*slot)
		*slot = uint16(pos)
		if binary.LittleEndian.Uint32(src[candidate:]) != word {
			misses++
			pos += 1 + misses>>5
			continue
		}
		length := snappyMinMatch + commonPrefix(src[candidate+snappyMinMatch:], src[pos+snappyMinMatch:])
		dst = appendSnappyLiteral(dst, src[literal:pos])
		dst = appendSnappyCopy(dst, pos-candidate, length)
		pos += length
		literal, misses = pos, 0
	}
	return appendSnappyLiteral(dst, src[literal:])
}

// commonPrefix is the number of equal bytes at the start; b is not longer than a.
func commonPrefix(a, b []byte) int {
	n := 0
	for ; n+8 <= len(b); n += 8 {
		if x := binary.LittleEndian.Uint64(a[n:]) ^ binary.LittleEndian.Uint64(b[n:]); x != 0 {
			return n + bits.TrailingZeros64(x)/8
		}
	}
	for n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// Tags of a block's elements, in the low two bits of the first byte.
const (
	snappyLiteral = 0
	snappyCopy1   = 1
	snappyCopy2   = 2
	snappyCopy4   = 3
)

func appendSnappyLiteral(dst, literal []byte) []byte {
	n := len(literal) - 1
	switch {
	case n < 0:
		return dst
	case n < 60:
		dst = append(dst, byte(n)<<2|snappyLiteral)
	case n < 1<<8:
		dst = append(dst, 60<<2|snappyLiteral, byte(n))
	default:
		dst = append(dst, 61<<2|snappyLiteral, byte(n), byte(n>>8))
	}
	return append(dst, literal...)
}

// appendSnappyCopy writes copies of at most 64 bytes, the last of at least 4.
func appendSnappyCopy(dst []byte, offset, length int) []byte {
	for length > 64 {
		n := 64
		if length < 64+snappyMinMatch {
			n = 60
		}
		dst = append(dst, byte(n-1)<<2|snappyCopy2, byte(offset), byte(offset>>8))
		length -= n
	}
	if length > 11 || offset >= 1<<11 {
		return append(dst, byte(length-1)<<2|snappyCopy2, byte(offset), byte(offset>>8))
	}
	return append(dst, byte(offset>>8)<<5|byte(length-4)<<2|snappyCopy1, byte(offset))
}

// unsnappyBlock appends what one raw block unfolds to. The size that the block
// claims is believed as far as its length can bear it.
func unsnappyBlock(dst, src []byte, limit int) ([]byte, error) {
	size, n := binary.Uvarint(src)
	if n <= 0 || size > 1<<32-1 {
		return dst, errSnappyBlock
	}
	if src = src[n:]; size > snappyMaxRatio*uint64(len(src)) {
		return dst, errSnappyBlock
	}
	if size > uint64(limit-len(dst)) {
		return dst, ErrTooLarge
	}
	start, end := len(dst), len(dst)+int(size)
	dst = slices.Grow(dst, int(size))[:start]
	for len(src) > 0 {
		var length, offset int
		if length, offset, src = snappyElement(src); length <= 0 || length > end-len(dst) {
			return dst, errSnappyBlock
		}
		if offset == 0 {
			if length > len(src) {
				return dst, errSnappyBlock
			}
			dst = append(dst, src[:length]...)
			src = src[length:]
			continue
		}
		if offset < 0 || offset > len(dst)-start {
			return dst, errSnappyBlock
		}
		dst = appendOverlapping(dst, offset, length)
	}
	if len(dst) != end {
		return dst, errSnappyBlock
	}
	return dst, nil
}

// snappyElement reads one tag. A literal has offset 0, a bad element length 0.
func snappyElement(src []byte) (length, offset int, rest []byte) {
	tag := src[0]
	extra := [4]int{0, 1, 2, 4}[tag&3]
	if tag&3 == snappyLiteral && tag>>2 >= 60 {
		extra = int(tag>>2) - 59
	}
	if len(src) <= extra {
		return 0, 0, nil
	}
	var number uint32
	for i := extra; i > 0; i-- {
		number = number<<8 | uint32(src[i])
	}
	rest = src[1+extra:]
	switch {
	case extra == 0:
		return int(tag>>2) + 1, 0, rest
	case number >= 1<<31-1: // no batch has so many bytes
		return 0, 0, nil
	case tag&3 == snappyLiteral:
		return int(number) + 1, 0, rest
	case tag&3 == snappyCopy1:
		length, offset = int(tag>>2&7)+4, int(tag>>5)<<8|int(number)
	default:
		length, offset = int(tag>>2)+1, int(number)
	}
	if offset == 0 { // the format has no such copy
		return 0, 0, nil
	}
	return length, offset, rest
}

// appendOverlapping repeats the bytes from offset before the end; a copy longer
// than its offset repeats what it has just written.
func appendOverlapping(dst []byte, offset, length int) []byte {
	for length > 0 {
		from := len(dst) - offset
		n := min(length, offset)
		dst = append(dst, dst[from:from+n]...)
		length -= n
		offset += n
	}
	return dst
}
