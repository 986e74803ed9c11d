package log

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/record"
	"pgregory.net/rapid"
)

// cleanRun appends to a compacted log, cleans it and compares what a consumer sees
// with a list of all records ever committed.
type cleanRun struct {
	*rapid.T
	l     *Log
	now   kafka.TimestampMs
	all   []record.Record // committed, in the order of offsets
	open  []int64         // producers with a transaction
	txns  map[int64][]record.Record
	seqs  map[int64]int32
	stamp map[kafka.Offset]kafka.TimestampMs // first cleaning that a tombstone was in
}

var cleanKeys = []string{"a", "b", "c", "d", "e"}

func (r *cleanRun) records() []string {
	var out []string
	for range rapid.IntRange(1, 4).Draw(r.T, "records") {
		text := rapid.SampledFrom(cleanKeys).Draw(r.T, "key")
		if rapid.IntRange(0, 3).Draw(r.T, "tombstone") > 0 {
			text += "=" + strings.Repeat("v", rapid.IntRange(0, 60).Draw(r.T, "size")) + fmt.Sprint(r.l.leo)
		}
		out = append(out, text)
	}
	return out
}

func (r *cleanRun) append(o record.BatchOptions) []record.Record {
	o.Codec = rapid.SampledFrom([]record.Codec{record.None, record.None, record.Snappy}).Draw(r.T, "codec")
	b := keyedBatch(r, o, r.now, r.records()...)
	info := appendLeader(r, r.l, b, 1, r.now)
	records, err := record.Batch(info.Batch).Records(nil)
	check(r, err)
	r.l.SetHighWatermark(r.l.LogEndOffset())
	return records
}

func (r *cleanRun) produce() { r.commit(r.append(record.ClientOptions())) }

func (r *cleanRun) commit(records []record.Record) {
	r.all = append(r.all, records...)
	slices.SortFunc(r.all, func(a, b record.Record) int { return compareOffsets(a.Offset, b.Offset) })
}

func (r *cleanRun) transact() {
	id := rapid.Int64Range(1, 3).Draw(r.T, "producer")
	records := r.append(txnOptions(id, 0, r.seqs[id]))
	r.seqs[id] += int32(len(records))
	r.txns[id] = append(r.txns[id], records...)
	if !slices.Contains(r.open, id) {
		r.open = append(r.open, id)
	}
}

func (r *cleanRun) endTransaction() {
	if len(r.open) == 0 {
		return
	}
	i := rapid.IntRange(0, len(r.open)-1).Draw(r.T, "open")
	id, commit := r.open[i], rapid.Bool().Draw(r.T, "commit")
	r.open = slices.Delete(r.open, i, i+1)
	endTxn(r, r.l, id, 0, commit, r.now)
	if commit {
		r.commit(r.txns[id])
	}
	delete(r.txns, id)
}

func (r *cleanRun) roll() {
	if r.l.active().size > 0 {
		rollNow(r, r.l, r.now)
	}
}

func (r *cleanRun) wait() { r.now += kafka.TimestampMs(rapid.IntRange(1, 700).Draw(r.T, "ms")) }

func (r *cleanRun) clean() {
	p := cleanParams(r, r.l, r.now)
	if p.Range.CleanableBytes == 0 {
		return
	}
	p.MapBytes = int64(rapid.SampledFrom([]int{24 * 2, 24 * 4, 1 << 20}).Draw(r.T, "map"))
	p.ReadBytes = rapid.SampledFrom([]int{1, 100, 300, 1 << 18}).Draw(r.T, "read")
	leo, start := r.l.leo, r.l.logStart
	cleanWith(r, r.l, p)
	equal(r, "log end", r.l.leo, leo)
	equal(r, "log start", r.l.logStart, start)
	r.verify()
}

