package conformance

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/simkafka/simkafka/model/record"
)

// dumpTool has the same name in all releases up to 4.1.
const dumpTool = "kafka.tools.DumpLogSegments"

// alarms are what DumpLogSegments says of a file that it does not like.
var alarms = []string{"ismatch", "out of order", "invalid bytes", "isvalid: false", "orrupt", "Exception", "no such file"}

// mustDump has Kafka's DumpLogSegments read every file of segments and producers below a
// data directory that was closed cleanly: it must complain of nothing, and see the
// batches, records, index entries, aborted transactions and producers that we see.
func mustDump(t *testing.T, r release, data string) dumpCounts {
	t.Helper()
	counts := mustDumpLive(t, r, data)
	var indexes []string
	for _, name := range filesWith(t, data, "index", "timeindex") {
		if info, err := os.Stat(name); err == nil && info.Size() > 0 {
			indexes = append(indexes, name)
		}
	}
	text := runDump(t, r, "--index-sanity-check", "--files", strings.Join(indexes, ","))
	if passed := strings.Count(text, "passed sanity check."); passed != len(indexes) || passed == 0 {
		t.Errorf("%d of %d indexes pass the sanity check:\n%s", passed, len(indexes), text)
	}
	return counts
}

// mustDumpLive is mustDump of a running broker's directory, where an active index is
// longer than its entries, which no sanity check accepts. Of one without entries the
// tool takes the first zeros for an entry.
func mustDumpLive(t *testing.T, r release, data string) (counts dumpCounts) {
	t.Helper()
	files := slices.DeleteFunc(filesWith(t, data, "log", "index", "timeindex", "txnindex", "snapshot"), func(name string) bool {
		b, err := os.ReadFile(name)
		check(t, err)
		return !strings.HasSuffix(name, ".log") && len(bytes.Trim(b, "\x00")) == 0
	})
	text := runDump(t, r, "--deep-iteration", "--print-data-log", "--files", strings.Join(files, ","))
	for _, alarm := range alarms {
		if at := strings.Index(text, alarm); at >= 0 {
			t.Errorf("Kafka complains: %s", text[max(0, at-300):min(len(text), at+500)])
		}
	}
	seen := dumped(text)
	for _, name := range files {
		want := asDumped(t, name)
		if !slices.Equal(seen[name], want) {
			t.Errorf("%s: Kafka sees\n%s\nwe see\n%s", name, strings.Join(seen[name], "\n"), strings.Join(want, "\n"))
		}
		counts.add(name, len(want))
	}
	return counts
}

// dumpCounts are what a dump has told of.
type dumpCounts struct{ Files, Aborted, Producers int }

func (c *dumpCounts) add(file string, lines int) {
	c.Files++
	switch filepath.Ext(file) {
	case ".txnindex":
		c.Aborted += lines
	case ".snapshot":
		c.Producers += lines
	}
}

// filesWith are the files of all partitions with one of the suffixes.
func filesWith(t *testing.T, data string, suffixes ...string) []string {
	t.Helper()
	var out []string
	for _, suffix := range suffixes {
		files, err := filepath.Glob(filepath.Join(data, "*-0", "*."+suffix))
		check(t, err)
		out = append(out, files...)
	}
	slices.Sort(out)
	return out
}

func runDump(t *testing.T, r release, args ...string) string {
	t.Helper()
	out, err := r.java(t, "192m", dumpTool, args...).CombinedOutput()
	if err != nil {
		t.Errorf("DumpLogSegments: %v", err)
	}
	return string(out)
}

// dumped splits a dump by file into the lines that tell a batch, a record, an index
// entry, an aborted transaction or a producer. Keys and values, which may be any bytes,
// are cut off.
func dumped(text string) map[string][]string {
	out := make(map[string][]string)
	file := ""
	for _, line := range strings.Split(text, "\n") {
		if name, starts := strings.CutPrefix(line, "Dumping "); starts {
			file = name
			continue
		}
		for _, prefix := range []string{"baseOffset: ", "| offset: ", "offset: ", "timestamp: ", "version: ", "producerId: "} {
			if strings.HasPrefix(line, prefix) {
				if at := strings.Index(line, "headerKeys: ["); at >= 0 {
					line = line[:at+strings.IndexByte(line[at:], ']')+1]
				}
				out[file] = append(out[file], line)
			}
		}
	}
	return out
}

