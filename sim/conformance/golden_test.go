package conformance

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A golden directory is what a real broker left in its log directory, with the story
// of how it came about in manifest.json and what its consumers saw in
// <name>.records.jsonl. There are three a release:
//
//	clean      after several clean stops
//	killed     the same broker later, after SIGKILL, with the damage that is listed
//	recovered  after it has started on killed, recovered, and stopped cleanly
const (
	cleanDir     = "clean"
	killedDir    = "killed"
	recoveredDir = "recovered"
)

// manifest is the story of a release's golden directories.
type manifest struct {
	Kafka  string        `json:"kafka"`
	Java   string        `json:"java"`
	KRaft  bool          `json:"kraft"`
	Broker []string      `json:"broker"` // lines of server.properties that matter to the log
	Topics []goldenTopic `json:"topics"` // of one partition each
	Lives  []life        `json:"lives"`  // of the broker, in order; the last one recovers
	Damage []damage      `json:"damage"` // done to the files after the kill
}

type goldenTopic struct {
	Name     string            `json:"name"`
	ID       string            `json:"id"`
	Settings map[string]string `json:"settings"`
}

// life is one run of the broker.
type life struct {
	Stop string `json:"stop"` // "clean" or "kill"
	// End has each topic's offsets before the stop. The epoch is the one that the
	// leader had all through this life.
	End map[string]offsets `json:"end"`
}

type damage struct {
	File string `json:"file"` // relative to the log directory
	What string `json:"what"` // cut N | zeros N | flip POS | remove
}

// goldenRecord is a record as a consumer returned it.
type goldenRecord struct {
	Topic     string       `json:"topic"`
	Offset    int64        `json:"offset"`
	Timestamp int64        `json:"timestamp"`
	Type      string       `json:"type"` // CreateTime or LogAppendTime
	Epoch     int32        `json:"epoch"`
	Key       *string      `json:"key"` // hex, as the rest
	Value     *string      `json:"value"`
	Headers   [][2]*string `json:"headers"`
	Committed bool         `json:"committed"` // read_committed returned it too
}

func (r goldenRecord) String() string {
	b, err := json.Marshal(r)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func readManifest(t *testing.T, r release) manifest {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(r.golden(), "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	var m manifest
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// readRecords are the records of each topic of one golden directory, by offset.
func readRecords(t *testing.T, r release, dir string) map[string][]goldenRecord {
	t.Helper()
	f, err := os.Open(filepath.Join(r.golden(), dir+".records.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out := make(map[string][]goldenRecord)
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var rec goldenRecord
		if err := json.Unmarshal(lines.Bytes(), &rec); err != nil {
			t.Fatal(err)
		}
		out[rec.Topic] = append(out[rec.Topic], rec)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

func (m *manifest) topic(name string) goldenTopic {
	for _, topic := range m.Topics {
		if topic.Name == name {
			return topic
		}
	}
	return goldenTopic{}
}

// harm does a piece of damage to a file below dir.
func (d damage) harm(dir string) error {
	path := filepath.Join(dir, d.File)
	verb, number, _ := strings.Cut(d.What, " ")
	if verb == "remove" {
		return os.Remove(path)
	}
	var n int
	if _, err := fmt.Sscan(number, &n); err != nil {
		return err
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	switch verb {
	case "cut":
		b = b[:len(b)-n]
	case "zeros":
		b = append(b, make([]byte, n)...)
	case "flip":
		b[n] ^= 0x55
	default:
		return fmt.Errorf("no such damage: %s", d.What)
	}
	return os.WriteFile(path, b, 0o644)
}
