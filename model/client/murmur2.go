package client

import "encoding/binary"

// murmur2 is Utils.murmur2: the 32-bit MurmurHash2 with Kafka's seed (P-12).
func murmur2(data []byte) int32 {
	const (
		seed = 0x9747b28c
		m    = 0x5bd1e995
		r    = 24
	)
	h := seed ^ uint32(len(data))
	for ; len(data) >= 4; data = data[4:] {
		k := binary.LittleEndian.Uint32(data) * m
		k ^= k >> r
		h = h*m ^ k*m
	}
	switch len(data) {
	case 3:
		h ^= uint32(data[2]) << 16
		fallthrough
	case 2:
		h ^= uint32(data[1]) << 8
		fallthrough
	case 1:
		h = (h ^ uint32(data[0])) * m
	}
	h = (h ^ h>>13) * m
	return int32(h ^ h>>15)
}

// PartitionForKey is the partition of a key among count partitions, available or
// not (P-12).
func PartitionForKey(key []byte, count int) int32 {
	return (murmur2(key) & 0x7fffffff) % int32(count)
}
