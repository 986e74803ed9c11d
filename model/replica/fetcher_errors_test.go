package replica

import (
	"fmt"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/log"
	"github.com/simkafka/simkafka/model/quirk"
	"github.com/simkafka/simkafka/model/record"
	"github.com/simkafka/simkafka/model/step"
	"github.com/simkafka/simkafka/model/vfs"
)

// TestF7ErrorsByCode: most delay for the backoff; a fenced current epoch fails.
func TestF7ErrorsByCode(t *testing.T) {
	for code, fails := range map[kafka.ErrorCode]bool{
		kafka.UnknownLeaderEpoch: false, kafka.NotLeaderOrFollower: false, kafka.UnknownTopicOrPartition: false,
		kafka.UnknownTopicID: false, kafka.InconsistentTopicID: false, kafka.KafkaStorageError: false,
		kafka.UnknownServerError: false, kafka.FencedLeaderEpoch: true,
	} {
		t.Run(code.String(), func(t *testing.T) {
			w, _, b := pair(t, "zk-3.9")
			b.answer(respond(b, code))
			if failed := b.fetcher.Len() == 0; failed != fails || failed != (len(w.all(event.FetcherFailed)) == 1) {
				t.Fatalf("failed: %v", failed)
			}
			if fails {
				return
			}
			if len(b.requests) != 0 {
				t.Fatal("fetched again at once")
			}
			start := w.now
			if b.pending() == nil || w.now-start != kafka.Second {
				t.Errorf("fetched again after %v", w.now-start)
			}
		})
	}
}

// TestF7AFencedEpochThatWasOvertakenIsRetried: at once, because the answer is late;
// a follower that takes late answers (KAFKA-18991) waits first.
func TestF7AFencedEpochThatWasOvertakenIsRetried(t *testing.T) {
	for _, quirks := range []quirk.Set{{}, quirk.Of(quirk.LateFetchTaken)} {
		w, a, b := pair(t, "zk-3.9")
		w.profile.Quirks = quirks
		a.append(0, "x", 1, 1)
		b.exchange() // so that the re-added partition starts fetching, at the same offset
		resp := respond(b, kafka.FencedLeaderEpoch)
		b.follow(0, 1, 1, 1, ids(1, 2))
		b.answer(resp)
		if b.fetcher.Len() != 1 || len(w.all(event.FetcherFailed)) != 0 {
			t.Errorf("%s: failed", quirks)
		}
		if waits := quirks.Has(quirk.LateFetchTaken); waits != (len(b.requests) == 0) {
			t.Errorf("%s: %d requests sent", quirks, len(b.requests))
		}
	}
}

// TestF7AFailedPartitionComesBackWithANewerEpoch.
func TestF7AFailedPartitionComesBackWithANewerEpoch(t *testing.T) {
	_, a, b := pair(t, "zk-3.9")
	b.answer(respond(b, kafka.FencedLeaderEpoch))
	a.lead(0, 1, 1, ids(1, 2), ids(1, 2))
	a.append(0, "x", 1, 1)
	b.follow(0, 1, 1, 1, ids(1, 2))
	b.exchange()
	if got := b.contents(0); got != "0..0@1:x" {
		t.Errorf("%q", got)
	}
}

// TestF7ADisconnectDelaysAllPartitions of the fetcher, also those not asked for.
func TestF7ADisconnectDelaysAllPartitions(t *testing.T) {
	w, _, b := pair(t, "zk-3.9")
	b.pending()
	b.follow(1, 1, 0, 0, ids(1, 2)) // added while the first fetch is in flight
	b.disconnect()
	start := w.now
	for i := range b.fetcher.parts {
		if got := b.fetcher.parts[i].delayedUntil; got != start+kafka.Second {
			t.Errorf("partition %d delayed until %v", i, got)
		}
	}
}

// TestF7ACorruptBatchIsFetchedAgain, never skipped.
func TestF7ACorruptBatchIsFetchedAgain(t *testing.T) {
	w, a, b := pair(t, "zk-3.9")
	a.append(0, "x", 1, 1)
	resp := a.serve(b.pending()).(*kmsg.FetchResponse)
	part := &resp.Topics[0].Partitions[0]
	part.RecordBatches = slices.Clone(part.RecordBatches)
	part.RecordBatches[len(part.RecordBatches)-1] ^= 1
	b.answer(resp)
	if b.contents(0) != "" || b.fetcher.Len() != 1 || len(b.requests) != 0 {
		t.Fatalf("%q", b.contents(0))
	}
	start := w.now
	b.exchange()
	if got := b.contents(0); got != "0..0@0:x" || w.now-start != kafka.Second {
		t.Errorf("%q after %v", got, w.now-start)
	}
}

// TestF7ADiskErrorFailsAndIsTold, a refusal by the log fails only the partition,
// and a crash ends the step.
func TestF7ADiskErrorFailsAndIsTold(t *testing.T) {
	for _, c := range []struct {
		err    error
		failed bool
		told   bool
	}{
		{vfs.ErrIO, true, true},
		{fmt.Errorf("log: write: %w", vfs.ErrNoSpace), true, true},
		{log.ErrOffline, true, true},
		{&log.OffsetOutOfRangeError{}, true, false},
		{&log.UnexpectedAppendOffsetError{}, true, false},
		{&log.RecordBatchTooLargeError{}, true, false},
		{record.ErrOffsetsOutOfOrder, true, false},
		{&record.CorruptError{}, false, false},
	} {
		_, _, b := pair(t, "zk-3.9")
		if err := b.fetcher.onLogError(b.input(step.Response), b.out, b.partition(0), c.err); err != nil {
			t.Errorf("%v ends the step: %v", c.err, err)
		}
		if failed, told := b.fetcher.Len() == 0, b.logFailed != nil; failed != c.failed || told != c.told {
			t.Errorf("%v: failed %v, told %v", c.err, failed, told)
		}
	}
	_, _, b := pair(t, "zk-3.9")
	crash := fmt.Errorf("log: write: %w", vfs.ErrCrashed)
	if err := b.fetcher.onLogError(b.input(step.Response), b.out, b.partition(0), crash); err != crash {
		t.Errorf("a crash: %v", err)
	}
}

// TestT5RecoveryPointsThatCannotBeWrittenAreADiskError.
func TestT5RecoveryPointsThatCannotBeWrittenAreADiskError(t *testing.T) {
	w := newWorld(t, "zk-0.10", 2)
	b := w.broker(2)
	fill(w, b, 10, 10)
	b.append2Uncommitted(t)
	b.cutError = vfs.ErrIO
	b.follow(0, 1, 1, 1, ids(1, 2))
	b.pending()
	if b.fetcher.Len() != 0 || b.logFailed == nil {
		t.Errorf("%d partitions, told %v", b.fetcher.Len(), b.logFailed)
	}
}
