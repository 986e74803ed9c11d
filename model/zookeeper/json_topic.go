package zookeeper

import (
	"fmt"
	"slices"
	"strings"

	"github.com/simkafka/simkafka/model/kafka"
)

// TopicAssignment is the content of a topic's znode. Partitions are in ascending
// order, each once.
type TopicAssignment struct {
	TopicID    kafka.TopicID // zero before format 3
	Partitions []PartitionAssignment
}

// PartitionAssignment is where a partition's replicas are. Adding and Removing
// are empty unless it is being reassigned (Z-29).
type PartitionAssignment struct {
	Partition                  int32
	Replicas, Adding, Removing []kafka.NodeID
}

// EncodeTopic writes format 1, 2 or 3; a topic without an id in format 3 has no
// topic_id key.
func EncodeTopic(format int32, t TopicAssignment) []byte {
	b := header(format)
	if format >= 3 && !t.TopicID.IsZero() {
		b = appendString(append(b, `,"topic_id":`...), t.TopicID.String())
	}
	b = appendReplicas(b, "partitions", t.Partitions, func(p *PartitionAssignment) []kafka.NodeID { return p.Replicas }, true)
	if format >= 2 {
		b = appendReplicas(b, "adding_replicas", t.Partitions, func(p *PartitionAssignment) []kafka.NodeID { return p.Adding }, false)
		b = appendReplicas(b, "removing_replicas", t.Partitions, func(p *PartitionAssignment) []kafka.NodeID { return p.Removing }, false)
	}
	return append(b, '}')
}

// appendReplicas writes a map from partition to replicas; empty lists only with all.
func appendReplicas(b []byte, key string, ps []PartitionAssignment, of func(*PartitionAssignment) []kafka.NodeID, all bool) []byte {
	b = append(b, `,"`...)
	b = append(b, key...)
	b = append(b, `":{`...)
	n := 0
	for i := range ps {
		ids := of(&ps[i])
		if len(ids) == 0 && !all {
			continue
		}
		b = appendInt(comma(b, n), `"`, int64(ps[i].Partition))
		b = appendNodes(append(b, `":`...), ids)
		n++
	}
	return append(b, '}')
}

// DecodeTopic reads any format.
func DecodeTopic(data []byte) (TopicAssignment, error) {
	var t TopicAssignment
	var adding, removing []PartitionAssignment
	s, seen := scanner{b: data}, false
	for i := s.open('{'); s.more(&i, '}'); {
		switch string(s.key()) {
		case "topic_id":
			t.TopicID = s.topicID()
		case "partitions":
			t.Partitions, seen = s.replicas(), true
		case "adding_replicas":
			adding = s.replicas()
		case "removing_replicas":
			removing = s.replicas()
		default:
			s.skip()
		}
	}
	if err := s.finish("topic", seen); err != nil {
		return TopicAssignment{}, err
	}
	for i := range t.Partitions {
		p := &t.Partitions[i]
		p.Adding, p.Removing = replicasOf(adding, p.Partition), replicasOf(removing, p.Partition)
	}
	return t, nil
}

func (s *scanner) topicID() kafka.TopicID {
	id, err := kafka.ParseTopicID(s.string())
	if err != nil {
		s.fail()
	}
	return id
}

// replicas reads a map from partition to replicas, in ascending order.
func (s *scanner) replicas() []PartitionAssignment {
	var ps []PartitionAssignment
	for i := s.open('{'); s.more(&i, '}'); {
		p, ok := atoi(string(s.key()))
		if !ok {
			s.fail()
		}
		ps = append(ps, PartitionAssignment{Partition: p, Replicas: s.nodes()})
	}
	slices.SortFunc(ps, func(a, b PartitionAssignment) int { return int(a.Partition) - int(b.Partition) })
	for i := 1; i < len(ps); i++ {
		if ps[i].Partition == ps[i-1].Partition {
			s.fail()
		}
	}
	return ps
}

// replicasOf finds a partition's list in a map read by replicas.
func replicasOf(sorted []PartitionAssignment, partition int32) []kafka.NodeID {
	i, ok := slices.BinarySearchFunc(sorted, partition, func(p PartitionAssignment, n int32) int { return int(p.Partition) - int(n) })
	if !ok || len(sorted[i].Replicas) == 0 {
		return nil
	}
	return sorted[i].Replicas
}

