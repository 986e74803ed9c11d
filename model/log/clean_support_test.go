package log

import (
	"fmt"
	"strings"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/record"
)

// compactConfig is smallConfig for a compacted topic.
func compactConfig() *Config {
	c := smallConfig()
	c.SegmentBytes, c.IndexIntervalBytes = 600, 100
	c.Delete, c.Compact = false, true
	c.DeleteRetentionMs = 1000
	return c
}

// keyedBatch has records "k=v", or "k" for a tombstone. Those of the key d have headers.
func keyedBatch(t testingT, o record.BatchOptions, ts kafka.TimestampMs, records ...string) record.Batch {
	t.Helper()
	var bd record.Builder
	bd.Reset(o)
	for _, r := range records {
		key, value, found := strings.Cut(r, "=")
		v := []byte(value)
		if !found {
			v = nil
		}
		var headers []record.Header
		if key == "d" {
			headers = []record.Header{{Key: "value was", Value: v}, {Key: "null"}}
		}
		bd.Append(ts, []byte(key), v, headers)
	}
	b, err := bd.Build()
	check(t, err)
	return b
}

func put(t testingT, l *Log, ts kafka.TimestampMs, records ...string) AppendInfo {
	t.Helper()
	info := appendLeader(t, l, keyedBatch(t, record.ClientOptions(), ts, records...), 1, ts)
	l.SetHighWatermark(l.LogEndOffset())
	return info
}

// txnOptions are those of a transactional producer.
func txnOptions(id int64, epoch int16, sequence int32) record.BatchOptions {
	o := record.ClientOptions()
	o.ProducerID, o.ProducerEpoch, o.BaseSequence, o.Transactional = id, epoch, sequence, true
	return o
}

func endTxn(t testingT, l *Log, id int64, epoch int16, commit bool, ts kafka.TimestampMs) {
	t.Helper()
	b, err := record.MarkerBatch(record.Marker{ProducerID: id, ProducerEpoch: epoch, Commit: commit}, 0, 0, ts)
	check(t, err)
	_, verdict, err := l.Append(b, &LeaderAppend{Epoch: 1, Now: ts, Origin: Coordinator})
	check(t, err)
	equal(t, "verdict of the marker", verdict.Code, kafka.None)
	l.SetHighWatermark(l.LogEndOffset())
}

// rollNow begins a new segment.
func rollNow(t testingT, l *Log, now kafka.TimestampMs) {
	t.Helper()
	check(t, l.roll(l.leo, now))
}

// cleanParams read little at a time and know many keys.
func cleanParams(t testingT, l *Log, now kafka.TimestampMs) CleanParams {
	t.Helper()
	r, err := l.CleanRange(now)
	check(t, err)
	return CleanParams{Range: r, Now: now, MapBytes: 1 << 20, ReadBytes: 256, Seed: 7}
}

func cleanWith(t testingT, l *Log, p CleanParams) CleanStats {
	t.Helper()
	c := l.BeginCleaning(p)
	for n := 0; ; n++ {
		done, err := c.Step()
		check(t, err)
		if done {
			return c.Stats()
		}
		if n > 100_000 {
			t.Fatalf("the cleaning does not end")
		}
	}
}

func cleanNow(t testingT, l *Log, now kafka.TimestampMs) CleanStats {
	t.Helper()
	return cleanWith(t, l, cleanParams(t, l, now))
}

// recordsIn decodes all records of data batches, as "offset:k=v".
func recordsIn(t testingT, l *Log) (out []string) {
	t.Helper()
	for _, b := range batchesOf(t, l) {
		if b.IsControl() {
			continue
		}
		out = append(out, describe(t, b)...)
	}
	return out
}

func describe(t testingT, b record.Batch) (out []string) {
	t.Helper()
	records, err := b.Records(nil)
	check(t, err)
	for _, r := range records {
		text := fmt.Sprintf("%d:%s", r.Offset, r.Key)
		if r.Value != nil {
			text += "=" + string(r.Value)
		}
		out = append(out, text)
	}
	return out
}

func wantRecords(t testingT, l *Log, want ...string) {
	t.Helper()
	equal(t, "records", strings.Join(recordsIn(t, l), " "), strings.Join(want, " "))
}

// committed reads the log as a consumer with isolation level read_committed does,
// with nothing but what Read and AbortedTransactions say.
func committed(t testingT, l *Log, maxBytes int) (out []record.Record) {
	t.Helper()
	aborted := map[int64]bool{}
	var list []AbortedTxn
	for at := l.LogStartOffset(); at < l.LastStableOffset(); {
		info, err := l.Read(at, maxBytes, l.LastStableOffset(), true)
		check(t, err)
		if info.Size == 0 {
			break
		}
		list, err = l.AbortedTransactions(list[:0], at, &info)
		check(t, err)
		for rest := info.Records; ; {
			b, left, err := record.Next(rest)
			if err != nil {
				break
			}
			rest = left
			for _, a := range list {
				if a.FirstOffset <= b.LastOffset() && a.LastOffset >= b.BaseOffset() {
					aborted[a.ProducerID] = true
				}
			}
			out = appendCommitted(t, out, b, aborted, at)
			at = b.NextOffset()
		}
	}
	return out
}

func appendCommitted(t testingT, out []record.Record, b record.Batch, aborted map[int64]bool, from kafka.Offset) []record.Record {
	t.Helper()
	if b.IsControl() {
		m, ok, err := b.ParseMarker()
		check(t, err)
		if ok && !m.Commit {
			delete(aborted, m.ProducerID)
		}
		return out
	}
	if b.IsTransactional() && aborted[b.ProducerID()] {
		return out
	}
	records, err := b.Records(nil)
	check(t, err)
	for _, r := range records {
		if r.Offset >= from {
			out = append(out, r)
		}
	}
	return out
}
