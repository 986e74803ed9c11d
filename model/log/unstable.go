package log

import (
	"slices"

	"github.com/simkafka/simkafka/model/kafka"
)

// Transactions that are undecided, or decided and not replicated (storage 4.3).

func searchTxn(list []txn, first kafka.Offset) (int, bool) {
	if n := len(list); n == 0 || list[n-1].first < first {
		return n, false
	}
	return slices.BinarySearchFunc(list, first, func(x txn, o kafka.Offset) int { return compareOffsets(x.first, o) })
}

// putTxn enters x by its first offset; one that is there already is replaced.
func putTxn(list []txn, x txn) []txn {
	i, found := searchTxn(list, x.first)
	if found {
		list[i] = x
		return list
	}
	return slices.Insert(list, i, x)
}

// lastStableAfter is the last stable offset that the transaction index records for
// c: the beginning of the oldest open transaction of another producer, else the
// offset after the marker (storage trap 28). c itself is still among the open.
func (t *producerTable) lastStableAfter(c *completedTxn) kafka.Offset {
	for i := range t.ongoing {
		if t.ongoing[i].producer != c.producer {
			return t.ongoing[i].first
		}
	}
	return c.last + 1
}

// complete moves an ended transaction to those that wait for the high watermark.
func (t *producerTable) complete(c *completedTxn) {
	if i, found := searchTxn(t.ongoing, c.first); found {
		t.ongoing = slices.Delete(t.ongoing, i, i+1)
	}
	t.unreplicated = putTxn(t.unreplicated, c.txn)
}

// dropReplicated forgets the completed transactions whose marker is below offset.
func (s *producerState) dropReplicated(offset kafka.Offset) {
	if t := s.table; t != nil && len(t.unreplicated) > 0 {
		t.unreplicated = slices.DeleteFunc(t.unreplicated, func(x txn) bool { return x.last < offset })
	}
}

// firstUnstable is where the oldest transaction begins that is open, or whose
// marker the high watermark has not passed; found is false without one.
func (s *producerState) firstUnstable() (first kafka.Offset, found bool) {
	t := s.table
	switch {
	case t == nil || len(t.ongoing)+len(t.unreplicated) == 0:
		return 0, false
	case len(t.ongoing) == 0:
		return t.unreplicated[0].first, true
	case len(t.unreplicated) == 0:
		return t.ongoing[0].first, true
	}
	return min(t.ongoing[0].first, t.unreplicated[0].first), true
}

// LastStableOffset is the exclusive end of what readers with isolation level
// read_committed see: the high watermark, or the beginning of the first transaction
// below it that is undecided or decided by a marker at or above it (cluster L-12,
// storage trap 27). Records below the log start are gone, so it is never below that.
func (l *Log) LastStableOffset() kafka.Offset {
	if first, found := l.producers.firstUnstable(); found {
		return min(max(first, l.logStart), l.hw)
	}
	return l.hw
}
