package log

import (
	"strconv"
	"strings"

	"github.com/simkafka/simkafka/model/kafka"
)

// Suffixes of the files of a segment (storage 0).
const (
	logSuffix       = ".log"
	indexSuffix     = ".index"
	timeIndexSuffix = ".timeindex"
	txnIndexSuffix  = ".txnindex"
	snapshotSuffix  = ".snapshot"

	deletedSuffix = ".deleted"
	cleanedSuffix = ".cleaned"
	swapSuffix    = ".swap"
	tmpSuffix     = ".tmp"

	// A snapshot of the KRaft metadata log that is marked for deletion is not the
	// loader's to delete.
	raftDeletedSuffix = ".checkpoint.deleted"
)

// segmentSuffixes are the files that belong to one base offset.
var segmentSuffixes = [...]string{logSuffix, indexSuffix, timeIndexSuffix, txnIndexSuffix}

const offsetDigits = 20

// fileName is base in 20 digits and suffix (LogFileUtils.filenamePrefixFromOffset).
func fileName(base kafka.Offset, suffix string) string {
	return string(appendFileName(nil, base, suffix))
}

func appendFileName(dst []byte, base kafka.Offset, suffix string) []byte {
	var digits [offsetDigits]byte
	number := strconv.AppendInt(digits[:0], int64(base), 10)
	for i := len(number); i < offsetDigits; i++ {
		dst = append(dst, '0')
	}
	dst = append(dst, number...)
	return append(dst, suffix...)
}

// filePath is dir, a slash and fileName, in one allocation.
func filePath(dir string, base kafka.Offset, suffix string) string {
	dst := make([]byte, 0, len(dir)+1+offsetDigits+len(suffix))
	dst = append(dst, dir...)
	dst = append(dst, '/')
	return string(appendFileName(dst, base, suffix))
}

// offsetOf is the decimal number before the first dot of a file's name. Names
// without one are not files of a segment.
func offsetOf(name string) (kafka.Offset, bool) {
	digits, _, found := strings.Cut(name, ".")
	if !found || len(digits) != offsetDigits {
		return 0, false
	}
	n, err := strconv.ParseUint(digits, 10, 63)
	return kafka.Offset(n), err == nil
}

func isSnapshotFile(name string) bool { return strings.HasSuffix(name, snapshotSuffix) }

func isLogFile(name string) bool { return strings.HasSuffix(name, logSuffix) }

func isIndexFile(name string) bool {
	return strings.HasSuffix(name, indexSuffix) || strings.HasSuffix(name, timeIndexSuffix) ||
		strings.HasSuffix(name, txnIndexSuffix)
}
