// Package kafka holds the vocabulary that every other package speaks: node and
// partition names, offsets, epochs, units and the protocol's error codes.
//
// It mirrors org.apache.kafka.common.TopicPartition, common.Uuid and
// common.protocol.Errors. It knows no behaviour beyond formatting and parsing.
package kafka

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// NodeID is a broker id (broker.id). Clients and ZooKeeper have none.
type NodeID int32

// NoNode stands for "no leader" and "no controller" (cluster Z-21).
const NoNode NodeID = -1

// LeaderDuringDelete is the leader id that marks a topic being deleted in
// UpdateMetadata (cluster Z-21).
const LeaderDuringDelete NodeID = -2

// Offset is a record offset. Ends (log end offset, high watermark) are exclusive.
type Offset int64

// NoOffset is the protocol's "unknown offset".
const NoOffset Offset = -1

// LeaderEpoch counts the leaders of one partition, from 0 (KIP-101).
type LeaderEpoch int32

// NoLeaderEpoch is the protocol's "no epoch known".
const NoLeaderEpoch LeaderEpoch = -1

// EpochDuringDelete is the leader epoch of a StopReplica request for a topic that is
// being deleted (Z-21).
const EpochDuringDelete LeaderEpoch = -2

// PartitionEpoch counts the changes of a partition's state. In ZooKeeper mode it
// is the version of the partition-state znode.
type PartitionEpoch int32

// ControllerEpoch counts controller elections; the first controller has 1.
type ControllerEpoch int32

// BrokerEpoch identifies one life of a broker process (KIP-380): in ZooKeeper
// mode the creation zxid of its registration znode. -1 is unknown.
type BrokerEpoch int64

// Nanos is a duration, or a point of virtual time since the start of the run,
// in nanoseconds.
type Nanos int64

// Units of Nanos.
const (
	Microsecond Nanos = 1000
	Millisecond       = 1000 * Microsecond
	Second            = 1000 * Millisecond
	Minute            = 60 * Second
	Hour              = 60 * Minute
	// Forever is later than every event of a run.
	Forever Nanos = 1<<63 - 1
)

// Millis converts a setting in milliseconds, saturating at Forever.
func Millis(ms int64) Nanos {
	if ms >= int64(Forever/Millisecond) {
		return Forever
	}
	return Nanos(ms) * Millisecond
}

// String prints seconds with millisecond digits, as traces and tables show time.
func (n Nanos) String() string {
	if n == Forever {
		return "forever"
	}
	sign := ""
	if n < 0 {
		sign, n = "-", -n
	}
	return fmt.Sprintf("%s%d.%06ds", sign, n/Second, n%Second/Microsecond)
}

// TimestampMs is a wall-clock time in milliseconds since the Unix epoch, as in
// record batches. -1 is "no timestamp".
type TimestampMs int64

// NoTimestamp is a record without a timestamp.
const NoTimestamp TimestampMs = -1

// TopicPartition names one partition.
type TopicPartition struct {
	Topic     string
	Partition int32
}

// String is Kafka's own form, also the partition's directory name: topic-partition.
func (tp TopicPartition) String() string {
	return tp.Topic + "-" + strconv.Itoa(int(tp.Partition))
}

// Compare orders by topic, then partition.
func (tp TopicPartition) Compare(o TopicPartition) int {
	if c := strings.Compare(tp.Topic, o.Topic); c != 0 {
		return c
	}
	return int(tp.Partition) - int(o.Partition)
}

// ParseTopicPartition reads "topic-partition"; the partition is what follows the
// last '-' (storage 0).
func ParseTopicPartition(s string) (TopicPartition, error) {
	i := strings.LastIndexByte(s, '-')
	if i <= 0 {
		return TopicPartition{}, fmt.Errorf("%q is not topic-partition", s)
	}
	p, err := strconv.ParseInt(s[i+1:], 10, 32)
	if err != nil || p < 0 {
		return TopicPartition{}, fmt.Errorf("%q has no partition number after its last '-'", s)
	}
	return TopicPartition{Topic: s[:i], Partition: int32(p)}, nil
}

// TopicID is the 16-byte topic id of KIP-516. The zero value is "none".
type TopicID [16]byte

// String is 22 characters of URL-safe base64 without padding, as Kafka prints ids.
func (id TopicID) String() string { return base64.RawURLEncoding.EncodeToString(id[:]) }

// IsZero reports whether there is no id.
func (id TopicID) IsZero() bool { return id == TopicID{} }

// ParseTopicID reads the form that String prints.
func ParseTopicID(s string) (TopicID, error) {
	var id TopicID
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		return id, err
	}
	if len(b) != len(id) {
		return id, errors.New("a topic id has 16 bytes")
	}
	copy(id[:], b)
	return id, nil
}

// JavaHash is java.lang.String.hashCode over the UTF-16 units of s (cluster 6.4).
func JavaHash(s string) int32 {
	var h int32
	for _, r := range s {
		if r >= 0x10000 {
			r -= 0x10000
			h = 31*h + 0xd800 + r>>10
			h = 31*h + 0xdc00 + r&0x3ff
			continue
		}
		h = 31*h + r
	}
	return h
}
