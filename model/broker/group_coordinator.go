package broker

import (
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/group"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/log"
	"github.com/simkafka/simkafka/model/netclient"
	"github.com/simkafka/simkafka/model/quirk"
	"github.com/simkafka/simkafka/model/replica"
	"github.com/simkafka/simkafka/model/step"
)

// groups is the broker's place for its group coordinator: it carries out what that
// queues (appends as acks=all produces go, tasks on a lane of their own) and wakes it
// for its deadlines.
type groups struct {
	// coordinator is nil until a group or a partition of __consumer_offsets comes up.
	coordinator *group.Coordinator
	// partitions is how many __consumer_offsets had when the broker started, 0 if there
	// was none.
	partitions int32
	// started is when the broker began to serve: offsets are looked after in a fixed
	// rhythm from then on.
	started kafka.Nanos
	alarm   netclient.Alarm
	working bool // a timer for the next task is set
}

// coordinator is the group coordinator, made if there is none yet.
func (b *Broker) coordinator(in *step.Input, out *step.Effects) *group.Coordinator {
	g := &b.groups
	if g.coordinator != nil {
		return g.coordinator
	}
	count := g.partitions
	if count == 0 {
		count = b.cfg.OffsetsPartitions
	}
	g.coordinator = group.New(b.cfg, groupHost{b}, count, b.topics.scratch)
	g.alarm = netclient.Alarm{Lane: laneExpiration, Kind: timerGroups}
	// Without groups there was nothing to look after before.
	period := b.cfg.OffsetsRetentionCheck
	runs := (in.Now-g.started)/period + 1
	out.SetTimer(b.laneGroups(), g.started+runs*period, timerExpireOffsets, 0, nil)
	return g.coordinator
}

// Groups is the broker's group coordinator, nil if it never had to do with groups.
func (b *Broker) Groups() *group.Coordinator { return b.groups.coordinator }

// groupHost is group.Host.
type groupHost struct{ b *Broker }

// OffsetsLog implements group.Host.
func (h groupHost) OffsetsLog(partition int32) (*log.Log, bool) {
	hosted := h.b.topics.get(group.OffsetsTopic, partition)
	if hosted == nil || hosted.p.Offline() {
		return nil, false
	}
	return hosted.p.Log(), hosted.p.IsLeader()
}

// Draw implements group.Host.
func (h groupHost) Draw(in *step.Input, name string) uint64 { return h.b.draw(in, name) }

// groupsLane runs the coordinator's tasks, one piece at a time (the scheduler of
// GroupMetadataManager has one thread).
func (b *Broker) groupsLane(in *step.Input, out *step.Effects) error {
	if in.Kind != step.Timer {
		return nil
	}
	switch in.Timer {
	case timerGroupTask:
		b.groups.working = false
		return b.absorb(b.groups.coordinator.RunTask(in, out))
	case timerExpireOffsets:
		out.SetTimer(in.Lane, in.Now+b.cfg.OffsetsRetentionCheck, timerExpireOffsets, 0, nil)
		b.groups.coordinator.Expire()
	}
	return nil
}

// groupsDue does what the coordinator has planned for now.
func (b *Broker) groupsDue(in *step.Input, out *step.Effects) {
	if b.groups.alarm.Fired(in) {
		b.groups.coordinator.RunDeadlines(in, out)
	}
}

// settleGroups follows a step: it carries out the appends that the coordinator has
// queued, and sets the timers for what it plans.
func (b *Broker) settleGroups(in *step.Input, out *step.Effects) error {
	c := b.groups.coordinator
	for list := c.Take(); len(list) > 0; list = c.Take() {
		for _, a := range list {
			if err := b.appendOffsets(in, out, a); err != nil {
				return err
			}
		}
	}
	b.groups.alarm.Set(out, c.NextDeadline())
	if c.HasTask() && !b.groups.working {
		b.groups.working = true
		out.SetTimer(b.laneGroups(), in.Now, timerGroupTask, 0, nil)
	}
	return nil
}

