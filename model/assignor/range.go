package assignor

import "github.com/simkafka/simkafka/model/kafka"

// rangeAssignor gives each subscriber of a topic consecutive partitions (groups 4.1).
type rangeAssignor struct{}

func (rangeAssignor) Name() string                                  { return "range" }
func (rangeAssignor) Cooperative() bool                             { return false }
func (rangeAssignor) UserData([]kafka.TopicPartition, int32) []byte { return nil }

// Assign is AR-1, or AR-2 when racks of members and replicas matter to some topic.
func (rangeAssignor) Assign(topics []Topic, members []Member) []Assignment {
	g := newGroup(topics, members)
	order := g.bySeniority()
	owner := nobody(g.partitions())
	subscribers := g.seniorSubscribers(order)
	if !g.assignRangesByRack(owner, order, subscribers) {
		for t, places := range subscribers {
			assignRange(owner[g.first[t]:g.first[t+1]], order, places)
		}
	}
	return g.assignments(owner)
}

// assignRange is AR-1 for one topic: q partitions for each subscriber, and one more
// for the first r of them.
func assignRange(owner, order, places []int32) {
	q, r := len(owner)/len(places), len(owner)%len(places)
	p := 0
	for i, place := range places {
		n := q
		if i < r {
			n++
		}
		for range n {
			owner[p] = order[place]
			p++
		}
	}
}
