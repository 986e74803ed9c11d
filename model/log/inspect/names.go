package inspect

import (
	"strconv"
	"strings"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/log"
)

// Kind says what a file is, by its name (storage 0).
type Kind string

// The kinds of files.
const (
	LogKind        Kind = "log"
	IndexKind      Kind = "index"
	TimeIndexKind  Kind = "timeindex"
	TxnIndexKind   Kind = "txnindex"
	SnapshotKind   Kind = "snapshot"
	CheckpointKind Kind = "checkpoint" // of KRaft: batches
	EpochKind      Kind = "leader-epoch-checkpoint"
	OffsetsKind    Kind = "offset-checkpoint"
	TextKind       Kind = "text"
	MarkerKind     Kind = "marker"   // of a clean stop, and the lock
	LeftoverKind   Kind = "leftover" // .deleted, .cleaned, .swap, .tmp
	UnknownKind    Kind = "unknown"
)

const (
	epochFile     = "leader-epoch-checkpoint"
	metadataFile  = "partition.metadata"
	propertyFile  = "meta.properties"
	cleanFile     = ".kafka_cleanshutdown"
	lockFile      = ".lock"
	quorumFile    = "quorum-state"
	recoveryFile  = "recovery-point-offset-checkpoint"
	startFile     = "log-start-offset-checkpoint"
	highFile      = "replication-offset-checkpoint"
	cleanerFile   = "cleaner-offset-checkpoint"
	remoteCache   = "remote-log-index-cache"
	metadataTopic = "__cluster_metadata"
	offsetDigits  = 20
)

// KindOf is the kind of a file by its name without directories.
func KindOf(name string) Kind {
	switch name {
	case epochFile:
		return EpochKind
	case recoveryFile, startFile, highFile, cleanerFile:
		return OffsetsKind
	case metadataFile, propertyFile, quorumFile:
		return TextKind
	case cleanFile, lockFile:
		return MarkerKind
	}
	if suffix := leftover(name); suffix != "" {
		return LeftoverKind
	}
	if strings.HasSuffix(name, ".checkpoint") {
		return CheckpointKind
	}
	if _, ok := offsetOf(name); !ok {
		return UnknownKind
	}
	switch _, suffix, _ := strings.Cut(name, "."); suffix {
	case "log":
		return LogKind
	case "index":
		return IndexKind
	case "timeindex":
		return TimeIndexKind
	case "txnindex":
		return TxnIndexKind
	case "snapshot":
		return SnapshotKind
	}
	return UnknownKind
}

// leftover is the suffix of a file that a broker left in the middle of something.
func leftover(name string) string {
	for _, suffix := range [...]string{".deleted", ".cleaned", ".swap", ".tmp", ".part"} {
		if strings.HasSuffix(name, suffix) {
			return suffix
		}
	}
	return ""
}

// offsetOf is the number before the first dot of the name of a segment's file.
func offsetOf(name string) (kafka.Offset, bool) {
	digits, _, found := strings.Cut(name, ".")
	if !found || len(digits) != offsetDigits {
		return 0, false
	}
	n, err := strconv.ParseUint(digits, 10, 63)
	return kafka.Offset(n), err == nil
}

func fileName(base kafka.Offset, kind Kind) string {
	number := strconv.FormatInt(int64(base), 10)
	return strings.Repeat("0", max(0, offsetDigits-len(number))) + number + "." + string(kind)
}

// dirKind says what a directory in a data directory is, by its name.
type dirKind int

const (
	partitionDir dirKind = iota
	skippedDir           // not a log
	deleteDir
	strayDir
	futureDir
	badDir // a broker does not start with it
)

// classify reads a directory's name (storage 0).
func classify(name string) (dirKind, kafka.TopicPartition) {
	if name == remoteCache {
		return skippedDir, kafka.TopicPartition{}
	}
	tp, kind, err := log.ParseDirName(name)
	if err != nil {
		return badDir, kafka.TopicPartition{}
	}
	switch kind {
	case log.DeleteDir:
		return deleteDir, tp
	case log.StrayDir:
		return strayDir, tp
	case log.FutureDir:
		return futureDir, tp
	}
	return partitionDir, tp
}
