package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/snappy"
	"github.com/pierrec/lz4/v4"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"
)

var allCodecs = []Codec{None, Gzip, Snappy, LZ4, Zstd}

func TestCodecNamesRoundTrip(t *testing.T) {
	for _, c := range allCodecs {
		if got, ok := ParseCodec(c.String()); got != c || !ok {
			t.Errorf("%v: %v %v", c, got, ok)
		}
	}
	for _, name := range []string{"producer", "invalid", "", "GZIP"} {
		if c, ok := ParseCodec(name); ok {
			t.Errorf("%q is %v", name, c)
		}
	}
}

// payload draws data with runs and repetitions, up to some blocks of each codec.
func payload(t *rapid.T) []byte {
	words := rapid.SliceOfN(rapid.SliceOfN(rapid.Byte(), 1, 40), 1, 8).Draw(t, "words")
	order := rapid.SliceOfN(rapid.IntRange(0, len(words)-1), 0, 200).Draw(t, "order")
	var data []byte
	for _, i := range order {
		data = append(data, words[i]...)
	}
	return bytes.Repeat(data, rapid.SampledFrom([]int{1, 1, 2, 30}).Draw(t, "times"))
}

func TestStorageTrap55CompressedBytesDecodeToTheSame(t *testing.T) {
	var s Scratch // reused, as it must not matter what came before
	rapid.Check(t, func(t *rapid.T) {
		data := payload(t)
		c := rapid.SampledFrom(allCodecs[1:]).Draw(t, "codec")
		level := rapid.IntRange(-1, 12).Draw(t, "level")
		packed := bytes.Clone(s.compress(c, level, data))
		if fresh := new(Scratch).compress(c, level, data); !bytes.Equal(packed, fresh) {
			t.Fatalf("%v level %d: used and fresh memory give different bytes", c, level)
		}
		for _, scratch := range []*Scratch{nil, &s} {
			got, err := scratch.decompressUpTo(c, packed, max(len(data), 1))
			if err != nil || !bytes.Equal(got, data) {
				t.Fatalf("%v level %d: %v, %d bytes of %d", c, level, err, len(got), len(data))
			}
		}
		if len(data) < 2 {
			return
		}
		if _, err := s.decompressUpTo(c, packed, len(data)-1); !errors.Is(err, ErrTooLarge) {
			t.Fatalf("%v above its limit: %v", c, err)
		}
		if _, err := s.decompressUpTo(c, packed[:len(packed)-1], len(data)); err == nil && c != Gzip {
			t.Fatalf("%v cut short is accepted", c)
		}
	})
}

func TestSnappyBlocksAgreeWithTheLibrary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := payload(t)
		chunk := data[:min(len(data), xerialChunk)]
		if got, err := snappy.Decode(nil, appendSnappyBlock(nil, chunk, new(snappyTable))); err != nil || !bytes.Equal(got, chunk) {
			t.Fatalf("the library reads ours: %v", err)
		}
		if got, err := unsnappyBlock(nil, snappy.Encode(nil, data), len(data)); err != nil || !bytes.Equal(got, data) {
			t.Fatalf("we read the library's: %v", err)
		}
		// Kafka's reader takes a payload without the magic for one raw block.
		if got, err := unsnappy(nil, snappy.Encode(nil, data), len(data)); err != nil || !bytes.Equal(got, data) {
			t.Fatalf("unframed: %v", err)
		}
	})
}

func TestXerialStreamsMayBeConcatenated(t *testing.T) {
	var s Scratch
	one := bytes.Clone(s.compress(Snappy, 0, []byte("one ")))
	two := s.compress(Snappy, 0, []byte("two"))
	if got, err := unsnappy(nil, append(one, two...), 100); string(got) != "one two" || err != nil {
		t.Errorf("%q %v", got, err)
	}
}

