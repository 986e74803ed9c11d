package replica

import (
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
)

// DeleteRecords raises the log start of the partition to before, on its leader
// (KIP-107, storage 6.5); log.ToHighWatermark stands for the high watermark.
// requested is the offset that was meant. The followers learn of it with their next
// fetch; LowWatermark tells when. An error is the log's.
func (p *Partition) DeleteRecords(in *step.Input, out *step.Effects, before kafka.Offset) (requested kafka.Offset, code kafka.ErrorCode, err error) {
	switch {
	case p.offline:
		return before, kafka.KafkaStorageError, nil
	case p.role != Leader:
		return before, kafka.NotLeaderOrFollower, nil
	}
	start := p.log.LogStartOffset()
	requested, code, err = p.log.DeleteRecords(before)
	if p.log.LogStartOffset() != start {
		p.noteLogStart(out, event.StartByDeletion)
		p.env.Watcher.Moved(in, out, p, MovedHW) // a parked fetch may lie below the log start now
	}
	return requested, code, err
}

// LowWatermark is the lowest log start among the leader and the replicas that are
// alive, as far as their fetches have told; -1 while one of them is unknown.
func (p *Partition) LowWatermark() (kafka.Offset, kafka.ErrorCode) {
	switch {
	case p.offline:
		return kafka.NoOffset, kafka.KafkaStorageError
	case p.role != Leader:
		return kafka.NoOffset, kafka.NotLeaderOrFollower
	}
	low := p.log.LogStartOffset()
	for i := range p.remotes {
		if r := &p.remotes[i]; r.logStart < low && p.env.Cluster.IsAlive(r.id) {
			low = r.logStart
		}
	}
	return low, kafka.None
}
