package record

import (
	"bytes"
	"encoding/hex"
	"io"
	"reflect"
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
)

// The byte vectors of storage 13: R were written by real brokers, S made from
// the specification.
const (
	vectorR1  = "00000000000000000000003f0000000002bb4b726600000000000000000195f86c635900000195f86c63590000000000000000000000000000000000011a000000010e68656a20686f2000"
	vectorR2  = "00000000000000010000003d0000000002ea8a5eda00000000000000000195f86c6c9c00000195f86c6c9c00000000000000000000000000010000000116000000010a3a4444444400"
	vectorR3  = "0000000000000001000000400000000202c85cbd230000000000010000015dff7cdd6c0000015dff7cde14ffffffffffffffffffffffffffff000000020c0000000100000e00d00202010000"
	vectorR4  = "00000000000000000000004f00000001024848de4800200000000000000195f86222ab00000195f86222abffffffffffffffffffffffffffff000000013a0000000800000002260000000000010200000001000200000001000000"
	vectorR5  = "00000000000000000000007900000000025da9bf740001000000010000017c4f1eea730000017c4f1eea8dffffffffffffffffffffffffffff000000021f8b08000000000000008b606060e04acc29c84874aa564ace2fcd2b51b232d0514acbccc9492d52b2524a8403a55a86300613268ea4d4121c6a93e000a816005385622759000000"
	vectorR6  = "00000000000000000000004700000000026dfbb94b00200000000000000195f8621cbe00000195f8621cbeffffffffffffffffffffffffffff000000012a000000080000000316000000000000000000000000"
	vectorR6b = "00000000000000040000003f0000000002f31f10d300200000000000000195f8621ccb00000195f8621ccbffffffffffffffffffffffffffff000000011a00000008000000040600000000"
	vectorS1  = "00000000000000050000004a000000030232c66a310000000000010000018bcfe568000000018bcfe56807ffffffffffffffffffffffffffff0000000220000000026b0476310402680278026e010e000e02026b0100"
	vectorS2  = "0000000000000007000000420000000302f4d55a9c0030000000000000018bcfe568090000018bcfe568090000000000000fa00002ffffffff000000012000000008000000010c00000000000b00"
	vectorS3  = "000000000000000800000042000000030200eb8cd40030000000000000018bcfe568090000018bcfe568090000000000000fa00002ffffffff000000012000000008000000000c00000000000b00"
	vectorS4  = "0000000000000009000000410000000302242754a40008000000010000018bcfe568000000018bcfe569f4ffffffffffffffffffffffffffff000000020e000000010261000e00050201026200"
	vectorS5  = "00000000000000050000003c0000000302635335840040000000010000018bd50bc4000000018bcfe56807ffffffffffffffffffffffffffff000000011400f1efb25202026b0100"
	vectorS6  = "0000000000000014000000310000000302464b1cd6000000000004ffffffffffffffff0000018bcfe5684d0000000000000fa000020000000a00000000"
)

func vector(t testing.TB, text string) Batch {
	t.Helper()
	data, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	b, rest, err := Next(data)
	if err != nil || len(rest) > 0 {
		t.Fatalf("Next: %v, %d bytes left", err, len(rest))
	}
	if err := b.Check(); err != nil {
		t.Fatal(err)
	}
	return b
}

func mustRecords(t testing.TB, b Batch) []Record {
	t.Helper()
	records, err := b.Records(nil)
	if err != nil {
		t.Fatal(err)
	}
	return records
}

// head is every header field by its accessor.
type head struct {
	base, last    kafka.Offset
	length        int
	epoch         kafka.LeaderEpoch
	crc           uint32
	attributes    int16
	baseTS, maxTS kafka.TimestampMs
	pid           int64
	pepoch        int16
	seq, lastSeq  int32
	count         int32
}

func headOf(b Batch) head {
	return head{
		b.BaseOffset(), b.LastOffset(), b.Size() - LogOverhead, b.PartitionLeaderEpoch(), b.CRC(), b.Attributes(),
		b.BaseTimestamp(), b.MaxTimestamp(), b.ProducerID(), b.ProducerEpoch(), b.BaseSequence(), b.LastSequence(), b.Count(),
	}
}

