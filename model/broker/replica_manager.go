package broker

import (
	"slices"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/log"
	"github.com/simkafka/simkafka/model/replica"
	"github.com/simkafka/simkafka/model/step"
)

// cluster is replica.Cluster; Broker itself has a Controller of another kind.
type cluster struct{ *Broker }

// Controller is where the controller listens, as far as the cache knows.
func (c cluster) Controller() (step.Addr, bool) { return c.cache.controllerAddr() }

// Moved implements replica.Watcher.
func (b *Broker) Moved(_ *step.Input, _ *step.Effects, p *replica.Partition, what replica.Moved) {
	h := p.Host.(*hosted)
	h.moves++
	if h.moved == 0 {
		b.moved = append(b.moved, h)
	}
	h.moved |= what
}

// Rolled implements replica.Watcher.
func (b *Broker) Rolled(in *step.Input, out *step.Effects, p *replica.Partition) {
	b.flushRolled(out, p.TP, p.Log())
	b.deleteLater(in, out, p.Log())
}

// Truncated implements replica.Watcher.
func (b *Broker) Truncated(in *step.Input, out *step.Effects, p *replica.Partition) error {
	b.deleteLater(in, out, p.Log())
	return b.logs.WriteRecoveryPointsOf(p.Log())
}

// LogFailed implements replica.Watcher.
func (b *Broker) LogFailed(_ *step.Input, _ *step.Effects, _ *replica.Partition, err error) {
	b.note(b.absorb(err))
}

// lookAtParked looks at the requests that wait for what has moved in this step.
func (b *Broker) lookAtParked(in *step.Input, out *step.Effects) error {
	for i := 0; i < len(b.moved); i++ {
		h := b.moved[i]
		what := h.moved
		h.moved = 0
		if what&(replica.MovedHW|replica.MovedISR|replica.MovedRole) != 0 {
			b.checkProduces(in, out, h)
		}
		if what&(replica.MovedHW|replica.MovedLEO|replica.MovedRole) != 0 {
			if err := b.checkFetches(in, out, h, what); err != nil {
				return err
			}
		}
	}
	if len(b.moved) > 1 { // the next one takes the place of the first
		clear(b.moved[1:])
	}
	b.moved = b.moved[:0]
	b.checkDeletions(out)
	return nil
}

// openLog is the log of a partition that gets a role: the one that was loaded at
// the start, or a new one.
// isNew is the controller's word that the broker never had it.
func (b *Broker) openLog(in *step.Input, out *step.Effects, h *hosted, isNew bool) (*log.Log, error) {
	if l := h.p.Log(); l != nil {
		return l, nil
	}
	if l := b.logs.Get(h.p.TP); l != nil {
		return l, b.logs.SetTopicID(h.p.TP, h.p.TopicID)
	}
	l, err := b.logs.Create(h.p.TP, h.p.TopicID, isNew, in.Wall)
	if err == nil {
		b.noteLoaded(out, h.p.TP, l, false)
		b.wakeCleaner(in, out)
	}
	return l, err
}

// storedTopicID is the id that a loaded log carries, zero if none does.
func (b *Broker) storedTopicID(tp kafka.TopicPartition) kafka.TopicID {
	all := b.logs.Replicas()
	i, found := slices.BinarySearchFunc(all, tp, func(r log.Replica, tp kafka.TopicPartition) int { return r.TP.Compare(tp) })
	if found {
		return all[i].TopicID
	}
	return kafka.TopicID{}
}
