package replica

import (
	"github.com/simkafka/simkafka/model/config"
	"github.com/simkafka/simkafka/model/kafka"
)

// truncator is the rule by which a follower cuts its log after a change of leader
// (cluster 2.2). The four rules are four files.
type truncator interface {
	// name is the rule's word in events.
	name() string
	// asks: a truncating follower that knows an epoch asks the leader for the end of
	// its latest epoch; otherwise it cuts at its high watermark.
	asks() bool
	// onFetch: there is no truncating phase for a follower that knows an epoch; its
	// fetches carry the last epoch, and the leader answers with where they diverge.
	onFetch() bool
	// cut decides from the leader's answer. initial is the high watermark with which
	// truncating began. done is false if the follower must ask again. The result is
	// never above the local end.
	cut(l epochs, initial kafka.Offset, answer epochEnd) (to kafka.Offset, done bool)
}

// epochs is what a rule looks at in the local log.
type epochs interface {
	LogEndOffset() kafka.Offset
	EndOffsetForEpoch(kafka.LeaderEpoch) (kafka.LeaderEpoch, kafka.Offset)
}

// epochEnd is an answer to "where does this epoch end": epoch is the largest that
// the leader knows and that is not above the one asked for (-1 from a leader that
// does not say), end its exclusive end, -1 if undefined.
type epochEnd struct {
	epoch kafka.LeaderEpoch
	end   kafka.Offset
}

func truncatorOf(t config.Truncation) truncator {
	switch t {
	case config.TruncateToHW:
		return truncateToHW{}
	case config.TruncateEpoch101:
		return truncateEpoch101{}
	case config.TruncateEpoch279:
		return truncateEpoch279{}
	case config.TruncateOnFetch:
		return truncateOnFetch{}
	}
	panic("replica: unknown truncation rule")
}