// BrokerInfo is the content of a broker's registration.
type BrokerInfo struct {
	// Host and Port are those of the first plaintext endpoint, for old clients.
	Host      string
	Port      int32
	Endpoints []Endpoint
	JmxPort   int32 // -1 = none
	Timestamp kafka.TimestampMs
	Rack      string // "" = none
}

// Endpoint is a listener of a broker.
type Endpoint struct {
	Listener string
	Protocol string // PLAINTEXT, SSL ...
	Host     string
	Port     int32
}

// EncodeBroker writes format 4 or 5. No features are supported.
func EncodeBroker(format int32, r BrokerInfo) []byte {
	b := appendString(append(header(format), `,"host":`...), r.Host)
	b = appendInt(b, `,"port":`, int64(r.Port))
	b = append(b, `,"endpoints":[`...)
	for i, e := range r.Endpoints {
		b = appendString(comma(b, i), fmt.Sprintf("%s://%s:%d", e.Listener, e.Host, e.Port))
	}
	b = append(b, `],"listener_security_protocol_map":{`...)
	for i, e := range r.Endpoints {
		b = appendString(comma(b, i), e.Listener)
		b = appendString(append(b, ':'), e.Protocol)
	}
	b = appendInt(append(b, '}'), `,"jmx_port":`, int64(r.JmxPort))
	b = append(appendInt(b, `,"timestamp":"`, int64(r.Timestamp)), '"')
	if r.Rack != "" {
		b = appendString(append(b, `,"rack":`...), r.Rack)
	}
	if format >= 5 {
		b = append(b, `,"features":{}`...)
	}
	return append(b, '}')
}

// DecodeBroker reads formats 2 to 5; features are passed over. Without a protocol
// map a listener's name is its protocol.
func DecodeBroker(data []byte) (BrokerInfo, error) {
	r := BrokerInfo{JmxPort: -1, Timestamp: kafka.NoTimestamp}
	var protocols []Endpoint
	s, seen := scanner{b: data}, 0
	for i := s.open('{'); s.more(&i, '}'); {
		switch string(s.key()) {
		case "version":
			s.brokerFormat()
		case "host":
			r.Host = s.string()
		case "port":
			r.Port = s.int32()
		case "endpoints":
			r.Endpoints, seen = s.endpoints(), seen|1
		case "listener_security_protocol_map":
			protocols = s.protocols()
		case "jmx_port":
			r.JmxPort, seen = s.int32(), seen|2
		case "timestamp":
			r.Timestamp = kafka.TimestampMs(s.quoted())
		case "rack":
			r.Rack = s.rack()
		default:
			s.skip()
		}
	}
	for i := range r.Endpoints {
		r.Endpoints[i].Protocol = s.protocolOf(protocols, r.Endpoints[i].Listener)
	}
	return r, s.finish("broker", seen == 3)
}

func (s *scanner) brokerFormat() {
	if v := s.int32(); v < 2 || v > 5 {
		s.fail()
	}
}

// rack may be null.
func (s *scanner) rack() string {
	if s.peek() == 'n' {
		s.word("null")
		return ""
	}
	return s.string()
}

func (s *scanner) endpoints() []Endpoint {
	var es []Endpoint
	for i := s.open('['); s.more(&i, ']'); {
		es = append(es, s.endpoint(s.string()))
	}
	return es
}

// endpoint reads LISTENER://host:port; the host may have colons.
func (s *scanner) endpoint(text string) (e Endpoint) {
	listener, rest, ok := strings.Cut(text, "://")
	colon := strings.LastIndexByte(rest, ':')
	if !ok || colon < 0 {
		s.fail()
		return e
	}
	port, ok := atoi(rest[colon+1:])
	if !ok {
		s.fail()
	}
	return Endpoint{Listener: listener, Host: rest[:colon], Port: port}
}

func (s *scanner) protocols() []Endpoint {
	es := []Endpoint{}
	for i := s.open('{'); s.more(&i, '}'); {
		e := Endpoint{Listener: string(s.key())}
		e.Protocol = s.string()
		es = append(es, e)
	}
	return es
}

// protocolOf fails on a listener that a given map does not name.
func (s *scanner) protocolOf(protocols []Endpoint, listener string) string {
	if protocols == nil {
		return listener
	}
	for _, e := range protocols {
		if e.Listener == listener {
			return e.Protocol
		}
	}
	s.fail()
	return ""
}
