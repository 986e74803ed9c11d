package replica

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/log"
	"github.com/simkafka/simkafka/model/record"
	"github.com/simkafka/simkafka/model/step"
	"github.com/simkafka/simkafka/model/vfs"
)

// onNoAnswer delays what a request that got no answer was about: all partitions
// for a fetch (F-7, corrected), its own for the others.
func (f *Fetcher) onNoAnswer(in *step.Input, req kmsg.Request) {
	if _, ok := req.(*kmsg.FetchRequest); ok {
		f.delayAll(in)
		return
	}
	for i := range f.asked {
		if s := f.asker(&f.asked[i]); s != nil {
			f.delay(in, s)
		}
	}
}

func (f *Fetcher) delayAll(in *step.Input) {
	for i := range f.parts {
		f.delay(in, &f.parts[i])
	}
}

// delay leaves a partition out for replica.fetch.backoff.ms, unless it is already.
func (f *Fetcher) delay(in *step.Input, s *fetchState) {
	if s.state == outOfRange || s.state == beforeLog {
		s.state = fetching
	}
	if s.delayedUntil <= in.Now {
		s.delayedUntil = in.Now + f.env.Config.ReplicaFetchBackoff
	}
}

// onError deals with a partition's error code (F-7). asked is the leader epoch of
// the request: a fenced one that is still the local one ends the following, one
// that was overtaken is tried again.
func (f *Fetcher) onError(in *step.Input, out *step.Effects, s *fetchState, asked kafka.LeaderEpoch, code kafka.ErrorCode) {
	if code == kafka.FencedLeaderEpoch && asked == s.epoch {
		f.fail(out, s.p, "fenced by the leader")
		return
	}
	f.delay(in, s)
}

// onLogError deals with what an append, a truncation or a log start did to the
// log. A batch that came damaged is fetched again, never skipped; anything else
// marks the partition failed. The error returned is vfs.ErrCrashed.
func (f *Fetcher) onLogError(in *step.Input, out *step.Effects, p *Partition, err error) error {
	if errors.Is(err, vfs.ErrCrashed) {
		return err
	}
	var (
		corrupt    *record.CorruptError
		unreadable *record.InvalidRecordError
	)
	if s := f.state(p); s != nil && (errors.As(err, &corrupt) || errors.As(err, &unreadable)) {
		f.delay(in, s)
		return nil
	}
	f.fail(out, p, err.Error())
	if !leavesLogUsable(err) {
		f.env.Watcher.LogFailed(in, out, p, err)
	}
	return nil
}

// leavesLogUsable tells the refusals of an append or of a log start from failures
// of the directory.
func leavesLogUsable(err error) bool {
	var (
		outOfRange *log.OffsetOutOfRangeError
		unexpected *log.UnexpectedAppendOffsetError
		tooLarge   *log.RecordBatchTooLargeError
		txnState   *log.InvalidTxnStateError
		unreadable *record.InvalidRecordError
	)
	return errors.Is(err, record.ErrOffsetsOutOfOrder) || errors.As(err, &outOfRange) ||
		errors.As(err, &unexpected) || errors.As(err, &tooLarge) || errors.As(err, &txnState) || errors.As(err, &unreadable)
}

// fail stops following until a newer leader epoch comes (markPartitionFailed).
func (f *Fetcher) fail(out *step.Effects, p *Partition, why string) {
	if i, found := f.find(p); found && f.parts[i].p == p {
		f.removeAt(i)
	}
	e := p.fact(event.FetcherFailed)
	e.Text = why
	out.Note(e)
}