func (r *cleanRun) restart() {
	now, hw := r.now, r.l.hw
	end, cleaned := r.l.CleanedTo()
	p := OpenParams{Now: now, RecoveryPoint: r.l.recoveryPoint}
	r.l = reopen(r, r.l, rapid.Bool().Draw(r.T, "clean"), p)
	r.l.cleanedTo, r.l.cleaned = end, cleaned
	r.l.SetHighWatermark(hw)
	r.verify()
}

// verify holds the log against all records ever committed.
func (r *cleanRun) verify() {
	end, _ := r.l.CleanedTo()
	lso := r.l.LastStableOffset()
	got := committed(r, r.l, rapid.SampledFrom([]int{1, 200, 1 << 20}).Draw(r.T, "max bytes"))
	want := slices.DeleteFunc(slices.Clone(r.all), func(x record.Record) bool { return x.Offset >= lso })
	newest := map[string]kafka.Offset{}
	for _, w := range want {
		newest[string(w.Key)] = w.Offset
	}
	i := 0
	for _, w := range want {
		there := i < len(got) && got[i].Offset == w.Offset
		if there {
			g := got[i]
			i++
			if string(g.Key) != string(w.Key) || string(g.Value) != string(w.Value) || (g.Value == nil) != (w.Value == nil) || g.Timestamp != w.Timestamp || fmt.Sprint(g.Headers) != fmt.Sprint(w.Headers) {
				r.Fatalf("offset %d has changed: %v, was %v", w.Offset, g, w)
			}
			if w.Value == nil && w.Offset < end && r.stamp[w.Offset] == 0 {
				r.stamp[w.Offset] = r.now
			}
			continue
		}
		if w.Offset >= end {
			r.Fatalf("offset %d is gone, cleaned to %d", w.Offset, end)
		}
		if w.Offset != newest[string(w.Key)] {
			continue
		}
		first := r.stamp[w.Offset]
		if w.Value != nil || first == 0 || r.now < first+kafka.TimestampMs(r.l.cfg.DeleteRetentionMs) {
			r.Fatalf("offset %d, the last of %s, is gone at %d, first cleaned at %d", w.Offset, w.Key, r.now, first)
		}
	}
	equal(r, "records that were committed, of those read", i, len(got))
	for bound := end; bound <= lso; bound++ {
		equal(r, "view", viewOf(got, bound), viewOf(want, bound))
	}
}

// viewOf is the value of each key from the records below bound.
func viewOf(records []record.Record, bound kafka.Offset) string {
	view := make([]string, len(cleanKeys))
	for _, x := range records {
		if x.Offset < bound {
			view[slices.Index(cleanKeys, string(x.Key))] = string(x.Value)
		}
	}
	return strings.Join(view, ",")
}

// TestCleaningKeepsTheViewOfEveryConsumer: the last record of each key stays, with
// its offset, until it is a tombstone whose time is over; what is not cleaned stays
// whole; aborted records never show.
func TestCleaningKeepsTheViewOfEveryConsumer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l, _ := newLog(t, compactConfig())
		r := &cleanRun{
			T: t, l: l, now: 1, txns: map[int64][]record.Record{}, seqs: map[int64]int32{},
			stamp: map[kafka.Offset]kafka.TimestampMs{},
		}
		actions := []func(){
			r.produce, r.produce, r.produce, r.transact, r.transact, r.endTransaction, r.endTransaction,
			r.roll, r.wait, r.clean, r.clean, r.restart,
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			actions[rapid.IntRange(0, len(actions)-1).Draw(t, "action")]()
		}
		r.roll()
		r.clean()
	})
}

