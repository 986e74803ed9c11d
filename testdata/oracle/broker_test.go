package oracle

import (
	"encoding/binary"
	"io"
	"net"
	"strconv"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

const topic = "oracle"

// broker answers one client's requests for partition 0 of topic. What is
// produced is kept as sent; what is fetched is log, whole.
type broker struct {
	t    *testing.T
	addr string
	port int32
	log  []byte
	end  int64 // next offset after log

	mu       sync.Mutex
	produced []byte
}

func startBroker(t *testing.T, log []byte, end int64) *broker {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	_, port, _ := net.SplitHostPort(l.Addr().String())
	n, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	b := &broker{t: t, addr: l.Addr().String(), port: int32(n), log: log, end: end}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go b.serve(conn)
		}
	}()
	return b
}

func (b *broker) serve(conn net.Conn) {
	defer conn.Close()
	for {
		var size [4]byte
		if _, err := io.ReadFull(conn, size[:]); err != nil {
			return
		}
		frame := make([]byte, binary.BigEndian.Uint32(size[:]))
		if _, err := io.ReadFull(conn, frame); err != nil {
			return
		}
		out, err := b.answer(frame)
		if err != nil {
			b.t.Errorf("broker: %v", err)
			return
		}
		if _, err := conn.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(out))), out...)); err != nil {
			return
		}
	}
}

// answer reads a request with header version 1: key, version, correlation,
// client id. Flexible versions are not negotiated.
func (b *broker) answer(frame []byte) ([]byte, error) {
	req := kmsg.RequestForKey(int16(binary.BigEndian.Uint16(frame)))
	req.SetVersion(int16(binary.BigEndian.Uint16(frame[2:])))
	correlation := frame[4:8]
	body := frame[10:]
	if n := int16(binary.BigEndian.Uint16(frame[8:])); n > 0 {
		body = body[n:]
	}
	if err := req.ReadFrom(body); err != nil {
		return nil, err
	}
	resp := req.ResponseKind()
	switch r := resp.(type) {
	case *kmsg.MetadataResponse:
		b.metadata(r)
	case *kmsg.ProduceResponse:
		b.produce(req.(*kmsg.ProduceRequest), r)
	case *kmsg.FetchResponse:
		b.fetch(req.(*kmsg.FetchRequest), r)
	case *kmsg.ListOffsetsResponse:
		p := kmsg.NewListOffsetsResponseTopicPartition()
		if req.(*kmsg.ListOffsetsRequest).Topics[0].Partitions[0].Timestamp == -1 {
			p.Offset = b.end
		} else {
			p.Offset = 0
		}
		r.Topics = []kmsg.ListOffsetsResponseTopic{{Topic: topic, Partitions: []kmsg.ListOffsetsResponseTopicPartition{p}}}
	}
	return resp.AppendTo(append([]byte(nil), correlation...)), nil
}

func (b *broker) metadata(r *kmsg.MetadataResponse) {
	node := kmsg.NewMetadataResponseBroker()
	node.NodeID, node.Host, node.Port = 1, "127.0.0.1", b.port
	p := kmsg.NewMetadataResponseTopicPartition()
	p.Leader, p.Replicas, p.ISR = 1, []int32{1}, []int32{1}
	name := topic
	tp := kmsg.NewMetadataResponseTopic()
	tp.Topic, tp.Partitions = &name, []kmsg.MetadataResponseTopicPartition{p}
	r.Brokers, r.ControllerID, r.Topics = []kmsg.MetadataResponseBroker{node}, 1, []kmsg.MetadataResponseTopic{tp}
}

func (b *broker) produce(req *kmsg.ProduceRequest, r *kmsg.ProduceResponse) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, tp := range req.Topics {
		for _, p := range tp.Partitions {
			b.produced = append(b.produced, p.Records...)
		}
	}
	r.Topics = []kmsg.ProduceResponseTopic{{Topic: topic, Partitions: []kmsg.ProduceResponseTopicPartition{kmsg.NewProduceResponseTopicPartition()}}}
}

func (b *broker) fetch(req *kmsg.FetchRequest, r *kmsg.FetchResponse) {
	p := kmsg.NewFetchResponseTopicPartition()
	p.HighWatermark, p.LastStableOffset = b.end, b.end
	if len(req.Topics) > 0 && req.Topics[0].Partitions[0].FetchOffset < b.end {
		p.RecordBatches = b.log
	}
	r.Topics = []kmsg.FetchResponseTopic{{Topic: topic, Partitions: []kmsg.FetchResponseTopicPartition{p}}}
}
