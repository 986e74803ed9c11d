package log

import (
	"errors"
	"math"
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/record"
)

// producerBatchOf is what an idempotent producer sends: records of the timestamp ts
// from sequence number seq on.
func producerBatchOf(t testingT, id int64, epoch int16, seq int32, records int, ts kafka.TimestampMs, transactional bool) record.Batch {
	t.Helper()
	o := record.ClientOptions()
	o.ProducerID, o.ProducerEpoch, o.BaseSequence, o.Transactional = id, epoch, seq, transactional
	var bd record.Builder
	bd.Reset(o)
	for range records {
		bd.Append(ts, nil, []byte("value"), nil)
	}
	b, err := bd.Build()
	check(t, err)
	return b
}

func plainOf(t testingT, id int64, epoch int16, seq int32, records int) record.Batch {
	t.Helper()
	return producerBatchOf(t, id, epoch, seq, records, 1000, false)
}

func txnOf(t testingT, id int64, epoch int16, seq int32, records int) record.Batch {
	t.Helper()
	return producerBatchOf(t, id, epoch, seq, records, 1000, true)
}

func markerOf(t testingT, id int64, epoch int16, commit bool, coordinator int32) record.Batch {
	t.Helper()
	m := record.Marker{ProducerID: id, ProducerEpoch: epoch, Commit: commit, CoordinatorEpoch: coordinator}
	b, err := record.MarkerBatch(m, 0, kafka.NoLeaderEpoch, 1000)
	check(t, err)
	return b
}

func appendMarker(t testingT, l *Log, id int64, epoch int16, commit bool, coordinator int32) AppendInfo {
	t.Helper()
	info, verdict, err := l.Append(markerOf(t, id, epoch, commit, coordinator), &LeaderAppend{Now: 1, Origin: Coordinator})
	check(t, err)
	equal(t, "verdict", verdict.Code, kafka.None)
	return info
}

func refusedWith(t testingT, l *Log, b record.Batch, o LeaderAppend, code kafka.ErrorCode) {
	t.Helper()
	end := l.LogEndOffset()
	info, verdict, err := l.Append(b, &o)
	check(t, err)
	equal(t, "verdict", verdict.Code, code)
	equal(t, "end", l.LogEndOffset(), end)
	equal(t, "base of a refused append", info.Base, kafka.NoOffset)
}

func TestStorageTrap23SequenceWraps(t *testing.T) {
	l, _ := newLog(t, smallConfig())
	appendLeader(t, l, plainOf(t, 1, 0, math.MaxInt32-1, 4), 0, 1)
	equal(t, "last sequence", l.Producers()[0].LastSequence, 1)
	equal(t, "duplicate", appendLeader(t, l, plainOf(t, 1, 0, math.MaxInt32-1, 4), 0, 1).Duplicate, true)
	refusedWith(t, l, plainOf(t, 1, 0, 3, 1), LeaderAppend{}, kafka.OutOfOrderSequenceNumber)
	appendLeader(t, l, plainOf(t, 1, 0, 2, 1), 0, 1)

	appendLeader(t, l, plainOf(t, 2, 0, math.MaxInt32, 1), 0, 1)
	refusedWith(t, l, plainOf(t, 2, 0, 1, 1), LeaderAppend{}, kafka.OutOfOrderSequenceNumber)
	appendLeader(t, l, plainOf(t, 2, 0, 0, 1), 0, 1)
}

func TestStorageTrap24UnknownProducerMayStartAnywhere(t *testing.T) {
	l, _ := newLog(t, smallConfig())
	appendLeader(t, l, plainOf(t, 1, 0, 0, 50), 0, 1)
	l.SetHighWatermark(50)
	_, code, err := l.DeleteRecords(50)
	check(t, err)
	equal(t, "deletion", code, kafka.None)
	refusedWith(t, l, plainOf(t, 1, 0, 60, 1), LeaderAppend{}, kafka.OutOfOrderSequenceNumber) // known still
	l.ExpireProducers(1000 + 86_400_000)
	equal(t, "producers", l.ProducerCount(), 0)
	equal(t, "base", appendLeader(t, l, plainOf(t, 1, 0, 60, 1), 0, 1).Base, 50)
}

