package log

import (
	"errors"
	"strconv"
	"strings"

	"github.com/simkafka/simkafka/model/kafka"
)

// DirKind is what a directory of a data directory is for, by its name.
type DirKind uint8

// The kinds.
const (
	PartitionDir DirKind = iota // topic-partition
	DeleteDir                   // marked for deletion
	FutureDir                   // being filled, to replace that of another data directory
	StrayDir                    // of no replica that the broker should have
)

const (
	deleteDirSuffix = "-delete"
	futureDirSuffix = "-future"
	strayDirSuffix  = "-stray"

	// maxDirName bounds the name of a directory marked for deletion.
	maxDirName = 255
)

var errDirName = errors.New("not the name of a partition's directory")

// ParseDirName takes the name of a partition's directory apart (storage 0): plain, or
// topic-partition.<unique> and one of the three suffixes, where brokers write 32 hex
// digits. The topic may have been cut. Any other name is an error: with such a directory a broker does not start.
func ParseDirName(name string) (tp kafka.TopicPartition, kind DirKind, err error) {
	for i, suffix := range [...]string{deleteDirSuffix, futureDirSuffix, strayDirSuffix} {
		head, found := strings.CutSuffix(name, suffix)
		if !found {
			continue
		}
		dot := strings.LastIndexByte(head, '.')
		if dot < 0 || dot+1 == len(head) {
			return tp, kind, errDirName
		}
		name, kind = head[:dot], DeleteDir+DirKind(i)
		break
	}
	tp, err = kafka.ParseTopicPartition(name)
	return tp, kind, err
}

// deleteDirName is topic-partition.<32 hex digits>-delete, with the topic cut so
// that the whole fits (storage 0).
func deleteDirName(tp kafka.TopicPartition, unique [16]byte) string {
	const digits = "0123456789abcdef"
	tail := append(make([]byte, 0, 64), '-')
	tail = strconv.AppendInt(tail, int64(tp.Partition), 10)
	tail = append(tail, '.')
	for _, b := range unique {
		tail = append(tail, digits[b>>4], digits[b&15])
	}
	tail = append(tail, deleteDirSuffix...)
	topic := tp.Topic
	if room := maxDirName - len(tail); len(topic) > room {
		topic = topic[:room]
	}
	return topic + string(tail)
}

// parentDir is the data directory of a partition's.
func parentDir(dir string) string {
	if i := strings.LastIndexByte(dir, '/'); i >= 0 {
		return dir[:i]
	}
	return ""
}
