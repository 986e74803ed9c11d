package log

import (
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/record"
	"github.com/simkafka/simkafka/model/vfs"
	"pgregory.net/rapid"
)

// twin is the slow, obvious log: a list of batches.
type twin struct {
	batches        []record.Batch
	start, end, hw kafka.Offset
	epoch          kafka.LeaderEpoch
}

func (w *twin) truncate(to kafka.Offset) {
	if to >= w.end {
		return
	}
	n := 0
	for n < len(w.batches) && w.batches[n].LastOffset() < to {
		n++
	}
	w.batches = w.batches[:n]
	w.start, w.end, w.hw = min(w.start, to), to, min(w.hw, to)
}

// read is what a read must find: the batches from the one that holds start, those
// that lie wholly below upper. Segment ends and limits shorten it.
func (w *twin) read(start, upper kafka.Offset) []byte {
	var out []byte
	for _, b := range w.batches {
		if b.LastOffset() >= start && b.LastOffset() < upper {
			out = append(out, b...)
		}
	}
	return out
}

// end after a restart: the offset after the last batch, as no file tells more.
func (w *twin) restartEnd(base kafka.Offset) kafka.Offset {
	if n := len(w.batches); n > 0 {
		return max(base, w.batches[n-1].NextOffset())
	}
	return base
}

type twinRun struct {
	*rapid.T
	fs  vfs.FS
	cfg *Config
	log *Log
	w   twin
	now kafka.TimestampMs
}

func (r *twinRun) timestamps() []kafka.TimestampMs {
	ts := make([]kafka.TimestampMs, rapid.IntRange(1, 3).Draw(r.T, "records"))
	for i := range ts {
		r.now += kafka.TimestampMs(rapid.IntRange(-20, 40).Draw(r.T, "later"))
		ts[i] = max(-1, r.now)
	}
	return ts
}

func (r *twinRun) appendLeader() {
	if rapid.IntRange(0, 5).Draw(r.T, "new epoch") == 0 {
		r.w.epoch++
		check(r, r.log.AssignEpoch(r.w.epoch, r.log.LogEndOffset()))
	}
	b := batchOf(r, rapid.IntRange(0, 200).Draw(r.T, "size"), r.timestamps()...)
	info := appendLeader(r, r.log, b, r.w.epoch, r.now)
	equal(r, "base", info.Base, r.w.end)
	r.w.batches = append(r.w.batches, batchesOf(r, r.log)[len(r.w.batches)])
	r.w.end = info.Last + 1
}

func (r *twinRun) appendFollower() {
	var batches []record.Batch
	next := r.w.end + kafka.Offset(rapid.IntRange(0, 2).Draw(r.T, "gap"))
	for range rapid.IntRange(1, 4).Draw(r.T, "batches") {
		b := batchAt(r, next, r.w.epoch, rapid.IntRange(0, 100).Draw(r.T, "size"), r.timestamps()...)
		batches = append(batches, b)
		next = b.NextOffset()
	}
	info := appendFollower(r, r.log, r.now, batches...)
	equal(r, "last", info.Last, next-1)
	r.w.batches = append(r.w.batches, batches...)
	r.w.end = next
}

func (r *twinRun) truncate() {
	to := kafka.Offset(rapid.Int64Range(0, int64(r.w.end)+2).Draw(r.T, "to"))
	if to < r.log.Segments()[0].Base {
		return
	}
	_, err := r.log.TruncateTo(to, r.now)
	check(r, err)
	r.w.truncate(to)
}

func (r *twinRun) startAt() {
	to := kafka.Offset(rapid.Int64Range(0, int64(r.w.end)+20).Draw(r.T, "to"))
	check(r, r.log.TruncateFullyAndStartAt(to, r.now))
	r.w.batches, r.w.start, r.w.end, r.w.hw = nil, to, to, to
}

func (r *twinRun) restart() {
	clean := rapid.Bool().Draw(r.T, "clean")
	base := r.log.active().base
	r.log = reopen(r, r.log, clean, OpenParams{
		RecoveryPoint: r.log.RecoveryPoint(), LogStart: r.log.LogStartOffset(), Now: r.now,
	})
	if r.w.end = r.w.restartEnd(base); r.w.end < r.w.start {
		r.w.batches, r.w.end = nil, r.w.start
	}
	r.w.hw = r.log.SetHighWatermark(r.w.hw)
	equal(r, "end after a restart", r.log.LogEndOffset(), r.w.end)
}

func (r *twinRun) flush() {
	if job, ok := r.log.PendingFlush(); ok {
		check(r, r.log.FlushDone(job, 1, nil))
	}
	check(r, r.log.Flush(kafka.Offset(rapid.Int64Range(0, int64(r.w.end)).Draw(r.T, "to")), 1))
}

func (r *twinRun) raiseStart() {
	r.w.hw = r.log.SetHighWatermark(kafka.Offset(rapid.Int64Range(0, int64(r.w.end)).Draw(r.T, "hw")))
	to := kafka.Offset(rapid.Int64Range(0, int64(r.w.hw)).Draw(r.T, "start"))
	_, err := r.log.MaybeIncrementLogStartOffset(to)
	check(r, err)
	r.w.start = max(r.w.start, to)
}

