package invariant

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/assignor"
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

// subscription is what a member of a consumer group brought for the protocol that was
// voted for.
type subscription struct {
	read   bool
	topics []string // sorted
	owned  []kafka.TopicPartition
	// generation is that of owned, -1 = none; user is the assignor's own data.
	generation int32
	user       []byte
}

// readSubscription decodes one; it is not read if it is none.
func readSubscription(b []byte) (s subscription) {
	s.generation = assignor.NoGeneration
	if len(b) == 0 {
		return s
	}
	m := kmsg.ConsumerMemberMetadata{Generation: assignor.NoGeneration}
	if m.ReadFrom(b) != nil {
		return s
	}
	s.read, s.topics, s.user = true, slices.Compact(slices.Sorted(slices.Values(m.Topics))), m.UserData
	if m.Version >= 2 {
		s.generation = m.Generation
	}
	for _, t := range m.OwnedPartitions {
		for _, p := range t.Partitions {
			s.owned = append(s.owned, kafka.TopicPartition{Topic: t.Topic, Partition: p})
		}
	}
	return s
}

func (s *subscription) wants(topic string) bool {
	_, found := slices.BinarySearch(s.topics, topic)
	return found
}

// claims are the partitions that a member says to own, and of which generation, as the
// assignor of that name reads it (ST-2).
func (s *subscription) claims(protocol string) (list []kafka.TopicPartition, generation int32) {
	switch {
	case protocol == "sticky":
		var d kmsg.StickyMemberMetadata
		if len(s.user) == 0 || d.ReadFrom(s.user) != nil {
			return nil, assignor.NoGeneration
		}
		for _, t := range d.CurrentAssignment {
			for _, p := range t.Partitions {
				list = append(list, kafka.TopicPartition{Topic: t.Topic, Partition: p})
			}
		}
		return list, d.Generation
	case s.generation >= 0 || len(s.user) < 4:
		return s.owned, max(s.generation, assignor.NoGeneration)
	}
	return s.owned, max(int32(binary.BigEndian.Uint32(s.user)), assignor.NoGeneration)
}

// givenBy is the assignment of an event.
func givenBy(e *event.Event) given {
	x := given{generation: e.Generation, crc: e.CRC, size: e.Size}
	if e.Size == 0 {
		return x
	}
	var a kmsg.ConsumerMemberAssignment
	if a.ReadFrom(e.Batch) != nil {
		x.unread = true
		return x
	}
	for _, t := range a.Topics {
		for _, p := range t.Partitions {
			x.parts = append(x.parts, kafka.TopicPartition{Topic: t.Topic, Partition: p})
		}
	}
	return x
}

func splitWords(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}

// listed names partitions, a few of many.
func listed(parts []kafka.TopicPartition) string {
	var b strings.Builder
	for i, tp := range parts {
		switch {
		case i == 12:
			b.WriteString(" …")
			return b.String()
		case i > 0:
			b.WriteByte(' ')
		}
		b.WriteString(tp.String())
	}
	if b.Len() == 0 {
		return "nothing"
	}
	return b.String()
}
