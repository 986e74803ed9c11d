package record

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
	"pgregory.net/rapid"
)

const testNow = kafka.TimestampMs(1700000000000)

// produced is a good batch of two keyed records, of testNow and a bit earlier.
func produced(t testing.TB, change func(*BatchOptions)) Batch {
	o := ClientOptions()
	if change != nil {
		change(&o)
	}
	return build(t, o, []Record{
		{Timestamp: testNow - 5, Key: []byte("k"), Value: []byte("v1")},
		{Timestamp: testNow, Key: []byte("l"), Value: []byte("v2"), Headers: []Header{{"h", nil}}},
	})
}

// edit changes one header byte range and renews the CRC.
func edit(b Batch, pos int, hexBytes string) Batch {
	b = bytes.Clone(b)
	copy(b[pos:], unhex(hexBytes))
	b.stampCRC()
	return b
}

func TestValidatorAnswersEachRowOfStorage18(t *testing.T) {
	good := produced(t, nil)
	gzipped := produced(t, func(o *BatchOptions) { o.Codec = Gzip })
	noKey := build(t, ClientOptions(), []Record{{Timestamp: testNow, Value: []byte("v")}})
	old := build(t, ClientOptions(), []Record{{Timestamp: testNow - 101, Key: []byte("k")}, {Timestamp: testNow}})
	appendTime := produced(t, func(o *BatchOptions) { o.TimestampType, o.LogAppendTime = LogAppendTime, testNow })
	noTime := build(t, ClientOptions(), []Record{{Timestamp: -1, Key: []byte("k")}})
	negative := edit(noTime, baseTimestampPos, "fffffffffffffff0")
	zstd := ClientOptions()
	zstd.Codec = Zstd
	snappy := ClientOptions()
	snappy.Codec = Snappy
	keep := DefaultLimits()
	type change = func(*Limits)
	compact := change(func(l *Limits) { l.Compacted = true })
	bounds := change(func(l *Limits) { l.BeforeMaxMs, l.AfterMaxMs = 100, 100 })
	logAppend := change(func(l *Limits) { l.TimestampType = LogAppendTime })
	to := func(c Codec) change { return func(l *Limits) { l.KeepCodec, l.Codec = false, c } }
	message := func(n int) change { return func(l *Limits) { l.MaxMessageBytes = n } }
	segment := func(n int) change { return func(l *Limits) { l.SegmentBytes = n } }
	for _, c := range []struct {
		name   string
		b      Batch
		limits change
		want   kafka.ErrorCode
	}{
		{"good", good, nil, kafka.None},
		{"good and a cut tail", append(bytes.Clone(good), good[:40]...), nil, kafka.None},
		{"request: nothing", nil, nil, kafka.InvalidRecord},
		{"request: cut batch", good[:60], nil, kafka.InvalidRecord},
		{"request: magic 1", edit(good, magicPos, "01"), nil, kafka.InvalidRecord},
		{"request: magic 3", edit(good, magicPos, "03"), nil, kafka.CorruptMessage},
		{"request: length 13", edit(good, lengthPos, "0000000d"), nil, kafka.CorruptMessage},
		{"1 base offset", edit(good, baseOffsetPos, "0000000000000001"), nil, kafka.InvalidRecord},
		{"1 before 2", edit(good, baseOffsetPos, "0000000000000001"), message(1), kafka.InvalidRecord},
		{"2 size", good, message(len(good) - 1), kafka.MessageTooLarge},
		{"2 size at the limit", good, message(len(good)), kafka.None},
		{"2 before 3", flip(good, 70), message(1), kafka.MessageTooLarge},
		{"3 CRC", flip(good, 70), nil, kafka.CorruptMessage},
		{"3 below the header", edit(good, lengthPos, "00000030")[:60], nil, kafka.CorruptMessage},
		{"3 before 5", flip(edit(good, countPos, "00000003"), 70), nil, kafka.CorruptMessage},
		{"4 two batches", append(bytes.Clone(good), good...), nil, kafka.InvalidRecord},
		{"codec 5", edit(good, attributesPos, "0005"), nil, kafka.UnknownServerError},
		{"5 negative range", edit(good, lastOffsetDeltaPos, "ffffffff"), nil, kafka.InvalidRecord},
		{"5 count 0", edit(good, countPos, "00000000"), nil, kafka.InvalidRecord},
		{"5 count negative", edit(good, countPos, "fffffffe"), nil, kafka.InvalidRecord},
		{"5 range and count", edit(good, lastOffsetDeltaPos, "00000002"), nil, kafka.InvalidRecord},
		{"6 control", edit(good, attributesPos, "0020"), nil, kafka.InvalidRecord},
		{"7 no sequence", edit(good, producerIDPos, "0000000000000001"), nil, kafka.InvalidRecord},
		{"7 sequence", produced(t, func(o *BatchOptions) { o.ProducerID, o.BaseSequence = 1, 0 }), nil, kafka.None},
		{"8 fewer records", rawBatch(2, good[HeaderSize:HeaderSize+13]), nil, kafka.InvalidRecord},
		{"8 bytes left", rawBatch(1, good[HeaderSize:]), nil, kafka.InvalidRecord},
		{"8 no key", noKey, compact, kafka.InvalidRecord},
		{"8 no key, not compacted", noKey, nil, kafka.None},
		{"8 no key, compressed", build(t, zstd, []Record{{Timestamp: testNow}}), compact, kafka.InvalidRecord},
		{"8 no key, re-built", noKey, func(l *Limits) { compact(l); to(Snappy)(l) }, kafka.InvalidRecord},
		{"8 empty key", build(t, zstd, []Record{{Timestamp: testNow, Key: []byte{}}}), compact, kafka.None},
		{"9 too old", old, bounds, kafka.InvalidTimestamp},
		{"9 too new", build(t, ClientOptions(), []Record{{Timestamp: testNow + 101}}), bounds, kafka.InvalidTimestamp},
		{"9 dominates 8", build(t, ClientOptions(), []Record{{Timestamp: testNow}, {Timestamp: testNow - 101, Key: []byte("k")}}),
			func(l *Limits) { bounds(l); compact(l) }, kafka.InvalidTimestamp},
		{"9 not for LogAppendTime", old, func(l *Limits) { bounds(l); logAppend(l) }, kafka.None},
		{"10 LogAppendTime bit on its topic", appendTime, logAppend, kafka.InvalidTimestamp},
		{"10 LogAppendTime bit and a time", appendTime, nil, kafka.None},
		{"10 LogAppendTime bit and no time", edit(edit(appendTime, maxTimestampPos, "ffffffffffffffff"), attributesPos, "0008"), nil, kafka.InvalidTimestamp},
		{"10 no time is exempt", noTime, bounds, kafka.None},
		{"11 compressed deltas", irregular(t, Gzip), nil, kafka.UnknownServerError},
		{"11 compressed deltas, re-built", irregular(t, Gzip), to(LZ4), kafka.None},
		{"11 plain deltas", irregular(t, None), nil, kafka.None},
		{"11 compressed garbage", edit(gzipped, HeaderSize, "ffffffff"), nil, kafka.UnknownServerError},
		{"11 cut gzip", cut(gzipped, 4), nil, kafka.UnknownServerError},
		{"11 bytes behind a gzip stream", behind(gzipped, 3), nil, kafka.None},
		{"11 bytes behind a gzip stream, re-built", behind(gzipped, 3), to(LZ4), kafka.None},
		{"11 a piece of a snappy chunk", behind(build(t, snappy, []Record{{Timestamp: testNow}}), 3), nil, kafka.None},
		{"11 a snappy chunk without bytes", behind(build(t, snappy, []Record{{Timestamp: testNow}}), 4), nil, kafka.UnknownServerError},
		{"11 compressed, a record's own length", wrongLength(t, Gzip), nil, kafka.None},
		{"11 compressed, a record's own length, re-built", wrongLength(t, Gzip), to(LZ4), kafka.InvalidRecord},
		{"plain, a record's own length", wrongLength(t, None), nil, kafka.InvalidRecord},
		{"re-build of a transaction without producer", edit(good, attributesPos, "0010"), to(Gzip), kafka.UnknownServerError},
		{"in place a transaction without producer passes", edit(good, attributesPos, "0010"), nil, kafka.None},
		{"re-build of a producer without epoch", edit(edit(good, producerIDPos, "0000000000000001"), baseSequencePos, "00000000"), to(Gzip), kafka.UnknownServerError},
		{"request: a length beyond 2^31", edit(good, lengthPos, "7ffffffa"), nil, kafka.UnknownServerError},
		{"request: 26 bytes", edit(good, lengthPos, "0000000e")[:26], nil, kafka.UnknownServerError},
		{"request: 27 bytes", edit(good, lengthPos, "0000000f")[:27], nil, kafka.CorruptMessage},
		{"13 segment", good, segment(len(good) - 1), kafka.RecordListTooLarge},
		{"13 segment at the limit", good, segment(len(good)), kafka.None},
		{"re-build of a negative time", negative, to(Gzip), kafka.UnknownServerError},
		{"in place a negative time passes", negative, nil, kafka.None},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := keep
			if c.limits != nil {
				c.limits(&l)
			}
			before := bytes.Clone(c.b)
			out, v := ValidateAndAssign(c.b, 100, 7, testNow, &l)
			if v.Code != c.want || (out == nil) != (v.Code != kafka.None) {
				t.Fatalf("%v %q, %d bytes", v.Code, v.Message, len(out))
			}
			if !bytes.Equal(before, c.b) {
				t.Error("the input was modified")
			}
			if v.Code != kafka.None {
				return
			}
			if err := out.Check(); err != nil || out.BaseOffset() != 100 || out.PartitionLeaderEpoch() != 7 {
				t.Errorf("%v, base %d, epoch %d", err, out.BaseOffset(), out.PartitionLeaderEpoch())
			}
			if &out[0] == &c.b[0] {
				t.Error("the output aliases the input")
			}
		})
	}
}

