package group

import (
	"slices"

	"github.com/simkafka/simkafka/model/kafka"
)

// offsetTable holds the offsets of one group by topic and partition.
type offsetTable struct {
	list []*offsetEntry
	// open are the offsets of transactions that had no end in the log, in its order.
	open []openOffset
}

// offsetEntry is one partition's: what is published, and what was appended and is not
// replicated yet.
type offsetEntry struct {
	tp    kafka.TopicPartition
	value Offset
	// base is the offset in __consumer_offsets of the batch that value came with: the
	// larger one wins (RT-4).
	base           kafka.Offset
	known, pending bool
	staged         Offset // the last one appended, while pending
}

// openOffset is a commit in an open transaction.
type openOffset struct {
	producer int64
	tp       kafka.TopicPartition
	value    Offset
	base     kafka.Offset
}

func (t *offsetTable) find(tp kafka.TopicPartition) (int, bool) {
	return slices.BinarySearchFunc(t.list, tp, func(e *offsetEntry, tp kafka.TopicPartition) int { return e.tp.Compare(tp) })
}

// get is a partition's entry, nil if there is none.
func (t *offsetTable) get(tp kafka.TopicPartition) *offsetEntry {
	if i, found := t.find(tp); found {
		return t.list[i]
	}
	return nil
}

// take is a partition's entry, made if there is none.
func (t *offsetTable) take(tp kafka.TopicPartition) *offsetEntry {
	i, found := t.find(tp)
	if !found {
		t.list = slices.Insert(t.list, i, &offsetEntry{tp: tp})
	}
	return t.list[i]
}

// tidy drops an entry that holds nothing.
func (t *offsetTable) tidy(e *offsetEntry) {
	if e.known || e.pending {
		return
	}
	if i, found := t.find(e.tp); found {
		t.list = slices.Delete(t.list, i, i+1)
	}
}

// put publishes a value unless a newer one is there.
func (e *offsetEntry) put(o Offset, base kafka.Offset) bool {
	if e.known && e.base >= base {
		return false
	}
	e.value, e.base, e.known = o, base, true
	return true
}

// has: something keeps the group alive (RT-2, RT-3).
func (t *offsetTable) has() bool { return len(t.list) > 0 || len(t.open) > 0 }

// count is how many offsets are published.
func (t *offsetTable) count() (n int) {
	for _, e := range t.list {
		if e.known {
			n++
		}
	}
	return n
}

// unstable: a commit of the partition has no outcome yet.
func (t *offsetTable) unstable(tp kafka.TopicPartition) bool {
	if e := t.get(tp); e != nil && e.pending {
		return true
	}
	return slices.ContainsFunc(t.open, func(o openOffset) bool { return o.tp == tp })
}

// remove forgets a partition, also what is pending, and returns the value that was
// published.
func (t *offsetTable) remove(tp kafka.TopicPartition) (was Offset, known bool) {
	t.open = slices.DeleteFunc(t.open, func(o openOffset) bool { return o.tp == tp })
	i, found := t.find(tp)
	if !found {
		return was, false
	}
	was, known = t.list[i].value, t.list[i].known
	t.list = slices.Delete(t.list, i, i+1)
	return was, known
}

// removePublished forgets the value of a partition while the log is read.
func (t *offsetTable) removePublished(tp kafka.TopicPartition) {
	if e := t.get(tp); e != nil {
		e.known = false
		t.tidy(e)
	}
}
