package client

import (
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/quirk"
	"github.com/simkafka/simkafka/model/step"
)

// metadata is what a client knows of the cluster (clients.Metadata).
type metadata struct {
	brokers    []brokerInfo // as the last response listed them; none before it
	controller kafka.NodeID
	topics     []*topicInfo // those of interest, in order of interest
	// version counts the changes that readers of leaders must look at.
	version int
	quirks  quirk.Set
	// learned is set when the last response changed a leader, an epoch or a topic.
	learned bool
}

type brokerInfo struct {
	id   kafka.NodeID
	addr step.Addr
}

// topicInfo is one topic of interest.
type topicInfo struct {
	name string
	id   kafka.TopicID
	err  kafka.ErrorCode // of the last response
	// partitions are those that were ever known, by number; those that no response had
	// are between them.
	partitions []partitionInfo
	count      int // of those that are known: Cluster.partitionCountForTopic
}

// partitionInfo is what is known of a partition, or was: the epoch outlives a time in which it
// is not (Metadata.lastSeenLeaderEpochs), the leader does not.
type partitionInfo struct {
	leaderInfo
	known bool // MetadataSnapshot.metadataByPartition has it
	named bool // the response that is taken in has it; false between responses
}

// leaderInfo is the leader of a partition as last learned. The epoch never goes
// back while the topic keeps its id (P-8).
type leaderInfo struct {
	leader kafka.NodeID
	epoch  kafka.LeaderEpoch
}

// has reports whether a partition is known.
func (t *topicInfo) has(partition int32) bool {
	return int(partition) < len(t.partitions) && t.partitions[partition].known
}

// part is a partition's place, which is made if there is none.
func (t *topicInfo) part(partition int32) *partitionInfo {
	for int(partition) >= len(t.partitions) {
		t.partitions = append(t.partitions, partitionInfo{leaderInfo: leaderInfo{kafka.NoNode, kafka.NoLeaderEpoch}})
	}
	return &t.partitions[partition]
}

// vanish forgets the topic: the last response says that there is none.
func (t *topicInfo) vanish(out *step.Effects) {
	t.forget(out)
	t.id = kafka.TopicID{}
}

// forget forgets the partitions that the response does not name.
func (t *topicInfo) forget(out *step.Effects) {
	for i := range t.partitions {
		p := &t.partitions[i]
		if p.known && !p.named {
			p.known, p.leader = false, kafka.NoNode
			t.count--
			t.note(out, int32(i), leaderInfo{kafka.NoNode, kafka.NoLeaderEpoch}, true)
		}
		p.named = false
	}
}

// topic returns the topic of that name, adding it to those of interest.
func (m *metadata) topic(name string) *topicInfo {
	for _, t := range m.topics {
		if t.name == name {
			return t
		}
	}
	t := &topicInfo{name: name, err: kafka.UnknownTopicOrPartition}
	m.topics = append(m.topics, t)
	return t
}

// byID finds a topic by its id, nil if unknown.
func (m *metadata) byID(id kafka.TopicID) *topicInfo {
	for _, t := range m.topics {
		if t.id == id {
			return t
		}
	}
	return nil
}

// find returns a topic by its name, or by its id when the message has no names.
func (m *metadata) find(name string, id kafka.TopicID) *topicInfo {
	if name == "" {
		return m.byID(id)
	}
	for _, t := range m.topics {
		if t.name == name {
			return t
		}
	}
	return nil
}

// leaderOf is the leader of a partition if it is known and its address too, else
// NoNode.
func (m *metadata) leaderOf(t *topicInfo, partition int32) (kafka.NodeID, kafka.LeaderEpoch) {
	if int(partition) >= len(t.partitions) {
		return kafka.NoNode, kafka.NoLeaderEpoch
	}
	p := &t.partitions[partition]
	if _, ok := m.addr(p.leader); !ok {
		return kafka.NoNode, p.epoch
	}
	return p.leader, p.epoch
}

// addr is a broker's address.
func (m *metadata) addr(id kafka.NodeID) (step.Addr, bool) {
	for i := range m.brokers {
		if m.brokers[i].id == id {
			return m.brokers[i].addr, true
		}
	}
	return step.Addr{}, false
}

// update takes a response in. It reports whether another update is needed at
// once, because a topic or partition has an error that newer metadata may cure.
func (m *metadata) update(out *step.Effects, r *kmsg.MetadataResponse) (again bool) {
	m.learned = false
	m.controller = kafka.NodeID(r.ControllerID)
	m.setBrokers(r.Brokers)
	for i := range r.Topics {
		rt := &r.Topics[i]
		if rt.Topic == nil {
			continue
		}
		t := m.find(*rt.Topic, kafka.TopicID{})
		if t == nil {
			continue
		}
		t.err = kafka.ErrorCode(rt.ErrorCode)
		if t.err != kafka.None {
			t.vanish(out)
			again = again || t.err.RefreshesMetadata()
			continue
		}
		again = m.updateTopic(out, t, rt) || again
	}
	m.version++
	return again
}

