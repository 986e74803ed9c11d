package record

import (
	"bytes"
	"errors"
	"hash/crc32"
	"io"
	"math"
	"reflect"
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
	"pgregory.net/rapid"
)

func TestVarintsAreTheVectorsOfStorage13(t *testing.T) {
	for _, c := range []struct {
		v   int64
		hex string
	}{
		{0, "00"}, {-1, "01"}, {1, "02"}, {63, "7e"}, {-64, "7f"}, {64, "8001"}, {-65, "8101"}, {8191, "fe7f"},
		{math.MaxInt32, "feffffff0f"}, {math.MinInt32, "ffffffff0f"},
		{math.MaxInt64, "feffffffffffffffff01"}, {math.MinInt64, "ffffffffffffffffff01"},
	} {
		want := unhex(c.hex)
		if got := appendVarlong(nil, c.v); !bytes.Equal(got, want) || sizeOfVarlong(c.v) != len(want) {
			t.Errorf("varlong %d: %x, size %d, want %x", c.v, got, sizeOfVarlong(c.v), want)
		}
		if v, next := varlong(want, 0); v != c.v || next != len(want) {
			t.Errorf("varlong %x: %d, next %d", want, v, next)
		}
		if c.v != int64(int32(c.v)) {
			continue
		}
		if got := appendVarint(nil, int32(c.v)); !bytes.Equal(got, want) || sizeOfVarint(int32(c.v)) != len(want) {
			t.Errorf("varint %d: %x, size %d, want %x", c.v, got, sizeOfVarint(int32(c.v)), want)
		}
		if v, next := varint(want, 0); v != int32(c.v) || next != len(want) {
			t.Errorf("varint %x: %d, next %d", want, v, next)
		}
	}
	for _, bad := range []string{"", "80", "ffffffffff", "8080808080"} {
		if _, next := varint(unhex(bad), 0); next != -1 {
			t.Errorf("varint %q: next %d", bad, next)
		}
	}
	for _, bad := range []string{"ffffffffff", "ffffffffffffffffffff"} {
		if _, next := varlong(unhex(bad), 0); next != -1 {
			t.Errorf("varlong %q: next %d", bad, next)
		}
	}
	if v, next := varint(unhex("ffffffff7f"), 0); v != math.MinInt32 || next != 5 {
		t.Errorf("bits above 32 are not dropped: %d, %d", v, next)
	}
}

func TestStorageTrap1LengthExcludesTwelveBytes(t *testing.T) {
	b := vector(t, vectorR1)
	if length := b.int32(lengthPos); length != 63 || len(b) != 75 || b.Size() != 75 {
		t.Errorf("length %d, %d bytes, size %d", length, len(b), b.Size())
	}
}

func TestStorageTrap2CRCIsCastagnoliFromByte21(t *testing.T) {
	if got := crc32.Checksum([]byte("123456789"), castagnoli); got != 0xe3069283 {
		t.Errorf("check value %08x", got)
	}
	good := vector(t, vectorR1)
	for pos := range good {
		b := Batch(bytes.Clone(good))
		b[pos] ^= 0x10
		covered := pos >= attributesPos || pos >= lengthPos && pos < leaderEpochPos || pos >= crcPos
		if b.IsValid() == covered {
			t.Errorf("byte %d changed: valid %v", pos, b.IsValid())
		}
		if err := b.Check(); (err != nil) != (covered || pos == magicPos) {
			t.Errorf("byte %d changed: %v", pos, err)
		}
	}
}

func TestStorageTrap3EpochAndBaseOffsetAreOutsideTheCRC(t *testing.T) {
	b := Batch(bytes.Clone(vector(t, vectorR1)))
	b.SetBaseOffset(1 << 40)
	b.SetPartitionLeaderEpoch(77)
	if err := b.Check(); err != nil || b.CRC() != 0xbb4b7266 || b.BaseOffset() != 1<<40 || b.PartitionLeaderEpoch() != 77 {
		t.Errorf("%v, crc %08x", err, b.CRC())
	}
}