func TestStorageTrap25DuplicateInTheLastFiveReturnsItsOffsets(t *testing.T) {
	l, _ := newLog(t, smallConfig())
	for i := range int32(6) {
		equal(t, "base", appendLeader(t, l, plainOf(t, 1, 0, 2*i, 2), 0, 1).Base, kafka.Offset(2*i))
	}
	for i := int32(1); i < 6; i++ {
		info := appendLeader(t, l, plainOf(t, 1, 0, 2*i, 2), 0, 1)
		equal(t, "duplicate", info.Duplicate, true)
		equal(t, "base", info.Base, kafka.Offset(2*i))
		equal(t, "last", info.Last, kafka.Offset(2*i+1))
		equal(t, "timestamp", info.MaxTimestamp, 1000)
		equal(t, "nothing written", len(info.Batch)+info.Size+info.Batches, 0)
	}
	equal(t, "end", l.LogEndOffset(), 12)
	refusedWith(t, l, plainOf(t, 1, 0, 0, 2), LeaderAppend{}, kafka.OutOfOrderSequenceNumber)
	// Both ends of the sequence range, and the epoch, must be the same.
	refusedWith(t, l, plainOf(t, 1, 0, 10, 1), LeaderAppend{}, kafka.OutOfOrderSequenceNumber)
	refusedWith(t, l, plainOf(t, 1, 1, 10, 2), LeaderAppend{}, kafka.OutOfOrderSequenceNumber)
}

func TestStorageTrap26ProducersExpireByRecordTimestamps(t *testing.T) {
	const hour = 3_600_000
	const now = kafka.TimestampMs(100 * hour)
	l, _ := newLog(t, smallConfig())
	check := func(ts kafka.TimestampMs, left int) {
		t.Helper()
		appendLeader(t, l, producerBatchOf(t, 7, 0, 0, 1, ts, false), 0, now)
		l.ExpireProducers(now)
		equal(t, "producers", l.ProducerCount(), left)
	}
	check(now-25*hour, 0)
	check(now-24*hour, 0) // inclusive
	check(now-24*hour+1, 1)
}

func TestProducersWithAnOpenTransactionDoNotExpire(t *testing.T) {
	l, _ := newLog(t, smallConfig())
	appendLeader(t, l, txnOf(t, 1, 0, 0, 1), 0, 1)
	l.ExpireProducers(1 << 50)
	equal(t, "producers", l.ProducerCount(), 1)
	appendMarker(t, l, 1, 0, true, 3)
	l.ExpireProducers(1 << 50)
	equal(t, "producers", l.ProducerCount(), 0)
}

// The order of cluster P-15, corrected: of two faults the earlier check answers.
func TestClusterP15ProducerChecksInOrder(t *testing.T) {
	l, _ := newLog(t, smallConfig())
	appendLeader(t, l, plainOf(t, 1, 5, 0, 3), 0, 1)
	for _, c := range []struct {
		what  string
		batch record.Batch
		code  kafka.ErrorCode
	}{
		{"older epoch", plainOf(t, 1, 4, 3, 1), kafka.InvalidProducerEpoch},
		{"older epoch and sequence", plainOf(t, 1, 4, 9, 1), kafka.InvalidProducerEpoch},
		{"older epoch, a duplicate's sequences", plainOf(t, 1, 4, 0, 3), kafka.InvalidProducerEpoch},
		{"gap", plainOf(t, 1, 5, 4, 1), kafka.OutOfOrderSequenceNumber},
		{"overlap", plainOf(t, 1, 5, 2, 2), kafka.OutOfOrderSequenceNumber},
		{"new epoch not at 0", plainOf(t, 1, 6, 3, 1), kafka.OutOfOrderSequenceNumber},
	} {
		refusedWith(t, l, c.batch, LeaderAppend{}, c.code)
	}
	appendLeader(t, l, plainOf(t, 1, 6, 0, 1), 0, 1) // a higher epoch begins anew
	refusedWith(t, l, plainOf(t, 1, 5, 0, 3), LeaderAppend{}, kafka.InvalidProducerEpoch)

	appendLeader(t, l, txnOf(t, 2, 0, 0, 1), 0, 1)
	refusedWith(t, l, plainOf(t, 2, 0, 2, 1), LeaderAppend{}, kafka.OutOfOrderSequenceNumber)
	refusedWith(t, l, plainOf(t, 2, 0, 1, 1), LeaderAppend{}, kafka.InvalidTxnState)
	appendMarker(t, l, 2, 0, true, 0)
	appendLeader(t, l, plainOf(t, 2, 0, 1, 1), 0, 1)
}

// Cluster P-16: with six requests in flight a lost answer can be out of the window;
// its batch is refused then, never stored twice.
func TestClusterP16SixthOldestBatchIsRefusedNotRepeated(t *testing.T) {
	l, _ := newLog(t, smallConfig())
	for i := range int32(6) {
		appendLeader(t, l, plainOf(t, 1, 0, i, 1), 0, 1)
	}
	refusedWith(t, l, plainOf(t, 1, 0, 0, 1), LeaderAppend{}, kafka.OutOfOrderSequenceNumber)
	equal(t, "duplicate", appendLeader(t, l, plainOf(t, 1, 0, 1, 1), 0, 1).Base, 1)
}

