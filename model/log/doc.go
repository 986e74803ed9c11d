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
// The classes are those of 4.1.1; 3.9.1 does the same unless said.
//
//   - An I/O error during recovery comes back and takes the directory offline, as in 3.9.1;
//     4.1.1 empties the segment (LogLoader.recoverLog catches IOException, too).
//   - The epoch file is written at once after a truncation, not by a background thread
//     (LeaderEpochFileCache.truncateFromEndAsyncFlush).
//   - A clean close syncs the indexes, as Kafka does since 4.3 (AbstractIndex.close only trims),
//     and a clean load detects an index that was not cut.
//   - A flush that a truncation overtook does not move the recovery point
//     (UnifiedLog.flush syncs outside of the lock, LocalLog.markFlushed asks for no end).
//   - A segment without an offset index is recovered while the segments are loaded
//     (LogLoader.loadSegmentFiles); if Kafka then meets zeros in an unflushed segment in
//     front of it, which it reads for the producers (UnifiedLog.rebuildProducerState), it does
//     not start: here such a segment waits until those in front of it are recovered.
//   - An entry of the transaction index is written behind the whole entries, over a fragment
//     (TransactionIndex.openChannel goes to the end of the file).
//   - The cleaner checks the CRC of what it reads, so that a damaged batch ends the cleaning
//     and never gets a new checksum (Cleaner.cleanInto and MemoryRecords.filterTo ask no batch
//     whether it is valid). Keys are told apart by 128 bits of MurmurHash3, not by MD5
//     (SkimpyOffsetMap).
//   - A segment that was rolled when all of it was flushed gets its indexes synced with the
//     next flush (LocalLog.flush begins with the segment of the recovery point, which is the
//     one after it).
//   - A follower has no batch to skip for its epoch (UnifiedLog.hasHigherPartitionLeaderEpoch,
//     KAFKA-18723): what a leader has answered does not change while it is sent.
//
// # What it shares with Kafka
//
// What a crash may leave and the tests of all crash states let pass, with the place where
// Kafka leaves it, too:
//
//   - A start after a power loss does not look at the indexes of the segments before the
//     recovery point (LogSegment.sanityCheck, KAFKA-19200): if one was rolled when all of it
//     was flushed, zeros may stand at their ends, and lookups by time find a wrong record
//     there. Reads by offset find their way.
//   - A crash between the renames of a truncation leaves the later segments behind a hole
//     (LocalLog.deleteSegmentFiles renames in ascending order, one by one); a power loss between
//     a roll and its flush may leave one, too (UnifiedLog.roll schedules the flush, and
//     LogLoader.recoverLog drops later segments only where bytes were cut).
//   - Until the flush after a truncation a power loss may bring back what was cut, or leave
//     index entries behind the end of the segment (LogSegment.truncateTo syncs nothing, and the
//     segment may lie below the recovery point), and segments that were deleted may be there
//     again, behind what was appended since (LocalLog.truncateTo does not sync the directory).
//     The segments in front of them are whole.
//   - After a truncation that leaves an empty segment in a compacted log with nothing but
//     holes before it, a start finds the end at the segment's base (LogSegment.readNextOffset).
//   - A cleaning may drop a synced record for a newer one that is below the high watermark
//     and not synced here (LogCleanerManager.cleanableOffsets asks for the last stable offset
//     and the active segment).
//   - On a disk that does not keep the order of renames, a power loss while a cleaned segment
//     is swapped in may lose it and those that it replaces (LocalLog.replaceSegments syncs the
//     directory after the last rename), and a deleted segment that comes back may lack its
//     time index, which is empty then (LogSegment.sanityCheck cuts a new one to nothing).
//   - If the epoch file tells of a raised log start and the checkpoint does not, the first
//     recovery drops an epoch that the second learns anew (LogLoader.load truncates the epochs
//     at the checkpointed start, UnifiedLog.maybeIncrementLogStartOffset writes no checkpoint).
package log
