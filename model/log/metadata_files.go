package log

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/vfs"
)

const (
	partitionMetadataFile = "partition.metadata"
	cleanShutdownFile     = ".kafka_cleanshutdown"
	metaPropertiesFile    = "meta.properties"
)

// WriteTopicID writes partition.metadata into a partition's directory: 43 bytes
// without a final newline (KIP-516, storage 5.4). It is durable on return.
func WriteTopicID(fs vfs.FS, dir string, id kafka.TopicID) error {
	return replaceFile(fs, dir, partitionMetadataFile, []byte("version: 0\ntopic_id: "+id.String()))
}

// ReadTopicID reads it. Without the file the id is zero. A line that cannot be read is a
// *DirError; a file that ends before its second line, and an id that is none, are a *CorruptError
// beside it, as no directory is blamed for what PartitionMetadataReadBuffer.read throws then:
// NullPointerException and IllegalArgumentException, which end the start of a broker.
func ReadTopicID(fs vfs.FS, dir string) (kafka.TopicID, error) {
	path := dir + "/" + partitionMetadataFile
	b, err := readFile(fs, path)
	if errors.Is(err, vfs.ErrNotExist) {
		return kafka.TopicID{}, nil
	}
	if err != nil {
		return kafka.TopicID{}, err
	}
	id, blamed, err := parseTopicID(path, b)
	if blamed {
		err = dirError(parentDir(dir), err)
	}
	return id, err
}

// parseTopicID is PartitionMetadataReadBuffer.read. blamed: the directory goes offline for the
// error, a *CorruptError.
func parseTopicID(path string, b []byte) (id kafka.TopicID, blamed bool, err error) {
	first, rest, more := strings.Cut(string(b), "\n")
	if first == "" && !more {
		return id, false, &CorruptError{File: path, Pos: 1, Err: errNoLine}
	}
	number, found := valueOf(first)
	if version, err := strconv.ParseInt(number, 10, 32); !found || err != nil || version < 0 {
		return id, true, &CorruptError{File: path, Pos: 1, Err: fmt.Errorf("no version in %q", first)}
	}
	second, _, more := strings.Cut(rest, "\n")
	if second == "" && !more {
		return id, false, &CorruptError{File: path, Pos: 2, Err: errNoLine}
	}
	text, found := valueOf(second)
	if found {
		if id, err = kafka.ParseTopicID(text); err != nil {
			return kafka.TopicID{}, false, &CorruptError{File: path, Pos: 2, Err: err}
		}
	}
	if id.IsZero() {
		return id, true, &CorruptError{File: path, Pos: 2, Err: fmt.Errorf("no topic id in %q", second)}
	}
	return id, false, nil
}

// valueOf is what follows the only colon with a space behind it.
func valueOf(line string) (value string, found bool) {
	_, value, found = strings.Cut(line, ": ")
	value = strings.TrimLeft(value, " ")
	return value, found && value != "" && !strings.Contains(value, ": ")
}

// writeCleanShutdown leaves the marker that spares the next start the recovery.
// Only the file is synced, not the directory (storage 5.5).
func writeCleanShutdown(fs vfs.FS, dir string, broker kafka.BrokerEpoch) error {
	text := `{"version":0,"brokerEpoch":` + strconv.FormatInt(int64(broker), 10) + `}`
	return writeFile(fs, dir+"/"+cleanShutdownFile, []byte(text))
}

// takeCleanShutdown reports whether the marker stood there, and removes it: a
// crash while the logs load is unclean (cluster L-35, storage trap 37).
func takeCleanShutdown(fs vfs.FS, dir string) (bool, error) {
	path := dir + "/" + cleanShutdownFile
	there, err := vfs.Exists(fs, path)
	if err != nil {
		return false, fmt.Errorf("log: look for %s: %w", path, err)
	}
	if !there {
		return false, nil
	}
	return true, removeFile(fs, path)
}

// MetaProperties is the identity of a data directory, version 0: ZooKeeper mode
// (storage 5.7).
type MetaProperties struct {
	BrokerID  kafka.NodeID
	ClusterID string
}

// WriteMetaProperties writes meta.properties, in the order that Java's Properties
// gives the lines since Java 9. date is the comment that it puts there, such as "Tue
// Nov 14 22:13:20 UTC 2023".
func WriteMetaProperties(fs vfs.FS, dir string, p MetaProperties, date string) error {
	text := "#\n#" + date + "\nbroker.id=" + strconv.Itoa(int(p.BrokerID)) + "\nversion=0\ncluster.id=" +
		p.ClusterID + "\n"
	return replaceFile(fs, dir, metaPropertiesFile, []byte(text))
}

// ReadMetaProperties reads it; found is false if the directory has none.
func ReadMetaProperties(fs vfs.FS, dir string) (p MetaProperties, found bool, err error) {
	path := dir + "/" + metaPropertiesFile
	b, err := readFile(fs, path)
	if errors.Is(err, vfs.ErrNotExist) {
		return p, false, nil
	}
	if err != nil {
		return p, false, err
	}
	p, err = parseMetaProperties(path, b)
	return p, err == nil, err
}

func parseMetaProperties(path string, b []byte) (MetaProperties, error) {
	p := MetaProperties{BrokerID: kafka.NoNode}
	version := ""
	for i, line := range strings.Split(string(b), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == '!' {
			continue
		}
		key, value, _ := strings.Cut(line, "=")
		value = strings.TrimSpace(value)
		switch strings.TrimSpace(key) {
		case "version":
			version = value
		case "cluster.id":
			p.ClusterID = value
		case "broker.id":
			id, err := strconv.ParseInt(value, 10, 32)
			if err != nil || id < 0 {
				return p, &CorruptError{File: path, Pos: int64(i) + 1, Err: fmt.Errorf("broker.id %q", value)}
			}
			p.BrokerID = kafka.NodeID(id)
		}
	}
	if version != "0" {
		return p, &CorruptError{File: path, Pos: 0, Err: fmt.Errorf("version %q is not 0", version)}
	}
	return p, nil
}
