package record

import (
	"encoding/hex"
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
)

// TestStorageTrap47AFirstCleaningStampsTheTombstone makes vector S5 out of S1.
func TestStorageTrap47AFirstCleaningStampsTheTombstone(t *testing.T) {
	s1 := Batch(vector(t, vectorS1))
	records := mustRecords(t, s1)
	var bd Builder
	bd.ResetLike(s1)
	bd.SetDeleteHorizon(1700000000000 + 86_400_000)
	r := records[1]
	bd.AppendAt(r.Offset, r.Timestamp, r.Key, r.Value, r.Headers)
	bd.KeepLastOffset(s1.LastOffset())
	b, err := bd.Build()
	if err != nil || hex.EncodeToString(b) != vectorS5 {
		t.Fatalf("%x %v", b, err)
	}
	if horizon, found := b.DeleteHorizon(); !found || horizon != 1700086400000 {
		t.Fatalf("horizon %d %v", horizon, found)
	}
	// A later cleaning keeps the horizon, and the record its own time.
	bd.ResetLike(b)
	for _, r := range mustRecords(t, b) {
		bd.AppendAt(r.Offset, r.Timestamp, r.Key, r.Value, r.Headers)
	}
	bd.KeepLastOffset(b.LastOffset())
	if again, err := bd.Build(); err != nil || string(again) != string(b) {
		t.Fatalf("%x %v", again, err)
	}
}

// TestStorageTrap48ABatchWithoutRecordsIsItsHeader makes vector S6.
func TestStorageTrap48ABatchWithoutRecordsIsItsHeader(t *testing.T) {
	for _, codec := range []Codec{None, LZ4} {
		o := ClientOptions()
		o.Codec, o.BaseOffset, o.LeaderEpoch = codec, 20, 3
		o.ProducerID, o.ProducerEpoch, o.BaseSequence = 4000, 2, 10
		var bd Builder
		bd.Reset(o)
		for i := range 5 {
			bd.Append(1700000000000+kafka.TimestampMs(73+i), []byte("k"), []byte("v"), nil)
		}
		b, err := bd.Build()
		if err != nil {
			t.Fatal(err)
		}
		if got := hex.EncodeToString(b.EmptyBatch()); got != vectorS6 {
			t.Fatalf("%v: %s", codec, got)
		}
	}
}

func TestThinnedBatchKeepsItsLastOffsetAndSequence(t *testing.T) {
	o := ClientOptions()
	o.BaseOffset, o.ProducerID, o.ProducerEpoch, o.BaseSequence, o.Codec = 7, 1, 2, 3, Zstd
	o.TimestampType, o.LogAppendTime = LogAppendTime, 99
	var bd Builder
	bd.Reset(o)
	for range 4 {
		bd.Append(5, []byte("k"), []byte("v"), nil)
	}
	b, err := bd.Build()
	if err != nil {
		t.Fatal(err)
	}
	bd.ResetLike(b)
	bd.AppendAt(8, 99, []byte("k"), nil, nil)
	bd.KeepLastOffset(b.LastOffset())
	thin, err := bd.Build()
	if err != nil || thin.Check() != nil {
		t.Fatal(err, thin.Check())
	}
	if thin.BaseOffset() != 7 || thin.LastOffset() != 10 || thin.LastSequence() != 6 || thin.Count() != 1 || thin.MaxTimestamp() != 99 || thin.Codec() != Zstd {
		t.Errorf("%x", []byte(thin))
	}
	if r := mustRecords(t, thin); r[0].Offset != 8 || r[0].Timestamp != 99 || r[0].Value != nil {
		t.Errorf("%+v", r)
	}
	bd.KeepLastOffset(7)
	if _, err := bd.Build(); err == nil {
		t.Error("a last offset below the last record")
	}
}
