package zookeeper

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/simkafka/simkafka/model/config"
	"github.com/simkafka/simkafka/model/kafka"
	"pgregory.net/rapid"
)

func ids(n ...kafka.NodeID) []kafka.NodeID { return n }

func uuid(t testing.TB) kafka.TopicID {
	id, err := kafka.ParseTopicID("AAECAwQFBgcICQoLDA0ODw")
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// The texts are those of the table in cluster 3.1, with values filled in.
func TestEncodersWriteTheTextOfTable31(t *testing.T) {
	orders := kafka.TopicPartition{Topic: "T", Partition: 0}
	topic := TopicAssignment{TopicID: uuid(t), Partitions: []PartitionAssignment{{Replicas: ids(1, 2, 3)}}}
	moving := TopicAssignment{Partitions: []PartitionAssignment{
		{Partition: 0, Replicas: ids(1, 2)},
		{Partition: 10, Replicas: ids(4, 1), Adding: ids(4), Removing: ids(1)}}}
	broker := BrokerInfo{Host: "h", Port: 9092, JmxPort: -1, Timestamp: 5,
		Endpoints: []Endpoint{{"PLAINTEXT", "PLAINTEXT", "h", 9092}}}
	racked := broker
	racked.Rack = "r1"
	tests := []struct {
		name string
		got  []byte
		want string
	}{
		{"controller", EncodeController(2, Controller{1, 7}), `{"version":2,"brokerid":1,"timestamp":"7","kraftControllerEpoch":-1}`},
		{"controller before 3.4", EncodeController(1, Controller{1, 7}), `{"version":1,"brokerid":1,"timestamp":"7"}`},
		{"controller epoch", EncodeControllerEpoch(0), `0`},
		{"broker", EncodeBroker(5, racked), `{"version":5,"host":"h","port":9092,"endpoints":["PLAINTEXT://h:9092"],"listener_security_protocol_map":{"PLAINTEXT":"PLAINTEXT"},"jmx_port":-1,"timestamp":"5","rack":"r1","features":{}}`},
		{"broker before 2.7", EncodeBroker(4, broker), `{"version":4,"host":"h","port":9092,"endpoints":["PLAINTEXT://h:9092"],"listener_security_protocol_map":{"PLAINTEXT":"PLAINTEXT"},"jmx_port":-1,"timestamp":"5"}`},
		{"topic", EncodeTopic(3, topic), `{"version":3,"topic_id":"AAECAwQFBgcICQoLDA0ODw","partitions":{"0":[1,2,3]},"adding_replicas":{},"removing_replicas":{}}`},
		{"topic v2", EncodeTopic(2, moving), `{"version":2,"partitions":{"0":[1,2],"10":[4,1]},"adding_replicas":{"10":[4]},"removing_replicas":{"10":[1]}}`},
		{"topic v1", EncodeTopic(1, topic), `{"version":1,"partitions":{"0":[1,2,3]}}`},
		{"state", EncodePartitionState(PartitionState{Leader: 1, LeaderEpoch: 5, ControllerEpoch: 3, ISR: ids(1, 2)}), `{"controller_epoch":3,"leader":1,"version":1,"leader_epoch":5,"isr":[1,2]}`},
		{"state, recovering", EncodePartitionState(PartitionState{Leader: -1, ISR: ids(1), Recovering: true}), `{"controller_epoch":0,"leader":-1,"version":1,"leader_epoch":0,"isr":[1],"leader_recovery_state":1}`},
		{"isr change", EncodePartitions([]kafka.TopicPartition{orders}), `{"version":1,"partitions":[{"topic":"T","partition":0}]}`},
		{"log dir event", EncodeLogDirEvent(3), `{"version":1,"broker":3,"event":1}`},
		{"reassign", EncodeReassignments([]Reassignment{{orders, ids(4, 5, 6)}}), `{"version":1,"partitions":[{"topic":"T","partition":0,"replicas":[4,5,6]}]}`},
		{"config", EncodeConfig([]ConfigEntry{{"k", "v"}}), `{"version":1,"config":{"k":"v"}}`},
		{"config change", EncodeConfigChange("topics/T"), `{"version":2,"entity_path":"topics/T"}`},
		{"cluster id", EncodeClusterID("abc"), `{"version":"1","id":"abc"}`},
	}
	for _, tt := range tests {
		if string(tt.got) != tt.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tt.name, tt.got, tt.want)
		}
		if !json.Valid(tt.got) {
			t.Errorf("%s is not JSON: %s", tt.name, tt.got)
		}
	}
}

// codec pairs a decoder with what must encode back to an equal value.
type codec struct {
	name   string
	decode func([]byte) (any, error)
	encode func(any) []byte
}

func wrap[T any](name string, decode func([]byte) (T, error), encode func(T) []byte) codec {
	return codec{name, func(b []byte) (any, error) { return decode(b) }, func(v any) []byte { return encode(v.(T)) }}
}

