package conformance

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/config"
	"github.com/simkafka/simkafka/model/group"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/log"
	"github.com/simkafka/simkafka/model/record"
	"github.com/simkafka/simkafka/model/step"
	"github.com/simkafka/simkafka/model/vfs"
	"github.com/simkafka/simkafka/scenarios"
	"github.com/simkafka/simkafka/sim/cluster"
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

// A group of three members in a simulated cluster, which all live at the end.
const groupOfThree = `
apiVersion: simkafka/v1
name: group-of-three
protocol: PROFILE
duration: 25s
cluster: {brokers: 1, config: {offsets.topic.num.partitions: 1, offsets.topic.replication.factor: 1}}
topics: [{name: t, partitions: 1, replication: 1}, {name: u, partitions: 5, replication: 1}]
producers: [{name: p, topic: u, rate: 20/s, size: 100B, keys: 50}]
consumers:
  - {name: c, count: 3, topics: [t, u], group: g, config: {session.timeout.ms: 300000, auto.commit.interval.ms: 2000}}
`

// Kafka's coordinator takes a group over from the log that a simulated one has left: the
// members with what they own, and what they have committed (LD-3, LD-4).
func TestKafkaTakesOverASimulatedGroup(t *testing.T) {
	eachRelease(t, func(t *testing.T, r release) {
		needKafka(t, r)
		c := newRealBroker(t, r, quietSettings...)
		c.start()
		for _, name := range []string{"t", "u"} {
			c.create(goldenTopic{Name: name})
		}
		c.create(goldenTopic{Name: group.OffsetsTopic, Settings: map[string]string{"cleanup.policy": "compact"}})
		for i, profile := range []string{"zk-0.11", "zk-3.9"} {
			c.stop()
			spec, err := scenarios.Load("group.yaml", []byte(strings.Replace(groupOfThree, "PROFILE", profile, 1)), scenarios.LibrarySource)
			check(t, err)
			sim, err := cluster.New(spec, cluster.Options{Seed: uint64(i + 1)})
			check(t, err)
			if got := sim.Run(); got.Records.Acked == 0 {
				t.Fatal(got.Verdict, got.Why)
			}
			dir := t.TempDir()
			copyOut(t, sim.Disk(1), "data", dir)
			putLog(t, filepath.Join(dir, group.OffsetsTopic+"-0"), filepath.Join(c.data(), group.OffsetsTopic+"-0"))
			check(t, os.Remove(filepath.Join(c.data(), ".kafka_cleanshutdown")))
			want := loadedGroup(t, sim.Disk(1))
			c.start()
			var got answer
			for range 50 { // until the coordinator is found and has loaded
				if got, err = c.driver.try("group", "g"); err == nil && len(got.lines) > 0 {
					break
				}
			}
			check(t, err)
			if text := got.words + "\n" + strings.Join(got.lines, "\n"); text != want {
				t.Errorf("%s: Kafka has\n%s\nwe have\n%s", profile, text, want)
			}
			t.Logf("Kafka %s has of %s: %s, %d lines", r.version, profile, got.words, len(got.lines))
		}
	})
}

// putLog makes the segments of a log those of another; the indexes are built anew.
func putLog(t *testing.T, from, to string) {
	t.Helper()
	for _, pattern := range []string{"*.log", "*.index", "*.timeindex", "*.snapshot"} {
		old, err := filepath.Glob(filepath.Join(to, pattern))
		check(t, err)
		for _, name := range old {
			check(t, os.Remove(name))
		}
	}
	logs, err := filepath.Glob(filepath.Join(from, "*.log"))
	check(t, err)
	for _, name := range logs {
		b, err := os.ReadFile(name)
		check(t, err)
		check(t, os.WriteFile(filepath.Join(to, filepath.Base(name)), b, 0o644))
	}
}

// loadedGroup is what our coordinator makes of the log, as the driver would print it.
func loadedGroup(t *testing.T, fs vfs.FS) string {
	t.Helper()
	cfg := log.DefaultConfig()
	l, err := log.OpenNow(fs, "data/"+group.OffsetsTopic+"-0", &cfg, log.OpenParams{Now: now()})
	check(t, err)
	profile, _ := config.ProfileByName("zk-3.9")
	settings, _ := config.NewBroker(profile, 1, "", nil)
	c := group.New(settings, offsetsLog{l}, 1, nil)
	c.Elected(0, 0)
	for c.HasTask() {
		check(t, c.RunTask(&step.Input{Wall: now()}, step.NewEffects()))
	}
	g := c.Group("g")
	if g == nil || len(g.Members()) != 3 {
		t.Fatalf("the simulated group is %+v", g)
	}
	var lines []string
	for _, m := range g.Members() {
		lines = append(lines, fmt.Sprintf("%s %s%s - %s", m.ID(), m.Client(), m.Host(), assigned(t, m.Assignment())))
	}
	g.Offsets(func(tp kafka.TopicPartition, o group.Offset) {
		lines = append(lines, fmt.Sprintf("%s %d %d %q", tp, o.Offset, o.LeaderEpoch, o.Metadata))
	})
	slices.Sort(lines)
	return g.State().String() + " " + g.Protocol() + "\n" + strings.Join(lines, "\n")
}

// assigned lists the partitions of a member's assignment.
func assigned(t *testing.T, b []byte) string {
	t.Helper()
	var a kmsg.ConsumerMemberAssignment
	check(t, a.ReadFrom(b))
	var parts []string
	for _, topic := range a.Topics {
		for _, p := range topic.Partitions {
			parts = append(parts, fmt.Sprintf("%s-%d", topic.Topic, p))
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, ",")
}

// offsetsLog is group.Host over one log.
type offsetsLog struct{ *log.Log }

func (l offsetsLog) OffsetsLog(int32) (*log.Log, bool) { return l.Log, true }
func (l offsetsLog) Draw(*step.Input, string) uint64   { return 0 }
