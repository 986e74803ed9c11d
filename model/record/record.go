package record

import (
	"fmt"
	"math"
	"slices"

	"github.com/simkafka/simkafka/model/kafka"
)

// Header is one record header. A nil Value is null; the key is never null.
type Header struct {
	Key   string
	Value []byte
}

// Record is one decoded record. Nil Key or Value is null, an empty one is not.
type Record struct {
	Offset    kafka.Offset
	Timestamp kafka.TimestampMs // of a LogAppendTime batch: its MaxTimestamp
	Sequence  int32             // NoSequence if the batch has none
	Key       []byte
	Value     []byte
	Headers   []Header
}

// InvalidRecordError is Kafka's InvalidRecordException: a batch whose checksum
// fits and whose records do not parse.
type InvalidRecordError struct {
	Index  int // of the record in its batch; -1 is the batch
	Reason string
}

// Error names record and reason.
func (e *InvalidRecordError) Error() string {
	if e.Index < 0 {
		return "record: invalid batch: " + e.Reason
	}
	return fmt.Sprintf("record: invalid record %d of its batch: %s", e.Index, e.Reason)
}

// minRecordSize is that of a record with null key and value and no headers.
const minRecordSize = 7

// Records appends the decoded records of b to dst. Keys and values alias b, or
// for a compressed batch a fresh buffer. It does not check the CRC. The error is
// an *InvalidRecordError or a *DecompressError.
func (b Batch) Records(dst []Record) ([]Record, error) {
	var it Iterator
	return it.appendRecords(b, dst)
}

func (it *Iterator) appendRecords(b Batch, dst []Record) ([]Record, error) {
	it.Reset(b)
	if it.err != nil {
		return dst, it.err
	}
	// The area bounds what a false count can make us reserve.
	dst = slices.Grow(dst, min(int(it.walk.left), len(it.walk.area)/minRecordSize))
	for it.Next() {
		r := it.rec
		r.Headers = slices.Clone(r.Headers)
		dst = append(dst, r)
	}
	return dst, it.err
}

// view is one record in its encoded form. Its slices alias the record area.
type view struct {
	timestampDelta int64
	offsetDelta    int32
	headerCount    int32
	attributes     byte
	key            []byte
	value          []byte
	headers        []byte // the encoded headers, checked by parse
}

// Why a record does not parse.
const (
	cutShort     = "the record area ends inside it"
	badVarint    = "a varint is cut short or too long"
	badLength    = "a length reaches past its end"
	badCount     = "its header count is negative or larger than the rest"
	nullHeader   = "a header key is null"
	leftInRecord = "its fields are shorter than its length"
)

// parse reads the record at the start of buf with all of the checks of storage
// 1.4 and returns its size in bytes. A reason other than "" says what is wrong.
func (v *view) parse(buf []byte) (size int, reason string) {
	length, pos := varint(buf, 0)
	if pos < 0 {
		return 0, cutShort
	}
	if length < 0 || int(length) > len(buf)-pos {
		return 0, cutShort
	}
	size = pos + int(length)
	body := buf[pos:size:size]
	if len(body) == 0 {
		return 0, badVarint
	}
	v.attributes = body[0]
	v.timestampDelta, pos = varlong(body, 1)
	v.offsetDelta, pos = varint(body, pos)
	if pos < 0 {
		return 0, badVarint
	}
	if v.key, pos, reason = nullable(body, pos); reason != "" {
		return 0, reason
	}
	if v.value, pos, reason = nullable(body, pos); reason != "" {
		return 0, reason
	}
	v.headerCount, pos = varint(body, pos)
	if pos < 0 {
		return 0, badVarint
	}
	v.headers = body[pos:]
	if v.headerCount == 0 && len(v.headers) == 0 {
		return size, ""
	}
	return size, v.checkHeaders()
}

// parsePartially is what a leader reads of a compressed record whose bytes stay as they
// are (PartialDefaultRecord): it follows the lengths of key, value and headers through the
// record area and takes no notice of the record's own. Of key, value and headers it
// learns no more than whether there is a key.
func (v *view) parsePartially(area []byte) (size int, reason string) {
	_, pos := varint(area, 0)
	if pos < 0 {
		return 0, badVarint
	}
	v.timestampDelta, pos = varlong(area, pos+1) // behind the attributes
	v.offsetDelta, pos = varint(area, pos)
	keySize, pos := varint(area, pos)
	if v.key = nil; pos >= 0 && keySize >= 0 {
		v.key = []byte{}
	}
	pos = skip(area, pos, keySize)
	pos = skipNullable(area, pos)
	headers, pos := varint(area, pos)
	if pos >= 0 && headers < 0 {
		return 0, badCount
	}
	for ; pos >= 0 && headers > 0; headers-- {
		var n int32
		if n, pos = varint(area, pos); pos >= 0 && n < 0 {
			return 0, nullHeader
		}
		pos = skipNullable(area, skip(area, pos, n))
	}
	if pos < 0 {
		return 0, cutShort
	}
	return pos, ""
}

