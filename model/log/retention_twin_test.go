package log

import (
	"slices"
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/record"
	"pgregory.net/rapid"
)

// segmentTwin is a segment by the batches that it holds.
type segmentTwin struct {
	base   kafka.Offset
	size   int64
	newest kafka.TimestampMs
}

// segmentsOf decodes what the files of a log hold.
func segmentsOf(t testingT, l *Log) (list []segmentTwin) {
	t.Helper()
	for _, s := range l.Segments() {
		x := segmentTwin{base: s.Base, newest: kafka.NoTimestamp}
		for rest := fileOf(t, l.fs, segmentFile(s.Base, logSuffix)); len(rest) > 0; {
			b, next, err := record.Next(rest)
			check(t, err)
			x.size += int64(len(b))
			x.newest = max(x.newest, b.MaxTimestamp())
			rest = next
		}
		list = append(list, x)
	}
	return list
}

// naiveRetention is storage 8 as it is written: three passes over the segments, each
// from the oldest on.
func naiveRetention(l *Log, list []segmentTwin, now kafka.TimestampMs) (deleted []DeletedSegment, left []segmentTwin, start kafka.Offset) {
	start = l.LogStartOffset()
	pass := func(why RetentionPass, breaches func(s segmentTwin, next *segmentTwin) bool) {
		for len(list) > 0 {
			upper := l.LogEndOffset()
			var next *segmentTwin
			if len(list) > 1 {
				next = &list[1]
				upper = next.base
			}
			if next == nil && list[0].size == 0 || l.HighWatermark() < upper || !breaches(list[0], next) {
				return
			}
			deleted = append(deleted, DeletedSegment{list[0].base, why})
			start = max(start, upper)
			if list = list[1:]; next == nil {
				list = []segmentTwin{{base: l.LogEndOffset(), newest: kafka.NoTimestamp}}
				return
			}
		}
	}
	pass(StartBreach, func(_ segmentTwin, next *segmentTwin) bool { return next != nil && next.base <= start })
	if l.cfg.RetentionBytes >= 0 {
		excess := -l.cfg.RetentionBytes
		for _, s := range list {
			excess += s.size
		}
		pass(SizeBreach, func(s segmentTwin, _ *segmentTwin) bool {
			if excess < s.size {
				return false
			}
			excess -= s.size
			return true
		})
	}
	if l.cfg.RetentionMs >= 0 {
		pass(TimeBreach, func(s segmentTwin, _ *segmentTwin) bool { return int64(now-s.newest) > l.cfg.RetentionMs })
	}
	return deleted, list, start
}

type retentionRun struct {
	*rapid.T
	log *Log
	now kafka.TimestampMs
}

func (r *retentionRun) append() {
	r.now += kafka.TimestampMs(rapid.IntRange(0, 50).Draw(r.T, "later"))
	ts := max(0, r.now+kafka.TimestampMs(rapid.IntRange(-100, 60).Draw(r.T, "timestamp")))
	appendLeader(r, r.log, batchOf(r, rapid.IntRange(0, 200).Draw(r.T, "size"), ts, ts), 0, r.now)
}

func (r *retentionRun) moveHW() {
	r.log.SetHighWatermark(kafka.Offset(rapid.Int64Range(int64(r.log.LogStartOffset()), int64(r.log.LogEndOffset())).Draw(r.T, "high watermark")))
}

func (r *retentionRun) catchUp() { r.log.SetHighWatermark(r.log.LogEndOffset()) }

func (r *retentionRun) deleteRecords() {
	to := kafka.Offset(rapid.Int64Range(0, int64(r.log.HighWatermark())).Draw(r.T, "before"))
	_, code, err := r.log.DeleteRecords(to)
	check(r, err)
	equal(r, "code", code, kafka.None)
}

func (r *retentionRun) configure() {
	c := *r.log.cfg
	c.RetentionBytes = int64(rapid.IntRange(-1, 1500).Draw(r.T, "retention.bytes"))
	c.RetentionMs = int64(rapid.IntRange(-1, 200).Draw(r.T, "retention.ms"))
	r.log.SetConfig(&c)
}

func (r *retentionRun) restart() {
	hw := r.log.HighWatermark()
	r.log = reopen(r, r.log, rapid.Bool().Draw(r.T, "clean"), OpenParams{
		RecoveryPoint: r.log.RecoveryPoint(), LogStart: r.log.LogStartOffset(), Now: r.now,
	})
	r.log.SetHighWatermark(hw)
}

func (r *retentionRun) retain() {
	r.now += kafka.TimestampMs(rapid.IntRange(0, 150).Draw(r.T, "later"))
	deleted, left, start := naiveRetention(r.log, segmentsOf(r, r.log), r.now)
	hw, end := r.log.HighWatermark(), r.log.LogEndOffset()
	done, err := r.log.DeleteOldSegments(r.now)
	check(r, err)
	if !slices.Equal(done.Deleted, deleted) {
		r.Fatalf("deleted %v, want %v", done.Deleted, deleted)
	}
	if got := segmentsOf(r, r.log); !slices.Equal(got, left) {
		r.Fatalf("left %v, want %v", got, left)
	}
	equal(r, "log start", r.log.LogStartOffset(), start)
	equal(r, "high watermark", r.log.HighWatermark(), hw)
	equal(r, "end", r.log.LogEndOffset(), end)
	files := 0
	for _, name := range r.log.TakeDeleted() {
		if base, ok := offsetOf(name[len(testDir)+1:]); ok && name == testDir+"/"+segmentFile(base, logSuffix)+deletedSuffix {
			files++
		}
	}
	equal(r, "files marked", files, len(deleted))
	if start <= hw && hw < end {
		_, err := r.log.Read(start, 100, end, true)
		check(r, err)
	}
}

func TestRetentionMatchesTheNaivePredicate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := smallConfig()
		cfg.SegmentBytes = int32(rapid.IntRange(600, 1200).Draw(t, "segment.bytes"))
		r := &retentionRun{T: t, log: openLog(t, newMem(), cfg, OpenParams{Clean: true})}
		r.configure()
		actions := []func(){
			r.append, r.append, r.append, r.append, r.catchUp, r.moveHW, r.deleteRecords, r.configure, r.restart,
			r.retain, r.retain, r.retain,
		}
		for range rapid.IntRange(1, 50).Draw(t, "steps") {
			actions[rapid.IntRange(0, len(actions)-1).Draw(t, "action")]()
		}
	})
}
