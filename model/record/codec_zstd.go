package record

import (
	"errors"

	"github.com/klauspost/compress/zstd"
)

const (
	defaultZstdLevel = 3
	zstdWindow       = 2 << 20 // of level 3
	zstdMaxWindow    = 128 << 20
	zstdFirstGuess   = 4 // how often larger than its input the output is taken for
)

// appendZstd writes one frame without checksum and dictionary. The encoder's own
// levels are three, by zstd's numbers: below 3, 3 to 5, and above. Its fourth and
// best one is left out: it decides by floating point logarithms, which differ
// between architectures.
func (s *Scratch) appendZstd(dst []byte, level int, src []byte) []byte {
	if level == 0 {
		level = defaultZstdLevel
	}
	l := min(zstd.EncoderLevelFromZstd(level), zstd.SpeedBetterCompression)
	if s.zstdWriter == nil || s.zstdLevel != l {
		w, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(l), zstd.WithEncoderCRC(false),
			zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(zstdWindow), zstd.WithLowerEncoderMem(true),
			zstd.WithZeroFrames(true))
		if err != nil {
			panic(err) // the options are constants
		}
		s.zstdWriter, s.zstdLevel = w, l
	}
	return s.zstdWriter.EncodeAll(src, dst)
}

// unzstd decodes into a buffer of a guessed size, and again into a larger one
// when that is full, so that a false content size or window reserves nothing.
func (s *Scratch) unzstd(dst, src []byte, limit int) ([]byte, error) {
	if s.zstdReader == nil {
		r, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderMaxWindow(zstdMaxWindow))
		if err != nil {
			panic(err) // the options are constants
		}
		s.zstdReader = r
	}
	size := min(max(cap(dst), zstdFirstGuess*len(src), 1024), limit)
	for {
		if cap(dst) < size {
			dst = make([]byte, 0, size)
		}
		out, err := s.zstdReader.DecodeAll(src, dst[:0:min(cap(dst), limit)])
		if !errors.Is(err, zstd.ErrDecoderSizeExceeded) {
			return out, err
		}
		if size >= limit {
			return dst, ErrTooLarge
		}
		size = min(4*size, limit)
	}
}