func TestLZ4FramesAgreeWithTheLibrary(t *testing.T) {
	var s Scratch
	rapid.Check(t, func(t *rapid.T) {
		data := payload(t)
		var got bytes.Buffer
		if _, err := got.ReadFrom(lz4.NewReader(bytes.NewReader(s.compress(LZ4, 0, data)))); err != nil || !bytes.Equal(got.Bytes(), data) {
			t.Fatalf("the library reads ours: %v", err)
		}
		var framed bytes.Buffer
		w := lz4.NewWriter(&framed)
		size := rapid.SampledFrom([]lz4.BlockSize{lz4.Block64Kb, lz4.Block256Kb, lz4.Block1Mb, lz4.Block4Mb}).Draw(t, "block")
		err := w.Apply(lz4.BlockSizeOption(size), lz4.BlockChecksumOption(rapid.Bool().Draw(t, "sums")),
			lz4.ChecksumOption(rapid.Bool().Draw(t, "sum")), lz4.ConcurrencyOption(1))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(data); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		plain, err := s.unlz4(nil, framed.Bytes(), len(data))
		if err != nil || !bytes.Equal(plain, data) {
			t.Fatalf("we read the library's: %v", err)
		}
	})
}

func TestLZ4HeaderChecksumIsThatOfTheFlags(t *testing.T) {
	if got := byte(xxh32([]byte{lz4Flags, lz4Descriptor}) >> 8); got != lz4HeaderCheck {
		t.Errorf("%02x", got)
	}
	// Published check values of xxHash32 with seed 0.
	for text, want := range map[string]uint32{"": 0x02cc5d05, "a": 0x550d7456, "abc": 0x32d153ff, "Nobody inspects the spammish repetition": 0xe2293b2f} {
		if got := xxh32([]byte(text)); got != want {
			t.Errorf("xxh32(%q) = %08x, want %08x", text, got, want)
		}
	}
}

func TestLZ4FramesThatKafkaDoesNotRead(t *testing.T) {
	good := new(Scratch).compress(LZ4, 0, []byte("some data, some data, some data"))
	for name, change := range map[string]func(b []byte){
		"magic":             func(b []byte) { b[0]++ },
		"dependent blocks":  func(b []byte) { b[4] = 0x40 },
		"reserved flag":     func(b []byte) { b[4] |= 0x02 },
		"dictionary":        func(b []byte) { b[4] |= 0x01 },
		"version":           func(b []byte) { b[4] = 0xa0 },
		"reserved size bit": func(b []byte) { b[5] |= 0x80 },
		"block size 3":      func(b []byte) { b[5] = 0x30 },
		"header checksum":   func(b []byte) { b[6]++ },
		"block size":        func(b []byte) { b[9] = 0x02 },
	} {
		b := bytes.Clone(good)
		change(b)
		if name != "header checksum" {
			b[6] = byte(xxh32(b[4:6]) >> 8)
		}
		if got, err := new(Scratch).unlz4(nil, b, 1000); err == nil {
			t.Errorf("%s: read as %q", name, got)
		}
	}
}

// A run must be the same on every machine, so the compressed bytes are pinned:
// this test also runs for GOARCH=386, arm64 and s390x.
func TestCompressedBytesAreTheSameOnEveryArchitecture(t *testing.T) {
	var data []byte
	state := uint64(1)
	for i := range 9000 { // text-like, then noise, then a run
		state = state*6364136223846793005 + 1442695040888963407
		if i < 6000 {
			data = append(data, "{\"id\":"[state>>60%6], byte('a'+state>>59), ' ')
		} else {
			data = binary.LittleEndian.AppendUint64(data, state)
		}
	}
	data = append(data, bytes.Repeat([]byte("run"), 30000)...)
	got := ""
	for _, c := range allCodecs[1:] {
		for _, level := range []int{0, 1, 5, 9, 12} {
			packed := new(Scratch).compress(c, level, data)
			got += fmt.Sprintf("%v %d: %d %08x\n", c, level, len(packed), crc32.Checksum(packed, castagnoli))
		}
	}
	if got != pinnedCompression {
		t.Errorf("got\n%s", got)
	}
}