func codecs() []codec {
	return []codec{
		wrap("controller", DecodeController, func(c Controller) []byte { return EncodeController(2, c) }),
		wrap("controller epoch", DecodeControllerEpoch, EncodeControllerEpoch),
		wrap("state", DecodePartitionState, EncodePartitionState),
		wrap("topic", DecodeTopic, func(a TopicAssignment) []byte { return EncodeTopic(3, a) }),
		wrap("broker", DecodeBroker, func(r BrokerInfo) []byte { return EncodeBroker(5, r) }),
		wrap("partitions", DecodePartitions, EncodePartitions),
		wrap("reassign", DecodeReassignments, EncodeReassignments),
		wrap("config", DecodeConfig, EncodeConfig),
		wrap("config change", DecodeConfigChange, EncodeConfigChange),
		wrap("log dir event", DecodeLogDirEvent, EncodeLogDirEvent),
		wrap("cluster id", DecodeClusterID, EncodeClusterID),
	}
}

func TestDecodersTakeAnyKeyOrderAndUnknownKeys(t *testing.T) {
	tests := []struct {
		codec, text string
		want        any
	}{
		{"controller", "{\n \"x\": [1, {\"y\":null}], \"brokerid\" : 4 }", Controller{4, -1}},
		{"state", `{"isr":[],"version":1,"leader_recovery_state":1,"leader_epoch":2,"controller_epoch":9,"leader":-1}`,
			PartitionState{Leader: -1, LeaderEpoch: 2, ControllerEpoch: 9, ISR: ids(), Recovering: true}},
		{"topic", `{"removing_replicas":{"2":[1]},"partitions":{"10":[3],"2":[1,2]},"version":2,"adding_replicas":{"2":[]}}`,
			TopicAssignment{Partitions: []PartitionAssignment{{Partition: 2, Replicas: ids(1, 2), Removing: ids(1)}, {Partition: 10, Replicas: ids(3)}}}},
		{"broker", `{"version":2,"host":"h","port":1,"jmx_port":9999,"timestamp":"22","endpoints":["SSL://[::1]:9093"],"rack":null}`,
			BrokerInfo{Host: "h", Port: 1, JmxPort: 9999, Timestamp: 22, Endpoints: []Endpoint{{"SSL", "SSL", "[::1]", 9093}}}},
		{"config", `{"config":{"b":"2","a":"\u00e4\n","b":"3"},"version":1}`, []ConfigEntry{{"a", "ä\n"}, {"b", "3"}}},
	}
	for _, tt := range tests {
		for _, c := range codecs() {
			if c.name != tt.codec {
				continue
			}
			if got, err := c.decode([]byte(tt.text)); err != nil || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("%s %s: got %+v, %v", tt.codec, tt.text, got, err)
			}
		}
	}
}

func TestDecodersRejectWhatIsNotTheirs(t *testing.T) {
	all := []string{``, ` `, `[]`, `{`, `{}x`, `{"a":1,}`, `{"a" 1}`, `{"leader":01}`, `{"leader":+1}`, `{"leader":1.}`,
		`{"x":"\q"}`, `{"x":"\u12"}`, "{\"x\":\"\n\"}", `{"x":tru}`, `{"x":1e}`, `{"x":-}`, `{"x":[1 2]}`,
		`{"x":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`}
	for _, c := range codecs() {
		for _, text := range all {
			if c.name == "config" && text == "" {
				continue // an empty node has no overrides
			}
			if got, err := c.decode([]byte(text)); err == nil {
				t.Errorf("%s took %q as %+v", c.name, text, got)
			}
		}
	}
	tests := []struct{ codec, text string }{
		{"controller", `{}`},
		{"controller", `{"brokerid":"1"}`},
		{"controller", `{"brokerid":1.0}`},
		{"controller", `{"brokerid":4294967296}`},
		{"state", `{"leader":1,"leader_epoch":1,"controller_epoch":1}`},
		{"state", `{"leader":1,"leader_epoch":1,"controller_epoch":1,"isr":[1],"leader_recovery_state":2}`},
		{"state", `{"leader":1,"leader_epoch":1,"controller_epoch":1,"isr":[1,]}`},
		{"topic", `{"partitions":{"0":[1],"0":[2]}}`},
		{"topic", `{"partitions":{"00":[1]}}`},
		{"topic", `{"topic_id":"short","partitions":{}}`},
		{"broker", `{"version":1,"jmx_port":1,"endpoints":[]}`},
		{"broker", `{"version":5,"jmx_port":1,"endpoints":["x"]}`},
		{"broker", `{"version":5,"jmx_port":1,"endpoints":["A://h:1"],"listener_security_protocol_map":{"B":"SSL"}}`},
		{"partitions", `{"partitions":[{"topic":"T"}]}`},
		{"reassign", `{"partitions":[{"topic":"T","partition":1}]}`},
		{"controller epoch", `1x`},
		{"controller epoch", `4294967296`},
	}
	for _, tt := range tests {
		for _, c := range codecs() {
			if c.name == tt.codec {
				if got, err := c.decode([]byte(tt.text)); err == nil {
					t.Errorf("%s took %q as %+v", c.name, tt.text, got)
				}
			}
		}
	}
}

