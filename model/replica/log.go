package replica

import (
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/record"
)

// Log is the partition log as this package uses it.
type Log interface {
	LogStartOffset() kafka.Offset
	LogEndOffset() kafka.Offset
	HighWatermark() kafka.Offset
	SetHighWatermark(kafka.Offset)
	LatestEpoch() kafka.LeaderEpoch
	AppendAsLeader(b record.Batch, epoch kafka.LeaderEpoch, now kafka.TimestampMs) (AppendInfo, record.Verdict, error)
	AppendAsFollower(buf []byte) (AppendInfo, error)
	Read(start kafka.Offset, maxBytes int, upper kafka.Offset, minOne bool) (ReadInfo, error)
	AvailableBytes(from, upper kafka.Offset) int64
	TruncateTo(kafka.Offset) error
	TruncateFullyAndStartAt(kafka.Offset) error
	AssignEpoch(kafka.LeaderEpoch, kafka.Offset) error
	EndOffsetForEpoch(kafka.LeaderEpoch) (kafka.LeaderEpoch, kafka.Offset)
}

type AppendInfo struct {
	Base, Last kafka.Offset
}

type ReadInfo struct {
	Records []byte
}
