package record

import (
	"errors"
	"math"
	"strconv"

	"github.com/simkafka/simkafka/model/kafka"
)

// Limits are the topic's settings that the validation of a produced batch reads.
type Limits struct {
	MaxMessageBytes int           // max.message.bytes: batch size with header, inclusive
	SegmentBytes    int           // segment.bytes, inclusive
	TimestampType   TimestampType // message.timestamp.type
	BeforeMaxMs     int64         // message.timestamp.before.max.ms, inclusive
	AfterMaxMs      int64         // message.timestamp.after.max.ms, inclusive
	Codec           Codec         // compression.type, unless KeepCodec
	KeepCodec       bool          // compression.type=producer
	Level           int           // of Codec; 0 is Kafka's default
	Compacted       bool          // cleanup.policy contains compact

	// Coordinator is the origin COORDINATOR in place of CLIENT: offsets written
	// by a group coordinator, transaction markers. Rules 1 and 5 to 7 do not apply.
	Coordinator bool

	// Reuse tells that an accepted batch is of no use when the next one is validated: it
	// may lie in the same memory.
	Reuse bool

	// Scratch is shared memory of the codecs; nil makes new for each batch that
	// needs some.
	Scratch *Scratch

	room *room // shared by copies of the limits
}

// room is memory that batches are put into, one behind the other.
type room struct{ used []byte }

// roomMin and roomMax bound the size of a room.
const (
	roomMin = 4 << 10
	roomMax = 64 << 10
)

// copied is a copy of b behind the copy made before, so that one read of a log can
// give many batches without copying them. Its capacity may hold later copies.
func (l *Limits) copied(b Batch) Batch {
	if l.Reuse {
		return l.overwritten(b)
	}
	if len(b) > roomMax/4 {
		return append(Batch(nil), b...) // not make: the memory needs no zeros
	}
	if l.room == nil {
		l.room = new(room)
	}
	r := l.room
	if size := cap(r.used); size-len(r.used) < len(b) {
		r.used = l.newRoom(max(min(2*size, roomMax), 4*len(b), roomMin))
	}
	n := len(r.used)
	r.used = append(r.used, b...)
	return Batch(r.used[n:])
}

// newRoom has room for size bytes, at most roomMax.
func (l *Limits) newRoom(size int) []byte {
	if size == roomMax && l.Scratch != nil {
		return l.Scratch.Rooms.take()
	}
	return make([]byte, 0, size)
}

// DefaultLimits are the defaults of storage 0.1 (AfterMaxMs before Kafka 4.0).
func DefaultLimits() Limits {
	return Limits{
		MaxMessageBytes: 1048588, SegmentBytes: 1 << 30,
		BeforeMaxMs: math.MaxInt64, AfterMaxMs: math.MaxInt64, KeepCodec: true,
	}
}

// maxRecordErrors bounds the list in a verdict.
const maxRecordErrors = 100

// overwritten is a copy of b in the place of the copy made before.
func (l *Limits) overwritten(b Batch) Batch {
	if l.room == nil {
		l.room = new(room)
	}
	r := l.room
	r.used = append(r.used[:0], b...)
	return Batch(r.used[:len(b):len(b)])
}

// RecordError is one record's part in a refusal (KIP-467).
type RecordError struct {
	Index   int32 // of the record in its batch
	Message string
}

// Verdict is the answer to a produced batch. Code None accepts it.
type Verdict struct {
	Code         kafka.ErrorCode
	Message      string
	RecordErrors []RecordError // the first 100
}

// ValidateAndAssign is what a leader does with the bytes that a client produced
// to one partition, before the producer-state checks (LogValidator and the
// checks around it, storage 1.8 rules 1 to 13). b is not modified. If the verdict's code is None, out is a fresh batch that starts at
// base, stamped with epoch, with its maximum timestamp (now for LogAppendTime)
// and with the topic's codec; else out is nil. A cut tail of b is dropped. With
// Limits.Reuse out is overwritten by the next call.
//
// Rule 13 (segment.bytes) comes in a broker after the
// epoch cache is touched; a log sets no limit here and applies it then.
func ValidateAndAssign(b Batch, base kafka.Offset, epoch kafka.LeaderEpoch, now kafka.TimestampMs, l *Limits) (out Batch, v Verdict) {
	b, v = onlyBatch(b)
	if v.Code == kafka.None {
		v = validateBatch(b, l)
	}
	if v.Code != kafka.None {
		return nil, v
	}
	target := b.Codec()
	if !l.KeepCodec && !(b.IsControl() && target == None) { // plain control records stay so
		target = l.Codec
	}
	c := recordCheck{batch: b, now: now, limits: l, maxTimestamp: kafka.NoTimestamp}
	if target != b.Codec() {
		out, v = c.rebuild(base, epoch, target)
	} else {
		out, v = c.inPlace(base, epoch)
	}
	if v.Code == kafka.None && len(out) > l.SegmentBytes {
		v = refuse(kafka.RecordListTooLarge, "the records are larger than segment.bytes")
	}
	if v.Code != kafka.None {
		return nil, v
	}
	return out, v
}