// behind adds n zeros to the record area.
func behind(b Batch, n int) Batch {
	return Batch(append(bytes.Clone(b), make([]byte, n)...)).finish()
}

// wrongLength is a batch of one record whose length field says one byte too few.
func wrongLength(t *testing.T, c Codec) Batch {
	t.Helper()
	b := build(t, ClientOptions(), []Record{{Timestamp: testNow, Key: []byte("k")}})
	area := bytes.Clone(b[HeaderSize:])
	area[0] -= 2
	b = append(b[:HeaderSize:HeaderSize], area...)
	if c != None {
		b = append(b[:HeaderSize:HeaderSize], new(Scratch).compress(c, 0, area)...)
		b[attributesPos+1] |= byte(c)
	}
	return b.finish()
}

func flip(b Batch, pos int) Batch {
	b = bytes.Clone(b)
	b[pos] ^= 1
	return b
}

func cut(b Batch, n int) Batch { return Batch(bytes.Clone(b[:len(b)-n])).finish() }

// irregular has records with the offset deltas 0 and 2 and a header that says
// 0 to 1.
func irregular(t testing.TB, c Codec) Batch {
	var bd Builder
	o := ClientOptions()
	o.Codec = c
	bd.Reset(o)
	bd.AppendAt(0, testNow, []byte("k"), nil, nil)
	bd.AppendAt(2, testNow, []byte("k"), nil, nil)
	b, err := bd.Build()
	if err != nil {
		t.Fatal(err)
	}
	return edit(b, lastOffsetDeltaPos, "00000001")
}

