package group

import (
	"encoding/binary"
	"errors"

	"github.com/simkafka/simkafka/model/kafka"
)

// The records of __consumer_offsets (groups 1.3). A key is its type, int16, and its body;
// a value is its version, int16, and its body; a null value is a tombstone. Big endian; a
// string is its int16 length and UTF-8, -1 for null, bytes have an int32 length. Values
// of version 4 are flexible: lengths are uvarints plus one, and structs end in a count of
// tagged fields.

// The types of keys that are known here (RS-1).
const (
	offsetKeyV0 = 0
	offsetKeyV1 = 1
	groupKeyV2  = 2
)

// Key is a decoded record key.
type Key struct {
	Type  int16
	Group string
	TP    kafka.TopicPartition // of a committed offset
}

// IsOffset: the record is a committed offset.
func (k *Key) IsOffset() bool { return k.Type == offsetKeyV0 || k.Type == offsetKeyV1 }

// IsGroup: the record is a group's metadata.
func (k *Key) IsGroup() bool { return k.Type == groupKeyV2 }

// Offset is a committed offset (OffsetAndMetadata).
type Offset struct {
	Offset      kafka.Offset
	LeaderEpoch kafka.LeaderEpoch // NoLeaderEpoch = none
	Metadata    string
	Committed   kafka.TimestampMs
	Expires     kafka.TimestampMs // NoTimestamp = by the coordinator's rules
}

// Metadata is a group as a record has it. Strings that may be null are "" then; Kafka
// never writes empty ones.
type Metadata struct {
	ProtocolType string
	Generation   int32
	Protocol     string
	Leader       string
	StateTime    kafka.TimestampMs // NoTimestamp = unknown
	Members      []MemberRecord
}

// MemberRecord is a member as a record has it; times are in milliseconds.
type MemberRecord struct {
	ID, Instance     string // Instance "" = none
	Client, Host     string
	RebalanceTimeout int32
	SessionTimeout   int32
	Subscription     []byte // of the protocol that was chosen
	Assignment       []byte
}

var errRecord = errors.New("group: the record ends inside a field")

// AppendOffsetKey appends the key of a committed offset, of type 1.
func AppendOffsetKey(dst []byte, group string, tp kafka.TopicPartition) []byte {
	dst = binary.BigEndian.AppendUint16(dst, offsetKeyV1)
	dst = appendString(appendString(dst, group), tp.Topic)
	return binary.BigEndian.AppendUint32(dst, uint32(tp.Partition))
}

// AppendGroupKey appends the key of a group.
func AppendGroupKey(dst []byte, group string) []byte {
	return appendString(binary.BigEndian.AppendUint16(dst, groupKeyV2), group)
}

// AppendOffset appends the value of a committed offset in a version from 0 to 4. Only
// version 1 has a time of expiry, and only 3 and 4 have a leader epoch.
func AppendOffset(dst []byte, version int16, o *Offset) []byte {
	be := binary.BigEndian
	dst = be.AppendUint16(dst, uint16(version))
	dst = be.AppendUint64(dst, uint64(o.Offset))
	if version >= 3 {
		dst = be.AppendUint32(dst, uint32(o.LeaderEpoch))
	}
	if version >= 4 {
		dst = appendCompact(dst, o.Metadata)
	} else {
		dst = appendString(dst, o.Metadata)
	}
	dst = be.AppendUint64(dst, uint64(o.Committed))
	if version == 1 {
		dst = be.AppendUint64(dst, uint64(o.Expires))
	}
	if version >= 4 {
		dst = append(dst, 0)
	}
	return dst
}

// AppendMetadata appends the value of a group in a version from 0 to 4.
func AppendMetadata(dst []byte, version int16, g *Metadata) []byte {
	w := writer{buf: binary.BigEndian.AppendUint16(dst, uint16(version)), flexible: version >= 4}
	w.string(g.ProtocolType)
	w.int32(g.Generation)
	w.nullable(g.Protocol)
	w.nullable(g.Leader)
	if version >= 2 {
		w.buf = binary.BigEndian.AppendUint64(w.buf, uint64(g.StateTime))
	}
	w.count(len(g.Members))
	for i := range g.Members {
		m := &g.Members[i]
		w.string(m.ID)
		if version >= 3 {
			w.nullable(m.Instance)
		}
		w.string(m.Client)
		w.string(m.Host)
		if version >= 1 {
			w.int32(m.RebalanceTimeout)
		}
		w.int32(m.SessionTimeout)
		w.bytes(m.Subscription)
		w.bytes(m.Assignment)
		w.end()
	}
	w.end()
	return w.buf
}

// writer appends fields in one of the two encodings.
type writer struct {
	buf      []byte
	flexible bool
}

func (w *writer) int32(n int32) { w.buf = binary.BigEndian.AppendUint32(w.buf, uint32(n)) }

func (w *writer) string(s string) {
	if w.flexible {
		w.buf = appendCompact(w.buf, s)
		return
	}
	w.buf = appendString(w.buf, s)
}

// nullable writes "" as null.
func (w *writer) nullable(s string) {
	switch {
	case s != "":
		w.string(s)
	case w.flexible:
		w.buf = append(w.buf, 0)
	default:
		w.buf = append(w.buf, 0xff, 0xff)
	}
}

func (w *writer) count(n int) {
	if w.flexible {
		w.buf = binary.AppendUvarint(w.buf, uint64(n)+1)
		return
	}
	w.int32(int32(n))
}

func (w *writer) bytes(b []byte) {
	w.count(len(b))
	w.buf = append(w.buf, b...)
}

// end is the end of a struct.
func (w *writer) end() {
	if w.flexible {
		w.buf = append(w.buf, 0)
	}
}

func appendString(dst []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint16(dst, uint16(len(s))), s...)
}

func appendCompact(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))+1), s...)
}
