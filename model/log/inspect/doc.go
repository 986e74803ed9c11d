// Package inspect looks at the directories that a broker leaves: Dump prints what the
// files hold, Verify says what is wrong in them and what a broker would do about it at
// its start, Recover tries that start and tells what it would change. Nothing is ever
// written.
//
// It stands where kafka.tools.DumpLogSegments stands, and knows the rules of LogManager,
// LogLoader, UnifiedLog, OffsetIndex, TimeIndex, TransactionIndex, ProducerStateManager
// and LeaderEpochFileCache. Dump and Verify have decoders of their own, so that a fault
// of model/log does not hide itself; Recover runs model/log's loader, on an overlay.
//
// # Memory
//
// Dump and Verify read files front to back through a window of 256 KiB, and hold a batch
// whole only if it is small or its records are asked for (maxWhole). Of a partition
// they remember its segments, epochs and producers; the latter are bounded
// (maxProducers). Findings are handed out as they are made, at most maxPerFile of a file.
//
// Recover needs what a start needs of one partition at a time: its indexes, one batch.
// Files that no broker writes so large are refused beforehand.
//
// # Left out
//
// Batches of magic 0 and 1 are named, not decoded. Whether sequences of a producer
// follow each other. The contents of .swap, .cleaned and .deleted files. Records inside
// KRaft snapshots. A directory that a broker is writing to meanwhile shows what was
// there when each file was opened; its tail may look torn.
package inspect