// appendOffsets appends for the coordinator; the way from here is that of a produce.
func (b *Broker) appendOffsets(in *step.Input, out *step.Effects, a *group.Append) error {
	code, base := kafka.NotLeaderOrFollower, kafka.NoOffset
	h := b.topics.get(group.OffsetsTopic, a.Partition)
	if h != nil && (h.p.Log() != nil || h.p.Offline()) {
		res, refused, err := h.p.AppendFrom(in, out, a.Batch, a.Acks, log.Coordinator, log.NoGuard)
		if err = b.absorb(err); err != nil {
			return err
		}
		if refused == kafka.None {
			op := b.takeOp(1)
			op.from, op.req, op.acks, op.pending, op.offsets = caller{}, nil, a.Acks, 0, a
			op.parts[0] = producePart{h: h, res: res, time: kafka.NoTimestamp, start: kafka.NoOffset}
			out.Done(doneProduce, 0, op)
			return nil
		}
		code, base = refused, res.Base
	}
	if a.Done != nil {
		a.Done(in, out, code, base)
	}
	return nil
}

// completeOffsets tells the coordinator the outcome of an append.
func (b *Broker) completeOffsets(in *step.Input, out *step.Effects, op *produceOp) {
	part := &op.parts[0]
	if op.acks == replica.AllISR {
		e := out.Fact()
		e.Kind, e.Node, e.Acks, e.Err, e.TP = event.ProduceAnswered, b.cfg.NodeID, op.acks, part.code, part.h.p.TP
		e.Base, e.Last, e.LeaderEpoch = part.res.Base, part.res.Last, part.h.p.LeaderEpoch()
		e.HW, e.MaximalISR = part.h.p.HighWatermark(), part.h.p.MaximalISR()
	}
	if op.offsets.Done != nil {
		op.offsets.Done(in, out, part.code, part.res.Base)
	}
}

// coordinatorsMove loads the groups of partitions that the broker leads now, and unloads
// those of partitions that it follows (RequestHandlerHelper.onLeadershipChange).
func (b *Broker) coordinatorsMove(in *step.Input, out *step.Effects, changes []roleChange) {
	for i := range changes {
		if c := &changes[i]; c.leads && c.topic == group.OffsetsTopic {
			b.coordinator(in, out).Elected(c.partition, c.st.LeaderEpoch)
		}
	}
	for i := range changes {
		if c := &changes[i]; c.follows && c.topic == group.OffsetsTopic {
			b.resigned(in, out, c.partition, c.st.LeaderEpoch)
		}
	}
}

// handlerGap is up to how much later than it was handled a request may be told to the
// coordinator (KAFKA-10614).
const handlerGap = 50 * kafka.Millisecond

// resigned tells the coordinator that a partition is not led any more. Roles change under
// a lock, this comes after it: the thread of a later request may be first. The epoch puts
// the two in order; without it the one order that hurts is drawn.
func (b *Broker) resigned(in *step.Input, out *step.Effects, partition int32, epoch kafka.LeaderEpoch) {
	c := b.coordinator(in, out)
	if !b.cfg.Profile.Quirks.Has(quirk.UnloadUnordered) {
		c.Resigned(partition, epoch)
		return
	}
	late := kafka.Nanos(b.draw(in, "late-resignation") % uint64(handlerGap))
	out.SetTimer(laneRequests, in.Now+late, timerCall, 0, call(func(*step.Input, *step.Effects) error {
		c.Resigned(partition, kafka.NoLeaderEpoch)
		return nil
	}))
}

// exists reports whether a partition is known to the metadata.
func (b *Broker) exists(topic string, partition int32) bool {
	return b.cache.partition(topic, partition) != nil
}

// callerOfGroup is whom the coordinator answers. The client id is the client's name.
func callerOfGroup(in *step.Input, from caller) group.Caller {
	return group.Caller{Conn: from.conn, Correlation: from.correlation, Client: in.From}
}

// refusesStatic: a group instance id is given and the release does not know of any.
func (b *Broker) refusesStatic(instance *string) bool {
	return instance != nil && !b.cfg.Profile.StaticMembers
}
