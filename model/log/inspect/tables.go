package inspect

import (
	"encoding/binary"

	"github.com/simkafka/simkafka/model/kafka"
)

// Widths of the entries in bytes (storage 3.1, 4.1, 4.5).
const (
	indexWidth     = 8
	timeIndexWidth = 12
	txnIndexWidth  = 34
	snapshotHead   = 10
	snapshotWidth  = 46
)

// table reads entries of fixed width from a file.
type table struct {
	w     *window
	pos   int64 // of the next entry
	width int
}

// next is the next entry; nil at the end, which may leave a fragment.
func (t *table) next() (entry []byte, pos int64, err error) {
	b, err := t.w.at(t.pos, t.width)
	if err != nil || len(b) < t.width {
		return nil, t.pos, err
	}
	pos = t.pos
	t.pos += int64(t.width)
	return b, pos, nil
}

func (t *table) fragment() int64 { return t.w.size - t.pos }

func i16(b []byte, at int) int16 { return int16(binary.BigEndian.Uint16(b[at:])) }
func i32(b []byte, at int) int32 { return int32(binary.BigEndian.Uint32(b[at:])) }
func i64(b []byte, at int) int64 { return int64(binary.BigEndian.Uint64(b[at:])) }

// IndexEntry is an entry of an offset index.
type IndexEntry struct {
	Offset   kafka.Offset `json:"offset"`
	Position int32        `json:"position"`
}

func indexEntry(base kafka.Offset, b []byte) IndexEntry {
	return IndexEntry{base + kafka.Offset(i32(b, 0)), i32(b, 4)}
}

// TimeIndexEntry is an entry of a time index.
type TimeIndexEntry struct {
	Timestamp kafka.TimestampMs `json:"timestamp"`
	Offset    kafka.Offset      `json:"offset"`
}

func timeIndexEntry(base kafka.Offset, b []byte) TimeIndexEntry {
	return TimeIndexEntry{kafka.TimestampMs(i64(b, 0)), base + kafka.Offset(i32(b, 8))}
}

// AbortedTxn is an entry of a transaction index.
type AbortedTxn struct {
	Version          int16        `json:"version"`
	ProducerID       int64        `json:"producer_id"`
	FirstOffset      kafka.Offset `json:"first_offset"`
	LastOffset       kafka.Offset `json:"last_offset"`
	LastStableOffset kafka.Offset `json:"last_stable_offset"`
}

func abortedTxn(b []byte) AbortedTxn {
	return AbortedTxn{i16(b, 0), i64(b, 2), kafka.Offset(i64(b, 10)), kafka.Offset(i64(b, 18)), kafka.Offset(i64(b, 26))}
}

// Producer is an entry of a producer snapshot.
type Producer struct {
	ProducerID            int64             `json:"producer_id"`
	Epoch                 int16             `json:"producer_epoch"`
	LastSequence          int32             `json:"last_sequence"`
	LastOffset            kafka.Offset      `json:"last_offset"`
	OffsetDelta           int32             `json:"offset_delta"`
	Timestamp             kafka.TimestampMs `json:"timestamp"`
	CoordinatorEpoch      int32             `json:"coordinator_epoch"`
	CurrentTxnFirstOffset kafka.Offset      `json:"current_txn_first_offset"`
}

func producer(b []byte) Producer {
	return Producer{
		i64(b, 0), i16(b, 8), i32(b, 10), kafka.Offset(i64(b, 14)), i32(b, 22),
		kafka.TimestampMs(i64(b, 26)), i32(b, 34), kafka.Offset(i64(b, 38)),
	}
}
