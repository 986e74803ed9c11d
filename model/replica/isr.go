package replica

import (
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/quirk"
	"github.com/simkafka/simkafka/model/step"
)

// pendingKind says which ISR change is in flight (L-1, L-2).
type pendingKind uint8

const (
	committed pendingKind = iota
	pendingExpand
	pendingShrink
)

// ISRChange is a proposed in-sync set on its way to whoever commits it. ISR is
// immutable.
type ISRChange struct {
	Partition       *Partition
	Number          uint32 // tells the partition whether an answer is still wanted
	LeaderEpoch     kafka.LeaderEpoch
	ISR             []kafka.NodeID
	PartitionEpoch  kafka.PartitionEpoch  // expected; the znode's version
	ControllerEpoch kafka.ControllerEpoch // as last accepted; part of the znode
}

// ISRResult answers a change: the fields beside Code count only for None.
type ISRResult struct {
	Code           kafka.ErrorCode
	LeaderEpoch    kafka.LeaderEpoch
	ISR            []kafka.NodeID // immutable
	PartitionEpoch kafka.PartitionEpoch
}

// ISRInFlight reports whether a change waits for its answer.
func (p *Partition) ISRInFlight() bool { return p.pending != committed }

// maybeExpandISR is L-22, after a fetch of r.
func (p *Partition) maybeExpandISR(in *step.Input, out *step.Effects, r *remote) {
	if p.pending != committed || r.member || !p.env.Cluster.IsAlive(r.id) && !p.env.Config.Profile.Quirks.Has(quirk.JoinIneligible) {
		return
	}
	if !r.canJoin(p.log.HighWatermark(), p.epochStart, p.env.Config.Profile.EpochStartGate) {
		return
	}
	grown := with(p.isr, r.id)
	maximal := grown
	if p.env.Config.Profile.Quirks.Has(quirk.HWIgnoresJoining) {
		maximal = p.isr
	}
	p.propose(in, out, pendingExpand, grown, maximal)
}

// MaybeShrinkISR is L-23; the broker calls it for each led partition every half
// replica.lag.time.max.ms.
func (p *Partition) MaybeShrinkISR(in *step.Input, out *step.Effects) {
	if p.role != Leader || p.pending != committed {
		return
	}
	kept := p.inSync(in.Now)
	if len(kept) == len(p.isr) {
		return
	}
	maximal := p.isr
	if p.env.Config.Profile.Quirks.Has(quirk.HWIgnoresLeaving) {
		maximal = kept
	}
	p.propose(in, out, pendingShrink, kept, maximal)
}

// inSync is the ISR without its members that are not caught up; the ISR itself if
// all are. The leader always stays (L-24).
func (p *Partition) inSync(now kafka.Nanos) []kafka.NodeID {
	kept := p.isr
	for i, id := range p.isr {
		in := p.staysInSync(id, now)
		if len(kept) == len(p.isr) {
			if in {
				continue
			}
			kept = make([]kafka.NodeID, i, len(p.isr)-1)
			copy(kept, p.isr)
			continue
		}
		if in {
			kept = append(kept, id)
		}
	}
	return kept
}

func (p *Partition) staysInSync(id kafka.NodeID, now kafka.Nanos) bool {
	if id == p.env.Node {
		return true
	}
	r := p.remote(id)
	return r != nil && r.isCaughtUp(p.published, now, p.env.Config.ReplicaLagTimeMax)
}

// propose puts a change in flight: the maximal ISR counts at once.
func (p *Partition) propose(in *step.Input, out *step.Effects, kind pendingKind, target, maximal []kafka.NodeID) {
	p.change++
	p.pending = kind
	p.setMaximal(maximal)
	e := p.fact(event.IsrProposed)
	e.ISR, e.MaximalISR, e.PartitionEpoch = target, maximal, p.partitionEpoch
	out.Note(e)
	p.env.ISR.Submit(in, out, ISRChange{
		Partition: p, Number: p.change, LeaderEpoch: p.leaderEpoch, ISR: target,
		PartitionEpoch: p.partitionEpoch, ControllerEpoch: p.controllerEpoch,
	})
}

// HandleISR takes the answer to a change (L-26).
func (p *Partition) HandleISR(in *step.Input, out *step.Effects, c ISRChange, res ISRResult) {
	if p.role != Leader || p.pending == committed || c.Number != p.change {
		return
	}
	switch res.Code {
	case kafka.None:
		p.commit(in, out, res)
	case kafka.OperationNotAttempted, kafka.IneligibleReplica:
		p.settleISR(p.isr)
		p.env.Watcher.Moved(in, out, p, MovedISR)
	case kafka.UnknownTopicOrPartition, kafka.UnknownTopicID, kafka.FencedLeaderEpoch,
		kafka.InvalidUpdateVersion, kafka.InvalidRequest, kafka.NewLeaderElected:
		// Stays pending, with the conservative maximal ISR, until a newer state comes.
	default:
		p.env.ISR.Submit(in, out, c)
	}
}

func (p *Partition) commit(in *step.Input, out *step.Effects, res ISRResult) {
	if res.LeaderEpoch != p.leaderEpoch || res.PartitionEpoch < p.partitionEpoch {
		return
	}
	p.settleISR(res.ISR)
	p.partitionEpoch = res.PartitionEpoch
	e := p.fact(event.IsrCommitted)
	e.ISR, e.PartitionEpoch = p.isr, p.partitionEpoch
	out.Note(e)
	moved := MovedISR
	if p.maybeIncrementHW(in, out) {
		moved |= MovedHW
	}
	p.env.Watcher.Moved(in, out, p, moved)
}

// settleISR makes isr the committed set, with nothing in flight.
func (p *Partition) settleISR(isr []kafka.NodeID) {
	p.change++
	p.pending = committed
	p.isr = isr
	p.setMaximal(isr)
}

func (p *Partition) setMaximal(maximal []kafka.NodeID) {
	p.maximal = maximal
	for i := range p.remotes {
		p.remotes[i].member = contains(maximal, p.remotes[i].id)
	}
}

func (p *Partition) remote(id kafka.NodeID) *remote {
	for i := range p.remotes {
		if p.remotes[i].id == id {
			return &p.remotes[i]
		}
	}
	return nil
}