const pinnedCompression = `gzip 0: 33829 f3bcfa55
gzip 1: 33770 eedc632a
gzip 5: 33829 f3bcfa55
gzip 9: 32246 1634faf9
gzip 12: 33829 f3bcfa55
snappy 0: 38926 d3a3e2e1
snappy 1: 38926 d3a3e2e1
snappy 5: 38926 d3a3e2e1
snappy 9: 38926 d3a3e2e1
snappy 12: 38926 d3a3e2e1
lz4 0: 34567 33e78c41
lz4 1: 34044 ea1663c4
lz4 5: 34044 ea1663c4
lz4 9: 34567 33e78c41
lz4 12: 34044 ea1663c4
zstd 0: 31284 fbcad772
zstd 1: 32786 ce8b6978
zstd 5: 31284 fbcad772
zstd 9: 31319 a64b2df5
zstd 12: 31319 a64b2df5
`

// bombs are small inputs that claim, or really unfold to, very much.
func TestHostileStreamsReserveNoMoreThanTheLimit(t *testing.T) {
	const limit = 1 << 20
	zeros := make([]byte, 16<<20)
	for _, c := range allCodecs[1:] {
		bomb := bytes.Clone(new(Scratch).compress(c, 0, zeros))
		var s Scratch
		_, err := s.decompressUpTo(c, bomb, limit)
		if !errors.Is(err, ErrTooLarge) {
			t.Errorf("%v: %v", c, err)
		}
		if cap(s.plain) > 3*limit || cap(s.block) > 4<<20 {
			t.Errorf("%v: reserved %d and %d bytes", c, cap(s.plain), cap(s.block))
		}
	}
	claims := map[string][]byte{
		"snappy block of 4 GiB": binary.AppendUvarint(nil, 1<<32-1),
		// Single segment, 8-byte content size.
		"zstd frame of 1 EiB": slices.Concat(unhex("28b52ffde0"), unhex("0000000000000010"), unhex("010000")),
		// Window descriptor of 128 MiB, an empty last block.
		"zstd window of 128 MiB": unhex("28b52ffd0088010000"),
	}
	for name, data := range claims {
		c := Zstd
		if strings.HasPrefix(name, "snappy") {
			c = Snappy
		}
		n := testing.AllocsPerRun(1, func() {
			got, err := (*Scratch)(nil).decompressUpTo(c, data, limit)
			if cap(got) > 64<<10 {
				t.Errorf("%s: %d bytes, %v", name, cap(got), err)
			}
		})
		t.Logf("%s: %v allocations", name, n)
	}
}

// batch draws options and records; twin is what must come back.
func batch(t *rapid.T) (BatchOptions, []Record) {
	o := BatchOptions{
		Codec:         rapid.SampledFrom(allCodecs).Draw(t, "codec"),
		TimestampType: rapid.SampledFrom([]TimestampType{CreateTime, LogAppendTime}).Draw(t, "type"),
		LogAppendTime: kafka.TimestampMs(rapid.Int64Min(0).Draw(t, "append time")),
		BaseOffset:    kafka.Offset(rapid.Int64Range(0, 1<<60).Draw(t, "base")),
		LeaderEpoch:   kafka.LeaderEpoch(rapid.Int32Min(-1).Draw(t, "epoch")),
		ProducerID:    rapid.Int64Min(-1).Draw(t, "pid"),
		ProducerEpoch: rapid.Int16Min(-1).Draw(t, "producer epoch"),
		BaseSequence:  rapid.Int32Min(-1).Draw(t, "sequence"),
		Transactional: rapid.Bool().Draw(t, "transactional"),
	}
	blob := rapid.Custom(func(t *rapid.T) []byte {
		if rapid.IntRange(0, 3).Draw(t, "null") == 0 {
			return nil
		}
		return rapid.SliceOfN(rapid.Byte(), 0, 50).Draw(t, "bytes")
	})
	n := rapid.IntRange(1, 20).Draw(t, "count")
	records := make([]Record, n)
	for i := range records {
		r := &records[i]
		r.Timestamp = kafka.TimestampMs(rapid.Int64Range(-1, 1<<50).Draw(t, "ts"))
		r.Key, r.Value = blob.Draw(t, "key"), blob.Draw(t, "value")
		for range rapid.IntRange(0, 3).Draw(t, "headers") {
			r.Headers = append(r.Headers, Header{rapid.String().Draw(t, "name"), blob.Draw(t, "header")})
		}
	}
	return o, records
}

