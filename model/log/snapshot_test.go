package log

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/record"
)

// Vectors of storage 13. R7 was written by a broker.
const (
	vectorR7 = "000155decf9300000002" +
		"000000000000000200000000000200000000000000020000" + "0000" + "0000018bec3a52d4" + "ffffffff" + "ffffffffffffffff" +
		"000000000000000300000000000100000000000000040000" + "0000" + "0000018bec42f625" + "ffffffff" + "ffffffffffffffff"
	vectorS8 = "000167f3f292000000010000000000000fa000020000000e0000000000000087000000040000018bcfe568000000000b0000000000000083"
)

func tableOf(list []producerEntry) *producerTable {
	var s producerState
	s.enter(list, 0, 1<<62)
	return s.table
}

func TestSnapshotVectorsR7AndS8(t *testing.T) {
	list, err := decodeSnapshot("f", unhex(t, vectorR7))
	check(t, err)
	equal(t, "producers", len(list), 2)
	equal(t, "R7 length", len(vectorR7)/2, 102)
	e := list[0]
	equal(t, "id", e.id, 2)
	equal(t, "epoch", e.epoch, 0)
	equal(t, "batch", *e.last(), producerBatch{lastOffset: 2, timestamp: 1700475327188, lastSequence: 2})
	equal(t, "coordinator", e.coordinatorEpoch, noCoordinatorEpoch)
	equal(t, "transaction", e.txnFirst, kafka.NoOffset)
	equal(t, "second", *list[1].last(), producerBatch{lastOffset: 4, timestamp: list[1].lastTimestamp, lastSequence: 1})
	equal(t, "R7", hexOf(encodeSnapshot(tableOf(list))), vectorR7)

	list, err = decodeSnapshot("f", unhex(t, vectorS8))
	check(t, err)
	e = list[0]
	equal(t, "id", e.id, 4000)
	equal(t, "epoch", e.epoch, 2)
	equal(t, "batch", *e.last(), producerBatch{lastOffset: 135, timestamp: 1700000000000, lastSequence: 14, offsetDelta: 4})
	equal(t, "coordinator", e.coordinatorEpoch, 11)
	equal(t, "transaction", e.txnFirst, 131)
	equal(t, "S8", hexOf(encodeSnapshot(tableOf(list))), vectorS8)
}

// Kafka's entries come in the order of a Java hash map: 16 buckets for up to 12
// producers, then 32; the ids 100 and 4 share a bucket of 16 and one of 32.
func TestSnapshotHasTheOrderOfAHashMap(t *testing.T) {
	order := func(t *producerTable) (ids []int64) {
		for _, e := range t.inMapOrder() {
			ids = append(ids, e.id)
		}
		return ids
	}
	s := producerState{}
	table := s.ensure()
	add := func(ids ...int64) {
		for _, id := range ids {
			e := newProducerEntry(id)
			table.put(&e)
		}
	}
	add(100, 17, 4, 3, 1<<32)
	// Buckets: 100 -> 4, 17 -> 1, 4 -> 4, 3 -> 3, 2^32 -> 1.
	equal(t, "order", slices.Equal(order(table), []int64{17, 1 << 32, 3, 100, 4}), true)
	add(1000, 1001, 1002, 1003, 1004, 1005, 1006)
	equal(t, "capacity", table.capacity, 16)
	add(1007)
	equal(t, "capacity", table.capacity, 32)
	want := []int64{1 << 32, 3, 100, 4, 1000, 1001, 1002, 1003, 1004, 1005, 1006, 1007, 17}
	slices.SortStableFunc(want, func(a, b int64) int { return int(table.bucket(a)) - int(table.bucket(b)) })
	equal(t, "order", slices.Equal(order(table), want), true)
	equal(t, "bucket of 17", table.bucket(17), 17)
	equal(t, "bucket of 1007", table.bucket(1007), 1007%32)
	equal(t, "bucket of -2: both halves of the hash", table.bucket(-2), 1)
}

