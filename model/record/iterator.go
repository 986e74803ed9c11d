package record

import "github.com/simkafka/simkafka/model/kafka"

// Iterator walks the records of one batch. Over an uncompressed batch it
// allocates nothing, apart from header keys that differ from those of the record
// before. The zero value is ready for Reset; it is a value to reuse.
type Iterator struct {
	walk      walker
	rec       Record
	err       error
	base      kafka.Offset
	baseTime  kafka.TimestampMs
	appended  kafka.TimestampMs
	sequence  int32
	logAppend bool
	headers   []Header
	scratch   *Scratch
}

// UseScratch makes Reset decompress with s, into memory that the next use of s
// overwrites. Without it each compressed batch gets decoders and memory of its
// own.
func (it *Iterator) UseScratch(s *Scratch) { it.scratch = s }

// Reset starts over with the records of b. A compressed batch is decompressed
// here; if that fails, Err tells it at once.
func (it *Iterator) Reset(b Batch) {
	it.rec = Record{}
	it.base, it.baseTime, it.sequence = b.BaseOffset(), b.BaseTimestamp(), b.BaseSequence()
	it.logAppend, it.appended = b.TimestampType() == LogAppendTime, b.MaxTimestamp()
	it.walk, it.err = walkBatch(b, it.scratch)
}

// Next moves to the next record. It returns false after the last one and on an
// error.
func (it *Iterator) Next() bool {
	if it.err != nil || it.walk.left == 0 {
		return false
	}
	if !it.walk.next() {
		it.err = it.walk.failure()
		return false
	}
	v := &it.walk.view
	it.rec.Offset = it.base + kafka.Offset(v.offsetDelta)
	it.rec.Timestamp = it.baseTime + kafka.TimestampMs(v.timestampDelta)
	if it.logAppend {
		it.rec.Timestamp = it.appended
	}
	it.rec.Sequence = NoSequence
	if it.sequence >= 0 {
		it.rec.Sequence = IncrementSequence(it.sequence, v.offsetDelta)
	}
	it.rec.Key, it.rec.Value, it.rec.Headers = v.key, v.value, nil
	if v.headerCount > 0 {
		it.headers = v.appendHeaders(it.headers)
		it.rec.Headers = it.headers
	}
	return true
}

// Record is the current record. The record and its header slice are overwritten
// by Next; the bytes of key, value and headers alias the batch, or the buffer of
// the decompressed batch, and stay.
func (it *Iterator) Record() *Record { return &it.rec }

// Err is nil, an *InvalidRecordError or a *DecompressError.
func (it *Iterator) Err() error { return it.err }

// walker steps through a record area without decoding more than its structure.
type walker struct {
	view  view
	area  []byte
	index int
	left  int32 // records still to come
	// partially: records are read with parsePartially.
	partially bool
	reason    string
}

// walkBatch opens the record area of b, decompressed into s if it is compressed.
func walkBatch(b Batch, s *Scratch) (walker, error) {
	w := walker{left: b.Count()}
	if w.left < 0 {
		return walker{}, &InvalidRecordError{Index: -1, Reason: "its record count is negative"}
	}
	if w.left == 0 {
		return w, nil
	}
	w.area = b[HeaderSize:]
	if c := b.Codec(); c != None {
		var err error
		if w.area, err = s.decompress(c, w.area); err != nil {
			return walker{}, err
		}
	}
	return w, nil
}

// next parses one record into w.view. The caller has seen that left > 0. After
// the last record nothing may be left of the area (storage 1.4).
func (w *walker) next() bool {
	var size int
	var reason string
	if w.partially {
		size, reason = w.view.parsePartially(w.area)
	} else {
		size, reason = w.view.parse(w.area)
	}
	if reason != "" {
		w.reason = reason
		return false
	}
	w.area = w.area[size:]
	w.left--
	if w.left == 0 && len(w.area) > 0 {
		w.reason = "bytes follow the last record"
		return false
	}
	w.index++
	return true
}

func (w *walker) failure() error {
	return &InvalidRecordError{Index: w.index, Reason: w.reason}
}
