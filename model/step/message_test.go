package step

import (
	"math"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"
)

// The fast sizes must be those of the encoding, for every version.
func TestFastWireSizeIsTheLengthOfTheEncoding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawHotMessage(t)
		n, ok := FastWireSize(m)
		if !ok {
			t.Skip("rare fields")
		}
		if want := len(AppendBody(nil, m)) + HeaderSize(m); n != want {
			t.Fatalf("%T v%d: %d, encoded %d", m, m.(interface{ GetVersion() int16 }).GetVersion(), n, want)
		}
	})
}

func TestFastWireSizeRefusesWhatItDoesNotCount(t *testing.T) {
	r := kmsg.NewPtrFetchResponse()
	r.Version = 16
	r.Brokers = []kmsg.FetchResponseBroker{kmsg.NewFetchResponseBroker()}
	if _, ok := FastWireSize(r); ok {
		t.Error("brokers are not counted")
	}
	if _, ok := FastWireSize(kmsg.NewPtrMetadataRequest()); ok {
		t.Error("metadata is not hot")
	}
}

func drawHotMessage(t *rapid.T) Message {
	v := int16(rapid.IntRange(0, 16).Draw(t, "version"))
	topic := rapid.StringMatching(`[a-z]{0,200}`).Draw(t, "topic")
	records := rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "records")
	if rapid.Bool().Draw(t, "nil") {
		records = nil
	}
	parts := rapid.IntRange(0, 3).Draw(t, "partitions")
	off := rapid.Int64Range(-1, 3).Draw(t, "field")
	switch rapid.IntRange(0, 3).Draw(t, "kind") {
	case 0:
		m := kmsg.NewPtrProduceRequest()
		m.Version = min(v, m.MaxVersion())
		if off > 0 {
			m.TransactionID = &topic
		}
		tp := kmsg.NewProduceRequestTopic()
		tp.Topic = topic
		for range parts {
			p := kmsg.NewProduceRequestTopicPartition()
			p.Records = records
			tp.Partitions = append(tp.Partitions, p)
		}
		m.Topics = append(m.Topics, tp)
		return m
	case 1:
		m := kmsg.NewPtrProduceResponse()
		m.Version = min(v, m.MaxVersion())
		tp := kmsg.NewProduceResponseTopic()
		tp.Topic = topic
		for range parts {
			p := kmsg.NewProduceResponseTopicPartition()
			p.CurrentLeader.LeaderID = int32(off)
			if off > 1 {
				p.ErrorMessage = &topic
			}
			tp.Partitions = append(tp.Partitions, p)
		}
		m.Topics = append(m.Topics, tp)
		return m
	case 2:
		m := kmsg.NewPtrFetchRequest()
		m.Version = min(v, m.MaxVersion())
		m.Rack = topic
		m.ReplicaState.ID = int32(off)
		tp := kmsg.NewFetchRequestTopic()
		tp.Topic = topic
		for range parts {
			p := kmsg.NewFetchRequestTopicPartition()
			if off > 2 {
				p.HighWatermark = off
			}
			tp.Partitions = append(tp.Partitions, p)
		}
		m.Topics = append(m.Topics, tp)
		f := kmsg.NewFetchRequestForgottenTopic()
		f.Topic, f.Partitions = topic, make([]int32, parts)
		m.ForgottenTopics = append(m.ForgottenTopics, f)
		return m
	}
	m := kmsg.NewPtrFetchResponse()
	m.Version = min(v, m.MaxVersion())
	tp := kmsg.NewFetchResponseTopic()
	tp.Topic = topic
	for i := range parts {
		p := kmsg.NewFetchResponseTopicPartition()
		p.RecordBatches = records
		p.DivergingEpoch.Epoch = int32(off)
		p.CurrentLeader.LeaderEpoch = int32(off)
		p.SnapshotID.EndOffset = off
		p.AbortedTransactions = make([]kmsg.FetchResponseTopicPartitionAbortedTransaction, i)
		tp.Partitions = append(tp.Partitions, p)
	}
	m.Topics = append(m.Topics, tp)
	return m
}

func TestWireSizeAddsTheFraming(t *testing.T) {
	r := kmsg.NewPtrFetchRequest()
	r.Version = 4
	f := kmsg.NewRequestFormatter(kmsg.FormatterClientID("0123456789"))
	if got, want := WireSize(r), len(f.AppendRequest(nil, r, 1)); got != want {
		t.Errorf("WireSize %d, framed %d", got, want)
	}
	r.Version = 12
	if got, want := WireSize(r), len(f.AppendRequest(nil, r, 1)); got != want {
		t.Errorf("flexible: WireSize %d, framed %d", got, want)
	}
	if r.Topics = nil; math.MaxInt8 < WireSize(r) {
		t.Error("an empty fetch is small")
	}
}