func TestMarkerChecksTheProducerEpochBeforeTheCoordinators(t *testing.T) {
	l, _ := newLog(t, smallConfig())
	appendLeader(t, l, txnOf(t, 1, 5, 0, 1), 0, 1)
	appendMarker(t, l, 1, 5, true, 7)
	o := LeaderAppend{Origin: Coordinator}
	refusedWith(t, l, markerOf(t, 1, 4, true, 6), o, kafka.InvalidProducerEpoch)
	refusedWith(t, l, markerOf(t, 1, 5, true, 6), o, kafka.TransactionCoordinatorFenced)
	equal(t, "batches are remembered", appendLeader(t, l, txnOf(t, 1, 5, 0, 1), 0, 1).Duplicate, true)
	appendMarker(t, l, 1, 6, false, 7) // fences, without a transaction
	p := l.Producers()[0]
	equal(t, "epoch", p.Epoch, 6)
	equal(t, "last sequence", p.LastSequence, record.NoSequence)
	equal(t, "aborted", len(l.active().txnEntries()), 0)
	refusedWith(t, l, txnOf(t, 1, 5, 1, 1), LeaderAppend{}, kafka.InvalidProducerEpoch)
	refusedWith(t, l, txnOf(t, 1, 6, 1, 1), LeaderAppend{}, kafka.OutOfOrderSequenceNumber)
	appendLeader(t, l, txnOf(t, 1, 6, 0, 1), 0, 1)
}

func TestCoordinatorNeedsNoSequence(t *testing.T) {
	l, _ := newLog(t, smallConfig())
	o := LeaderAppend{Origin: Coordinator}
	for range 2 { // not a duplicate either
		info, verdict, err := l.Append(txnOf(t, 1, 0, record.NoSequence, 1), &o)
		check(t, err)
		equal(t, "verdict", verdict.Code, kafka.None)
		equal(t, "duplicate", info.Duplicate, false)
	}
	appendMarker(t, l, 1, 1, false, 0)
	refusedWith(t, l, txnOf(t, 1, 0, record.NoSequence, 1), o, kafka.InvalidProducerEpoch)
	refusedWith(t, l, markerOf(t, 1, 1, true, 0), LeaderAppend{}, kafka.InvalidRecord) // from a client
}

// KIP-890 part 1: the first batch of a transaction needs the guard of a
// verification that nothing has ended.
func TestFirstBatchOfATransactionNeedsItsGuard(t *testing.T) {
	cfg := smallConfig()
	cfg.VerifyTransactions = true
	l, _ := newLog(t, cfg)
	refusedWith(t, l, txnOf(t, 1, 0, 0, 1), LeaderAppend{}, kafka.InvalidTxnState)
	appendLeader(t, l, plainOf(t, 9, 0, 0, 1), 0, 1) // not transactional

	guard := l.StartVerification(1, 3, 0, 1)
	equal(t, "the same verification", l.StartVerification(1, 0, 0, 1), guard)
	refusedWith(t, l, txnOf(t, 1, 0, 0, 1), LeaderAppend{Guard: guard + 1}, kafka.InvalidTxnState)
	refusedWith(t, l, txnOf(t, 1, 0, 0, 1), LeaderAppend{}, kafka.InvalidTxnState)
	// Sequence number 0 was seen to wait: it must come first.
	refusedWith(t, l, txnOf(t, 1, 0, 3, 1), LeaderAppend{Guard: guard}, kafka.OutOfOrderSequenceNumber)
	_, verdict, err := l.Append(txnOf(t, 1, 0, 0, 1), &LeaderAppend{Guard: guard})
	check(t, err)
	equal(t, "verdict", verdict.Code, kafka.None)
	equal(t, "guard is gone", l.VerificationGuard(1), NoGuard)
	equal(t, "nothing to verify", l.StartVerification(1, 1, 0, 1), NoGuard)
	appendLeader(t, l, txnOf(t, 1, 0, 1, 1), 0, 1)
	appendMarker(t, l, 1, 0, true, 0)

	stale := l.StartVerification(1, 2, 0, 1)
	appendMarker(t, l, 1, 0, false, 0) // ends the verification
	refusedWith(t, l, txnOf(t, 1, 0, 2, 1), LeaderAppend{Guard: stale}, kafka.InvalidTxnState)
	if again := l.StartVerification(1, 2, 0, 1); again == stale || again == NoGuard {
		t.Fatalf("guard %d after %d", again, stale)
	}
	l.ExpireProducers(1 + 86_400_000)
	equal(t, "expired", l.VerificationGuard(1), NoGuard)
}