func TestReCompressedBatchIsMeasuredAgain(t *testing.T) {
	o := ClientOptions()
	o.Codec = Gzip
	small := build(t, o, []Record{{Timestamp: testNow, Value: make([]byte, 5000)}})
	l := DefaultLimits()
	l.KeepCodec, l.MaxMessageBytes = false, 4000
	if _, v := ValidateAndAssign(small, 0, 0, testNow, &l); v.Code != kafka.MessageTooLarge {
		t.Errorf("%v, sent with %d bytes", v.Code, len(small))
	}
	l.MaxMessageBytes, l.SegmentBytes = 6000, 4000
	if _, v := ValidateAndAssign(small, 0, 0, testNow, &l); v.Code != kafka.RecordListTooLarge {
		t.Errorf("%v", v.Code)
	}
}

func TestVerdictListsEachRefusedRecord(t *testing.T) {
	b := build(t, ClientOptions(), []Record{{}, {Key: []byte("k")}, {}})
	l := DefaultLimits()
	l.Compacted = true
	_, v := ValidateAndAssign(b, 0, 0, testNow, &l)
	if len(v.RecordErrors) != 2 || v.RecordErrors[0].Index != 0 || v.RecordErrors[1].Index != 2 {
		t.Errorf("%+v", v)
	}
	_, v = ValidateAndAssign(build(t, ClientOptions(), make([]Record, 1000)), 0, 0, testNow, &l)
	if len(v.RecordErrors) != maxRecordErrors {
		t.Errorf("%d errors", len(v.RecordErrors))
	}
}

