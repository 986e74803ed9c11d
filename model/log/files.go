package log

import (
	"math"
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
	var room [usualPath]byte
	return string(appendFileName(room[:0], base, suffix))
}

func appendFileName(dst []byte, base kafka.Offset, suffix string) []byte {
	var digits [offsetDigits]byte
	number := strconv.AppendInt(digits[:0], int64(base), 10)
	dst = append(dst, zeroDigits[len(number):]...)
	dst = append(dst, number...)
	return append(dst, suffix...)
}

const zeroDigits = "00000000000000000000"

// usualPath is the length in bytes that most paths do not exceed.
const usualPath = 128

// filePath is dir, a slash and fileName.
func filePath(dir string, base kafka.Offset, suffix string) string {
	return markedPath(dir, base, suffix, "")
}

// markedPath is filePath with the suffix of a file that comes or goes, or none. It
// allocates nothing but the path: a log in use makes and removes files often.
func markedPath(dir string, base kafka.Offset, suffix, mark string) string {
	var room [usualPath]byte
	dst := append(room[:0], dir...)
	dst = append(dst, '/')
	return string(append(appendFileName(dst, base, suffix), mark...))
}

// offsetOf is the decimal number before the first dot of a file's name. Names
// without one are not files of a segment.
func offsetOf(name string) (kafka.Offset, bool) {
	digits, _, found := strings.Cut(name, ".")
	if !found || len(digits) != offsetDigits || digits[0] != '0' { // no offset is as large as 10^19
		return 0, false
	}
	var n uint64
	for i := 1; i < len(digits); i++ {
		d := digits[i] - '0'
		if d > 9 {
			return 0, false
		}
		n = 10*n + uint64(d)
	}
	return kafka.Offset(n), n <= math.MaxInt64
}

func isSnapshotFile(name string) bool { return strings.HasSuffix(name, snapshotSuffix) }

func isLogFile(name string) bool { return strings.HasSuffix(name, logSuffix) }

func isIndexFile(name string) bool {
	return strings.HasSuffix(name, indexSuffix) || strings.HasSuffix(name, timeIndexSuffix) ||
		strings.HasSuffix(name, txnIndexSuffix)
}
