package cluster

import (
	"testing"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
)

// To ask for a partition does not make one: a topic that is created again with fewer partitions
// than it had before has no more, although a consumer has a position in one that is gone.
func TestOnlyWhatIsToldMakesAPartition(t *testing.T) {
	var a authority
	tell := func(k event.Kind, partition int32, leader kafka.NodeID) {
		a.observe(&event.Event{Kind: k, TP: kafka.TopicPartition{Topic: "t", Partition: partition}, Leader: leader})
	}
	count := func(want int) {
		t.Helper()
		if leader := a.at(kafka.TopicPartition{Topic: "t", Partition: 1}).leader; len(a.order) != want || want < 2 && leader != kafka.NoNode {
			t.Errorf("%d partitions, the second one's leader is %d", len(a.order), leader)
		}
	}
	count(0)
	tell(event.TopicCreated, 0, 0)
	tell(event.PartitionChanged, 0, 1)
	tell(event.PartitionChanged, 1, 2)
	count(2)
	tell(event.TopicDeletionAsked, 0, 0)
	tell(event.TopicDeleted, 0, 0)
	tell(event.PartitionChanged, 1, 2) // it comes too late
	count(0)
	tell(event.TopicCreated, 0, 0)
	tell(event.PartitionChanged, 0, 1)
	count(1)
	count(1)
}
