package record

import (
	"errors"

	"github.com/klauspost/compress/zstd"
)

const (
	defaultZstdLevel = 3
	zstdWindow       = 2 << 20             // of level 3
	zstdMaxWindow    = MaxDecompressedSize // of level 22
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

// unzstd reserves at most what an input of this length can unfold to (4 bytes to
// 128 KiB), whatever content size or window it claims, and no more than a block
// above the larger of limit and the default window.
func (s *Scratch) unzstd(dst, src []byte, limit int) ([]byte, error) {
	if s.zstdReader == nil || s.zstdLimit != limit {
		r, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxMemory(uint64(max(limit, zstdWindow))), zstd.WithDecoderMaxWindow(zstdMaxWindow))
		if err != nil {
			panic(err) // the options are constants
		}
		s.zstdReader, s.zstdLimit = r, limit
	}
	out, err := s.zstdReader.DecodeAll(src, dst)
	if errors.Is(err, zstd.ErrDecoderSizeExceeded) || err == nil && len(out)-len(dst) > limit {
		err = ErrTooLarge
	}
	return out, err
}
