package replica

import "github.com/simkafka/simkafka/model/kafka"

// truncateToHW is T-1, before 0.11: cut at the local high watermark and ask
// nobody. Unsafe: the follower's high watermark trails what is committed
// (KIP-101).
type truncateToHW struct{}

func (truncateToHW) name() string  { return "hw" }
func (truncateToHW) asks() bool    { return false }
func (truncateToHW) onFetch() bool { return false }

func (truncateToHW) cut(l epochs, initial kafka.Offset, _ epochEnd) (kafka.Offset, bool) {
	return min(initial, l.LogEndOffset()), true
}