func skipNullable(area []byte, pos int) int {
	n, pos := varint(area, pos)
	return skip(area, pos, n)
}

// skip is the position n bytes on, or -1 if the area ends before or pos is -1.
func skip(area []byte, pos int, n int32) int {
	if pos < 0 || int(n) > len(area)-pos {
		return -1
	}
	return pos + max(0, int(n))
}

func (v *view) checkHeaders() (reason string) {
	if v.headerCount < 0 || int(v.headerCount) > len(v.headers) {
		return badCount
	}
	pos := 0
	for range v.headerCount {
		var key []byte
		if key, pos, reason = nullable(v.headers, pos); reason != "" {
			return reason
		}
		if key == nil {
			return nullHeader
		}
		if _, pos, reason = nullable(v.headers, pos); reason != "" {
			return reason
		}
	}
	if pos != len(v.headers) {
		return leftInRecord
	}
	return ""
}

// appendHeaders decodes the headers into dst[:0]. A key equal to the one that
// dst held in its place is kept, so that a walk over records with the same keys
// makes no strings.
func (v *view) appendHeaders(dst []Header) []Header {
	dst = dst[:0]
	pos := 0
	for i := range int(v.headerCount) {
		var key, value []byte
		key, pos, _ = nullable(v.headers, pos)
		value, pos, _ = nullable(v.headers, pos)
		if i < cap(dst) && dst[:i+1][i].Key == string(key) {
			dst = dst[:i+1]
			dst[i].Value = value
			continue
		}
		dst = append(dst, Header{Key: string(key), Value: value})
	}
	return dst
}

// nullable reads a varint length and as many bytes; a negative length is nil.
func nullable(buf []byte, pos int) (data []byte, next int, reason string) {
	n, pos := varint(buf, pos)
	if pos < 0 {
		return nil, 0, badVarint
	}
	if n < 0 {
		return nil, pos, ""
	}
	if int(n) > len(buf)-pos {
		return nil, 0, badLength
	}
	end := pos + int(n)
	return buf[pos:end:end], end, ""
}

// sizeOf is the encoded size in bytes of key, value and headers.
func sizeOf(key, value []byte, headers []Header) int {
	size := sizeOfNullable(key) + sizeOfNullable(value) + sizeOfVarint(int32(len(headers)))
	for i := range headers {
		n := len(headers[i].Key)
		size += sizeOfVarint(int32(n)) + n + sizeOfNullable(headers[i].Value)
	}
	return size
}

func sizeOfNullable(data []byte) int {
	if data == nil {
		return 1
	}
	return sizeOfVarint(int32(len(data))) + len(data)
}

// appendRecord encodes one record; body is the size that its length field tells.
func appendRecord(dst []byte, body int, timestampDelta int64, offsetDelta int32, key, value []byte, headers []Header) []byte {
	dst = appendVarint(dst, int32(body))
	dst = append(dst, 0)
	dst = appendVarlong(dst, timestampDelta)
	dst = appendVarint(dst, offsetDelta)
	dst = appendNullable(dst, key)
	dst = appendNullable(dst, value)
	dst = appendVarint(dst, int32(len(headers)))
	for i := range headers {
		dst = appendVarint(dst, int32(len(headers[i].Key)))
		dst = append(dst, headers[i].Key...)
		dst = appendNullable(dst, headers[i].Value)
	}
	return dst
}

func appendNullable(dst, data []byte) []byte {
	if data == nil {
		return appendVarint(dst, -1)
	}
	dst = appendVarint(dst, int32(len(data)))
	return append(dst, data...)
}

// maxRecordOverhead bounds length, attributes, timestamp and offset delta
// (DefaultRecord.MAX_RECORD_OVERHEAD).
const maxRecordOverhead = 21

// SizeUpperBound bounds the size in bytes of a batch of this one record,
// whatever its timestamp and offset (estimateSizeInBytesUpperBound). Producers
// compare it with max.request.size and batch.size.
func SizeUpperBound(key, value []byte, headers []Header) int {
	return HeaderSize + maxRecordOverhead + sizeOf(key, value, headers)
}

const maxRecordSize = math.MaxInt32 - HeaderSize
