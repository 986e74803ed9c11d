package zookeeper

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/simkafka/simkafka/model/config"
	"github.com/simkafka/simkafka/model/kafka"
)

// Formats are the versions of the JSON that a cluster of some protocol version
// writes. Decoders read all of them.
type Formats struct {
	Controller int32 // 1; 2 since 3.4
	Broker     int32 // 4; 5 since 2.7
	Topic      int32 // 1; 2 since 2.4; 3 since 2.8
}

// FormatsOf derives the formats from the nearest flags of a profile: none marks
// exactly the version in which a format changed.
func FormatsOf(p *config.Profile) Formats {
	f := Formats{Controller: 1, Broker: 4, Topic: 1}
	if p.Fencing320 {
		f.Topic = 2
	}
	if p.AlterPartition {
		f.Broker, f.Topic = 5, 3
	}
	if p.AutoRebalanceIgnoresReassignment {
		f.Controller = 2
	}
	return f
}

// Controller is the content of /controller.
type Controller struct {
	Broker    kafka.NodeID
	Timestamp kafka.TimestampMs
}

// EncodeController writes format 1 or 2.
func EncodeController(format int32, c Controller) []byte {
	b := header(format)
	b = appendInt(b, `,"brokerid":`, int64(c.Broker))
	b = appendInt(b, `,"timestamp":"`, int64(c.Timestamp))
	b = append(b, '"')
	if format >= 2 {
		b = append(b, `,"kraftControllerEpoch":-1`...)
	}
	return append(b, '}')
}

// DecodeController reads any format.
func DecodeController(data []byte) (Controller, error) {
	c := Controller{Broker: kafka.NoNode, Timestamp: kafka.NoTimestamp}
	s, seen := scanner{b: data}, false
	for i := s.open('{'); s.more(&i, '}'); {
		switch string(s.key()) {
		case "brokerid":
			c.Broker, seen = kafka.NodeID(s.int32()), true
		case "timestamp":
			c.Timestamp = kafka.TimestampMs(s.quoted())
		default:
			s.skip()
		}
	}
	return c, s.finish("controller", seen)
}

// EncodeControllerEpoch writes /controller_epoch: plain decimal text.
func EncodeControllerEpoch(e kafka.ControllerEpoch) []byte {
	return strconv.AppendInt(nil, int64(e), 10)
}

// DecodeControllerEpoch reads /controller_epoch.
func DecodeControllerEpoch(data []byte) (kafka.ControllerEpoch, error) {
	e, err := strconv.ParseInt(string(data), 10, 32)
	if err != nil {
		return 0, fmt.Errorf("controller epoch: %w", err)
	}
	return kafka.ControllerEpoch(e), nil
}

// PartitionState is the content of a partition's state znode.
type PartitionState struct {
	Leader          kafka.NodeID
	LeaderEpoch     kafka.LeaderEpoch
	ControllerEpoch kafka.ControllerEpoch
	ISR             []kafka.NodeID
	// Recovering: the leader was elected uncleanly and has not recovered (KIP-704).
	Recovering bool
}

// Equal compares content; the ISR as an ordered list.
func (p PartitionState) Equal(q PartitionState) bool {
	return p.Leader == q.Leader && p.LeaderEpoch == q.LeaderEpoch && p.ControllerEpoch == q.ControllerEpoch &&
		p.Recovering == q.Recovering && slices.Equal(p.ISR, q.ISR)
}

// EncodePartitionState writes the state znode.
func EncodePartitionState(p PartitionState) []byte {
	b := make([]byte, 0, 96)
	b = appendInt(b, `{"controller_epoch":`, int64(p.ControllerEpoch))
	b = appendInt(b, `,"leader":`, int64(p.Leader))
	b = appendInt(b, `,"version":1,"leader_epoch":`, int64(p.LeaderEpoch))
	b = appendNodes(append(b, `,"isr":`...), p.ISR)
	if p.Recovering {
		b = append(b, `,"leader_recovery_state":1`...)
	}
	return append(b, '}')
}