func TestCoordinatorMayWriteMarkers(t *testing.T) {
	marker, err := MarkerBatch(Marker{4000, 2, true, 11}, 0, kafka.NoLeaderEpoch, testNow)
	if err != nil {
		t.Fatal(err)
	}
	l := DefaultLimits()
	l.KeepCodec, l.Codec = false, Zstd
	if _, v := ValidateAndAssign(marker, 50, 3, testNow, &l); v.Code != kafka.InvalidRecord {
		t.Errorf("a client's marker: %v", v)
	}
	l.Coordinator = true
	out, v := ValidateAndAssign(marker, 50, 3, testNow, &l)
	if v.Code != kafka.None || out.BaseOffset() != 50 || out.Codec() != None || out.CRC() != marker.CRC() {
		t.Errorf("%v", v)
	}
}

func TestStorageTrap8HighAttributeByteIsClearedOnRewrite(t *testing.T) {
	b := edit(produced(t, nil), attributesPos, "0100")
	l := DefaultLimits()
	l.TimestampType = LogAppendTime
	out, v := ValidateAndAssign(b, 0, 0, testNow+9, &l)
	if v.Code != kafka.None || out.Attributes() != 0x0008 || out.MaxTimestamp() != testNow+9 {
		t.Errorf("%v, attributes %04x, max %d", v, out.Attributes(), out.MaxTimestamp())
	}
	if out.BaseTimestamp() != testNow-5 || !bytes.Equal(out[HeaderSize:], b[HeaderSize:]) {
		t.Error("base timestamp and deltas must stay as sent")
	}
	// Without a reason to rewrite it stays, as it does in a broker.
	l.TimestampType = CreateTime
	if out, _ := ValidateAndAssign(b, 0, 0, testNow, &l); out.Attributes() != 0x0100 || out.CRC() != b.CRC() {
		t.Errorf("attributes %04x", out.Attributes())
	}
}