// compare checks everything that can be asked.
func (r *twinRun) compare() {
	equal(r, "end", r.log.LogEndOffset(), r.w.end)
	if r.log.LogStartOffset() > r.w.end || r.log.HighWatermark() > r.w.end || r.log.RecoveryPoint() > r.w.end {
		r.Fatalf("start %d, high watermark %d, recovery point %d, end %d",
			r.log.LogStartOffset(), r.log.HighWatermark(), r.log.RecoveryPoint(), r.w.end)
	}
	all := batchesOf(r, r.log)
	equal(r, "batches", string(join(all...)), string(join(r.w.batches...)))
	r.compareReads()
	r.compareTimes()
}

func (r *twinRun) compareReads() {
	maxBytes := rapid.IntRange(0, 600).Draw(r.T, "max bytes")
	minOne := rapid.Bool().Draw(r.T, "min one")
	upper := kafka.Offset(rapid.Int64Range(int64(r.log.LogStartOffset()), int64(r.w.end)).Draw(r.T, "upper"))
	for start := r.log.LogStartOffset(); start <= r.w.end; start++ {
		info, err := r.log.Read(start, maxBytes, upper, minOne)
		check(r, err)
		want := r.w.read(start, upper)
		first := 0
		if len(want) > 0 {
			first, _ = record.PeekSize(want)
		}
		limit := maxBytes
		if minOne {
			limit = max(limit, first)
		}
		n := len(info.Records)
		if n > min(limit, len(want)) || string(info.Records) != string(want[:n]) {
			r.Fatalf("read at %d below %d: %d bytes, not a beginning of %d", start, upper, n, len(want))
		}
		if n == 0 && limit > 0 && len(want) > 0 {
			r.Fatalf("read at %d below %d is empty", start, upper)
		}
		if endsSegment := info.Size > 0 && info.Pos+int64(n) == r.sizeOf(info.Segment); n < min(limit, len(want)) && !endsSegment {
			r.Fatalf("read at %d below %d: %d bytes of %d", start, upper, n, len(want))
		}
	}
}

func (r *twinRun) sizeOf(base kafka.Offset) int64 {
	for _, s := range r.log.Segments() {
		if s.Base == base {
			return s.Size
		}
	}
	return -1
}

// compareTimes looks a timestamp up and finds the newest record, by scanning.
func (r *twinRun) compareTimes() {
	ts := kafka.TimestampMs(rapid.Int64Range(0, int64(max(1, r.now+50))).Draw(r.T, "ts"))
	got, err := r.log.OffsetForTimestamp(ts, r.w.end)
	check(r, err)
	newest, err := r.log.MaxTimestampOffset(r.w.end)
	check(r, err)
	want, wantNewest := noOffset(), noOffset()
	for _, b := range r.w.batches {
		records, err := b.Records(nil)
		check(r, err)
		for _, rec := range records {
			here := TimestampOffset{rec.Timestamp, rec.Offset, b.PartitionLeaderEpoch()}
			if want.Offset < 0 && rec.Timestamp >= ts {
				want = here
			}
			if rec.Timestamp > wantNewest.Timestamp {
				wantNewest = here
			}
		}
	}
	equal(r, "newest", newest, wantNewest)
	if r.log.LogStartOffset() > r.log.Segments()[0].Base || r.log.anyWithoutTimestamps() {
		return // these ask only the first segment that may be so new
	}
	equal(r, "record at a timestamp", got, want)
}

// anyWithoutTimestamps tells that some segment's age is its file's.
func (l *Log) anyWithoutTimestamps() bool {
	for _, s := range l.segments {
		if s.maxTs.timestamp < 0 {
			return true
		}
	}
	return false
}

func twinConfig(t *rapid.T) *Config {
	cfg := smallConfig()
	cfg.SegmentBytes = int32(rapid.IntRange(700, 3000).Draw(t, "segment.bytes"))
	cfg.IndexIntervalBytes = int32(rapid.IntRange(0, 600).Draw(t, "index.interval.bytes"))
	cfg.SegmentIndexBytes = int32(rapid.IntRange(600, 1200).Draw(t, "segment.index.bytes"))
	cfg.SegmentMs = rapid.Int64Range(50, 2000).Draw(t, "segment.ms")
	cfg.Preallocate = rapid.Bool().Draw(t, "preallocate")
	cfg.IndexPerBatch = rapid.Bool().Draw(t, "index per batch")
	return cfg
}

func TestLogMatchesAListOfBatches(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fs := &immutable{FS: newMem()}
		r := &twinRun{T: t, fs: fs, cfg: twinConfig(t)}
		r.log = openLog(t, r.fs, r.cfg, OpenParams{Clean: true})
		actions := []func(){
			r.appendLeader, r.appendLeader, r.appendLeader, r.appendFollower, r.appendFollower,
			r.truncate, r.startAt, r.restart, r.restart, r.flush, r.raiseStart,
		}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			actions[rapid.IntRange(0, len(actions)-1).Draw(t, "action")]()
			r.compare()
		}
		fs.verify(t)
	})
}
