package record

import (
	"encoding/binary"
	"errors"
	"math/bits"

	"github.com/pierrec/lz4/v4"
)

// The LZ4 frame as Kafka's Lz4BlockOutputStream writes it (storage 1.7): version
// 1, independent blocks of 64 KiB, no checksums, no content size.
const (
	lz4FrameMagic  = 0x184d2204
	lz4Flags       = 0x60
	lz4Descriptor  = 0x40
	lz4HeaderCheck = 0x82 // second byte of xxh32 of the two
	lz4BlockSize   = 64 << 10
	lz4StoredBit   = 1 << 31
	lz4FastLevel   = 9 // Kafka's default
	lz4MaxRatio    = 255
)

// Flag bits of a frame that is read.
const (
	lz4Reserved     = 0x03
	lz4ContentCheck = 0x04
	lz4ContentSize  = 0x08
	lz4BlockCheck   = 0x10
	lz4Independent  = 0x20
)

var (
	errLZ4Magic     = errors.New("not an lz4 frame")
	errLZ4Flags     = errors.New("lz4 flags that Kafka does not read")
	errLZ4Header    = errors.New("lz4 header checksum mismatch")
	errLZ4Block     = errors.New("an lz4 block does not decode")
	errLZ4BlockSum  = errors.New("lz4 block checksum mismatch")
	errLZ4BlockSize = errors.New("an lz4 block is larger than its frame allows")
)

// appendLZ4 writes one frame. Level 9 and 0 are the fast compressor, others the
// high compression one.
func (s *Scratch) appendLZ4(dst []byte, level int, src []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, lz4FrameMagic)
	dst = append(dst, lz4Flags, lz4Descriptor, lz4HeaderCheck)
	if n := lz4.CompressBlockBound(lz4BlockSize); cap(s.block) < n {
		s.block = make([]byte, n)
	}
	for len(src) > 0 {
		block := src[:min(len(src), lz4BlockSize)]
		src = src[len(block):]
		n := s.lz4Block(level, block)
		if n == 0 || n >= len(block) {
			dst = binary.LittleEndian.AppendUint32(dst, uint32(len(block))|lz4StoredBit)
			dst = append(dst, block...)
			continue
		}
		dst = binary.LittleEndian.AppendUint32(dst, uint32(n))
		dst = append(dst, s.block[:n]...)
	}
	return append(dst, 0, 0, 0, 0)
}

// lz4Block compresses into s.block; 0 is incompressible.
func (s *Scratch) lz4Block(level int, block []byte) (n int) {
	if level <= 0 || level == lz4FastLevel {
		if s.lz4Fast == nil {
			s.lz4Fast = new(lz4.Compressor)
		}
		n, _ = s.lz4Fast.CompressBlock(block, s.block[:cap(s.block)])
		return n
	}
	if s.lz4HC == nil {
		s.lz4HC = new(lz4.CompressorHC)
	}
	s.lz4HC.Level = lz4.CompressionLevel(1 << (8 + min(level, 9)))
	n, _ = s.lz4HC.CompressBlock(block, s.block[:cap(s.block)])
	return n
}

// unlz4 reads one frame with the checks of Lz4BlockInputStream; what follows the
// end mark is ignored there too.
func (s *Scratch) unlz4(dst, src []byte, limit int) ([]byte, error) {
	flags, maxBlock, src, err := lz4Header(src)
	if err != nil {
		return dst, err
	}
	for {
		if len(src) < 4 {
			return dst, errCutShort
		}
		word := binary.LittleEndian.Uint32(src)
		src = src[4:]
		size := int(word &^ lz4StoredBit)
		if size == 0 {
			return dst, nil
		}
		if size > maxBlock {
			return dst, errLZ4BlockSize
		}
		if size > len(src) {
			return dst, errCutShort
		}
		block := src[:size]
		src = src[size:]
		if flags&lz4BlockCheck != 0 {
			if len(src) < 4 {
				return dst, errCutShort
			}
			if binary.LittleEndian.Uint32(src) != xxh32(block) {
				return dst, errLZ4BlockSum
			}
			src = src[4:]
		}
		if dst, err = s.appendPlain(dst, block, word&lz4StoredBit != 0, maxBlock, limit); err != nil {
			return dst, err
		}
	}
}

func (s *Scratch) appendPlain(dst, block []byte, stored bool, maxBlock, limit int) ([]byte, error) {
	plain := block
	if !stored {
		most := min(maxBlock, lz4MaxRatio*len(block))
		if cap(s.block) < most {
			s.block = make([]byte, most)
		}
		n, err := lz4.UncompressBlock(block, s.block[:most])
		if err != nil {
			return dst, errLZ4Block
		}
		plain = s.block[:n]
	}
	if len(dst)+len(plain) > limit {
		return dst, ErrTooLarge
	}
	return append(dst, plain...), nil
}

// lz4Header reads the frame header and returns what follows it.
func lz4Header(src []byte) (flags byte, maxBlock int, rest []byte, err error) {
	if len(src) < 7 {
		return 0, 0, nil, errCutShort
	}
	if binary.LittleEndian.Uint32(src) != lz4FrameMagic {
		return 0, 0, nil, errLZ4Magic
	}
	flags = src[4]
	if flags&lz4Reserved != 0 || flags&lz4Independent == 0 || flags>>6 != 1 {
		return 0, 0, nil, errLZ4Flags
	}
	sizeCode := src[5] >> 4
	if src[5]&0x8f != 0 || sizeCode < 4 {
		return 0, 0, nil, errLZ4Flags
	}
	end := 6
	if flags&lz4ContentSize != 0 {
		end += 8
	}
	if len(src) <= end {
		return 0, 0, nil, errCutShort
	}
	if src[end] != byte(xxh32(src[4:end])>>8) {
		return 0, 0, nil, errLZ4Header
	}
	return flags, 1 << (8 + 2*sizeCode), src[end+1:], nil
}

// The primes of xxHash32.
const (
	xxPrime1 uint32 = 2654435761
	xxPrime2 uint32 = 2246822519
	xxPrime3 uint32 = 3266489917
	xxPrime4 uint32 = 668265263
	xxPrime5 uint32 = 374761393
)

// xxh32 is xxHash32 with seed 0, the checksum of LZ4 frames.
func xxh32(data []byte) uint32 {
	h, n := xxPrime5, uint32(len(data))
	if len(data) >= 16 {
		p1, p2 := xxPrime1, xxPrime2 // variables, since the sums wrap
		v := [4]uint32{p1 + p2, p2, 0, -p1}
		for ; len(data) >= 16; data = data[16:] {
			for i := range v {
				v[i] = bits.RotateLeft32(v[i]+binary.LittleEndian.Uint32(data[4*i:])*xxPrime2, 13) * xxPrime1
			}
		}
		h = bits.RotateLeft32(v[0], 1) + bits.RotateLeft32(v[1], 7) + bits.RotateLeft32(v[2], 12) + bits.RotateLeft32(v[3], 18)
	}
	h += n
	for ; len(data) >= 4; data = data[4:] {
		h = bits.RotateLeft32(h+binary.LittleEndian.Uint32(data)*xxPrime3, 17) * xxPrime4
	}
	for _, c := range data {
		h = bits.RotateLeft32(h+uint32(c)*xxPrime5, 11) * xxPrime1
	}
	h = (h ^ h>>15) * xxPrime2
	h = (h ^ h>>13) * xxPrime3
	return h ^ h>>16
}