func TestStorageTrap20SnapshotIsNamedByTheNewBaseOrTheEnd(t *testing.T) {
	l, fs := newLog(t, smallConfig())
	for range 3 {
		appendLeader(t, l, sizedBatch(t, 400, 1), 0, 1)
	}
	if names := list(t, fs); !strings.Contains(names, segmentFile(2, snapshotSuffix)) || strings.Count(names, snapshotSuffix) != 1 {
		t.Fatalf("files %s", names)
	}
	check(t, l.Close(true, 1))
	if names := list(t, fs); !strings.Contains(names, segmentFile(3, snapshotSuffix)) || strings.Count(names, snapshotSuffix) != 2 {
		t.Fatalf("files %s", names)
	}

	// A follower's next batch may lie behind a gap; the new segment begins there.
	l, _ = newLog(t, smallConfig())
	appendFollower(t, l, 1, batchAt(t, 0, 0, 800, 1))
	info := appendFollower(t, l, 1, batchAt(t, 10, 0, 800, 1))
	equal(t, "new base", info.RollBase, 10)
	equal(t, "snapshot", l.snapshots[0], 10)
}

func TestStorageTrap21SnapshotWithoutProducersHasTenBytes(t *testing.T) {
	l, fs := newLog(t, smallConfig())
	appendLeader(t, l, sizedBatch(t, 400, 1), 0, 1)
	check(t, l.Close(true, 1))
	equal(t, "file", hexOf(fileOf(t, fs, segmentFile(1, snapshotSuffix))), "000148674bc700000000")
}

func TestStorageTrap22SnapshotKeepsOneBatchOfAProducer(t *testing.T) {
	l, _ := newLog(t, smallConfig())
	for i := range int32(3) {
		appendLeader(t, l, plainOf(t, 1, 0, i, 1), 0, 1)
	}
	equal(t, "before", appendLeader(t, l, plainOf(t, 1, 0, 1, 1), 0, 1).Duplicate, true)
	l = reopen(t, l, true, OpenParams{})
	equal(t, "last batch", appendLeader(t, l, plainOf(t, 1, 0, 2, 1), 0, 1).Base, 2)
	refusedWith(t, l, plainOf(t, 1, 0, 1, 1), LeaderAppend{}, kafka.OutOfOrderSequenceNumber)
	equal(t, "next", appendLeader(t, l, plainOf(t, 1, 0, 3, 1), 0, 1).Base, 3)

	// A recovery, which reads every batch, ends with a snapshot and begins from it.
	l = reopen(t, l, false, OpenParams{})
	check(t, l.Close(false, 1))
	for _, o := range l.snapshots {
		check(t, removeFile(l.fs, l.snapshotPath(o)))
	}
	l = openLog(t, l.fs, l.cfg, OpenParams{})
	equal(t, "last batch", appendLeader(t, l, plainOf(t, 1, 0, 3, 1), 0, 1).Base, 3)
	refusedWith(t, l, plainOf(t, 1, 0, 2, 1), LeaderAppend{}, kafka.OutOfOrderSequenceNumber)
}

// A snapshot over an older, longer file of its name leaves bytes of it behind: the
// CRC fails, and the next older snapshot is taken.
func TestStorageTrap58LongerSnapshotOfTheNameSpoilsTheNewOne(t *testing.T) {
	l, fs := newLog(t, smallConfig())
	appendLeader(t, l, plainOf(t, 1, 0, 0, 2), 0, 1)
	check(t, l.roll(2, 1))
	appendLeader(t, l, plainOf(t, 1, 0, 2, 2), 0, 1)
	var s producerState
	s.mapEnd = 4
	for id := range int64(3) {
		e := newProducerEntry(id)
		s.ensure().put(&e)
	}
	check(t, l.takeSnapshot(&s, true)) // as an earlier life may have left it
	check(t, l.Close(true, 1))
	b := fileOf(t, fs, segmentFile(4, snapshotSuffix))
	equal(t, "length", len(b), snapshotHeadSize+3*snapshotEntrySize)
	if _, err := decodeSnapshot("f", b); err == nil {
		t.Fatal("the CRC covers the rest of the older file")
	}
	l = openLog(t, fs, l.cfg, OpenParams{Clean: true})
	p := l.Producers()[0]
	equal(t, "producers", l.ProducerCount(), 1)
	equal(t, "last sequence", p.LastSequence, 3) // read from the snapshot at 2 on
	equal(t, "snapshot", hexOf(fileOf(t, fs, segmentFile(4, snapshotSuffix))), hexOf(encodeSnapshot(l.producers.table)))
}

