package replica

import "github.com/simkafka/simkafka/model/kafka"

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
