package conformance

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/log"
	"github.com/simkafka/simkafka/model/record"
	"github.com/simkafka/simkafka/model/vfs/vfstest"
)

const (
	producedTopics  = 24
	producedBatches = 150 // to each
)

// Kafka's own produce path (ProduceRequest.validateRecords, UnifiedLog.appendAsLeader,
// LogValidator, ProducerAppendInfo) gets random batches, most of them spoilt, on topics
// with random settings: it answers with the same error code as ours, refuses the same
// records, and what it accepts it stores as we do, byte for byte unless the codecs of its
// language compress it (storage 1.8).
func TestKafkaJudgesProducedBatchesAsWeDo(t *testing.T) {
	eachRelease(t, func(t *testing.T, r release) {
		needKafka(t, r)
		k, dir := startKafkaLogs(t, r), ramDir(t)
		topics := validatingTopics(r)
		configs := (&manifest{Topics: topics}).configs(t)
		fs := vfstest.NewMem()
		check(t, fs.MkdirAll("data"))
		k.configure(filepath.Join(dir, "data"), topics)
		m := load(t, fs, "data", configs, 0)
		k.load(m)
		p := &producing{T: t, k: k, rand: rand.New(rand.NewPCG(9, 1)), answers: make(map[string]int)}
		for i, topic := range topics {
			l, err := m.Create(tp(topic.Name), kafka.TopicID{byte(i + 1)}, 0)
			check(t, err)
			k.change(0, "create", topic.Name, kafka.TopicID{byte(i + 1)}.String())
			for range producedBatches {
				p.one(topic, l)
			}
		}
		t.Logf("Kafka %s: %v", r.version, p.answers)
		if p.answers["other code"] > producedTopics/4 {
			t.Errorf("another code in %d cases", p.answers["other code"])
		}
		for _, code := range []string{"ok", "as records", "INVALID_RECORD", "CORRUPT_MESSAGE", "MESSAGE_TOO_LARGE", "INVALID_TIMESTAMP",
			"UNKNOWN_SERVER_ERROR", "OUT_OF_ORDER_SEQUENCE_NUMBER", "INVALID_PRODUCER_EPOCH", "RECORD_LIST_TOO_LARGE"} {
			if p.answers[code] == 0 {
				t.Errorf("no batch is answered %q", code)
			}
		}
	})
}

// validatingTopics have what a validation reads.
func validatingTopics(r release) (out []goldenTopic) {
	rnd := rand.New(rand.NewPCG(9, 2))
	pick := func(values ...string) string { return values[rnd.IntN(len(values))] }
	for i := range producedTopics {
		s := map[string]string{
			r.segmentBytes: pick("600", "4000"), "max.message.bytes": pick("300", "700", "5000"),
			"message.timestamp.type": pick("CreateTime", "CreateTime", "LogAppendTime"), "compression.type": pick("producer", "producer", "gzip", "lz4", "snappy", "zstd", "uncompressed"),
			"cleanup.policy": pick("delete", "delete", "compact"), "segment.index.bytes": "480",
			"message.timestamp.before.max.ms": pick("100", "9223372036854775807"), "message.timestamp.after.max.ms": pick("100", "9223372036854775807"),
		}
		if s["compression.type"] == "producer" {
			delete(s, "compression.type")
		}
		out = append(out, goldenTopic{Name: fmt.Sprintf("produced-%02d", i), Settings: s})
	}
	return out
}

type producing struct {
	*testing.T
	k       *kafkaLogs
	rand    *rand.Rand
	builder record.Builder
	answers map[string]int
}

// producedAt is the wall clock.
const producedAt = baseTime + 500

func (p *producing) one(topic goldenTopic, l *log.Log) {
	p.Helper()
	b := p.batch()
	story := p.spoil(&b)
	answer, reason, _ := strings.Cut(p.k.do(producedAt, "produce", topic.Name, 1, base64.StdEncoding.EncodeToString(b)), " | ")
	theirs := strings.Fields(answer)
	info, v, err := l.Append(slices.Clone(b), &log.LeaderAppend{Epoch: 1, Now: producedAt})
	check(p, err)
	if theirs[0] != "ok" {
		p.refused(topic, story, b, theirs, reason, v)
		return
	}
	if v.Code != kafka.None {
		p.Fatalf("%s, %v: %s: Kafka stores what we refuse, %s: %x", topic.Name, topic.Settings, story, v.Message, b)
	}
	if first := strconv.FormatInt(int64(info.Base), 10); first != theirs[1] {
		p.Fatalf("%s: %s: first offset %s, Kafka says %s", topic.Name, story, first, theirs[1])
	}
	stored, err := base64.StdEncoding.DecodeString(theirs[2])
	check(p, err)
	read, err := l.Read(info.Base, 1, l.LogEndOffset(), true)
	check(p, err)
	p.answers[p.compare(topic, story, read.Records, stored)]++
}

