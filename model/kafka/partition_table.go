package kafka

// PartitionTable finds things by partition faster than a map does: each lookup of a
// map hashes the topic's name. The zero value is empty.
type PartitionTable[T any] struct {
	topics []partitionRow[T]
	index  map[string]int // of topics, once there are more than few
}

type partitionRow[T any] struct {
	name  string
	parts []*T // by number; nil where there is none
}

// fewTopics is up to where comparing names one by one is faster than a map.
const fewTopics = 8

// Get is what was put for a partition, nil if nothing was.
func (t *PartitionTable[T]) Get(tp TopicPartition) *T {
	if r := t.row(tp.Topic); r != nil && uint(tp.Partition) < uint(len(r.parts)) {
		return r.parts[tp.Partition]
	}
	return nil
}

// Put enters x for a partition, whose number is not negative.
func (t *PartitionTable[T]) Put(tp TopicPartition, x *T) {
	r := t.row(tp.Topic)
	if r == nil {
		t.topics = append(t.topics, partitionRow[T]{name: tp.Topic})
		r = &t.topics[len(t.topics)-1]
		t.enter()
	}
	for len(r.parts) <= int(tp.Partition) {
		r.parts = append(r.parts, nil)
	}
	r.parts[tp.Partition] = x
}

func (t *PartitionTable[T]) row(topic string) *partitionRow[T] {
	if t.index != nil {
		if i, found := t.index[topic]; found {
			return &t.topics[i]
		}
		return nil
	}
	for i := range t.topics {
		if t.topics[i].name == topic {
			return &t.topics[i]
		}
	}
	return nil
}

// enter puts the newest topic into the index, if there is or must now be one.
func (t *PartitionTable[T]) enter() {
	n := len(t.topics)
	switch {
	case n <= fewTopics:
	case t.index == nil:
		t.index = make(map[string]int, 2*n)
		for i := range t.topics {
			t.index[t.topics[i].name] = i
		}
	default:
		t.index[t.topics[n-1].name] = n - 1
	}
}