// Non-transactional data inside an open transaction cannot be loaded, by recovery
// nor by the replay after a clean stop.
func TestStorageTrap59DataOutsideOfItsOpenTransactionFailsTheLoad(t *testing.T) {
	a, b := txnOf(t, 1, 0, 0, 1), plainOf(t, 1, 0, 1, 1)
	b.SetBaseOffset(1)
	for _, clean := range []bool{true, false} {
		_, fs := newLog(t, smallConfig())
		setFile(t, fs, segmentFile(0, logSuffix), join(a, b))
		// An empty snapshot spares no reading, but shows that producers are expected.
		setFile(t, fs, segmentFile(1, snapshotSuffix), []byte("none"))
		_, err := OpenNow(fs, testDir, smallConfig(), OpenParams{Clean: clean})
		var state *InvalidTxnStateError
		if !errors.As(err, &state) || state.ProducerID != 1 || state.Offset != 1 {
			t.Fatalf("clean %v: error %v", clean, err)
		}
	}
}

// A clean log without any snapshot was closed by a broker that had none: it is not
// read (storage 4.6).
func TestCleanLogWithoutSnapshotsIsTakenForOneWithoutProducers(t *testing.T) {
	l, fs := newLog(t, smallConfig())
	for i := range int32(3) {
		appendLeader(t, l, plainOf(t, 1, 0, 40*i, 40), 0, 1)
	}
	check(t, l.Close(true, 1))
	for _, o := range l.snapshots {
		check(t, removeFile(fs, l.snapshotPath(o)))
	}
	l = openLog(t, fs, l.cfg, OpenParams{Clean: true})
	equal(t, "producers", l.ProducerCount(), 0)
	bases := []kafka.Offset{l.segments[len(l.segments)-2].base, l.active().base, 120}
	if bases[0] == 0 {
		bases = bases[1:]
	}
	equal(t, "snapshots", slices.Equal(l.snapshots, bases), true)
	equal(t, "empty", hexOf(fileOf(t, fs, segmentFile(120, snapshotSuffix))), "000148674bc700000000")
}

// Snapshots go with their segments, strays at the load, except for the newest.
func TestSnapshotsAreRemovedWhereStorage45SaysSo(t *testing.T) {
	l, fs := newLog(t, smallConfig())
	for i := range int32(4) { // segments at 0, 60, 120, 180
		appendLeader(t, l, plainOf(t, 1, 0, 60*i, 60), 0, 1)
	}
	equal(t, "on roll", slices.Equal(l.snapshots, []kafka.Offset{60, 120, 180}), true)
	_, err := l.TruncateTo(130, 1)
	check(t, err)
	// 180 went with its segment; the batch from 120 on was dropped, the end is 130.
	equal(t, "after a truncation", slices.Equal(l.snapshots, []kafka.Offset{60, 120, 130}), true)
	if names := list(t, fs); !strings.Contains(names, segmentFile(180, snapshotSuffix)+deletedSuffix) {
		t.Fatalf("files %s", names)
	}
	appendLeader(t, l, plainOf(t, 1, 0, 120, 5), 0, 1) // 130 to 134
	check(t, l.Close(true, 1))
	for _, stray := range []kafka.Offset{7, 125, 140} {
		setFile(t, fs, segmentFile(stray, snapshotSuffix), nil)
	}
	l = openLog(t, fs, l.cfg, OpenParams{Clean: true})
	// 140, the newest stray, was kept and found to be above the end.
	equal(t, "after a load", slices.Equal(l.snapshots, []kafka.Offset{60, 120, 135}), true)

	check(t, l.TruncateFullyAndStartAt(500, 1))
	equal(t, "after a full truncation", len(l.snapshots), 0)
	equal(t, "producers", l.ProducerCount(), 0)
	if names := list(t, fs); strings.Contains(names, snapshotSuffix+" ") || strings.HasSuffix(names, snapshotSuffix) {
		t.Fatalf("files %s", names)
	}
}

