package broker

import (
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/log"
	"github.com/simkafka/simkafka/model/replica"
	"github.com/simkafka/simkafka/model/step"
)

// retain deletes old segments of the logs behind after (LogManager.cleanupLogs,
// storage 8), of whatever role, except for compacted ones, which the cleaner looks at.
// A log that is shortened ends the step; the rest follows in another.
func (b *Broker) retain(in *step.Input, out *step.Effects, after kafka.TopicPartition) error {
	return b.eachLog(in, out, after, timerRetainOn, func(r *log.Replica) (busy bool, err error) {
		if r.Log.Config().Compact {
			return false, nil
		}
		return b.retainLog(in, out, r)
	})
}

// retainLog deletes old segments of one log; shortened tells that some went.
func (b *Broker) retainLog(in *step.Input, out *step.Effects, r *log.Replica) (shortened bool, err error) {
	start := r.Log.LogStartOffset()
	done, err := r.Log.DeleteOldSegments(in.Wall)
	b.noteRetention(out, r, start, &done)
	if err != nil || len(done.Deleted) == 0 {
		return false, b.absorb(err)
	}
	if done.Rolled {
		b.flushRolled(out, r.TP, r.Log)
	}
	b.deleteLater(in, out, r.Log)
	if h := b.topics.get(r.TP.Topic, r.TP.Partition); h != nil {
		b.Moved(in, out, h.p, replica.MovedHW) // a parked fetch may lie below the log start now
	}
	return true, nil
}

// noteRetention notes what was deleted from a log that began at start.
func (b *Broker) noteRetention(out *step.Effects, r *log.Replica, start kafka.Offset, done *log.Retention) {
	e := event.Event{Node: b.cfg.NodeID, TP: r.TP}
	if done.Rolled {
		e.Kind, e.Base = event.SegmentRolled, r.Log.LogEndOffset()
		out.Note(e)
	}
	if now := r.Log.LogStartOffset(); now != start {
		e.Kind, e.Base, e.LogStart, e.Text = event.LogStartRaised, 0, now, event.StartByRetention
		out.Note(e)
	}
	e.LogStart, e.Text = 0, ""
	for _, s := range done.Deleted {
		e.Kind, e.Base, e.Text = event.SegmentDeleted, s.Base, string(s.Pass)
		out.Note(e)
	}
}
