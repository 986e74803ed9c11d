// Package oracle holds model/record against other implementations of the record
// batch: IBM/sarama, through its consumer and producer and a broker on the
// loopback interface that does not look into the batches, and
// segmentio/kafka-go, through its protocol package.
package oracle

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/record"
)

var codecs = []record.Codec{record.None, record.Gzip, record.Snappy, record.LZ4, record.Zstd}

const sampleTime = 1700000000000

// samples have every combination that codecs and readers treat apart: null and
// empty keys and values, headers with null values, repetitive data over several
// blocks of each codec, and noise.
func samples() []record.Record {
	noise := make([]byte, 100_000)
	state := uint64(1)
	for i := range noise {
		state = state*6364136223846793005 + 1442695040888963407
		noise[i] = byte(state >> 56)
	}
	records := []record.Record{
		{Key: []byte("k"), Value: []byte("v")},
		{Value: []byte("no key")},
		{Key: []byte("tombstone")},
		{},
		{Key: []byte{}, Value: []byte{}},
		{Key: []byte("h"), Value: []byte("headers"), Headers: []record.Header{
			{Key: "a", Value: []byte("1")}, {Key: "a", Value: []byte("2")}, {Key: "null", Value: nil}, {Key: "ключ", Value: []byte{}},
		}},
		{Value: bytes.Repeat([]byte("repetition "), 20_000)},
		{Key: noise[:300], Value: noise},
	}
	for i := range records {
		records[i].Timestamp = kafka.TimestampMs(sampleTime + 7*i)
		records[i].Sequence = record.NoSequence
	}
	records[3].Timestamp = sampleTime - 100
	return records
}

// encode writes the samples as one batch that starts at base.
func encode(t *testing.T, c record.Codec, level int, base kafka.Offset) (record.Batch, []record.Record) {
	t.Helper()
	o := record.ClientOptions()
	o.Codec, o.Level, o.BaseOffset, o.LeaderEpoch = c, level, base, 1
	var b record.Builder
	b.Reset(o)
	records := samples()
	for i := range records {
		r := &records[i]
		r.Offset = base + kafka.Offset(i)
		b.Append(r.Timestamp, r.Key, r.Value, r.Headers)
	}
	batch, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return batch, records
}

// decode reads all batches of buf.
func decode(t *testing.T, buf []byte) (records []record.Record, used []record.Codec) {
	t.Helper()
	for len(buf) > 0 {
		b, rest, err := record.Next(buf)
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Check(); err != nil {
			t.Fatal(err)
		}
		if records, err = b.Records(records); err != nil {
			t.Fatal(err)
		}
		used, buf = append(used, b.Codec()), rest
	}
	return records, used
}

// same compares; nil and empty differ.
func same(t *testing.T, got, want []record.Record) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d records, want %d", len(got), len(want))
	}
	for i := range want {
		if g, w := show(got[i]), show(want[i]); g != w {
			t.Errorf("record %d\n got %s\nwant %s", i, g, w)
		}
	}
}

func show(r record.Record) string {
	s := fmt.Sprintf("@%d ts %d key %s value %s", r.Offset, r.Timestamp, blob(r.Key), blob(r.Value))
	for _, h := range r.Headers {
		s += fmt.Sprintf(" %s=%s", h.Key, blob(h.Value))
	}
	return s
}

func blob(b []byte) string {
	switch {
	case b == nil:
		return "null"
	case len(b) > 40:
		return fmt.Sprintf("%d bytes %x", len(b), sum(b))
	}
	return fmt.Sprintf("%q", b)
}

func sum(b []byte) (h uint64) {
	for _, c := range b {
		h = h*1099511628211 + uint64(c) + 1
	}
	return h
}
