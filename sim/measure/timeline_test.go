package measure

import (
	"testing"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/outcome"
)

// The replicas of a new topic's partitions are part of its creation; a partition that is
// added later is a fact of the timeline.
func TestTimelineHasPartitionsThatAreAdded(t *testing.T) {
	added := kafka.TopicPartition{Topic: "orders", Partition: 1}
	c := New(Config{Start: 2 * s, End: 30 * s})
	for _, e := range []event.Event{
		{Time: s, Kind: event.TopicCreated, TP: tp, Count: 1},
		{Time: s, Kind: event.AssignmentChanged, TP: tp, Replicas: []kafka.NodeID{1}},
		{Time: 9 * s, Kind: event.AssignmentChanged, TP: added, Replicas: []kafka.NodeID{1}},
		{Time: 12 * s, Kind: event.TopicDeletionAsked, TP: tp},
		{Time: 13 * s, Kind: event.TopicDeleted, TP: tp},
		{Time: 14 * s, Kind: event.TopicCreated, TP: tp, Count: 1},
		{Time: 14 * s, Kind: event.AssignmentChanged, TP: tp, Replicas: []kafka.NodeID{1}},
	} {
		c.Observe(&e)
	}
	r := new(outcome.Result)
	c.Fill(r)
	var got []kafka.Nanos
	for _, e := range r.Timeline {
		if got = append(got, e.Time); e.Kind == event.AssignmentChanged && e.TP != added {
			t.Errorf("%s", e.TP)
		}
	}
	if len(got) != 5 || got[1] != 9*s {
		t.Errorf("facts at %v", got)
	}
}
