package replica

import (
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/log"
	"github.com/simkafka/simkafka/model/quirk"
)

// EndOffsetForEpoch answers OffsetForLeaderEpoch for one partition: the largest
// epoch <= epoch that the log knows and its end, exclusive; both -1 if undefined
// (E-2). current is the asker's leader epoch, -1 if not given.
func (p *Partition) EndOffsetForEpoch(current, epoch kafka.LeaderEpoch) (code kafka.ErrorCode, found kafka.LeaderEpoch, end kafka.Offset) {
	if code := p.checkAccess(current, true); code != kafka.None {
		return code, kafka.NoLeaderEpoch, kafka.NoOffset
	}
	found, end = p.endOffsetFor(epoch)
	return kafka.None, found, end
}

// endOffsetFor is E-2 on what is published.
func (p *Partition) endOffsetFor(epoch kafka.LeaderEpoch) (found kafka.LeaderEpoch, end kafka.Offset) {
	found, end = p.log.EndOffsetForEpoch(epoch)
	return found, min(end, p.published)
}

// The timestamps of ListOffsets that are words (C-9).
const (
	LatestTimestamp        kafka.TimestampMs = -1
	EarliestTimestamp      kafka.TimestampMs = -2
	MaxTimestamp           kafka.TimestampMs = -3
	EarliestLocalTimestamp kafka.TimestampMs = -4
	LatestTieredTimestamp  kafka.TimestampMs = -5
)

// DebuggingReplica is the replica id that reads from any replica.
const DebuggingReplica kafka.NodeID = -2

// ListOffsetArgs is one partition of a ListOffsets request.
type ListOffsetArgs struct {
	Replica            kafka.NodeID // NoNode: a client
	CurrentLeaderEpoch kafka.LeaderEpoch
	Timestamp          kafka.TimestampMs
	// Committed: a client with isolation.level=read_committed.
	Committed bool
}

// ListOffsetResult answers it; what is not found is -1.
type ListOffsetResult struct {
	Code      kafka.ErrorCode
	Timestamp kafka.TimestampMs
	Offset    kafka.Offset
	Epoch     kafka.LeaderEpoch
}

// offsetNotAvailableVersion is the first ListOffsets version of brokers that know
// OFFSET_NOT_AVAILABLE (KIP-207).
const offsetNotAvailableVersion = 5

// ListOffset is C-9. Clients see up to the high watermark or the last stable offset,
// replicas up to the log end. While a new leader's high watermark is below its epoch start, a client's
// LATEST, and a lookup without result, answer OFFSET_NOT_AVAILABLE, so that the
// end does not step back over a failover; the caller maps that to
// LEADER_NOT_AVAILABLE for requests before v5. An error is the log's.
func (p *Partition) ListOffset(a ListOffsetArgs) (ListOffsetResult, error) {
	if code := p.checkAccess(a.CurrentLeaderEpoch, a.Replica != DebuggingReplica); code != kafka.None {
		return noListOffset(code), nil
	}
	client := a.Replica == kafka.NoNode
	bound := p.published
	switch {
	case client && a.Committed:
		bound = p.log.LastStableOffset()
	case client:
		bound = p.log.HighWatermark()
	}
	lagging := client && p.epochStart > p.log.HighWatermark() && p.env.Config.Profile.Versions.ListOffsets >= offsetNotAvailableVersion &&
		!p.env.Config.Profile.Quirks.Has(quirk.LatestStepsBack)
	switch a.Timestamp {
	case LatestTimestamp:
		if lagging {
			return noListOffset(kafka.OffsetNotAvailable), nil
		}
		return ListOffsetResult{kafka.None, kafka.NoTimestamp, bound, p.leaderEpoch}, nil
	case EarliestTimestamp, EarliestLocalTimestamp:
		return found(p.log.EarliestOffset()), nil
	case LatestTieredTimestamp:
		return noListOffset(kafka.None), nil
	}
	t, err := p.lookup(a.Timestamp, bound)
	switch {
	case err != nil:
		return noListOffset(kafka.KafkaStorageError), err
	case t.Offset == kafka.NoOffset && lagging:
		return noListOffset(kafka.OffsetNotAvailable), nil
	}
	return found(t), nil
}

func (p *Partition) lookup(ts kafka.TimestampMs, bound kafka.Offset) (log.TimestampOffset, error) {
	if ts == MaxTimestamp {
		return p.log.MaxTimestampOffset(bound)
	}
	return p.log.OffsetForTimestamp(ts, bound)
}

func found(t log.TimestampOffset) ListOffsetResult {
	return ListOffsetResult{kafka.None, t.Timestamp, t.Offset, t.Epoch}
}

func noListOffset(code kafka.ErrorCode) ListOffsetResult {
	return ListOffsetResult{code, kafka.NoTimestamp, kafka.NoOffset, kafka.NoLeaderEpoch}
}