func (m *metadata) setBrokers(brokers []kmsg.MetadataResponseBroker) {
	m.brokers = m.brokers[:0]
	for i := range brokers {
		b := &brokers[i]
		m.brokers = append(m.brokers, brokerInfo{kafka.NodeID(b.NodeID), step.Addr{Host: strings.Clone(b.Host), Port: b.Port}})
	}
}

// updateTopic makes what is known of a topic of the partitions that a response names: Kafka's
// snapshot is made of nothing else (Metadata.handleMetadataResponse).
func (m *metadata) updateTopic(out *step.Effects, t *topicInfo, rt *kmsg.MetadataResponseTopic) (again bool) {
	recreated := m.recreated(t.id, rt.TopicID)
	t.id = rt.TopicID
	for i := range rt.Partitions {
		t.part(rt.Partitions[i].Partition).named = true
	}
	t.forget(out)
	for i := range rt.Partitions {
		p := &rt.Partitions[i]
		again = again || kafka.ErrorCode(p.ErrorCode).RefreshesMetadata()
		m.adopt(out, t, p.Partition, leaderInfo{kafka.NodeID(p.Leader), kafka.LeaderEpoch(p.LeaderEpoch)}, recreated)
	}
	return again
}

func (t *topicInfo) note(out *step.Effects, partition int32, l leaderInfo, gone bool) {
	out.Note(event.Event{Kind: event.MetadataSeen, TP: kafka.TopicPartition{Topic: t.name, Partition: partition}, Leader: l.leader, LeaderEpoch: l.epoch, Flag: gone})
}

// recreated reports whether a topic is another one than what was known under its name
// (KIP-516); known is zero if nothing was.
func (m *metadata) recreated(known, id kafka.TopicID) bool {
	if id.IsZero() || m.quirks.Has(quirk.EpochsOverIDs) {
		return false
	}
	return id != known && !(known.IsZero() && m.quirks.Has(quirk.IDLostUnknown))
}

// adopt replaces what is known of a partition's leader unless an epoch was seen that is newer: then
// it stays as it is, known or not. A version without epochs always wins
// (P-8, Metadata.updateLatestMetadata).
func (m *metadata) adopt(out *step.Effects, t *topicInfo, partition int32, l leaderInfo, recreated bool) {
	p := &t.partitions[partition]
	if l.epoch != kafka.NoLeaderEpoch && l.epoch < p.epoch && !recreated {
		return
	}
	if l.epoch != p.epoch || l.epoch == kafka.NoLeaderEpoch || recreated {
		m.learned = true
	}
	if l != p.leaderInfo || !p.known {
		t.note(out, partition, l, false)
	}
	if !p.known {
		p.known = true
		t.count++
	}
	p.leaderInfo = l
}

// hint takes a newer leader from an error response (KIP-951): used if its epoch
// is newer and the node's address is known.
func (m *metadata) hint(out *step.Effects, t *topicInfo, partition int32, l leaderInfo) {
	if l.leader < 0 || l.epoch < 0 || !t.has(partition) || l.epoch <= t.partitions[partition].epoch {
		return
	}
	if _, ok := m.addr(l.leader); !ok {
		return
	}
	m.adopt(out, t, partition, l, false)
	m.version++
}

// sight takes an epoch that is told without its leader, as with a committed offset: if it
// is newer than the last one seen, the leader is not known any more, and metadata of older
// epochs are not taken (Metadata.updateLastSeenEpochIfNewer). It reports whether it was newer.
func (m *metadata) sight(out *step.Effects, tp kafka.TopicPartition, epoch kafka.LeaderEpoch) bool {
	t := m.find(tp.Topic, kafka.TopicID{})
	if t == nil || int(tp.Partition) >= len(t.partitions) {
		return false
	}
	p := &t.partitions[tp.Partition]
	if p.epoch == kafka.NoLeaderEpoch || epoch <= p.epoch {
		return false
	}
	p.leaderInfo = leaderInfo{kafka.NoNode, epoch}
	if p.known {
		t.note(out, tp.Partition, p.leaderInfo, false)
	}
	return true
}

// learnNode takes the address of a node that such a response names.
func (m *metadata) learnNode(id kafka.NodeID, addr step.Addr) {
	for i := range m.brokers {
		if m.brokers[i].id == id {
			m.brokers[i].addr = addr
			return
		}
	}
	m.brokers = append(m.brokers, brokerInfo{id, addr})
}
