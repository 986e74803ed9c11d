package record

import (
	"errors"
	"io"
	"runtime/metrics"
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
)

func seeds(f *testing.F) {
	for _, v := range []string{vectorR1, vectorR3, vectorR4, vectorR5, vectorS1, vectorS2, vectorS4, vectorS5, vectorS6} {
		f.Add(unhex(v))
	}
	for _, c := range allCodecs {
		f.Add([]byte(build(f, BatchOptions{Codec: c}, []Record{{Key: []byte("k"), Value: make([]byte, 200), Headers: []Header{{"h", nil}}}, {Timestamp: 9}})))
	}
	f.Add(append(unhex(vectorR1), unhex(vectorR2)[:50]...))
}

// allocated is the number of bytes allocated since the process started.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// slack covers what the fuzzing engine and the runtime allocate meanwhile.
const slack = 4 << 20

func FuzzNext(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		n, err := PeekSize(data)
		if err == nil && n < LogOverhead+minLength {
			t.Fatalf("PeekSize %d", n)
		}
		rest, total := data, 0
		for {
			b, r, err := Next(rest)
			if err != nil {
				var corrupt *CorruptError
				if err != io.EOF && err != ErrIncomplete && !errors.As(err, &corrupt) || len(r) != len(rest) {
					t.Fatalf("%v, %d bytes left of %d", err, len(r), len(rest))
				}
				break
			}
			if b.Size() != len(b) || len(b) < HeaderSize || len(b)+len(r) != len(rest) {
				t.Fatalf("size %d, %d bytes", b.Size(), len(b))
			}
			if b.IsValid() != (b.Check() == nil) {
				t.Fatal("IsValid and Check disagree about magic 2")
			}
			total, rest = total+len(b), r
		}
		if s, err := CheckFollower(data, nil); err == nil && s.Size != total {
			t.Fatalf("CheckFollower counts %d bytes of %d", s.Size, total)
		}
	})
}

func FuzzRecords(f *testing.F) {
	seeds(f)
	var shared Scratch
	f.Fuzz(func(t *testing.T, data []byte) {
		b, _, err := Next(data)
		if err != nil {
			return
		}
		before := allocated()
		records, err := b.Records(nil)
		if used := allocated() - before; b.Codec() == None && used > slack+uint64(128*len(b)) {
			t.Fatalf("%d bytes for a batch of %d", used, len(b))
		}
		again, err2 := shared.Records(b, nil)
		if (err == nil) != (err2 == nil) || len(records) != len(again) {
			t.Fatalf("fresh memory: %d records, %v; shared: %d, %v", len(records), err, len(again), err2)
		}
		if err == nil && len(records) != int(b.Count()) {
			t.Fatalf("%d records of %d", len(records), b.Count())
		}
		_, _, _ = b.ParseMarker()
	})
}

// A batch that the leader accepts is one that every follower accepts and every
// consumer reads; of compressed records that stay as they are the leader does not look at
// all that a consumer needs, as in Kafka. The input's CRC is set right, or nothing would
// pass.
func FuzzValidate(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) >= HeaderSize {
			data = append([]byte(nil), data...)
			Batch(data).SetBaseOffset(0)
			Batch(data).finish()
		}
		for _, l := range []Limits{
			DefaultLimits(),
			{MaxMessageBytes: 1 << 20, SegmentBytes: 1 << 20, Codec: Snappy, TimestampType: LogAppendTime, BeforeMaxMs: 5, AfterMaxMs: 5},
			{MaxMessageBytes: 1 << 20, SegmentBytes: 1 << 20, Codec: None, Compacted: true, BeforeMaxMs: 1 << 62, AfterMaxMs: 1 << 62},
		} {
			out, v := ValidateAndAssign(data, 1000, 3, testNow, &l)
			if v.Code != kafka.None {
				if out != nil {
					t.Fatal("a refused batch is returned")
				}
				continue
			}
			if s, err := CheckFollower(out, nil); err != nil || s.FirstOffset != 1000 || s.LastEpoch != 3 || s.Batches != 1 {
				t.Fatalf("a follower refuses it: %v %+v", err, s)
			}
			if out.Codec() != None && out.Codec() == Batch(data).Codec() {
				continue
			}
			records, err := out.Records(nil)
			if err != nil || len(records) != int(out.Count()) || out.NextOffset() != 1000+kafka.Offset(len(records)) {
				t.Fatalf("a consumer refuses it: %v", err)
			}
		}
	})
}
