package conformance

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/simkafka/simkafka/model/group"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/log"
	"github.com/simkafka/simkafka/model/record"
	"github.com/simkafka/simkafka/sim/osfs"
)

// Kafka's own decoder reads the records of groups that we write, of every version, as we
// meant them (groups 1.3).
func TestKafkaDecodesOurGroupRecords(t *testing.T) {
	eachRelease(t, func(t *testing.T, r release) {
		needKafka(t, r)
		dir := t.TempDir()
		const name = group.OffsetsTopic + "-0"
		cfg := log.DefaultConfig()
		l, err := log.OpenNow(osfs.New(dir), name, &cfg, log.OpenParams{Now: 1_700_000_000_000})
		check(t, err)
		want := writeGroupRecords(t, l)
		check(t, l.Flush(l.LogEndOffset(), 1_700_000_000_000))
		text := runDump(t, r, "--offsets-decoder", "--files", filepath.Join(dir, name, "00000000000000000000.log"))
		got := decodedRecords(text)
		if len(got) != len(want) {
			t.Fatalf("%d records of %d are decoded:\n%s", len(got), len(want), text)
		}
		for i := range want {
			if !reflect.DeepEqual(got[i], want[i]) {
				t.Errorf("record %d: Kafka reads\n%v\nwe wrote\n%v", i, got[i], want[i])
			}
		}
	})
}

// groupRecord is a record as --offsets-decoder tells it: two documents.
type groupRecord struct{ key, value any }

// tombstone is what the tool says of a null value.
const tombstone = "<DELETE>"

func writeGroupRecords(t *testing.T, l *log.Log) (want []groupRecord) {
	t.Helper()
	subscription, assignment := []byte{0, 0, 0, 0, 0, 1, 0, 1, 't', 0xff, 0xff, 0xff, 0xff}, []byte{0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff}
	tp := kafka.TopicPartition{Topic: "t", Partition: 3}
	add := func(key, value []byte, meant groupRecord) {
		var b record.Builder
		b.Reset(record.ClientOptions())
		b.Append(1_700_000_000_000, key, value, nil)
		batch, err := b.Build()
		check(t, err)
		_, verdict, err := l.Append(batch, &log.LeaderAppend{Now: 1_700_000_000_000, Origin: log.Coordinator})
		check(t, err)
		if verdict.Code != kafka.None {
			t.Fatal(verdict)
		}
		want = append(want, meant)
	}
	offsetKey := document(t, `{"type":"1","data":{"group":"g1","topic":"t","partition":3}}`)
	groupKey := document(t, `{"type":"2","data":{"group":"g1"}}`)
	for version := int16(0); version <= 4; version++ {
		o := group.Offset{Offset: 42, LeaderEpoch: 7, Metadata: "m", Committed: 1_700_000_000_000, Expires: 1_700_086_400_000}
		text := `"offset":42,"metadata":"m","commitTimestamp":1700000000000`
		switch {
		case version == 1:
			text += `,"expireTimestamp":1700086400000`
		case version >= 3:
			text += `,"leaderEpoch":7`
		}
		add(group.AppendOffsetKey(nil, "g1", tp), group.AppendOffset(nil, version, &o),
			groupRecord{offsetKey, document(t, fmt.Sprintf(`{"version":"%d","data":{%s}}`, version, text))})
		m := group.Metadata{ProtocolType: "consumer", Generation: 5, Protocol: "range", Leader: "a", StateTime: 1_700_000_000_001,
			Members: []group.MemberRecord{{ID: "a", Client: "c", Host: "/h", RebalanceTimeout: 300_000, SessionTimeout: 45_000, Subscription: subscription, Assignment: assignment},
				{ID: "b", Instance: "i", Client: "d", Host: "/k", RebalanceTimeout: 1, SessionTimeout: 2, Subscription: subscription, Assignment: nil}}}
		add(group.AppendGroupKey(nil, "g1"), group.AppendMetadata(nil, version, &m), groupRecord{groupKey, asDocument(t, version, &m)})
	}
	add(group.AppendOffsetKey(nil, "g1", tp), nil, groupRecord{offsetKey, tombstone})
	add(group.AppendGroupKey(nil, "g1"), nil, groupRecord{groupKey, tombstone})
	return want
}

func asDocument(t *testing.T, version int16, m *group.Metadata) any {
	t.Helper()
	data := map[string]any{"protocolType": m.ProtocolType, "generation": m.Generation, "protocol": m.Protocol, "leader": m.Leader}
	if version >= 2 {
		data["currentStateTimestamp"] = m.StateTime
	}
	var members []any
	for i := range m.Members {
		r := &m.Members[i]
		o := map[string]any{"memberId": r.ID, "clientId": r.Client, "clientHost": r.Host, "sessionTimeout": r.SessionTimeout,
			"subscription": map[string]any{"topics": []string{"t"}, "userData": nil}, "assignment": ""}
		if r.Assignment != nil {
			o["assignment"] = map[string]any{"assignedPartitions": []string{}, "userData": nil}
		}
		if version >= 1 {
			o["rebalanceTimeout"] = r.RebalanceTimeout
		}
		if version >= 3 {
			o["groupInstanceId"] = nil
			if r.Instance != "" {
				o["groupInstanceId"] = r.Instance
			}
		}
		members = append(members, o)
	}
	data["members"] = members
	text, err := json.Marshal(map[string]any{"version": fmt.Sprint(version), "data": data})
	check(t, err)
	return document(t, string(text))
}

func document(t *testing.T, text string) (v any) {
	t.Helper()
	check(t, json.Unmarshal([]byte(text), &v))
	return v
}

// decodedRecords reads what the tool prints of each record.
func decodedRecords(text string) (list []groupRecord) {
	for line := range strings.SplitSeq(text, "\n") {
		_, rest, ok := strings.Cut(line, " key: ")
		if !ok {
			continue
		}
		key, payload, _ := strings.Cut(rest, " payload: ")
		var d groupRecord
		if json.Unmarshal([]byte(key), &d.key) != nil {
			d.key = key
		}
		if json.Unmarshal([]byte(payload), &d.value) != nil {
			d.value = payload
		}
		list = append(list, d)
	}
	return list
}