// A raised log start keeps the snapshots; a truncation drops those at or below it.
func TestRaisedLogStartKeepsSnapshotsUntilAReload(t *testing.T) {
	l, _ := newLog(t, smallConfig())
	for i := range int32(4) {
		appendLeader(t, l, plainOf(t, 1, 0, 60*i, 60), 0, 1)
	}
	l.SetHighWatermark(240)
	_, err := l.MaybeIncrementLogStartOffset(120)
	check(t, err)
	equal(t, "snapshots", len(l.snapshots), 3)
	_, err = l.TruncateTo(200, 1)
	check(t, err)
	equal(t, "snapshots", slices.Equal(l.snapshots, []kafka.Offset{180, 200}), true)
}

// The replay takes snapshots at the last two segments and at the end, those before
// have none then (storage 4.6).
func TestReplayTakesSnapshotsAtTheLastTwoSegments(t *testing.T) {
	l, fs := newLog(t, smallConfig())
	for i := range int32(5) { // segments at 0, 60, 120, 180, 240
		appendLeader(t, l, plainOf(t, 1, 0, 60*i, 60), 0, 1)
	}
	check(t, l.Close(true, 1))
	for _, o := range []kafka.Offset{120, 180, 240, 300} {
		check(t, removeFile(fs, l.snapshotPath(o)))
	}
	l = openLog(t, fs, l.cfg, OpenParams{Clean: true})
	equal(t, "snapshots", slices.Equal(l.snapshots, []kafka.Offset{60, 180, 240, 300}), true)
	equal(t, "last sequence", l.Producers()[0].LastSequence, 299)
}

// What a replay begins with is the snapshot's, not the segment's beginning: earlier
// batches of the segment stay forgotten.
func TestReplayBeginsInsideASegment(t *testing.T) {
	l, _ := newLog(t, smallConfig())
	for i := range int32(4) {
		appendLeader(t, l, plainOf(t, 1, 0, i, 1), 0, 1)
	}
	_, err := l.TruncateTo(3, 1) // snapshot at 3
	check(t, err)
	for i := range int32(2) {
		appendLeader(t, l, plainOf(t, 1, 0, 3+i, 1), 0, 1)
	}
	_, err = l.TruncateTo(4, 1) // loads it, and reads from 3 on
	check(t, err)
	equal(t, "of the snapshot", appendLeader(t, l, plainOf(t, 1, 0, 2, 1), 0, 1).Duplicate, true)
	equal(t, "read again", appendLeader(t, l, plainOf(t, 1, 0, 3, 1), 0, 1).Duplicate, true)
	refusedWith(t, l, plainOf(t, 1, 0, 1, 1), LeaderAppend{}, kafka.OutOfOrderSequenceNumber)
}

// A log that knows no producers is not read for them after a truncation, so that
// expired ones do not come back.
func TestTruncationDoesNotRaiseExpiredProducers(t *testing.T) {
	l, _ := newLog(t, smallConfig())
	for i := range int32(4) {
		appendLeader(t, l, plainOf(t, 1, 0, i, 1), 0, 1)
	}
	l.ExpireProducers(1 << 50)
	_, err := l.TruncateTo(2, 1)
	check(t, err)
	equal(t, "producers", l.ProducerCount(), 0)
}

