// Package log is the log of one partition on one broker, on model/vfs: segment
// files, their offset, time and transaction index, the producer state and its
// snapshots, the leader epoch cache, truncation, retention, compaction, recovery after an
// unclean stop, and the checkpoints; and Manager, which loads and keeps the
// partitions of a data directory. The bytes it leaves are those that a broker
// leaves.
//
// It mirrors Cleaner, LogToClean, CleanedTransactionMetadata, SkimpyOffsetMap, UnifiedLog, LocalLog, LogLoader, LogSegment, LogSegments,
// AbstractIndex, OffsetIndex, TimeIndex, TransactionIndex, ProducerStateManager,
// ProducerAppendInfo, ProducerStateEntry, VerificationStateEntry,
// LeaderEpochFileCache, CheckpointFile,
// OffsetCheckpointFile, PartitionMetadataFile, CleanShutdownFileHandler,
// PropertiesUtils and LogManager.
//
// # Files of a partition directory
//
//	<base>.log              batches, one after the other, nothing between
//	<base>.index            8 bytes an entry: i32 offset - base, i32 position in .log
//	<base>.timeindex        12 bytes an entry: i64 timestamp, i32 offset - base
//	<base>.txnindex         34 bytes an aborted transaction, with the first one
//	<offset>.snapshot       producer state before the record at offset
//	leader-epoch-checkpoint text: 0, count, then "epoch startOffset" lines
//	partition.metadata      "version: 0\ntopic_id: " and 22 characters
//
// base is the offset of the first record, in 20 digits. An index is extended
// with zeros to its greatest length when made and cut to its entries on roll
// and close; after a crash it has its greatest length and says nothing about
// its number of entries, so it is rebuilt from the log (storage trap 16).
//
// # Durability
//
// Appends are not synced. Everything below the recovery point is: it moves when
// a flush ends, never before (storage 2.4). A log that was not closed cleanly is
// read from the segment that holds the checkpointed recovery point on; the first
// batch that is torn or fails its CRC ends it.
//
// # Errors
//
// An error of the file system comes back wrapped in operation and file; except
// for vfs.ErrCrashed it means that the directory is offline, as in a broker, and
// the log refuses everything afterwards. What a client did wrong is a
// record.Verdict, not an error.
//
// # Left out
//
// Tiered storage. The stray-partition check of KRaft. The cleaner does not split
// segments whose offsets overflow; the loader does.
// The stricter checks of transactions v2 (KIP-890 part 2).
//
// # Where it differs from Kafka
//
// An I/O error during recovery comes back; Kafka empties the segment. The epoch
// file is written at once after a truncation, not by a background thread. A clean
// close syncs the indexes, as Kafka does since 4.3, and a clean load detects an
// index that was not cut. A flush that a truncation overtook does not move the
// recovery point. A segment without an offset index is recovered while the segments
// are loaded; if Kafka then meets zeros in an unflushed segment in front of it,
// which it reads for the producers, it does not start: here such a segment waits
// until those in front of it are recovered. An entry of the transaction index is
// written behind the whole entries, over a fragment. The cleaner checks the CRC of
// what it reads, so that a damaged batch ends the cleaning and never gets a new
// checksum. Keys are told apart by 128 bits of MurmurHash3, not by MD5. A segment that was
// rolled when all of it was flushed gets its indexes synced with the next flush.
//
// # What it shares with Kafka
//
// A start after a power loss does not look at the indexes of the segment before the
// recovery point: if it was rolled when all of it was flushed, zeros may stand at their
// ends, and lookups by time find a wrong record there (KAFKA-19200).
//
// A crash between the renames of a truncation, or a power loss between a roll and its
// flush, may leave a hole between two segments. Until the flush after a truncation a power
// loss may bring back what was cut, or leave index entries behind the end of the segment,
// and segments that were deleted may be there again, behind what was appended since:
// their renames are not synced. A cleaning may drop a synced record for a newer one that
// is below the high watermark and not synced here. On a disk that does not keep the order
// of renames, a power loss while a cleaned segment is swapped in may lose it and those
// that it replaces.
package log
