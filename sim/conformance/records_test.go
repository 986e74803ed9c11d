package conformance

import (
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/log"
	"github.com/simkafka/simkafka/model/record"
)

// batchesOf are the batches of a file of batches, which must hold nothing else.
func batchesOf(t testing.TB, path string) []record.Batch {
	t.Helper()
	rest, err := os.ReadFile(path)
	check(t, err)
	var out []record.Batch
	for pos := 0; ; {
		b, next, err := record.Next(rest)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatalf("%s at %d: %v", path, pos, err)
		}
		pos, rest = pos+len(b), next
		out = append(out, b)
	}
}

// batchesIn are those of all segments of a partition's directory.
func batchesIn(t testing.TB, dir string) []record.Batch {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.log"))
	check(t, err)
	var out []record.Batch
	for _, f := range files {
		out = append(out, batchesOf(t, f)...)
	}
	return out
}

func TestEveryBatchOfKafkaDecodes(t *testing.T) {
	eachRelease(t, func(t *testing.T, r release) {
		seen := make(map[record.Codec]int)
		for _, dir := range []string{cleanDir, recoveredDir} {
			check(t, filepath.WalkDir(filepath.Join(r.golden(), dir), func(path string, d fs.DirEntry, err error) error {
				if err == nil && (strings.HasSuffix(path, ".log") || strings.HasSuffix(path, ".checkpoint")) {
					decodeAll(t, path, seen)
				}
				return err
			}))
		}
		for c := record.None; c <= record.Zstd; c++ {
			if seen[c] < 5 {
				t.Errorf("only %d batches of codec %s", seen[c], c)
			}
		}
	})
}

func decodeAll(t *testing.T, path string, seen map[record.Codec]int) {
	last := kafka.Offset(-1)
	for i, b := range batchesOf(t, path) {
		if err := b.Check(); err != nil {
			t.Errorf("%s: batch %d: %v", path, i, err)
		}
		records, err := b.Records(nil)
		if err != nil || len(records) != int(b.Count()) {
			t.Errorf("%s: batch %d: %d records of %d: %v", path, i, len(records), b.Count(), err)
		}
		for _, rec := range records {
			if rec.Offset <= last || rec.Offset > b.LastOffset() {
				t.Errorf("%s: offset %d follows %d in a batch that ends at %d", path, rec.Offset, last, b.LastOffset())
			}
			last = rec.Offset
			if b.IsControl() {
				if _, err := record.ParseControl(rec.Key); err != nil {
					t.Errorf("%s: offset %d: %v", path, rec.Offset, err)
				}
			}
		}
		last = b.LastOffset()
		seen[b.Codec()]++
	}
}

// decoded are a topic's records, in the form of the golden ones. Like a consumer it
// passes over offsets that it has seen, which a power failure may bring back. Committed
// is worked out from the markers in the slow, obvious way.
func decoded(t testing.TB, topic string, batches []record.Batch, start int64) []goldenRecord {
	t.Helper()
	var out []goldenRecord
	fates := fatesOf(t, batches)
	for i, b := range batches {
		records, err := b.Records(nil)
		check(t, err)
		for _, rec := range records {
			if b.IsControl() || int64(rec.Offset) < start {
				continue
			}
			start = int64(rec.Offset) + 1
			g := goldenRecord{
				Topic: topic, Offset: int64(rec.Offset), Timestamp: int64(rec.Timestamp), Type: b.TimestampType().String(),
				Epoch: int32(b.PartitionLeaderEpoch()), Key: hexOf(rec.Key), Value: hexOf(rec.Value),
				Headers: [][2]*string{}, Committed: fates[i],
			}
			for _, h := range rec.Headers {
				g.Headers = append(g.Headers, [2]*string{hexOf([]byte(h.Key)), hexOf(h.Value)})
			}
			out = append(out, g)
		}
	}
	return out
}

func hexOf(b []byte) *string {
	if b == nil {
		return nil
	}
	text := hex.EncodeToString(b)
	return &text
}

