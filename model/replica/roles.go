package replica

import (
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/log"
	"github.com/simkafka/simkafka/model/quirk"
	"github.com/simkafka/simkafka/model/step"
)

// CheckLeaderAndISR is the per-partition verdict of L-28 on a LeaderAndIsr
// request that passed its broker and controller epoch checks. id is zero in
// requests without topic ids.
func (p *Partition) CheckLeaderAndISR(st *State, id kafka.TopicID) kafka.ErrorCode {
	switch {
	case !id.IsZero() && !p.TopicID.IsZero() && id != p.TopicID:
		return kafka.InconsistentTopicID
	case p.offline:
		return kafka.KafkaStorageError
	case st.LeaderEpoch <= p.leaderEpoch && !p.env.Config.Profile.Quirks.Has(quirk.AnyLeaderEpoch):
		return kafka.StaleControllerEpoch
	case !contains(st.Replicas, p.env.Node):
		return kafka.UnknownTopicOrPartition
	}
	return kafka.None
}

// stopEpochDelete marks in StopReplica that the topic is deleted (Z-21).
const stopEpochDelete = kafka.EpochDuringDelete

// CheckStop is the per-partition verdict of L-32 on a StopReplica request.
func (p *Partition) CheckStop(epoch kafka.LeaderEpoch) kafka.ErrorCode {
	switch {
	case p.offline:
		return kafka.KafkaStorageError
	case epoch == stopEpochDelete || epoch == kafka.NoLeaderEpoch || epoch >= p.leaderEpoch:
		return kafka.None
	}
	return kafka.FencedLeaderEpoch
}

// MakeLeader is L-29 from step 3 on: the caller has stopped the partition's
// fetcher, whatever comes of this call, and opened its log. A state with an older
// partition epoch is refused. isNew tells that the broker did not lead before.
// A state with the same leader epoch only renews assignment and ISR. An error is
// the log's; nothing has changed then.
func (p *Partition) MakeLeader(in *step.Input, out *step.Effects, st *State, l *log.Log) (isNew bool, err error) {
	if st.PartitionEpoch < p.partitionEpoch {
		return false, nil
	}
	newEpoch := st.LeaderEpoch > p.leaderEpoch
	leo := l.LogEndOffset()
	if newEpoch && !p.env.Config.Profile.Quirks.Has(quirk.EpochOnFirstWrite) {
		if err := l.AssignEpoch(st.LeaderEpoch, leo); err != nil {
			return false, err
		}
	}
	wasLeader := p.role == Leader
	p.takeLog(out, l)
	p.controllerEpoch, p.partitionEpoch = st.ControllerEpoch, st.PartitionEpoch
	p.role, p.leader = Leader, p.env.Node
	p.assign(st.Replicas)
	p.settleISR(st.ISR)
	if newEpoch {
		p.leaderEpoch, p.epochStart = st.LeaderEpoch, leo
		for i := range p.remotes {
			p.remotes[i].reset(wasLeader, leo, in.Now)
		}
		p.noteLeader(out)
	}
	moved := MovedRole
	if p.maybeIncrementHW(in, out) {
		moved |= MovedHW
	}
	p.env.Watcher.Moved(in, out, p, moved)
	return !wasLeader, nil
}

func (p *Partition) noteLeader(out *step.Effects) {
	e := p.fact(event.BecameLeader)
	e.Offset, e.HW, e.LEO, e.ISR = p.epochStart, p.log.HighWatermark(), p.published, p.isr
	e.PartitionEpoch = p.partitionEpoch
	out.Note(e)
}

// assign keeps a remote for each other replica of the assignment, with what is
// known of those that stay.
func (p *Partition) assign(replicas []kafka.NodeID) {
	p.replicas = replicas
	n := 0
	for i := range p.remotes {
		if contains(replicas, p.remotes[i].id) {
			p.remotes[n] = p.remotes[i]
			n++
		}
	}
	p.remotes = p.remotes[:n]
	for _, id := range replicas {
		if id != p.env.Node && p.remote(id) == nil {
			p.remotes = append(p.remotes, newRemote(id))
		}
	}
}

// MakeFollower is L-30 steps 1 to 3 for a leader that the caller found alive. A
// state with an older partition epoch is refused. newEpoch tells that the leader
// epoch grew: the fetcher must start anew, even at the same leader; otherwise it
// goes on untouched.
func (p *Partition) MakeFollower(in *step.Input, out *step.Effects, st *State, l *log.Log) (newEpoch bool) {
	if st.PartitionEpoch < p.partitionEpoch {
		return false
	}
	newEpoch = st.LeaderEpoch > p.leaderEpoch
	p.takeLog(out, l)
	p.dropRole()
	p.role, p.leader, p.replicas = Follower, st.Leader, st.Replicas
	p.leaderEpoch, p.partitionEpoch, p.controllerEpoch = st.LeaderEpoch, st.PartitionEpoch, st.ControllerEpoch
	if newEpoch {
		e := p.fact(event.BecameFollower)
		e.Leader, e.HW, e.LEO, e.PartitionEpoch = p.leader, l.HighWatermark(), p.published, p.partitionEpoch
		out.Note(e)
	}
	p.env.Watcher.Moved(in, out, p, MovedRole)
	return newEpoch
}

// Stop is StopReplica (L-32); the caller has stopped the fetcher and deals with
// the log. Only a deletion ends the role: otherwise a leader would go on leading,
// as in Kafka, where the controller has seen to its successor before. epoch is
// that of the request.
func (p *Partition) Stop(in *step.Input, out *step.Effects, epoch kafka.LeaderEpoch, deleted bool) {
	if deleted {
		p.dropRole()
		p.leader = kafka.NoNode
	}
	e := p.fact(event.ReplicaStopped)
	e.LeaderEpoch, e.Flag = max(epoch, p.leaderEpoch), deleted
	out.Note(e)
	p.env.Watcher.Moved(in, out, p, MovedRole)
}

// takeLog makes l the log and publishes all that is in it: a role change waits
// for the appends that are under way (leaderIsrUpdateLock).
func (p *Partition) takeLog(out *step.Effects, l *log.Log) {
	first := p.log == nil
	p.log = l
	p.unpublished = p.unpublished[:0]
	if first {
		p.published = l.LogEndOffset()
		return
	}
	p.publishUpTo(out, l.LogEndOffset())
}

// dropRole forgets what only a leader knows.
func (p *Partition) dropRole() {
	p.role = None
	p.resigned++
	p.remotes = nil
	p.settleISR(nil)
	p.epochStart = kafka.NoOffset
}