func TestStorageVectorsDecodeAsWritten(t *testing.T) {
	const s = 1700000000000
	k, empty := []byte("k"), []byte{}
	for _, c := range []struct {
		name, hex string
		head      head
		records   []Record
	}{
		{"R1", vectorR1, head{0, 0, 63, 0, 0xbb4b7266, 0, 1743629607769, 1743629607769, 0, 0, 0, 0, 1},
			[]Record{{Timestamp: 1743629607769, Value: []byte("hej ho ")}}},
		{"R2", vectorR2, head{1, 1, 61, 0, 0xea8a5eda, 0, 1743629610140, 1743629610140, 0, 0, 1, 1, 1},
			[]Record{{Offset: 1, Timestamp: 1743629610140, Sequence: 1, Value: []byte(":DDDD")}}},
		{"R3", vectorR3, head{1, 2, 64, 2, 0xc85cbd23, 0, 1503229959532, 1503229959700, -1, -1, -1, -1, 2},
			[]Record{
				{Offset: 1, Timestamp: 1503229959532, Sequence: -1, Value: empty},
				{Offset: 2, Timestamp: 1503229959700, Sequence: -1, Value: empty},
			}},
		{"R4", vectorR4, head{0, 0, 79, 1, 0x4848de48, 0x20, 1743628935851, 1743628935851, -1, -1, -1, -1, 1},
			[]Record{{Timestamp: 1743628935851, Sequence: -1, Key: unhex("00000002"), Value: unhex("00000000000102000000010002000000010000")}}},
		{"R5", vectorR5, head{0, 1, 121, 0, 0x5da9bf74, 1, 1633414998643, 1633414998669, -1, -1, -1, -1, 2},
			[]Record{
				{Timestamp: 1633414998643, Sequence: -1, Key: []byte("alpha"), Value: []byte(`{"count":0,"filler":"aaaaaaaaaa"}`)},
				{Offset: 1, Timestamp: 1633414998669, Sequence: -1, Key: []byte("beta"), Value: []byte(`{"count":0,"filler":"bbbbbbbbbb"}`)},
			}},
		{"R6", vectorR6, head{0, 0, 71, 0, 0x6dfbb94b, 0x20, 1743628934334, 1743628934334, -1, -1, -1, -1, 1},
			[]Record{{Timestamp: 1743628934334, Sequence: -1, Key: unhex("00000003"), Value: unhex("0000000000000000000000")}}},
		{"R6 footer", vectorR6b, head{4, 4, 63, 0, 0xf31f10d3, 0x20, 1743628934347, 1743628934347, -1, -1, -1, -1, 1},
			[]Record{{Offset: 4, Timestamp: 1743628934347, Sequence: -1, Key: unhex("00000004"), Value: unhex("000000")}}},
		{"S1", vectorS1, head{5, 6, 74, 3, 0x32c66a31, 0, s, s + 7, -1, -1, -1, -1, 2},
			[]Record{
				{Offset: 5, Timestamp: s, Sequence: -1, Key: k, Value: []byte("v1"), Headers: []Header{{"h", []byte("x")}, {"n", nil}}},
				{Offset: 6, Timestamp: s + 7, Sequence: -1, Key: k},
			}},
		{"S2", vectorS2, head{7, 7, 66, 3, 0xf4d55a9c, 0x30, s + 9, s + 9, 4000, 2, -1, -1, 1},
			[]Record{{Offset: 7, Timestamp: s + 9, Sequence: -1, Key: unhex("00000001"), Value: unhex("00000000000b")}}},
		{"S3", vectorS3, head{8, 8, 66, 3, 0x00eb8cd4, 0x30, s + 9, s + 9, 4000, 2, -1, -1, 1},
			[]Record{{Offset: 8, Timestamp: s + 9, Sequence: -1, Key: unhex("00000000"), Value: unhex("00000000000b")}}},
		{"S4", vectorS4, head{9, 10, 65, 3, 0x242754a4, 0x08, s, s + 500, -1, -1, -1, -1, 2},
			[]Record{
				{Offset: 9, Timestamp: s + 500, Sequence: -1, Value: []byte("a")},
				{Offset: 10, Timestamp: s + 500, Sequence: -1, Value: []byte("b")},
			}},
		{"S5", vectorS5, head{5, 6, 60, 3, 0x63533584, 0x40, 1700086400000, s + 7, -1, -1, -1, -1, 1},
			[]Record{{Offset: 6, Timestamp: s + 7, Sequence: -1, Key: k}}},
		{"S6", vectorS6, head{20, 24, 49, 3, 0x464b1cd6, 0, -1, s + 77, 4000, 2, 10, 14, 0}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := vector(t, c.hex)
			if got := headOf(b); got != c.head {
				t.Errorf("header\n got %+v\nwant %+v", got, c.head)
			}
			if got := mustRecords(t, b); !reflect.DeepEqual(got, c.records) {
				t.Errorf("records\n got %+v\nwant %+v", got, c.records)
			}
			if b.Magic() != Magic || b.NextOffset() != b.LastOffset()+1 || b.HasProducerID() != (c.head.pid >= 0) {
				t.Errorf("magic %d, next %d, has producer %v", b.Magic(), b.NextOffset(), b.HasProducerID())
			}
		})
	}
}

func unhex(text string) []byte {
	data, err := hex.DecodeString(text)
	if err != nil {
		panic(err)
	}
	return data
}