func refuse(code kafka.ErrorCode, message string) Verdict {
	return Verdict{Code: code, Message: message}
}

// onlyBatch is the request layer: exactly one batch, of magic 2.
func onlyBatch(buf Batch) (Batch, Verdict) {
	size, v := nextInRequest(buf)
	if v.Code != kafka.None {
		return nil, v
	}
	if size == 0 {
		return nil, refuse(kafka.InvalidRecord, "a partition needs a record batch")
	}
	if buf[magicPos] != Magic {
		return nil, refuse(kafka.InvalidRecord, "a record batch must have magic 2")
	}
	if second, v := nextInRequest(buf[size:]); v.Code != kafka.None {
		return nil, v
	} else if second > 0 {
		return nil, refuse(kafka.InvalidRecord, "a partition must have one record batch")
	}
	return buf[:size:size], Verdict{}
}

// nextInRequest is the size in bytes of the whole batch at the start of buf, or
// 0 if there is none.
func nextInRequest(buf Batch) (int, Verdict) {
	size, err := frame(buf)
	if err == ErrIncomplete {
		return 0, Verdict{}
	}
	if err == nil && uint8(buf[magicPos]) > Magic {
		err = badMagic(buf.Magic())
	}
	if err != nil {
		return 0, refuse(kafka.CorruptMessage, err.Error())
	}
	if size > math.MaxInt32 { // the size is negative in Kafka, which fails on it
		return 0, refuse(kafka.UnknownServerError, "the length of the batch overflows")
	}
	if size > len(buf) {
		return 0, Verdict{}
	}
	return size, Verdict{}
}

// validateBatch is rules 1 to 7, in their order.
// check is Batch.Check.
func (l *Limits) check(b Batch) error {
	if l.Scratch == nil {
		return b.Check()
	}
	return l.Scratch.Checked.Check(b)
}

func validateBatch(b Batch, l *Limits) Verdict {
	if !l.Coordinator && b.BaseOffset() != 0 {
		return refuse(kafka.InvalidRecord, "the base offset of a produced batch must be 0")
	}
	if len(b) < baseTimestampPos { // Kafka reads beyond its end
		return refuse(kafka.UnknownServerError, "the batch ends before its last offset delta")
	}
	if len(b) > l.MaxMessageBytes {
		return refuse(kafka.MessageTooLarge, "the batch is larger than max.message.bytes")
	}
	if err := l.check(b); err != nil {
		return refuse(kafka.CorruptMessage, err.Error())
	}
	if b.Codec() > Zstd {
		return refuse(kafka.UnknownServerError, "the compression type is unknown")
	}
	if l.Coordinator {
		return Verdict{}
	}
	span := int64(b.LastOffsetDelta()) + 1
	switch {
	case span <= 0:
		return refuse(kafka.InvalidRecord, "the batch has an invalid offset range")
	case b.Count() <= 0:
		return refuse(kafka.InvalidRecord, "the batch has an invalid record count")
	case span != int64(b.Count()):
		return refuse(kafka.InvalidRecord, "offset range and record count of the batch differ")
	case b.IsControl():
		return refuse(kafka.InvalidRecord, "clients may not write control records")
	case b.HasProducerID() && b.BaseSequence() < 0:
		return refuse(kafka.InvalidRecord, "a batch with a producer id needs a sequence number")
	}
	return Verdict{}
}

// recordCheck is rules 8 to 10 over the records of one batch.
type recordCheck struct {
	batch        Batch
	now          kafka.TimestampMs
	limits       *Limits
	maxTimestamp kafka.TimestampMs
	badTimestamp bool
	errors       []RecordError
	errorCount   int
}

// inPlace keeps the record area as it is.
func (c *recordCheck) inPlace(base kafka.Offset, epoch kafka.LeaderEpoch) (Batch, Verdict) {
	regular, v := c.walk(nil)
	if v.Code != kafka.None {
		return nil, v
	}
	if !regular && c.batch.Codec() != None {
		// Rule 11: Kafka turns to the re-build, which fails on the iterator that
		// has skipped the keys. Deltas of an uncompressed batch are not checked.
		return nil, refuse(kafka.UnknownServerError, "the offsets of the compressed records are not consecutive")
	}
	out := c.limits.copied(c.batch)
	out.SetBaseOffset(base)
	out.SetPartitionLeaderEpoch(epoch)
	if c.limits.TimestampType == LogAppendTime {
		c.maxTimestamp = c.now
	}
	out.setTimestamps(c.limits.TimestampType, c.maxTimestamp)
	if s := c.limits.Scratch; s != nil {
		s.Checked.remember(out)
	}
	return out, Verdict{}
}