func (p *producing) refused(topic goldenTopic, story string, b record.Batch, theirs []string, reason string, v record.Verdict) {
	p.Helper()
	ours := v.Code.String()
	for _, e := range v.RecordErrors {
		ours += fmt.Sprint(" ", e.Index)
	}
	if got := strings.Join(theirs, " "); got != ours {
		if b.Codec() != record.None && unreadable(theirs[0]) && unreadable(v.Code.String()) {
			p.answers["other code"]++
			return
		}
		p.Fatalf("%s, %v: %s: Kafka answers %s (%s), we %s (%s): %x", topic.Name, topic.Settings, story, got, reason, ours, v.Message, b)
	}
	p.answers[theirs[0]]++
}

// unreadable: of the faults of a compressed batch Kafka meets another one first, since it
// decompresses while it reads records.
func unreadable(answer string) bool {
	return answer == kafka.InvalidRecord.String() || answer == kafka.UnknownServerError.String()
}

// compare tells how two stored batches are the same. Batches that were compressed anew
// differ in their length, checksum and record area; what is in it must not.
func (p *producing) compare(topic goldenTopic, story string, ours, theirs record.Batch) string {
	p.Helper()
	if slices.Equal(ours, theirs) {
		return "ok"
	}
	if !sameButPacked(ours, theirs) {
		p.Fatalf("%s, %v: %s: stored\nours  %x\nKafka %x", topic.Name, topic.Settings, story, ours, theirs)
	}
	return "as records"
}

// batch is a batch that a producer may send.
func (p *producing) batch() record.Batch {
	o := record.ClientOptions()
	if o.Codec = record.None; p.rand.IntN(2) == 0 {
		o.Codec = record.Codec(p.rand.IntN(5))
	}
	if p.rand.IntN(3) == 0 {
		o.ProducerID, o.ProducerEpoch, o.BaseSequence = p.rand.Int64N(3), int16(p.rand.IntN(8)/7), p.rand.Int32N(4)
		o.Transactional = p.rand.IntN(4) == 0
	}
	p.builder.Reset(o)
	for range 1 + p.rand.IntN(4) {
		ts := kafka.TimestampMs(producedAt - 100 + p.rand.IntN(200))
		switch p.rand.IntN(12) {
		case 0:
			ts = kafka.NoTimestamp
		case 1:
			ts += []kafka.TimestampMs{-1, 1, -1000, 1000}[p.rand.IntN(4)] * 100
		}
		var headers []record.Header
		if p.rand.IntN(3) == 0 {
			headers = []record.Header{{Key: "h", Value: p.bytes(5)}, {Key: ""}}
		}
		p.builder.Append(ts, p.bytes(20), p.bytes([]int{10, 100, 400}[p.rand.IntN(3)]), headers)
	}
	b, err := p.builder.Build()
	check(p, err)
	return b
}

// bytes are up to n, now and then nil.
func (p *producing) bytes(n int) []byte {
	if p.rand.IntN(12) == 0 {
		return nil
	}
	return []byte(strings.Repeat("v", p.rand.IntN(n)))
}

// spoil changes a batch in one of many ways, and tells how.
func (p *producing) spoil(b *record.Batch) string {
	at := spoilings[p.rand.IntN(len(spoilings))]
	if p.rand.IntN(3) == 0 {
		return "as it is"
	}
	*b = at.change(p, slices.Clone(*b))
	return at.name
}

type spoiling struct {
	name   string
	change func(p *producing, b record.Batch) record.Batch
}

// header is a spoiling that writes a field of a header, behind which the checksum is
// right again.
func header(name string, at, width int, value func(p *producing, old int64) int64) spoiling {
	return spoiling{name, func(p *producing, b record.Batch) record.Batch {
		switch width {
		case 1:
			b[at] = byte(value(p, int64(int8(b[at]))))
		case 2:
			binary.BigEndian.PutUint16(b[at:], uint16(value(p, int64(int16(binary.BigEndian.Uint16(b[at:]))))))
		case 4:
			binary.BigEndian.PutUint32(b[at:], uint32(value(p, int64(int32(binary.BigEndian.Uint32(b[at:]))))))
		case 8:
			binary.BigEndian.PutUint64(b[at:], uint64(value(p, int64(binary.BigEndian.Uint64(b[at:])))))
		}
		return summed(b)
	}}
}

