package log

import (
	"encoding/binary"

	"github.com/simkafka/simkafka/model/kafka"
)

// abortedTxnSize is the size of an entry of the transaction index in bytes: i16
// version, i64 producer id, i64 first offset, i64 last offset, i64 last stable
// offset (storage 4.1).
const abortedTxnSize = 34

// abortedTxnVersion is the one version. Of its two bytes Kafka's reader looks at
// the first alone.
const abortedTxnVersion = 0

// AbortedTxn is a transaction that was aborted after it had written to the
// partition.
type AbortedTxn struct {
	ProducerID  int64
	FirstOffset kafka.Offset // of its first record
	LastOffset  kafka.Offset // of the marker
	// LastStableOffset when the marker was written: all transactions below it were
	// decided.
	LastStableOffset kafka.Offset
}

func (a *AbortedTxn) appendTo(b []byte) []byte {
	b = binary.BigEndian.AppendUint16(b, abortedTxnVersion)
	b = binary.BigEndian.AppendUint64(b, uint64(a.ProducerID))
	b = binary.BigEndian.AppendUint64(b, uint64(a.FirstOffset))
	b = binary.BigEndian.AppendUint64(b, uint64(a.LastOffset))
	return binary.BigEndian.AppendUint64(b, uint64(a.LastStableOffset))
}

// parseAbortedTxn reads an entry of abortedTxnSize bytes; ok is false for a version
// that is not known.
func parseAbortedTxn(b []byte) (a AbortedTxn, ok bool) {
	if int8(b[0]) > abortedTxnVersion {
		return a, false
	}
	return AbortedTxn{
		ProducerID:       int64(binary.BigEndian.Uint64(b[2:])),
		FirstOffset:      kafka.Offset(binary.BigEndian.Uint64(b[10:])),
		LastOffset:       kafka.Offset(binary.BigEndian.Uint64(b[18:])),
		LastStableOffset: kafka.Offset(binary.BigEndian.Uint64(b[26:])),
	}, true
}

// parseTxnIndex reads the whole entries of an index; a fragment at the end is
// ignored. The error is a *CorruptError.
func parseTxnIndex(file string, b []byte) ([]AbortedTxn, error) {
	entries := make([]AbortedTxn, 0, len(b)/abortedTxnSize)
	for pos := 0; pos+abortedTxnSize <= len(b); pos += abortedTxnSize {
		a, ok := parseAbortedTxn(b[pos : pos+abortedTxnSize])
		if !ok {
			return nil, &CorruptError{File: file, Pos: int64(pos), Err: errTxnVersion}
		}
		entries = append(entries, a)
	}
	return entries, nil
}