// rebuild writes the records anew with the target codec and consecutive offsets.
func (c *recordCheck) rebuild(base kafka.Offset, epoch kafka.LeaderEpoch, target Codec) (Batch, Verdict) {
	s := c.limits.Scratch
	if s == nil {
		s = new(Scratch)
	}
	if s.rebuild == nil {
		s.rebuild = &Builder{scratch: s}
	}
	s.rebuild.Reset(BatchOptions{
		Codec: target, Level: c.limits.Level,
		TimestampType: c.limits.TimestampType, LogAppendTime: c.now,
		BaseOffset: base, LeaderEpoch: epoch,
		ProducerID: c.batch.ProducerID(), ProducerEpoch: c.batch.ProducerEpoch(),
		BaseSequence: c.batch.BaseSequence(), Transactional: c.batch.IsTransactional(),
	})
	if _, v := c.walk(s.rebuild); v.Code != kafka.None {
		return nil, v
	}
	if !c.producerCanBeWritten() {
		return nil, refuse(kafka.UnknownServerError, "the batch has a producer without epoch or sequence, or a transaction without producer")
	}
	out, err := s.rebuild.Build()
	if err != nil { // a negative timestamp
		return nil, refuse(kafka.UnknownServerError, err.Error())
	}
	if len(out) > c.limits.MaxMessageBytes {
		return nil, refuse(kafka.MessageTooLarge, "the re-compressed batch is larger than max.message.bytes")
	}
	return out, Verdict{}
}

// producerCanBeWritten is MemoryRecordsBuilder.validateProducerState.
func (c *recordCheck) producerCanBeWritten() bool {
	b := c.batch
	if b.ProducerID() == NoProducerID {
		return !b.IsTransactional()
	}
	return b.ProducerEpoch() != NoProducerEpoch && b.BaseSequence() >= 0
}

// walk checks every record, and copies it into bd if that is not nil. regular
// says that the offset deltas are 0, 1, 2 and so on.
func (c *recordCheck) walk(bd *Builder) (regular bool, v Verdict) {
	s := c.limits.Scratch
	w, err := walkBatch(c.batch, s)
	if err != nil {
		return false, unreadable(err)
	}
	w.partially = bd == nil && c.batch.Codec() != None
	var headers []Header
	baseTime, appendTime := c.batch.BaseTimestamp(), c.batch.TimestampType() == LogAppendTime
	regular = true
	for i := int32(0); w.left > 0; i++ {
		if !w.next() {
			return false, unreadable(w.failure())
		}
		ts := baseTime + kafka.TimestampMs(w.view.timestampDelta)
		if appendTime {
			ts = c.batch.MaxTimestamp()
		}
		c.record(i, &w.view, ts, appendTime)
		c.maxTimestamp = max(c.maxTimestamp, ts)
		regular = regular && w.view.offsetDelta == i
		if bd != nil && c.errorCount == 0 {
			headers = w.view.appendHeaders(headers)
			bd.Append(ts, w.view.key, w.view.value, headers)
		}
	}
	return regular, c.verdict()
}

// record is rules 8 (keys) to 10 for one record.
func (c *recordCheck) record(i int32, v *view, ts kafka.TimestampMs, appendTime bool) {
	if c.limits.Compacted && v.key == nil {
		c.fail(i, "a compacted topic accepts no record without key")
		return
	}
	if c.limits.TimestampType == CreateTime && ts != kafka.NoTimestamp {
		// The difference wraps as Kafka's does.
		if age := int64(c.now - ts); age > c.limits.BeforeMaxMs || -age > c.limits.AfterMaxMs {
			c.badTimestamp = true
			c.fail(i, "timestamp "+strconv.FormatInt(int64(ts), 10)+" is out of range")
		}
		return
	}
	if appendTime {
		c.badTimestamp = true
		c.fail(i, "a producer may not set the timestamp type LogAppendTime")
	}
}

func (c *recordCheck) fail(i int32, message string) {
	c.errorCount++
	if len(c.errors) < maxRecordErrors {
		c.errors = append(c.errors, RecordError{Index: i, Message: message})
	}
}

// verdict lets a timestamp error win over the others.
func (c *recordCheck) verdict() Verdict {
	switch {
	case c.errorCount == 0:
		return Verdict{}
	case c.badTimestamp:
		return Verdict{kafka.InvalidTimestamp, "records have been rejected for an invalid timestamp", c.errors}
	}
	return Verdict{kafka.InvalidRecord, "records have been rejected: " + c.errors[0].Message, c.errors}
}

// unreadable is the code for records that do not parse or decompress. Kafka answers
// its unexpected error to whatever its codecs throw (since 3.7 also to a cut stream,
// StreamRecordIterator).
func unreadable(err error) Verdict {
	code := kafka.InvalidRecord
	if d := (*DecompressError)(nil); errors.As(err, &d) {
		code = kafka.UnknownServerError
	}
	return refuse(code, err.Error())
}
