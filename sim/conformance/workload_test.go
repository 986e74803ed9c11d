package conformance

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// null is the text of a null key, value or header value.
const null = "~"

// baseTime is where the timestamps of the workload begin, in ms.
const baseTime = 1_700_000_000_000

// goldenTopics are the topics of the golden directories. Their segments are small, so
// that few records make several; the sizes are those of the release's uncompressed
// batches.
func goldenTopics(r release) []goldenTopic {
	small := func(bytes int, settings ...string) map[string]string {
		m := map[string]string{
			r.segmentBytes: strconv.Itoa(bytes), "index.interval.bytes": "200",
			"segment.index.bytes": "480",
		}
		for _, s := range settings {
			k, v, _ := strings.Cut(s, "=")
			m[k] = v
		}
		return m
	}
	topic := func(name string, settings map[string]string) goldenTopic {
		return goldenTopic{Name: name, Settings: settings}
	}
	return []goldenTopic{
		topic("codecs", small(1500)),
		topic("append-time", small(1000, "message.timestamp.type=LogAppendTime")),
		topic("recompressed", small(1000, "compression.type=lz4")),
		topic("create-time", small(1<<20, "segment.ms=1000")),
		topic("index-full", small(1<<20, "segment.index.bytes=36", "index.interval.bytes=1")),
		topic("preallocated", small(900, "preallocate=true")),
		topic("flushed", small(1000, "flush.messages=3")),
		topic("transactions", small(900)),
		topic("compacted", small(500, "cleanup.policy=compact", "min.cleanable.dirty.ratio=0.01")),
		topic("drained", small(500, "cleanup.policy=compact", "min.cleanable.dirty.ratio=0.01", "delete.retention.ms=1")),
		topic("start-raised", small(500)),
		topic("idle", small(600)),
		topic("empty", small(600)),
		topic("torn", small(600)),
		topic("torn-header", small(600)),
		topic("zeros", small(600)),
		topic("rotten", small(600)),
		topic("no-index", small(600)),
	}
}

// workload sends the records of the golden directories through a driver.
type workload struct {
	d   *driver
	seq int // of values, so that each is another one
}

// openProducers makes the producers, which outlive restarts of the broker.
func (w *workload) openProducers() {
	for _, codec := range []string{"none", "gzip", "snappy", "lz4", "zstd"} {
		w.d.do("producer", codec, "compression.type="+codec)
	}
	for _, name := range []string{"idem1", "idem2"} {
		w.d.do("producer", name, "enable.idempotence=true")
	}
	for _, name := range []string{"txn1", "txn2"} {
		w.d.do("producer", name, "enable.idempotence=true", "transactional.id="+name, "transaction.timeout.ms=800000")
	}
}

func rec(ts int64, key, value string, headers ...string) string {
	text := func(s string) string {
		if s == null {
			return null
		}
		return hex.EncodeToString([]byte(s))
	}
	out := []string{strconv.FormatInt(baseTime+ts, 10), text(key), text(value)}
	for i := 0; i < len(headers); i += 2 {
		out = append(out, text(headers[i])+"="+text(headers[i+1]))
	}
	return strings.Join(out, ":")
}

// value is the next value: size bytes, no two alike.
func (w *workload) value(size int) string {
	w.seq++
	return fmt.Sprintf("%0*d", size, w.seq)
}

func (w *workload) batch(producer, topic string, records ...string) {
	w.d.t.Helper()
	w.d.do(append([]string{"batch", producer, topic}, records...)...)
}

// plain sends batches of one and two records, a second apart from the given one on.
func (w *workload) plain(topic string, second int64, batches int) {
	w.d.t.Helper()
	for i := range batches {
		ts := (second + int64(i)) * 1000
		recs := []string{rec(ts, "k"+strconv.Itoa(i), w.value(40))}
		if i%2 == 1 {
			recs = append(recs, rec(ts+1, null, w.value(20)))
		}
		w.batch("none", topic, recs...)
	}
}