// A snapshot taken at a roll is synced by the background flush, and then closed.
func TestRolledSnapshotIsSyncedWithTheFlush(t *testing.T) {
	l, _ := newLog(t, smallConfig())
	for range 3 {
		appendLeader(t, l, sizedBatch(t, 400, 1), 0, 1)
	}
	equal(t, "waiting", len(l.unsynced), 1)
	job, ok := l.PendingFlush()
	equal(t, "pending", ok, true)
	equal(t, "waiting", len(l.unsynced), 0)
	check(t, l.FlushDone(job, 1, nil))
	if err := job.Files[0].Sync(); err == nil {
		t.Fatal("the snapshot is still open")
	}
	// A flush in the foreground leaves only the snapshot to do.
	for range 2 {
		appendLeader(t, l, sizedBatch(t, 600, 1), 0, 1)
	}
	check(t, l.Flush(l.LogEndOffset(), 1))
	job, ok = l.PendingFlush()
	equal(t, "pending", ok, true)
	check(t, l.FlushDone(job, 1, nil))
	_, ok = l.PendingFlush()
	equal(t, "pending", ok, false)
}

// After a kill the state is that of before, read from the newest snapshot on; twice.
func TestRecoveryRestoresProducersAndTransactions(t *testing.T) {
	l, _ := newLog(t, smallConfig())
	for i := range int32(8) {
		appendLeader(t, l, plainOf(t, 1, 0, 20*i, 20), 0, 1)
		appendLeader(t, l, txnOf(t, 2, 3, 10*i, 10), 0, 1)
		if i%3 == 0 {
			appendMarker(t, l, 2, 3, i%2 == 0, 5)
		}
	}
	before := l.Producers()
	end := l.LogEndOffset()
	for range 2 {
		l = reopen(t, l, false, OpenParams{})
		equal(t, "producers", slices.Equal(l.Producers(), before), true)
		equal(t, "end", l.LogEndOffset(), end)
		var ends []kafka.Offset // of the recovered segments
		for _, s := range l.segments[1:] {
			ends = append(ends, s.base)
		}
		equal(t, "snapshots", slices.Equal(l.snapshots, append(ends, end)), true)
		l.SetHighWatermark(end)
		equal(t, "last stable offset", l.LastStableOffset(), before[1].TxnFirst)
	}
	if before[1].TxnFirst == kafka.NoOffset {
		t.Fatal("no open transaction")
	}
	appendMarker(t, l, 2, 3, true, 5)
}

// A log whose segment before the recovery point lacks its offset index is recovered
// there too, with the producers of the segments before it.
func TestLostIndexIsRebuiltWithTheProducersOfBefore(t *testing.T) {
	l := overThreeSegments(t, smallConfig())
	before := l.Producers()
	target := l.segments[len(l.segments)-2].base
	aborted := string(fileOf(t, l.fs, segmentFile(target, txnIndexSuffix)))
	check(t, l.Close(true, 1))
	check(t, l.fs.Remove(testDir+"/"+segmentFile(target, indexSuffix)))
	l = openLog(t, l.fs, l.cfg, OpenParams{Clean: true})
	equal(t, "producers", slices.Equal(l.Producers(), before), true)
	equal(t, "transaction index", string(fileOf(t, l.fs, segmentFile(target, txnIndexSuffix))), aborted)
}

// A marker that cannot be read ends the recovery behind it; then the load fails, as
// in Kafka.
func TestUnreadableMarkerFailsTheLoad(t *testing.T) {
	o := record.ClientOptions()
	o.ProducerID, o.ProducerEpoch, o.Transactional = 1, 0, true
	bad, err := record.ControlBatch(o, 1, record.ControlAbort, []byte{0})
	check(t, err)
	fs := newMem()
	setFile(t, fs, segmentFile(0, logSuffix), bad)
	_, err = OpenNow(fs, testDir, smallConfig(), OpenParams{})
	var invalid *record.InvalidRecordError
	if !errors.As(err, &invalid) {
		t.Fatalf("error %v", err)
	}
}

func TestSnapshotDecoderRefusesDamage(t *testing.T) {
	good := unhex(t, vectorR7)
	for i := range good {
		b := slices.Clone(good)
		b[i] ^= 4
		if _, err := decodeSnapshot("f", b); err == nil {
			t.Fatalf("byte %d changed", i)
		}
		if _, err := decodeSnapshot("f", good[:i]); err == nil {
			t.Fatalf("cut to %d", i)
		}
	}
}
