package group

import (
	"encoding/binary"
	"fmt"

	"github.com/simkafka/simkafka/model/kafka"
)

// DecodeKey reads a record's key. That of an unknown type has only its type (RS-1).
func DecodeKey(b []byte) (Key, error) {
	r := reader{buf: b}
	k := Key{Type: r.int16()}
	if k.IsOffset() || k.IsGroup() {
		k.Group = r.string()
	}
	if k.IsOffset() {
		k.TP = kafka.TopicPartition{Topic: r.string(), Partition: r.int32()}
	}
	return k, r.err
}

// DecodeOffset reads the value of a committed offset, of any version from 0 to 4.
func DecodeOffset(b []byte) (Offset, error) {
	r := reader{buf: b}
	version := r.int16()
	o := Offset{LeaderEpoch: kafka.NoLeaderEpoch, Expires: kafka.NoTimestamp}
	if err := r.checkVersion("committed offset", version); err != nil {
		return o, err
	}
	o.Offset = kafka.Offset(r.int64())
	if version >= 3 {
		o.LeaderEpoch = kafka.LeaderEpoch(r.int32())
	}
	o.Metadata = r.string()
	o.Committed = kafka.TimestampMs(r.int64())
	if version == 1 {
		o.Expires = kafka.TimestampMs(r.int64())
	}
	r.end()
	return o, r.err
}

// DecodeMetadata reads the value of a group, of any version from 0 to 4. In version 0 the
// session timeout is that of rebalances too.
func DecodeMetadata(b []byte) (Metadata, error) {
	r := reader{buf: b}
	version := r.int16()
	g := Metadata{StateTime: kafka.NoTimestamp}
	if err := r.checkVersion("group", version); err != nil {
		return g, err
	}
	g.ProtocolType = r.string()
	g.Generation = r.int32()
	g.Protocol, g.Leader = r.string(), r.string()
	if version >= 2 {
		g.StateTime = kafka.TimestampMs(r.int64())
	}
	n := r.count()
	for i := 0; i < n && r.err == nil; i++ {
		g.Members = append(g.Members, r.member(version))
	}
	r.end()
	return g, r.err
}

func (r *reader) member(version int16) (m MemberRecord) {
	m.ID = r.string()
	if version >= 3 {
		m.Instance = r.string()
	}
	m.Client, m.Host = r.string(), r.string()
	if version >= 1 {
		m.RebalanceTimeout = r.int32()
	}
	m.SessionTimeout = r.int32()
	if version == 0 {
		m.RebalanceTimeout = m.SessionTimeout
	}
	m.Subscription, m.Assignment = r.bytes(), r.bytes()
	r.end()
	return m
}

// lastVersion is the newest of both kinds of values, and the flexible one.
const lastVersion = 4

// reader takes fields off a buffer; after an error everything is zero.
type reader struct {
	buf      []byte
	flexible bool
	err      error
}

func (r *reader) checkVersion(what string, version int16) error {
	if r.err == nil && (version < 0 || version > lastVersion) {
		r.err = fmt.Errorf("group: unknown version %d of a %s", version, what)
	}
	r.flexible = version == lastVersion
	return r.err
}

func (r *reader) take(n int) []byte {
	if r.err != nil || n < 0 || n > len(r.buf) {
		if r.err == nil {
			r.err = errRecord
		}
		r.buf = nil
		return nil
	}
	b := r.buf[:n:n]
	r.buf = r.buf[n:]
	return b
}

func (r *reader) int16() int16 {
	if b := r.take(2); b != nil {
		return int16(binary.BigEndian.Uint16(b))
	}
	return 0
}

func (r *reader) int32() int32 {
	if b := r.take(4); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

func (r *reader) int64() int64 {
	if b := r.take(8); b != nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

// uvarint is at most 5 bytes long.
func (r *reader) uvarint() int {
	n, size := binary.Uvarint(r.buf)
	if size <= 0 || size > 5 {
		r.take(-1)
		return 0
	}
	r.take(size)
	return int(n)
}

// string reads null as "".
func (r *reader) string() string {
	n := 0
	if r.flexible {
		n = r.uvarint() - 1
	} else {
		n = int(r.int16())
	}
	if n <= 0 {
		return ""
	}
	return string(r.take(n))
}

// bytes reads null as nil; the slice is the buffer's.
func (r *reader) bytes() []byte {
	n := r.count()
	if n < 0 {
		return nil
	}
	return r.take(n)
}

// count is that of an array or bytes, -1 for null.
func (r *reader) count() int {
	if r.flexible {
		return r.uvarint() - 1
	}
	return int(r.int32())
}

// end skips the tagged fields at the end of a flexible struct.
func (r *reader) end() {
	if !r.flexible {
		return
	}
	for n := r.uvarint(); n > 0 && r.err == nil; n-- {
		r.uvarint()
		r.take(r.uvarint())
	}
}

// subscribedTopics reads the topics of a ConsumerProtocol subscription by the prefix
// that all its versions share; false for what is none.
func subscribedTopics(dst []string, subscription []byte) ([]string, bool) {
	r := reader{buf: subscription}
	r.int16()
	n := r.count()
	if n < 0 {
		return dst, false
	}
	for i := 0; i < n && r.err == nil; i++ {
		dst = append(dst, r.string())
	}
	r.bytes()
	return dst, r.err == nil
}
