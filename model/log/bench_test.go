package log

import (
	"runtime"
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/record"
	"github.com/simkafka/simkafka/sim/simdisk"
)

func clientBatch(b *testing.B, size, records int) record.Batch {
	ts := make([]kafka.TimestampMs, records)
	for i := range ts {
		ts[i] = kafka.TimestampMs(1000 + i)
	}
	return batchOf(b, size/records, ts...)
}

func benchConfig() *Config {
	c := DefaultConfig()
	c.SegmentBytes = 64 << 20
	return &c
}

func BenchmarkAppendAsLeader16K(b *testing.B) {
	batch := clientBatch(b, 16<<10, 16)
	b.SetBytes(int64(len(batch)))
	b.ReportAllocs()
	var l *Log
	for i := 0; b.Loop(); i++ {
		if i%4096 == 0 {
			l = openLog(b, simdisk.New(simdisk.Config{}, seededDraws(1)), benchConfig(), OpenParams{Clean: true})
		}
		appendLeader(b, l, batch, 0, 1)
	}
}

func BenchmarkAppendAsFollower1M(b *testing.B) {
	var buf []byte
	for i := range 64 {
		buf = append(buf, batchAt(b, kafka.Offset(16*i), 0, 1000, make([]kafka.TimestampMs, 16)...)...)
	}
	b.SetBytes(int64(len(buf)))
	b.ReportAllocs()
	for b.Loop() {
		l := openLog(b, simdisk.New(simdisk.Config{}, seededDraws(1)), benchConfig(), OpenParams{Clean: true})
		if _, err := l.AppendAsFollower(buf, 1); err != nil {
			b.Fatal(err)
		}
	}
}

func filledLog(b *testing.B, batches int) (*simdisk.Disk, *Log) {
	fs := simdisk.New(simdisk.Config{}, seededDraws(1))
	l := openLog(b, fs, benchConfig(), OpenParams{Clean: true})
	batch := clientBatch(b, 16<<10, 16)
	for range batches {
		appendLeader(b, l, batch, 0, 1)
	}
	return fs, l
}

func BenchmarkReadAtOldOffset(b *testing.B) {
	_, l := filledLog(b, 3000)
	b.ReportAllocs()
	at := kafka.Offset(0)
	for b.Loop() {
		at = (at + 7919) % l.LogEndOffset()
		if _, err := l.Read(at, 16<<10, l.LogEndOffset(), true); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReadAtEnd(b *testing.B) {
	_, l := filledLog(b, 3000)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := l.Read(l.LogEndOffset()-16, 1<<20, l.LogEndOffset(), true); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRecovery(b *testing.B) {
	fs, l := filledLog(b, 2000)
	b.SetBytes(l.Size())
	b.ReportAllocs()
	for b.Loop() {
		openLog(b, fs, benchConfig(), OpenParams{})
	}
}

func BenchmarkIdleReplica(b *testing.B) {
	const replicas = 4000
	cfg := DefaultConfig()
	for b.Loop() {
		fs := simdisk.New(simdisk.Config{}, seededDraws(1))
		m := loadManager(b, fs, "data", &cfg)
		topic := "orders"
		before := heap()
		for i := range replicas {
			l, err := m.Create(tp(topic, int32(i)), kafka.TopicID{1}, 1)
			check(b, err)
			check(b, l.AssignEpoch(0, 0))
		}
		check(b, m.WriteHighWatermarks())
		b.ReportMetric(float64(heap()-before)/replicas, "B/replica")
		runtime.KeepAlive(m)
		runtime.KeepAlive(fs)
	}
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
