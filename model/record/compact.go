package record

import (
	"encoding/binary"

	"github.com/simkafka/simkafka/model/kafka"
)

// What compaction makes of a batch (MemoryRecords.filterTo, storage 9.3).

// ResetLike starts a batch that takes the place of b with some of b's records: it
// has b's header, codec (at its default level) and base offset, and b's delete
// horizon if that has one. The records are to be added with AppendAt; KeepLastOffset
// comes after the last of them.
func (bd *Builder) ResetLike(b Batch) {
	bd.Reset(BatchOptions{
		Codec:         b.Codec(),
		TimestampType: b.TimestampType(), LogAppendTime: b.MaxTimestamp(),
		BaseOffset: b.BaseOffset(), LeaderEpoch: b.PartitionLeaderEpoch(),
		ProducerID: b.ProducerID(), ProducerEpoch: b.ProducerEpoch(), BaseSequence: b.BaseSequence(),
		Transactional: b.IsTransactional(),
	})
	bd.control = b.IsControl()
	if horizon, found := b.DeleteHorizon(); found {
		bd.SetDeleteHorizon(horizon)
	}
}

// SetDeleteHorizon sets the time from which compaction may drop the batch's
// tombstones (KIP-534). It stands in the place of the base timestamp, so it is to
// be set before the first record.
func (bd *Builder) SetDeleteHorizon(horizon kafka.TimestampMs) {
	bd.horizon, bd.baseTimestamp = true, horizon
}

// KeepLastOffset sets the last offset of the batch, which must not be below that of
// the last record: it survives compaction, and with it the last sequence number.
func (bd *Builder) KeepLastOffset(last kafka.Offset) {
	if last < bd.lastOffset {
		bd.fail(errOffset)
		return
	}
	bd.lastOffset = last
}

// EmptyBatch is what is left of b when all its records are gone and its producer's
// last sequence, or its last offset, must stay known: a header of HeaderSize bytes
// without codec, delete horizon or base timestamp (writeEmptyHeader). It is in
// memory of its own.
func (b Batch) EmptyBatch() Batch {
	e := append(Batch(nil), b[:HeaderSize]...)
	kept := b.Attributes() & (timestampTypeBit | transactionalBit | controlBit)
	binary.BigEndian.PutUint16(e[attributesPos:], uint16(kept))
	noTimestamp := kafka.NoTimestamp
	binary.BigEndian.PutUint64(e[baseTimestampPos:], uint64(noTimestamp))
	binary.BigEndian.PutUint32(e[countPos:], 0)
	return e.finish()
}