// asDumped says of a file what DumpLogSegments should say.
func asDumped(t *testing.T, path string) []string {
	t.Helper()
	if strings.HasSuffix(path, ".log") {
		return batchesAsDumped(t, path)
	}
	b, err := os.ReadFile(path)
	check(t, err)
	switch filepath.Ext(path) {
	case ".txnindex":
		return abortedAsDumped(b)
	case ".snapshot":
		return producersAsDumped(t, path, b)
	}
	base, err := strconv.ParseInt(strings.SplitN(filepath.Base(path), ".", 2)[0], 10, 64)
	check(t, err)
	width := 8
	if strings.HasSuffix(path, ".timeindex") {
		width = 12
	}
	var out []string
	for e := range slices.Chunk(b[:len(b)/width*width], width) {
		first, second := int64(binary.BigEndian.Uint32(e)), int64(binary.BigEndian.Uint32(e[width-4:]))
		if width == 8 {
			if first == 0 && len(out) > 0 {
				break // what is left of a file that was never cut
			}
			out = append(out, fmt.Sprintf("offset: %d position: %d", base+first, second))
			continue
		}
		if second == 0 && len(out) > 0 {
			break
		}
		out = append(out, fmt.Sprintf("timestamp: %d offset: %d", int64(binary.BigEndian.Uint64(e)), base+second))
	}
	return out
}

func batchesAsDumped(t *testing.T, path string) []string {
	t.Helper()
	var out []string
	pos := 0
	for _, b := range batchesOf(t, path) {
		out = append(out, fmt.Sprintf("baseOffset: %d lastOffset: %d count: %d baseSequence: %d lastSequence: %d producerId: %d producerEpoch: %d "+
			"partitionLeaderEpoch: %d isTransactional: %t isControl: %t deleteHorizonMs: OptionalLong.empty position: %d %s: %d size: %d magic: 2 "+
			"compresscodec: %s crc: %d isvalid: true",
			b.BaseOffset(), b.LastOffset(), b.Count(), b.BaseSequence(), b.LastSequence(), b.ProducerID(), b.ProducerEpoch(),
			b.PartitionLeaderEpoch(), b.IsTransactional(), b.IsControl(), pos, b.TimestampType(), b.MaxTimestamp(), len(b), b.Codec(), b.CRC()))
		records, err := b.Records(nil)
		check(t, err)
		for _, rec := range records {
			out = append(out, recordAsDumped(b, rec))
		}
		pos += len(b)
	}
	return out
}

func recordAsDumped(b record.Batch, rec record.Record) string {
	size := func(b []byte) int {
		if b == nil {
			return -1
		}
		return len(b)
	}
	keys := ""
	for i, h := range rec.Headers {
		if i > 0 {
			keys += ","
		}
		keys += h.Key
	}
	return fmt.Sprintf("| offset: %d %s: %d keySize: %d valueSize: %d sequence: %d headerKeys: [%s]",
		rec.Offset, b.TimestampType(), rec.Timestamp, size(rec.Key), size(rec.Value), rec.Sequence, keys)
}

// abortedAsDumped are the whole entries of a transaction index (storage 4.1).
func abortedAsDumped(b []byte) (out []string) {
	const entry = 34
	for e := range slices.Chunk(b[:len(b)/entry*entry], entry) {
		field := func(at int) int64 { return int64(binary.BigEndian.Uint64(e[at:])) }
		out = append(out, fmt.Sprintf("version: %d producerId: %d firstOffset: %d lastOffset: %d lastStableOffset: %d",
			e[0], field(2), field(10), field(18), field(26)))
	}
	return out
}

// producersAsDumped are the entries of a producer snapshot (storage 4.5). A producer
// without a batch has no offsets.
func producersAsDumped(t *testing.T, path string, b []byte) (out []string) {
	t.Helper()
	if !validSnapshot(b) {
		t.Fatalf("%s is no producer snapshot: %x", path, b)
	}
	for e := range slices.Chunk(b[snapshotHead:], producerEntry) {
		number := func(at int) int64 { return int64(binary.BigEndian.Uint64(e[at:])) }
		small := func(at int) int32 { return int32(binary.BigEndian.Uint32(e[at:])) }
		line := fmt.Sprintf("producerId: %d producerEpoch: %d coordinatorEpoch: %d currentTxnFirstOffset: %s lastTimestamp: %d ",
			number(0), int16(binary.BigEndian.Uint16(e[8:])), small(34), optionalLong(number(38)), number(26))
		if last, lastSequence, delta := number(14), small(10), small(22); last >= 0 {
			line += fmt.Sprintf("firstSequence: %d lastSequence: %d lastOffset: %d offsetDelta: %d timestamp: %d",
				sequenceBefore(lastSequence, delta), lastSequence, last, delta, number(26))
		}
		out = append(out, line)
	}
	return out
}

// optionalLong is how Java prints an offset that may be none.
func optionalLong(n int64) string {
	if n < 0 {
		return "OptionalLong.empty"
	}
	return fmt.Sprintf("OptionalLong[%d]", n)
}

// sequenceBefore goes back in the sequence numbers, which wrap to 0 after the largest.
func sequenceBefore(last, by int32) int32 {
	if last >= by {
		return last - by
	}
	return math.MaxInt32 - (by - last) + 1
}
