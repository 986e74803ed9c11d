package perf

import (
	"encoding/binary"
	"fmt"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/log"
	"github.com/simkafka/simkafka/model/record"
)

// now is the wall clock of all logs here, and the time of all records.
const now = kafka.TimestampMs(1_700_000_000_000)

// valueSize of records, in bytes, where nothing else is said.
const valueSize = 1024

// random is a small generator (splitmix64): the bytes must not compress.
type random uint64

func (r *random) next() uint64 {
	*r += 0x9e3779b97f4a7c15
	z := uint64(*r)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

func (r *random) bytes(n int) []byte {
	b := make([]byte, 0, n+8)
	for len(b) < n {
		b = binary.LittleEndian.AppendUint64(b, r.next())
	}
	return b[:n]
}

// clientBatch is a producer's batch of records without keys.
func clientBatch(records, value int) (record.Batch, error) {
	r := random(5)
	var bd record.Builder
	bd.Reset(record.ClientOptions())
	for i := range records {
		bd.Append(now+kafka.TimestampMs(i), nil, r.bytes(value), nil)
	}
	return bd.Build()
}

// config is Kafka's defaults.
func config() *log.Config {
	c := log.DefaultConfig()
	return &c
}

// fetched is the answer of a leader to its follower: batches one behind the other.
type fetched struct {
	buf     []byte
	batches int
	records int64 // of one batch
	size    int   // of one batch, in bytes
}

func newFetched(batch record.Batch, limit int) fetched {
	f := fetched{size: len(batch), records: int64(batch.Count())}
	for f.batches == 0 || len(f.buf)+len(batch) <= limit {
		f.buf = append(f.buf, batch...)
		f.batches++
	}
	return f
}

// at numbers the batches from offset on; the checksum does not cover them.
func (f *fetched) at(offset kafka.Offset) []byte {
	for p := 0; p < len(f.buf); p += f.size {
		b := record.Batch(f.buf[p : p+f.size])
		b.SetBaseOffset(offset)
		b.SetPartitionLeaderEpoch(0)
		offset += kafka.Offset(f.records)
	}
	return f.buf
}

// fill appends about size bytes of values to a log, as a follower does, and returns the
// records. copied: the file system does not keep what it is given.
func fill(l *log.Log, batch record.Batch, value int, size int64, copies bool) (records int64, err error) {
	f := newFetched(batch, 1<<20)
	for records*int64(value) < size {
		buf := f.at(l.LogEndOffset())
		if !copies {
			buf = append([]byte(nil), buf...)
		}
		if _, err := l.AppendAsFollower(buf, now); err != nil {
			return records, err
		}
		records += int64(f.batches) * f.records
	}
	return records, nil
}

// demand is the error of a run that did other work than it should have.
func demand(what string, got, want int64) error {
	if got != want {
		return fmt.Errorf("perf: %s: %d, not %d", what, got, want)
	}
	return nil
}
