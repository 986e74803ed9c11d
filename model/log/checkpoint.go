package log

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/vfs"
)

// The checkpoint files of a data directory (storage 5.2).
const (
	HighWatermarkCheckpoint  = "replication-offset-checkpoint"
	RecoveryPointCheckpoint  = "recovery-point-offset-checkpoint"
	LogStartOffsetCheckpoint = "log-start-offset-checkpoint"
	CleanerOffsetCheckpoint  = "cleaner-offset-checkpoint"
)

const (
	checkpointVersion   = 0
	checkpointHeadLines = 2
)

var errMalformedLine = errors.New("malformed line")

// OffsetEntry is a line of an offset checkpoint.
type OffsetEntry struct {
	TP     kafka.TopicPartition
	Offset kafka.Offset
}

// WriteOffsetCheckpoint replaces the checkpoint file name of the data directory
// dir, in the order of entries. When it returns the new content is durable.
func WriteOffsetCheckpoint(fs vfs.FS, dir, name string, entries []OffsetEntry) error {
	b := appendCheckpointHead(make([]byte, 0, 16+32*len(entries)), len(entries))
	for _, e := range entries {
		b = appendCheckpointLine(b, e.TP, e.Offset)
	}
	return replaceFile(fs, dir, name, b)
}

// ReadOffsetCheckpoint reads it, sorted by partition; of several lines for one
// partition the last counts. A missing file is made, empty. What cannot be parsed
// is a *CorruptError.
func ReadOffsetCheckpoint(fs vfs.FS, dir, name string) ([]OffsetEntry, error) {
	path := dir + "/" + name
	b, err := readOrCreate(fs, path)
	if err != nil {
		return nil, err
	}
	return parseOffsetCheckpoint(path, b)
}

func parseOffsetCheckpoint(path string, b []byte) ([]OffsetEntry, error) {
	lines, err := parseCheckpoint(path, b)
	if err != nil {
		return nil, err
	}
	entries := make([]OffsetEntry, 0, len(lines))
	for i, fields := range lines {
		e, err := parseOffsetEntry(fields)
		if err != nil {
			return nil, &CorruptError{File: path, Pos: int64(i) + checkpointHeadLines + 1, Err: err}
		}
		entries = append(entries, e)
	}
	slices.SortStableFunc(entries, func(a, b OffsetEntry) int { return a.TP.Compare(b.TP) })
	return keepLast(entries), nil
}

// keepLast drops all but the last of equal neighbours.
func keepLast(entries []OffsetEntry) []OffsetEntry {
	out := entries[:0]
	for _, e := range entries {
		if n := len(out); n > 0 && out[n-1].TP == e.TP {
			out[n-1] = e
			continue
		}
		out = append(out, e)
	}
	return out
}

func parseOffsetEntry(fields []string) (OffsetEntry, error) {
	if len(fields) != 3 {
		return OffsetEntry{}, errMalformedLine
	}
	partition, err := strconv.ParseInt(fields[1], 10, 32)
	if err != nil {
		return OffsetEntry{}, err
	}
	offset, err := strconv.ParseInt(fields[2], 10, 64)
	if err != nil {
		return OffsetEntry{}, err
	}
	tp := kafka.TopicPartition{Topic: strings.Clone(fields[0]), Partition: int32(partition)}
	return OffsetEntry{tp, kafka.Offset(offset)}, nil
}

// findOffset looks a partition up in sorted entries; 0 if it is not there.
func findOffset(entries []OffsetEntry, tp kafka.TopicPartition) kafka.Offset {
	o, _ := lookupOffset(entries, tp)
	return o
}

// lookupOffset is findOffset, and whether the partition is there.
func lookupOffset(entries []OffsetEntry, tp kafka.TopicPartition) (kafka.Offset, bool) {
	i, found := slices.BinarySearchFunc(entries, tp, func(e OffsetEntry, tp kafka.TopicPartition) int {
		return e.TP.Compare(tp)
	})
	if !found {
		return 0, false
	}
	return entries[i].Offset, true
}

func appendCheckpointHead(b []byte, entries int) []byte {
	b = strconv.AppendInt(b, checkpointVersion, 10)
	b = append(b, '\n')
	b = strconv.AppendInt(b, int64(entries), 10)
	return append(b, '\n')
}

func appendCheckpointLine(b []byte, tp kafka.TopicPartition, offset kafka.Offset) []byte {
	b = append(b, tp.Topic...)
	b = append(b, ' ')
	b = strconv.AppendInt(b, int64(tp.Partition), 10)
	b = append(b, ' ')
	b = strconv.AppendInt(b, int64(offset), 10)
	return append(b, '\n')
}

// parseCheckpoint splits the entries of a checkpoint's text into fields
// (CheckpointFile, storage 5.1). No text, or a version alone, has no entries.
func parseCheckpoint(path string, b []byte) ([][]string, error) {
	lines := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	if len(b) == 0 {
		return nil, nil
	}
	if version, err := strconv.ParseInt(lines[0], 10, 32); err != nil || version != checkpointVersion {
		return nil, &CorruptError{File: path, Pos: 1, Err: fmt.Errorf("version %q is not 0", lines[0])}
	}
	if len(lines) == 1 {
		return nil, nil
	}
	expected, err := strconv.ParseInt(lines[1], 10, 32)
	if err != nil {
		return nil, &CorruptError{File: path, Pos: 2, Err: err}
	}
	lines = lines[checkpointHeadLines:]
	if int64(len(lines)) != expected {
		return nil, &CorruptError{File: path, Pos: 2, Err: fmt.Errorf("%d entries announced, %d found", expected, len(lines))}
	}
	entries := make([][]string, 0, len(lines))
	for _, line := range lines {
		entries = append(entries, strings.Fields(line))
	}
	return entries, nil
}