func TestTruncationAbortsACleaning(t *testing.T) {
	l, fs := newLog(t, compactConfig())
	for i := range 20 {
		put(t, l, 1, fmt.Sprintf("a=%d", i))
	}
	rollNow(t, l, 1)
	cleanNow(t, l, 1)
	before := strings.Join(recordsIn(t, l), " ")
	c := l.BeginCleaning(CleanParams{Range: CleanRange{Uncleanable: 20}, Now: 1, MapBytes: 1 << 10, ReadBytes: 100})
	for c.into == nil {
		_, err := c.Step()
		check(t, err)
	}
	_, err := l.TruncateTo(20, 1)
	check(t, err)
	put(t, l, 1, "b=1")
	_, err = l.TruncateTo(20, 1)
	check(t, err)
	if _, err := c.Step(); !errors.Is(err, ErrCleaningAborted) {
		t.Fatalf("%v", err)
	}
	equal(t, "records", strings.Join(recordsIn(t, l), " "), before)
	if names := list(t, fs); strings.Contains(names, cleanedSuffix) {
		t.Fatalf("left behind: %s", names)
	}
	check(t, l.TruncateFullyAndStartAt(7, 1))
	end, _ := l.CleanedTo()
	equal(t, "cleaned to", end, 7)
}

// TestACorruptBatchEndsTheCleaningNotTheLog: nothing damaged gets a new checksum.
func TestACorruptBatchEndsTheCleaningNotTheLog(t *testing.T) {
	l, fs := newLog(t, compactConfig())
	put(t, l, 1, "a=1", "b=1")
	info := put(t, l, 1, "a=2")
	rollNow(t, l, 1)
	b := fileOf(t, fs, segmentFile(0, logSuffix))
	check(t, l.segments[0].file.WriteAt(int64(len(b)-1), []byte{b[len(b)-1] ^ 1}))
	c := l.BeginCleaning(cleanParams(t, l, 1))
	_, err := c.Step()
	corrupt := (*CorruptError)(nil)
	if !errors.As(err, &corrupt) || corrupt.Pos != int64(len(b)-info.Size) || l.Failure() != nil {
		t.Fatalf("%v, failure %v", err, l.Failure())
	}
}

// TestSegmentsAreGroupedAsLongAsOneHoldsThem: sizes are those before the cleaning.
func TestSegmentsAreGroupedAsLongAsOneHoldsThem(t *testing.T) {
	cfg := compactConfig()
	l, fs := newLog(t, cfg)
	for range 4 {
		put(t, l, 1, "a="+strings.Repeat("x", 110))
		rollNow(t, l, 1)
	}
	size := l.segments[0].size
	cfg.SegmentBytes = int32(3 * size)
	equal(t, "segments", len(l.segments), 5)
	stats := cleanNow(t, l, 9)
	equal(t, "replaced", stats.Segments, 4)
	equal(t, "into", stats.Into, 2)
	equal(t, "an empty result has a file", len(fileOf(t, fs, segmentFile(0, logSuffix))), 0)
	equal(t, "names", strings.Contains(list(t, fs), segmentFile(1, logSuffix)+deletedSuffix), true)
	equal(t, "snapshots", fmt.Sprint(l.snapshots), "[3 4]")
	check(t, RemoveFiles(fs, l.TakeDeleted()))
	wantRecords(t, l, "3:a="+strings.Repeat("x", 110))
}

// TestCleanerCheckpointIsRememberedUntilATruncation: storage 5.2.
func TestCleanerCheckpointIsRememberedUntilATruncation(t *testing.T) {
	fs, cfg := newMem(), compactConfig()
	m := loadManager(t, fs, "data", cfg)
	l, err := m.Create(tp("orders", 0), kafka.TopicID{1}, 1)
	check(t, err)
	if names := list(t, fs); strings.Contains(names, CleanerOffsetCheckpoint) {
		t.Fatal("a checkpoint before a cleaning")
	}
	put(t, l, 1, "a=1", "a=2")
	rollNow(t, l, 1)
	put(t, l, 1, "a=3")
	cleanNow(t, l, 1)
	check(t, m.WriteCleanerOffsets())
	again := func() *Log {
		m = loadManager(t, fs, "data", cfg)
		l = m.Get(tp("orders", 0))
		l.SetHighWatermark(l.LogEndOffset())
		return l
	}
	end, found := again().CleanedTo()
	equal(t, "checkpoint", fmt.Sprint(end, found), "2 true")
	content, err := readFile(fs, "data/"+CleanerOffsetCheckpoint)
	check(t, err)
	equal(t, "file", string(content), "0\n1\norders 0 2\n")
	_, err = l.TruncateTo(1, 1)
	check(t, err)
	check(t, m.WriteRecoveryPoints()) // as the caller of a truncation does
	end, found = again().CleanedTo()
	equal(t, "checkpoint after a truncation of the active segment's predecessor", fmt.Sprint(end, found), "0 true")
	_, err = m.Delete(tp("orders", 0), [16]byte{1})
	check(t, err)
	content, err = readFile(fs, "data/"+CleanerOffsetCheckpoint)
	check(t, err)
	equal(t, "file after a deletion", string(content), "0\n0\n")
}