func TestStorageTrap9BrokerRecomputesMaxTimestampAndCRC(t *testing.T) {
	good := produced(t, nil)
	for _, c := range []Codec{None, LZ4} {
		sent := produced(t, func(o *BatchOptions) { o.Codec = c })
		wrong := edit(sent, maxTimestampPos, "0000000000000001")
		l := DefaultLimits()
		out, v := ValidateAndAssign(wrong, 0, 0, testNow, &l)
		if v.Code != kafka.None || out.MaxTimestamp() != testNow || out.CRC() != sent.CRC() {
			t.Errorf("%v: %v, max %d", c, v, out.MaxTimestamp())
		}
	}
	if out, _ := ValidateAndAssign(good, 5, 6, testNow, &Limits{MaxMessageBytes: 1000, SegmentBytes: 1000, KeepCodec: true, BeforeMaxMs: 5}); out.CRC() != good.CRC() {
		t.Error("the CRC of an unchanged batch is kept")
	}
}

func TestStorageTrap10TimestampBoundsAreInclusive(t *testing.T) {
	l := DefaultLimits()
	l.BeforeMaxMs, l.AfterMaxMs = 1000, 50
	for ts, want := range map[kafka.TimestampMs]kafka.ErrorCode{
		testNow - 1000: kafka.None, testNow - 1001: kafka.InvalidTimestamp,
		testNow + 50: kafka.None, testNow + 51: kafka.InvalidTimestamp,
		-1: kafka.None, 0: kafka.InvalidTimestamp,
	} {
		b := build(t, ClientOptions(), []Record{{Timestamp: ts}})
		if _, v := ValidateAndAssign(b, 0, 0, testNow, &l); v.Code != want {
			t.Errorf("%d: %v", ts-testNow, v)
		}
	}
	l.BeforeMaxMs, l.AfterMaxMs = math.MaxInt64, math.MaxInt64
	if _, v := ValidateAndAssign(build(t, ClientOptions(), []Record{{Timestamp: math.MaxInt64}}), 0, 0, testNow, &l); v.Code != kafka.None {
		t.Errorf("%v", v)
	}
}

// Whatever the codecs of producer and topic, the log holds the same records.
func TestValidateKeepsRecordsAndProducerState(t *testing.T) {
	shared := new(Scratch)
	rapid.Check(t, func(t *rapid.T) {
		o, in := batch(t)
		o.BaseOffset, o.TimestampType, o.BaseSequence = 0, CreateTime, max(o.BaseSequence, 0)
		if o.ProducerEpoch = max(o.ProducerEpoch, 0); o.ProducerID == NoProducerID {
			o.Transactional = false
		}
		var bd Builder
		bd.Reset(o)
		for _, r := range in {
			bd.Append(r.Timestamp, r.Key, r.Value, r.Headers)
		}
		b, err := bd.Build()
		if err != nil {
			t.Fatal(err)
		}
		l := DefaultLimits()
		l.TimestampType = rapid.SampledFrom([]TimestampType{CreateTime, LogAppendTime}).Draw(t, "topic type")
		l.Codec, l.KeepCodec = rapid.SampledFrom(allCodecs).Draw(t, "topic codec"), rapid.Bool().Draw(t, "keep")
		if rapid.Bool().Draw(t, "shared") {
			l.Scratch = shared
		}
		base := kafka.Offset(rapid.Int64Range(0, 1<<60).Draw(t, "leo"))
		out, v := ValidateAndAssign(b, base, 9, testNow, &l)
		if v.Code != kafka.None {
			t.Fatal(v)
		}
		want := o
		want.BaseOffset, want.TimestampType, want.LogAppendTime = base, l.TimestampType, testNow
		records, maxTS := stamped(want, in)
		got, err := out.Records(nil)
		if err != nil || !reflect.DeepEqual(got, records) {
			t.Fatalf("%v\n got %+v\nwant %+v", err, got, records)
		}
		codec := l.Codec
		if l.KeepCodec {
			codec = o.Codec
		}
		if err := out.Check(); err != nil || out.Codec() != codec || out.MaxTimestamp() != maxTS || out.PartitionLeaderEpoch() != 9 ||
			out.ProducerID() != o.ProducerID || out.ProducerEpoch() != o.ProducerEpoch || out.BaseSequence() != o.BaseSequence ||
			out.IsTransactional() != o.Transactional || out.BaseTimestamp() != in[0].Timestamp {
			t.Fatalf("%v %+v", err, headOf(out))
		}
	})
}

