package step

import (
	"math"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Folder is what a message that is not Kafka's own implements (ZooKeeper's): a
// canonical, deterministic encoding of every field, appended to dst. It enters the
// fingerprint, and its length stands for the body's size on the wire.
type Folder interface {
	Fold(dst []byte) []byte
}

// Sizes of Kafka's framing: length, api key, version, correlation and a short
// client id before a request; length and correlation before a response.
const (
	requestHeaderSize  = 4 + 2 + 2 + 4 + 2 + 10
	responseHeaderSize = 4 + 4
)

type encoder interface{ AppendTo([]byte) []byte }

// AppendBody appends the wire form of a message's body at its version.
// It panics on a message that is neither kmsg's nor a Folder.
func AppendBody(dst []byte, m Message) []byte {
	switch m := m.(type) {
	case encoder:
		return m.AppendTo(dst)
	case Folder:
		return m.Fold(dst)
	}
	panic("step: a message must be a kmsg message or implement Folder")
}

// WireSize is the size of m on the wire in bytes, framing included. The body's
// part is exact; the client id is taken to have 10 bytes. Messages outside the
// hot path are encoded to learn it.
func WireSize(m Message) int {
	if n, ok := FastWireSize(m); ok {
		return n
	}
	return len(AppendBody(nil, m)) + HeaderSize(m)
}

// HeaderSize is the framing before the body of m, in bytes.
func HeaderSize(m Message) int {
	switch m := m.(type) {
	case *kmsg.FetchRequest:
		return requestHeaderSize + flexible(m.Version >= 12)
	case *kmsg.FetchResponse:
		return responseHeaderSize + flexible(m.Version >= 12)
	case *kmsg.ProduceRequest:
		return requestHeaderSize + flexible(m.Version >= 9)
	case *kmsg.ProduceResponse:
		return responseHeaderSize + flexible(m.Version >= 9)
	case kmsg.Request:
		return requestHeaderSize + flexible(m.IsFlexible())
	case kmsg.Response:
		return responseHeaderSize + flexible(m.IsFlexible() && m.Key() != int16(kmsg.ApiVersions))
	}
	return responseHeaderSize
}

// FastWireSize is WireSize of a produce or fetch message without encoding it. It says
// no to other messages, and to those that carry rare fields.
func FastWireSize(m Message) (size int, ok bool) {
	switch m := m.(type) {
	case *kmsg.ProduceRequest:
		size, ok = produceRequestSize(m)
		size += requestHeaderSize + flexible(m.Version >= 9)
	case *kmsg.ProduceResponse:
		size, ok = produceResponseSize(m)
		size += responseHeaderSize + flexible(m.Version >= 9)
	case *kmsg.FetchRequest:
		size, ok = fetchRequestSize(m)
		size += requestHeaderSize + flexible(m.Version >= 12)
	case *kmsg.FetchResponse:
		size, ok = fetchResponseSize(m)
		size += responseHeaderSize + flexible(m.Version >= 12)
	}
	return size, ok
}

func produceRequestSize(m *kmsg.ProduceRequest) (int, bool) {
	v, flex := m.Version, m.Version >= 9
	if m.UnknownTags.Len() > 0 {
		return 0, false
	}
	n := 2 + 4 + countSize(len(m.Topics), flex) + flexible(flex)
	if v >= 3 {
		n += nullableStringSize(m.TransactionID, flex)
	}
	for i := range m.Topics {
		t := &m.Topics[i]
		n += topicSize(t.Topic, v >= 13, flex) + countSize(len(t.Partitions), flex) + flexible(flex)
		for j := range t.Partitions {
			p := &t.Partitions[j]
			n += 4 + bytesSize(p.Records, flex) + flexible(flex)
			if p.UnknownTags.Len() > 0 {
				return 0, false
			}
		}
		if t.UnknownTags.Len() > 0 {
			return 0, false
		}
	}
	return n, true
}

func produceResponseSize(m *kmsg.ProduceResponse) (int, bool) {
	v, flex := m.Version, m.Version >= 9
	if m.UnknownTags.Len() > 0 || len(m.Brokers) > 0 {
		return 0, false
	}
	n := countSize(len(m.Topics), flex) + since(v, 1, 4) + flexible(flex)
	per := 4 + 2 + 8 + since(v, 2, 8) + since(v, 5, 8) + flexible(flex)
	for i := range m.Topics {
		t := &m.Topics[i]
		n += topicSize(t.Topic, v >= 13, flex) + countSize(len(t.Partitions), flex) + flexible(flex)
		for j := range t.Partitions {
			p := &t.Partitions[j]
			n += per
			if v >= 8 {
				n += countSize(0, flex) + nullableStringSize(p.ErrorMessage, flex)
			}
			if flex && (p.CurrentLeader.LeaderID != -1 || p.CurrentLeader.LeaderEpoch != -1) {
				n += 2 + 9
			}
			if len(p.ErrorRecords) > 0 || p.UnknownTags.Len() > 0 || p.CurrentLeader.UnknownTags.Len() > 0 {
				return 0, false
			}
		}
		if t.UnknownTags.Len() > 0 {
			return 0, false
		}
	}
	return n, true
}

