package record

import (
	"errors"
	"fmt"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// Codec is a compression type by its number in the attributes.
type Codec uint8

// The codecs. 5 to 7 fit into the attributes and are invalid.
const (
	None Codec = iota
	Gzip
	Snappy
	LZ4
	Zstd
)

// String is the name in compression.type.
func (c Codec) String() string {
	names := [...]string{"none", "gzip", "snappy", "lz4", "zstd"}
	if int(c) >= len(names) {
		return "invalid"
	}
	return names[c]
}

// ParseCodec reads a name that String prints; "producer" and "uncompressed" are
// values of the setting, not codecs.
func ParseCodec(name string) (Codec, bool) {
	for c := None; c <= Zstd; c++ {
		if c.String() == name {
			return c, true
		}
	}
	return None, false
}

// MaxDecompressedSize bounds the record area in bytes that a compressed batch
// may unfold to. Kafka has no such bound, since it reads a stream. It is also
// the largest zstd window.
const MaxDecompressedSize = 128 << 20

// keptPlain is the most memory in bytes that a Scratch keeps for plain records.
const keptPlain = 4 << 20

// ErrTooLarge says that a batch unfolds to more than MaxDecompressedSize.
var ErrTooLarge = errors.New("the decompressed records are too large")

var (
	errCutShort = errors.New("the stream is cut short")
	errCodec    = errors.New("the codec is unknown")
)

// DecompressError is a record area that its codec cannot read.
type DecompressError struct {
	Codec Codec
	Err   error
}

// Error names codec and cause.
func (e *DecompressError) Error() string {
	return fmt.Sprintf("record: cannot decompress %s records: %v", e.Codec, e.Err)
}

// Unwrap is the cause.
func (e *DecompressError) Unwrap() error { return e.Err }

// Scratch is the working memory of the codecs, made when first needed (a zstd
// encoder has some MiB). One thread may share one among all its builders, logs
// and consumers. The zero value is ready.
type Scratch struct {
	// Checked may be shared with other threads' scratch no more than the rest.
	Checked *Checked
	// Rooms are where logs put what they validate. nil: each makes its own.
	Rooms *Rooms

	packed []byte // the last compressed record area
	plain  []byte // the last decompressed record area
	block  []byte

	gzipReader  *gzip.Reader
	gzipWriter  *gzip.Writer
	gzipLevel   int
	snappyTable *snappyTable
	lz4Fast     *lz4.Compressor
	lz4HC       *lz4.CompressorHC
	zstdReader  *zstd.Decoder
	zstdWriter  *zstd.Encoder
	zstdLevel   zstd.EncoderLevel
	zstdLimit   int      // of zstdReader, in bytes
	rebuild     *Builder // of ValidateAndAssign
}

// Records is Batch.Records with the decoders of s. The records do not alias s.
func (s *Scratch) Records(b Batch, dst []Record) ([]Record, error) {
	it := Iterator{scratch: s}
	s.plain = nil
	dst, err := it.appendRecords(b, dst)
	s.plain = nil
	return dst, err
}

// compress returns src in Kafka's framing of c, valid until the next call. Equal
// input gives equal bytes on every architecture and whatever came before.
func (s *Scratch) compress(c Codec, level int, src []byte) []byte {
	s.packed = s.packed[:0]
	switch c {
	case Gzip:
		s.packed = s.appendGzip(s.packed, level, src)
	case Snappy:
		s.packed = s.appendSnappy(s.packed, src)
	case LZ4:
		s.packed = s.appendLZ4(s.packed, level, src)
	case Zstd:
		s.packed = s.appendZstd(s.packed, level, src)
	default:
		panic("record: no such codec: " + c.String())
	}
	return s.packed
}

// decompress returns what src unfolds to, valid until the next call; of a nil
// Scratch it is the caller's.
func (s *Scratch) decompress(c Codec, src []byte) ([]byte, error) {
	return s.decompressUpTo(c, src, MaxDecompressedSize)
}

// decompressUpTo allocates in proportion to what the input really unfolds to and
// never much more than limit bytes.
func (s *Scratch) decompressUpTo(c Codec, src []byte, limit int) ([]byte, error) {
	if s == nil {
		s = new(Scratch)
	}
	dst, err := s.plain[:0], error(nil)
	switch c {
	case Gzip:
		dst, err = s.ungzip(dst, src, limit)
	case Snappy:
		dst, err = unsnappy(dst, src, limit)
	case LZ4:
		dst, err = s.unlz4(dst, src, limit)
	case Zstd:
		dst, err = s.unzstd(dst, src, limit)
	default:
		err = errCodec
	}
	if cap(dst) <= keptPlain {
		s.plain = dst
	}
	if err != nil {
		return nil, &DecompressError{Codec: c, Err: err}
	}
	return dst, nil
}