// DecodePartitionState reads the state znode.
func DecodePartitionState(data []byte) (PartitionState, error) {
	var p PartitionState
	s, seen := scanner{b: data}, 0
	for i := s.open('{'); s.more(&i, '}'); {
		switch string(s.key()) {
		case "leader":
			p.Leader, seen = kafka.NodeID(s.int32()), seen|1
		case "leader_epoch":
			p.LeaderEpoch, seen = kafka.LeaderEpoch(s.int32()), seen|2
		case "controller_epoch":
			p.ControllerEpoch, seen = kafka.ControllerEpoch(s.int32()), seen|4
		case "isr":
			p.ISR, seen = s.nodes(), seen|8
		case "leader_recovery_state":
			p.Recovering = s.recovery()
		default:
			s.skip()
		}
	}
	return p, s.finish("partition state", seen == 15)
}

// recovery reads 0 (RECOVERED) or 1 (RECOVERING).
func (s *scanner) recovery() bool {
	n := s.int32()
	if n < 0 || n > 1 {
		s.fail()
	}
	return n == 1
}

// EncodePartitions writes an ISR change notification or a preferred election
// request, which have the same form.
func EncodePartitions(tps []kafka.TopicPartition) []byte {
	b := append(header(1), `,"partitions":[`...)
	for i, tp := range tps {
		b = appendPartition(comma(b, i), tp)
		b = append(b, '}')
	}
	return append(b, "]}"...)
}

// DecodePartitions reads what EncodePartitions writes, in its order.
func DecodePartitions(data []byte) ([]kafka.TopicPartition, error) {
	rs, err := decodePartitions(data, "partitions", false)
	var tps []kafka.TopicPartition
	for _, r := range rs {
		tps = append(tps, r.TP)
	}
	return tps, err
}

// Reassignment is a wish of the old reassignment tool.
type Reassignment struct {
	TP       kafka.TopicPartition
	Replicas []kafka.NodeID
}

// EncodeReassignments writes /admin/reassign_partitions.
func EncodeReassignments(rs []Reassignment) []byte {
	b := append(header(1), `,"partitions":[`...)
	for i, r := range rs {
		b = appendPartition(comma(b, i), r.TP)
		b = appendNodes(append(b, `,"replicas":`...), r.Replicas)
		b = append(b, '}')
	}
	return append(b, "]}"...)
}

// DecodeReassignments reads /admin/reassign_partitions.
func DecodeReassignments(data []byte) ([]Reassignment, error) {
	return decodePartitions(data, "reassignment", true)
}

func decodePartitions(data []byte, what string, replicas bool) (rs []Reassignment, err error) {
	s, seen := scanner{b: data}, false
	for i := s.open('{'); s.more(&i, '}'); {
		if string(s.key()) != "partitions" {
			s.skip()
			continue
		}
		seen, rs = true, nil
		for j := s.open('['); s.more(&j, ']'); {
			rs = append(rs, s.reassignment(replicas))
		}
	}
	return rs, s.finish(what, seen)
}

func (s *scanner) reassignment(replicas bool) (r Reassignment) {
	seen := 0
	for i := s.open('{'); s.more(&i, '}'); {
		switch string(s.key()) {
		case "topic":
			r.TP.Topic, seen = s.string(), seen|1
		case "partition":
			r.TP.Partition, seen = s.int32(), seen|2
		case "replicas":
			r.Replicas, seen = s.nodes(), seen|4
		default:
			s.skip()
		}
	}
	if seen&3 != 3 || replicas && seen != 7 {
		s.fail()
	}
	return r
}

// finish is the error of a decoder: the text is malformed, or a key that must be
// there is not.
func (s *scanner) finish(what string, complete bool) error {
	if err := s.end(); err != nil {
		return fmt.Errorf("%s znode: %w", what, err)
	}
	if !complete {
		return fmt.Errorf("%s znode: %w: a key is missing", what, errJSON)
	}
	return nil
}

func header(version int32) []byte {
	return appendInt(make([]byte, 0, 128), `{"version":`, int64(version))
}

func comma(b []byte, i int) []byte {
	if i > 0 {
		return append(b, ',')
	}
	return b
}

func appendPartition(b []byte, tp kafka.TopicPartition) []byte {
	b = appendString(append(b, `{"topic":`...), tp.Topic)
	return appendInt(b, `,"partition":`, int64(tp.Partition))
}

func appendInt(b []byte, before string, n int64) []byte {
	return strconv.AppendInt(append(b, before...), n, 10)
}

func appendNodes(b []byte, ids []kafka.NodeID) []byte {
	b = append(b, '[')
	for i, id := range ids {
		b = strconv.AppendInt(comma(b, i), int64(id), 10)
	}
	return append(b, ']')
}

// appendString quotes s, escaping what JSON demands and nothing else.
func appendString(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < ' ':
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}
