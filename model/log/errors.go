package log

import (
	"errors"
	"fmt"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/vfs"
)

// CorruptError is a file whose content is not what it must be.
type CorruptError struct {
	File string
	Pos  int64 // byte position in a log or index, line number from 1 in a text file
	Err  error
}

// Error names file, position and reason.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("log: %s is corrupt at %d: %v", e.File, e.Pos, e.Err)
}

// Unwrap is the reason.
func (e *CorruptError) Unwrap() error { return e.Err }

// OffsetOutOfRangeError is a read or a log start outside of what the log holds.
type OffsetOutOfRangeError struct {
	Offset           kafka.Offset
	LogStart, LogEnd kafka.Offset // the log's range; LogEnd is exclusive
}

// Error names offset and range.
func (e *OffsetOutOfRangeError) Error() string {
	return fmt.Sprintf("log: offset %d is out of range %d to %d", e.Offset, e.LogStart, e.LogEnd)
}

// UnexpectedAppendOffsetError is a follower's append that begins before the log's
// end (UnexpectedAppendOffsetException). Nothing was appended.
type UnexpectedAppendOffsetError struct {
	First    kafka.Offset // base offset of the first batch
	Last     kafka.Offset // last offset of the append, inclusive
	LogEnd   kafka.Offset // exclusive
	LogStart kafka.Offset
}

// Error names the offsets.
func (e *UnexpectedAppendOffsetError) Error() string {
	return fmt.Sprintf("log: append of offsets %d to %d to a log that ends at %d", e.First, e.Last, e.LogEnd)
}

// RecordBatchTooLargeError is a follower's append above segment.bytes, under
// Config.LimitFollowerAppend. Nothing was appended.
type RecordBatchTooLargeError struct {
	Size         int
	SegmentBytes int32
}

// Error names the sizes.
func (e *RecordBatchTooLargeError) Error() string {
	return fmt.Sprintf("log: append of %d bytes does not fit segments of %d", e.Size, e.SegmentBytes)
}

// DirError is a failure that takes a data directory offline, with all partitions in
// it (LogDirFailureChannel): one of the file system, or a file whose content is
// impossible.
type DirError struct {
	Dir string
	Err error
}

// Error is that of the failure, which names the file.
func (e *DirError) Error() string { return e.Err.Error() }

// Unwrap is the failure.
func (e *DirError) Unwrap() error { return e.Err }

// dirError adds the directory, unless err has one or the process has died.
func dirError(dir string, err error) error {
	known := (*DirError)(nil)
	if err == nil || errors.Is(err, vfs.ErrCrashed) || errors.As(err, &known) {
		return err
	}
	return &DirError{dir, err}
}

// ErrOffline is the answer of a log whose directory failed earlier.
var ErrOffline = errors.New("log: the log directory is offline")

// DuplicateError: two directories hold one partition, as when a directory failed while
// the partition was moved to another. The broker does not start before one is removed
// by hand.
type DuplicateError struct {
	TP     kafka.TopicPartition
	First  string
	Second string
}

// Error names both.
func (e *DuplicateError) Error() string {
	return fmt.Sprintf("log: %s has two directories, %s and %s", e.TP, e.First, e.Second)
}

// ErrDirsOffline: a partition that is not new has no log in the directories that are
// online, and may have one in a directory that is not.
var ErrDirsOffline = errors.New("log: the partition may be in a log directory that is offline")

// Reasons inside a CorruptError.
var (
	errInvalidOffset  = errors.New("index offsets do not increase")
	errIndexFull      = errors.New("the index is full")
	errOffsetOverflow = errors.New("an offset does not fit its segment")
	errShortFile      = errors.New("the file is shorter than its length")
	errBatchLength    = errors.New("the length of a batch is impossible")
	errTxnVersion     = errors.New("an aborted transaction has an unknown version")
	errNoLine         = errors.New("the file ends before this line")
	errNegative       = errors.New("negative number")
	errSnapshot       = errors.New("the snapshot is no producer snapshot, or its CRC differs")
)
