package log

import (
	"slices"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/record"
)

// cleanedTxns tells, while batches are read in their order, which of them belong to
// an aborted transaction and which markers have nothing left to end
// (CleanedTransactionMetadata, storage 9.4).
type cleanedTxns struct {
	pending   []AbortedTxn              // that begin further on, by first offset
	aborted   map[int64]*abortedOngoing // of producers whose marker is still to come
	committed map[int64]bool            // producers with a batch of a transaction that was not aborted
	// kept has the aborted transactions of which batches were seen, with the markers
	// read since it was last emptied: the new segment's index needs them.
	kept []AbortedTxn
}

type abortedOngoing struct {
	AbortedTxn
	seen bool // a batch of it was read
}

// add enters transactions; those that are known already do no harm.
func (t *cleanedTxns) add(list []AbortedTxn) {
	for _, a := range list {
		i, _ := slices.BinarySearchFunc(t.pending, a.FirstOffset, func(p AbortedTxn, o kafka.Offset) int {
			return compareOffsets(p.FirstOffset, o)
		})
		t.pending = slices.Insert(t.pending, i, a)
	}
}

// reach makes those that begin at last or before it ongoing.
func (t *cleanedTxns) reach(last kafka.Offset) {
	n := 0
	for ; n < len(t.pending) && t.pending[n].FirstOffset <= last; n++ {
		a := t.pending[n]
		if t.aborted == nil {
			t.aborted = map[int64]*abortedOngoing{}
		}
		if t.aborted[a.ProducerID] == nil {
			t.aborted[a.ProducerID] = &abortedOngoing{AbortedTxn: a}
		}
	}
	t.pending = t.pending[n:]
}

// canDiscard follows a batch and reports whether it is data of an aborted
// transaction, a marker of a transaction of which no batch was read, or a control
// batch that is empty already. The error is an *record.InvalidRecordError.
func (t *cleanedTxns) canDiscard(b record.Batch) (bool, error) {
	t.reach(b.LastOffset())
	if b.IsControl() {
		return t.control(b)
	}
	if !b.IsTransactional() {
		return false, nil
	}
	id := b.ProducerID()
	if a := t.aborted[id]; a != nil {
		a.seen = true
		return true, nil
	}
	if t.committed == nil {
		t.committed = map[int64]bool{}
	}
	t.committed[id] = true
	return false, nil
}

func (t *cleanedTxns) control(b record.Batch) (bool, error) {
	if b.Count() == 0 {
		return true, nil
	}
	m, isMarker, err := b.ParseMarker()
	if err != nil || !isMarker {
		return false, err
	}
	if m.Commit {
		seen := t.committed[m.ProducerID]
		delete(t.committed, m.ProducerID)
		return !seen, nil
	}
	a := t.aborted[m.ProducerID]
	delete(t.aborted, m.ProducerID)
	if a == nil || !a.seen {
		return true, nil
	}
	t.kept = append(t.kept, a.AbortedTxn)
	return false, nil
}

// abortedBetween lists the aborted transactions that begin below upper, from the
// segment that holds from on (LocalLog.collectAbortedTransactions). As in Kafka those that
// end below the log start are not among them: what is left of their records, which
// nobody can read, passes for committed.
func (l *Log) abortedBetween(from, upper kafka.Offset) (list []AbortedTxn) {
	complete := false
	for i := max(0, l.floorIndex(from)); i < len(l.segments) && !complete; i++ {
		if x := l.segments[i].txns; x != nil {
			list, complete = x.collect(list, l.logStart, upper)
		}
	}
	return list
}
