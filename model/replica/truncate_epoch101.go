package replica

import "github.com/simkafka/simkafka/model/kafka"

// truncateEpoch101 is T-2, KIP-101: cut at the leader's end of the follower's
// latest epoch. Unsafe after two quick changes of leader: the leader answers for
// an epoch that it may not have had itself (KIP-279).
type truncateEpoch101 struct{}

func (truncateEpoch101) name() string  { return "epoch101" }
func (truncateEpoch101) asks() bool    { return true }
func (truncateEpoch101) onFetch() bool { return false }

func (truncateEpoch101) cut(l epochs, initial kafka.Offset, answer epochEnd) (kafka.Offset, bool) {
	if answer.end == kafka.NoOffset {
		return min(initial, l.LogEndOffset()), true
	}
	return min(answer.end, l.LogEndOffset()), true
}
