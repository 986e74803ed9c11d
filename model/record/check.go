package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/simkafka/simkafka/model/kafka"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ErrIncomplete is the end of a buffer inside a batch: the tail is dropped, it
// is not corrupt (trimInvalidBytes, storage 1.8).
var ErrIncomplete = errors.New("record: the last batch is incomplete")

// ErrOffsetsOutOfOrder is a follower's refusal of batches whose last offsets do
// not strictly increase (OffsetsOutOfOrderException).
var ErrOffsetsOutOfOrder = errors.New("record: last offsets do not increase")

// CorruptError is Kafka's CorruptRecordException: bytes that are no batch, or a
// batch whose checksum does not fit.
type CorruptError struct {
	Reason string
}

// Error names the reason.
func (e *CorruptError) Error() string { return "record: corrupt batch: " + e.Reason }

func (b Batch) computeCRC() uint32 { return crc32.Checksum(b[attributesPos:], castagnoli) }

// IsValid is DefaultRecordBatch.isValid: the size reaches HeaderSize, is that of
// b, and the CRC fits. It does not look at the magic, as the readers of log
// files do not (storage 1.1).
func (b Batch) IsValid() bool {
	return len(b) >= HeaderSize && b.Size() == len(b) && b.CRC() == b.computeCRC()
}

// Check returns nil for a batch of magic 2 that IsValid, else a *CorruptError.
func (b Batch) Check() error {
	if len(b) < HeaderSize {
		return corruptf("%d bytes are less than the header's %d", len(b), HeaderSize)
	}
	if b.Size() != len(b) {
		return corruptf("its length field says %d bytes of %d", b.Size(), len(b))
	}
	if b.Magic() != Magic {
		return badMagic(b.Magic())
	}
	if computed := b.computeCRC(); b.CRC() != computed {
		return corruptf("stored CRC %08x, computed %08x", b.CRC(), computed)
	}
	return nil
}

// Next splits the first batch off buf. The batch aliases buf. It is framed, not
// checked: its CRC may be wrong. The error is io.EOF at a clean end,
// ErrIncomplete if buf ends inside the batch, or a *CorruptError if the length
// is below 14, the magic is not 2, or the batch is smaller than its header. On
// an error rest is buf.
func Next(buf []byte) (b Batch, rest []byte, err error) {
	if len(buf) == 0 {
		return nil, buf, io.EOF
	}
	size, err := frame(buf)
	if err != nil {
		return nil, buf, err
	}
	if magic := int8(buf[magicPos]); magic != Magic {
		return nil, buf, badMagic(magic)
	}
	if size > len(buf) {
		return nil, buf, ErrIncomplete
	}
	if size < HeaderSize {
		return nil, buf, corruptf("%d bytes are less than the header's %d", size, HeaderSize)
	}
	return Batch(buf[:size:size]), buf[size:], nil
}

// PeekSize is the size in bytes of the batch that starts with head, for readers
// of files, which see the first 17 bytes before the rest. Like Kafka's file
// reader it takes a magic above 2 for 2 and leaves it to the CRC, and it may
// answer less than HeaderSize, which no check of the batch passes. The error is
// ErrIncomplete for a head below 17 bytes, or a *CorruptError for a length below
// 14 or a magic below 2.
func PeekSize(head []byte) (int, error) {
	size, err := frame(head)
	if err != nil {
		return 0, err
	}
	if magic := int8(head[magicPos]); magic < Magic {
		return 0, badMagic(magic)
	}
	return size, nil
}

// frame reads the length field, in the order of ByteBufferLogInputStream.
func frame(head []byte) (size int, err error) {
	if len(head) < LogOverhead {
		return 0, ErrIncomplete
	}
	length := int32(binary.BigEndian.Uint32(head[lengthPos:]))
	if length < minLength {
		return 0, corruptf("length %d is less than the smallest batch's %d", length, minLength)
	}
	if len(head) < headerSizeUpToMagic {
		return 0, ErrIncomplete
	}
	if int64(length) > int64(maxInt-LogOverhead) {
		return 0, corruptf("length %d cannot be addressed", length)
	}
	return LogOverhead + int(length), nil
}

const maxInt = int(^uint(0) >> 1)

// Bounds sums up the whole batches of a buffer.
type Bounds struct {
	Size        int // bytes of whole batches; a cut tail is left out
	Batches     int
	FirstOffset kafka.Offset // base offset of the first batch
	LastOffset  kafka.Offset // last offset of the last batch, inclusive
	LastEpoch   kafka.LeaderEpoch

	// MaxTimestamp is the largest of the batches, and OffsetOfMaxTimestamp the
	// last offset of the earliest batch that holds it (storage trap 14).
	MaxTimestamp         kafka.TimestampMs
	OffsetOfMaxTimestamp kafka.Offset
}

// CheckFollower checks what a follower got from its leader before it appends the
// bytes as they are: every CRC, and that last offsets strictly increase (storage
// 1.8). Neither sizes nor records are looked at. The error is a *CorruptError or
// ErrOffsetsOutOfOrder; of an empty or incomplete buffer the Bounds have no
// batches. checked may be nil.
func CheckFollower(buf []byte, checked *Checked) (Bounds, error) {
	s := Bounds{
		FirstOffset: kafka.NoOffset, LastOffset: kafka.NoOffset, LastEpoch: kafka.NoLeaderEpoch,
		MaxTimestamp: kafka.NoTimestamp, OffsetOfMaxTimestamp: kafka.NoOffset,
	}
	inOrder := true
	for {
		b, rest, err := Next(buf)
		if err == io.EOF || err == ErrIncomplete {
			break
		}
		if err == nil {
			err = checked.Check(b)
		}
		if err != nil {
			return s, err
		}
		inOrder = inOrder && b.LastOffset() > s.LastOffset
		s.add(b)
		buf = rest
	}
	if !inOrder {
		return s, ErrOffsetsOutOfOrder
	}
	return s, nil
}

func (s *Bounds) add(b Batch) {
	if s.Batches == 0 {
		s.FirstOffset = b.BaseOffset()
	}
	s.Size += len(b)
	s.Batches++
	s.LastOffset = b.LastOffset()
	s.LastEpoch = b.PartitionLeaderEpoch()
	if ts := b.MaxTimestamp(); ts > s.MaxTimestamp {
		s.MaxTimestamp, s.OffsetOfMaxTimestamp = ts, s.LastOffset
	}
}

func badMagic(magic int8) error {
	if magic == 0 || magic == 1 {
		return corruptf("magic %d: the message formats before v2 are not supported", magic)
	}
	return corruptf("magic %d is unknown", magic)
}

func corruptf(format string, args ...any) error {
	return &CorruptError{Reason: fmt.Sprintf(format, args...)}
}