func TestStorageTrap4LengthsAreZigZag(t *testing.T) {
	b := build(t, ClientOptions(), []Record{{Value: []byte("123456")}, {Value: []byte{}}})
	area := b[HeaderSize:]
	if area[0] != 0x18 || area[4] != 0x01 || area[5] != 0x0c {
		t.Errorf("length, null key and value length %02x %02x %02x", area[0], area[4], area[5])
	}
	if second := area[13:]; second[4] != 0x01 || second[5] != 0x00 {
		t.Errorf("null and empty: %x", []byte(second))
	}
	records := mustRecords(t, b)
	if records[1].Key != nil || records[1].Value == nil || len(records[1].Value) != 0 {
		t.Errorf("null and empty are confused: %#v", records[1])
	}
}

func TestStorageTrap5TimestampDeltasMayBeNegative(t *testing.T) {
	in := []Record{{Timestamp: 1000}, {Timestamp: 10}, {Timestamp: -1}}
	out := mustRecords(t, build(t, ClientOptions(), in))
	for i := range in {
		if out[i].Timestamp != in[i].Timestamp {
			t.Errorf("record %d: %d, want %d", i, out[i].Timestamp, in[i].Timestamp)
		}
	}
}

func TestStorageTrap6LogAppendTimeIgnoresDeltas(t *testing.T) {
	for _, r := range mustRecords(t, vector(t, vectorS4)) {
		if r.Timestamp != 1700000000500 {
			t.Errorf("timestamp %d", r.Timestamp)
		}
	}
}

func TestStorageTrap7CountAndLastOffsetDeltaAreIndependent(t *testing.T) {
	s5, s6 := vector(t, vectorS5), vector(t, vectorS6)
	if s5.Count() != 1 || s5.LastOffsetDelta() != 1 || len(mustRecords(t, s5)) != 1 {
		t.Errorf("S5: count %d, delta %d", s5.Count(), s5.LastOffsetDelta())
	}
	if s6.Count() != 0 || s6.LastOffsetDelta() != 4 || len(mustRecords(t, s6)) != 0 {
		t.Errorf("S6: count %d, delta %d", s6.Count(), s6.LastOffsetDelta())
	}
	if horizon, ok := s5.DeleteHorizon(); horizon != 1700086400000 || !ok {
		t.Errorf("horizon %d %v", horizon, ok)
	}
	if _, ok := s6.DeleteHorizon(); ok {
		t.Error("S6 has a horizon")
	}
}

func TestSequencesWrapFromMaxToZero(t *testing.T) {
	o := ClientOptions()
	o.ProducerID, o.ProducerEpoch, o.BaseSequence = 1, 0, math.MaxInt32-1
	b := build(t, o, make([]Record, 4))
	if got := b.LastSequence(); got != 1 {
		t.Errorf("last sequence %d", got)
	}
	var got []int32
	for _, r := range mustRecords(t, b) {
		got = append(got, r.Sequence)
	}
	if !reflect.DeepEqual(got, []int32{math.MaxInt32 - 1, math.MaxInt32, 0, 1}) {
		t.Errorf("sequences %v", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		s, n := rapid.Int32Min(0).Draw(t, "s"), rapid.Int32Min(0).Draw(t, "n")
		sum := int32((int64(s) + int64(n)) % (1 << 31))
		if got := IncrementSequence(s, n); got != sum {
			t.Fatalf("%d + %d = %d, want %d", s, n, got, sum)
		}
		if got := DecrementSequence(sum, n); got != s {
			t.Fatalf("%d - %d = %d, want %d", sum, n, got, s)
		}
	})
}