// end ends a transaction and waits for its markers in the topics.
func (w *workload) end(verb, producer string, topics ...string) {
	w.d.t.Helper()
	var before []offsets
	for _, topic := range topics {
		before = append(before, w.d.offsets(topic))
	}
	w.d.do(verb, producer)
	for i, topic := range topics {
		for tries := 0; w.d.offsets(topic).End == before[i].End; tries++ {
			if tries > 200 {
				w.d.t.Fatalf("no marker of %s arrives in %s", producer, topic)
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
}

// codecs sends what a record can be, with each codec.
func (w *workload) codecs(second int64) {
	for i, codec := range []string{"none", "gzip", "snappy", "lz4", "zstd"} {
		ts := (second + 10*int64(i)) * 1000
		w.batch(codec, "codecs", rec(ts, "key", w.value(100)))
		w.batch(codec, "codecs",
			rec(ts+1, null, "value"), rec(ts-5000, "tombstone", null), rec(ts+2, null, null),
			rec(ts+2, "", ""), rec(ts+3, "headers", "x", "h1", "v1", "empty", "", "null", null, "h1", "again", "", "no name"))
		w.batch(codec, "codecs", rec(ts+10, "repetitive", strings.Repeat("abcdefgh", 60)), rec(ts+9, "\x00\xff\x80", w.value(3)))
		for range 3 {
			w.batch(codec, "codecs", rec(ts+20, "ü", w.value(70)))
		}
	}
}

func (w *workload) appendTime(second int64) {
	for i, codec := range []string{"none", "gzip", "snappy", "none", "lz4", "zstd", "none", "none"} {
		ts := (second + int64(i)) * 1000
		w.batch(codec, "append-time", rec(ts, "a", w.value(50)), rec(ts-3, "b", w.value(50)))
	}
}

func (w *workload) recompressed(second int64) {
	for i, producer := range []string{"none", "gzip", "lz4", "zstd", "idem1", "snappy"} {
		ts := (second + int64(i)) * 1000
		w.batch(producer, "recompressed", rec(ts, "a", w.value(60), "h", "v"), rec(ts-3, null, null), rec(ts+4, "", w.value(60)))
	}
}

// createTime has timestamps that go back, stay and jump: a jump of more than
// segment.ms from the first batch of a segment rolls it.
func (w *workload) createTime(second int64) {
	for _, ts := range []int64{0, 500, 1000, 400, 999, 1001, 1001, 900, 2001, 2002, -5000, -4500, -3999, -3998, 10000, 10001, 10999, 11000, 11001} {
		w.batch("none", "create-time", rec(second*1000+ts, null, w.value(90)), rec(second*1000+ts-100, null, w.value(30)))
	}
}

// indexFull fills the offset index with equal timestamps, then the time index with
// growing ones.
func (w *workload) indexFull(second int64) {
	for i := range 14 {
		w.batch("none", "index-full", rec(second*1000+int64(max(0, i-7)), null, w.value(10)))
	}
}

func (w *workload) transactions(second int64) {
	ts := second * 1000
	one := func(producer, key string) {
		ts += 7
		w.batch(producer, "transactions", rec(ts, key, w.value(60)))
	}
	one("idem1", "i1")
	w.d.do("begin", "txn1")
	w.d.do("begin", "txn2")
	one("txn1", "aborted")
	one("txn2", "committed")
	one("txn1", "aborted")
	one("idem2", "i2")
	w.end("abort", "txn1", "transactions")
	one("txn2", "committed")
	w.end("commit", "txn2", "transactions")
	for i := range 3 { // a transaction over several segments
		if i == 0 {
			w.d.do("begin", "txn2")
		}
		for range 5 {
			one("txn2", "long")
		}
		one("idem1", "between")
	}
	w.end("abort", "txn2", "transactions")
	one("idem1", "i3")
}

// compacted writes keys, tombstones, transactions of which one is aborted, and
// batches that compaction leaves as an empty header.
func (w *workload) compacted(topic string, second int64) {
	ts := second * 1000
	send := func(producer string, pairs ...string) {
		ts += 10
		var recs []string
		for i := 0; i < len(pairs); i += 2 {
			recs = append(recs, rec(ts+int64(i), pairs[i], pairs[i+1]))
		}
		w.batch(producer, topic, recs...)
	}
	send("idem1", "a", w.value(30), "b", w.value(30), "c", w.value(30))
	send("idem2", "a", w.value(30), "d", w.value(30), "c", w.value(30))
	w.d.do("begin", "txn1")
	send("txn1", "a", w.value(30), "e", w.value(30))
	w.end("commit", "txn1", topic)
	w.d.do("begin", "txn2")
	send("txn2", "a", w.value(30), "b", w.value(30))
	w.end("abort", "txn2", topic)
	send("zstd", "f", w.value(30), "g", null, "f", w.value(30), "h", w.value(30))
	send("none", "b", null, "d", null, "i", w.value(30))
	send("lz4", "i", w.value(30), "h", null)
	for i := range 4 {
		send("none", "end", w.value(90), "end"+strconv.Itoa(i), w.value(90))
	}
}
