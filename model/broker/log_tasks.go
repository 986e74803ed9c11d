package broker

import (
	"errors"
	"slices"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/log"
	"github.com/simkafka/simkafka/model/step"
	"github.com/simkafka/simkafka/model/vfs"
)

// flushes are the background flushes under way (the "flush-log" tasks).
type flushes struct {
	next step.FlushID
	list []flushing
}

type flushing struct {
	id     step.FlushID
	tp     kafka.TopicPartition
	log    *log.Log
	job    log.FlushJob
	synced int // of the job's files
}

// begin syncs what comes next of a flush: a file, as the thread that carries it out
// does, or at the end the directories. What others ask of the disk meanwhile comes
// between, not behind the whole.
func (f *flushes) begin(out *step.Effects, x flushing) {
	f.next++
	x.id = f.next
	f.list = append(f.list, x)
	if x.synced < len(x.job.Files) {
		out.Flush(laneScheduler, x.id, x.job.Files[x.synced:x.synced+1], nil)
		return
	}
	out.Flush(laneScheduler, x.id, nil, x.job.Dirs)
}

// more goes on with a flush of which a part is done, and reports whether there is more.
func (f *flushes) more(out *step.Effects, x flushing) bool {
	if x.synced == len(x.job.Files) {
		return false // that was the directories
	}
	if x.synced++; x.synced == len(x.job.Files) && len(x.job.Dirs) == 0 {
		return false
	}
	f.begin(out, x)
	return true
}

func (f *flushes) underWay(l *log.Log) bool {
	for i := range f.list {
		if f.list[i].log == l {
			return true
		}
	}
	return false
}

// startLogTasks begins the periodic tasks of LogManager and the removal of what an
// earlier life had marked for deletion.
func (b *Broker) startLogTasks(in *step.Input, out *step.Effects) {
	first := in.Now + b.cfg.LogInitialTaskDelay
	b.schedule(out, timerRecoveryPoints, first, b.cfg.FlushOffsetCheckpointInterval)
	b.schedule(out, timerLogStart, first, b.cfg.FlushStartOffsetCheckpoint)
	b.schedule(out, timerFlush, first, b.cfg.LogFlushSchedulerInterval)
	b.schedule(out, timerRetention, first, b.cfg.LogRetentionCheckInterval)
	b.schedule(out, timerProducers, in.Now+b.cfg.ProducerExpirationCheck, b.cfg.ProducerExpirationCheck)
	b.startCleaner(in, out)
	for _, dir := range b.logs.MarkedForDeletion() {
		out.SetTimer(laneScheduler, in.Now+kafka.Millis(b.cfg.LogDefaults.FileDeleteDelayMs), timerDeleteDir, 0, dir)
	}
}

// startHWCheckpoints begins with the first LeaderAndIsr request (L-10).
func (b *Broker) startHWCheckpoints(in *step.Input, out *step.Effects) {
	if b.hwCheckpoints {
		return
	}
	b.hwCheckpoints = true
	b.schedule(out, timerHW, in.Now, b.cfg.HWCheckpointInterval)
}

// schedule arms a periodic task; without a period there is none.
func (b *Broker) schedule(out *step.Effects, kind step.TimerKind, at, period kafka.Nanos) {
	if period > 0 && period < kafka.Forever {
		out.SetTimer(laneScheduler, at, kind, int64(at), nil)
	}
}

func (b *Broker) schedulerLane(in *step.Input, out *step.Effects) error {
	switch in.Kind {
	case step.Flushed:
		return b.flushed(in, out)
	case step.Timer:
		return b.task(in, out)
	}
	return nil
}

func (b *Broker) task(in *step.Input, out *step.Effects) error {
	switch in.Timer {
	case timerHW:
		b.again(in, out, b.cfg.HWCheckpointInterval)
		return b.logs.WriteHighWatermarks()
	case timerRecoveryPoints:
		b.again(in, out, b.cfg.FlushOffsetCheckpointInterval)
		return b.logs.WriteRecoveryPoints()
	case timerLogStart:
		b.again(in, out, b.cfg.FlushStartOffsetCheckpoint)
		return b.logs.WriteLogStartOffsets()
	case timerFlush:
		b.again(in, out, b.cfg.LogFlushSchedulerInterval)
		return b.flushDirty(in, out, kafka.TopicPartition{})
	case timerFlushOn:
		return b.flushDirty(in, out, in.Ref.(kafka.TopicPartition))
	case timerRetention:
		b.again(in, out, b.cfg.LogRetentionCheckInterval)
		return b.retain(in, out, kafka.TopicPartition{})
	case timerRetainOn:
		return b.retain(in, out, in.Ref.(kafka.TopicPartition))
	case timerProducers:
		b.again(in, out, b.cfg.ProducerExpirationCheck)
		b.expireProducers(in)
	case timerISR:
		b.again(in, out, b.cfg.ReplicaLagTimeMax/2)
		for _, h := range b.topics.hosted {
			h.p.MaybeShrinkISR(in, out)
		}
	case timerDeleteFiles:
		return b.logs.RemoveFiles(in.Ref.([]string))
	case timerDeleteDir:
		return b.logs.RemoveDir(in.Ref.(string))
	}
	return nil
}

