package log

import (
	"fmt"
	"slices"
	"strings"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/record"
	"github.com/simkafka/simkafka/model/vfs"
	"github.com/simkafka/simkafka/sim/simdisk"
)

// recover looks at what a start makes of one image.
func (e *enumeration) recover(image crashImage, owed *promise) {
	image.Crash(simdisk.Kill, 0)
	flushed := recoveryPointIn(e, image.Disk)
	load := func() *Log {
		image.Crash(simdisk.Kill, 0)
		l := loadManager(e, image.Disk, "data", e.cfg).Get(tp("orders", 0))
		if l == nil {
			e.Fatalf("the partition is gone")
		}
		return l
	}
	l := load()
	got := batchesOf(e, l)
	e.keeps(l, got, owed)
	e.indexesAgree(l, got, flushed, min(image.sound, e.overlap(got)))
	state := logState(e, l)
	again := load()
	equal(e, "state after a second recovery", logState(e, again), state)
	if !slices.Equal(l.epochs, again.epochs) && !e.raised {
		e.Fatalf("epochs %v, after a second recovery %v", l.epochs, again.epochs)
	}
	if e.checked++; e.checked%8 > 0 {
		return
	}
	appendLeader(e, again, keyedBatch(e, record.ClientOptions(), e.ts+10, "next=1"), 9, 1)
	equal(e, "end", again.LogEndOffset(), l.LogEndOffset()+1)
	check(e, again.Close(true, 1))
}

// keeps: what was synced is there, of each key the newest record at least; nothing that
// was never written is.
func (e *enumeration) keeps(l *Log, got []record.Batch, owed *promise) {
	for _, b := range got {
		if !e.ever[string(b)] {
			e.Fatalf("a batch at %d was never written", b.BaseOffset())
		}
	}
	have := map[kafka.Offset]bool{}
	for _, b := range got {
		records, err := b.Records(nil)
		check(e, err)
		for i := range records {
			have[records[i].Offset] = true
		}
	}
	newest := map[string]kafka.Offset{}
	for _, b := range owed.batches {
		records, err := b.Records(nil)
		check(e, err)
		for i := range records {
			o, key := records[i].Offset, string(records[i].Key)
			switch {
			case o >= owed.safe && e.cleaned:
				delete(newest, key)
			case o < owed.safe && o >= owed.start:
				newest[key] = o
			}
		}
	}
	for key, o := range newest {
		if !have[o] {
			e.Fatalf("the newest synced record of %q, at %d, is not there", key, o)
		}
	}
	// A truncation that leaves an empty segment, as in a compacted log, leaves no end either.
	if l.LogEndOffset() < owed.safe && e.cut == noSuchOffset {
		e.Fatalf("the log ends at %d, synced was %d", l.LogEndOffset(), owed.safe)
	}
	if hw := l.HighWatermark(); hw < l.LogStartOffset() || hw > l.LogEndOffset() {
		e.Fatalf("high watermark %d outside of %d to %d", hw, l.LogStartOffset(), l.LogEndOffset())
	}
}

// overlap is where the first segment begins that a truncation has deleted and that is
// there again behind what was appended since: its rename was lost, as no sync of the
// directory is asked for (LocalLog.truncateTo). Without one it is the end of all offsets.
func (e *enumeration) overlap(got []record.Batch) kafka.Offset {
	for i := 1; i < len(got); i++ {
		if got[i].BaseOffset() < got[i-1].NextOffset() {
			if e.cut == noSuchOffset {
				e.Fatalf("batches at %d overlap", got[i].BaseOffset())
			}
			return got[i].BaseOffset()
		}
	}
	return noSuchOffset
}

// recoveryPointIn is what the directory's checkpoint says of the partition.
func recoveryPointIn(t testingT, fs vfs.FS) kafka.Offset {
	entries, err := ReadOffsetCheckpoint(fs, "data", RecoveryPointCheckpoint)
	check(t, err)
	for _, x := range entries {
		if x.TP == tp("orders", 0) {
			return x.Offset
		}
	}
	return 0
}

// indexesAgree compares every lookup below the offset sound with a scan. Segments that end at flushed or before
// are left alone by a start, as Kafka leaves them (KAFKA-19200): if they were rolled when
// all of them was flushed, a power loss may have left zeros at the ends of their indexes.
// Reads by offset find their way all the same, lookups by time need not.
func (e *enumeration) indexesAgree(l *Log, got []record.Batch, flushed, sound kafka.Offset) {
	zeros := false
	alone := max(0, l.floorIndex(flushed))
	for n, s := range l.segments {
		if s.base >= sound {
			break
		}
		check(e, s.loadIndexes(&l.place))
		if last := s.times.count() - 1; n < alone && last >= 0 && s.times.entry(0, last) == (timestampOffset{}) {
			zeros = true
		}
		for i := range s.offsets.count() {
			pos := s.offsets.entries.key(i, positionColumn())
			if n < alone && pos == 0 && s.offsets.entries.key(i, offsetColumn()) == 0 {
				continue
			}
			h, _, err := s.header(pos)
			check(e, err)
			if h == nil || int64(h.LastOffset()-s.base) != s.offsets.entries.key(i, offsetColumn()) {
				e.Fatalf("segment %d: index entry %d points to no such batch", s.base, i)
			}
		}
	}
	for o := l.LogStartOffset(); o < min(sound, l.LogEndOffset()); o++ {
		i := slices.IndexFunc(got, func(b record.Batch) bool { return b.LastOffset() >= o })
		read, err := l.Read(o, 1, l.LogEndOffset(), true)
		check(e, err)
		switch {
		case i < 0 && len(read.Records) > 0, i >= 0 && string(read.Records) != string(got[i]):
			e.Fatalf("a read at %d finds another batch than a scan", o)
		}
	}
	if len(l.segments) > 1 && l.segments[1].base <= l.LogStartOffset() {
		return // a lookup by time ends in the first segment as new, whatever the log start
	}
	if e.unordered || zeros || sound < l.LogEndOffset() {
		return
	}
	var all []record.Record
	newest := kafka.NoTimestamp
	for _, b := range got {
		records, err := b.Records(nil)
		check(e, err)
		all = append(all, records...)
		newest = max(newest, b.MaxTimestamp())
	}
	for ts := kafka.TimestampMs(1); ts <= newest; ts++ {
		want := noOffset().Offset
		i := slices.IndexFunc(all, func(r record.Record) bool { return r.Timestamp >= ts && r.Offset >= l.LogStartOffset() })
		if i >= 0 {
			want = all[i].Offset
		}
		found, err := l.OffsetForTimestamp(ts, l.LogEndOffset())
		check(e, err)
		equal(e, fmt.Sprint("offset for timestamp ", ts), found.Offset, want)
	}
}

// logState is all that a log knows but its epochs.
func logState(t testingT, l *Log) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintln(&b, l.LogStartOffset(), l.LogEndOffset(), l.HighWatermark(), l.RecoveryPoint(), l.cleanedTo, l.cleaned)
	for _, p := range l.Producers() {
		fmt.Fprintf(&b, "%+v\n", p)
	}
	for _, s := range l.segments {
		check(t, s.loadIndexes(&l.place))
		fmt.Fprintf(&b, "%d %d %x %x\n", s.base, s.size, []byte(s.offsets.entries), []byte(s.times.entries))
	}
	for _, batch := range batchesOf(t, l) {
		b.WriteString(string(batch))
	}
	return b.String()
}
