package log

import (
	"slices"

	"github.com/simkafka/simkafka/model/kafka"
)

// Replica is a partition in a data directory.
type Replica struct {
	TP      kafka.TopicPartition
	TopicID kafka.TopicID // zero if the directory has no partition.metadata
	Log     *Log
}

// replicas are sorted by TP.
type replicas []Replica

func (r replicas) find(tp kafka.TopicPartition) (int, bool) {
	return slices.BinarySearchFunc(r, tp, func(r Replica, tp kafka.TopicPartition) int {
		return r.TP.Compare(tp)
	})
}

// get is the partition's log; nil if there is none.
func (r replicas) get(tp kafka.TopicPartition) *Log {
	if i, found := r.find(tp); found {
		return r[i].Log
	}
	return nil
}

// enter adds one; a second one of its partition is a DuplicateError.
func (r *replicas) enter(x Replica) (*Replica, error) {
	i, found := r.find(x.TP)
	if found {
		return nil, &DuplicateError{x.TP, (*r)[i].Log.dir, x.Log.dir}
	}
	*r = slices.Insert(*r, i, x)
	return &(*r)[i], nil
}