// again arms a task at its fixed rate; runs that a pause has swallowed are made up
// for at once, one after the other.
func (b *Broker) again(in *step.Input, out *step.Effects, period kafka.Nanos) {
	b.schedule(out, in.Timer, kafka.Nanos(in.Arg)+period, period)
}

// flushRolled starts the background flush that a new segment leaves to do. While one of
// the log's flushes is under way the next one waits: like Kafka's tasks, which wait for
// one of the background.threads, it then covers all that was rolled meanwhile, and what
// the first one made durable needs no second sync (UnifiedLog.flush looks at the
// recovery point when the task runs, not when it was scheduled).
func (b *Broker) flushRolled(out *step.Effects, tp kafka.TopicPartition, l *log.Log) {
	if b.flushes.underWay(l) {
		return // flushed goes on with it
	}
	job, ok := l.PendingFlush()
	if !ok {
		if err := l.Failure(); err != nil {
			b.note(b.absorb(err))
		}
		return
	}
	b.flushes.begin(out, flushing{tp: tp, log: l, job: job})
}

func (b *Broker) flushed(in *step.Input, out *step.Effects) error {
	list := b.flushes.list
	for i := range list {
		if list[i].id != in.Flush {
			continue
		}
		f := list[i]
		b.flushes.list = append(list[:i], list[i+1:]...)
		if b.logs.Get(f.tp) != f.log { // deleted meanwhile
			return f.job.Release()
		}
		if in.Err == nil && f.log.Failure() == nil && b.flushes.more(out, f) {
			return nil
		}
		if err := f.log.FlushDone(f.job, in.Wall, in.Err); err != nil {
			return b.absorb(err)
		}
		b.flushRolled(out, f.tp, f.log) // what was rolled, or truncated, in between
		return nil
	}
	return nil
}

// flushDirty flushes the logs behind after, in the order of partitions, that were
// not flushed for flush.ms. One that is flushed ends the step; the rest follows in
// another.
func (b *Broker) flushDirty(in *step.Input, out *step.Effects, after kafka.TopicPartition) error {
	return b.eachLog(in, out, after, timerFlushOn, func(r *log.Replica) (busy bool, err error) {
		before := r.Log.RecoveryPoint()
		err = r.Log.FlushIfDue(in.Wall)
		return r.Log.RecoveryPoint() != before, b.absorb(err)
	})
}

// eachLog calls do for the logs behind after, in the order of partitions, until it
// is busy; then it goes on with the next one in a step of its own, by a timer of
// kind on.
func (b *Broker) eachLog(in *step.Input, out *step.Effects, after kafka.TopicPartition, on step.TimerKind, do func(*log.Replica) (busy bool, err error)) error {
	all := b.logs.Replicas()
	i, found := slices.BinarySearchFunc(all, after, func(r log.Replica, tp kafka.TopicPartition) int { return r.TP.Compare(tp) })
	if found {
		i++
	}
	for ; i < len(all); i++ {
		if busy, err := do(&all[i]); err != nil {
			return err
		} else if busy {
			out.SetTimer(laneScheduler, in.Now, on, 0, all[i].TP)
			return nil
		}
	}
	return nil
}

// expireProducers is PeriodicProducerExpirationCheck, of all logs at once: in Kafka
// each has its own, with a phase of its own.
func (b *Broker) expireProducers(in *step.Input) {
	for _, r := range b.logs.Replicas() {
		r.Log.ExpireProducers(in.Wall)
	}
}

// deleteLater removes the files that a log has marked, file.delete.delay.ms from
// now.
func (b *Broker) deleteLater(in *step.Input, out *step.Effects, l *log.Log) {
	if files := l.TakeDeleted(); len(files) > 0 {
		out.SetTimer(laneScheduler, in.Now+kafka.Millis(l.Config().FileDeleteDelayMs), timerDeleteFiles, 0, files)
	}
}

// isCorruption tells a batch that cannot be read from a failed directory.
func (b *Broker) isCorruption(h *hosted, err error) bool {
	var corrupt *log.CorruptError
	return !errors.Is(err, vfs.ErrCrashed) && errors.As(err, &corrupt) && h.p.Log().Failure() == nil
}
