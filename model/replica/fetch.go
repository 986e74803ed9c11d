package replica

import (
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/log"
	"github.com/simkafka/simkafka/model/quirk"
	"github.com/simkafka/simkafka/model/step"
)

// FetchArgs is one partition of a fetch request. MaxBytes is what the request's
// limits leave (L-19).
type FetchArgs struct {
	Replica            kafka.NodeID      // the follower's id; NoNode: a consumer
	TopicID            kafka.TopicID     // zero before v13
	CurrentLeaderEpoch kafka.LeaderEpoch // -1: not given
	LastFetchedEpoch   kafka.LeaderEpoch // -1: not given
	Offset             kafka.Offset
	LogStart           kafka.Offset // the follower's; -1: not given
	MaxBytes           int32
	// MinOne: return a whole batch even if larger than MaxBytes (KIP-74).
	MinOne bool
	// AllowFollower: a consumer that may be served by a follower (v11 and later).
	AllowFollower bool
	// Committed: a consumer with isolation.level=read_committed.
	Committed bool
}

// FetchResult answers it. With a code other than None the offsets are -1.
type FetchResult struct {
	Code           kafka.ErrorCode
	Diverging      bool              // DivergingEpoch and DivergingEnd are set, no records (L-17.5)
	DivergingEpoch kafka.LeaderEpoch // -1 unless diverging
	DivergingEnd   kafka.Offset      // exclusive; -1 unless diverging
	Records        []byte            // immutable; may end inside a batch
	HW, LastStable kafka.Offset      // exclusive
	LogStart       kafka.Offset
	// LEO is the leader's end as sampled before the read, for UpdateFollower.
	LEO kafka.Offset
	// AtEnd: the offset is the first that the reader may not see yet, so that
	// CheckDelayedFetch would find nothing and be in no hurry.
	AtEnd bool
	// Aborted are the aborted transactions that may reach into the records; HasAborted
	// tells that they were looked for. The memory is the result's.
	Aborted    []log.AbortedTxn
	HasAborted bool
}

func (a *FetchArgs) isFollower() bool { return a.Replica >= 0 }

// Clear makes it the answer of a read that found nothing.
func (r *FetchResult) Clear() {
	r.Code, r.Diverging, r.AtEnd, r.Records = kafka.None, false, false, nil
	r.Aborted, r.HasAborted = r.Aborted[:0], false
	r.DivergingEpoch, r.DivergingEnd = kafka.NoLeaderEpoch, kafka.NoOffset
	r.HW, r.LastStable, r.LogStart, r.LEO = kafka.NoOffset, kafka.NoOffset, kafka.NoOffset, kafka.NoOffset
}

// refuse makes it the answer of a read that failed.
func (r *FetchResult) refuse(code kafka.ErrorCode) {
	r.Clear()
	r.Code = code
}

// Fetch reads for a consumer or follower, with the checks of L-17 (corrected) in
// order and the bound of L-18. It changes nothing: the caller of a follower's
// fetch that got code None without divergence calls UpdateFollower once, not
// again when a parked fetch is read a second time (L-20). An error is the log's,
// with code KAFKA_STORAGE_ERROR.
func (p *Partition) Fetch(a *FetchArgs) (res FetchResult, err error) {
	err = p.FetchInto(a, &res)
	return res, err
}

// FetchInto is Fetch into the caller's result, whatever that held.
func (p *Partition) FetchInto(a *FetchArgs, res *FetchResult) error {
	if code := p.checkFetch(a); code != kafka.None {
		res.refuse(code)
		return nil
	}
	res.Clear()
	res.HW, res.LogStart, res.LEO = p.log.HighWatermark(), p.log.LogStartOffset(), p.published
	res.LastStable = p.log.LastStableOffset()
	if a.LastFetchedEpoch != kafka.NoLeaderEpoch {
		if code := p.checkDivergence(a, res); code != kafka.None {
			res.refuse(code)
			return nil
		}
		if res.Diverging {
			return nil
		}
	}
	if a.Offset < res.LogStart || a.Offset > res.LEO {
		res.refuse(kafka.OffsetOutOfRange)
		return nil
	}
	upper := p.bound(a)
	res.HasAborted = a.Committed && !a.isFollower()
	if a.Offset >= upper {
		res.AtEnd = a.Offset == upper
		return nil
	}
	minOne := a.MinOne && !p.env.Config.Profile.Quirks.Has(quirk.BatchMustFit)
	read, err := p.log.Read(a.Offset, int(a.MaxBytes), upper, minOne)
	if err != nil {
		res.refuse(kafka.KafkaStorageError)
		return err
	}
	res.Records = read.Records
	if res.HasAborted {
		if res.Aborted, err = p.log.AbortedTransactions(res.Aborted, a.Offset, &read); err != nil {
			res.refuse(kafka.KafkaStorageError)
			return err
		}
	}
	return nil
}

