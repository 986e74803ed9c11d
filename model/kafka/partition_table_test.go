package kafka

import (
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

func TestPartitionTableIsAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var table PartitionTable[int]
		twin := make(map[TopicPartition]*int)
		topics := rapid.IntRange(1, 2*fewTopics).Draw(t, "topics")
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			tp := TopicPartition{Topic: "t" + strconv.Itoa(rapid.IntRange(0, topics).Draw(t, "topic")), Partition: rapid.Int32Range(-1, 5).Draw(t, "partition")}
			if tp.Partition >= 0 && rapid.Bool().Draw(t, "put") {
				x := new(int)
				table.Put(tp, x)
				twin[tp] = x
			}
			if got := table.Get(tp); got != twin[tp] {
				t.Fatalf("%v: %p, want %p", tp, got, twin[tp])
			}
		}
	})
}
