package log

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/record"
)

// BenchmarkCleaning cleans 32 MiB, of which each key has four values, in memory; the
// rate is that of the bytes in the log before.
func BenchmarkCleaning(b *testing.B) {
	for _, size := range []int{100, 1024} {
		b.Run(fmt.Sprintf("value=%d", size), func(b *testing.B) {
			for range b.N {
				b.StopTimer()
				l := filledForCleaning(b, size, 32<<20)
				r, err := l.CleanRange(2)
				check(b, err)
				b.SetBytes(r.CleanableBytes)
				b.StartTimer()
				cleanWith(b, l, CleanParams{Range: r, Now: 2, MapBytes: 128 << 20, ReadBytes: 256 << 10})
			}
		})
	}
}

func filledForCleaning(t testingT, value, total int) *Log {
	cfg := DefaultConfig()
	cfg.Compact, cfg.Delete, cfg.SegmentBytes = true, false, 8<<20
	l, _ := newLog(t, &cfg)
	keys := total / (value + 20) / 4
	payload := bytes.Repeat([]byte{'x'}, value)
	var bd record.Builder
	key := make([]byte, 8)
	for n := 0; l.Size() < int64(total); {
		bd.Reset(record.ClientOptions())
		for range max(1, 16<<10/value) {
			binary.BigEndian.PutUint64(key, uint64(n*7919%keys))
			bd.Append(kafka.TimestampMs(1), key, payload, nil)
			n++
		}
		b, err := bd.Build()
		check(t, err)
		appendLeader(t, l, b, 1, 1)
	}
	rollNow(t, l, 1)
	l.SetHighWatermark(l.LogEndOffset())
	return l
}
