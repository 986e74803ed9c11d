package oracle

import (
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/record"
)

func saramaConfig() *sarama.Config {
	c := sarama.NewConfig()
	c.Version = sarama.V2_1_0_0 // knows zstd, has no flexible versions
	c.ApiVersionsRequest = false
	c.Producer.Return.Successes = true
	c.Producer.Partitioner = sarama.NewManualPartitioner
	c.Producer.MaxMessageBytes = 10 << 20
	c.Producer.Flush.Messages = len(samples())
	return c
}

// The log has one batch of each codec, a transaction marker, and one more batch.
func TestSaramaConsumesOurBatches(t *testing.T) {
	var log []byte
	var want []record.Record
	var end kafka.Offset
	for _, c := range codecs {
		for _, level := range []int{0, 1, 9} {
			b, records := encode(t, c, level, end)
			log, want, end = append(log, b...), append(want, records...), b.NextOffset()
		}
	}
	marker, err := record.MarkerBatch(record.Marker{ProducerID: 5, Commit: true}, end, 1, sampleTime)
	if err != nil {
		t.Fatal(err)
	}
	log = append(log, marker...)
	b, records := encode(t, record.None, 0, marker.NextOffset())
	log, want, end = append(log, b...), append(want, records...), b.NextOffset()

	consumer, err := sarama.NewConsumer([]string{startBroker(t, log, int64(end)).addr}, saramaConfig())
	if err != nil {
		t.Fatal(err)
	}
	defer consumer.Close()
	pc, err := consumer.ConsumePartition(topic, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer pc.Close()
	same(t, consume(t, pc, len(want)), want)
}

func consume(t *testing.T, pc sarama.PartitionConsumer, n int) (out []record.Record) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	for len(out) < n {
		select {
		case m := <-pc.Messages():
			r := record.Record{Offset: kafka.Offset(m.Offset), Timestamp: kafka.TimestampMs(m.Timestamp.UnixMilli()), Key: m.Key, Value: m.Value}
			for _, h := range m.Headers {
				r.Headers = append(r.Headers, record.Header{Key: string(h.Key), Value: h.Value})
			}
			out = append(out, r)
		case <-deadline:
			t.Fatalf("%d messages of %d", len(out), n)
		}
	}
	return out
}

func TestWeReadSaramasBatches(t *testing.T) {
	for _, c := range codecs {
		b := startBroker(t, nil, 0)
		config := saramaConfig()
		config.Producer.Compression = sarama.CompressionCodec(c)
		producer, err := sarama.NewSyncProducer([]string{b.addr}, config)
		if err != nil {
			t.Fatal(err)
		}
		want := samples()
		var messages []*sarama.ProducerMessage
		for i := range want {
			want[i].Offset = kafka.Offset(i)
			messages = append(messages, toSarama(want[i]))
		}
		if err := producer.SendMessages(messages); err != nil {
			t.Fatal(err)
		}
		if err := producer.Close(); err != nil {
			t.Fatal(err)
		}
		got, used := decode(t, b.produced)
		if len(used) != 1 || used[0] != c {
			t.Errorf("codecs %v, want one batch of %v", used, c)
		}
		same(t, got, want)
	}
}

func toSarama(r record.Record) *sarama.ProducerMessage {
	m := &sarama.ProducerMessage{Topic: topic, Timestamp: time.UnixMilli(int64(r.Timestamp))}
	if r.Key != nil {
		m.Key = sarama.ByteEncoder(r.Key)
	}
	if r.Value != nil {
		m.Value = sarama.ByteEncoder(r.Value)
	}
	for _, h := range r.Headers {
		m.Headers = append(m.Headers, sarama.RecordHeader{Key: []byte(h.Key), Value: h.Value})
	}
	return m
}
