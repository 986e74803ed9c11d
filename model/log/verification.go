package log

import (
	"cmp"
	"slices"

	"github.com/simkafka/simkafka/model/kafka"
)

// VerificationGuard names one verification of a transaction with its coordinator
// (KIP-890): an append that carries it proves that nothing has ended the
// transaction meanwhile. NoGuard proves nothing.
type VerificationGuard uint64

// NoGuard is VerificationGuard.SENTINEL.
const NoGuard VerificationGuard = 0

// verification is a verification in progress (VerificationStateEntry).
type verification struct {
	producer       int64
	guard          VerificationGuard
	began          kafka.TimestampMs
	lowestSequence int32 // seen in the epoch
	epoch          int16
}

func (t *producerTable) searchGuard(producer int64) (int, bool) {
	return slices.BinarySearchFunc(t.guards, producer, func(v verification, id int64) int { return cmp.Compare(v.producer, id) })
}

// verification is nil if the producer has none in progress.
func (t *producerTable) verification(producer int64) *verification {
	if i, found := t.searchGuard(producer); found {
		return &t.guards[i]
	}
	return nil
}

func (t *producerTable) clearVerification(producer int64) {
	if len(t.guards) == 0 {
		return
	}
	if i, found := t.searchGuard(producer); found {
		t.guards = slices.Delete(t.guards, i, i+1)
	}
}

// StartVerification begins, or goes on with, the verification that a transactional
// batch of the producer needs before it can be appended; the guard goes with the
// append. With a transaction open there is nothing to verify: NoGuard.
//
// The lowest sequence number seen is remembered, so that a later batch is not
// appended before an earlier one whose verification has failed.
func (l *Log) StartVerification(producerID int64, sequence int32, epoch int16, now kafka.TimestampMs) VerificationGuard {
	if l.HasOngoingTransaction(producerID) {
		return NoGuard
	}
	t := l.producers.ensure()
	i, found := t.searchGuard(producerID)
	if !found {
		t.lastGuard++
		t.guards = slices.Insert(t.guards, i, verification{
			producer: producerID, guard: t.lastGuard, began: now, lowestSequence: sequence, epoch: epoch,
		})
	}
	v := &t.guards[i]
	switch {
	case epoch == v.epoch && sequence < v.lowestSequence:
		v.lowestSequence = sequence
	case epoch > v.epoch:
		v.epoch, v.lowestSequence = epoch, sequence
	}
	return v.guard
}

// VerificationGuard is that of the producer's verification in progress.
func (l *Log) VerificationGuard(producerID int64) VerificationGuard {
	if l.producers.table == nil {
		return NoGuard
	}
	if v := l.producers.table.verification(producerID); v != nil {
		return v.guard
	}
	return NoGuard
}
