package replica

import "github.com/simkafka/simkafka/model/kafka"

// truncateEpoch279 is T-3, KIP-279: the leader says for which epoch it answers;
// where the follower does not know that epoch, it cuts to the end of its own next
// smaller one and asks again.
type truncateEpoch279 struct{}

func (truncateEpoch279) name() string  { return "epoch279" }
func (truncateEpoch279) asks() bool    { return true }
func (truncateEpoch279) onFetch() bool { return false }

func (truncateEpoch279) cut(l epochs, initial kafka.Offset, answer epochEnd) (kafka.Offset, bool) {
	leo := l.LogEndOffset()
	if answer.end == kafka.NoOffset {
		return min(initial, leo), true
	}
	if answer.epoch == kafka.NoLeaderEpoch {
		return min(answer.end, leo), true
	}
	own, ownEnd := l.EndOffsetForEpoch(answer.epoch)
	switch {
	case own == kafka.NoLeaderEpoch:
		return min(answer.end, leo), true
	case own != answer.epoch:
		return min(ownEnd, leo), false
	}
	return min(ownEnd, answer.end, leo), true
}