// checkDecoders: what a decoder takes is JSON, and encodes back to an equal value.
func checkDecoders(t *testing.T, data []byte) {
	for _, c := range codecs() {
		v, err := c.decode(data)
		if err != nil {
			continue
		}
		if !json.Valid(data) && c.name != "controller epoch" && !(c.name == "config" && len(data) == 0) {
			t.Fatalf("%s took %q, which is not JSON", c.name, data)
		}
		again, err := c.decode(c.encode(v))
		if err != nil || !reflect.DeepEqual(v, again) {
			t.Fatalf("%s: %q is %+v, encoded as %q is %+v, %v", c.name, data, v, c.encode(v), again, err)
		}
	}
}

func FuzzDecodersTakeOnlyJSONAndRoundTrip(f *testing.F) {
	for _, s := range []string{`{"version":2,"brokerid":1,"timestamp":"7","kraftControllerEpoch":-1}`, `3`, `{"config":{"k":"\ud83d\ude00"}}`,
		`{"version":3,"topic_id":"AAECAwQFBgcICQoLDA0ODw","partitions":{"0":[1,2,3]},"adding_replicas":{"0":[3]},"removing_replicas":{}}`,
		`{"controller_epoch":3,"leader":1,"version":1,"leader_epoch":5,"isr":[1,2],"leader_recovery_state":1}`,
		`{"version":1,"partitions":[{"topic":"T","partition":0,"replicas":[4,5,6]}]}`, `{"version":1,"broker":3,"event":1}`,
		`{"version":5,"host":"h","port":9092,"endpoints":["PLAINTEXT://h:9092"],"listener_security_protocol_map":{"PLAINTEXT":"PLAINTEXT"},"jmx_port":-1,"timestamp":"5","rack":"r1","features":{}}`,
		`{"version":"1","id":"abc"}`, `{"entity_path":"topics/T","x":[1.5e-3,true,false,null]}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) { checkDecoders(t, data) })
}

// TestScannerAgreesWithEncodingJSON walks random small texts over JSON's own
// alphabet.
func TestScannerAgreesWithEncodingJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.SampledFrom([]string{"{", "}", "[", "]", ",", ":", `"a"`, `"\u00e4"`, "1", "-0", "0", "1.5", "1e9", "true", "null", " "}), 1, 8).Draw(t, "parts")
		text := []byte(strings.Join(parts, ""))
		s := scanner{b: text}
		s.skip()
		if got, want := s.end() == nil, json.Valid(text); got != want {
			t.Fatalf("%q: got %v, want %v", text, got, want)
		}
	})
}

func TestFormatsFollowTheProfiles(t *testing.T) {
	tests := []struct {
		profile config.Profile
		want    Formats
	}{
		{config.Profile{Name: "zk-0.10"}, Formats{1, 4, 1}},
		{config.Profile{Name: "zk-2.6", Fencing320: true, BrokerEpoch: true}, Formats{1, 4, 2}},
		{config.Profile{Name: "zk-3.9", Fencing320: true, AlterPartition: true, AutoRebalanceIgnoresReassignment: true}, Formats{2, 5, 3}},
	}
	for _, tt := range tests {
		if got := FormatsOf(&tt.profile); got != tt.want {
			t.Errorf("%s: got %+v, want %+v", tt.profile.Name, got, tt.want)
		}
	}
}

func TestPathsParseBack(t *testing.T) {
	tp := kafka.TopicPartition{Topic: "a.partitions-1", Partition: 12}
	if got := StatePath(tp); got != "/brokers/topics/a.partitions-1/partitions/12/state" {
		t.Error(got)
	}
	if got, ok := ParseStatePath(StatePath(tp)); !ok || got != tp {
		t.Errorf("%v %v", got, ok)
	}
	if id, ok := ParseBrokerPath(BrokerPath(1003)); !ok || id != 1003 {
		t.Errorf("%v %v", id, ok)
	}
	if topic, ok := ParseTopicPath(TopicPath("t")); !ok || topic != "t" {
		t.Errorf("%v %v", topic, ok)
	}
	for _, p := range []string{"/brokers/ids", "/brokers/ids/", "/brokers/ids/-1", "/brokers/ids/01", "/brokers/ids/x", "/brokers/ids/1/2", "/brokers/topics",
		"/brokers/topics/", "/brokers/topics/a/partitions", "/brokers/topics/a/partitions/1", "/brokers/topics/a/partitions/x/state", "/brokers/topics/a/b/partitions/1/state", "/"} {
		if _, ok := ParseBrokerPath(p); ok {
			t.Errorf("%s is a broker", p)
		}
		if _, ok := ParseTopicPath(p); ok {
			t.Errorf("%s is a topic", p)
		}
		if _, ok := ParseStatePath(p); ok {
			t.Errorf("%s is a state", p)
		}
	}
}

func TestPersistentPathsComeAfterTheirParents(t *testing.T) {
	seen := map[string]bool{"/": true}
	for _, p := range PersistentPaths() {
		if !seen[parentOf(p)] {
			t.Errorf("%s before its parent", p)
		}
		seen[p] = true
	}
}
