package oracle

import (
	"bytes"
	"encoding/binary"
	"io"
	"testing"
	"time"

	_ "github.com/segmentio/kafka-go" // registers the codecs
	"github.com/segmentio/kafka-go/protocol"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/record"
)

func TestKafkaGoReadsOurBatches(t *testing.T) {
	for _, c := range codecs {
		for _, level := range []int{0, 1, 9} {
			b, want := encode(t, c, level, 40)
			// The set is a protocol field: its size comes first.
			framed := append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...)
			var set protocol.RecordSet
			if _, err := set.ReadFrom(bytes.NewReader(framed)); err != nil {
				t.Fatalf("%v: %v", c, err)
			}
			same(t, fromKafkaGo(t, set.Records), want)
		}
	}
}

func fromKafkaGo(t *testing.T, reader protocol.RecordReader) (out []record.Record) {
	t.Helper()
	for {
		r, err := reader.ReadRecord()
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		rec := record.Record{
			Offset: kafka.Offset(r.Offset), Timestamp: kafka.TimestampMs(r.Time.UnixMilli()),
			Key: bytesOf(t, r.Key), Value: bytesOf(t, r.Value),
		}
		for _, h := range r.Headers {
			rec.Headers = append(rec.Headers, record.Header(h))
		}
		out = append(out, rec)
	}
}

func bytesOf(t *testing.T, b protocol.Bytes) []byte {
	t.Helper()
	if b == nil {
		return nil
	}
	data, err := protocol.ReadAll(b)
	if err != nil {
		t.Fatal(err)
	}
	return append([]byte{}, data...)
}

func TestWeReadKafkaGosBatches(t *testing.T) {
	for _, c := range codecs {
		want := samples()
		in := make([]protocol.Record, len(want))
		for i := range want {
			want[i].Offset = kafka.Offset(i)
			in[i] = protocol.Record{
				Offset: int64(i), Time: time.UnixMilli(int64(want[i].Timestamp)),
				Key: toKafkaGo(want[i].Key), Value: toKafkaGo(want[i].Value),
			}
			for _, h := range want[i].Headers {
				in[i].Headers = append(in[i].Headers, protocol.Header(h))
			}
		}
		set := protocol.RecordSet{Version: 2, Attributes: protocol.Attributes(c), Records: protocol.NewRecordReader(in...)}
		var buf bytes.Buffer
		if _, err := set.WriteTo(&buf); err != nil {
			t.Fatal(err)
		}
		got, used := decode(t, buf.Bytes()[4:])
		if len(used) != 1 || used[0] != c {
			t.Errorf("codecs %v, want %v", used, c)
		}
		same(t, got, want)
	}
}

func toKafkaGo(b []byte) protocol.Bytes {
	if b == nil {
		return nil
	}
	return protocol.NewBytes(b)
}
