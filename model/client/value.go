package client

import (
	"encoding/binary"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/record"
)

// MinValueSize is the size of a value's head: the smallest value of a Producer.
//
//	 0 i32 number of the producer
//	 4 u32 valueMagic, which tells our values from others
//	 8 i64 number of the record within (producer, partition)
//	16 i64 time of the send call, in Nanos
//	24     filler, the same for every record of a producer
const MinValueSize = 24

const valueMagic = 0x736b_0001

// ParseValue reads the head of a value that a Producer made; ok is false for any
// other value.
func ParseValue(v []byte) (producer int32, number int64, sent kafka.Nanos, ok bool) {
	if len(v) < MinValueSize || binary.BigEndian.Uint32(v[4:]) != valueMagic {
		return -1, -1, 0, false
	}
	return int32(binary.BigEndian.Uint32(v)), int64(binary.BigEndian.Uint64(v[8:])),
		kafka.Nanos(binary.BigEndian.Uint64(v[16:])), true
}

// ParseRecord is ParseValue of a record that may be a tombstone, which has the head in
// its header.
func ParseRecord(r *record.Record) (producer int32, number int64, sent kafka.Nanos, ok bool) {
	if r.Value == nil && len(r.Headers) == 1 && r.Headers[0].Key == headHeader {
		return ParseValue(r.Headers[0].Value)
	}
	return ParseValue(r.Value)
}

// headHeader is the key of the header that carries the head of a tombstone.
const headHeader = "head"

// putValue writes the head; v has at least MinValueSize bytes.
func putValue(v []byte, producer int32, number int64, sent kafka.Nanos) {
	binary.BigEndian.PutUint32(v, uint32(producer))
	binary.BigEndian.PutUint32(v[4:], valueMagic)
	binary.BigEndian.PutUint64(v[8:], uint64(number))
	binary.BigEndian.PutUint64(v[16:], uint64(sent))
}

// fill writes noise that does not compress: a 64-bit linear congruential sequence
// from a drawn seed.
func fill(v []byte, seed uint64) {
	x := seed | 1
	for i := range v {
		x = x*6364136223846793005 + 1442695040888963407
		v[i] = byte(x >> 56)
	}
}