// AsBefore reports whether FetchInto would give the same result again, if the caller
// knows that nothing in the partition has Moved since: a reader at the end of what
// it may see finds nothing.
func (p *Partition) AsBefore(res *FetchResult) bool {
	return res.AtEnd && p.log.HighWatermark() == res.HW && p.log.LogStartOffset() == res.LogStart
}

// bound is L-18: the first offset that the reader may not see.
func (p *Partition) bound(a *FetchArgs) kafka.Offset {
	switch {
	case a.isFollower() || p.env.Config.Profile.Quirks.Has(quirk.ReadToLogEnd):
		return p.published
	case a.Committed:
		return p.log.LastStableOffset()
	}
	return p.log.HighWatermark()
}

// checkFetch is L-17 up to the follower's id.
func (p *Partition) checkFetch(a *FetchArgs) kafka.ErrorCode {
	if p.offline {
		return kafka.KafkaStorageError
	}
	if a.TopicID != p.TopicID && !a.TopicID.IsZero() && !p.TopicID.IsZero() {
		return kafka.InconsistentTopicID
	}
	if code := p.checkAccess(a.CurrentLeaderEpoch, a.isFollower() || !a.AllowFollower); code != kafka.None {
		return code
	}
	if a.isFollower() && p.remote(a.Replica) == nil {
		if a.CurrentLeaderEpoch != kafka.NoLeaderEpoch {
			return kafka.UnknownLeaderEpoch
		}
		return kafka.NotLeaderOrFollower
	}
	return kafka.None
}

// checkAccess is what every read of the log passes: the caller's leader epoch, if
// given, must be the local one, and there must be a leader's (or any) log here.
func (p *Partition) checkAccess(epoch kafka.LeaderEpoch, leaderOnly bool) kafka.ErrorCode {
	if p.offline {
		return kafka.KafkaStorageError
	}
	if epoch != kafka.NoLeaderEpoch && !p.env.Config.Profile.Quirks.Has(quirk.FetchAnyEpoch) {
		switch {
		case epoch < p.leaderEpoch:
			return kafka.FencedLeaderEpoch
		case epoch > p.leaderEpoch:
			return kafka.UnknownLeaderEpoch
		}
	}
	if p.role == None || leaderOnly && p.role != Leader {
		return kafka.NotLeaderOrFollower
	}
	return kafka.None
}

// checkDivergence is L-17.5: it fills the diverging epoch of res, or says that the
// follower is beyond help by truncation.
func (p *Partition) checkDivergence(a *FetchArgs, res *FetchResult) kafka.ErrorCode {
	epoch, end := p.endOffsetFor(a.LastFetchedEpoch)
	switch {
	case end == kafka.NoOffset && p.log.LatestEpoch() != kafka.NoLeaderEpoch && p.env.Config.Profile.Quirks.Has(quirk.UndefinedEndsAtHW):
		res.Diverging, res.DivergingEpoch, res.DivergingEnd = true, p.log.LatestEpoch(), p.log.HighWatermark()
	case epoch == kafka.NoLeaderEpoch || end == kafka.NoOffset, a.Offset < res.LogStart:
		return kafka.OffsetOutOfRange
	case epoch < a.LastFetchedEpoch || end < a.Offset:
		res.Diverging, res.DivergingEpoch, res.DivergingEnd = true, epoch, end
	}
	return kafka.None
}

// UpdateFollower takes an accepted follower fetch, in the order of L-9: the
// follower's state, perhaps an ISR expansion, the high watermark if the
// follower's end changed. leaderLEO is FetchResult.LEO.
func (p *Partition) UpdateFollower(in *step.Input, out *step.Effects, a *FetchArgs, leaderLEO kafka.Offset) {
	if p.role != Leader {
		return
	}
	r := p.remote(a.Replica)
	if r == nil {
		return
	}
	changed := r.fetched(a.Offset, a.LogStart, leaderLEO, in.Now)
	p.maybeExpandISR(in, out, r)
	if changed && p.maybeIncrementHW(in, out) {
		p.env.Watcher.Moved(in, out, p, MovedHW)
	}
}

// CheckDelayedFetch is L-20 for one partition of a parked fetch: bytes is what it
// could return now, at most MaxBytes; done says that the whole request must be
// answered now.
func (p *Partition) CheckDelayedFetch(a *FetchArgs) (bytes int64, done bool) {
	if p.checkAccess(a.CurrentLeaderEpoch, a.isFollower() || !a.AllowFollower) != kafka.None {
		return 0, true
	}
	upper := p.bound(a)
	if a.Offset > upper {
		return 0, true
	}
	if a.LastFetchedEpoch != kafka.NoLeaderEpoch {
		if epoch, end := p.endOffsetFor(a.LastFetchedEpoch); epoch < a.LastFetchedEpoch || end < a.Offset {
			return 0, true
		}
	}
	if a.Offset == upper {
		return 0, false
	}
	bytes, olderSegment := p.log.AvailableBytes(a.Offset, upper)
	return min(bytes, int64(a.MaxBytes)), olderSegment
}
