package replica

import (
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
)

// nextHighWatermark is L-8 without its gate: the smallest log end offset among
// the leader, the maximal ISR, and the replicas that are caught up in time and
// alive and so about to join; never below hw.
func nextHighWatermark(hw, leo kafka.Offset, remotes []remote, now, lag kafka.Nanos, c Cluster) kafka.Offset {
	next := leo
	for i := range remotes {
		r := &remotes[i]
		if r.leo < next && (r.member || r.isCaughtUp(leo, now, lag) && c.IsAlive(r.id)) {
			next = r.leo
		}
	}
	return max(hw, next)
}

// effectiveMinISR is L-7.
func (p *Partition) effectiveMinISR() int {
	return min(p.topic.MinInsyncReplicas, len(p.replicas))
}

// maybeIncrementHW runs L-8 and reports whether the high watermark moved.
func (p *Partition) maybeIncrementHW(in *step.Input, out *step.Effects) bool {
	if p.env.Config.Profile.HWMinISRGate && len(p.isr) < p.effectiveMinISR() {
		return false
	}
	hw := p.log.HighWatermark()
	next := nextHighWatermark(hw, p.published, p.remotes, in.Now, p.env.Config.ReplicaLagTimeMax, p.env.Cluster)
	if !p.env.Config.Profile.Quirks.Empty() {
		next = p.mutateHW(next)
	}
	if _, moved := p.log.MaybeIncrementHighWatermark(next); !moved {
		return false
	}
	p.noteHW(out, next)
	return true
}

func (p *Partition) noteHW(out *step.Effects, hw kafka.Offset) {
	e := p.noted(out, event.HighWatermark)
	e.HW, e.LEO, e.Flag = hw, p.published, p.role == Leader
	e.ISR, e.MaximalISR = p.isr, p.maximal
}