func TestFramingTellsTornFromCorruptFromEnd(t *testing.T) {
	good := unhex(vectorR1)
	for n := range good {
		want := ErrIncomplete
		if n == 0 {
			want = io.EOF
		}
		if b, rest, err := Next(good[:n]); b != nil || len(rest) != n || err != want {
			t.Fatalf("first %d bytes: %v", n, err)
		}
	}
	var corrupt *CorruptError
	for name, change := range map[string]func([]byte) []byte{
		"length 13":      func(b []byte) []byte { b[11] = 13; return b },
		"length 13 torn": func(b []byte) []byte { b[11] = 13; return b[:12] },
		"length -1":      func(b []byte) []byte { copy(b[8:], "\xff\xff\xff\xff"); return b },
		"length 48":      func(b []byte) []byte { b[11] = 48; return b },
		"magic 0":        func(b []byte) []byte { b[magicPos] = 0; return b },
		"magic 1 torn":   func(b []byte) []byte { b[magicPos] = 1; return b[:17] },
		"magic 3":        func(b []byte) []byte { b[magicPos] = 3; return b },
		"magic -1":       func(b []byte) []byte { b[magicPos] = 0xff; return b },
	} {
		data := change(bytes.Clone(good))
		if _, rest, err := Next(data); !errors.As(err, &corrupt) || len(rest) != len(data) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPeekSizeIsTheFileReadersView(t *testing.T) {
	good := unhex(vectorR1)
	if n, err := PeekSize(good[:17]); n != 75 || err != nil {
		t.Errorf("%d %v", n, err)
	}
	if _, err := PeekSize(good[:16]); err != ErrIncomplete {
		t.Errorf("16 bytes: %v", err)
	}
	var corrupt *CorruptError
	for magic, accepted := range map[byte]bool{0: false, 1: false, 2: true, 3: true, 127: true, 255: false} {
		data := bytes.Clone(good)
		data[magicPos] = magic
		if _, err := PeekSize(data); (err == nil) != accepted || err != nil && !errors.As(err, &corrupt) {
			t.Errorf("magic %d: %v", magic, err)
		}
	}
	good[11] = 13
	if _, err := PeekSize(good); !errors.As(err, &corrupt) {
		t.Errorf("length 13: %v", err)
	}
}

func TestFollowerChecksCRCAndOrderOnly(t *testing.T) {
	var all []byte
	for _, v := range []string{vectorR1, vectorR2, vectorS1, vectorS6} {
		all = append(all, unhex(v)...)
	}
	got, err := CheckFollower(append(bytes.Clone(all), all[:70]...), nil)
	want := Bounds{Size: len(all), Batches: 4, FirstOffset: 0, LastOffset: 24, LastEpoch: 3, MaxTimestamp: 1743629610140, OffsetOfMaxTimestamp: 1}
	if err != nil || got != want {
		t.Errorf("%v\n got %+v\nwant %+v", err, got, want)
	}
	if got, err := CheckFollower(append(unhex(vectorR2), unhex(vectorR1)...), nil); err != ErrOffsetsOutOfOrder {
		t.Errorf("%+v %v", got, err)
	}
	if _, err := CheckFollower(append(unhex(vectorR1), unhex(vectorR1)...), nil); err != ErrOffsetsOutOfOrder {
		t.Errorf("the same batch twice: %v", err)
	}
	all[len(all)-1] ^= 1
	var corrupt *CorruptError
	if _, err := CheckFollower(all, nil); !errors.As(err, &corrupt) {
		t.Errorf("wrong CRC: %v", err)
	}
	if got, err := CheckFollower(nil, nil); got.Batches != 0 || got.LastOffset != kafka.NoOffset || err != nil {
		t.Errorf("empty: %+v %v", got, err)
	}
}

// badBodies are record areas that one check each of storage 1.4 refuses, as
// the bytes of one record.
func TestRecordsRefuseWhatStorage14Forbids(t *testing.T) {
	good := "0c000000" + "0100" + "00" // null key, empty value
	for _, c := range []struct {
		name, area string
		count      int32
		index      int
	}{
		{"good", good, 1, -2},
		{"count too small", good + good, 1, 0},
		{"count too large", good, 2, 1},
		{"count negative", good, -1, -1},
		{"no bytes", "", 1, 0},
		{"length past the end", "0e0000000100" + "00", 1, 0},
		{"length short of the fields", "0a0000000100" + "00", 1, 0},
		{"length beyond the fields", "0e000000010000" + "00", 1, 0},
		{"length negative", "01", 1, 0},
		{"length zero", "00", 1, 0},
		{"value longer than the record", "0c000000010200", 1, 0},
		{"header count negative", "0c000000010001", 1, 0},
		{"header count above the rest", "0c000000010002", 1, 0},
		{"header key null", "10000000010002" + "0100", 1, 0},
		{"header value cut", "10000000010002" + "0002", 1, 0},
		{"varint of six bytes", "18000000" + "808080808000" + "00", 1, 0},
	} {
		b := rawBatch(c.count, unhex(c.area))
		_, err := b.Records(nil)
		var invalid *InvalidRecordError
		switch {
		case c.index == -2:
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
		case !errors.As(err, &invalid) || invalid.Index != c.index:
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func rawBatch(count int32, area []byte) Batch {
	var bd Builder
	bd.Reset(ClientOptions())
	bd.buf, bd.count, bd.lastOffset = append(bd.buf, area...), count, kafka.Offset(count-1)
	bd.writeHeader()
	return Batch(bytes.Clone(bd.buf)).finish()
}

func TestBuilderRefusesWhatABatchCannotHold(t *testing.T) {
	for name, fill := range map[string]func(*Builder){
		"no record":          func(*Builder) {},
		"negative timestamp": func(bd *Builder) { bd.Append(-2, nil, nil, nil) },
		"offset repeated":    func(bd *Builder) { bd.AppendAt(5, 0, nil, nil, nil); bd.AppendAt(5, 0, nil, nil, nil) },
		"offset too far":     func(bd *Builder) { bd.Append(0, nil, nil, nil); bd.AppendAt(1<<31, 0, nil, nil, nil) },
		"codec":              func(bd *Builder) { bd.Reset(BatchOptions{Codec: 5}); bd.Append(0, nil, nil, nil) },
	} {
		var bd Builder
		bd.Reset(ClientOptions())
		fill(&bd)
		if b, err := bd.Build(); err == nil {
			t.Errorf("%s: built %x", name, []byte(b))
		}
	}
}

func TestControlKeysBelowFourBytesAreRefused(t *testing.T) {
	for key, ok := range map[string]bool{"": false, "000000": false, "00000001": true, "0007000100": true, "ffff0001": false} {
		if _, err := ParseControl(unhex(key)); (err == nil) != ok {
			t.Errorf("%q: %v", key, err)
		}
	}
	o := ClientOptions()
	for value, ok := range map[string]bool{"0000000000": false, "00000000000b": true, "00090000000b00": true, "ffff0000000b": false} {
		b, err := ControlBatch(o, 0, ControlCommit, unhex(value))
		if err != nil {
			t.Fatal(err)
		}
		if _, got, err := b.ParseMarker(); got != ok || (err == nil) != ok {
			t.Errorf("%q: %v %v", value, got, err)
		}
	}
}

func TestIteratorAndRecordsAgreeAndIteratorDoesNotAllocate(t *testing.T) {
	var in []Record
	for i := range 10 {
		in = append(in, Record{Timestamp: 5, Key: []byte{byte(i)}, Value: []byte("v"), Headers: []Header{{"trace", []byte{1}}}})
	}
	b := build(t, ClientOptions(), in)
	want := mustRecords(t, b)
	var it Iterator
	walk := func() {
		it.Reset(b)
		for i := 0; it.Next(); i++ {
			if r := it.Record(); r.Offset != want[i].Offset || !bytes.Equal(r.Key, want[i].Key) || len(r.Headers) != 1 {
				t.Fatalf("record %d: %+v", i, r)
			}
		}
	}
	if n := testing.AllocsPerRun(10, walk); n != 0 || it.Err() != nil {
		t.Errorf("%v allocations, %v", n, it.Err())
	}
}

func TestBuilderAllocatesTheBatchAlone(t *testing.T) {
	var bd Builder
	value := make([]byte, 1024)
	n := testing.AllocsPerRun(10, func() {
		bd.Reset(ClientOptions())
		for range 16 {
			bd.Append(7, nil, value, nil)
		}
		if _, err := bd.Build(); err != nil {
			t.Fatal(err)
		}
	})
	if n != 1 {
		t.Errorf("%v allocations", n)
	}
}
