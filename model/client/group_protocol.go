package client

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/assignor"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/quirk"
)

// Versions of the consumer protocol's subscription and what they add (groups 1.3).
const (
	subscriptionOwnedFrom      = 1 // KIP-429
	subscriptionGenerationFrom = 2 // KIP-792
	subscriptionNewest         = 3 // KIP-881
)

// subscriptionVersion is that of the client's release. Releases with JoinGroup 7 have
// KIP-429, those with 9 the rest.
func (g *GroupConsumer) subscriptionVersion() int16 {
	switch v := g.cfg.Profile.Versions.JoinGroup; {
	case v >= 9:
		return subscriptionNewest
	case v >= 7:
		return subscriptionOwnedFrom
	}
	return 0
}

// subscription is a protocol's metadata in JoinGroup: topics and owned partitions are
// sorted, so that equal subscriptions are equal bytes (KAFKA-12898).
func (g *GroupConsumer) subscription(protocol string) []byte {
	var s kmsg.ConsumerMemberMetadata
	s.Version, s.Generation = g.subscriptionVersion(), noMember.generation
	s.Topics = slices.Clone(g.group.Topics)
	slices.Sort(s.Topics)
	if a, ok := assignor.ByName(protocol); ok {
		s.UserData = a.UserData(g.member.last, g.member.lastGeneration)
	}
	if s.Version >= subscriptionOwnedFrom {
		owned := g.Owned()
		slices.SortFunc(owned, kafka.TopicPartition.Compare)
		for _, tp := range owned {
			if n := len(s.OwnedPartitions); n == 0 || s.OwnedPartitions[n-1].Topic != tp.Topic {
				s.OwnedPartitions = append(s.OwnedPartitions, kmsg.ConsumerMemberMetadataOwnedPartition{Topic: tp.Topic})
			}
			t := &s.OwnedPartitions[len(s.OwnedPartitions)-1]
			t.Partitions = append(t.Partitions, tp.Partition)
		}
	}
	if s.Version >= subscriptionGenerationFrom && !g.cfg.Profile.Quirks.Has(quirk.NoGenerationClaimed) {
		s.Generation = g.member.generation
	}
	return s.AppendTo(nil)
}

// decodeMembers reads the subscriptions that the leader of a generation gets.
func decodeMembers(members []kmsg.JoinGroupResponseMember) ([]assignor.Member, error) {
	out := make([]assignor.Member, len(members))
	for i := range members {
		var s kmsg.ConsumerMemberMetadata
		s.Generation = assignor.NoGeneration
		if err := s.ReadFrom(members[i].ProtocolMetadata); err != nil {
			return nil, err
		}
		m := &out[i]
		m.ID, m.Topics, m.UserData, m.Generation = members[i].MemberID, s.Topics, s.UserData, s.Generation
		if members[i].InstanceID != nil {
			m.InstanceID = *members[i].InstanceID
		}
		if s.Version < subscriptionGenerationFrom {
			m.Generation = assignor.NoGeneration
		}
		if s.Rack != nil {
			m.Rack = *s.Rack
		}
		for _, t := range s.OwnedPartitions {
			for _, p := range t.Partitions {
				m.Owned = append(m.Owned, kafka.TopicPartition{Topic: t.Topic, Partition: p})
			}
		}
	}
	return out, nil
}

// encodeAssignment is a member's part in SyncGroup; partitions are sorted.
func (g *GroupConsumer) encodeAssignment(partitions []kafka.TopicPartition) []byte {
	a := kmsg.ConsumerMemberAssignment{Version: g.subscriptionVersion()}
	for _, tp := range partitions {
		if n := len(a.Topics); n == 0 || a.Topics[n-1].Topic != tp.Topic {
			a.Topics = append(a.Topics, kmsg.ConsumerMemberAssignmentTopic{Topic: tp.Topic})
		}
		t := &a.Topics[len(a.Topics)-1]
		t.Partitions = append(t.Partitions, tp.Partition)
	}
	return a.AppendTo(nil)
}