func fetchRequestSize(m *kmsg.FetchRequest) (int, bool) {
	v, flex := m.Version, m.Version >= 12
	if m.UnknownTags.Len() > 0 || m.ReplicaState.UnknownTags.Len() > 0 || flex && m.ClusterID != nil {
		return 0, false
	}
	n := 4 + 4 + since(v, 3, 4) + since(v, 4, 1) + since(v, 7, 8) + countSize(len(m.Topics), flex) + flexible(flex)
	if v <= 14 {
		n += 4
	}
	if flex && (m.ReplicaState.ID != -1 || m.ReplicaState.Epoch != -1) {
		n += 2 + 4 + 8 + 1
	}
	per := 4 + 8 + 4 + since(v, 9, 4) + since(v, 12, 4) + since(v, 5, 8) + flexible(flex)
	for i := range m.Topics {
		t := &m.Topics[i]
		n += topicSize(t.Topic, v >= 13, flex) + countSize(len(t.Partitions), flex) + flexible(flex) + per*len(t.Partitions)
		if t.UnknownTags.Len() > 0 || hasRareFields(t.Partitions, flex) {
			return 0, false
		}
	}
	if v >= 7 {
		n += countSize(len(m.ForgottenTopics), flex)
		for i := range m.ForgottenTopics {
			t := &m.ForgottenTopics[i]
			n += topicSize(t.Topic, v >= 13, flex) + countSize(len(t.Partitions), flex) + 4*len(t.Partitions) + flexible(flex)
			if t.UnknownTags.Len() > 0 {
				return 0, false
			}
		}
	}
	if v >= 11 {
		n += stringSize(m.Rack, flex)
	}
	return n, true
}

// hasRareFields: some partition carries a field that the sizes here do not count.
func hasRareFields(parts []kmsg.FetchRequestTopicPartition, flex bool) bool {
	for j := range parts {
		p := &parts[j]
		if p.UnknownTags.Len() > 0 || flex && (p.HighWatermark != math.MaxInt64 || p.ReplicaDirectoryID != [16]byte{}) {
			return true
		}
	}
	return false
}

func fetchResponseSize(m *kmsg.FetchResponse) (int, bool) {
	v, flex := m.Version, m.Version >= 12
	if m.UnknownTags.Len() > 0 || len(m.Brokers) > 0 {
		return 0, false
	}
	n := since(v, 1, 4) + since(v, 7, 6) + countSize(len(m.Topics), flex) + flexible(flex)
	per := 4 + 2 + 8 + since(v, 4, 8+countSize(0, flex)) + since(v, 5, 8) + since(v, 11, 4) + flexible(flex) + bytesSize(nil, flex)
	for i := range m.Topics {
		t := &m.Topics[i]
		n += topicSize(t.Topic, v >= 13, flex) + countSize(len(t.Partitions), flex) + flexible(flex) + per*len(t.Partitions)
		if t.UnknownTags.Len() > 0 {
			return 0, false
		}
		for j := range t.Partitions {
			p := &t.Partitions[j]
			if p.RecordBatches != nil {
				n += bytesSize(p.RecordBatches, flex) - bytesSize(nil, flex)
			}
			if p.UnknownTags.Len() > 0 {
				return 0, false
			}
			if !isPlain(p) {
				n += rareSize(p, v, flex)
			}
		}
	}
	return n, true
}

// isPlain: none of the fields that rareSize counts is there.
func isPlain(p *kmsg.FetchResponseTopicPartition) bool {
	return p.DivergingEpoch.EndOffset&p.SnapshotID.EndOffset == -1 && p.AbortedTransactions == nil &&
		p.DivergingEpoch.Epoch&p.SnapshotID.Epoch&p.CurrentLeader.LeaderID&p.CurrentLeader.LeaderEpoch == -1
}

// rareSize is what the fields that are mostly not there add.
func rareSize(p *kmsg.FetchResponseTopicPartition, v int16, flex bool) (n int) {
	if v >= 4 {
		n += abortedSize(p.AbortedTransactions, flex) - countSize(0, flex)
	}
	if !flex {
		return n
	}
	if p.DivergingEpoch.Epoch != -1 || p.DivergingEpoch.EndOffset != -1 {
		n += 2 + 13
	}
	if p.CurrentLeader.LeaderID != -1 || p.CurrentLeader.LeaderEpoch != -1 {
		n += 2 + 9
	}
	if p.SnapshotID.EndOffset != -1 || p.SnapshotID.Epoch != -1 {
		n += 2 + 13
	}
	return n
}

func abortedSize(a []kmsg.FetchResponseTopicPartitionAbortedTransaction, flex bool) int {
	return countSize(len(a), flex) + len(a)*(16+flexible(flex))
}

// since is n for fields that exist from version from on.
func since(version, from int16, n int) int {
	if version >= from {
		return n
	}
	return 0
}

// flexible is the size of an empty tagged-field section.
func flexible(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

func topicSize(name string, byID, flex bool) int {
	if byID {
		return 16
	}
	return stringSize(name, flex)
}

func stringSize(s string, flex bool) int {
	if flex {
		return varintSize(len(s)+1) + len(s)
	}
	return 2 + len(s)
}

func nullableStringSize(s *string, flex bool) int {
	if s == nil {
		return stringSize("", flex)
	}
	return stringSize(*s, flex)
}

func bytesSize(b []byte, flex bool) int {
	if !flex {
		return 4 + len(b)
	}
	if b == nil {
		return 1
	}
	return varintSize(len(b)+1) + len(b)
}

func countSize(n int, flex bool) int {
	if flex {
		return varintSize(n + 1)
	}
	return 4
}

func varintSize(n int) int {
	size := 1
	for n >= 0x80 {
		n >>= 7
		size++
	}
	return size
}