// Uncompressed vectors come out of the builder byte for byte.
func TestBuilderWritesTheVectorsOfStorage13(t *testing.T) {
	const s = 1700000000000
	idempotent := BatchOptions{ProducerID: 0}
	second := idempotent
	second.BaseOffset, second.BaseSequence = 1, 1
	plain := ClientOptions()
	plain.BaseOffset, plain.LeaderEpoch = 1, 2
	s1 := ClientOptions()
	s1.BaseOffset, s1.LeaderEpoch = 5, 3
	s4 := s1
	s4.BaseOffset, s4.TimestampType, s4.LogAppendTime = 9, LogAppendTime, s+500
	for _, c := range []struct {
		name, hex string
		opts      BatchOptions
		records   []Record
	}{
		{"R1", vectorR1, idempotent, []Record{{Timestamp: 1743629607769, Value: []byte("hej ho ")}}},
		{"R2", vectorR2, second, []Record{{Timestamp: 1743629610140, Value: []byte(":DDDD")}}},
		{"R3", vectorR3, plain, []Record{{Timestamp: 1503229959532, Value: []byte{}}, {Timestamp: 1503229959700, Value: []byte{}}}},
		{"S1", vectorS1, s1, []Record{
			{Timestamp: s, Key: []byte("k"), Value: []byte("v1"), Headers: []Header{{"h", []byte("x")}, {"n", nil}}},
			{Timestamp: s + 7, Key: []byte("k")},
		}},
		{"S4", vectorS4, s4, []Record{{Timestamp: s, Value: []byte("a")}, {Timestamp: s - 3, Value: []byte("b")}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := build(t, c.opts, c.records); !bytes.Equal(got, unhex(c.hex)) {
				t.Errorf("\n got %x\nwant %s", []byte(got), c.hex)
			}
		})
	}
}

func build(t testing.TB, o BatchOptions, records []Record) Batch {
	t.Helper()
	var bd Builder
	bd.Reset(o)
	for i, r := range records {
		before, size := bd.EstimatedSize(), bd.RecordSize(r.Timestamp, r.Key, r.Value, r.Headers)
		if bound := SizeUpperBound(r.Key, r.Value, r.Headers); HeaderSize+size > bound {
			t.Errorf("record %d has %d bytes, its bound is %d", i, size, bound-HeaderSize)
		}
		bd.Append(r.Timestamp, r.Key, r.Value, r.Headers)
		if got := bd.EstimatedSize(); got != before+size {
			t.Errorf("record %d: estimated size grew from %d to %d, announced %d", i, before, got, size)
		}
	}
	b, err := bd.Build()
	if err != nil {
		t.Fatal(err)
	}
	if o.Codec == None && len(b) != bd.EstimatedSize() {
		t.Errorf("size %d, estimated %d", len(b), bd.EstimatedSize())
	}
	return b
}

func TestControlBatchesAreTheVectorsOfStorage13(t *testing.T) {
	const s = 1700000000000
	commit, err := MarkerBatch(Marker{4000, 2, true, 11}, 7, 3, s+9)
	if err != nil || !bytes.Equal(commit, unhex(vectorS2)) {
		t.Errorf("COMMIT: %v\n%x", err, []byte(commit))
	}
	abort, err := MarkerBatch(Marker{4000, 2, false, 11}, 8, 3, s+9)
	if err != nil || !bytes.Equal(abort, unhex(vectorS3)) {
		t.Errorf("ABORT: %v\n%x", err, []byte(abort))
	}
	o := ClientOptions()
	o.LeaderEpoch = 1
	change, err := ControlBatch(o, 1743628935851, ControlLeaderChange, unhex("00000000000102000000010002000000010000"))
	if err != nil || !bytes.Equal(change, unhex(vectorR4)) {
		t.Errorf("LEADER_CHANGE: %v\n%x", err, []byte(change))
	}
	for _, b := range []Batch{commit, abort} {
		m, ok, err := b.ParseMarker()
		want := Marker{4000, 2, b.BaseOffset() == 7, 11}
		if m != want || !ok || err != nil || len(b) != 78 {
			t.Errorf("ParseMarker: %+v %v %v, %d bytes", m, ok, err, len(b))
		}
	}
	if _, ok, err := change.ParseMarker(); ok || err != nil {
		t.Errorf("LEADER_CHANGE taken for a marker: %v %v", ok, err)
	}
}

func TestStorageVectorS9FramesOfCodecs(t *testing.T) {
	lz4 := build(t, BatchOptions{Codec: LZ4}, []Record{{Value: []byte("v")}})
	if !bytes.HasPrefix(lz4[HeaderSize:], unhex("04224d18604082")) || !bytes.HasSuffix(lz4, unhex("00000000")) {
		t.Errorf("lz4 frame %x", []byte(lz4[HeaderSize:]))
	}
	snappy := build(t, BatchOptions{Codec: Snappy}, []Record{{Value: []byte("v")}})
	if !bytes.HasPrefix(snappy[HeaderSize:], unhex("82534e41505059000000000100000001")) {
		t.Errorf("snappy stream %x", []byte(snappy[HeaderSize:]))
	}
}

func TestNextWalksConcatenatedBatchesToEOF(t *testing.T) {
	var buf []byte
	for _, v := range []string{vectorR1, vectorR2, vectorS1, vectorS6} {
		buf = append(buf, unhex(v)...)
	}
	var offsets []kafka.Offset
	rest := buf
	for {
		b, r, err := Next(rest)
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		offsets, rest = append(offsets, b.BaseOffset()), r
	}
	if !reflect.DeepEqual(offsets, []kafka.Offset{0, 1, 5, 20}) {
		t.Errorf("offsets %v", offsets)
	}
}