func TestValidateAllocatesTheBatchAlone(t *testing.T) {
	b := sixteenKiB(t)
	l := DefaultLimits()
	n := testing.AllocsPerRun(10, func() {
		if out, v := ValidateAndAssign(b, 5, 6, testNow, &l); v.Code != kafka.None || len(out) != len(b) {
			t.Fatal(v)
		}
	})
	if n != 1 {
		t.Errorf("%v allocations", n)
	}
}

func sixteenKiB(t testing.TB) Batch {
	records := make([]Record, 16)
	for i := range records {
		records[i] = Record{Timestamp: testNow, Value: make([]byte, 1024)}
	}
	return build(t, ClientOptions(), records)
}

func BenchmarkBuild16x1KiB(b *testing.B) {
	for _, c := range allCodecs {
		b.Run(c.String(), func(b *testing.B) {
			var bd Builder
			o := ClientOptions()
			o.Codec = c
			value := []byte(fmt.Sprintf("%0*d", 1024, 7))
			b.ReportAllocs()
			b.SetBytes(16 << 10)
			for b.Loop() {
				bd.Reset(o)
				for range 16 {
					bd.Append(testNow, nil, value, nil)
				}
				if _, err := bd.Build(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkValidateAndAssign16KiB(b *testing.B) {
	plain := sixteenKiB(b)
	for _, t := range []TimestampType{CreateTime, LogAppendTime} {
		b.Run(t.String(), func(b *testing.B) {
			l := DefaultLimits()
			l.TimestampType = t
			b.ReportAllocs()
			b.SetBytes(int64(len(plain)))
			for b.Loop() {
				if _, v := ValidateAndAssign(plain, 5, 6, testNow+1, &l); v.Code != kafka.None {
					b.Fatal(v)
				}
			}
		})
	}
}

func BenchmarkIterate16x1KiB(b *testing.B) {
	plain := sixteenKiB(b)
	var it Iterator
	b.ReportAllocs()
	b.SetBytes(int64(len(plain)))
	for b.Loop() {
		for it.Reset(plain); it.Next(); {
		}
		if it.Err() != nil {
			b.Fatal(it.Err())
		}
	}
}

func BenchmarkCheckFollower16KiB(b *testing.B) {
	plain := sixteenKiB(b)
	b.ReportAllocs()
	b.SetBytes(int64(len(plain)))
	for b.Loop() {
		if _, err := CheckFollower(plain, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// With Reuse the next batch may take the place of the last one, and b is still not modified.
func TestReuseGivesTheSameBatches(t *testing.T) {
	fresh, reused := &Limits{MaxMessageBytes: 1 << 20, SegmentBytes: 1 << 20, BeforeMaxMs: 1 << 60, AfterMaxMs: 1 << 60, KeepCodec: true}, Limits{}
	reused = *fresh
	reused.Reuse = true
	for n := range 5 {
		var bd Builder
		bd.Reset(ClientOptions())
		for i := range 5 - n {
			bd.Append(kafka.TimestampMs(i), nil, make([]byte, 100*(n+1)), nil)
		}
		b, err := bd.Build()
		if err != nil {
			t.Fatal(err)
		}
		before := append(Batch(nil), b...)
		x, v := ValidateAndAssign(b, kafka.Offset(10*n), 3, 1, fresh)
		y, w := ValidateAndAssign(b, kafka.Offset(10*n), 3, 1, &reused)
		if v.Code != kafka.None || w.Code != kafka.None || !bytes.Equal(x, y) || !bytes.Equal(b, before) {
			t.Fatalf("batch %d: %v %v, equal %v", n, v, w, bytes.Equal(x, y))
		}
	}
}