// stamped is what records written with o must read as.
func stamped(o BatchOptions, in []Record) (out []Record, maxTS kafka.TimestampMs) {
	maxTS = kafka.NoTimestamp
	for i, r := range in {
		maxTS = max(maxTS, r.Timestamp)
		r.Offset = o.BaseOffset + kafka.Offset(i)
		r.Sequence = NoSequence
		if o.BaseSequence >= 0 {
			r.Sequence = int32((int64(o.BaseSequence) + int64(i)) % (1 << 31))
		}
		if o.TimestampType == LogAppendTime {
			r.Timestamp, maxTS = o.LogAppendTime, o.LogAppendTime
		}
		out = append(out, r)
	}
	return out, maxTS
}

func TestRecordsReturnsWhatWasBuiltWithEveryCodec(t *testing.T) {
	var s Scratch
	bd := Builder{scratch: &s}
	rapid.Check(t, func(t *rapid.T) {
		o, in := batch(t)
		bd.Reset(o)
		for _, r := range in {
			bd.Append(r.Timestamp, r.Key, r.Value, r.Headers)
		}
		b, err := bd.Build()
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Check(); err != nil {
			t.Fatal(err)
		}
		want, maxTS := stamped(o, in)
		for _, decode := range []func(Batch, []Record) ([]Record, error){Batch.Records, s.Records} {
			got, err := decode(b, nil)
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("%v\n got %+v\nwant %+v", err, got, want)
			}
		}
		n := int32(len(in))
		if b.Codec() != o.Codec || b.MaxTimestamp() != maxTS || b.Count() != n || b.LastOffsetDelta() != n-1 ||
			b.BaseTimestamp() != in[0].Timestamp || b.IsTransactional() != o.Transactional || b.TimestampType() != o.TimestampType {
			t.Fatalf("header %+v", headOf(b))
		}
		kmsgReads(t, b, o, in)
	})
}

// kmsgReads decodes b with franz-go's message types.
func kmsgReads(t *rapid.T, b Batch, o BatchOptions, in []Record) {
	var kb kmsg.RecordBatch
	if err := kb.ReadFrom(b); err != nil {
		t.Fatal(err)
	}
	if kb.FirstOffset != int64(o.BaseOffset) || int(kb.Length) != len(b)-LogOverhead || kb.PartitionLeaderEpoch != int32(o.LeaderEpoch) ||
		kb.Magic != 2 || uint32(kb.CRC) != b.CRC() || kb.Attributes != b.Attributes() || int(kb.LastOffsetDelta) != len(in)-1 ||
		kb.FirstTimestamp != int64(in[0].Timestamp) || kb.MaxTimestamp != int64(b.MaxTimestamp()) || kb.ProducerID != o.ProducerID ||
		kb.ProducerEpoch != o.ProducerEpoch || kb.FirstSequence != o.BaseSequence || int(kb.NumRecords) != len(in) {
		t.Fatalf("kmsg reads the header as %+v", kb)
	}
	area := kb.Records
	if o.Codec != None {
		var err error
		if area, err = (*Scratch)(nil).decompress(o.Codec, area); err != nil {
			t.Fatal(err)
		}
	}
	for i, r := range in {
		var kr kmsg.Record
		length, pos := varint(area, 0)
		if err := kr.ReadFrom(area[:pos+int(length)]); err != nil {
			t.Fatal(err)
		}
		area = area[pos+int(length):]
		var headers []Header
		for _, h := range kr.Headers {
			headers = append(headers, Header(h))
		}
		if int(kr.OffsetDelta) != i || kr.TimestampDelta64 != int64(r.Timestamp-in[0].Timestamp) ||
			!bytes.Equal(kr.Key, r.Key) || !bytes.Equal(kr.Value, r.Value) ||
			(kr.Key == nil) != (r.Key == nil) || (kr.Value == nil) != (r.Value == nil) || !reflect.DeepEqual(headers, r.Headers) {
			t.Fatalf("kmsg reads record %d as %+v, want %+v", i, kr, r)
		}
	}
	if len(area) > 0 {
		t.Fatalf("%d bytes left", len(area))
	}
}
