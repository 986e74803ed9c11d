package record

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/simkafka/simkafka/model/kafka"
)

// BatchOptions are the header fields that a builder cannot learn from records.
type BatchOptions struct {
	Codec         Codec
	Level         int // of the codec, in Kafka's numbers (KIP-390); 0 is Kafka's default
	TimestampType TimestampType
	LogAppendTime kafka.TimestampMs // the maximum timestamp of a LogAppendTime batch
	BaseOffset    kafka.Offset
	LeaderEpoch   kafka.LeaderEpoch
	ProducerID    int64
	ProducerEpoch int16
	BaseSequence  int32
	Transactional bool
}

// ClientOptions are those of a plain producer's batch: base offset 0, no leader
// epoch, no producer id.
func ClientOptions() BatchOptions {
	return BatchOptions{
		LeaderEpoch: kafka.NoLeaderEpoch,
		ProducerID:  NoProducerID, ProducerEpoch: NoProducerEpoch, BaseSequence: NoSequence,
	}
}

var (
	errNoRecords    = errors.New("record: a batch needs a record")
	errTimestamp    = errors.New("record: a timestamp is negative and not -1")
	errTooLarge     = errors.New("record: a batch is limited to 2^31-1 bytes")
	errOffset       = errors.New("record: offsets of a batch must increase and span at most 2^31-1")
	errInvalidCodec = errors.New("record: unknown compression codec")
)

// Builder collects the records of one batch (MemoryRecordsBuilder). After Reset
// it reuses its memory; the batches that it built stay valid.
type Builder struct {
	opts          BatchOptions
	control       bool
	horizon       bool   // baseTimestamp is the delete horizon
	buf           []byte // header space and encoded records
	count         int32
	lastOffset    kafka.Offset
	baseTimestamp kafka.TimestampMs
	maxTimestamp  kafka.TimestampMs
	err           error // the first error, told by Build
	scratch       *Scratch
}

// UseScratch makes the builder compress with memory that it shares with others
// of the same thread. Without it a builder that compresses makes its own.
func (bd *Builder) UseScratch(s *Scratch) { bd.scratch = s }

// Reset starts a new batch. ClientOptions has the values of fields not used.
func (bd *Builder) Reset(o BatchOptions) {
	bd.opts, bd.control, bd.horizon, bd.err = o, false, false, nil
	if cap(bd.buf) < HeaderSize {
		bd.buf = make([]byte, HeaderSize, 1024)
	}
	bd.buf = bd.buf[:HeaderSize]
	bd.count, bd.lastOffset = 0, o.BaseOffset-1
	bd.baseTimestamp, bd.maxTimestamp = kafka.NoTimestamp, kafka.NoTimestamp
	if o.Codec > Zstd {
		bd.fail(errInvalidCodec)
	}
}

// Append copies one record with the next offset into the batch. A record that no
// batch can hold (negative timestamp, too large) makes Build fail.
func (bd *Builder) Append(ts kafka.TimestampMs, key, value []byte, headers []Header) {
	bd.AppendAt(bd.lastOffset+1, ts, key, value, headers)
}

// AppendAt is Append with an offset, which must be above the last one.
func (bd *Builder) AppendAt(offset kafka.Offset, ts kafka.TimestampMs, key, value []byte, headers []Header) {
	if bd.count == 0 && !bd.horizon {
		bd.baseTimestamp = ts
	}
	delta := offset - bd.opts.BaseOffset
	size := sizeOf(key, value, headers)
	switch {
	case ts < kafka.NoTimestamp:
		bd.fail(errTimestamp)
	case offset <= bd.lastOffset || delta > math.MaxInt32:
		bd.fail(errOffset)
	case size > maxRecordSize-len(bd.buf)-maxRecordOverhead:
		bd.fail(errTooLarge)
	}
	if bd.err != nil {
		return
	}
	tsDelta := int64(ts - bd.baseTimestamp)
	body := bodySize(size, tsDelta, int32(delta))
	bd.reserve(body + maxRecordOverhead)
	bd.buf = appendRecord(bd.buf, body, tsDelta, int32(delta), key, value, headers)
	bd.count++
	bd.lastOffset = offset
	bd.maxTimestamp = max(bd.maxTimestamp, ts)
}

// reserve makes room for n more bytes; what append would do takes more steps.
func (bd *Builder) reserve(n int) {
	if cap(bd.buf)-len(bd.buf) < n {
		bd.buf = append(make([]byte, 0, max(2*cap(bd.buf), len(bd.buf)+n)), bd.buf...)
	}
}

