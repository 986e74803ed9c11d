package inspect

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/simkafka/simkafka/model/kafka"
)

// textError is a text that does not parse, with its place.
type textError struct {
	pos int64 // of the line in bytes
	why string
	// fatal: the broker that reads it does not start, and no directory is blamed.
	fatal bool
}

func (e *textError) Error() string { return fmt.Sprintf("at %d: %s", e.pos, e.why) }

// lines calls f for the entries of a checkpoint (storage 5.1): the lines after version
// and count, which must fit.
func lines(b []byte, f func(pos int64, fields []string) error) error {
	if len(b) == 0 {
		return nil
	}
	version, rest, _ := bytes.Cut(b, []byte("\n"))
	if n, err := strconv.ParseInt(string(version), 10, 32); err != nil || n != 0 {
		return &textError{pos: 0, why: fmt.Sprintf("version %s is not 0", clip(version))}
	}
	if len(rest) == 0 {
		return nil
	}
	countPos := int64(len(version) + 1)
	count, rest, _ := bytes.Cut(rest, []byte("\n"))
	expected, err := strconv.ParseInt(string(count), 10, 32)
	if err != nil {
		return &textError{pos: countPos, why: fmt.Sprintf("the count %s is no number", clip(count))}
	}
	pos, found := countPos+int64(len(count)+1), int64(0)
	for len(rest) > 0 {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte("\n"))
		if err := f(pos, strings.Fields(string(line))); err != nil {
			return &textError{pos: pos, why: fmt.Sprintf("line %s: %v", clip(line), err), fatal: errors.Is(err, errNegative)}
		}
		pos += int64(len(line) + 1)
		found++
	}
	if found != expected {
		return &textError{pos: countPos, why: fmt.Sprintf("%d entries are announced, %d are there", expected, found)}
	}
	return nil
}

// clip quotes the beginning of what may be anything.
func clip(b []byte) string {
	const most = 40
	if len(b) > most {
		return strconv.Quote(string(b[:most])) + "…"
	}
	return strconv.Quote(string(b))
}

var (
	errFields = errors.New("the number of fields is wrong")
	errNumber = errors.New("a number is missing or out of range")
	// errNegative is of what LeaderEpochFileCache.assign refuses with IllegalArgumentException.
	errNegative = errors.New("a number is negative")
)

func number(s string, bits int) (int64, error) {
	n, err := strconv.ParseInt(s, 10, bits)
	if err != nil {
		return 0, errNumber
	}
	return n, nil
}

// offsetLine is a line of an offset checkpoint.
type offsetLine struct {
	tp     kafka.TopicPartition
	offset kafka.Offset
	pos    int64
}

func parseOffsets(b []byte) (list []offsetLine, err error) {
	err = lines(b, func(pos int64, fields []string) error {
		if len(fields) != 3 {
			return errFields
		}
		partition, err := number(fields[1], 32)
		if err != nil {
			return err
		}
		offset, err := number(fields[2], 64)
		if err != nil {
			return err
		}
		tp := kafka.TopicPartition{Topic: fields[0], Partition: int32(partition)}
		list = append(list, offsetLine{tp, kafka.Offset(offset), pos})
		return nil
	})
	return list, err
}

// epochLine is a line of a leader-epoch-checkpoint.
type epochLine struct {
	epoch kafka.LeaderEpoch
	start kafka.Offset
	pos   int64
}

func parseEpochs(b []byte) (list []epochLine, err error) {
	err = lines(b, func(pos int64, fields []string) error {
		if len(fields) != 2 {
			return errFields
		}
		epoch, err := number(fields[0], 32)
		if err != nil {
			return err
		}
		start, err := number(fields[1], 64)
		if err != nil {
			return err
		}
		if epoch < 0 || start < 0 {
			return errNegative
		}
		list = append(list, epochLine{kafka.LeaderEpoch(epoch), kafka.Offset(start), pos})
		return nil
	})
	return list, err
}

// parseMetadata is the topic id of partition.metadata (storage 5.4). Of a file that ends too early, or has
// an id that is none, a broker says what no directory is blamed for (PartitionMetadataReadBuffer.read:
// NullPointerException, IllegalArgumentException).
func parseMetadata(b []byte) (kafka.TopicID, error) {
	none := kafka.TopicID{}
	first, rest, more := bytes.Cut(b, []byte("\n"))
	if len(first) == 0 && !more {
		return none, &textError{why: "the file is empty", fatal: true}
	}
	version, found := valueOf(first)
	if n, err := strconv.ParseInt(version, 10, 32); !found || err != nil || n < 0 {
		return none, &textError{why: "there is no version in " + clip(first)}
	}
	pos := int64(len(first) + 1)
	second, _, more := bytes.Cut(rest, []byte("\n"))
	if len(second) == 0 && !more {
		return none, &textError{pos: pos, why: "the file ends before the topic id", fatal: true}
	}
	text, found := valueOf(second)
	if !found {
		return none, &textError{pos: pos, why: "there is no topic id in " + clip(second)}
	}
	id, err := kafka.ParseTopicID(text)
	if err != nil || id.IsZero() {
		return none, &textError{pos: pos, why: "there is no topic id in " + clip(second), fatal: err != nil}
	}
	return id, nil
}

// valueOf is what follows the only colon with a space behind it.
func valueOf(line []byte) (value string, found bool) {
	_, rest, found := bytes.Cut(line, []byte(": "))
	rest = bytes.TrimLeft(rest, " ")
	return string(rest), found && len(rest) > 0 && !bytes.Contains(rest, []byte(": "))
}

// checkProperties looks at meta.properties, version 0 of ZooKeeper mode or 1 of KRaft
// (storage 5.7).
func checkProperties(b []byte) error {
	version, id, pos := "", "", int64(0)
	for _, line := range strings.Split(string(b), "\n") {
		at := pos
		pos += int64(len(line) + 1)
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		switch value = strings.TrimSpace(value); strings.TrimSpace(key) {
		case "version":
			version = value
		case "broker.id", "node.id":
			if n, err := strconv.ParseInt(value, 10, 32); err != nil || n < 0 {
				return &textError{pos: at, why: fmt.Sprintf("%s %s is no id", key, clip([]byte(value)))}
			}
			id = value
		}
	}
	if version != "0" && version != "1" {
		return &textError{pos: 0, why: fmt.Sprintf("version %s is neither 0 nor 1", clip([]byte(version)))}
	}
	if version == "1" && id == "" {
		return &textError{pos: 0, why: "node.id is missing"}
	}
	return nil
}
