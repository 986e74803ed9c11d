package assignor

import (
	"slices"

	"github.com/simkafka/simkafka/model/kafka"
)

// roundRobin deals the partitions of all topics out in turn (groups 4.2).
type roundRobin struct{}

func (roundRobin) Name() string                                  { return "roundrobin" }
func (roundRobin) Cooperative() bool                             { return false }
func (roundRobin) UserData([]kafka.TopicPartition, int32) []byte { return nil }

// Assign is AB-1: a pointer goes round the members, passing those that do not
// subscribe to the partition's topic, and stays where it is between topics. It counts partitions
// and takes the first numbers for them, in all releases.
func (roundRobin) Assign(topics []Topic, members []Member) []Assignment {
	g := newGroup(topics, members)
	for t := range g.topics {
		g.topics[t].Numbers = nil // of the group's own copy
	}
	order := g.bySeniority()
	owner := nobody(g.partitions())
	next := int32(0) // a place in order
	for t, places := range g.seniorSubscribers(order) {
		at, _ := slices.BinarySearch(places, next)
		for p := g.first[t]; p < g.first[t+1]; p++ {
			if at == len(places) {
				at = 0
			}
			owner[p] = order[places[at]]
			at++
		}
		next = places[at-1] + 1
	}
	return g.assignments(owner)
}
