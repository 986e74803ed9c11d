package group

import (
	"math"

	"github.com/simkafka/simkafka/model/kafka"
)

// OffsetsTopic is where groups and committed offsets are kept.
const OffsetsTopic = "__consumer_offsets"

// PartitionFor is the partition of __consumer_offsets, of count ones, that a group is in
// (LK-1): by absolute value, not by a mask of the sign.
func PartitionFor(group string, count int32) int32 {
	h := kafka.JavaHash(group)
	switch {
	case h == math.MinInt32:
		return 0
	case h < 0:
		h = -h
	}
	return h % count
}
