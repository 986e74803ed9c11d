package kernel

import (
	"encoding/binary"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/step"
)

// batchHeaderSize is the header of a record batch v2, whose CRC covers the rest.
const batchHeaderSize = 61

// measure is the wire size and the digest of a message. The hot messages are
// walked field by field, all others are encoded into the scratch buffer.
func (k *Kernel) measure(m step.Message) (size int, d digest) {
	if m == nil {
		return 0, 0
	}
	size, fast := step.FastWireSize(m)
	switch {
	case fast && k.cfg.NoFingerprint:
		return size, 0
	case fast:
		return size, hotDigest(m)
	}
	k.scratch = step.AppendBody(k.scratch[:0], m)
	d.bytes(k.scratch)
	d.fold(messageTag(m))
	return len(k.scratch) + step.HeaderSize(m), d
}

// messageTag tells messages of equal encodings apart.
func messageTag(m step.Message) uint64 {
	switch m := m.(type) {
	case kmsg.Request:
		return 1<<32 | uint64(uint16(m.Key()))<<16 | uint64(uint16(m.GetVersion()))
	case kmsg.Response:
		return 2<<32 | uint64(uint16(m.Key()))<<16 | uint64(uint16(m.GetVersion()))
	}
	return 3 << 32
}

// hotDigest covers every field that the fast size counts (those of any version:
// a field above the version is caught by the wire check, not here).
func hotDigest(m step.Message) (d digest) {
	switch m := m.(type) {
	case *kmsg.ProduceRequest:
		d.fold2(1<<32|uint64(uint16(m.Version)), uint64(uint32(m.TimeoutMillis))<<32|uint64(uint16(m.Acks)))
		d.optional(m.TransactionID)
		for i := range m.Topics {
			t := &m.Topics[i]
			d.topic(t.Topic, &t.TopicID, len(t.Partitions))
			for j := range t.Partitions {
				d.fold(uint64(uint32(t.Partitions[j].Partition)))
				d.batches(t.Partitions[j].Records)
			}
		}
	case *kmsg.ProduceResponse:
		d.fold2(2<<32|uint64(uint16(m.Version)), uint64(uint32(m.ThrottleMillis)))
		for i := range m.Topics {
			t := &m.Topics[i]
			d.topic(t.Topic, &t.TopicID, len(t.Partitions))
			for j := range t.Partitions {
				p := &t.Partitions[j]
				d.fold2(uint64(uint32(p.Partition))<<32|uint64(uint16(p.ErrorCode)), uint64(p.BaseOffset))
				d.fold2(uint64(p.LogAppendTime), uint64(p.LogStartOffset))
				d.pair(p.CurrentLeader.LeaderID, p.CurrentLeader.LeaderEpoch)
				d.optional(p.ErrorMessage)
			}
		}
	case *kmsg.FetchRequest:
		d.fetchRequest(m)
	case *kmsg.FetchResponse:
		d.fetchResponse(m)
	}
	return d
}

func (d *digest) fetchRequest(m *kmsg.FetchRequest) {
	d.fold2(3<<32|uint64(uint16(m.Version))<<8|uint64(uint8(m.IsolationLevel)), uint64(uint32(m.ReplicaID))<<32|uint64(uint32(m.MaxWaitMillis)))
	d.fold2(uint64(uint32(m.MinBytes))<<32|uint64(uint32(m.MaxBytes)), uint64(uint32(m.SessionID))<<32|uint64(uint32(m.SessionEpoch)))
	d.fold2(uint64(uint32(m.ReplicaState.ID)), uint64(m.ReplicaState.Epoch))
	d.string(m.Rack)
	for i := range m.Topics {
		t := &m.Topics[i]
		d.topic(t.Topic, &t.TopicID, len(t.Partitions))
		for j := range t.Partitions {
			p := &t.Partitions[j]
			d.fold2(uint64(uint32(p.Partition))<<32|uint64(uint32(p.CurrentLeaderEpoch)), uint64(p.FetchOffset))
			d.fold2(uint64(uint32(p.LastFetchedEpoch))<<32|uint64(uint32(p.PartitionMaxBytes)), uint64(p.LogStartOffset))
		}
	}
	for i := range m.ForgottenTopics {
		t := &m.ForgottenTopics[i]
		d.topic(t.Topic, &t.TopicID, len(t.Partitions))
		for _, p := range t.Partitions {
			d.fold(uint64(uint32(p)))
		}
	}
}

func (d *digest) fetchResponse(m *kmsg.FetchResponse) {
	d.fold2(4<<32|uint64(uint16(m.Version))<<16|uint64(uint16(m.ErrorCode)), uint64(uint32(m.SessionID))<<32|uint64(uint32(m.ThrottleMillis)))
	for i := range m.Topics {
		t := &m.Topics[i]
		d.topic(t.Topic, &t.TopicID, len(t.Partitions))
		for j := range t.Partitions {
			p := &t.Partitions[j]
			d.fold2(uint64(uint32(p.Partition))<<32|uint64(uint16(p.ErrorCode)), uint64(p.HighWatermark))
			d.fold2(uint64(p.LastStableOffset), uint64(p.LogStartOffset))
			if p.DivergingEpoch.Epoch != -1 || p.DivergingEpoch.EndOffset != -1 {
				d.fold2(5<<32|uint64(uint32(p.DivergingEpoch.Epoch)), uint64(p.DivergingEpoch.EndOffset))
			}
			if p.CurrentLeader.LeaderID != -1 || p.CurrentLeader.LeaderEpoch != -1 {
				d.pair(p.CurrentLeader.LeaderID, p.CurrentLeader.LeaderEpoch)
			}
			if p.SnapshotID.EndOffset != -1 || p.SnapshotID.Epoch != -1 {
				d.fold2(6<<32|uint64(uint32(p.SnapshotID.Epoch)), uint64(p.SnapshotID.EndOffset))
			}
			for _, a := range p.AbortedTransactions {
				d.fold2(uint64(a.ProducerID), uint64(a.FirstOffset))
			}
			d.fold(uint64(len(p.AbortedTransactions))<<32 | uint64(uint32(p.PreferredReadReplica)))
			d.batches(p.RecordBatches)
		}
	}
}

func (d *digest) topic(name string, id *[16]byte, partitions int) {
	d.string(name)
	if *id != [16]byte{} {
		d.fold2(le64(id[:]), le64(id[8:]))
	}
	d.fold(uint64(partitions))
}

func (d *digest) pair(a, b int32) { d.fold(uint64(uint32(a))<<32 | uint64(uint32(b))) }

func (d *digest) optional(s *string) {
	if s == nil {
		d.fold(1)
		return
	}
	d.string(*s)
}

// batches takes in the header of each batch: it holds the CRC of what follows it.
// What is no whole batch enters byte by byte.
func (d *digest) batches(b []byte) {
	d.fold(uint64(len(b)))
	for len(b) >= batchHeaderSize {
		size := 12 + int64(int32(binary.BigEndian.Uint32(b[8:])))
		if b[16] != 2 || size < batchHeaderSize || size > int64(len(b)) {
			break
		}
		for i := 0; i < 48; i += 16 {
			d.fold2(le64(b[i:]), le64(b[i+8:]))
		}
		d.fold2(le64(b[48:]), le64(b[53:])) // bytes 48 to 60
		b = b[size:]
	}
	if len(b) > 0 {
		d.bytes(b)
	}
}