func (bd *Builder) fail(err error) {
	if bd.err == nil {
		bd.err = err
	}
}

func bodySize(size int, tsDelta int64, delta int32) int {
	return 1 + sizeOfVarlong(tsDelta) + sizeOfVarint(delta) + size
}

// Count is the number of records appended since Reset.
func (bd *Builder) Count() int32 { return bd.count }

// EstimatedSize bounds the size in bytes of the batch: exact if it is not
// compressed, else the size that it would have uncompressed.
func (bd *Builder) EstimatedSize() int { return max(len(bd.buf), HeaderSize) }

// RecordSize is the exact size in bytes, uncompressed, of a record that Append
// would add now (hasRoomFor compares EstimatedSize + RecordSize with batch.size).
func (bd *Builder) RecordSize(ts kafka.TimestampMs, key, value []byte, headers []Header) int {
	var tsDelta int64
	if bd.count > 0 {
		tsDelta = int64(ts - bd.baseTimestamp)
	}
	delta := bd.lastOffset + 1 - bd.opts.BaseOffset
	body := bodySize(sizeOf(key, value, headers), tsDelta, int32(delta))
	return sizeOfVarint(int32(body)) + body
}

// Build returns the batch in its own memory. The builder keeps its records:
// Build may be called again, and SetProducer changes who wrote them.
func (bd *Builder) Build() (Batch, error) {
	b, err := bd.BuildInPlace()
	if err == nil && bd.opts.Codec == None {
		b = append(Batch(nil), b...) // not make: the memory needs no zeros
	}
	return b, err
}

// BuildInPlace is Build without a copy: the batch is valid until the builder is used
// again, unless it is compressed, which gives it memory of its own.
func (bd *Builder) BuildInPlace() (Batch, error) {
	if bd.err != nil {
		return nil, bd.err
	}
	if bd.count == 0 {
		return nil, errNoRecords
	}
	bd.writeHeader()
	if bd.opts.Codec == None {
		b := Batch(bd.buf[:len(bd.buf):len(bd.buf)]).finish()
		if bd.scratch != nil {
			bd.scratch.Checked.remember(b)
		}
		return b, nil
	}
	if bd.scratch == nil {
		bd.scratch = new(Scratch)
	}
	payload := bd.scratch.compress(bd.opts.Codec, bd.opts.Level, bd.buf[HeaderSize:])
	b := make(Batch, HeaderSize+len(payload))
	copy(b, bd.buf[:HeaderSize])
	copy(b[HeaderSize:], payload)
	return b.finish(), nil
}

// SetProducer sets producer id, epoch and base sequence of the batch to build,
// as an idempotent producer does when it drains the batch.
func (bd *Builder) SetProducer(id int64, epoch int16, baseSequence int32) {
	bd.opts.ProducerID, bd.opts.ProducerEpoch, bd.opts.BaseSequence = id, epoch, baseSequence
}

func (bd *Builder) writeHeader() {
	o := &bd.opts
	attributes := int16(o.Codec)
	maxTimestamp := bd.maxTimestamp
	if o.TimestampType == LogAppendTime {
		attributes |= timestampTypeBit
		maxTimestamp = o.LogAppendTime
	}
	if o.Transactional {
		attributes |= transactionalBit
	}
	if bd.control {
		attributes |= controlBit
	}
	if bd.horizon {
		attributes |= deleteHorizonBit
	}
	h := bd.buf[:HeaderSize]
	be := binary.BigEndian
	be.PutUint64(h[baseOffsetPos:], uint64(o.BaseOffset))
	be.PutUint32(h[leaderEpochPos:], uint32(o.LeaderEpoch))
	h[magicPos] = Magic
	be.PutUint16(h[attributesPos:], uint16(attributes))
	be.PutUint32(h[lastOffsetDeltaPos:], uint32(bd.lastOffset-o.BaseOffset))
	be.PutUint64(h[baseTimestampPos:], uint64(bd.baseTimestamp))
	be.PutUint64(h[maxTimestampPos:], uint64(maxTimestamp))
	be.PutUint64(h[producerIDPos:], uint64(o.ProducerID))
	be.PutUint16(h[producerEpochPos:], uint16(o.ProducerEpoch))
	be.PutUint32(h[baseSequencePos:], uint32(o.BaseSequence))
	be.PutUint32(h[countPos:], uint32(bd.count))
}

// finish writes the length and the CRC.
func (b Batch) finish() Batch {
	binary.BigEndian.PutUint32(b[lengthPos:], uint32(len(b)-LogOverhead))
	b.stampCRC()
	return b
}
