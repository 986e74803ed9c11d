package conformance

import (
	"bytes"
	"encoding/binary"
	"fmt"
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

// mustDump has Kafka's DumpLogSegments read every segment file below a data directory
// that was closed cleanly: it must complain of nothing, and see the batches, records
// and index entries that we see.
func mustDump(t *testing.T, r release, data string) {
	t.Helper()
	mustDumpLive(t, r, data)
	var indexes []string
	for _, name := range segmentFiles(t, data) {
		if info, err := os.Stat(name); err == nil && info.Size() > 0 && !strings.HasSuffix(name, ".log") {
			indexes = append(indexes, name)
		}
	}
	text := runDump(t, r, "--index-sanity-check", "--files", strings.Join(indexes, ","))
	if passed := strings.Count(text, "passed sanity check."); passed != len(indexes) || passed == 0 {
		t.Errorf("%d of %d indexes pass the sanity check:\n%s", passed, len(indexes), text)
	}
}

// mustDumpLive is mustDump of a running broker's directory, where an active index is
// longer than its entries, which no sanity check accepts. Of one without entries the
// tool takes the first zeros for an entry.
func mustDumpLive(t *testing.T, r release, data string) {
	t.Helper()
	files := slices.DeleteFunc(segmentFiles(t, data), func(name string) bool {
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
		if want := asDumped(t, name); !slices.Equal(seen[name], want) {
			t.Errorf("%s: Kafka sees\n%s\nwe see\n%s", name, strings.Join(seen[name], "\n"), strings.Join(want, "\n"))
		}
	}
}

func segmentFiles(t *testing.T, data string) []string {
	t.Helper()
	var out []string
	for _, suffix := range []string{"log", "index", "timeindex"} {
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

// dumped splits a dump by file into the lines that tell a batch, a record or an index
// entry. Keys and values, which may be any bytes, are cut off.
func dumped(text string) map[string][]string {
	out := make(map[string][]string)
	file := ""
	for _, line := range strings.Split(text, "\n") {
		if name, starts := strings.CutPrefix(line, "Dumping "); starts {
			file = name
			continue
		}
		for _, prefix := range []string{"baseOffset: ", "| offset: ", "offset: ", "timestamp: "} {
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