// fatesOf tells of each batch whether a read_committed consumer gets it: it is before
// the first open transaction and its own was not aborted.
func fatesOf(t testing.TB, batches []record.Batch) []bool {
	t.Helper()
	fates := make([]bool, len(batches))
	open := make(map[int64][]int) // indexes of the batches of each producer's transaction
	for i, b := range batches {
		fates[i] = true
		if !b.IsTransactional() {
			continue
		}
		marker, isMarker, err := b.ParseMarker()
		check(t, err)
		if !isMarker {
			open[b.ProducerID()] = append(open[b.ProducerID()], i)
			continue
		}
		for _, j := range open[b.ProducerID()] {
			fates[j] = marker.Commit
		}
		delete(open, b.ProducerID())
	}
	for _, txn := range open {
		for i := txn[0]; i < len(fates); i++ {
			fates[i] = false
		}
	}
	return fates
}

func TestRecordsAreThoseThatKafkasConsumerSaw(t *testing.T) {
	eachRelease(t, func(t *testing.T, r release) {
		m := readManifest(t, r)
		for _, dir := range []string{cleanDir, recoveredDir} {
			want := readRecords(t, r, dir)
			end := m.Lives[len(m.Lives)-1].End
			for _, topic := range m.Topics {
				got := decoded(t, topic.Name, batchesIn(t, filepath.Join(r.golden(), dir, topic.Name+"-0")), end[topic.Name].Start)
				sameRecords(t, dir+" "+topic.Name, got, want[topic.Name])
			}
		}
	})
}

// sameRecords compares records in order and tells the first that differs.
func sameRecords(t testing.TB, what string, got, want []goldenRecord) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		switch {
		case i == len(got):
			t.Errorf("%s: %d records, want %d; the next is %s", what, len(got), len(want), want[i])
		case i == len(want):
			t.Errorf("%s: %d records, want %d; the next is %s", what, len(got), len(want), got[i])
		case !reflect.DeepEqual(got[i], want[i]):
			t.Errorf("%s: record %d is %s, want %s", what, i, got[i], want[i])
		default:
			continue
		}
		return
	}
}

// readAll reads a log from its start to its end, as a consumer does that fetches up to
// maxBytes at once.
func readAll(t testing.TB, l *log.Log, maxBytes int) []record.Batch {
	t.Helper()
	var out []record.Batch
	for at := l.LogStartOffset(); at < l.LogEndOffset(); {
		info, err := l.Read(at, maxBytes, l.LogEndOffset(), true)
		check(t, err)
		before := at
		for rest := info.Records; ; {
			b, next, err := record.Next(rest)
			if errors.Is(err, io.EOF) || errors.Is(err, record.ErrIncomplete) {
				break
			}
			check(t, err)
			out = append(out, b)
			at, rest = b.NextOffset(), next
		}
		if at == before { // compaction has taken all that followed
			return out
		}
	}
	return out
}

// consumed are the records of a log as a consumer with both isolation levels gets them:
// what read_committed skips is learned as a real consumer learns it, from the last
// stable offset and the aborted transactions of each fetch.
func consumed(t testing.TB, topic string, l *log.Log, maxBytes int) []goldenRecord {
	t.Helper()
	l.SetHighWatermark(l.LogEndOffset())
	out := decoded(t, topic, readAll(t, l, maxBytes), int64(l.LogStartOffset()))
	committed := make(map[int64]bool)
	aborting := make(map[int64]bool) // producers
	for at := l.LogStartOffset(); at < l.LastStableOffset(); {
		info, err := l.Read(at, maxBytes, l.LastStableOffset(), true)
		check(t, err)
		aborted, err := l.AbortedTransactions(nil, at, &info)
		check(t, err)
		before := at
		for rest := info.Records; ; {
			b, next, err := record.Next(rest)
			if errors.Is(err, io.EOF) || errors.Is(err, record.ErrIncomplete) {
				break
			}
			check(t, err)
			for _, a := range aborted {
				if a.FirstOffset <= b.LastOffset() && a.LastOffset > b.LastOffset() {
					aborting[a.ProducerID] = true
				}
			}
			if marker, ok, _ := b.ParseMarker(); ok && !marker.Commit {
				delete(aborting, b.ProducerID())
			}
			records, err := b.Records(nil)
			check(t, err)
			for _, rec := range records {
				committed[int64(rec.Offset)] = !(b.IsTransactional() && aborting[b.ProducerID()])
			}
			at, rest = b.NextOffset(), next
		}
		if at == before {
			break
		}
	}
	for i := range out {
		out[i].Committed = committed[out[i].Offset]
	}
	return out
}