// TestCleanedSegmentHasTheTimeOfTheLastItReplaces (LogSegment.setLastModified): retention
// goes by it where no record has a timestamp.
func TestCleanedSegmentHasTheTimeOfTheLastItReplaces(t *testing.T) {
	l, fs := newLog(t, compactConfig())
	for range 12 {
		put(t, l, kafka.NoTimestamp, "a=1", "b=2")
	}
	rollNow(t, l, 1)
	put(t, l, kafka.NoTimestamp, "c=3")
	segments := l.Segments()
	for i, s := range segments[:len(segments)-1] {
		check(t, fs.SetModTime(s.File, kafka.TimestampMs(1000+i)))
	}
	l.cfg.SegmentBytes = 50_000 // one group
	cleanNow(t, l, 1)
	equal(t, "segments", len(l.Segments()), 2)
	for _, suffix := range []string{logSuffix, indexSuffix, timeIndexSuffix} {
		info, err := fs.Stat(testDir + "/" + segmentFile(0, suffix))
		check(t, err)
		equal(t, suffix, info.ModTime, kafka.TimestampMs(1000+len(segments)-2))
	}
	newest, err := l.segments[0].largestTimestamp(&l.place)
	check(t, err)
	equal(t, "newest", newest, kafka.TimestampMs(1000+len(segments)-2))
}

// TestMaxCompactionLagRollsTheActiveSegment (KIP-354): of a compacted log only.
func TestMaxCompactionLagRollsTheActiveSegment(t *testing.T) {
	for _, compact := range []bool{true, false} {
		cfg := DefaultConfig()
		cfg.Compact, cfg.MaxCompactionLagMs = compact, 1000
		l, _ := newLog(t, &cfg)
		put(t, l, 5000, "a=1")
		put(t, l, 6000, "a=2")
		equal(t, "at the limit", len(l.Segments()), 1)
		put(t, l, 6001, "a=3")
		equal(t, "behind it", len(l.Segments()) == 2, compact)
	}
}

// TestCheckpointOutsideOfTheLogIsReset: the range begins at the log start, and the
// checkpoint follows, cleaned or not.
func TestCheckpointOutsideOfTheLogIsReset(t *testing.T) {
	l, _ := newLog(t, compactConfig())
	for i := range 30 {
		put(t, l, 1, fmt.Sprintf("k%d=value", i%3))
	}
	cleanNow(t, l, 2)
	r, err := l.CleanRange(3)
	check(t, err)
	equal(t, "reset of a checkpoint inside", l.ResetCleanedTo(&r), false)
	start := l.LogEndOffset() - 1
	_, err = l.MaybeIncrementLogStartOffset(start)
	check(t, err)
	r, err = l.CleanRange(3)
	check(t, err)
	equal(t, "reset", l.ResetCleanedTo(&r), true)
	end, found := l.CleanedTo()
	equal(t, "checkpoint", end, start)
	equal(t, "found", found, true)
	r, err = l.CleanRange(3)
	check(t, err)
	equal(t, "reset twice", l.ResetCleanedTo(&r), false)
}