// A higher epoch forgets the lowest sequence number of the one before.
func TestVerificationFollowsTheEpoch(t *testing.T) {
	cfg := smallConfig()
	cfg.VerifyTransactions = true
	l, _ := newLog(t, cfg)
	l.StartVerification(1, 0, 0, 1)
	guard := l.StartVerification(1, 5, 1, 1)
	_, verdict, err := l.Append(txnOf(t, 1, 1, 5, 1), &LeaderAppend{Guard: guard})
	check(t, err)
	equal(t, "verdict", verdict.Code, kafka.None)
}

// Storage 6.1: the roll comes before the producers are looked at.
func TestDuplicateMayRoll(t *testing.T) {
	l, _ := newLog(t, smallConfig())
	for i := range int32(2) { // of about 420 bytes
		appendLeader(t, l, plainOf(t, 1, 0, 30*i, 30), 0, 1)
	}
	equal(t, "segments", len(l.Segments()), 1)
	info := appendLeader(t, l, plainOf(t, 1, 0, 30, 30), 0, 1)
	equal(t, "duplicate", info.Duplicate, true)
	equal(t, "base", info.Base, 30)
	equal(t, "rolled", info.Rolled, true)
	equal(t, "at", info.RollBase, 60)
	equal(t, "segments", len(l.Segments()), 2)
	equal(t, "snapshot", l.snapshots[0], 60)
}

func TestRefusedAppendMayRoll(t *testing.T) {
	l, _ := newLog(t, smallConfig())
	appendLeader(t, l, plainOf(t, 1, 0, 0, 60), 0, 1)
	info, verdict, err := l.AppendAsLeader(plainOf(t, 1, 0, 7, 30), 0, 1)
	check(t, err)
	equal(t, "verdict", verdict.Code, kafka.OutOfOrderSequenceNumber)
	equal(t, "rolled", info.Rolled, true)
	equal(t, "at", info.RollBase, 60)
}

// A follower checks nothing but what no leader can have stored.
func TestFollowerTakesWhatTheLeaderHas(t *testing.T) {
	l, _ := newLog(t, smallConfig())
	follow := func(b record.Batch, base kafka.Offset) error {
		b = append(record.Batch(nil), b...)
		b.SetBaseOffset(base)
		b.SetPartitionLeaderEpoch(0)
		_, err := l.AppendAsFollower(b, 1)
		return err
	}
	check(t, follow(plainOf(t, 1, 5, 7, 1), 0))
	check(t, follow(plainOf(t, 1, 4, 3, 1), 1)) // older epoch: only a warning in Kafka
	equal(t, "epoch", l.Producers()[0].Epoch, 4)
	check(t, follow(txnOf(t, 2, 0, 0, 1), 2))
	var state *InvalidTxnStateError
	if err := follow(plainOf(t, 2, 0, 1, 1), 3); !errors.As(err, &state) || state.ProducerID != 2 || state.Offset != 3 {
		t.Fatalf("error %v", err)
	}
	equal(t, "end", l.LogEndOffset(), 3)
	equal(t, "usable", l.Failure(), nil)
	check(t, follow(markerOf(t, 2, 0, true, 9), 3))
	check(t, follow(markerOf(t, 2, 0, true, 8), 4)) // older coordinator
	equal(t, "coordinator", l.Producers()[1].CoordinatorEpoch, 8)
}

// A refused set of batches leaves no trace of those that were fine.
func TestFollowersAppendIsWholeOrNothing(t *testing.T) {
	l, _ := newLog(t, smallConfig())
	var batches []record.Batch
	for i, b := range []record.Batch{txnOf(t, 1, 0, 0, 1), plainOf(t, 2, 0, 0, 1), plainOf(t, 1, 0, 1, 1)} {
		b.SetBaseOffset(kafka.Offset(i))
		b.SetPartitionLeaderEpoch(0)
		batches = append(batches, b)
	}
	_, err := l.AppendAsFollower(join(batches...), 1)
	var state *InvalidTxnStateError
	if !errors.As(err, &state) || state.Offset != 2 {
		t.Fatalf("error %v", err)
	}
	equal(t, "producers", l.ProducerCount(), 0)
	equal(t, "open transaction", l.HasOngoingTransaction(1), false)
	equal(t, "end", l.LogEndOffset(), 0)
	l.SetHighWatermark(0)
	equal(t, "last stable offset", l.LastStableOffset(), 0)
}
