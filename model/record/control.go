package record

import (
	"encoding/binary"

	"github.com/simkafka/simkafka/model/kafka"
)

// ControlType is the kind of a control record (ControlRecordType). Others are
// unknown: consumers ignore them and nobody appends them.
type ControlType int16

// The control records (storage 1.6).
const (
	ControlAbort          ControlType = 0
	ControlCommit         ControlType = 1
	ControlLeaderChange   ControlType = 2
	ControlSnapshotHeader ControlType = 3
	ControlSnapshotFooter ControlType = 4
	ControlKRaftVersion   ControlType = 5
	ControlKRaftVoters    ControlType = 6
)

// String is Kafka's name of the type.
func (t ControlType) String() string {
	names := [...]string{"ABORT", "COMMIT", "LEADER_CHANGE", "SNAPSHOT_HEADER", "SNAPSHOT_FOOTER", "KRAFT_VERSION", "KRAFT_VOTERS"}
	if t < 0 || int(t) >= len(names) {
		return "UNKNOWN"
	}
	return names[t]
}

const (
	controlKeySize   = 4
	markerValueSize  = 6
	currentKeyFormat = 0
)

// ControlBatch is a batch of one control record with a raw value, which the
// caller encodes. Of o it honours all but Codec: control batches are written
// uncompressed. The base sequence should be NoSequence.
func ControlBatch(o BatchOptions, ts kafka.TimestampMs, t ControlType, value []byte) (Batch, error) {
	var key [controlKeySize]byte
	binary.BigEndian.PutUint16(key[0:], currentKeyFormat)
	binary.BigEndian.PutUint16(key[2:], uint16(t))
	var bd Builder
	o.Codec = None
	bd.Reset(o)
	bd.control = true
	bd.Append(ts, key[:], value, nil)
	return bd.Build()
}

// Marker is the end of one transaction in one partition (EndTransactionMarker).
type Marker struct {
	ProducerID       int64
	ProducerEpoch    int16
	Commit           bool
	CoordinatorEpoch int32
}

// MarkerBatch is the control batch of m: 78 bytes, transactional, no sequence.
func MarkerBatch(m Marker, base kafka.Offset, epoch kafka.LeaderEpoch, ts kafka.TimestampMs) (Batch, error) {
	o := ClientOptions()
	o.BaseOffset, o.LeaderEpoch, o.Transactional = base, epoch, true
	o.ProducerID, o.ProducerEpoch = m.ProducerID, m.ProducerEpoch
	var value [markerValueSize]byte // i16 version 0, i32 coordinator epoch
	binary.BigEndian.PutUint32(value[2:], uint32(m.CoordinatorEpoch))
	t := ControlAbort
	if m.Commit {
		t = ControlCommit
	}
	return ControlBatch(o, ts, t, value[:])
}

// ParseControl reads a control record's key. A version above 0 is read as 0
// (storage 1.6). The error is an *InvalidRecordError.
func ParseControl(key []byte) (ControlType, error) {
	if len(key) < controlKeySize {
		return 0, &InvalidRecordError{Index: 0, Reason: "its control key is shorter than 4 bytes"}
	}
	if version := int16(binary.BigEndian.Uint16(key)); version < 0 {
		return 0, &InvalidRecordError{Index: 0, Reason: "the version of its control key is negative"}
	}
	return ControlType(binary.BigEndian.Uint16(key[2:])), nil
}

// ParseMarker reads the transaction marker in a control batch. ok is false if
// the batch holds another control record, or none any more after compaction.
func (b Batch) ParseMarker() (m Marker, ok bool, err error) {
	if !b.IsControl() || b.Count() == 0 {
		return Marker{}, false, nil
	}
	var it Iterator
	if it.Reset(b); !it.Next() {
		return Marker{}, false, it.Err()
	}
	t, err := ParseControl(it.rec.Key)
	if err != nil || t != ControlAbort && t != ControlCommit {
		return Marker{}, false, err
	}
	value := it.rec.Value
	if len(value) < markerValueSize {
		return Marker{}, false, &InvalidRecordError{Index: 0, Reason: "its marker value is shorter than 6 bytes"}
	}
	if version := int16(binary.BigEndian.Uint16(value)); version < 0 {
		return Marker{}, false, &InvalidRecordError{Index: 0, Reason: "the version of its marker value is negative"}
	}
	return Marker{
		ProducerID: b.ProducerID(), ProducerEpoch: b.ProducerEpoch(), Commit: t == ControlCommit,
		CoordinatorEpoch: int32(binary.BigEndian.Uint32(value[2:])),
	}, true, nil
}