// summed has the right checksum.
func summed(b record.Batch) record.Batch {
	if len(b) > 21 {
		binary.BigEndian.PutUint32(b[17:], crc32.Checksum(b[21:], crc32.MakeTable(crc32.Castagnoli)))
	}
	return b
}

func near(p *producing, old int64) int64 { return old + int64(p.rand.IntN(5)) - 2 }

func oneOf(values ...int64) func(*producing, int64) int64 {
	return func(p *producing, _ int64) int64 { return values[p.rand.IntN(len(values))] }
}

var spoilings = []spoiling{
	header("base offset", 0, 8, oneOf(1, -1, 5)),
	header("length", 8, 4, near),
	header("any length", 8, 4, oneOf(0, -1, 13, 14, 15, 30, 48, 49, math.MaxInt32, math.MaxInt32-12, math.MaxInt32-11)),
	header("leader epoch", 12, 4, oneOf(0, 7)),
	header("magic", 16, 1, oneOf(0, 1, 3, -1)),
	header("codec", 22, 1, func(p *producing, old int64) int64 { return old&^7 | int64(p.rand.IntN(8)) }),
	header("attributes", 22, 1, func(p *producing, old int64) int64 { return old ^ 1<<(3+p.rand.IntN(5)) }),
	header("high attributes", 21, 1, oneOf(1, -128)),
	header("last offset delta", 23, 4, near),
	header("any last offset delta", 23, 4, oneOf(-1, math.MaxInt32, math.MinInt32)),
	header("base timestamp", 27, 8, oneOf(-1, -5, math.MinInt64, math.MaxInt64)),
	header("max timestamp", 35, 8, oneOf(-1, producedAt, math.MaxInt64)),
	header("producer id", 43, 8, oneOf(-1, -2, 1)),
	header("producer epoch", 51, 2, oneOf(-1, 0, 3)),
	header("base sequence", 53, 4, oneOf(-1, -2, 0, math.MaxInt32)),
	header("count", 57, 4, near),
	header("any count", 57, 4, oneOf(-1, 0, math.MaxInt32, math.MinInt32)),
	{"count and last offset delta", func(p *producing, b record.Batch) record.Batch {
		n := uint32(p.rand.IntN(6))
		binary.BigEndian.PutUint32(b[23:], n-1)
		binary.BigEndian.PutUint32(b[57:], n)
		return summed(b)
	}},
	{"checksum", func(p *producing, b record.Batch) record.Batch { b[17+p.rand.IntN(4)] ^= 1; return b }},
	{"a bit of the records", func(p *producing, b record.Batch) record.Batch {
		b[record.HeaderSize+p.rand.IntN(len(b)-record.HeaderSize)] ^= 1 << p.rand.IntN(8)
		return summed(b)
	}},
	{"records cut", func(p *producing, b record.Batch) record.Batch {
		b = b[:record.HeaderSize+p.rand.IntN(len(b)-record.HeaderSize)]
		binary.BigEndian.PutUint32(b[8:], uint32(len(b)-12))
		return summed(b)
	}},
	{"bytes behind the records", func(p *producing, b record.Batch) record.Batch {
		b = append(b, make([]byte, 1+p.rand.IntN(3))...)
		binary.BigEndian.PutUint32(b[8:], uint32(len(b)-12))
		return summed(b)
	}},
	{"bytes behind the batch", func(p *producing, b record.Batch) record.Batch { return append(b, make([]byte, 1+p.rand.IntN(30))...) }},
	{"batch cut", func(p *producing, b record.Batch) record.Batch { return b[:p.rand.IntN(len(b))] }},
	{"two batches", func(p *producing, b record.Batch) record.Batch { return append(b, p.batch()...) }},
	{"a piece of a second batch", func(p *producing, b record.Batch) record.Batch {
		second := p.batch()
		return append(b, second[:p.rand.IntN(len(second))]...)
	}},
	{"offsets", func(p *producing, b record.Batch) record.Batch { return p.irregular(p.rand.IntN(2) == 0) }},
}

// irregular has a gap between its offsets.
func (p *producing) irregular(packed bool) record.Batch {
	o := record.ClientOptions()
	if packed {
		o.Codec = record.Codec(1 + p.rand.IntN(4))
	}
	p.builder.Reset(o)
	p.builder.AppendAt(kafka.Offset(p.rand.IntN(2)), producedAt, []byte("a"), nil, nil)
	p.builder.AppendAt(kafka.Offset(2+p.rand.IntN(2)), producedAt, []byte("b"), nil, nil)
	b, err := p.builder.Build()
	check(p, err)
	binary.BigEndian.PutUint32(b[23:], 1)
	return summed(b)
}
